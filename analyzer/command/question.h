/* SPDX-License-Identifier: GPL-3.0-only */
/* question.h - `iot-analyze help`, and the scripts by which shells complete its command lines. */
#ifndef IOT_ANALYZER_QUESTION_H
#define IOT_ANALYZER_QUESTION_H

#include "options.h"

/* Commands that are no reports, for completion: the name, and what it does. */
struct command_word {
	const char *name, *doc;
};

/* Prints what the words behind `help` mean, where they are terms (terms.def), and the questions
 * that have most of them, with the commands that answer; without words all questions. Returns 0,
 * or EXIT_USAGE when there is neither. */
int help_question(const struct options *o);

/* The command line of the first question that a command answers, behind the program's name; NULL:
 * none does. */
const char *question_example(const char *command);

/* Prints the script for `bash` or `zsh`: commands (`words`, whose last name is NULL), reports,
 * their tables, options and their values. 0 or an exit status. */
int completion(const struct options *o, const struct command_word *words);

#endif
