/* SPDX-License-Identifier: GPL-3.0-only */
/* filesum.bpf.h - sums by file: the bytes that each owner moved from and to each file, exact with
 * and without events.
 *
 * A sum is a slot in an array of each processor. Its key is the file, the owner and, while thread
 * names of the process may tell components apart, the name of the thread. The tracer reads the
 * slots every second (tracer/run/filesums.c). It removes a slot without activity for some seconds
 * from the index, and frees it a second later. A slot number that was kept is checked before use:
 * threads keep it until the epoch moves, bios keep it with its generation.
 */
#ifndef IOT_FILESUM_BPF_H
#define IOT_FILESUM_BPF_H

#include "aggregate.bpf.h"

/* The sums of all processors, as in map `cells`. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOT_MAX_FILESUMS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct iot_filesum);
} filesums SEC(".maps");

static __always_inline struct iot_filesum *filesum_here(u32 slot)
{
	u32 at = bpf_get_smp_processor_id() * cfg.max_filesums + slot;

	return bpf_map_lookup_elem(&filesums, &at);
}

/* The keys of the slots. The tracer reads them in place. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOT_MAX_FILESUMS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, struct iot_filesum_slot);
} filesum_slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IOT_MAX_FILESUMS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct iot_filesum_key);
	__type(value, u32);
} filesum_index SEC(".maps");

/* Freed slots: rings that the tracer fills, first the ring of slots for files, then that of slots
 * for files that are not known. No map of type queue: programs that the tracer calls cannot use one
 * before 6.2. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOT_MAX_FILESUMS + IOT_FILESUM_RESERVE);
	__type(key, u32);
	__type(value, u32);
} filesum_free SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOT_MAX_GROUPED);
	__type(key, u32);
	__type(value, struct iot_filesum_owner);
} filesum_owners SEC(".maps");

/* The number of slots of each user, by a part of the user id. The tracer subtracts in place. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOT_FILESUM_USERS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, u32);
	__type(value, s64);
} filesum_users SEC(".maps");

/* The user whose share a slot of this owner takes. The user of a kernel thread that writes back for
 * an owner is not asked, if the owner has one already. Bytes without owner, such as files of a
 * stranger that do not fit into the table of writers, have a share of their own. */
static __always_inline u32 filesum_user(u32 owner)
{
	struct iot_filesum_owner *o = bpf_map_lookup_elem(&filesum_owners, &owner);
	u32 user = INDEX((u32)bpf_get_current_uid_gid(), IOT_FILESUM_USERS);

	if (!owner)
		return IOT_FILESUM_USERS - 1;
	if (!o)
		return user;
	if (!o->user)
		o->user = user + 1;
	return o->user - 1;
}

/* A user takes at most three times what is left for all others. */
static __always_inline bool filesum_room(s64 mine)
{
	struct iot_state *s = run_state();

	return s && mine < 3 * (cfg.max_filesums - IOT_FILESUM_RESERVE - (s64)s->sums);
}

/* A freed slot; 0: there is none. */
static __always_inline u32 filesum_reuse(struct iot_sum_ring *r, u32 first, u32 size)
{
	for (int n = 0; n < 4; n++) {
		u32 begin = *(volatile u32 *)&r->begin, at = first + begin % size, *slot;

		if (begin == *(volatile u32 *)&r->end)
			return 0;
		slot = bpf_map_lookup_elem(&filesum_free, &at);
		if (!slot)
			return 0;
		at = *(volatile u32 *)slot;
		if (number_take(&r->begin, begin, offsetof(struct iot_state, sum_free) + first))
			return at;
	}
	return 0;
}

/* A free slot; 0: there is none. Slots of files that are not known come from the begin of the
 * array. */
static __always_inline u32 filesum_take(bool known)
{
	struct iot_state *s = run_state();
	u32 n;

	if (!s)
		return 0;
	n = known ? filesum_reuse(&s->sum_free, 0, cfg.max_filesums) :
		filesum_reuse(&s->sum_spare, cfg.max_filesums, IOT_FILESUM_RESERVE);
	if (n)
		return n;
	if (known) {
		if (s->next_sum < cfg.max_filesums - IOT_FILESUM_RESERVE)
			n = IOT_FILESUM_RESERVE + NEXT_NUMBER(s, next_sum);
		return n < cfg.max_filesums ? n : 0;
	}
	if (s->next_spare < IOT_FILESUM_RESERVE)
		n = 1 + NEXT_NUMBER(s, next_spare); /* slot 0 is for no owner and no file */
	return n < IOT_FILESUM_RESERVE ? n : 0;
}

