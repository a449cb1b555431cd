/* SPDX-License-Identifier: GPL-3.0-only */
/* ready.h - announces that recording has begun: to a descriptor, by a file (--ready), to the
 * service manager.
 */
#ifndef IOT_READY_H
#define IOT_READY_H

#include "options.h"
#include "place.h"

struct ready {
	const char *name;       /* as given, for messages; NULL: nobody asked */
	int fd;                 /* -1: the file is created when recording has begun */
	struct place at;        /* place of that file; dir -1: there is none */
	bool made;
	/* READY=1 goes to the service manager; with a command, that reports when it is ready */
	bool service;
};

/* Refuses what could not be announced later, and removes the file of an earlier run. Waits for the
 * other end of a FIFO. Returns 0 or a negative errno after a message. Call ready_close() in either
 * case. */
int ready_open(struct ready *, const struct options *);

/* Announces it once. A reader that no longer waits is no error. Returns 0 or a negative errno after
 * a message. */
int ready_tell(struct ready *, double seconds);

/* Removes the file, when the run could not begin after all. */
void ready_undo(struct ready *);

void ready_close(struct ready *);

#endif
