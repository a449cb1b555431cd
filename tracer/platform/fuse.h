/* SPDX-License-Identifier: GPL-3.0-only */
/* fuse.h - who serves a FUSE mount. */
#ifndef IOT_FUSE_H
#define IOT_FUSE_H

#include "stream.h"

/* Says who answers what is asked about processes (ask.h). */
void fuse_serve(void);

bool fuse_is_mount(const struct rec_device *);

/* The process that holds the connection of the FUSE mount of this number; 0: none does, or the kernel does not say (it does since 6.16). */
u32 fuse_server(u32 dev);

#endif
