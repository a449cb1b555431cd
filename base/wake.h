/* SPDX-License-Identifier: GPL-3.0-only */
/* wake.h - drops what a long output leaves in the page cache: it would evict the pages that are
 * measured, and allocating new pages costs the writer more than the write.
 *
 * Writeback of each window of the output is started as soon as it was written, and its pages are
 * dropped some windows later. A thread waits for the disk: on a slow disk the page cache grows as
 * it would without this. Outputs shorter than a window are left alone.
 */
#ifndef IOT_WAKE_H
#define IOT_WAKE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* All zero: nothing was written. */
struct wake {
	size_t window;          /* bytes since the last window ended */
	int fd;
	off_t from, to;         /* range to drop */
	bool begun;             /* there is a thread to be joined */
	atomic_bool busy;       /* the thread is working */
	pthread_t thread;
};

/* Counts len bytes that were just written to fd, which must always be the same. Does nothing if it
 * is not a file. */
void wake_wrote(struct wake *, int fd, size_t len);

/* Waits until the thread has ended. To be called before fd is closed. */
void wake_end(struct wake *);

#endif
