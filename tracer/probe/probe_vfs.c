// SPDX-License-Identifier: GPL-3.0-only
/* probe_vfs.c - programs at functions of the VFS (vfs.def): by fentry and fexit where the kernel
 * attaches them, by kprobe and kretprobe elsewhere. Both are tried before the object is loaded.
 * Where a function that moves bytes cannot be reached, none is attached, and the VFS is derived
 * from the calls: figures of a part of the file systems would look like those of all.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <linux/perf_event.h>
#include "probe_parts.h"
#include "vfs.h"

#define PREFIX "vfs__"
#define END "_end"

/* One of them that every kernel has: mechanisms are tried on it. */
#define TRIED VFS_FN_vfs_unlink

/* True for a function whose return says nothing. */
static bool is_entered_only(size_t n)
{
	return VFS_FROM_OF(vfs_functions[n].what) >= VFS_FROM_COMPLETION;
}

/* Number of the function of a program, by the program's name; -1: it serves all (kprobes). */
static int function_of(const char *program)
{
	size_t len = strlen(program);

	program += strlen(PREFIX);
	len -= strlen(PREFIX);
	for (size_t i = 0; i < VFS_FUNCTIONS; i++) {
		size_t n = strlen(vfs_functions[i].name);

		if (!strncmp(program, vfs_functions[i].name, n) &&
		    (n == len || !strcmp(program + n, END)))
			return i;
	}
	return -1;
}

static void found(struct probes *p, const char *name, const struct tracepoint *at)
{
	int n = vfs_function(name);

	if (n >= 0 && !p->vfs.at[n].id) {
		p->vfs.at[n].id = at->id;
		p->vfs.at[n].module = at->module;
	}
}

/* --- trying --- */

static const struct bpf_insn nothing[] = {
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
	{ .code = BPF_JMP | BPF_EXIT },
};

/* Attaches a program that does nothing, and detaches it. Returns 0 or a negative errno. */
static int try_fentry(const struct probes *p)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FENTRY,
		.attach_btf_id = p->vfs.at[TRIED].id);
	int fd, link, err;

	if (!opts.attach_btf_id)
		return -ESRCH;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "try", "GPL", nothing, N_OF(nothing), &opts);
	if (fd < 0)
		return fd;
	link = bpf_raw_tracepoint_open(NULL, fd);
	err = link < 0 ? link : 0;
	if (link >= 0)
		close(link);
	close(fd);
	return err;
}

static int kprobe_type(void)
{
	FILE *f = fopen("/sys/bus/event_source/devices/kprobe/type", "re");
	int type = -1;

	if (f && fscanf(f, "%d", &type) != 1)
		type = -1;
	if (f)
		fclose(f);
	return type;
}

static int try_kprobe(void)
{
	struct perf_event_attr attr = { .size = sizeof(attr),
		.config1 = (u64)(unsigned long)vfs_functions[TRIED].name };
	int type = kprobe_type(), fd, event, err = 0;

	if (type < 0)
		return -ENOENT;
	attr.type = type;
	fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "try", "GPL", nothing, N_OF(nothing), NULL);
	if (fd < 0)
		return fd;
	event = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (event < 0 || ioctl(event, PERF_EVENT_IOC_SET_BPF, fd))
		err = -errno;
	if (event >= 0)
		close(event);
	close(fd);
	return err;
}

/* Tries a mechanism unless another one is preferred. Adds to `why` what is against it. */
static void try_one(struct probes *p, enum vfs_by by)
{
	static const enum probe_prefer alone[] = { [VFS_BY_FENTRY] = PREFER_FENTRY,
		[VFS_BY_KPROBE] = PREFER_KPROBE };
	size_t n = strlen(p->vfs.why);
	int err;

	if (p->opts.prefer != PREFER_ANY && p->opts.prefer != alone[by])
		return;
	err = by == VFS_BY_FENTRY ? try_fentry(p) : try_kprobe();
	if (!err)
		p->vfs.may |= 1 << by;
	else
		snprintf(p->vfs.why + n, sizeof(p->vfs.why) - n, "%s%s: %s", n ? "; " : "",
			by == VFS_BY_FENTRY ? "fentry" : "kprobe", strerror(-err));
}

bool vfs_choose(struct probes *p)
{
	if (!(p->opts.whole >> LAYER_VFS & 1))
		return false;
	if (p->lacks || p->opts.prefer == PREFER_DERIVED) {
		snprintf(p->vfs.why, sizeof(p->vfs.why), "%s", p->lacks ?: "so was asked for");
		return false;
	}
	types_each_function(p, found);
	try_one(p, VFS_BY_FENTRY);
	try_one(p, VFS_BY_KPROBE);
	return p->vfs.may;
}

void vfs_judge(const struct probes *p, const char *program, char *why, size_t size)
{
	int n = function_of(program);

	why[0] = '\0';
	if (n < 0) {
		if (!(p->vfs.may >> VFS_BY_KPROBE & 1))
			snprintf(why, size, "kprobes are not used");
		return;
	}
	if (!(p->vfs.may >> VFS_BY_FENTRY & 1))
		snprintf(why, size, "fentry is not used");
	else if (!p->vfs.at[n].id)
		snprintf(why, size, "no such function in the types (BTF) of kernel and modules");
}

/* --- attaching --- */

static struct bpf_program *program_of(struct bpf_object *o, const char *function, const char *end)
{
	char name[64];

	snprintf(name, sizeof(name), PREFIX "%s%s", function, end);
	return bpf_object__find_program_by_name(o, name);
}

