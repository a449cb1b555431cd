/* SPDX-License-Identifier: GPL-3.0-only */
/* helpers.h - the helper processes that answer questions (ask.h), and the keeper that starts and
 * ends them.
 */
#ifndef IOT_HELPERS_H
#define IOT_HELPERS_H

#include "privilege.h"
#include "tracer.h"

#define HELPERS_KEPT 16

struct helpers_opts {
	struct privilege_opts may;
	bool report;            /* the errands helper prints on standard output */
	int walked;             /* descriptor for the helper that walks folders; 0: none */
	int kept[HELPERS_KEPT]; /* descriptors that the errands helper needs; -1: none */
};

/* Forks the keeper, which starts helpers when they are needed. Call it after every ask_serve(), and
 * before the tracer opens what a helper must not keep open; outputs are closed in helpers. Returns
 * 0 or a negative errno after a message. */
int helpers_start(const struct helpers_opts *);

/* Process id of the keeper. Calls of the keeper and its children belong to no owner. 0: none. */
u32 helpers_keeper(void);

/* Ends the keeper and its helpers. A helper in an uninterruptible wait is left behind and ends when
 * the wait does. */
void helpers_end(void);

#endif
