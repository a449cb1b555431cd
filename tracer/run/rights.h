/* SPDX-License-Identifier: GPL-3.0-only */
/* rights.h - capabilities that the tracer needs from the kernel, and the rights with which it opens
 * what its user names.
 */
#ifndef IOT_RIGHTS_H
#define IOT_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>

/* A capability. without: consequence where it is not held, as a sentence without its subject. */
struct right {
	int cap;
	const char *name;       /* "CAP_BPF" */
	bool needed;            /* nothing works without it */
	bool (*wanted)(void);   /* true where it is of use on this machine; NULL: always */
	const char *without;
};
/* Row n of the table; NULL: there are no more. */
const struct right *right_row(size_t n);
/* True when it is held and counts for BPF; in a user namespace none does. */
bool right_held(const struct right *);
/* True in a user namespace other than the first. */
bool rights_foreign(void);

/* Call it first. A program with file capabilities (setcap) has more rights than its user. From here
 * until rights_raise() none of them is in effect, so that whatever the user names is opened with
 * the user's own rights. */
void rights_lower(void);
void rights_raise(void);
/* For a child that is to execute a command: gives up the program's own rights for good. */
void rights_shed(void);

/* Returns 0, or a negative errno after a message that names what is missing. */
int rights_check(void);
/* Prints one line about what the run will lack, because of missing capabilities that it can do
 * without. */
void rights_note(void);

/* Writes "cap_bpf,cap_perfmon,...=ep": the argument for setcap(8) on this machine. */
void rights_text(char *buf, size_t size);

#endif
