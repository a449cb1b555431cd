/* SPDX-License-Identifier: GPL-3.0-only */
/* journal_credit.bpf.h - journal credits: what each system call adds to the journal of a file
 * system, by file. Used by the objects of file systems.
 *
 * A handle or transaction ends in the context of the task that made it: the saved registers tell
 * the call, and the inodes that it changed tell the file. The sums are weights: journal bytes have
 * an owner, and reports divide an owner's bytes among its calls by these weights.
 */
#ifndef IOT_JOURNAL_CREDIT_BPF_H
#define IOT_JOURNAL_CREDIT_BPF_H

#include "aggregate.bpf.h"
#include "device.bpf.h"
#include "file_event.bpf.h"
#include "owner.bpf.h"
#include "path.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct inode___names {
	struct hlist_head i_dentry;
};

struct dentry___alias {
	struct hlist_node d_alias; /* in an anonymous union (7.2) */
};

struct dentry___alias_in_union {
	union {
		struct hlist_node d_alias;
	} d_u;
};

#pragma clang attribute pop

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IOT_MAX_PUTS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct iot_put_key);
	__type(value, struct iot_put);
} puts SEC(".maps");

/* Credits for which `puts` has no room, without their files. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IOT_MAX_PUTS / 4);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct iot_put_key);
	__type(value, struct iot_put);
} puts_rest SEC(".maps");

/* The system call that the current thread is in, also one that is not in the table. */
static __always_inline u16 journal_call(void)
{
	struct task_struct *t = CURRENT_TASK;
	const struct pt_regs *regs;

	if (t->flags & PF_KTHREAD)
		return PUT_KERNEL;
	if (is_worker(t))
		return PUT_WORKER;
	regs = regs_of(t);
	if (!regs_in_call(regs))
		return PUT_FAULT;
	if (task_is_compat(t) || regs_nr(regs) > 0xffff - PUT_CALL)
		return PUT_OTHER;
	return PUT_CALL + regs_nr(regs);
}

/* ---- names of files that may never be opened ---- */

struct name_walk {
	struct iot_path *out;
	struct dentry *d;
};

/* Adds one component of a path inside its file system, from the leaf upwards. */
static long name_part(u32 n, struct name_walk *w)
{
	struct dentry *d = w->d, *up;

	up = BPF_CORE_READ(d, d_parent);
	if (d == up) {
		w->out->whole = PATH_INSIDE;
		return 1;
	}
	if (!up || path_add(w->out, d))
		return 1;
	w->d = up;
	return 0;
}

/* Names that are sent in one second at most, so that they do not displace the names of processes
 * and of files that are opened. */
#define NAMES_A_SECOND 512

static __always_inline bool name_allowed(void)
{
	struct iot_state *s = run_state();

	if (!s)
		return false;
	if (s->put_second != s->second) {
		s->put_second = s->second;
		s->put_names = 0;
	}
	return __sync_fetch_and_add(&s->put_names, 1) < NAMES_A_SECOND;
}

/* True for calls on paths. Calls on open files send the path when they return (file.bpf.h). */
static __always_inline bool name_is_missing(u16 call)
{
	u32 nr = call - PUT_CALL;

	if (call < PUT_CALL || nr >= IOT_MAX_SYSCALL)
		return false;
	return !call_row(nr)->shape || call_row(nr)->shape == SHAPE_PATH ||
	       call_row(nr)->shape == SHAPE_UNLINKAT || call_row(nr)->shape == SHAPE_WHOLE;
}

/* The offset in struct dentry of the list of an inode's aliases; 0: not known. */
static __always_inline u64 alias_offset(void)
{
	if (HAS_ALIAS)
		return bpf_core_field_offset(struct dentry___alias, d_alias);
	if (HAS_ALIAS_IN_D_U)
		return bpf_core_field_offset(struct dentry___alias_in_union, d_u.d_alias);
	return 0;
}

/* Sends one of the names of an inode that was not opened yet. Returns 0 when it has none now. */
static __noinline int name_send(struct inode *i, u32 id, u32 user)
{
	struct hlist_node *alias;
	struct name_walk w = {};
	struct file_key k = {};
	struct file_entry *e;

	if (!i || !alias_offset())
		return 0;
	k.dev = inode_dev(i);
	k.ino = inode_number(i);
	k.gen = inode_generation(i);
	e = bpf_map_lookup_elem(&files, &k);
	if (e && e->named)
		return 1; /* sent when it was opened, which is as good */
	alias = BPF_CORE_READ((struct inode___names *)i, i_dentry.first);
	if (!alias || !name_allowed())
		return 0;
	w.d = (struct dentry *)((u64)alias - alias_offset());
	w.out = path_new(PATH_OF_PUT, id, &k, user);
	if (!w.out)
		return 0;
	w.out->block = inode_block(i);
	bpf_loop(IOT_PATH_PARTS, name_part, &w, 0);
	return !path_end(w.out);
}