/* Makes the slot of a key; 0: there is no room. */
static __always_inline u32 filesum_make(const struct iot_filesum_key *k)
{
	u32 user = filesum_user(k->owner), n, *other;
	s64 *mine = bpf_map_lookup_elem(&filesum_users, &user);
	struct iot_state *s = run_state();
	struct iot_filesum_slot *slot;

	if (!s || !mine || (k->file && !filesum_room(*mine)))
		return 0;
	n = filesum_take(k->file);
	slot = n ? bpf_map_lookup_elem(&filesum_slots, &n) : NULL;
	if (!slot)
		return 0;
	slot->used = 0;
	slot->key = *k;
	slot->user = user;
	__sync_fetch_and_add(&slot->gen, 1); /* a program that sees the generation sees the key */
	if (!bpf_map_update_elem(&filesum_index, k, &n, BPF_NOEXIST)) {
		slot->used = 1;
		if (k->file) {
			__sync_fetch_and_add(mine, 1);
			__sync_fetch_and_add(&s->sums, 1);
		}
		return n;
	}
	slot->used = IOT_FILESUM_LOST;
	other = bpf_map_lookup_elem(&filesum_index, k); /* another processor was first */
	return other ? *other : 0;
}

/* A cache of look-ups in map `filesum_index`, by a hash of file and owner: an array lookup is
 * inlined, and the key of the slot is read anyhow. A word holds the slot and, above it, the epoch
 * (iot_state.sum_epoch) in which it was looked up. */
#define RECENT_SUMS 4096
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RECENT_SUMS);
	__type(key, u32);
	__type(value, u64);
} recent_sums SEC(".maps");

static __always_inline u64 *filesum_recent(const struct iot_filesum_key *k)
{
	u32 at = INDEX(k->file * 0x9e3779b1 + k->owner, RECENT_SUMS);

	return bpf_map_lookup_elem(&recent_sums, &at);
}

/* The slot of a key, if it was looked up in this epoch; 0: it was not. */
static __always_inline u32 filesum_known(const struct iot_filesum_key *k, u32 epoch)
{
	u64 *recent = filesum_recent(k), word = recent ? *(volatile u64 *)recent : 0;
	struct iot_filesum_slot *slot;
	u32 n = word;

	slot = word >> 32 == epoch ? bpf_map_lookup_elem(&filesum_slots, &n) : NULL;
	return slot && slot->key.file == k->file && slot->key.owner == k->owner &&
	       slot->key.comm[0] == k->comm[0] && slot->key.comm[1] == k->comm[1] &&
	       slot->key.direct == k->direct ? n : 0;
}

/* The slot of a key. When the table is full it is the slot of the owner's unknown files; 0 is the
 * slot without owner, which always exists. */
__noinline u32 filesum_find(struct iot_filesum_key *key)
{
	struct iot_state *s = run_state();
	struct iot_filesum_key k;
	u32 *n, made, epoch;
	u64 *recent;

	if (!key || !s)
		return 0;
	epoch = *(volatile u32 *)&s->sum_epoch; /* before the look-up, since slots are taken back */
	made = filesum_known(key, epoch);
	if (made)
		return made;
	k = *key; /* until 6.2 a key must be on the stack of the function that looks it up */
	n = bpf_map_lookup_elem(&filesum_index, &k);
	made = n ? *n : filesum_make(&k);
	if (made) {
		recent = filesum_recent(&k);
		if (recent)
			*(volatile u64 *)recent = (u64)epoch << 32 | made;
		return made;
	}
	if (!k.file && !k.owner)
		return 0;
	if (k.owner) /* the file of bytes without owner is no loss */
		lose(k.file ? LOSS_FILESUM_TABLE : LOSS_FILESUM_SPARE);
	k.file = k.direct = 0;
	k.comm[0] = k.comm[1] = 0;
	n = bpf_map_lookup_elem(&filesum_index, &k);
	return n ? *n : filesum_make(&k);
}

/* Sums are kept of selected processes, and of bytes without owner. */
static __always_inline bool filesum_wanted(u32 owner)
{
	return !owner || owner >= PROC_FIRST;
}

/* The name of the current thread, as a part of keys. */
static __always_inline void filesum_comm(u64 comm[2])
{
	bpf_get_current_comm(comm, IOT_COMM_LEN);
}

/* Adds the thread's name to a key whose owner is set, when names of this process may tell
 * components apart. */
static __always_inline void filesum_thread(struct iot_filesum_key *k, const u64 comm[2],
					   bool direct)
{
	struct iot_filesum_owner *o = bpf_map_lookup_elem(&filesum_owners, &k->owner);

	if (o && o->nameless)
		return;
	k->comm[0] = comm[0];
	k->comm[1] = comm[1];
	k->direct = direct;
}

static __always_inline bool is_sync(u8 kind)
{
	return kind == KIND_FSYNC || kind == KIND_FDATASYNC || kind == KIND_SYNCFS ||
	       kind == KIND_SYNC_RANGE || kind == KIND_AIO_FSYNC ||
	       kind == KIND_URING_FSYNC;
}

/* Counts a call. write: enum moves. A write with O_SYNC or the like is a sync, too (METRICS section
 * 2). */
