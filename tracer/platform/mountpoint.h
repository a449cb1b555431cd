/* SPDX-License-Identifier: GPL-3.0-only */
/* mountpoint.h - opens the root of a mounted file system. */
#ifndef IOT_MOUNTPOINT_H
#define IOT_MOUNTPOINT_H

#include "tracer.h"

/* Opens the mount point `mount` for reading, unless it is neither a directory nor a regular file.
 * Returns a descriptor or a negative errno. */
int mountpoint_open(const char *mount);

#endif
