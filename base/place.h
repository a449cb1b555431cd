/* SPDX-License-Identifier: GPL-3.0-only */
/* place.h - names that lead through folders which others can write: walked by descriptors, and what lies there judged before it
 * is opened.
 *
 * We run as root and are told names like /tmp/x. Ours is what belongs to root or to us. A folder is shared when somebody else can
 * write it, or could exchange it for another on the way to it. Sticky or not makes no difference for what lies in it: the sticky
 * bit keeps others from taking away what is there, not from being there first.
 * Nothing here prints: errors are negative, and place_error() has a sentence for each. No other file of this folder is needed.
 */
#ifndef IOT_STREAM_PLACE_H
#define IOT_STREAM_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

/* Refusals, negated like an errno, and beyond all of those. */
enum {
	PLACE_LINK = 5000,      /* a symbolic link that somebody else made in a shared folder */
	PLACE_FOREIGN,          /* it belongs to somebody else, in a shared folder */
	PLACE_WRITABLE,         /* somebody else can write it, in a shared folder */
	PLACE_NAMES,            /* it has other names (hard links), in a shared folder */
	PLACE_EXCHANGED,        /* it became something else while it was looked at */
};

/* A name in a folder. */
struct place {
	int dir;                 /* O_PATH; -1: none */
	char name[NAME_MAX + 1]; /* behind every symbolic link; "." of a folder */
	bool shared;
	bool magic;              /* in /proc, where links are no text: the kernel follows them, and nobody else can make one */
};

/* Finds where `path` leads; its last component may be absent. Symbolic links are followed unless they are a stranger's in a shared
 * folder. Returns 0 or a negative error. place_leave() takes one that was not found, too. */
int place_find(struct place *p, const char *path);
void place_leave(struct place *p);

/* As place_find(), of a folder that is there, which is entered: name is ".". */
int place_enter(struct place *p, const char *path);

/* Whether what lies at the place may be used: in a shared folder, what belongs to us, has one name, and nobody else can write. fd: a
 * descriptor of it, for its access control list; -1: none, that list is not looked at. */
int place_judge(const struct place *p, int fd, const struct stat *st);

/* Looks at `name` in the folder of a place without opening it. Returns an O_PATH descriptor and *st, or a negative error. */
int place_look(const struct place *p, const char *name, struct stat *st);

/* Opens `name` in the folder of a place, after judging it. flags: as of open(); O_CREAT makes it with mode 0600 when it is absent,
 * O_EXCL only then. No link is followed. Returns a descriptor (O_CLOEXEC) or a negative error. */
int place_open(const struct place *p, const char *name, int flags);

/* place_find() and place_open(). */
int place_open_path(const char *path, int flags);

/* Is there anything of that name? */
bool place_has(const struct place *p, const char *name);

/* What an error means, as the end of a sentence that begins with the name. to_write: it was to be written, not read. */
const char *place_error(int err, bool to_write);

/* As an errno: what place_error() explains is EPERM. */
int place_errno(int err);

#endif
