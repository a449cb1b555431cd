/* SPDX-License-Identifier: GPL-3.0-only */
/* io_run.c - the workers of iot-io: what they open, which operations they make in which order, when
 * they sync. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "io.h"

static uint32_t *slots;          /* order in which the slots of the file are visited */

enum type type_of(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return TYPE_OTHER;
	if (S_ISREG(st.st_mode))
		return TYPE_REG;
	if (S_ISBLK(st.st_mode))
		return TYPE_BLK;
	if (S_ISCHR(st.st_mode))
		return TYPE_CHR;
	return S_ISFIFO(st.st_mode) ? TYPE_PIPE : S_ISSOCK(st.st_mode) ? TYPE_SOCK : TYPE_OTHER;
}

static uint64_t next_random(uint64_t *state) /* splitmix64, Steele et al. 2014 */
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

void make_slots(void)
{
	uint64_t state = opt.seed, i;

	if (strcmp(opt.pattern, "rand"))
		return;
	slots = calloc(opt.span, sizeof(*slots));
	if (!slots)
		die("no memory for %llu slots", (unsigned long long)opt.span);
	for (i = 0; i < opt.span; i++) {
		uint64_t j = next_random(&state) % (i + 1);

		slots[i] = slots[j];
		slots[j] = i;
	}
}

static uint64_t offset_of(uint64_t index)
{
	uint64_t slot = index % opt.span;

	if (!strcmp(opt.pattern, "fixed"))
		return opt.at;
	return opt.at + (slots ? slots[slot] : slot) * opt.size;
}

static void map_file(struct worker *w)
{
	uint64_t need = opt.at + opt.span * opt.size;
	bool writing = api->dir == 'w';

	if (!strcmp(opt.pattern, "fixed"))
		need = opt.at + opt.size;
	if (w->file_size < need) {
		if (!writing)
			die("%s has %llu bytes, %llu are needed", opt.file, (unsigned long long)w->file_size,
			    (unsigned long long)need);
		if (note_call(w, ROW_TRUNCATE, w->type, ftruncate(w->fd, need)) < 0)
			die_errno("cannot extend", opt.file);
	}
	w->map_len = need;
	w->map = mmap(NULL, need, PROT_READ | (writing ? PROT_WRITE : 0), MAP_SHARED, w->fd, 0);
	note_call(w, ROW_MMAP, w->type, w->map == MAP_FAILED ? -1 : 0);
	if (w->map == MAP_FAILED)
		die_errno("cannot map", opt.file);
}

/* Mappings for writing need a descriptor that can read too. */
static int open_flags(void)
{
	int flags = api->open_flags | (opt.direct ? O_DIRECT : 0);

	if (api->dir == 'r')
		return flags | O_RDONLY;
	return flags | O_CREAT | (flags & O_APPEND ? O_WRONLY : O_RDWR);
}

static void open_file(struct worker *w)
{
	struct stat st;

	w->fd = open_noted(w, opt.file, open_flags(), TYPE_REG);
	if (w->fd < 0)
		die_errno("cannot open", opt.file);
	w->type = type_of(w->fd);
	if (w->type != TYPE_REG) {
		w->led.at[ROW_OPEN][w->type] = w->led.at[ROW_OPEN][TYPE_REG];
		memset(&w->led.at[ROW_OPEN][TYPE_REG], 0, sizeof(struct tally));
	}
	if (fstat(w->fd, &st) < 0)
		die_errno("cannot stat", opt.file);
	w->file_size = st.st_size;
	if (opt.cold && posix_fadvise(w->fd, 0, 0, POSIX_FADV_DONTNEED))
		die("cannot drop %s from the cache", opt.file);
	if (!strcmp(api->name, "short-read") && w->file_size < opt.size / 2)
		die("%s is shorter than half an operation", opt.file);
}

static void open_pipe(struct worker *w)
{
	if (pipe2(w->pair, O_CLOEXEC) < 0)
		die_errno("cannot make", "a pipe");
	if (opt.size > 65536 && fcntl(w->pair[1], F_SETPIPE_SZ, (int)opt.size) < 0)
		die("a pipe cannot hold %llu bytes", (unsigned long long)opt.size);
}

