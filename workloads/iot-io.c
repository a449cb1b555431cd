/* SPDX-License-Identifier: GPL-3.0-only */
/* iot-io - known work: exactly N operations of B bytes by a chosen call, and a ledger of what was
 * done.
 *
 * The ledger (JSON on standard output) counts what the kernel returned, call by call, under the
 * names of bpf/kinds.def, so that a tracer can be compared with it row by row. It does not count
 * its own printing: give it a pipe, not a file, where that matters. Linked statically, so that no
 * library is read on the way.
 *
 * To add a call: a row in apis[], and one function of a few lines that makes the call and notes its
 * result. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "io.h"

struct options opt = { .count = 1,
		       .size = BLOCK,
		       .threads = 1,
		       .depth = 1,
		       .pattern = "seq",
		       .sync = "none",
		       .end = "close" };
const struct api *api;

#define F WANTS_FILE
static const struct api apis[] = {
	{ "write", 'w', F, 0, 0, do_write, NULL, "write(2)" },
	{ "pwrite", 'w', F, 0, 0, do_pwrite, NULL, "pwrite(2)" },
	{ "writev", 'w', F, 0, 0, do_writev, NULL, "writev(2), two segments" },
	{ "pwritev", 'w', F, 0, 0, do_pwritev, NULL, "pwritev(2), two segments" },
	{ "pwritev2", 'w', F, 0, 0, do_pwritev2, NULL, "pwritev2(2) without flags" },
	{ "pwritev2-dsync", 'w', F, 0, RWF_DSYNC, do_pwritev2, NULL, "pwritev2(2) with RWF_DSYNC" },
	{ "direct", 'w', F, O_DIRECT, 0, do_pwrite, NULL, "pwrite(2), O_DIRECT" },
	{ "osync", 'w', F, O_SYNC, 0, do_pwrite, NULL, "pwrite(2), O_SYNC" },
	{ "odsync", 'w', F, O_DSYNC, 0, do_pwrite, NULL, "pwrite(2), O_DSYNC" },
	{ "append", 'w', F, O_APPEND, 0, do_append, NULL, "write(2), O_APPEND" },
	{ "mmap", 'w', F | WANTS_MAP, 0, 0, do_store, NULL, "stores into a shared mapping; syncs are msync(2)" },
	{ "libaio", 'w', F | WANTS_AIO, 0, 0, NULL, do_aio, "io_submit(2), --depth at once" },
	{ "uring", 'w', F | WANTS_URING, 0, 0, NULL, do_uring, "io_uring, --depth at once" },
	{ "uring-sqpoll", 'w', F | WANTS_URING | WANTS_SQPOLL, 0, 0, NULL, do_uring, "io_uring with a polling thread" },
	{ "uring-async", 'w', F | WANTS_URING | WANTS_ASYNC, 0, 0, NULL, do_uring, "io_uring executed by its workers" },
	{ "uring-skip", 'w', F | WANTS_URING | WANTS_SKIP, 0, 0, NULL, do_uring, "chains of --depth, told of the last only" },
	{ "uring-overflow", 'w', F | WANTS_URING | WANTS_OVERFLOW, 0, 0, NULL, do_uring, "more completions than their ring holds" },
	{ "uring-vector", 'w', F | WANTS_URING | WANTS_VECTOR, 0, 0, NULL, do_uring, "two segments" },
	{ "uring-fixed", 'w', F | WANTS_URING | WANTS_FIXED, 0, 0, NULL, do_uring, "registered file and buffer" },
	{ "uring-fixed-vector", 'w', F | WANTS_URING | WANTS_FIXED | WANTS_VECTOR, 0, 0, NULL, do_uring, "the same, two segments (6.15)" },
	{ "uring-position", 'w', F | WANTS_URING | WANTS_POSITION, 0, 0, NULL, do_uring, "at the file position" },
	{ "uring-dsync", 'w', F | WANTS_URING, O_DSYNC, 0, NULL, do_uring, "io_uring, O_DSYNC" },
	{ "uring-append", 'w', F | WANTS_URING, O_APPEND, 0, do_uring_append, NULL, "io_uring, O_APPEND" },
	{ "uring-splice", 'w', F | WANTS_URING | WANTS_PIPE, 0, 0, do_uring_splice_out, NULL, "write(2) into a pipe, io_uring's splice into FILE" },
	{ "libaio-vector", 'w', F | WANTS_AIO | WANTS_VECTOR, 0, 0, NULL, do_aio, "io_submit(2), two segments" },
	{ "libaio-user", 'w', F | WANTS_AIO | WANTS_LATER, 0, 0, NULL, do_aio, "io_submit(2), events taken in user space" },
	{ "sendfile", 'w', F | WANTS_FROM, 0, 0, do_sendfile_out, NULL, "sendfile(2) from --from into FILE" },
	{ "splice", 'w', F | WANTS_PIPE, 0, 0, do_splice_out, NULL, "write(2) into a pipe, splice(2) into FILE" },
	{ "copy", 'w', F | WANTS_FROM, 0, 0, do_copy, NULL, "copy_file_range(2) from --from into FILE" },
	{ "read", 'r', F, 0, 0, do_read, NULL, "read(2)" },
	{ "pread", 'r', F, 0, 0, do_pread, NULL, "pread(2)" },
	{ "readv", 'r', F, 0, 0, do_readv, NULL, "readv(2), two segments" },
	{ "preadv", 'r', F, 0, 0, do_preadv, NULL, "preadv(2), two segments" },
	{ "preadv2", 'r', F, 0, 0, do_preadv2, NULL, "preadv2(2) without flags" },
	{ "direct-read", 'r', F, O_DIRECT, 0, do_pread, NULL, "pread(2), O_DIRECT" },
	{ "mmap-read", 'r', F | WANTS_MAP, 0, 0, do_load, NULL, "loads from a shared mapping" },
	{ "libaio-read", 'r', F | WANTS_AIO, 0, 0, NULL, do_aio, "io_submit(2), --depth at once" },
	{ "uring-read", 'r', F | WANTS_URING, 0, 0, NULL, do_uring, "io_uring, --depth at once" },
	{ "uring-sqpoll-read", 'r', F | WANTS_URING | WANTS_SQPOLL, 0, 0, NULL, do_uring, "io_uring with a polling thread" },
	{ "uring-async-read", 'r', F | WANTS_URING | WANTS_ASYNC, 0, 0, NULL, do_uring, "io_uring executed by its workers" },
	{ "uring-skip-read", 'r', F | WANTS_URING | WANTS_SKIP, 0, 0, NULL, do_uring, "chains of --depth, told of the last only" },
	{ "uring-overflow-read", 'r', F | WANTS_URING | WANTS_OVERFLOW, 0, 0, NULL, do_uring, "more completions than their ring holds" },
	{ "uring-vector-read", 'r', F | WANTS_URING | WANTS_VECTOR, 0, 0, NULL, do_uring, "two segments" },
	{ "uring-fixed-read", 'r', F | WANTS_URING | WANTS_FIXED, 0, 0, NULL, do_uring, "registered file and buffer" },
	{ "uring-fixed-vector-read", 'r', F | WANTS_URING | WANTS_FIXED | WANTS_VECTOR, 0, 0, NULL, do_uring, "the same, two segments (6.15)" },
	{ "uring-position-read", 'r', F | WANTS_URING | WANTS_POSITION, 0, 0, NULL, do_uring, "at the file position" },
	{ "uring-splice-read", 'r', F | WANTS_URING | WANTS_PIPE, 0, 0, do_uring_splice_in, NULL, "io_uring's splice from FILE into a pipe" },
	{ "libaio-vector-read", 'r', F | WANTS_AIO | WANTS_VECTOR, 0, 0, NULL, do_aio, "io_submit(2), two segments" },
	{ "libaio-user-read", 'r', F | WANTS_AIO | WANTS_LATER, 0, 0, NULL, do_aio, "io_submit(2), events taken in user space" },
	{ "sendfile-read", 'r', F | WANTS_NULL, 0, 0, do_sendfile_in, NULL, "sendfile(2) from FILE to /dev/null" },
	{ "splice-read", 'r', F | WANTS_PIPE | WANTS_NULL, 0, 0, do_splice_in, NULL, "splice(2) from FILE through a pipe to /dev/null" },
	{ "pipe", 'o', WANTS_PIPE, 0, 0, do_pair, NULL, "write(2) and read(2) on a pipe" },
	{ "socket", 'o', WANTS_SOCKETS, 0, 0, do_pair, NULL, "write(2) and read(2) on a socket pair" },
	{ "proc", 'o', 0, 0, 0, do_proc, NULL, "open, read(2), close of /proc/self/stat" },
	{ "uring-proc", 'o', WANTS_URING, 0, 0, do_uring_proc, NULL, "open, io_uring's read, close of /proc/self/stat" },
	{ "uring-bad", 'o', F | WANTS_FROM | WANTS_URING | EXPECTS_ERRORS, 0, 0, do_uring_bad, NULL, "io_uring's writes to --from (EBADF) and from no memory" },
	{ "libaio-bad", 'o', WANTS_AIO, 0, 0, do_aio_bad, NULL, "io_submit(2) and io_getevents(2) that fail" },
	{ "bad-fd", 'o', EXPECTS_ERRORS, 0, 0, do_bad_fd, NULL, "pwrite(2) and pread(2) on no descriptor: EBADF" },
	{ "bad-address", 'w', F | EXPECTS_ERRORS, 0, 0, do_bad_address, NULL, "pwrite(2) from no memory: EFAULT" },
	{ "short-read", 'r', F, 0, 0, do_short_read, NULL, "pread(2) that ends at half its size" },
	{ "end-read", 'r', F, 0, 0, do_end_read, NULL, "pread(2) at the end of FILE" },
	{ "zero", 'w', F, 0, 0, do_zero, NULL, "pwrite(2) and pread(2) of no bytes" },
	{ "create-rename", 'o', WANTS_NAME, 0, 0, do_create_rename, NULL, "create, write(2), fsync(2), close, rename to FILE.n" },
};
#undef F

enum opt_type { OPT_SIZE, OPT_TEXT, OPT_FLAG };
#define AT(member) offsetof(struct options, member)
static const struct opt_row {
	const char *name;
	enum opt_type type;
	size_t at;
	const char *arg, *doc;
} opts[] = {
	{ "api", OPT_TEXT, AT(api), "NAME", "the call, see below" },
	{ "file", OPT_TEXT, AT(file), "FILE", "file or block device to work on; created for writing" },
	{ "from", OPT_TEXT, AT(from), "FILE", "source of sendfile and copy" },
	{ "count", OPT_SIZE, AT(count), "N", "operations in all (default 1)" },
	{ "size", OPT_SIZE, AT(size), "B", "bytes of each (default 4096; suffixes k, M, G)" },
	{ "at", OPT_SIZE, AT(at), "OFFSET", "where in FILE the first slot begins (default 0)" },
	{ "pattern", OPT_TEXT, AT(pattern), "P", "seq, rand (every slot once, in seeded order) or fixed (always the first slot)" },
	{ "span", OPT_SIZE, AT(span), "SLOTS", "slots of B bytes to go round in (default N)" },
	{ "seed", OPT_SIZE, AT(seed), "S", "seed of rand and of the bytes written" },
	{ "sync", OPT_TEXT, AT(sync), "HOW", "none, fsync, fdatasync, or native (through the same interface)" },
	{ "every", OPT_SIZE, AT(every), "K", "sync after every K operations of a thread (default: once, at the end)" },
	{ "threads", OPT_SIZE, AT(threads), "T", "threads that share the N operations, each with its own descriptor" },
	{ "depth", OPT_SIZE, AT(depth), "Q", "libaio and io_uring: operations in flight, at most 256" },
	{ "pause", OPT_SIZE, AT(pause), "MS", "wait before each operation (file times have the grain of a timer tick)" },
	{ "direct", OPT_FLAG, AT(direct), NULL, "open FILE with O_DIRECT, whatever the call" },
	{ "cold", OPT_FLAG, AT(cold), NULL, "drop FILE from the page cache before" },
	{ "end", OPT_TEXT, AT(end), "WHAT", "close (default), truncate to 0, or unlink FILE when done" },
	{ "list", OPT_FLAG, AT(list), NULL, "print the names of the calls with r, w or o, and exit" },
};
#undef AT
#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static void help(void)
{
	size_t i;

	puts("usage: iot-io --api NAME --file FILE [--count N] [--size B] ...\n"
	     "Does exactly N operations of B bytes and prints a JSON ledger of what it did.\n");
	for (i = 0; i < COUNT(opts); i++)
		printf("  --%-8s %-7s %s\n", opts[i].name, opts[i].arg ? opts[i].arg : "", opts[i].doc);
	puts("\ncalls:");
	for (i = 0; i < COUNT(apis); i++)
		printf("  %-18s %s\n", apis[i].name, apis[i].doc);
}

/* A number with an optional k, M or G; anything else, a sign or an overflow ends the program. */
static uint64_t parse_size(const char *name, const char *text)
{
	static const char units[] = "kMG";
	unsigned long long v;
	const char *unit;
	char *end;

	errno = 0;
	v = strtoull(text, &end, 10);
	unit = *end ? strchr(units, *end) : NULL;
	if (unit) {
		unsigned int shift = 10 * (unit - units + 1);

		if (v > UINT64_MAX >> shift)
			errno = ERANGE;
		v <<= shift;
		end++;
	}
	if (errno || *end || text[0] < '0' || text[0] > '9')
		die("--%s: '%s' is not a number", name, text);
	return v;
}

