/* SPDX-License-Identifier: GPL-3.0-only */
/* io_ledger.c - what iot-io counts, call by call, and how it is printed. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "io.h"

const char *const row_name[ROW_MAX] = {
#define R(sym, name) name,
	ROWS(R)
#undef R
};
const char *const type_name[TYPE_MAX] = {
#define T(sym, name) name,
	TYPES(T)
#undef T
};

void die(const char *fmt, ...)
{
	va_list ap;

	fputs("iot-io: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

void die_errno(const char *what, const char *on)
{
	die("%s %s: %s", what, on, strerror(errno));
}

void note(struct worker *w, enum row row, enum type type, uint64_t off, uint64_t asked, ssize_t ret)
{
	struct tally *t = &w->led.at[row][type];

	t->ops++;
	if (ret < 0) {
		t->errors++;
		w->led.last_errno = errno;
		return;
	}
	t->bytes += ret;
	if ((uint64_t)ret < asked)
		t->shorts++;
	if (ret)
		t->touched += (off + ret + BLOCK - 1) / BLOCK * BLOCK - off / BLOCK * BLOCK;
}

int note_call(struct worker *w, enum row row, enum type type, int ret)
{
	note(w, row, type, 0, 0, ret < 0 ? -1 : 0);
	return ret;
}

void note_result(struct worker *w, enum row row, uint64_t off, uint64_t asked, int64_t res)
{
	errno = res < 0 ? (int)-res : 0;
	note(w, row, w->type, off, asked, res < 0 ? -1 : res);
}

int open_noted(struct worker *w, const char *path, int flags, enum type type)
{
	int fd = open(path, flags | O_CLOEXEC, 0644);

	note_call(w, ROW_OPEN, fd < 0 ? TYPE_OTHER : type, fd);
	return fd;
}

static void tally_add(struct tally *to, const struct tally *from)
{
	to->ops += from->ops;
	to->bytes += from->bytes;
	to->errors += from->errors;
	to->shorts += from->shorts;
	to->touched += from->touched;
}

void ledger_add(struct ledger *to, const struct ledger *from)
{
	for (int r = 0; r < ROW_MAX; r++)
		for (int t = 0; t < TYPE_MAX; t++)
			tally_add(&to->at[r][t], &from->at[r][t]);
	if (from->last_errno)
		to->last_errno = from->last_errno;
}

static bool row_writes(enum row r)
{
	return r == ROW_WRITE || r == ROW_PWRITE || r == ROW_WRITEV || r == ROW_PWRITEV ||
	       r == ROW_SENDFILE_OUT || r == ROW_SPLICE_OUT || r == ROW_COPY_OUT ||
	       r == ROW_AIO_WRITE || r == ROW_URING_WRITE;
}

static bool row_reads(enum row r)
{
	return r == ROW_READ || r == ROW_PREAD || r == ROW_READV || r == ROW_PREADV ||
	       r == ROW_SENDFILE_IN || r == ROW_SPLICE_IN || r == ROW_COPY_IN ||
	       r == ROW_AIO_READ || r == ROW_URING_READ;
}

static bool row_syncs(enum row r)
{
	return r == ROW_FSYNC || r == ROW_FDATASYNC || r == ROW_MSYNC || r == ROW_AIO_FSYNC ||
	       r == ROW_URING_FSYNC;
}

/* Sum of the rows that `pick` accepts; files: only regular files and block devices (METRICS: S). */
static struct tally ledger_sum(const struct ledger *led, bool (*pick)(enum row), bool files)
{
	struct tally sum = { 0 };

	for (int r = 0; r < ROW_MAX; r++)
		for (int t = 0; t < TYPE_MAX; t++)
			if (pick(r) && (!files || t == TYPE_REG || t == TYPE_BLK))
				tally_add(&sum, &led->at[r][t]);
	return sum;
}

static void print_text(const char *name, const char *value)
{
	printf("\"%s\":\"", name);
	for (; *value; value++) {
		unsigned char c = *value;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	printf("\",");
}

static void print_number(const char *name, uint64_t value)
{
	printf("\"%s\":%llu,", name, (unsigned long long)value);
}

static void print_calls(const struct ledger *led)
{
	const char *comma = "";

	printf("\"calls\":[");
	for (int r = 0; r < ROW_MAX; r++) {
		for (int t = 0; t < TYPE_MAX; t++) {
			const struct tally *at = &led->at[r][t];

			if (!at->ops)
				continue;
			printf("%s{\"kind\":\"%s\",\"type\":\"%s\",\"ops\":%llu,\"bytes\":%llu,\"errors\":%llu,\"short\":%llu}",
			       comma, row_name[r], type_name[t], (unsigned long long)at->ops,
			       (unsigned long long)at->bytes, (unsigned long long)at->errors,
			       (unsigned long long)at->shorts);
			comma = ",";
		}
	}
	printf("]");
}

static uint64_t tv_ns(struct timeval tv)
{
	return tv.tv_sec * 1000000000ull + tv.tv_usec * 1000ull;
}

void print_ledger(const struct ledger *led, const struct rusage *before, const struct rusage *after)
{
	struct tally w = ledger_sum(led, row_writes, true), r = ledger_sum(led, row_reads, true);
	struct tally all_w = ledger_sum(led, row_writes, false), all_r = ledger_sum(led, row_reads, false);
	uint64_t stored = 0, loaded = 0;
	struct stat st;

	for (int t = 0; t < TYPE_MAX; t++) {
		stored += led->at[ROW_STORE][t].bytes;
		loaded += led->at[ROW_LOAD][t].bytes;
	}
	printf("{");
	print_text("api", api->name);
	print_number("pid", getpid());
	if (opt.file) {
		print_text("file", opt.file);
		if (stat(opt.file, &st) == 0) {
			printf("\"dev\":\"%u:%u\",", major(st.st_dev), minor(st.st_dev));
			print_number("ino", st.st_ino);
		}
	}
	print_number("count", opt.count);
	print_number("written", w.bytes);
	print_number("write_ops", w.ops);
	print_number("touched", w.touched);
	print_number("read", r.bytes);
	print_number("read_ops", r.ops);
	print_number("stored", stored);
	print_number("loaded", loaded);
	print_number("syncs", ledger_sum(led, row_syncs, false).ops);
	print_number("errors", all_w.errors + all_r.errors + ledger_sum(led, row_syncs, false).errors);
	print_number("short", all_w.shorts + all_r.shorts);
	print_number("user_ns", tv_ns(after->ru_utime) - tv_ns(before->ru_utime));
	print_number("sys_ns", tv_ns(after->ru_stime) - tv_ns(before->ru_stime));
	print_calls(led);
	printf("}\n");
}
