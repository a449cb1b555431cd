/* SPDX-License-Identifier: GPL-3.0-only */
/* anonymous.h - names in a run replaced by keyed hashes of themselves: the same name has the same
 * hash in all columns, and in all stores that were made with the same key.
 *
 * Replaced are the components of paths, the words of command lines, names of programs, users,
 * hosts, containers and control groups, and addresses but those of the loopback. Numbers in names
 * become other numbers, so that families of names stay families. A text column that has no row in
 * anonymous.c is replaced.
 */
#ifndef IOT_ANONYMOUS_H
#define IOT_ANONYMOUS_H

#include "stream.h"

struct anonymizer;

/* Makes one with the key in the file at `path`, which must be ours and readable for nobody else; it
 * is made when it is absent, mode 0600. NULL: a random key that is kept nowhere. Returns 0 or a
 * negative errno after a message. */
int anonymizer_new(struct anonymizer **out, const char *path);
void anonymizer_free(struct anonymizer *);

/* The other columns of a row that decide how one of its texts is replaced. */
struct anonymous_row {
	bool kthread;           /* of record process */
	const char *part, *key; /* of record machine */
};

/* The text that stands for `text` in a column of a record (REC_MAX: of an unknown table). To be
 * freed; NULL: no memory. */
char *anonymous_text(const struct anonymizer *, unsigned int type, const char *column,
		     const char *text, const struct anonymous_row *row);

/* Makes a sink in front of `to` that replaces names. Closing it leaves `to` open. Returns 0 or a
 * negative errno after a message. */
int sink_anonymous(struct sink **out, struct sink *to, const struct anonymizer *);

/* Creates a store at `to`, which must not exist, with all runs of the store at `from`, names
 * replaced. Returns as store_rewrite(). */
int store_anonymize(const char *from, const char *to, const struct anonymizer *);

#endif
