// SPDX-License-Identifier: GPL-3.0-only
/* probe.c - loads and attaches the kernel side, and reads what it gathered. The only file that knows libbpf.
 *
 * A program is chosen by trying it: what the kernel refuses is left out with its reason, and the rest is loaded.
 * To add a probe, or another shape of it for another kernel: the program in bpf/, and a row in `programs`.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <linux/membarrier.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include "hist.h"
#include "probe.h"
#include "ring.h"

#define DEFAULT_RING (16u << 20)

/* The objects are carried inside the program. */
#define CARRY(name) \
	__asm__(".section .rodata\n.balign 16\nobj_" #name ":\n.incbin \"build/bpf/" #name ".bpf.o\"\n" \
		"obj_" #name "_end:\n.byte 0\n.previous\n"); \
	extern const char obj_##name[] __asm__("obj_" #name), obj_##name##_end[] __asm__("obj_" #name "_end")

CARRY(who);
CARRY(maps);
CARRY(core);
CARRY(net);
CARRY(syscall);
CARRY(cache);
CARRY(block);
CARRY(fs_ext4);
CARRY(fs_xfs);
CARRY(uring);

/* One kernel object. The first has the maps that others share. `needs` names the types that must be there. */
static const struct object {
	const char *name, *data, *end;
	u32 layers;            /* bits of the layers that it serves; 0: always */
	const char *needs;
} objects[] = {
	{ "maps", obj_maps, obj_maps_end, 0, NULL },
	/* before those that count what it cannot */
	{ "net", obj_net, obj_net_end, 1 << LAYER_NET, NULL },
	{ "core", obj_core, obj_core_end, 0, NULL },
	{ "syscall", obj_syscall, obj_syscall_end, 1 << LAYER_SYSCALL | 1 << LAYER_VFS | 1 << LAYER_NET, NULL },
	{ "cache", obj_cache, obj_cache_end, 1 << LAYER_CACHE | 1 << LAYER_FS | 1 << LAYER_BLOCK, NULL },
	{ "fs_ext4", obj_fs_ext4, obj_fs_ext4_end, 1 << LAYER_FS | 1 << LAYER_BLOCK, "ext4" },
	{ "fs_xfs", obj_fs_xfs, obj_fs_xfs_end, 1 << LAYER_FS | 1 << LAYER_BLOCK, "xfs" },
	{ "block", obj_block, obj_block_end, 1 << LAYER_FS | 1 << LAYER_BLOCK | 1 << LAYER_CACHE, NULL },
	{ "uring", obj_uring, obj_uring_end, 1 << LAYER_URING | 1 << LAYER_VFS | 1 << LAYER_NET, NULL },
};
#define N_OBJECTS (sizeof(objects) / sizeof(*objects))
enum { OBJECT_MAPS, OBJECT_NET, OBJECT_CORE /* from here on they are loaded side by side */ };

/* What a program must be for, where its tracepoint had other arguments in other kernels. args: how many arguments
 * the tracepoint must have, 0 any. full: the full tier needs it (DESIGN section 10). again: a second copy, for kernels
 * that skip the first. */
static const struct program {
	const char *name, *layer;
	int args;
	bool full, again;
} programs[] = {
	{ "core__fork", "all", 0, true },
	{ "core__exec", "all", 0, true },
	{ "core__exit", "all", 0, true },
	{ "core__rename", "all", 0, false },
	{ "core__writeback_begin", "fs", 0, true },
	{ "core__writeback_end", "fs", 0, true },
	{ "core__work_begin", "all", 0, true },
	{ "core__work_end", "all", 0, true },
	{ "net__send", "net", 3, false },            /* 6.3 */
	{ "net__recv", "net", 3, false },
	{ "net__state", "net", 3, false },
	{ "syscall__enter", "syscall", 0, false },   /* a clock: only where calls are timed */
	{ "syscall__exit", "syscall", 0, true },
	{ "syscall__exit_again", "syscall", 0, false, true },
	{ "cache__dirty", "cache", 2, true },
	{ "cache__buffer", "cache", 1, true },
	{ "cache__fault_user", "cache", 3, false },  /* x86 */
	{ "cache__fault_kernel", "cache", 3, false },
	{ "cache__sweep", "cache", 0, false },       /* called by the tracer */
	{ "cache__fault", "cache", 2, false },       /* 6.12 */
	{ "block__queue", "block", 1, true },        /* 5.11: before, the queue was the first argument */
	{ "block__remap", "block", 3, true },        /* 5.11: likewise */
	{ "block__split", "block", 2, true },
	{ "block__bio_end", "block", 2, true },
	{ "block__insert", "block", 1, true },
	{ "block__issue", "block", 1, true },
	{ "block__complete", "block", 3, true },
	{ "block__sweep", "block", 0, false },       /* 5.14: called by the tracer */
	{ "block__share", "block", 0, false },       /* likewise */
	{ "ext4__commit_begin", "fs", 0, true },
	{ "ext4__commit_end", "fs", 0, true },
	{ "ext4__handle", "fs", 0, true },
	{ "ext4__journal_super", "fs", 0, true },
	{ "ext4__checkpoint", "fs", 0, false },
	{ "ext4__sync_begin", "fs", 0, false },
	{ "ext4__sync_end", "fs", 0, false },
	{ "ext4__writepages", "fs", 0, true },
	{ "ext4__evict", "fs", 0, true },
	{ "ext4__truncate", "fs", 0, true },
	{ "ext4__punch", "fs", 0, true },
	{ "ext4__convert_begin", "fs", 0, true },
	{ "ext4__fastcommit_begin", "fs", 0, false },
	{ "ext4__fastcommit_end", "fs", 0, false },
	{ "xfs__commit", "fs", 0, true },
	{ "xfs__log_write", "fs", 0, true },
	{ "xfs__checkpoints_end", "fs", 0, true },
	{ "xfs__buffer", "fs", 0, true },
	{ "xfs__work_begin", "fs", 0, true },
	{ "xfs__inactive", "fs", 0, true },
	{ "xfs__write", "fs", 0, true },
	{ "xfs__writeback", "fs", 3, false },        /* 6.17 */
	{ "xfs__writeback_page", "fs", 3, false },   /* before */
	{ "xfs__zero", "fs", 3, false },             /* 6.14 */
	{ "xfs__step", "fs", 3, true },
	{ "xfs__evict", "fs", 0, true },
	{ "xfs__truncate", "fs", 0, true },
	{ "uring__submit", "uring", 1, false },      /* 6.4 */
	{ "uring__submit_sqe", "uring", 2, false },  /* 6.0 to 6.3 */
	{ "uring__worker", "uring", 2, false },      /* 6.0 */
	{ "uring__complete", "uring", 3, false },    /* 6.15 */
	{ "uring__complete_args", "uring", 7, false }, /* 6.0 to 6.14 */
	{ "uring__ring_end", "uring", 1, false },
	{ "uring__sweep", "uring", 0, false },       /* 5.14: called by the tracer */
	{ "aio__sweep", "syscall", 0, false },
};
#define N_PROGRAMS (sizeof(programs) / sizeof(*programs))
#define NOT_ASKED "layer not asked for" /* why a program was left out that nothing is wrong with */

/* System calls: what they are, and how their arguments are read. 1 in the last column: they write. */
static const struct {
	int nr;
	struct iot_syscall call;
} syscalls[] = {
	{ SYS_read, { KIND_READ, SHAPE_RW, 0 } },
	{ SYS_pread64, { KIND_PREAD, SHAPE_PRW, 0 } },
	{ SYS_readv, { KIND_READV, SHAPE_RWV, 0 } },
	{ SYS_preadv, { KIND_PREADV, SHAPE_PRWV, 0 } },
	{ SYS_preadv2, { KIND_PREADV, SHAPE_PRWV2, 0 } },
	{ SYS_write, { KIND_WRITE, SHAPE_RW, 1 } },
	{ SYS_pwrite64, { KIND_PWRITE, SHAPE_PRW, 1 } },
	{ SYS_writev, { KIND_WRITEV, SHAPE_RWV, 1 } },
	{ SYS_pwritev, { KIND_PWRITEV, SHAPE_PRWV, 1 } },
	{ SYS_pwritev2, { KIND_PWRITEV, SHAPE_PRWV2, 1 } },
	{ SYS_sendfile, { KIND_SENDFILE_IN, SHAPE_SENDFILE, 1 } },
	{ SYS_splice, { KIND_SPLICE_IN, SHAPE_SPLICE, 1 } },
	{ SYS_copy_file_range, { KIND_COPY_IN, SHAPE_SPLICE, 1 } },
	{ SYS_io_submit, { KIND_AIO_SUBMIT, SHAPE_AIO_SUBMIT, 0 } },
	{ SYS_io_getevents, { KIND_AIO_REAP, SHAPE_AIO_REAP, 0 } },
	{ SYS_io_pgetevents, { KIND_AIO_REAP, SHAPE_AIO_REAP, 0 } },
	{ SYS_io_uring_enter, { KIND_NONE, SHAPE_URING, 0 } },
	{ SYS_readahead, { KIND_NONE, SHAPE_ADVISE, 0 } },
	{ SYS_fadvise64, { KIND_NONE, SHAPE_ADVISE, 0 } },
	{ SYS_sendto, { KIND_NET_SEND, SHAPE_TO, 0 } }, /* what sockets send is no write to a file */
	{ SYS_sendmsg, { KIND_NET_SEND, SHAPE_MSG, 0 } },
	{ SYS_sendmmsg, { KIND_NET_SEND, SHAPE_MMSG, 0 } },
	{ SYS_recvfrom, { KIND_NET_RECV, SHAPE_TO, 0 } },
	{ SYS_recvmsg, { KIND_NET_RECV, SHAPE_MSG, 0 } },
	{ SYS_recvmmsg, { KIND_NET_RECV, SHAPE_MMSG, 0 } },
	{ SYS_fsync, { KIND_FSYNC, SHAPE_FD, 0 } },
	{ SYS_fdatasync, { KIND_FDATASYNC, SHAPE_FD, 0 } },
	{ SYS_sync, { KIND_SYNC, SHAPE_PATH, 0 } },
	{ SYS_syncfs, { KIND_SYNCFS, SHAPE_FD, 0 } },
	{ SYS_sync_file_range, { KIND_SYNC_RANGE, SHAPE_FD, 0 } },
	{ SYS_msync, { KIND_MSYNC, SHAPE_PATH, 0 } },
	{ SYS_openat, { KIND_OPEN, SHAPE_OPEN, 0 } },
	{ SYS_openat2, { KIND_OPEN, SHAPE_OPEN, 0 } },
	{ SYS_close, { KIND_CLOSE, SHAPE_CLOSE, 0 } },
	{ SYS_truncate, { KIND_TRUNCATE, SHAPE_PATH, 0 } },
	{ SYS_ftruncate, { KIND_TRUNCATE, SHAPE_FTRUNCATE, 0 } },
	{ SYS_fallocate, { KIND_FALLOCATE, SHAPE_FALLOCATE, 0 } },
	{ SYS_renameat, { KIND_RENAME, SHAPE_PATH, 0 } },
	{ SYS_renameat2, { KIND_RENAME, SHAPE_PATH, 0 } },
	{ SYS_unlinkat, { KIND_UNLINK, SHAPE_PATH, 0 } },
	{ SYS_linkat, { KIND_LINK, SHAPE_PATH, 0 } },
	{ SYS_symlinkat, { KIND_LINK, SHAPE_PATH, 0 } },
	{ SYS_mkdirat, { KIND_MKDIR, SHAPE_PATH, 0 } },
	{ SYS_mmap, { KIND_MMAP, SHAPE_MMAP, 0 } },
	{ SYS_setxattr, { KIND_XATTR, SHAPE_PATH, 0 } },
	{ SYS_lsetxattr, { KIND_XATTR, SHAPE_PATH, 0 } },
	{ SYS_fsetxattr, { KIND_XATTR, SHAPE_FD, 0 } },
	{ SYS_removexattr, { KIND_XATTR, SHAPE_PATH, 0 } },
	{ SYS_lremovexattr, { KIND_XATTR, SHAPE_PATH, 0 } },
	{ SYS_fremovexattr, { KIND_XATTR, SHAPE_FD, 0 } },
#ifdef SYS_open /* the older calls that new architectures do not have */
	{ SYS_open, { KIND_OPEN, SHAPE_OPEN, 0 } },
	{ SYS_creat, { KIND_OPEN, SHAPE_OPEN, 0 } },
	{ SYS_rename, { KIND_RENAME, SHAPE_PATH, 0 } },
	{ SYS_unlink, { KIND_UNLINK, SHAPE_PATH, 0 } },
	{ SYS_rmdir, { KIND_UNLINK, SHAPE_PATH, 0 } },
	{ SYS_link, { KIND_LINK, SHAPE_PATH, 0 } },
	{ SYS_symlink, { KIND_LINK, SHAPE_PATH, 0 } },
	{ SYS_mkdir, { KIND_MKDIR, SHAPE_PATH, 0 } },
#endif
};

/* Kernel functions whose address tells what a thread or a bio is doing. */
static const struct {
	const char *name;
	u32 function;
} functions[] = {
	{ "loop_workfn", FN_LOOP_WORK },
	{ "loop_rootcg_workfn", FN_LOOP_WORK },
	{ "ext4_end_io_rsv_work", FN_EXT4_CONVERT },
	{ "iomap_dio_bio_end_io", FN_END_DIRECT },
	{ "blkdev_bio_end_io", FN_END_DEVICE },
	{ "blkdev_bio_end_io_async", FN_END_DEVICE_ASYNC },
	{ "end_swap_bio_read", FN_END_SWAP },
	{ "end_bio_bh_io_sync", FN_END_BUFFER },         /* until 7.1 */
	{ "journal_end_buffer_io_sync", FN_END_BUFFER }, /* 7.2: each submitter has its own */
	{ "io_ring_exit_work", FN_URING_EXIT },
	{ "bio_chain_endio", FN_END_CHAIN },
	{ "xlog_bio_end_io", FN_XFS_LOG },
	{ "xfs_buf_bio_end_io", FN_XFS_BUFFER },
	{ "xlog_cil_push_work", FN_XFS_PUSH },
	{ "xfs_end_io", FN_XFS_CONVERT },
	{ "xfs_inodegc_worker", FN_XFS_INACTIVE },
};

#define N_FUNCTIONS (sizeof(functions) / sizeof(*functions))
#define MAX_MAPS 64
#define MAX_SYMBOLS 64 /* as map `functions` */
#define SHARE_BATCH 256 /* more than a bucket of map `late` may hold */

struct probes {
	struct probe_opts opts;
	struct iot_self self;
	struct bpf_object *obj[N_OBJECTS];
	struct bpf_link *link[N_PROGRAMS];
	struct probe_info info[N_PROGRAMS];
	char reason[N_PROGRAMS][128];
	struct bpf_map *maps[MAX_MAPS]; /* the first of each name: the others share it */
	size_t n_maps;
	struct btf *vmlinux;
	char hidden[256];      /* functions whose address the kernel hides */
	struct {               /* of the kernel, that mean something; found by a thread of its own */
		struct symbol {
			u64 address;
			u32 function;
		} at[MAX_SYMBOLS];
		size_t n;
		bool skips;            /* it has SYMBOL_SKIPS */
		bool apart;
		pthread_t thread;
	} symbols;
	bool skips;            /* the kernel preempts a probe, and skips it for the next thread on that processor */
	struct ring *ring, *names;     /* events; processes and paths */
	struct iot_state *state;       /* the kernel's own, mapped */
	u64 shared;                    /* of state->late: those that were divided */
	const struct probe_callbacks *callbacks; /* during probes_consume() */
	const struct iot_filesum_slot *sum_slots; /* whose sums by file are, mapped; NULL: no layer has any */
	s64 *sum_users;                /* how many of them each user has, mapped */
	u64 start_ns;
	u64 misses_before[LOSS_MAX + 1];   /* skipped while the gate was still closed */
	int cpus;
	u32 max_cells;
	struct iot_cell_slot *cell_slots; /* the kernel's own, mapped, as are the next */
	u64 *free_cells;
	struct iot_fold *folds;
};

static unsigned int verbose;

/* libbpf's last complaint to this thread, and the program that it was about. */
static _Thread_local struct {
	char text[128], program[64];
} said;

static int say(int err, const char *format, ...)
{
	va_list a;

	fputs("iot-trace: ", stderr);
	va_start(a, format);
	vfprintf(stderr, format, a);
	va_end(a);
	if (err)
		fprintf(stderr, ": %s", strerror(err < 0 ? -err : err));
	fputc('\n', stderr);
	return err > 0 ? -err : err;
}

#define LOG_LINES 50           /* of the verifier's log that -v shows: the reason stands at its end */

/* A message of libbpf; of a long one, which holds the verifier's log, the first line and the last ones. */
static void show(const char *format, va_list args)
{
	char *text, *p;
	int lines = 0;

	if (vasprintf(&text, format, args) < 0)
		return;
	for (p = text; *p; p++)
		lines += *p == '\n';
	p = text;
	if (verbose < 2 && lines > LOG_LINES + 1) {
		for (int skipped = lines - LOG_LINES; skipped; skipped--)
			p = strchr(p, '\n') + 1;
		fprintf(stderr, "%.*s\n[%d lines are left out: -vv prints them]\n", (int)strcspn(text, "\n"), text, lines - LOG_LINES - 1);
	}
	fputs(p, stderr);
	free(text);
}

static int libbpf_says(enum libbpf_print_level level, const char *format, va_list a)
{
	char line[512];
	const char *p;
	va_list again;
	size_t n;

	va_copy(again, a);
	vsnprintf(line, sizeof(line), format, a);
	if (verbose > (level == LIBBPF_DEBUG))
		show(format, again);
	va_end(again);
	if (level != LIBBPF_WARN)
		return 0;
	p = strstr(line, "prog '");
	if (!p)
		return 0;
	p += strlen("prog '");
	n = strcspn(p, "'");
	if (n >= sizeof(said.program))
		return 0;
	memcpy(said.program, p, n);
	said.program[n] = '\0';
	if (strstr(p, "BEGIN PROG LOAD LOG"))
		return 0;
	p += n + !!p[n];
	snprintf(said.text, sizeof(said.text), "%s", p + strspn(p, ": "));
	said.text[strcspn(said.text, "\n")] = '\0';
	return 0;
}

static int program_row(const char *name)
{
	for (size_t i = 0; i < N_PROGRAMS; i++)
		if (!strcmp(programs[i].name, name))
			return i;
	return -1;
}

/* Switches a program off and notes why. */
static void refuse(struct probes *p, const char *name, const char *why)
{
	int row = program_row(name);

	if (row < 0)
		return;
	snprintf(p->reason[row], sizeof(p->reason[row]), "%s", why);
	p->info[row].reason = p->reason[row];
	p->info[row].chosen = false;
}

/* Number of arguments of a tracepoint in the running kernel, without the first that every one has; -1 not there, or in
 * a module. */
static int tracepoint_args(struct btf *b, const char *name)
{
	const struct btf_type *t;
	char type[128];
	int id;

	snprintf(type, sizeof(type), "btf_trace_%s", name);
	id = btf__find_by_name_kind(b, type, BTF_KIND_TYPEDEF);
	if (id < 0)
		return -1;
	t = btf__type_by_id(b, btf__type_by_id(b, id)->type);
	t = t ? btf__type_by_id(b, t->type) : NULL;
	return t && btf_is_func_proto(t) ? btf_vlen(t) - 1 : -1;
}

/* The variable `name` in the read-only data of an object, before it is loaded. */
static void *rodata(struct bpf_object *o, const char *name, size_t size)
{
	struct btf *b = bpf_object__btf(o);
	int id = btf__find_by_name_kind(b, ".rodata", BTF_KIND_DATASEC);
	const struct btf_type *t = id > 0 ? btf__type_by_id(b, id) : NULL;
	struct bpf_map *m;

	if (!t)
		return NULL;
	bpf_object__for_each_map(m, o) {
		const char *map_name = bpf_map__name(m);
		size_t have;
		char *base;

		if (!strstr(map_name, ".rodata"))
			continue;
		base = (char *)bpf_map__initial_value(m, &have); /* writable until it is loaded */
		for (int i = 0; i < btf_vlen(t); i++) {
			const struct btf_var_secinfo *v = btf_var_secinfos(t) + i;

			if (!strcmp(btf__name_by_offset(b, btf__type_by_id(b, v->type)->name_off), name) &&
			    v->offset + size <= have)
				return base + v->offset;
		}
	}
	return NULL;
}

/* Which socket bytes the calls must tell: see enum iot_sockets. */
static enum iot_sockets sockets_by_call(const struct probes *p)
{
	u32 layers = p->opts.layers ? p->opts.layers : ~0u;

	if (!(layers & 1 << LAYER_NET))
		return SOCKETS_NONE;
	return p->info[program_row("net__send")].reason || p->info[program_row("net__recv")].reason ? SOCKETS_ALL : SOCKETS_UNSEEN;
}

static bool layer_asked(const struct probes *p, int layer)
{
	return !p->opts.layers || p->opts.layers & 1u << layer;
}

static bool call_wanted(const struct iot_config *c, const struct iot_syscall *call)
{
	return call->shape < SHAPE_TO || (c && c->sockets);
}

static void configure(struct probes *p, struct bpf_object *o)
{
	struct iot_config *c = rodata(o, "cfg", sizeof(*c));
	struct iot_syscall *s = rodata(o, "calls", sizeof(*s) * IOT_MAX_SYSCALL);

	if (c) {
		c->self_pid = p->self.tgid;
		c->pid_level = p->self.pid_level;
		c->pid_ns = p->self.pid_ns;
		c->mnt_ns = p->self.mnt_ns;
		c->root = p->self.root;
		c->by_pid = p->opts.by_pid;
		c->dev = p->opts.dev;
		c->events = p->opts.events;
		c->cast = btf__find_by_name_kind(p->vmlinux, "bpf_rdonly_cast", BTF_KIND_FUNC) > 0;
		c->cgroup = p->opts.cgroup;
		c->sockets = sockets_by_call(p);
		c->calls = layer_asked(p, LAYER_SYSCALL);
		c->again = p->skips;
		c->max_cells = p->max_cells;
		c->latency = p->opts.latency;
		c->faults = tracepoint_args(p->vmlinux, "mm_filemap_fault") == 2;
		memcpy(c->comm, p->opts.comm, sizeof(c->comm));
		c->comm[sizeof(c->comm) - 1] = '\0';
	}
	for (size_t i = 0; s && i < sizeof(syscalls) / sizeof(*syscalls); i++)
		if (syscalls[i].nr >= 0 && syscalls[i].nr < IOT_MAX_SYSCALL && call_wanted(c, &syscalls[i].call))
			s[syscalls[i].nr] = syscalls[i].call;
	if (s && !layer_asked(p, LAYER_URING))
		s[SYS_io_uring_enter].instead = 1; /* that there was something must not be silent */
}

static struct bpf_map *map_of(const struct probes *p, const char *name)
{
	for (size_t i = 0; i < p->n_maps; i++)
		if (!strcmp(bpf_map__name(p->maps[i]), name))
			return p->maps[i];
	return NULL;
}

static int map_fd(const struct probes *p, const char *name)
{
	struct bpf_map *m = map_of(p, name);

	return m ? bpf_map__fd(m) : -ENOENT;
}

/* Tables whose size is that of another. */
static const struct {
	const char *map, *as;
} sized_as[] = {
	{ "cell_index", "cells" },
	{ "cell_keys", "cells" },
	{ "free_cells", "cells" },
};

/* The size that was asked for a table by the name of its map; 0 none. */
static u32 table_size(const struct probes *p, const char *map)
{
	for (size_t i = 0; i < sizeof(sized_as) / sizeof(*sized_as); i++)
		if (!strcmp(map, sized_as[i].map))
			map = sized_as[i].as;
	for (size_t i = 0; i < p->opts.n_tables; i++)
		if (!strcmp(map, p->opts.tables[i].name))
			return p->opts.tables[i].entries;
	return 0;
}

static void size_map(struct probes *p, struct bpf_map *m)
{
	const char *name = bpf_map__name(m);
	u32 entries = table_size(p, name);

	if (!strcmp(name, "ring"))
		entries = !p->opts.events ? (u32)sysconf(_SC_PAGESIZE) : p->opts.ring_bytes ? p->opts.ring_bytes : DEFAULT_RING;
	if (entries)
		bpf_map__set_max_entries(m, entries);
}

/* Every table that was given a size must be there, and be one that can have another. */
static int check_tables(const struct probes *p)
{
	for (size_t i = 0; i < p->opts.n_tables; i++) {
		const char *name = p->opts.tables[i].name;
		struct bpf_map *m = map_of(p, name);
		enum bpf_map_type type = m ? bpf_map__type(m) : BPF_MAP_TYPE_UNSPEC;

		if (type != BPF_MAP_TYPE_HASH && type != BPF_MAP_TYPE_LRU_HASH && (!m || strcmp(name, "cells")))
			return say(ENOENT, "there is no table '%s' whose size can be set", name);
	}
	return 0;
}

/* Gives an object the maps that are there already, and sizes its own. */
static int share_maps(struct probes *p, struct bpf_object *o)
{
	struct bpf_map *m, *have;
	int err;

	bpf_object__for_each_map(m, o) {
		if (bpf_map__is_internal(m))
			continue;
		have = map_of(p, bpf_map__name(m));
		if (have) {
			err = bpf_map__reuse_fd(m, bpf_map__fd(have));
			if (err)
				return say(err, "cannot share map %s", bpf_map__name(m));
		} else {
			size_map(p, m);
		}
	}
	return 0;
}

static void remember_maps(struct probes *p, struct bpf_object *o)
{
	struct bpf_map *m;

	bpf_object__for_each_map(m, o)
		if (!bpf_map__is_internal(m) && bpf_map__fd(m) >= 0 && !map_of(p, bpf_map__name(m)) && p->n_maps < MAX_MAPS)
			p->maps[p->n_maps++] = m;
}

/* How many of the objects that are wanted have a map of this name, without the one that brings it for all. */
static int map_users(const struct probes *p, const char *name)
{
	int n = 0;

	for (size_t i = OBJECT_MAPS + 1; i < N_OBJECTS; i++)
		n += p->obj[i] && bpf_object__find_map_by_name(p->obj[i], name);
	return n;
}

/* Of the shared maps, those are made that somebody uses. A map of two objects that is not among them would be there twice. */
static int plan_maps(struct probes *p)
{
	struct bpf_map *m;

	bpf_object__for_each_map(m, p->obj[OBJECT_MAPS])
		bpf_map__set_autocreate(m, bpf_map__is_internal(m) || map_users(p, bpf_map__name(m)));
	for (size_t i = OBJECT_MAPS + 1; i < N_OBJECTS; i++) {
		if (!p->obj[i])
			continue;
		bpf_object__for_each_map(m, p->obj[i])
			if (!bpf_map__is_internal(m) && map_users(p, bpf_map__name(m)) > 1 &&
			    !bpf_object__find_map_by_name(p->obj[OBJECT_MAPS], bpf_map__name(m)))
				return say(EINVAL, "map %s of %s is not in maps.bpf.c", bpf_map__name(m), objects[i].name);
	}
	return 0;
}

/* Leaves out the programs that were refused before, and those whose tracepoint has other arguments. */
static void choose(struct probes *p, struct bpf_object *o)
{
	struct bpf_program *g;

	bpf_object__for_each_program(g, o) {
		int row = program_row(bpf_program__name(g));
		const char *target = strchr(bpf_program__section_name(g), '/');
		int args;
		char why[64];

		if (row < 0) {
			bpf_program__set_autoload(g, false);
			continue;
		}
		if (p->info[row].reason) {
			bpf_program__set_autoload(g, false);
			continue;
		}
		if (!p->opts.latency && !strcmp(programs[row].name, "syscall__enter")) {
			refuse(p, bpf_program__name(g), NOT_ASKED);
			bpf_program__set_autoload(g, false);
			continue;
		}
		if (programs[row].again && !p->skips) {
			refuse(p, bpf_program__name(g), "this kernel does not skip the first");
			bpf_program__set_autoload(g, false);
			continue;
		}
		if (!programs[row].args)
			continue;
		args = tracepoint_args(p->vmlinux, target + 1);
		if (args == programs[row].args)
			continue;
		if (args < 0)
			snprintf(why, sizeof(why), "this kernel has no such tracepoint");
		else
			snprintf(why, sizeof(why), "tracepoint has %d arguments, this probe is for %d", args, programs[row].args);
		refuse(p, bpf_program__name(g), why);
		bpf_program__set_autoload(g, false);
	}
}

static void refuse_object(struct probes *p, struct bpf_object *o, const char *why)
{
	struct bpf_program *g;

	bpf_object__for_each_program(g, o) {
		int row = program_row(bpf_program__name(g));

		if (row >= 0 && !p->info[row].reason)
			refuse(p, bpf_program__name(g), why);
	}
}

/* Names of the programs of an object, whether or not it can be loaded. */
static int name_programs(struct probes *p, struct bpf_object *o)
{
	struct bpf_program *g;

	bpf_object__for_each_program(g, o) {
		int row = program_row(bpf_program__name(g));

		if (row < 0)
			return say(EINVAL, "program %s has no row in the table", bpf_program__name(g));
		p->info[row].target = bpf_program__section_name(g);
	}
	return 0;
}

static struct bpf_object *open_object(struct probes *p, size_t n)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = objects[n].name);
	struct bpf_object *o = bpf_object__open_mem(objects[n].data, objects[n].end - objects[n].data, &opts);

	if (!o) {
		say(errno, "cannot open object %s", objects[n].name);
		return NULL;
	}
	if (!name_programs(p, o))
		return o;
	bpf_object__close(o);
	return NULL;
}

