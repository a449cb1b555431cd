/* SPDX-License-Identifier: GPL-3.0-only */
/* io_calls.c - the system calls of iot-io: one function each. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>
#include "io.h"

#define BAD_FD 1000000       /* above any limit: EBADF */

/* read and write use the file position: move it only where the next operation is not the next in
 * the file. */
static void seek_to(struct worker *w, uint64_t off)
{
	if (w->pos != off && lseek(w->fd, off, SEEK_SET) < 0)
		die_errno("lseek", opt.file);
	w->pos = off;
}

/* A call at the file position returned. */
static void moved(struct worker *w, enum row row, uint64_t off, ssize_t ret)
{
	note(w, row, w->type, off, opt.size, ret);
	if (ret > 0)
		w->pos += ret;
}

void do_write(struct worker *w, uint64_t off)
{
	seek_to(w, off);
	moved(w, ROW_WRITE, off, write(w->fd, w->buf, opt.size));
}

/* The kernel chooses the offset: the end of the file, which is known when one thread appends. */
void do_append(struct worker *w, uint64_t off)
{
	ssize_t ret = write(w->fd, w->buf, opt.size);

	note(w, ROW_WRITE, w->type, w->file_size, opt.size, ret);
	if (ret > 0)
		w->file_size += ret;
}

void do_read(struct worker *w, uint64_t off)
{
	seek_to(w, off);
	moved(w, ROW_READ, off, read(w->fd, w->buf, opt.size));
}

void do_pwrite(struct worker *w, uint64_t off)
{
	note(w, ROW_PWRITE, w->type, off, opt.size, pwrite(w->fd, w->buf, opt.size, off));
}

void do_pread(struct worker *w, uint64_t off)
{
	note(w, ROW_PREAD, w->type, off, opt.size, pread(w->fd, w->buf, opt.size, off));
}

int segments(char *buf, struct iovec v[2])
{
	size_t first = opt.size / 3;

	if (opt.size % BLOCK == 0)
		first -= first % BLOCK;
	if (!first) {
		v[0] = (struct iovec){ buf, opt.size };
		return 1;
	}
	v[0] = (struct iovec){ buf, first };
	v[1] = (struct iovec){ buf + first, opt.size - first };
	return 2;
}

void do_writev(struct worker *w, uint64_t off)
{
	struct iovec v[2];

	seek_to(w, off);
	moved(w, ROW_WRITEV, off, writev(w->fd, v, segments(w->buf, v)));
}

void do_readv(struct worker *w, uint64_t off)
{
	struct iovec v[2];

	seek_to(w, off);
	moved(w, ROW_READV, off, readv(w->fd, v, segments(w->buf, v)));
}

void do_pwritev(struct worker *w, uint64_t off)
{
	struct iovec v[2];
	int n = segments(w->buf, v);

	note(w, ROW_PWRITEV, w->type, off, opt.size, pwritev(w->fd, v, n, off));
}

void do_preadv(struct worker *w, uint64_t off)
{
	struct iovec v[2];
	int n = segments(w->buf, v);

	note(w, ROW_PREADV, w->type, off, opt.size, preadv(w->fd, v, n, off));
}

void do_pwritev2(struct worker *w, uint64_t off)
{
	struct iovec v[2];
	int n = segments(w->buf, v);

	note(w, ROW_PWRITEV, w->type, off, opt.size, pwritev2(w->fd, v, n, off, api->rwf));
}

void do_preadv2(struct worker *w, uint64_t off)
{
	struct iovec v[2];
	int n = segments(w->buf, v);

	note(w, ROW_PREADV, w->type, off, opt.size, preadv2(w->fd, v, n, off, api->rwf));
}

void do_store(struct worker *w, uint64_t off)
{
	memcpy(w->map + off, w->buf, opt.size);
	note(w, ROW_STORE, w->type, off, opt.size, opt.size);
}

void do_load(struct worker *w, uint64_t off)
{
	memcpy(w->buf, w->map + off, opt.size);
	note(w, ROW_LOAD, w->type, off, opt.size, opt.size);
}

void do_sendfile_in(struct worker *w, uint64_t off)
{
	off_t at = off;
	ssize_t ret = sendfile(w->null_fd, w->fd, &at, opt.size);

	note(w, ROW_SENDFILE_IN, w->type, off, opt.size, ret);
	note(w, ROW_SENDFILE_OUT, TYPE_CHR, 0, opt.size, ret);
}

void do_sendfile_out(struct worker *w, uint64_t off)
{
	off_t at = off;
	ssize_t ret;

	seek_to(w, off);
	ret = sendfile(w->fd, w->from_fd, &at, opt.size);
	note(w, ROW_SENDFILE_IN, TYPE_REG, off, opt.size, ret);
	moved(w, ROW_SENDFILE_OUT, off, ret);
}

