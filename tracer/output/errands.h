/* SPDX-License-Identifier: GPL-3.0-only */
/* errands.h - what is to be done at the end of a run that the tracer cannot do any more: it is not root then, and opens and removes nothing.
 * A helper that stays who the tracer was (ask.h) does three things, with what was known before it was made. */
#ifndef IOT_ERRANDS_H
#define IOT_ERRANDS_H

/* Removes "-wal" or "-shm" of one of the stores, in whose folder `dir` it is. Returns 0 or a negative errno. */
int errand_remove(int dir, const char *name);

/* Begins to print the table of the temporary store; -EAGAIN: it is not over; else 0, or a negative errno silently. A signal ends it. */
int errand_report(void);
int errand_report_over(void);
void errand_report_end(void);

/* Removes the temporary store. Returns 0 or a negative errno: nobody did. */
int errand_tidy(void);

#endif