static pthread_mutex_t maps_lock = PTHREAD_MUTEX_INITIALIZER;

/* Loads one object; a program that the kernel refuses is left out, and the rest is tried again. */
static int load_object(struct probes *p, size_t n)
{
	char why[128];
	int err, row;

	for (size_t attempt = 0; attempt <= N_PROGRAMS; attempt++) {
		struct bpf_object *o = p->obj[n] ?: open_object(p, n);

		if (!o)
			return -EINVAL;
		p->obj[n] = o;
		choose(p, o);
		configure(p, o);
		pthread_mutex_lock(&maps_lock);
		err = share_maps(p, o);
		pthread_mutex_unlock(&maps_lock);
		if (err)
			return err;
		said.program[0] = said.text[0] = '\0';
		err = bpf_object__load(o);
		if (!err) {
			pthread_mutex_lock(&maps_lock);
			remember_maps(p, o);
			pthread_mutex_unlock(&maps_lock);
			return 0;
		}
		row = program_row(said.program);
		if (row < 0 || p->info[row].reason) {
			snprintf(why, sizeof(why), "object refused: %s", strerror(-err));
			refuse_object(p, o, why);
			/* the names that `info` points to belong to the object: it is kept, unloaded */
			return n == OBJECT_MAPS || n == OBJECT_CORE ? say(err, "cannot load the kernel side") : 0;
		}
		snprintf(why, sizeof(why), "%s (%s)", strerror(-err), said.text);
		refuse(p, said.program, why);
		p->obj[n] = NULL;
		bpf_object__close(o);
	}
	return -E2BIG;
}

