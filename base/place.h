/* SPDX-License-Identifier: GPL-3.0-only */
/* place.h - paths through folders that others can write: walked by descriptors, and files are
 * judged before they are opened.
 *
 * We run as root and get names like /tmp/x. A file is ours if it belongs to root or to us. A folder
 * is shared if another user can write it, or can replace it or a folder above it. The sticky bit
 * makes no difference for the files in it: it keeps others from removing them, not from creating
 * them first. Nothing here prints: errors are negative, and place_error() has a sentence for each.
 * No other file of this folder is needed.
 */
#ifndef IOT_STREAM_PLACE_H
#define IOT_STREAM_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

/* Refusals, negated like an errno, and larger than any errno. */
enum {
	PLACE_LINK = 5000,      /* a symbolic link that somebody else made in a shared folder */
	PLACE_FOREIGN,          /* it belongs to somebody else, in a shared folder */
	PLACE_WRITABLE,         /* somebody else can write it, in a shared folder */
	PLACE_NAMES,            /* it has other names (hard links), in a shared folder */
	PLACE_EXCHANGED,        /* another file took its name during the check */
};

/* A name in a folder. */
struct place {
	int dir;                 /* O_PATH; -1: none */
	char name[NAME_MAX + 1]; /* after all symbolic links; "." of a folder */
	bool shared;
	bool magic;              /* in /proc, whose links only the kernel makes and follows */
};

/* Walks `path`; its last component may be absent. Symbolic links are followed unless a stranger
 * made them in a shared folder. Returns 0 or a negative error. place_leave() accepts a place that
 * was not found. */
int place_find(struct place *p, const char *path);
void place_leave(struct place *p);

/* Does so for an existing folder, which is entered: name is ".". */
int place_enter(struct place *p, const char *path);

/* Judges a file of the place: in a shared folder it must belong to us, have one name, and not be
 * writable for others. Returns 0 or a refusal. fd: a descriptor of it, for its access control list;
 * -1: none, the list is not checked. */
int place_judge(const struct place *p, int fd, const struct stat *st);

/* Judges `name` in the folder of a place without opening it. Returns an O_PATH descriptor and *st,
 * or a negative error. */
int place_look(const struct place *p, const char *name, struct stat *st);

/* Opens `name` in the folder of a place, after judging it. flags: as of open(); O_CREAT makes it
 * with mode 0600 when it is absent, O_EXCL fails when it is there. No link is followed. Returns a
 * descriptor (O_CLOEXEC) or a negative error. */
int place_open(const struct place *p, const char *name, int flags);

/* Does place_find() and place_open(). */
int place_open_path(const char *path, int flags);

/* Is there a file of that name? */
bool place_has(const struct place *p, const char *name);

/* Returns the meaning of an error, to follow the name in a sentence. to_write: it was opened for
 * writing. */
const char *place_error(int err, bool to_write);

/* Returns an errno: EPERM for the refusals that place_error() explains. */
int place_errno(int err);

#endif
