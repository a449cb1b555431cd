/* SPDX-License-Identifier: GPL-3.0-only */
/* sandbox.h - the system calls that are left once everything is attached and open. */
#ifndef IOT_SANDBOX_H
#define IOT_SANDBOX_H

#include "tracer.h"

struct sandbox_opts {
	bool store;             /* files are made, written and removed until the end: those that SQLite keeps beside a store */
	bool report;            /* iot-analyze is run at the end */
	bool checkpoint;        /* file systems are told to empty their journals (checkpoint.h) */
};

/* From here on every call that is in no row of sandbox.c is EPERM, in all threads and in children that are made later, for good. Needs
 * no_new_privs. Returns 0 or a negative errno, silently: -ENOSYS or -EINVAL where the kernel has no such filters. */
int sandbox_enter(const struct sandbox_opts *);

#endif