static int attach_object(struct probes *p, struct bpf_object *o)
{
	struct bpf_program *g;
	char why[64];

	bpf_object__for_each_program(g, o) {
		int row = program_row(bpf_program__name(g));
		struct bpf_prog_info info = {};
		u32 len = sizeof(info);

		if (row < 0 || p->info[row].reason || bpf_program__fd(g) < 0)
			continue;
		if (!bpf_obj_get_info_by_fd(bpf_program__fd(g), &info, &len))
			p->info[row].verified = info.verified_insns;
		if (bpf_program__type(g) == BPF_PROG_TYPE_SYSCALL) {
			p->info[row].chosen = true;
			continue;
		}
		p->link[row] = bpf_program__attach(g);
		if (!p->link[row]) {
			snprintf(why, sizeof(why), "cannot attach: %s", strerror(errno));
			refuse(p, bpf_program__name(g), why);
			continue;
		}
		p->info[row].chosen = true;
	}
	return 0;
}

/* A probe of a system call can be preempted, and is skipped for other threads until it goes on, since tracepoints are guarded by the
 * fast kind of SRCU (7.0). The variable is older, and was for tracepoints in idle processors until 6.13; the type came with the
 * fast kind (6.15). */
#define SYMBOL_SKIPS "tracepoint_srcu"
#define TYPE_SKIPS "srcu_ctr"

