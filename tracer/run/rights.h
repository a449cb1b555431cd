/* SPDX-License-Identifier: GPL-3.0-only */
/* rights.h - what the kernel must allow the tracer, capability by capability; and whose rights it uses for what it is told to open. */
#ifndef IOT_RIGHTS_H
#define IOT_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>

/* One capability. without: what is missing where it is not held, as a sentence without its subject. */
struct right {
	int cap;
	const char *name;       /* "CAP_BPF" */
	bool needed;            /* nothing works without it */
	bool (*wanted)(void);   /* does it give anything here? NULL: it does */
	const char *without;
};
/* Row n of the table; NULL: there are no more. */
const struct right *right_row(size_t n);
/* Is it held, and does it count for BPF? In a user namespace capabilities do not. */
bool right_held(const struct right *);
/* Is this a user namespace other than the first? */
bool rights_foreign(void);

/* To be called first. A program with file capabilities (setcap) has more rights than who runs it: from here on none of them is in effect, so
 * that whatever the caller names is opened with his own rights, until rights_raise(). */
void rights_lower(void);
void rights_raise(void);
/* In a child that is to run a command: the rights that are the program's and not the caller's are given up for good. */
void rights_shed(void);

/* 0, or a negative errno after a message that names what is missing. */
int rights_check(void);
/* Says in one line what is missing in the run that begins, because of capabilities that are not needed. */
void rights_note(void);

/* "cap_bpf,cap_perfmon,...=ep": what setcap(8) is to be given on this machine. */
void rights_text(char *buf, size_t size);

#endif