/* ---- sums ---- */

/* The inode that a handle or transaction is attributed to: the first regular file that it changes,
 * else the first inode of any type. */
static __always_inline u64 journal_about(u64 old, struct inode *i)
{
	/* a file system without a journal ends no handle */
	if (!old || inode_dev((struct inode *)old) != inode_dev(i))
		return (u64)i;
	if ((inode_mode((struct inode *)old) & S_IFMT) == S_IFREG ||
	    (inode_mode(i) & S_IFMT) != S_IFREG)
		return old;
	return (u64)i;
}

static __always_inline struct iot_put *journal_credit_find(const struct iot_put_key *key)
{
	struct iot_put *p = bpf_map_lookup_elem(&puts, key), new = {};
	struct iot_put_key k;

	if (p)
		return p;
	if (!bpf_map_update_elem(&puts, key, &new, BPF_NOEXIST) ||
	    (p = bpf_map_lookup_elem(&puts, key)))
		return p ?: bpf_map_lookup_elem(&puts, key);
	lose(LOSS_PUT_TABLE);
	k = *key;
	k.file = 0;
	p = bpf_map_lookup_elem(&puts_rest, &k);
	if (p)
		return p;
	bpf_map_update_elem(&puts_rest, &k, &new, BPF_NOEXIST);
	return bpf_map_lookup_elem(&puts_rest, &k);
}

/* The id of an inode's file. In most cases it is the file that the thread used last, whose id is
 * known. */
static __always_inline u32 journal_file_number(const struct task_ctx *c, struct inode *i)
{
	if (c && c->seen.file && c->seen.inode == (u64)i && c->seen.ino == inode_number(i) &&
	    c->seen.gen == inode_generation(i))
		return c->seen.file;
	return file_number(i);
}

/* True for a call that reads one file, directory or link, and changes no more of it than its access
 * time. sendfile(), splice() and copy_file_range() may change the other file. */
static __always_inline bool only_reads(u16 call)
{
	u32 nr = call - PUT_CALL;
	const volatile struct iot_syscall *row;

	if (call < PUT_CALL || nr >= IOT_MAX_SYSCALL)
		return false;
	row = call_row(nr);
	return READS_NAMES(nr) || row->shape == SHAPE_EXEC || row->kind == KIND_MMAP ||
	       (row->kind >= KIND_READ && row->kind <= KIND_PREADV);
}

/* Layer fs traced whole: a call that reads put an access time into the journal. */
static __noinline int atime_record(const struct iot_put_key *put, u64 inode)
{
	struct inode *i = (struct inode *)inode;
	struct iot_cell_key k = {};
	u32 mode;

	if (!put || !i)
		return 0;
	k.owner = put->owner;
	k.dev = put->dev;
	k.kind = KIND_ATIME;
	k.how = HOW_EXACT;
	mode = inode_mode(i) & S_IFMT;
	k.sub = mode == S_IFREG ? SUB_FT_REG : mode == S_IFDIR ? SUB_FT_DIR : SUB_FT_OTHER;
	count_deep(&k, 1, 0);
	if (wants_event(k.owner))
		file_event(&k, i, 0, 0, 0);
	return 0;
}

/* Adds a credit: the current thread added to the journal of a disk, of the file system with number
 * `fs`. i: the inode that was changed, NULL: not known; first: 1 for the first of several parts of
 * one transaction. With --light no credits are kept. */
static __always_inline void journal_credit_add(const struct task_ctx *c, struct iot_put_key *k,
					       u32 fs, struct inode *i, u32 first, u32 blocks,
					       u32 weight)
{
	struct iot_put *p;

	if (cfg.light || k->owner < PROC_FIRST || k->owner & OWNER_LOOP || !gate_open() ||
	    !dev_wanted(k->dev))
		return;
	k->file = i ? journal_file_number(c, i) : 0;
	if (cfg.whole & 1 << LAYER_FS && first && i && only_reads(k->call))
		atime_record(k, (u64)i);
	p = journal_credit_find(k);
	if (!p) {
		lose(LOSS_PUT_SPARE);
		return;
	}
	if (first)
		__sync_fetch_and_add(&p->txns, first);
	if (blocks)
		__sync_fetch_and_add(&p->blocks, blocks);
	if (weight)
		__sync_fetch_and_add(&p->weight, weight);
	p->fs = fs;
	if (i && !p->named && name_is_missing(k->call))
		p->named = name_send(i, k->file, k->owner);
}

#endif
