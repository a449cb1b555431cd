/* SPDX-License-Identifier: GPL-3.0-only */
/* copy.h - runs from store to store, row by row: what migrate, merge and prune have in common. Not for other folders. */
#ifndef IOT_STREAM_COPY_H
#define IOT_STREAM_COPY_H

#include "opener.h"
#include "stream.h"

/* A device of a run that is merged, and the number that it gets. */
struct copy_device {
	u32 from, to;
};

/* One run on its way. All zero but `from`, `to`, `run`, `as`: a plain copy. */
struct copy {
	sqlite3 *from, *to;     /* from: filled as older.h says */
	s64 run, as;            /* its number there, and here */
	bool no_events;         /* leave them out */
	bool merge;             /* beside others: what has no row of its own is added; run, run_end and node are the caller's */
	u64 processes, files;   /* added to the numbers of processes, but 0 to 2, and of files */
	s64 shift_ns;           /* added to times since the start of the run */
	const char *host;       /* of processes and devices */
	bool only;              /* of the kernel's counters only those of device only_dev: its filter */
	u32 only_dev;
	bool renames;           /* names of devices and instances begin with it, and the devices of a load are not known: there are several machines */
	bool shares;            /* the machine with another: whom neither was asked for is in none */
	const struct copy_device *device;
	size_t devices;
};

/* Copies it. Returns an SQLite code, and the table that it is about in *table. *rows counts up. */
int copy_run(const struct copy *c, const char **table, u64 *rows);

/* Adds rows of dictionaries that this version does not have: words of before. Returns an SQLite code. */
int copy_words(sqlite3 *from, sqlite3 *to);

/* Reports what copy_run() returned, about the store whose fault it is. Returns a negative errno. */
int copy_fail(struct opener *from, struct opener *to, int rc, const char *table);

#endif
