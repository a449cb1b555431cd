/* SPDX-License-Identifier: GPL-3.0-only */
/* sandbox.h - what is left to a process once everything is attached and open. */
#ifndef IOT_SANDBOX_H
#define IOT_SANDBOX_H

#include "tracer.h"

enum sandbox {
	SANDBOX_TRACER,         /* it records: what it writes is open */
	SANDBOX_HELPER,         /* it looks at others (ask.h) */
};

/* From here on every call that is in no row of sandbox.c is EPERM, in all threads and in children that are made later, for good. Needs
 * no_new_privs. Returns 0 or a negative errno, silently: -ENOSYS or -EINVAL where the kernel has no such filters. */
int sandbox_calls(enum sandbox);

/* From here on no file is opened for writing, made, removed, linked or executed by this thread and its children, whatever the call and
 * whoever they are, and no process outside is looked into or sent a signal, as far as the kernel's Landlock goes. Needs no_new_privs.
 * Returns 0 or a negative errno, silently: -ENOSYS or -EOPNOTSUPP where the kernel has none. */
int sandbox_files(void);

#endif
