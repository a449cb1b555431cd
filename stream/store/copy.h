/* SPDX-License-Identifier: GPL-3.0-only */
/* copy.h - copies runs from store to store, row by row, for migrate, merge and prune. */
#ifndef IOT_STREAM_COPY_H
#define IOT_STREAM_COPY_H

#include "anonymous.h"
#include "opener.h"
#include "stream.h"

/* A device of a run that is merged, and its number in the merged run. */
struct copy_device {
	u32 from, to;
};

/* Parameters of a copy of one run. All zero but `from`, `to`, `run`, `as`: a plain copy. */
struct copy {
	sqlite3 *from, *to;     /* from: filled by older_fill() */
	s64 run, as;            /* its number in `from`, and in `to` */
	bool no_events;         /* leave events out */
	bool merge;             /* add to the rows of other runs; run, run_end and node are not copied */
	u64 processes, files;   /* added to ids of processes (not to 0 to 2), and of files */
	s64 shift_ns;           /* added to times since the start of the run */
	const char *host;       /* the host of processes and devices */
	bool only;              /* copy the kernel's counters of device only_dev alone, the filter's */
	u32 only_dev;
	bool renames;           /* several machines: prefix names of devices and instances by host */
	bool shares;            /* another run is of the same machine: leave out process 2, "filtered" */
	const struct copy_device *device;
	size_t devices;
	const struct anonymizer *names; /* replaces names; NULL: they stay */
};

/* Returns the number of a device in the merged run: as it is when no row of `device` renames it. */
s64 copy_device(const struct copy_device *device, size_t n, s64 dev);

/* Copies the run. Returns an SQLite code, and the table that it is about in *table. Adds the number
 * of rows to *rows. */
int copy_run(const struct copy *c, const char **table, u64 *rows);

/* Adds rows of dictionaries that this version does not have: names of an older one. Returns an
 * SQLite code. */
int copy_words(sqlite3 *from, sqlite3 *to);

/* Reports a code of copy_run() for the store that caused it. Returns a negative errno. */
int copy_fail(struct opener *from, struct opener *to, int rc, const char *table);

#endif