/* A function that is there, but not for us. */
static void hide(struct probes *p, const char *name)
{
	size_t n = strlen(p->hidden);

	snprintf(p->hidden + n, sizeof(p->hidden) - n, "%s%s", n ? ", " : "", name);
}

/* Tells the kernel side the addresses of the functions it compares with. One of a module that is not loaded is not missed. */
static void *find_functions(void *arg)
{
	struct probes *p = arg;
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[512], *name;

	if (!f) {
		hide(p, "all: no /proc/kallsyms");
		return NULL;
	}
	while (fgets(line, sizeof(line), f)) { /* "address type name [module]", 200,000 of them */
		u64 address = strtoull(line, &name, 16);

		if (strlen(name) < 4)
			continue;
		name += 3;
		name[strcspn(name, " \t\n")] = '\0';
		p->symbols.skips |= !strcmp(name, SYMBOL_SKIPS);
		for (size_t i = 0; i < N_FUNCTIONS; i++) {
			if (strcmp(name, functions[i].name))
				continue;
			if (!address)
				hide(p, name);
			else if (p->symbols.n < MAX_SYMBOLS)
				p->symbols.at[p->symbols.n++] = (struct symbol){ address, functions[i].function };
		}
	}
	fclose(f);
	return NULL;
}

/* Begins to look for functions, beside what else there is to do before the kernel side needs them. */
static void functions_begin(struct probes *p)
{
	p->symbols.apart = !pthread_create(&p->symbols.thread, NULL, find_functions, p);
	if (!p->symbols.apart)
		find_functions(p);
}

