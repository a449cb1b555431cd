/* SPDX-License-Identifier: GPL-3.0-only */
/* text_names.h - what the records before an event say of the numbers in it: processes, files, devices. */
#ifndef IOT_TRACER_TEXT_NAMES_H
#define IOT_TRACER_TEXT_NAMES_H

#include "stream.h"

#define NAME_MAX_BYTES (4 * 24 + 1) /* 24 bytes of a name, each escaped */

struct who {
	u32 pid;
	char comm[NAME_MAX_BYTES], system[NAME_MAX_BYTES]; /* system: "-" without */
};

struct text_names {
	const char *output;     /* for messages */
	struct who *who;        /* by process id */
	size_t room_who;
	u8 *component;          /* by file id */
	size_t room_component;
	u32 *stacked;           /* devices whose bytes are those of another one */
	size_t n_stacked, room_stacked;
};

/* Takes a record. 0 or a negative errno, the error reported. */
int text_learn(struct text_names *n, enum rec_type type, const void *rec);
void text_names_free(struct text_names *n);

/* Of a process that no record told of: a name that says so. Lives until the next call. */
const struct who *text_who(const struct text_names *n, u32 id);

/* A component's name, of what a thread did or else of the file; NULL: none. */
const char *text_component(const struct text_names *n, u32 file, u8 of_thread);

/* Does the device count its bytes itself? */
bool text_is_leaf(const struct text_names *n, u32 dev);

#endif
