/* SPDX-License-Identifier: GPL-3.0-only */
/* privilege.h - users and capabilities of the processes of a run after everything is attached. They
 * are given up for good. Each function returns 0 or a negative errno after a message.
 */
#ifndef IOT_PRIVILEGE_H
#define IOT_PRIVILEGE_H

#include <stdbool.h>

struct privilege_opts {
	bool checkpoint;        /* file systems may be frozen (checkpoint.h) */
	bool store;             /* the files that SQLite keeps next to a store are to be removed */
	bool modules;           /* programs that need the types of a module are to be loaded */
};

/* For the tracer, which records: it is no longer root, holds no capability, opens no file for
 * writing, and is limited to few system calls (sandbox.h). Existing children keep their rights. */
int privilege_drop(void);

/* For the keeper of helpers (helpers.h): it keeps what those need, and the rights to start and end
 * them. */
int privilege_keep_helping(const struct privilege_opts *);
/* For a helper that looks at processes and files; for the one that syncs; and for the one that
 * keeps the tracer's user, to remove files next to a store. */
int privilege_keep_looking(void);
int privilege_keep_settling(const struct privilege_opts *);
int privilege_keep_errands(void);

/* For the process that loads programs during the run. */
int privilege_keep_loading(bool modules);

#endif
