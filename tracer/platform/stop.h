/* SPDX-License-Identifier: GPL-3.0-only */
/* stop.h - why a run is to end: signals and its duration, heard by the loop and by whoever waits for an output. */
#ifndef IOT_STOP_H
#define IOT_STOP_H

#include <signal.h>
#include "tracer.h"

/* Blocks the signals that end a run, so that they are heard where it is asked for them; and those that a write raises (SIGPIPE,
 * SIGXFSZ), so that they are errors of write(2). From here on an output that takes nothing is given up a moment after the run was
 * asked to end. *before: the mask that a command gets. */
void stop_signals(sigset_t *before);

/* When the run ends by itself (CLOCK_MONOTONIC); 0: it does not. */
void stop_due(u64 ns);

/* Waits for one of the signals, or for a child to end; ns = 0 only looks. */
void stop_wait(u64 ns);

int stop_asked(void);           /* the signal that asked to end; 0 none */
int stop_again(void);           /* a second one: at once; 0 none */
u64 stop_asked_ns(void);        /* when (CLOCK_MONOTONIC) */

/* Between the two, what waits or takes long is interrupted by a signal, again and again, and when `ns` are over (0: never): a FIFO that
 * waits for its other end (EINTR), the kernel that looks at a program (EAGAIN). stop_uninterrupted() returns true when that was so; the
 * signal then counts as asked. stop_interrupted(), for any thread: it is so by now. */
void stop_interrupts(u64 ns);
bool stop_interrupted(void);
bool stop_uninterrupted(void);

#endif