void do_splice_in(struct worker *w, uint64_t off)
{
	loff_t at = off;
	ssize_t ret = splice(w->fd, &at, w->pair[1], NULL, opt.size, 0);

	note(w, ROW_SPLICE_IN, w->type, off, opt.size, ret);
	note(w, ROW_SPLICE_OUT, TYPE_PIPE, 0, opt.size, ret);
	if (ret <= 0)
		return;
	ret = splice(w->pair[0], NULL, w->null_fd, NULL, ret, 0);
	note(w, ROW_SPLICE_IN, TYPE_PIPE, 0, 0, ret);
	note(w, ROW_SPLICE_OUT, TYPE_CHR, 0, 0, ret);
}

void do_splice_out(struct worker *w, uint64_t off)
{
	loff_t at = off;
	ssize_t ret = write(w->pair[1], w->buf, opt.size);

	note(w, ROW_WRITE, TYPE_PIPE, 0, opt.size, ret);
	if (ret <= 0)
		return;
	ret = splice(w->pair[0], NULL, w->fd, &at, ret, 0);
	note(w, ROW_SPLICE_IN, TYPE_PIPE, 0, opt.size, ret);
	note(w, ROW_SPLICE_OUT, w->type, off, opt.size, ret);
}

void do_copy(struct worker *w, uint64_t off)
{
	loff_t in = off, out = off;
	ssize_t ret = copy_file_range(w->from_fd, &in, w->fd, &out, opt.size, 0);

	note(w, ROW_COPY_IN, TYPE_REG, off, opt.size, ret);
	note(w, ROW_COPY_OUT, w->type, off, opt.size, ret);
}

void do_pair(struct worker *w, uint64_t off)
{
	enum type type = api->wants & WANTS_PIPE ? TYPE_PIPE : TYPE_SOCK;
	ssize_t ret = write(w->pair[1], w->buf, opt.size);

	note(w, ROW_WRITE, type, 0, opt.size, ret);
	if (ret > 0)
		note(w, ROW_READ, type, 0, opt.size, read(w->pair[0], w->buf, opt.size));
}

void do_proc(struct worker *w, uint64_t off)
{
	int fd = open_noted(w, "/proc/self/stat", O_RDONLY, TYPE_PSEUDO);

	if (fd < 0)
		return;
	note(w, ROW_READ, TYPE_PSEUDO, 0, opt.size, read(fd, w->buf, opt.size));
	note_call(w, ROW_CLOSE, TYPE_PSEUDO, close(fd));
}

void do_bad_fd(struct worker *w, uint64_t off)
{
	note(w, ROW_PWRITE, TYPE_OTHER, off, opt.size, pwrite(BAD_FD, w->buf, opt.size, off));
	note(w, ROW_PREAD, TYPE_OTHER, off, opt.size, pread(BAD_FD, w->buf, opt.size, off));
}

void do_bad_address(struct worker *w, uint64_t off)
{
	void *nowhere = (void *)1;

	note(w, ROW_PWRITE, w->type, off, opt.size, pwrite(w->fd, nowhere, opt.size, off));
}

void do_short_read(struct worker *w, uint64_t off)
{
	off = w->file_size - opt.size / 2;
	note(w, ROW_PREAD, w->type, off, opt.size, pread(w->fd, w->buf, opt.size, off));
}

void do_end_read(struct worker *w, uint64_t off)
{
	note(w, ROW_PREAD, w->type, w->file_size, opt.size, pread(w->fd, w->buf, opt.size, w->file_size));
}

void do_zero(struct worker *w, uint64_t off)
{
	note(w, ROW_PWRITE, w->type, off, 0, pwrite(w->fd, w->buf, 0, off));
	note(w, ROW_PREAD, w->type, off, 0, pread(w->fd, w->buf, 0, off));
}

/* The way in which careful programs replace a file. */
void do_create_rename(struct worker *w, uint64_t off)
{
	char tmp[4096], name[4096];
	int fd;

	snprintf(tmp, sizeof(tmp), "%s.tmp%u", opt.file, w->no);
	snprintf(name, sizeof(name), "%s.%llu", opt.file, (unsigned long long)w->index);
	fd = open_noted(w, tmp, O_WRONLY | O_CREAT | O_EXCL, TYPE_REG);
	if (fd < 0)
		return;
	note(w, ROW_WRITE, TYPE_REG, 0, opt.size, write(fd, w->buf, opt.size));
	note_call(w, ROW_FSYNC, TYPE_REG, fsync(fd));
	note_call(w, ROW_CLOSE, TYPE_REG, close(fd));
	note_call(w, ROW_RENAME, TYPE_OTHER, rename(tmp, name));
}