static __always_inline void filesum_count(u32 slot, u8 kind, u8 write, u64 bytes, u32 flags)
{
	struct iot_filesum *v = filesum_here(slot);

	if (!v)
		return;
	if (!write) {
		sum_add(&v->read_ops, 1);
		sum_add(&v->read_bytes, bytes);
		return;
	}
	if (write == MOVES_TO_FILE) {
		sum_add(&v->write_ops, 1);
		sum_add(&v->write_bytes, bytes);
	}
	if (write == MOVES_NOTHING || flags & (FLAG_SYNC | FLAG_DSYNC))
		sum_add(&v->sync_ops, 1);
}

/* Finds the slot again: the file, the owner or the epoch is another than last time. */
__noinline int filesum_change(struct task_ctx *c, u32 owner, u32 direct, u32 epoch)
{
	struct iot_filesum_key k = {};
	u64 comm[2];

	if (!c)
		return 0;
	filesum_comm(comm);
	k.file = c->seen.file;
	k.owner = owner;
	filesum_thread(&k, comm, direct);
	if (c->sum.epoch != epoch)
		c->seen.inode = 0; /* a path that did not fit into the ring is sent again */
	c->sum.file = c->seen.file;
	c->sum.owner = owner;
	c->sum.direct = direct;
	c->sum.epoch = epoch;
	c->sum.slot = filesum_find(&k);
	return 0;
}

/* Counts one system call of the current thread on the file in its context. */
static __always_inline void filesum_call(struct task_ctx *c, u32 owner, u8 kind, u8 write,
					 u64 bytes, u32 flags)
{
	struct iot_state *s = run_state();
	u32 direct = flags & FLAG_DIRECT;

	if (!s || !filesum_wanted(owner) ||
	    (c->seen.type != SUB_FT_REG && c->seen.type != SUB_FT_BLK) ||
	    (write == MOVES_NOTHING && !is_sync(kind)))
		return;
	if (c->sum.file != c->seen.file || c->sum.owner != owner || c->sum.direct != direct ||
	    c->sum.epoch != s->sum_epoch)
		filesum_change(c, owner, direct, s->sum_epoch);
	filesum_count(c->sum.slot, kind, write, bytes, flags);
}

/* Counts one operation that another thread began, whose name was kept. */
static __always_inline void filesum_async(const u64 comm[2], u32 file, u8 type, u32 owner, u8 kind,
					  u8 write, u64 bytes, u32 flags)
{
	struct iot_filesum_key k = { .file = file, .owner = owner };

	if (!filesum_wanted(owner) || (type != SUB_FT_REG && type != SUB_FT_BLK) ||
	    (write == MOVES_NOTHING && !is_sync(kind)))
		return;
	filesum_thread(&k, comm, flags & FLAG_DIRECT);
	filesum_count(filesum_find(&k), kind, write, bytes, flags);
}

static __always_inline bool is_file_data(u8 cause)
{
	return cause == CAUSE_DATA || cause == CAUSE_DIRECT || cause == CAUSE_READAHEAD;
}

/* Counts file data that a file system submits. Of writeback the name of the executing thread tells
 * nothing; otherwise the current thread asked for it. *ref: the slot, so that the bytes are counted
 * there when they complete. */
static __always_inline void filesum_submit(struct iot_filesum_ref *ref, u32 file, u32 owner,
					   u8 cause, bool write, u64 bytes)
{
	struct iot_filesum_key k = { .file = file, .owner = owner };
	struct iot_filesum_slot *slot;
	struct iot_filesum *v;
	u64 comm[2];
	u32 n;

	if (!filesum_wanted(owner) || !is_file_data(cause))
		return;
	if (owner && (!write || cause == CAUSE_DIRECT)) {
		filesum_comm(comm);
		filesum_thread(&k, comm, cause == CAUSE_DIRECT);
	}
	n = filesum_find(&k);
	slot = bpf_map_lookup_elem(&filesum_slots, &n);
	v = filesum_here(n);
	if (!slot || !v)
		return;
	ref->slot = n;
	ref->gen = slot->gen;
	sum_add(write ? &v->fs_write_bytes : &v->fs_read_bytes, bytes);
}

/* Counts the same bytes when a device has completed them. The slot is looked up again when it has
 * another user by now, or another owner. */
static __always_inline void filesum_complete(const struct iot_filesum_ref *ref, u32 file, u32 owner,
					     u8 cause, bool write, u64 bytes)
{
	struct iot_filesum_key k = { .file = file, .owner = owner };
	struct iot_filesum_slot *slot;
	struct iot_filesum *v;
	u32 n = ref->slot;

	if (!filesum_wanted(owner) || !is_file_data(cause))
		return;
	slot = bpf_map_lookup_elem(&filesum_slots, &n);
	if (!n || !slot || slot->gen != ref->gen || slot->key.owner != owner ||
	    (slot->key.file && slot->key.file != file))
		n = filesum_find(&k);
	v = filesum_here(n);
	if (v)
		sum_add(write ? &v->dev_write_bytes : &v->dev_read_bytes, bytes);
}

#endif