void worker_open(struct worker *w)
{
	uint64_t state = opt.seed + w->no;
	size_t i, len = opt.size * (api->many ? opt.depth : 1);

	w->fd = w->from_fd = w->null_fd = w->pair[0] = w->pair[1] = w->ring.fd = -1;
	if (posix_memalign((void **)&w->buf, BLOCK, len))
		die("no memory for %zu bytes", len);
	for (i = 0; i < len; i++)
		w->buf[i] = next_random(&state) | 1;
	if (api->wants & WANTS_FILE)
		open_file(w);
	if (api->wants & WANTS_FROM && (w->from_fd = open_noted(w, opt.from, O_RDONLY, TYPE_REG)) < 0)
		die_errno("cannot open", opt.from);
	if (api->wants & WANTS_NULL && (w->null_fd = open_noted(w, "/dev/null", O_WRONLY, TYPE_CHR)) < 0)
		die_errno("cannot open", "/dev/null");
	if (api->wants & WANTS_MAP)
		map_file(w);
	if (api->wants & WANTS_PIPE)
		open_pipe(w);
	if (api->wants & WANTS_SOCKETS && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, w->pair) < 0)
		die_errno("cannot make", "a socket pair");
	if (api->wants & WANTS_AIO && syscall(SYS_io_setup, opt.depth, &w->aio) < 0)
		die_errno("cannot set up", "libaio");
	if (api->wants & WANTS_URING)
		ring_open(&w->ring, api->wants);
	if (api->wants & WANTS_FIXED)
		uring_register(w, len);
}

static void sync_file(struct worker *w)
{
	bool native = !strcmp(opt.sync, "native");

	if (w->map)
		note_call(w, ROW_MSYNC, w->type, msync(w->map, w->map_len, MS_SYNC));
	else if (native && api->wants & WANTS_AIO)
		aio_sync(w);
	else if (native && api->wants & WANTS_URING)
		uring_sync(w);
	else if (!strcmp(opt.sync, "fdatasync"))
		note_call(w, ROW_FDATASYNC, w->type, fdatasync(w->fd));
	else
		note_call(w, ROW_FSYNC, w->type, fsync(w->fd));
}

/* Operations no, no + threads, no + 2 x threads, ... up to --depth at a time, never across a sync.
 */
static void worker_loop(struct worker *w)
{
	bool syncing = strcmp(opt.sync, "none") && w->fd >= 0;
	uint64_t done = 0, off[DEPTH_MAX], until_sync;
	unsigned int n;

	w->index = w->no;
	while (w->index < opt.count) {
		if (opt.pause)
			usleep(opt.pause * 1000);
		until_sync = syncing && opt.every ? opt.every - done % opt.every : UINT64_MAX;
		if (!api->many) {
			api->one(w, offset_of(w->index));
			w->index += opt.threads;
			n = 1;
		} else {
			for (n = 0; n < opt.depth && n < until_sync && w->index < opt.count; n++) {
				off[n] = offset_of(w->index);
				w->index += opt.threads;
			}
			api->many(w, off, n);
		}
		done += n;
		if (syncing && opt.every && done % opt.every == 0)
			sync_file(w);
	}
	if (syncing && !opt.every)
		sync_file(w);
}

void worker_close(struct worker *w)
{
	if (w->map)
		munmap(w->map, w->map_len);
	if (w->fd >= 0 && w->no == 0 && !strcmp(opt.end, "truncate"))
		note_call(w, ROW_TRUNCATE, w->type, ftruncate(w->fd, 0));
	if (w->no == 0 && w->fd >= 0 && !strcmp(opt.end, "unlink"))
		note_call(w, ROW_UNLINK, TYPE_OTHER, unlink(opt.file));
	if (w->fd >= 0)
		note_call(w, ROW_CLOSE, w->type, close(w->fd));
	if (w->from_fd >= 0)
		note_call(w, ROW_CLOSE, TYPE_REG, close(w->from_fd));
	if (w->null_fd >= 0)
		note_call(w, ROW_CLOSE, TYPE_CHR, close(w->null_fd));
	free(w->buf);
}

static void *worker_main(void *arg)
{
	worker_loop(arg);
	return NULL;
}

void run_workers(struct worker *w)
{
	pthread_t *t;
	uint64_t i;

	if (opt.threads == 1) {
		worker_loop(w);
		return;
	}
	t = calloc(opt.threads, sizeof(*t));
	if (!t)
		die("no memory for %llu threads", (unsigned long long)opt.threads);
	for (i = 0; i < opt.threads; i++)
		if (pthread_create(&t[i], NULL, worker_main, &w[i]))
			die("cannot start thread %llu", (unsigned long long)i);
	for (i = 0; i < opt.threads; i++)
		pthread_join(t[i], NULL);
	free(t);
}
