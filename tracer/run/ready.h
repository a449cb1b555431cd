/* SPDX-License-Identifier: GPL-3.0-only */
/* ready.h - tells who waits that recording has begun: a descriptor, a file that appears (--ready), the manager of services. */
#ifndef IOT_READY_H
#define IOT_READY_H

#include "options.h"
#include "place.h"

struct ready {
	const char *name;       /* as it was given, for messages; NULL: nobody asked */
	int fd;                 /* -1: the file is made when recording has begun */
	struct place at;        /* of that file; dir -1: there is none to be made */
	bool made;
	bool service;           /* the manager of services may be told: with a command it is the command that is ready or not */
};

/* Refuses what cannot be told later, and removes the file that an earlier run made. Waits for the other end of a FIFO. Returns 0 or a
 * negative errno after a message. ready_close() takes it in any case. */
int ready_open(struct ready *, const struct options *);

/* Tells everybody, once. Who does not wait any more is no error. Returns 0 or a negative errno after a message. */
int ready_tell(struct ready *, double seconds);

/* The run could not begin after all: the file is removed. */
void ready_undo(struct ready *);

void ready_close(struct ready *);

#endif
