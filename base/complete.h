/* SPDX-License-Identifier: GPL-3.0-only */
/* complete.h - parts of completion scripts for bash and zsh, written to standard output: an option
 * and its value. */
#ifndef IOT_BASE_COMPLETE_H
#define IOT_BASE_COMPLETE_H

#include <stdbool.h>

struct completed {
	const char *name;              /* "--format" or "-o" */
	char letter;                   /* another name: 'f' of -f; 0: none */
	const char *value;             /* its name; FILE, DIR, BASE and PATH complete paths; NULL: none */
	const char *const *choices;    /* NULL-terminated; NULL: not known */
	bool list;                     /* several choices may be given, comma separated */
	const char *bash, *zsh;        /* instead of choices: words for bash, action of _arguments */
	const char *doc;
};

/* Prints the names of an option, each after a blank. */
void complete_bash_name(const struct completed *);

/* Prints a branch of bash's `case` that completes the word in $cur after the option, and returns.
 * Prints nothing for an option without a value. */
void complete_bash_value(const struct completed *);

/* Prints the words of zsh's _arguments for an option, one on each line. */
void complete_zsh_option(const struct completed *);

/* Prints text for single quotes of a shell; in zsh some characters must also be `escaped`. */
void complete_quoted(const char *text, const char *escaped);

#endif