static void detach(struct vfs_at *at)
{
	bpf_link__destroy(at->entry);
	bpf_link__destroy(at->end);
	at->entry = at->end = NULL;
	at->by = VFS_BY_NONE;
}

static struct bpf_link *attach_kprobe(struct bpf_object *o, size_t n, bool end)
{
	LIBBPF_OPTS(bpf_kprobe_opts, opts, .bpf_cookie = vfs_functions[n].what, .retprobe = end);

	return bpf_program__attach_kprobe_opts(program_of(o, "kprobe", end ? END : ""),
		vfs_functions[n].name, &opts);
}

/* The return before the entry: an entry without its return would be a loss. Returns 0 or a negative
 * errno. */
static int attach_by(struct probes *p, struct bpf_object *o, size_t n, enum vfs_by by)
{
	struct vfs_at *at = &p->vfs.at[n];
	bool fentry = by == VFS_BY_FENTRY;
	struct bpf_program *entry = program_of(o, fentry ? vfs_functions[n].name : "kprobe", "");
	int err = 0;

	if (!entry || bpf_program__fd(entry) < 0)
		return fentry ? -ENOENT : -EPERM;
	if (!is_entered_only(n)) {
		at->end = fentry ?
			bpf_program__attach_trace(program_of(o, vfs_functions[n].name, END)) :
			attach_kprobe(o, n, true);
		err = at->end ? 0 : -errno;
	}
	if (!err) {
		at->entry = fentry ? bpf_program__attach_trace(entry) : attach_kprobe(o, n, false);
		err = at->entry ? 0 : -errno;
	}
	if (err)
		detach(at);
	else
		at->by = by;
	return err;
}

/* Says of the programs of a function how they were attached, or why not. */
static void tell(struct probes *p, size_t n, int err)
{
	static const char *const ends[] = { "", END };

	for (size_t i = 0; i < N_OF(ends) - is_entered_only(n); i++) {
		char name[64], why[64];
		int row;

		snprintf(name, sizeof(name), PREFIX "%s%s", vfs_functions[n].name, ends[i]);
		row = program_row(name);
		if (p->vfs.at[n].by) {
			p->info[row].chosen = true;
			p->info[row].reason = NULL;
		} else if (!p->info[row].reason) {
			snprintf(why, sizeof(why), "cannot attach: %s", strerror(-err));
			program_refuse(p, name, why);
		}
		if (p->vfs.at[n].by == VFS_BY_KPROBE)
			snprintf(p->target[row], sizeof(p->target[row]), "k%sprobe/%s",
				*ends[i] ? "ret" : "", vfs_functions[n].name);
	}
}

/* Attaches a function by the first mechanism that takes it. Returns 0, -ENOENT when the kernel has
 * no such function, or another negative errno. */
static int attach_function(struct probes *p, struct bpf_object *o, size_t n)
{
	int err = -ENOENT;

	for (int by = VFS_BY_FENTRY; by <= VFS_BY_KPROBE && err; by++)
		if (p->vfs.may >> by & 1) {
			int tried = attach_by(p, o, n, by);

			err = tried == -ENOENT ? err : tried;
		}
	tell(p, n, err);
	return err;
}

static void give_up(struct probes *p, const char *why)
{
	for (size_t i = 0; i < VFS_FUNCTIONS; i++)
		detach(&p->vfs.at[i]);
	for (size_t i = 0; i < n_programs; i++)
		if (!strncmp(programs[i].name, PREFIX, strlen(PREFIX)) &&
		    (p->info[i].chosen || !p->info[i].reason))
			program_refuse(p, programs[i].name, why);
	snprintf(p->vfs.why, sizeof(p->vfs.why), "%s", why);
	p->vfs.measured = false;
}

void vfs_attach(struct probes *p, struct bpf_object *o)
{
	char why[160] = "";
	bool moves = false;

	for (size_t i = 0; i < VFS_FUNCTIONS && !probes_over(p); i++) {
		int err = attach_function(p, o, i);

		moves |= !err && vfs_functions[i].moves;
		if (err && vfs_functions[i].moves && (err != -ENOENT || p->vfs.at[i].id))
			snprintf(why, sizeof(why), "%s cannot be traced: %s", vfs_functions[i].name,
				strerror(-err));
	}
	if (*why || !moves) {
		give_up(p, *why ? why : "no function that moves bytes can be traced");
		return;
	}
	p->vfs.measured = true;
}

void vfs_close(struct probes *p)
{
	for (size_t i = 0; i < VFS_FUNCTIONS; i++)
		detach(&p->vfs.at[i]);
}

bool probes_vfs(const struct probes *p, const char **why)
{
	*why = p->vfs.why;
	return p->vfs.measured;
}

bool probes_vfs_has(const struct probes *p, u8 kind, const char **why)
{
	/* kinds that are counted by functions of another one */
	u8 of = kind == KIND_VFS_DIO_READ ? KIND_VFS_READ :
		kind == KIND_VFS_DIO_WRITE ? KIND_VFS_WRITE :
		kind == KIND_VFS_MSYNC ? KIND_VFS_FSYNC : kind;

	*why = "the VFS has no function of its own for it";
	for (size_t i = 0; i < VFS_FUNCTIONS; i++) {
		if (VFS_KIND_OF(vfs_functions[i].what) != of)
			continue;
		if (p->vfs.at[i].by)
			return true;
		*why = "no function of it can be traced";
	}
	return false;
}

bool probes_is_vfs(const struct probe_info *one)
{
	return !strncmp(one->name, PREFIX, strlen(PREFIX));
}
