/* SPDX-License-Identifier: GPL-3.0-only */
/* fresh.h - a new store, written beside its place and put there in one step. Not for other
 * folders.
 *
 * Until then it has no name, where the file system can do that (O_TMPFILE): whatever ends the
 * process, nothing is left. Elsewhere, and for the moment in which it replaces a store, it has
 * one, .iot- and 16 digits, and is locked (flock): what has such a name and is not locked is of
 * a process that was killed, and the next one removes it.
 */
#ifndef IOT_STREAM_FRESH_H
#define IOT_STREAM_FRESH_H

#include "opener.h"
#include "stream.h"

struct fresh {
	struct opener o;
	struct place to;        /* where it goes */
	char *path, name[32];   /* where it is, and its name in that folder; "" it has none */
	const char *final;      /* as the user gave it */
};

/* Makes it, empty, with every table, in one transaction that is open. Returns 0 or a negative
 * errno, after having reported the error; fresh_close() in either case. */
int fresh_open(struct fresh *f, const char *final);

/* Commits and puts it in its place; like: whose owner and mode it gets, or NULL. */
int fresh_place(struct fresh *f, const struct stat *like);

/* Removes what was not placed. */
void fresh_close(struct fresh *f);

#endif
