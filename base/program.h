/* SPDX-License-Identifier: GPL-3.0-only */
/* program.h - programs that we run ourselves, also as root: never one that another user can write
 * or replace. */
#ifndef IOT_BASE_PROGRAM_H
#define IOT_BASE_PROGRAM_H

#include <stdbool.h>

/* Judges the program at `path`. It must belong to root, to us or to the owner of our own program,
 * and not be writable for others. *shared: run it by its descriptor only, since its name may lead
 * to another file by then. Returns an O_PATH descriptor, -ENOENT, or -EPERM: it must not be run. */
int program_open(const char *path, bool *shared);

/* Looks for a program in the absolute folders of PATH, never in the current one. Folders that
 * another user can write or replace are left out. Returns as program_open(); *path, to be freed, is
 * its name, or with -EPERM that of the first program that was left out. It may be run by that
 * name. */
int program_find(const char *name, char **path);

/* The reason why a program is not run, to follow its name. */
#define PROGRAM_REFUSED "will not run it: somebody else can write it, or a folder on the way to it: " \
	"take that away (chmod go-w), or the folder out of PATH"

#endif
