/* SPDX-License-Identifier: GPL-3.0-only */
/* arguments.h - command lines, read by glibc's argp from the rows of a program; what is wrong with one is said in our form. */
#ifndef IOT_BASE_ARGUMENTS_H
#define IOT_BASE_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

/* An option, as a program's row of it says. */
struct argument {
	char letter;                /* 0: none */
	const char *name;           /* "run" of --run; NULL: the letter alone; neither: `help` is the head of a group */
	const char *value;          /* what its value is called; NULL: it has none; "?FILE": FILE may be left out */
	const char *help;
	const char *const *choices; /* NULL-terminated, listed behind the help; NULL: none */
};

struct arguments {
	const char *usage, *doc;    /* of --help: what stands behind the program's name, and in the line below */
	size_t n;
	struct argument (*row)(size_t i); /* the i-th of n */
	/* An option and its value, NULL for none. Returns 0, or what reading ends with. */
	int (*take)(void *into, size_t i, const char *value);
	/* A word that is no option; behind: -- stands before it. words: it and those that follow in argv. Returns likewise. */
	int (*word)(void *into, char **words, bool behind);
	bool rest;                  /* the first word takes all that follow */
};

/* Reads argv in order, each option in full: a script stays right when options are added. Returns 0, what `take` or `word` returned,
 * or 2 or (no memory) 1 after a message. */
int arguments_read(const struct arguments *, void *into, int argc, char **argv);

/* Prints the options in their groups to stdout, as wide as a terminal; before them usage and doc, if there are any. Returns 0, or
 * -ENOMEM after a message. */
int arguments_help(const struct arguments *);

#endif
