/* SPDX-License-Identifier: GPL-3.0-only */
/* errands.h - work at the end of a run for which the tracer has no rights any more: it is not root
 * then, and opens and removes no file. A helper with the tracer's original user and rights (ask.h)
 * does it, using only what was known before the helper was forked.
 */
#ifndef IOT_ERRANDS_H
#define IOT_ERRANDS_H

/* Removes the "-wal" or "-shm" file of one of the stores, from directory `dir`. Returns 0 or a
 * negative errno. */
int errand_remove(int dir, const char *name);

/* Begins to print the first screen of the temporary store, or to write CSV streams.
 * errand_report_over() returns -EAGAIN until that is done, then 0 or a negative errno, silently.
 * errand_report_end() ends it, as after a signal. */
int errand_report(void);
int errand_report_over(void);
void errand_report_end(void);

/* Removes the temporary store. Returns 0, or a negative errno when it could not be asked for. */
int errand_tidy(void);

#endif