static void functions_wait(struct probes *p)
{
	if (p->symbols.apart)
		pthread_join(p->symbols.thread, NULL);
	p->symbols.apart = false;
}

/* Tells the kernel side what was found. */
static void functions_tell(struct probes *p)
{
	int fd = map_fd(p, "functions");

	functions_wait(p);
	p->skips = p->symbols.skips && btf__find_by_name_kind(p->vmlinux, TYPE_SKIPS, BTF_KIND_STRUCT) > 0;
	for (size_t i = 0; i < p->symbols.n; i++)
		bpf_map_update_elem(fd, &p->symbols.at[i].address, &p->symbols.at[i].function, BPF_ANY);
}

/* Objects that are loaded side by side: each thread takes the next. */
struct loading {
	struct probes *p;
	size_t next;
	int err;
	pthread_mutex_t lock;
};

#define LOADERS 2              /* each holds the kernel's types meanwhile: some 15 MiB */

static void *load_next(void *arg)
{
	struct loading *l = arg;
	size_t n;
	int err;

	for (;;) {
		pthread_mutex_lock(&l->lock);
		n = l->next++;
		pthread_mutex_unlock(&l->lock);
		if (n >= N_OBJECTS)
			return NULL;
		err = l->p->obj[n] ? load_object(l->p, n) : 0;
		pthread_mutex_lock(&l->lock);
		l->err = l->err ?: err;
		pthread_mutex_unlock(&l->lock);
	}
}

/* Loads what was opened. The kernel looks at every path of every program: that takes most of the time until the run can begin. */
static int load_all(struct probes *p)
{
	struct loading l = { .p = p, .next = OBJECT_CORE, .lock = PTHREAD_MUTEX_INITIALIZER };
	int err = load_object(p, OBJECT_MAPS);
	pthread_t thread[LOADERS - 1];
	int n = 0;

	if (err)
		return err;
	functions_tell(p); /* the others depend on what is found */
	err = p->obj[OBJECT_NET] ? load_object(p, OBJECT_NET) : 0;
	if (err)
		return err;
	while (n < LOADERS - 1 && !pthread_create(&thread[n], NULL, load_next, &l))
		n++;
	load_next(&l);
	while (n)
		pthread_join(thread[--n], NULL);
	malloc_trim(0);
	return l.err;
}

static void on_record(void *arg, const void *data)
{
	struct probes *p = arg;
	const struct probe_callbacks *cb = p->callbacks;
	struct iot_event e;

	switch (*(const u32 *)data) {
	case RING_EVENT:
		e = ((const struct iot_ring_event *)data)->e;
		e.ts_ns = e.ts_ns > p->start_ns ? e.ts_ns - p->start_ns : 0;
		cb->event(cb->arg, &e);
		break;
	case RING_PROCESS:
		cb->process(cb->arg, data);
		break;
	case RING_PATH:
		cb->path(cb->arg, data);
		break;
	}
}

#define FIRST_PID_NS 0xEFFFFFFCu /* inode number of the initial PID namespace since 3.8 (PROC_PID_INIT_INO) */

/* Asks the kernel who we are. Where it does not run such a program (5.13 and before), only the initial PID namespace is sure. */
static int find_self(struct probes *p)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "who");
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &p->self, .ctx_size_in = sizeof(p->self));
	struct bpf_object *o = bpf_object__open_mem(obj_who, obj_who_end - obj_who, &opts);
	struct bpf_program *g = o ? bpf_object__find_program_by_name(o, "who__self") : NULL;
	int err = g ? bpf_object__load(o) : -errno;
	struct stat s;

	if (!err)
		err = bpf_prog_test_run_opts(bpf_program__fd(g), &run);
	bpf_object__close(o);
	if (!err)
		return 0;
	if (stat("/proc/self/ns/pid", &s) || s.st_ino != FIRST_PID_NS)
		return say(err, "cannot tell which process this is outside of its PID namespace: run it in the initial one");
	p->self = (struct iot_self){ .tgid = getpid() };
	return 0;
}

static int prepare(struct probes *p)
{
	p->cpus = libbpf_num_possible_cpus();
	if (p->cpus < 1)
		return say(p->cpus, "cannot count processors");
	p->max_cells = table_size(p, "cells") ?: IOT_MAX_CELLS;
	if (p->max_cells > IOT_MAX_CELLS)
		return say(E2BIG, "%u aggregates: there can be %u", p->max_cells, IOT_MAX_CELLS);
	for (size_t i = 0; i < N_PROGRAMS; i++) {
		p->info[i].name = programs[i].name;
		p->info[i].layer = programs[i].layer;
		p->info[i].target = "";
	}
	p->vmlinux = btf__load_vmlinux_btf();
	if (!p->vmlinux)
		return say(errno, "cannot read the kernel's types in /sys/kernel/btf/vmlinux");
	return find_self(p);
}

#define SUM_SLOTS_BYTES (IOT_MAX_FILESUMS * sizeof(struct iot_filesum_slot))
#define SUM_USERS_BYTES (IOT_FILESUM_USERS * sizeof(s64))

static int map_sums(struct probes *p)
{
	int fd = map_fd(p, "filesum_slots");
	void *slots;

	p->state->sum_epoch = 1; /* 0 is a thread's that remembers none */
	if (fd < 0)
		return 0;
	slots = mmap(NULL, SUM_SLOTS_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	if (slots == MAP_FAILED)
		return say(errno, "cannot map the sums by file");
	p->sum_slots = slots;
	slots = mmap(NULL, SUM_USERS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd(p, "filesum_users"), 0);
	if (slots == MAP_FAILED)
		return say(errno, "cannot map the sums by file");
	p->sum_users = slots;
	return 0;
}

/* Maps the elements of an array of the kernel side. */
static int map_array(struct probes *p, const char *name, size_t size, void *out)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd(p, name), 0);

	if (at == MAP_FAILED)
		return say(errno, "cannot map the kernel side's table %s", name);
	*(void **)out = at;
	return 0;
}

