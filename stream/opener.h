/* SPDX-License-Identifier: GPL-3.0-only */
/* opener.h - how a store is opened, to be read or written: the one way. Not for other folders, but for the query runner.
 *
 * SQLite knows only names, and a store has companions whose names follow from its own: -journal, -wal, -shm. Here it is given a name
 * that nothing but this file can open: each of these files is opened in the folder that was judged, by its descriptor, and judged
 * itself. SQLite can name, make and remove no other file but temporary ones.
 */
#ifndef IOT_STREAM_OPENER_H
#define IOT_STREAM_OPENER_H

#include <sqlite3.h>
#include <sys/stat.h>
#include <time.h>
#include "place.h"

struct opener {
	struct opener *next;
	const char *path;               /* as the user gave it */
	struct place at;
	struct stat main;               /* the store, as it was judged */
	int fd;                         /* of it: closing it earlier would drop SQLite's locks too */
	bool keeps;
	int index, log;                 /* what lies beside it, until it is closed (journal_keep()); -1: it could not be opened */
	int number;
	bool to_write, to_replace;
	bool nameless;                  /* it has no name: at.name is how SQLite calls it */
	bool made, unmakes;             /* it was not there before; set the second and opener_close() takes such a one away again */
	unsigned int version;           /* format of the store */
	int refused;                    /* by place_judge(), of the companion `culprit` */
	const char *culprit;
	time_t until;                   /* 0: no limit */
	bool late;
	sqlite3 *db;
};

/* Opens the store at `path`. to_write: it is made (mode 0600) when it is absent, and no other writer of ours has it. A store that is
 * read is of IOT_SCHEMA or an older format whose tables are tables, and what it does not have is filled (older.h); one that is written
 * has the schema of this version, whole, or *fresh is set: there is nothing in it yet. Returns 0 or a negative errno, after having reported
 * the error; opener_close() in either case. `path` must live as long. */
int opener_open(struct opener *o, const char *path, bool to_write, bool *fresh);
void opener_close(struct opener *o);

/* Makes a store without a name in the folder of `at` (O_TMPFILE): when this process ends it is gone, unless it was linked. `path` is for
 * messages. Returns as opener_open(), and -EOPNOTSUPP silently where the file system has no such files. */
int opener_make_nameless(struct opener *o, const struct place *at, const char *path);

/* The path of its descriptor, to link it by (AT_SYMLINK_FOLLOW); returns `path`. */
#define OPENER_SELF 32
const char *opener_self(const struct opener *o, char path[OPENER_SELF]);

/* Opens a store that is there, of any format that can be read, as its only writer, to put another file in its place. */
int opener_open_to_replace(struct opener *o, const char *path);

/* Is there anything beside the store that SQLite would play into it? */
bool opener_has_companions(const struct opener *o);

/* Does an SQLite code mean that the device, or the quota, has no room? */
bool opener_is_full(const struct opener *o, int rc);

/* One sentence for an SQLite code, and the errno that goes with it. */
int opener_fail(struct opener *o, int rc, const char *what);

#endif
