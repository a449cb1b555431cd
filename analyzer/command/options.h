/* SPDX-License-Identifier: GPL-3.0-only */
/* options.h - the command line as typed tables, from which --help is made too. */
#ifndef IOT_ANALYZER_OPTIONS_H
#define IOT_ANALYZER_OPTIONS_H

#include "limit.h"
#include "query.h"
#include "select.h"

/* Says why a command has no line a carrier, and which have. Returns EXIT_USAGE. */
int fail_by_carrier(const char *command);

struct options {
	const char *run, *system, *plot, *reports, *table, *ledger, *size, *title, *out, *key;
	int format;              /* enum format */
	int per;                 /* index into per_names */
	bool has_per;
	const char *against;     /* --against; NULL: none */
	double within;           /* --within, as a fraction */
	bool has_within;
	struct limit limit[32];
	int limits;
	uint64_t logical_bytes;
	bool has_logical;
	struct selection select; /* --where, --sort, --top */
	bool has_top;
	uint64_t step;
	bool has_step;
	uint64_t ops;
	bool has_ops;
	uint64_t copies, shares; /* --copies, --ec; 0: not given */
	uint64_t older, to;      /* --older, --to */
	bool has_older, has_to, events;
	bool exact, seed, force, no_head, grey, cdf, once, help, version;
	uint64_t given;          /* a bit a row of options.c: is in the command line */
	const char *arg[65];     /* command, stores, file */
	int args;
};

/* Those behind PER_ALL are what `timeline` cuts bytes by, those from PER_COMPONENT on what `files`
 * does. */
enum { PER_CARRIER = 8, PER_ALL = 10, PER_COMPONENT = 14 };
extern const char *const per_names[];

/* Returns the question that options of all reports make: whose lines, and what clients had
 * acknowledged (without --ledger, which payload_read() reads). */
struct ask options_ask(const struct options *o, const char *rules);

/* Reads the command line. Returns 0, or EXIT_USAGE with one line on stderr. */
int options_read(struct options *o, int argc, char **argv);

/* Refuses options of other commands (the column `commands` of options.c). Options of reports are
 * refused by other reports only (is_report), and ignored by other commands. Returns 0, or
 * EXIT_USAGE with one line on stderr. */
int options_check(const struct options *o, const char *command, bool is_report);

/* Calls back with each option: `value` names its value, NULL: it has none; `choices` ends with
 * NULL, or is NULL. */
void options_each(void (*call)(const char *name, const char *value, const char *const *choices,
			       const char *doc));

/* Prints the options in their groups to stdout: all of them (command NULL), or those of a command:
 * its own, and of the general ones those in `takes`, which stand between blanks (NULL: all),
 * without those for pictures unless it draws. Returns an exit status. */
int options_help(const char *command, const char *takes, bool draws);

#endif
