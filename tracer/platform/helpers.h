/* SPDX-License-Identifier: GPL-3.0-only */
/* helpers.h - the processes that answer questions about others (ask.h), and who makes and ends them: the keeper. */
#ifndef IOT_HELPERS_H
#define IOT_HELPERS_H

#include "privilege.h"
#include "tracer.h"

#define HELPERS_KEPT 16

struct helpers_opts {
	struct privilege_opts may;
	bool report;            /* the one for errands prints on standard output */
	int kept[HELPERS_KEPT]; /* descriptors that it needs; -1: none */
};

/* Forks the keeper, which makes helpers when they are needed. Behind every ask_serve() and before anything is there that a helper must not
 * keep open, but for outputs, which are closed there. Returns 0 or a negative errno after a message. */
int helpers_start(const struct helpers_opts *);

/* The keeper's process, whose calls and those of its children are nobody's; 0 none. */
u32 helpers_keeper(void);

/* Ends the keeper and its helpers. One that waits for what cannot be interrupted is left behind: it ends as soon as it can. */
void helpers_end(void);

#endif
