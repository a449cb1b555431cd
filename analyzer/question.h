/* SPDX-License-Identifier: GPL-3.0-only */
/* question.h - `iot-analyze help`, and the scripts by which shells complete its command lines. */
#ifndef IOT_ANALYZER_QUESTION_H
#define IOT_ANALYZER_QUESTION_H

#include "options.h"

/* Commands that are no reports, for completion: the name, and what it does. */
struct command_word {
	const char *name, *doc;
};

/* Prints the questions that have most of the words behind `help`, with the commands that answer them; without words all. Returns 0, or EXIT_USAGE
 * when none has any. */
int help_question(const struct options *o);

/* Prints the script for `bash` or `zsh`: commands (`words`, whose last name is NULL), reports, their tables, options and their values. 0 or an
 * exit status. */
int completion(const struct options *o, const struct command_word *words);

#endif
