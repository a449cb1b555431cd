/* SPDX-License-Identifier: GPL-3.0-only */
/* text_names.h - names for the numbers in events, from the records before them: processes, files,
 * devices.
 */
#ifndef IOT_TRACER_TEXT_NAMES_H
#define IOT_TRACER_TEXT_NAMES_H

#include "stream.h"

/* Writes the words of layers in a text in lower case: `grep -c OS` counts lines of one layer. */
void text_hide_layers(char *);

/* Returns the first `most` bytes of a path as one word of printable characters, allocated: blanks
 * and what utf8_escape() escapes are escaped, and so is a letter of each word of another column.
 * NULL: no memory. */
char *text_escape(const char *path, size_t most);

#define NAME_MAX_BYTES (4 * 24 + 1) /* 24 bytes of a name, each escaped */

struct who {
	u32 pid;
	char comm[NAME_MAX_BYTES], system[NAME_MAX_BYTES]; /* system: "-" without */
};

struct text_names {
	const char *output;     /* name of the output, for messages */
	struct who *who;        /* by process id */
	size_t room_who;
	u8 *component;          /* by file id */
	size_t room_component;
	u32 *stacked;           /* devices that repeat the bytes of another device */
	size_t n_stacked, room_stacked;
};

/* Takes a record. Returns 0 or a negative errno after a message. */
int text_learn(struct text_names *n, enum rec_type type, const void *rec);
void text_names_free(struct text_names *n);

/* Name of a process; one without a record has a name that says so. Lives until the next call. */
const struct who *text_who(const struct text_names *n, u32 id);

/* Name of the component: that of the thread's operation, else that of the file. NULL: none. */
const char *text_component(const struct text_names *n, u32 file, u8 of_thread);

/* True when the device's bytes are device bytes, not a repetition of another device's. */
bool text_is_leaf(const struct text_names *n, u32 dev);

#endif