static void set_option(const struct opt_row *row, char *value)
{
	char *at = (char *)&opt + row->at;

	if (row->type == OPT_SIZE)
		*(uint64_t *)at = parse_size(row->name, value);
	else if (row->type == OPT_TEXT)
		*(const char **)at = value;
	else
		*(bool *)at = true;
}

static void parse(int argc, char **argv)
{
	struct option longopts[COUNT(opts) + 2] = { 0 };
	size_t i;
	int c;

	for (i = 0; i < COUNT(opts); i++)
		longopts[i] = (struct option){ opts[i].name, opts[i].type != OPT_FLAG, NULL, i };
	longopts[i] = (struct option){ "help", no_argument, NULL, i };
	while ((c = getopt_long(argc, argv, "h", longopts, NULL)) != -1) {
		if (c == '?')
			exit(2);
		if (c == 'h' || c == (int)COUNT(opts)) {
			help();
			exit(0);
		}
		set_option(&opts[c], optarg);
	}
	if (optind < argc) {
		fprintf(stderr, "iot-io: '%s' is not an option\n", argv[optind]);
		exit(2);
	}
}

static const struct api *find_api(const char *name)
{
	size_t i;

	for (i = 0; name && i < COUNT(apis); i++)
		if (!strcmp(apis[i].name, name))
			return &apis[i];
	fprintf(stderr, "iot-io: --api %s is not known: see iot-io --help\n", name ? name : "(none)");
	exit(2);
}

