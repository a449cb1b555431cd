/* SPDX-License-Identifier: GPL-3.0-only */
/* fuse.h - the process that serves a FUSE mount. */
#ifndef IOT_FUSE_H
#define IOT_FUSE_H

#include "stream.h"

/* Registers the helper's answers about processes (ask.h). */
void fuse_serve(void);

bool fuse_is_mount(const struct rec_device *);

/* Process that holds the connection of the FUSE mount of this number. 0: none does, or the kernel
 * does not say (it does since 6.16). */
u32 fuse_server(u32 dev);

#endif
