/* SPDX-License-Identifier: GPL-3.0-only */
/* program.h - programs that we start by ourselves, as root too: none that somebody else can write, or put in its place. */
#ifndef IOT_BASE_PROGRAM_H
#define IOT_BASE_PROGRAM_H

#include <stdbool.h>

/* Judges the program at `path`. One may be run that belongs to root, to us or to whose program we are ourselves, and that nobody else
 * can write. *shared: by its descriptor alone, not by its name, which may be another's by then. Returns an O_PATH descriptor, -ENOENT,
 * or -EPERM: it may not. */
int program_open(const char *path, bool *shared);

/* Looks for a program in the folders of PATH, from the root on: never in the current one. Folders that somebody else can write or
 * exchange are left out. Returns as program_open(); *path, to be freed, is its name, or with -EPERM that of the first that was left
 * out. It may be run by that name. */
int program_find(const char *name, char **path);

/* What is wrong with one that may not be run, behind its name. */
#define PROGRAM_REFUSED "will not run it: somebody else can write it, or a folder on the way to it: " \
	"take that away (chmod go-w), or the folder out of PATH"

#endif
