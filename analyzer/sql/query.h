/* SPDX-License-Identifier: GPL-3.0-only */
/* query.h - a store, opened for reading, and statements asked of it. Its users need no SQLite. */
#ifndef IOT_ANALYZER_QUERY_H
#define IOT_ANALYZER_QUERY_H

#include "grid.h"

struct store;
struct limit;
struct rec_load;

/* The question that a report answers: its parameters (:run, :per, ...), and the tables `ask` and
 * `alias`. Table `given` holds what clients had acknowledged: the ledger of the command line, else
 * its logical bytes, else the ledger that the store has for the run; it may be empty. */
struct ask {
	int64_t run;
	const char *per;        /* system, comm, pid or all */
	const char *system;     /* name or alias; NULL: all */
	const char *rules;      /* text of systems.json: whose aliases these are */
	const char *systems;    /* the view whose column `system` has what may be asked for; NULL:
				   anything */
	bool about_store;       /* the report is about all runs */
	bool plot;              /* a picture is asked for */
	bool each;              /* limits are for each line of the report, not for the whole run */
	const struct limit *limit; /* become table `wanted_limit` (place, ratio, kind, value, text,
				      low, who) */
	int limits;
	bool has_logical;
	uint64_t logical_bytes;
	const char *by;         /* parameter :by; NULL: the report's own */
	uint64_t step;          /* parameter :step; 0 is NULL */
	const struct selection *select; /* which rows are asked for; NULL: all */
	bool all_rows;          /* parameter :rows is 100, or with this beyond all: rows are chosen
				   afterwards */
	bool some_events;       /* reads events also of a run that recorded only some (--only) */
	bool cdf;               /* parameter :cdf */
	bool once;              /* parameter :once */
	bool has_ops;
	uint64_t ops;           /* parameter :ops; without, it is NULL */
	uint64_t copies, shares; /* of what has_logical gives: so many shares are written for each
				    `shares` of payload; 0: not known */
	const struct rec_load *ledger; /* NULL: none */
	const char *ledger_name;       /* for messages */
};

/* Opens a store for reading. Refuses what is not a store of iot, and what a newer version wrote.
 * Returns 0 or an exit status, the error reported. store_close() takes NULL too. */
int store_open(struct store **out, const char *path);
void store_close(struct store *s);

/* Finds the run named `which`: a number, else the newest run with that label, else, for NULL, the
 * newest run. Returns 0 and the number, or an exit status: EXIT_USAGE when there is no such run. */
int store_run(struct store *s, const char *which, int64_t *run);

/* Begins a question: makes the tables `ask`, `alias` and `given`, which views read. */
int store_ask(struct store *s, const struct ask *ask);

/* Ends the preparation, when all views are made: the store is read only from here on. EXIT_USAGE
 * when there is no such system or ratio. */
int store_asked(struct store *s, const char *system);

/* Checks that a ledger can be one of the run: the run has its devices, and its load ran during the
 * run. Returns 0, or EXIT_DATA with one line on stderr. */
int store_check_ledger(struct store *s, int64_t run, const struct rec_load *ledger,
		       const char *name);

/* Is there the system that was asked for? 0 or EXIT_USAGE. */
int store_has_system(struct store *s, const char *system);

/* Runs the first statement of `sql` and stores its answer. *tail is set behind the statement. A
 * text without any statement gives a table without columns. `name` is for messages. Returns 0 or
 * an exit status. */
int store_query(struct store *s, const char *name, const char *sql, const char **tail,
		struct grid *out);

/* Runs one statement and gives its answer in pieces, so that it may be larger than memory: rows()
 * is called with at most STORE_PIECE rows at a time, and once at least, for the names of the
 * columns. A negative errno or an exit status from it ends the query. Returns as store_query(). */
#define STORE_PIECE 1024
int store_each(struct store *s, const char *name, const char *sql,
	       int (*rows)(void *arg, const struct grid *piece), void *arg);

/* Is a picture asked for? */
bool store_plots(const struct store *);

#endif
