/* SPDX-License-Identifier: GPL-3.0-only */
/* wake.h - what a long output leaves behind in the page cache: it would push out what is measured there, and ever new memory costs the
 * writer more than the write.
 *
 * Each window that was written is started on its way to the disk, and dropped some windows later. It is a thread that waits for the
 * disk: where that is slow, the page cache takes what comes as it does without this. Outputs of less than a window are left alone.
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
	size_t window;          /* bytes since the last one ended */
	int fd;
	off_t from, to;         /* what is to be let go, and not yet gone for sure before it */
	bool begun;             /* there is a thread to be joined */
	atomic_bool busy;       /* and it is at work */
	pthread_t thread;
};

/* So many bytes were just written to fd, which stays the same. Nothing happens where it is not a file. */
void wake_wrote(struct wake *, int fd, size_t len);

/* Waits until the thread has ended. Before fd is closed. */
void wake_end(struct wake *);

#endif
