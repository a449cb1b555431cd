/* SPDX-License-Identifier: GPL-3.0-only */
/* opener.h - opens stores for reading or writing: the only way to do so.
 *
 * SQLite knows only names, and a store has companions whose names follow from its own: -journal,
 * -wal, -shm. SQLite is given a name that only opener.c can open: each of these files is opened in
 * the folder that was judged, by its descriptor, and is judged itself. SQLite can open, make and
 * remove no other files except temporary ones.
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
	int fd;                         /* keeps SQLite's locks: closing it would drop them */
	bool keeps;
	int index, log;                 /* its companions, opened by journal_keep(); -1: not open */
	int number;
	bool to_write, to_replace;
	bool nameless;                  /* it has no name: at.name is SQLite's name for it */
	bool made, unmakes;             /* it was created; unmakes: opener_close() removes it then */
	unsigned int version;           /* format of the store */
	int refused;                    /* by place_judge(), of the companion `culprit` */
	const char *culprit;
	time_t until;                   /* 0: no limit */
	bool late;
	sqlite3 *db;
};

/* Opens the store at `path`. to_write: it is created (mode 0600) when it is absent, and locked
 * against our other writers. A store that is read has the format IOT_SCHEMA or the one before,
 * whose missing tables and columns are filled (store/older.h). A store that is written has all
 * tables of this version, or *fresh is set: it is empty. Returns 0 or a negative errno, after
 * having reported the error; opener_close() in either case. `path` must live as long as the
 * opener. */
int opener_open(struct opener *o, const char *path, bool to_write, bool *fresh);
void opener_close(struct opener *o);

/* Creates a store without a name in the folder of `at` (O_TMPFILE), which is gone when this process
 * ends unless it was linked. `path` is for messages. Returns as opener_open(), and silently
 * -EOPNOTSUPP when the file system has no such files. */
int opener_make_nameless(struct opener *o, const struct place *at, const char *path);

/* Writes the path of its descriptor, to link it by (AT_SYMLINK_FOLLOW). Returns `path`. */
#define OPENER_SELF 32
const char *opener_self(const struct opener *o, char path[OPENER_SELF]);

/* Opens an existing store, of any format that can be read, as its only writer, to replace its
 * file. */
int opener_open_to_replace(struct opener *o, const char *path);

/* Has the store a companion whose contents SQLite would apply to it? */
bool opener_has_companions(const struct opener *o);

/* Does an SQLite code mean that the device, or the quota, has no room? */
bool opener_is_full(const struct opener *o, int rc);

/* Reports an SQLite code in one sentence. Returns the errno that goes with it. */
int opener_fail(struct opener *o, int rc, const char *what);

#endif
