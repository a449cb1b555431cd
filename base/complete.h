/* SPDX-License-Identifier: GPL-3.0-only */
/* complete.h - what scripts by which bash and zsh complete command lines have in common: an option and its value, on standard output. */
#ifndef IOT_BASE_COMPLETE_H
#define IOT_BASE_COMPLETE_H

#include <stdbool.h>

struct completed {
	const char *name;              /* "--format" or "-o" */
	char letter;                   /* another name for it: 'f' of -f; 0: none */
	const char *value;             /* what its value is called; FILE, DIR, BASE and PATH are completed as such; NULL: it has none */
	const char *const *choices;    /* NULL-terminated; NULL: none are known */
	bool list;                     /* several choices may be given, comma separated */
	const char *bash, *zsh;        /* instead of choices: words as bash expands them, an action of zsh's _arguments; NULL: none */
	const char *doc;
};

/* The names of an option, each behind a blank. */
void complete_bash_name(const struct completed *);

/* A case of bash's `case`: it completes the word in $cur behind the option, and returns. Nothing where the option has no value. */
void complete_bash_value(const struct completed *);

/* The words of zsh's _arguments for an option, a line each. */
void complete_zsh_option(const struct completed *);

/* Text within single quotes of a shell; zsh also wants some characters `escaped`. */
void complete_quoted(const char *text, const char *escaped);

#endif
