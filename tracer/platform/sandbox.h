/* SPDX-License-Identifier: GPL-3.0-only */
/* sandbox.h - limits a process once everything is attached and open. */
#ifndef IOT_SANDBOX_H
#define IOT_SANDBOX_H

#include "tracer.h"

enum sandbox {
	SANDBOX_TRACER,         /* records; its outputs are open */
	SANDBOX_HELPER,         /* looks at other processes (ask.h) */
};

/* From here on every call without a row in sandbox.c fails with EPERM, in all threads and future
 * children, for good. Needs no_new_privs. Returns 0 or a negative errno, silently: -ENOSYS or
 * -EINVAL where the kernel has no such filters. */
int sandbox_calls(enum sandbox);

/* From here on this thread and its future children cannot open for writing, create, remove, link or
 * execute files, nor inspect or signal processes outside, by any call, as far as the kernel's
 * Landlock goes. Needs no_new_privs. Returns 0 or a negative errno, silently: -ENOSYS or
 * -EOPNOTSUPP where the kernel has none. */
int sandbox_files(void);

#endif
