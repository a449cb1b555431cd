/* SPDX-License-Identifier: GPL-3.0-only */
/* fresh.h - a new store that appears in one step.
 *
 * Until then it has no name, where the file system supports that (O_TMPFILE): a process that is
 * killed leaves nothing. Elsewhere, and for the moment in which it replaces a store, its name is
 * .iot- and 16 digits, and it is locked (flock). A file of such a name that is not locked was left
 * by a process that was killed; the next process removes it.
 */
#ifndef IOT_STREAM_FRESH_H
#define IOT_STREAM_FRESH_H

#include "opener.h"
#include "stream.h"

struct fresh {
	struct opener o;
	struct place to;        /* the final place */
	char *path, name[32];   /* the present path, and the name in that folder; "" none */
	const char *final;      /* the path that the user gave */
};

/* Makes it, empty but with all tables, in one open transaction. Returns 0 or a negative errno,
 * after having reported the error; fresh_close() in either case. */
int fresh_open(struct fresh *f, const char *final);

/* Commits and puts it in its place, with the owner and mode of `like`, unless that is NULL. */
int fresh_place(struct fresh *f, const struct stat *like);

/* Closes it, and removes it unless fresh_place() succeeded. */
void fresh_close(struct fresh *f);

#endif