static int map_tables(struct probes *p)
{
	return map_array(p, "state", sizeof(*p->state), &p->state) ?:
		map_array(p, "cell_keys", p->max_cells * sizeof(*p->cell_slots), &p->cell_slots) ?:
		map_array(p, "free_cells", p->max_cells * sizeof(*p->free_cells), &p->free_cells) ?:
		map_array(p, "folds", IOT_MAX_FOLDS * sizeof(*p->folds), &p->folds);
}

int probes_open(struct probes **out, const struct probe_opts *opts)
{
	struct probes *p = calloc(1, sizeof(*p));
	u32 layers = opts->layers ? opts->layers : ~0u;
	int err;

	*out = p;
	if (!p)
		return say(ENOMEM, "probes");
	p->opts = *opts;
	verbose = opts->verbose;
	libbpf_set_print(libbpf_says);
	mallopt(M_ARENA_MAX, 1); /* what one thread frees is there for the other */
	functions_begin(p);
	err = prepare(p);
	if (err)
		return err;
	for (size_t i = 0; i < N_OBJECTS; i++) {
		if (objects[i].layers && !(objects[i].layers & layers))
			continue;
		p->obj[i] = open_object(p, i);
		if (!p->obj[i])
			return -EINVAL;
	}
	err = plan_maps(p) ?: load_all(p);
	if (err)
		return err;
	for (size_t i = 0; i < N_OBJECTS; i++)
		if (p->obj[i])
			attach_object(p, p->obj[i]);
	for (size_t i = 0; i < N_PROGRAMS; i++)
		if (!p->info[i].chosen && !p->info[i].reason)
			refuse(p, programs[i].name, NOT_ASKED);
	err = ring_open(&p->ring, map_fd(p, "ring"), bpf_map__max_entries(map_of(p, "ring")));
	if (!err)
		err = ring_open(&p->names, map_fd(p, "names"), bpf_map__max_entries(map_of(p, "names")));
	if (err)
		return say(err, "cannot map the ring");
	err = check_tables(p) ?: map_tables(p);
	return err ? err : map_sums(p);
}

size_t probes_list(const struct probes *p, const struct probe_info **list)
{
	*list = p->info;
	return N_PROGRAMS;
}

u64 probes_map_bytes(const struct probes *p)
{
	u64 sum = 0;

	for (size_t i = 0; i < p->n_maps; i++) {
		unsigned long long bytes;
		char path[64], line[128];
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", bpf_map__fd(p->maps[i]));
		f = fopen(path, "re");
		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, "memlock: %llu", &bytes) == 1)
				sum += bytes;
		if (f)
			fclose(f);
	}
	return sum;
}

const struct probe_info *probes_refused(const struct probes *p)
{
	for (size_t i = 0; i < N_PROGRAMS; i++)
		if (programs[i].full && !p->info[i].chosen && strcmp(p->info[i].reason, NOT_ASKED))
			return &p->info[i];
	return NULL;
}

const char *probes_hidden(const struct probes *p)
{
	return p->hidden[0] ? p->hidden : NULL;
}

const char *probes_tier(const struct probes *p)
{
	if (p->hidden[0])
		return "reduced";
	for (size_t i = 0; i < N_PROGRAMS; i++)
		if (programs[i].full && !p->info[i].chosen)
			return "reduced";
	return "full";
}

int probes_want_pid(struct probes *p, u32 pid)
{
	u32 one = 1;
	int err = bpf_map_update_elem(map_fd(p, "want_pids"), &pid, &one, BPF_ANY);

	return err ? say(err, "cannot follow process %u", pid) : 0;
}

static u64 clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* Calls a program of type syscall with its context, where it is loaded. */
static void call_program(const struct probes *p, const char *name, void *ctx, u32 size)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = ctx, .ctx_size_in = size);
	struct bpf_program *g;

	for (size_t i = 0; i < N_OBJECTS; i++) {
		g = p->obj[i] ? bpf_object__find_program_by_name(p->obj[i], name) : NULL;
		if (g && bpf_program__fd(g) >= 0)
			bpf_prog_test_run_opts(bpf_program__fd(g), &opts);
	}
}

/* Lets the kernel side look for requests of a disk whose end it was not told. */
static void sweep(const struct probes *p, u32 disk)
{
	struct iot_sweep ask = { disk };

	call_program(p, "block__sweep", &ask, sizeof(ask));
}

/* Lets the kernel side divide what its probes left: bytes of transactions with too many owners. */
static void share(struct probes *p)
{
	u64 n = __atomic_load_n(&p->state->late, __ATOMIC_ACQUIRE), keys[SHARE_BATCH];
	struct iot_late pieces[SHARE_BATCH];
	int fd = map_fd(p, "late"), err = 0;
	u32 at = 0, count;

	for (bool first = true; n != p->shared && fd >= 0 && !err; first = false) {
		count = SHARE_BATCH;
		err = bpf_map_lookup_and_delete_batch(fd, first ? NULL : &at, &at, keys, pieces, &count, NULL);
		for (u32 i = 0; i < count && (!err || err == -ENOENT); i++)
			call_program(p, "block__share", &pieces[i], sizeof(pieces[i]));
	}
	p->shared = n;
}

void probes_hold(struct probes *p, u32 dev, u32 volume)
{
	struct iot_held h = { .volume = volume };
	int fd = map_fd(p, "held");

	if (fd >= 0)
		bpf_map_update_elem(fd, &dev, &h, BPF_ANY);
}

size_t probes_consume(struct probes *p, const struct probe_callbacks *cb)
{
	p->callbacks = cb;
	share(p);
	/* what an event names was sent before it: of the events, only those that were there before the names are looked at */
	u64 end = ring_end(p->ring);
	size_t n = ring_take(p->names, PROBES_TAKE, ring_end(p->names), on_record, p), more = 0;

	if (n < PROBES_TAKE)
		more = ring_take(p->ring, PROBES_TAKE, end, on_record, p);
	return n > more ? n : more;
}

int probes_cells(struct probes *p, probes_cell *cell, void *arg)
{
	int fd = map_fd(p, "cells");
	struct iot_cell values[p->cpus];
	u32 n;

	share(p);
	n = __atomic_load_n(&p->state->next_cell, __ATOMIC_ACQUIRE);
	for (u32 i = 0; i < n && i < p->max_cells; i++) {
		struct iot_cell sum = {};

		if (p->cell_slots[i].used == IOT_CELL_LOST)
			probes_cell_free(p, i);
		if (!p->cell_slots[i].used || bpf_map_lookup_elem(fd, &i, values))
			continue;
		for (int cpu = 0; cpu < p->cpus; cpu++) {
			sum.ops += values[cpu].ops;
			sum.errors += values[cpu].errors;
			sum.bytes += values[cpu].bytes;
			sum.touched += values[cpu].touched;
			sum.timed += values[cpu].timed;
			sum.lat_ns += values[cpu].lat_ns;
			if (values[cpu].max_ns > sum.max_ns)
				sum.max_ns = values[cpu].max_ns;
		}
		cell(arg, i, &p->cell_slots[i].key, &sum);
	}
	return 0;
}

const struct iot_filesum_slot *probes_sums(const struct probes *p, u32 *n_spare, u32 *n)
{
	const u32 spare = __atomic_load_n(&p->state->next_spare, __ATOMIC_ACQUIRE) + 1, next = __atomic_load_n(&p->state->next_sum, __ATOMIC_ACQUIRE);

	*n_spare = spare < IOT_FILESUM_RESERVE ? spare : IOT_FILESUM_RESERVE;
	*n = next < IOT_MAX_FILESUMS - IOT_FILESUM_RESERVE ? IOT_FILESUM_RESERVE + next : IOT_MAX_FILESUMS;
	return p->sum_slots;
}

