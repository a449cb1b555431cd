/* SPDX-License-Identifier: GPL-3.0-only */
/* match.h - a process prepared for the rules, shared by the files that decide what it is. */
#ifndef IOT_SYSTEMS_MATCH_H
#define IOT_SYSTEMS_MATCH_H

#include "rules.h"

/* Facts about one process, prepared for the rules. */
struct subject {
	const struct sys_proc *p;
	char comm[64];
	/* basenames of argv[0] and of its first word (titles: "postgres: ...", "redis-server
	 * *:6379") */
	char arg0[2][256];
	char title[512];       /* argv[0] without trailing blanks */
	char exe[256];         /* basename of the program */
};

void subject_prepare(struct subject *, const struct sys_proc *);

/* True when arguments, environment and control group fit a rule, whatever the process is called. */
bool conditions_hold(const struct sys_process_rule *, const struct subject *);

/* Accepts a process as part of a system, by this rule and evidence. */
void match_accept(struct sys_match *, const struct sys_entry *, const struct sys_process_rule *,
	const struct subject *, enum sys_by, enum sys_sure);

#endif
