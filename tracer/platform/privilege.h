/* SPDX-License-Identifier: GPL-3.0-only */
/* privilege.h - who the processes of a run are, and what they may, once everything is attached. What they give up is gone for good.
 * Each returns 0 or a negative errno after a message. */
#ifndef IOT_PRIVILEGE_H
#define IOT_PRIVILEGE_H

#include <stdbool.h>

struct privilege_opts {
	bool checkpoint;        /* file systems may be frozen (checkpoint.h) */
	bool store;             /* what SQLite keeps beside a store is to be removed */
	bool modules;           /* programs are loaded that need a module's types */
};

/* The tracer, which records: it is not root any more, holds no capability, opens no file for writing, and makes few system calls
 * (sandbox.h). Children that were made before keep what they have. */
int privilege_drop(void);

/* The keeper of helpers (helpers.h): what those need, and to make and end them. */
int privilege_keep_helping(const struct privilege_opts *);
/* A helper that looks; the one that syncs; and the one that stays who the tracer was, to remove what lies beside a store. */
int privilege_keep_looking(void);
int privilege_keep_settling(const struct privilege_opts *);
int privilege_keep_errands(void);

/* A process that loads programs later. */
int privilege_keep_loading(bool modules);

#endif