int probes_sum(struct probes *p, u32 slot, struct iot_filesum *sum)
{
	struct iot_filesum values[p->cpus];

	*sum = (struct iot_filesum){ 0 };
	if (bpf_map_lookup_elem(map_fd(p, "filesums"), &slot, values))
		return say(errno, "cannot read the sums by file");
	for (int cpu = 0; cpu < p->cpus; cpu++)
		for (size_t i = 0; i < sizeof(*sum) / sizeof(u64); i++)
			((u64 *)sum)[i] += ((const u64 *)&values[cpu])[i];
	return 0;
}

void probes_sum_hide(struct probes *p, u32 slot)
{
	const struct iot_filesum_key *key = &p->sum_slots[slot].key;
	int fd = map_fd(p, "filesum_index");
	u32 n;

	if (!bpf_map_lookup_elem(fd, key, &n) && n == slot)
		bpf_map_delete_elem(fd, key);
}

static void put_free(struct probes *p, struct iot_sum_ring *ring, u32 first, u32 size, u32 slot)
{
	u32 at = first + ring->end % size;

	bpf_map_update_elem(map_fd(p, "filesum_free"), &at, &slot, BPF_ANY);
	__atomic_add_fetch(&ring->end, 1, __ATOMIC_RELEASE);
}

void probes_sum_free(struct probes *p, u32 slot)
{
	bool counted = p->sum_slots[slot].used != IOT_FILESUM_LOST;

	if (slot < IOT_FILESUM_RESERVE) {
		put_free(p, &p->state->sum_spare, IOT_MAX_FILESUMS, IOT_FILESUM_RESERVE, slot);
		return;
	}
	if (counted) {
		__atomic_sub_fetch(&p->sum_users[p->sum_slots[slot].user % IOT_FILESUM_USERS], 1, __ATOMIC_RELAXED);
		__atomic_sub_fetch(&p->state->sums, 1, __ATOMIC_RELAXED);
	}
	put_free(p, &p->state->sum_free, 0, IOT_MAX_FILESUMS, slot);
}

void probes_sums_epoch(struct probes *p)
{
	if (!__atomic_add_fetch(&p->state->sum_epoch, 1, __ATOMIC_ACQ_REL))
		p->state->sum_epoch = 1;
}

int probes_set_nameless(struct probes *p, u32 proc, bool yes)
{
	struct iot_filesum_owner o = { 0 };
	int fd = map_fd(p, "filesum_owners");

	if (proc >= IOT_MAX_GROUPED || !p->sum_slots)
		return -E2BIG;
	bpf_map_lookup_elem(fd, &proc, &o); /* its user is there by now: the process has sums */
	o.nameless = yes;
	return bpf_map_update_elem(fd, &proc, &o, BPF_ANY) ? say(errno, "cannot tell what threads say") : 0;
}

int probes_files(struct probes *p, void (*file)(void *, u32, u32, u64, u32), void *arg)
{
	int fd = map_fd(p, "files");
	struct { u32 dev, gen; u64 ino; } key, *at = NULL;
	struct { u32 id, named, sent, pad; } v;

	while (!bpf_map_get_next_key(fd, at, &key)) {
		if (!bpf_map_lookup_elem(fd, &key, &v) && !v.named)
			file(arg, v.id, key.dev, key.ino, key.gen);
		at = &key;
	}
	return 0;
}

bool probes_cells_scarce(const struct probes *p)
{
	return p->state->used_cells > p->max_cells / 2;
}

/* A number that lost the race for its key has the key for a moment, without being found by it. */
bool probes_cell_close(struct probes *p, u32 n)
{
	struct iot_cell_key key = p->cell_slots[n].key;
	int fd = map_fd(p, "cell_index");
	u32 at;

	return !bpf_map_lookup_elem(fd, &key, &at) && at == n && !bpf_map_delete_elem(fd, &key);
}

void probes_cell_free(struct probes *p, u32 n)
{
	struct iot_cell zero[p->cpus];

	memset(zero, 0, sizeof(zero));
	if (bpf_map_update_elem(map_fd(p, "cells"), &n, zero, BPF_ANY))
		return; /* never used again */
	__atomic_store_n(&p->cell_slots[n].used, 0, __ATOMIC_RELEASE);
	__atomic_fetch_sub(&p->state->used_cells, 1, __ATOMIC_RELAXED);
	p->free_cells[p->state->free_end % p->max_cells] = n;
	__atomic_fetch_add(&p->state->free_end, 1, __ATOMIC_RELEASE);
}

void probes_fold(struct probes *p, u32 id, u32 to)
{
	struct iot_fold *f = &p->folds[id & (IOT_MAX_FOLDS - 1)];

	f->id = 0; /* never half of each */
	__atomic_store_n(&f->to, to, __ATOMIC_RELEASE);
	__atomic_store_n(&f->id, id, __ATOMIC_RELEASE);
}

u32 probes_folded(const struct probes *p, u32 id)
{
	const struct iot_fold *f = &p->folds[id & (IOT_MAX_FOLDS - 1)];

	return f->id == id ? f->to : 0;
}

u32 probes_new_process(struct probes *p)
{
	return __atomic_fetch_add(&p->state->next_proc, 1, __ATOMIC_RELAXED) + PROC_FIRST;
}

void probes_forget_process(struct probes *p, const struct iot_proc *proc)
{
	struct iot_proc_key k = { .pid = proc->pid, .exec_no = proc->exec_no, .start_ns = proc->start_ns };

	bpf_map_delete_elem(map_fd(p, "procs"), &k);
}

int probes_hists(struct probes *p, void (*hist)(void *, u8, u32, bool, u32, u64), void *arg)
{
	int fd = map_fd(p, "hists");
	size_t row = HIST_BUCKETS * sizeof(u64);
	u64 *values = calloc(p->cpus, row);

	if (!values)
		return say(ENOMEM, "histograms");
	for (u32 i = 0; i < IOT_HISTS; i++) {
		if (bpf_map_lookup_elem(fd, &i, values))
			continue;
		for (u32 b = 0; b < HIST_BUCKETS; b++) {
			u64 n = 0;

			for (int cpu = 0; cpu < p->cpus; cpu++)
				n += values[cpu * HIST_BUCKETS + b];
			if (n)
				hist(arg, i % KIND_MAX, i / KIND_MAX / 2, i / KIND_MAX % 2, b, n);
		}
	}
	free(values);
	return 0;
}

int probes_procs(struct probes *p, void (*proc)(void *, const struct iot_proc *), void *arg)
{
	int fd = map_fd(p, "procs");
	struct iot_proc_key key, *at = NULL;
	struct iot_proc v;

	while (!bpf_map_get_next_key(fd, at, &key)) {
		if (!bpf_map_lookup_elem(fd, &key, &v))
			proc(arg, &v);
		at = &key;
	}
	return 0;
}

int probes_flows(struct probes *p, void (*flow)(void *, const struct iot_flow_key *, const struct iot_flow *), void *arg)
{
	int fd = map_fd(p, "flows");
	struct iot_flow_key key, *at = NULL;
	struct iot_flow v;

	if (fd < 0)
		return 0; /* layer net is not measured */
	while (!bpf_map_get_next_key(fd, at, &key)) {
		if (!bpf_map_lookup_elem(fd, &key, &v))
			flow(arg, &key, &v);
		at = &key;
	}
	return 0;
}

bool probes_flows_scarce(const struct probes *p)
{
	struct bpf_map *m = map_of(p, "flows");

	return m && p->state->used_flows > bpf_map__max_entries(m) / 2;
}

bool probes_flow_take(struct probes *p, const struct iot_flow_key *key, struct iot_flow *out)
{
	if (bpf_map_lookup_and_delete_elem(map_fd(p, "flows"), key, out))
		return false;
	__atomic_fetch_sub(&p->state->used_flows, 1, __ATOMIC_RELAXED);
	return true;
}

enum iot_sockets probes_sockets(const struct probes *p)
{
	enum iot_sockets how = sockets_by_call(p);

	return how == SOCKETS_ALL && !p->info[program_row("syscall__exit")].chosen ? SOCKETS_NONE : how;
}

static u64 count_keys(struct probes *p, const char *map)
{
	char key[64];
	void *at = NULL;
	int fd = map_fd(p, map);
	u64 n = 0;

	if (fd < 0)
		return 0;
	while (!bpf_map_get_next_key(fd, at, key)) {
		at = key;
		n++;
	}
	return n;
}

