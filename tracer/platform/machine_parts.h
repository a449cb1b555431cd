/* SPDX-License-Identifier: GPL-3.0-only */
/* machine_parts.h - how the files machine*.c write facts. */
#ifndef IOT_MACHINE_PARTS_H
#define IOT_MACHINE_PARTS_H

#include <stdio.h>
#include "tracer.h"

/* One part of the machine, such as the disk sda. name "": there is only one. */
struct machine_part {
	FILE *to;
	const char *part, *name;
};

/* Forms of what a file of /sys says. */
enum machine_form {
	FORM_LINE,              /* its first line, without blanks at the end */
	FORM_CHOSEN,            /* the word in brackets, or the only one: "none [mq-deadline]" */
	FORM_SECTORS,           /* a number of 512 bytes: given in bytes */
	FORM_LINK,              /* a link: the last part of its target */
	FORM_FOLDER,            /* a folder: the names in it, at most 64 */
	FORM_COUNT,             /* a folder: how many names are in it */
};

/* A fact and its file. To add a fact: a row in a table of these. */
struct machine_file {
	const char *key, *file;
	enum machine_form form;
};

/* Writes a fact; value NULL or "": none. */
void machine_fact(const struct machine_part *, const char *key, const char *value);
void machine_number(const struct machine_part *, const char *key, u64 value);

/* Writes the facts of those files of a folder that can be read. A negative number where the kernel
 * says "unknown" (the speed of a link) is none. */
void machine_files(const struct machine_part *, const char *folder,
		   const struct machine_file *files, size_t n);

/* Writes how many parts of a kind were left out; 0: nothing. */
void machine_left_out(FILE *to, const char *part, size_t n);

/* Each writes the facts of its parts. */
void machine_cpus(FILE *to);
void machine_disks(FILE *to);
void machine_mounts(FILE *to);

#endif
