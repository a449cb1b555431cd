/* SPDX-License-Identifier: GPL-3.0-only */
/* stop.h - reasons to end a run: signals and the duration, seen by the loop and by code that waits
 * for an output.
 */
#ifndef IOT_STOP_H
#define IOT_STOP_H

#include <signal.h>
#include "tracer.h"

/* Blocks the signals that end a run, which stop_wait() takes instead, and those raised by write(2)
 * (SIGPIPE, SIGXFSZ), which then returns an error. From here on a blocked output is abandoned a
 * moment after the run was asked to end. *before: the signal mask for a command. */
void stop_signals(sigset_t *before);

/* Sets when the run ends by itself (CLOCK_MONOTONIC); 0: it does not. */
void stop_due(u64 ns);

/* Waits for one of the signals, or for a child to end; ns = 0 only looks. */
void stop_wait(u64 ns);

int stop_asked(void);           /* the signal that asked to end; 0: none */
int stop_again(void);           /* a second signal, which ends the run at once; 0: none */
u64 stop_asked_ns(void);        /* time of the first signal (CLOCK_MONOTONIC) */

/* Between stop_interrupts() and stop_uninterrupted(), a signal, or `ns` elapsed (0: never),
 * repeatedly interrupts calls that wait or take long: the open(2) of a FIFO (EINTR), the verifier
 * (EAGAIN). stop_uninterrupted() returns true when that happened; the signal then counts as asked.
 * stop_interrupted() says so to any thread meanwhile. */
void stop_interrupts(u64 ns);
bool stop_interrupted(void);
bool stop_uninterrupted(void);

#endif
