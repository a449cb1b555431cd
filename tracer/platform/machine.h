/* SPDX-License-Identifier: GPL-3.0-only */
/* machine.h - facts about the machine, for the record `machine`: what a paper says about its
 * set-up. */
#ifndef IOT_MACHINE_H
#define IOT_MACHINE_H

#include "stream.h"

struct machine;

/* Reads the facts from /proc and /sys, which takes some milliseconds. What cannot be read is left
 * out. Returns 0 or a negative errno after a message. */
int machine_new(struct machine **out);
void machine_free(struct machine *);

/* Calls back with each fact, until the callback returns an error. Returns that, or 0. The strings
 * live as long as the machine. */
int machine_give(const struct machine *, int (*give)(void *arg, const struct rec_machine *),
		 void *arg);

#endif