static bool one_of(const char *value, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(value, *list))
			return true;
	return false;
}

static void check_options(void)
{
	static const char *const patterns[] = { "seq", "rand", "fixed", NULL };
	static const char *const syncs[] = { "none", "fsync", "fdatasync", "native", NULL };
	static const char *const ends[] = { "close", "truncate", "unlink", NULL };

	if (!one_of(opt.pattern, patterns))
		die("--pattern: '%s' is none of seq, rand, fixed", opt.pattern);
	if (!one_of(opt.sync, syncs))
		die("--sync: '%s' is none of none, fsync, fdatasync, native", opt.sync);
	if (!one_of(opt.end, ends))
		die("--end: '%s' is none of close, truncate, unlink", opt.end);
	if (!opt.file && api->wants & (WANTS_FILE | WANTS_NAME))
		die("--api %s needs --file", api->name);
	if (!opt.from && api->wants & WANTS_FROM)
		die("--api %s needs --from", api->name);
	if (!opt.count || !opt.size || !opt.threads || opt.threads > 1024 || !opt.depth ||
	    opt.depth > DEPTH_MAX)
		die("--count, --size, --threads (to 1024) and --depth (to %u) must be positive", DEPTH_MAX);
	if (!opt.span)
		opt.span = opt.count;
	if (opt.span > UINT32_MAX || opt.size > 1 << 30 || opt.at > INT64_MAX / 4)
		die("--span, --size or --at is too large");
	if (opt.pause > 60000)
		die("--pause is at most a minute");
}

