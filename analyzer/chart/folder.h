/* SPDX-License-Identifier: GPL-3.0-only */
/* folder.h - a private folder to work in, and files that are copied from it to where they were
 * asked for.
 *
 * Both are held by their descriptors: whoever owns the folder that pictures go to may rename what
 * is in it at any time. */
#ifndef IOT_ANALYZER_FOLDER_H
#define IOT_ANALYZER_FOLDER_H

#include <stdio.h>

struct folder {
	char *path;             /* may lead elsewhere by now: for messages, and to remove it */
	int fd;
};

/* Makes an empty folder that only we can enter, below TMPDIR, else /var/tmp. Returns 0 or an exit
 * status, the error reported. folder_remove() takes one that was not made, too, and removes the
 * files in it. */
int folder_make(struct folder *f);
void folder_remove(struct folder *f);

/* A new file in it, mode 0600; NULL: errno says why. */
FILE *folder_create(const struct folder *f, const char *name);

struct place;

/* Whether `name` in the folder `to` may be made, or replaced. Returns 0 or an exit status, the
 * error reported. */
int folder_may_place(const struct place *to, const char *dir, const char *name);

/* Copies `name` to the folder `to`, mode 0600, in place of what is there. `dir` is for messages.
 * Returns 0 or an exit status, the error reported. */
int folder_place(const struct folder *f, const struct place *to, const char *dir, const char *name);

#endif