void probes_use(struct probes *p, struct probe_use *u)
{
	*u = (struct probe_use){ p->state->used_cells, p->state->used_flows, count_keys(p, "procs"), count_keys(p, "files") };
}

/* Calls body for every program that is loaded, with what the kernel says of it. */
static void each_program(const struct probes *p, void (*body)(const struct bpf_prog_info *, u64 *sum), u64 *sum)
{
	struct bpf_program *g;

	for (size_t i = 0; i < N_OBJECTS; i++) {
		if (!p->obj[i])
			continue;
		bpf_object__for_each_program(g, p->obj[i]) {
			struct bpf_prog_info info = {};
			u32 len = sizeof(info);

			if (bpf_program__fd(g) >= 0 && !bpf_obj_get_info_by_fd(bpf_program__fd(g), &info, &len))
				body(&info, sum);
		}
	}
}

#define SKIPPED_FIRST LOSS_MAX /* the first of two copies: the second did its work */

/* What the kernel skipped because the same program was already running on the processor. */
static void add_misses(const struct bpf_prog_info *info, u64 *n)
{
	if (!strcmp(info->name, "syscall__enter"))
		return; /* a call that is not timed */
	if (!strcmp(info->name, "syscall__exit"))
		n[SKIPPED_FIRST] += info->recursion_misses;
	else if (!strncmp(info->name, "syscall__exit", strlen("syscall__exit")))
		n[LOSS_SKIPPED_CALL] += info->recursion_misses;
	else
		n[LOSS_SKIPPED] += info->recursion_misses;
}

static void add_time(const struct bpf_prog_info *info, u64 *sum)
{
	*sum += info->run_time_ns;
}

void probes_ready(struct probes *p)
{
	memset(p->misses_before, 0, sizeof(p->misses_before));
	each_program(p, add_misses, p->misses_before);
}

int probes_start(struct probes *p, u64 *start_ns)
{
	p->state->boot_ns = clock_ns(CLOCK_BOOTTIME);
	p->state->start_ns = p->start_ns = clock_ns(CLOCK_MONOTONIC);
	*start_ns = p->start_ns;
	__atomic_store_n(&p->state->gate, 1, __ATOMIC_RELEASE);
	return 0;
}

/* Returns when no program runs any more that found the gate open: it may be about to count. */
int probes_stop(struct probes *p)
{
	const struct timespec while_one_runs = { .tv_nsec = 20000000 };

	__atomic_store_n(&p->state->gate, 0, __ATOMIC_RELEASE);
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0)) /* refused where nohz_full is set */
		nanosleep(&while_one_runs, NULL);
	call_program(p, "uring__sweep", NULL, 0);
	call_program(p, "aio__sweep", NULL, 0);
	return 0;
}

void probes_second(struct probes *p)
{
	struct iot_clean_up ask = { .min_age = 3 };
	u32 second = ++p->state->second;

	/* a walk over both tables: only when they fill, and now and then so that what is over gives its memory back */
	if (p->state->writers > IOT_MAX_WRITERS / 8 || p->state->claims > IOT_MAX_CLAIMS / 8 || !(second % 32))
		call_program(p, "cache__sweep", &ask, sizeof(ask));
}

bool probes_outside(const struct probes *p, u32 disk, struct iot_outside *o)
{
	int fd = map_fd(p, "outside");

	if (fd < 0)
		return false;
	sweep(p, disk);
	if (bpf_map_lookup_elem(fd, &disk, o))
		memset(o, 0, sizeof(*o)); /* nothing completed there */
	return true;
}

#define MAX_UNDER_WAY 16384

struct under_way {
	u64 key, bytes;
	bool write;
};

static int by_key(const void *a, const void *b)
{
	u64 x = ((const struct under_way *)a)->key, y = ((const struct under_way *)b)->key;

	return (x > y) - (x < y);
}

/* Requests of a disk in the map. Where a key vanishes under the walk it begins again: a request can be there several times. */
static size_t list_requests(int fd, u32 disk, struct under_way *list)
{
	u64 key, *at = NULL;
	struct iot_request u;
	size_t n = 0;

	for (size_t steps = 0; steps < 4 * MAX_UNDER_WAY && n < MAX_UNDER_WAY && !bpf_map_get_next_key(fd, at, &key); steps++) {
		if (!bpf_map_lookup_elem(fd, &key, &u) && u.disk == disk && u.inside && u.op <= 1) /* REQ_OP_READ, REQ_OP_WRITE */
			list[n++] = (struct under_way){ key, u.bytes, u.op };
		at = &key;
	}
	qsort(list, n, sizeof(*list), by_key);
	return n;
}

bool probes_under_way(const struct probes *p, u32 disk, u64 *read, u64 *written)
{
	int fd = map_fd(p, "requests");
	struct under_way *list = calloc(MAX_UNDER_WAY, sizeof(*list));
	struct iot_outside before, after;
	bool known = false;

	for (int attempt = 0; list && !known && attempt < 100 && probes_outside(p, disk, &before); attempt++) {
		size_t n = list_requests(fd, disk, list);

		*read = before.late_read;
		*written = before.late_write;
		for (size_t i = 0; i < n; i++)
			if (!i || list[i].key != list[i - 1].key)
				*(list[i].write ? written : read) += list[i].bytes;
		probes_outside(p, disk, &after);
		known = before.late_read == after.late_read && before.late_write == after.late_write;
	}
	free(list);
	return known;
}

int probes_losses(struct probes *p, u64 n[LOSS_MAX])
{
	int fd = map_fd(p, "losses");
	u64 values[p->cpus], misses[LOSS_MAX + 1] = { 0 };

	for (u32 i = 0; i < LOSS_MAX; i++) {
		n[i] = 0;
		if (bpf_map_lookup_elem(fd, &i, values))
			return say(errno, "cannot read the losses");
		for (int cpu = 0; cpu < p->cpus; cpu++)
			n[i] += values[cpu];
	}
	each_program(p, add_misses, misses);
	for (u32 i = 0; i <= LOSS_MAX; i++)
		misses[i] -= p->misses_before[i];
	n[LOSS_SKIPPED] = misses[LOSS_SKIPPED];
	n[LOSS_SKIPPED_CALL] = misses[p->skips ? LOSS_SKIPPED_CALL : SKIPPED_FIRST];
	return 0;
}

int probes_set_group(struct probes *p, const struct iot_proc *proc, u32 group)
{
	u32 at = proc->id & (IOT_MAX_GROUPED - 1), value = proc->id << IOT_GROUP_BITS | group;

	if (group >= IOT_HIST_GROUPS)
		return 0;
	return bpf_map_update_elem(map_fd(p, "groups"), &at, &value, BPF_ANY) ?
		say(errno, "cannot set the group of process %u", proc->pid) : 0;
}

int probes_cpu_ns(struct probes *p, u64 *ns)
{
	u64 sum = 0;

	each_program(p, add_time, &sum);
	*ns = sum;
	return sum ? 0 : -ENODATA;
}

void probes_close(struct probes *p)
{
	if (!p)
		return;
	functions_wait(p);
	for (size_t i = 0; i < N_PROGRAMS; i++)
		bpf_link__destroy(p->link[i]);
	ring_close(p->ring);
	ring_close(p->names);
	if (p->state)
		munmap(p->state, sizeof(*p->state));
	if (p->sum_slots)
		munmap((void *)p->sum_slots, SUM_SLOTS_BYTES);
	if (p->sum_users)
		munmap(p->sum_users, SUM_USERS_BYTES);
	for (size_t i = 0; i < N_OBJECTS; i++)
		bpf_object__close(p->obj[i]);
	btf__free(p->vmlinux);
	if (p->cell_slots)
		munmap(p->cell_slots, p->max_cells * sizeof(*p->cell_slots));
	if (p->free_cells)
		munmap(p->free_cells, p->max_cells * sizeof(*p->free_cells));
	if (p->folds)
		munmap(p->folds, IOT_MAX_FOLDS * sizeof(*p->folds));
	free(p);
}