int main(int argc, char **argv)
{
	struct rusage before, after;
	struct ledger total = { 0 };
	struct worker *w;
	uint64_t i;

	parse(argc, argv);
	if (opt.list) {
		for (i = 0; i < COUNT(apis); i++)
			printf("%s %c\n", apis[i].name, apis[i].dir);
		return 0;
	}
	api = find_api(opt.api);
	check_options();
	make_slots();
	w = calloc(opt.threads, sizeof(*w));
	if (!w)
		die("no memory for %llu threads", (unsigned long long)opt.threads);
	for (i = 0; i < opt.threads; i++) {
		w[i].no = i;
		worker_open(&w[i]);
	}
	getrusage(RUSAGE_SELF, &before);
	run_workers(w);
	getrusage(RUSAGE_SELF, &after);
	for (i = 0; i < opt.threads; i++)
		worker_close(&w[i]);
	for (i = 0; i < opt.threads; i++)
		ledger_add(&total, &w[i].led);
	print_ledger(&total, &before, &after);
	if (fflush(stdout) || ferror(stdout))
		die("cannot write the ledger");
	if (!total.last_errno || api->wants & EXPECTS_ERRORS)
		return 0;
	fprintf(stderr, "iot-io: some calls failed, the last with: %s\n", strerror(total.last_errno));
	return 1;
}
