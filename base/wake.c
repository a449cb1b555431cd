/* SPDX-License-Identifier: GPL-3.0-only */
#include <fcntl.h>
#include <unistd.h>
#include "thread.h"
#include "wake.h"

#define WINDOW_BYTES (32L << 20) /* large enough for long requests to the disk */
#define WINDOWS 3                /* after so many, pages are clean and can be dropped */

/* Starts writeback of dirty pages, and drops clean ones: POSIX_FADV_DONTNEED does both. */
static void *let_go(void *arg)
{
	struct wake *w = arg;

	posix_fadvise(w->fd, w->from, w->to - w->from, POSIX_FADV_DONTNEED);
	atomic_store(&w->busy, false);
	return NULL;
}

void wake_wrote(struct wake *w, int fd, size_t len)
{
	off_t at;

	w->window += len;
	if (w->window < WINDOW_BYTES || atomic_load(&w->busy))
		return;
	wake_end(w);
	w->window = 0;
	at = lseek(fd, 0, SEEK_CUR);
	if (at < WINDOW_BYTES)
		return; /* not seekable: a pipe */
	w->fd = fd;
	w->from = w->to > (WINDOWS - 1) * WINDOW_BYTES ? w->to - (WINDOWS - 1) * WINDOW_BYTES : 0;
	w->to = at;
	atomic_store(&w->busy, true);
	w->begun = !thread_begin(&w->thread, let_go, w, false);
	if (!w->begun)
		atomic_store(&w->busy, false); /* the next window tries again */
}

void wake_end(struct wake *w)
{
	if (w->begun)
		pthread_join(w->thread, NULL);
	w->begun = false;
}
