/* SPDX-License-Identifier: GPL-3.0-only */
/* arguments.h - command lines, read by glibc's argp from the rows of a program, with error messages
 * in our form. */
#ifndef IOT_BASE_ARGUMENTS_H
#define IOT_BASE_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

/* One option of a program. */
struct argument {
	char letter;                /* 0: none */
	const char *name;           /* "run" of --run; NULL: a letter only, or `help` heads a group */
	const char *value;          /* name of its value; NULL: none; "?FILE": FILE is optional */
	const char *help;
	const char *const *choices; /* NULL-terminated, listed after the help; NULL: none */
};

struct arguments {
	const char *usage, *doc;    /* of --help: text after the program's name, and on the next line */
	size_t n;
	struct argument (*row)(size_t i); /* row i of n */
	/* Takes an option and its value, NULL for none. Returns 0, or a status that ends the reading. */
	int (*take)(void *into, size_t i, const char *value);
	/* Takes an argument that is no option. behind: it comes after --. words: it and the following
	 * arguments. Returns as `take`. */
	int (*word)(void *into, char **words, bool behind);
	bool rest;                  /* the first such argument takes all that follow */
};

/* Reads argv in order. Options must be written in full, so that scripts stay right when options are
 * added. Returns 0, the status that `take` or `word` returned, or after a message 2, or 1 (no
 * memory). */
int arguments_read(const struct arguments *, void *into, int argc, char **argv);

/* Prints the options in their groups to stdout, as wide as a terminal, after usage and doc if there
 * are any. Returns 0, or -ENOMEM after a message. */
int arguments_help(const struct arguments *);

#endif
