/* SPDX-License-Identifier: GPL-3.0-only */
/* owner.bpf.h - the owner that the current task acts for, transactions and their shares, the
 * addresses of functions, and the ids of files. The owner of a dirty page: page_owner.bpf.h.
 */
#ifndef IOT_OWNER_BPF_H
#define IOT_OWNER_BPF_H

#include "call.bpf.h"
#include "event.bpf.h"
#include "file_table.bpf.h"
#include "page_owner.bpf.h"

#define MAPPING_FLAGS 3UL      /* low bits of folio->mapping: anonymous or movable */

struct page_key {
	u64 space, index;      /* page_space(), 64 KiB of the file */
};

/* Owners of the pages of each 64 KiB of a loop device's backing file. A page without an entry has
 * no owner. */
#define COARSE_SHIFT 4         /* log2 of the pages of an entry */
#define COARSE_PAGE(index) (1U << ((index) & ((1U << COARSE_SHIFT) - 1)))
#define LOOP_OWNERS 4          /* owners of an entry: earlier ones are forgotten */

struct loop_marks {
	u64 owner[LOOP_OWNERS];
	u32 pages[LOOP_OWNERS]; /* COARSE_PAGE() of each */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 131072);
	__type(key, struct page_key);
	__type(value, struct loop_marks);
} loop_writer SEC(".maps");

/* Sets the owner of pages of an entry. Two processors may do so at one time. */
static __always_inline void loop_marks_set(struct loop_marks *m, u64 owner, u32 pages)
{
	bool set = false;

	for (u32 n = 0; n < LOOP_OWNERS; n++) {
		if (!set && m->owner[n] == owner) {
			__sync_fetch_and_or(&m->pages[n], pages);
			set = true;
		} else {
			__sync_fetch_and_and(&m->pages[n], ~pages);
		}
	}
	for (u32 n = 0; n < LOOP_OWNERS && !set; n++) {
		if (m->pages[n] && n < LOOP_OWNERS - 1)
			continue;
		m->owner[n] = owner;
		m->pages[n] = pages;
		set = true;
	}
}

/* A journal transaction, and the share of each process: the blocks that it dirtied. The first
 * process is in here, the others are in txn_shares, a list that begins here. */
struct txn {
	u64 id;                /* owner without OWNER_TXN; 0: free */
	u64 total;             /* sum of weights */
	u64 journal_bytes, journal_blocks;
	u64 commit_ns;         /* when its commit began */
	/* head of the list: its position, counted from the end, << 32 | process.id; 0: empty */
	u64 shares;
	u32 top, top_weight;   /* process.id of the largest share */
	u32 first, first_weight;
	u32 ended, pad;        /* 1: committed */
};

/* Transactions are numbered consecutively, and the newest 12288 of a journal are kept: a table with
 * a fixed set for each number costs less than any that is searched. */
#define TXN_SETS 4096
#define TXN_WAYS 4             /* for several journals; one entry is free, and all of it 0 */
#define TXN_FREEING (1ULL << 63)

struct txn_set {
	struct txn way[TXN_WAYS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TXN_SETS);
	__type(key, u32);
	__type(value, struct txn_set);
} txns SEC(".maps");

struct txn_share_key {
	u64 txn;               /* txn.id */
	u32 proc, pad;
};

struct txn_share {
	u64 next;              /* as txn.shares; its position is one less than this one's */
	u32 place, weight;
};

/* The table may evict any entry. Then the list ends early, which is detected: the remaining weights
 * are less than the total. */
#define TXN_SHARES 65536
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, TXN_SHARES);
	__type(key, struct txn_share_key);
	__type(value, struct txn_share);
} txn_shares SEC(".maps");

/* The addresses of the functions of enum iot_function, written by the tracer. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, u64);
	__type(value, u32);
} functions SEC(".maps");

/* A cache of look-ups in map `functions`, by a hash of the address: most functions are not in it,
 * and an array lookup is inlined. A word holds the low 48 bits of the address, the result, and the
 * generation (iot_state.functions). */
#define RECENT_FUNCTIONS 1024
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RECENT_FUNCTIONS);
	__type(key, u32);
	__type(value, u64);
} recent_functions SEC(".maps");

static __always_inline u32 function_of(u64 address)
{
	u32 at = (u32)(address >> 4) * 0x9e3779b1 >> 22, *f, function;
	u64 *recent = bpf_map_lookup_elem(&recent_functions, &at), was, word;
	struct iot_state *s = run_state();

	if (!recent || !s)
		return FN_NONE;
	word = address << 16 | (u8)s->functions;
	was = *(volatile u64 *)recent;
	if ((was & ~0xff00ULL) == word)
		return (u8)(was >> 8);
	f = bpf_map_lookup_elem(&functions, &address);
	function = f ? *f : FN_NONE;
	*(volatile u64 *)recent = word | (u64)(u8)function << 8;
	return function;
}

/* The function of a work item. It is read as a number: the verifier allows no arithmetic on a
 * function pointer. */
static __always_inline u32 work_of(const struct work_struct *w)
{
	return function_of(POINTER_AT(w, struct work_struct, func));
}

/* The inode of a work item that converts extents of it, as a number to add to the address of the
 * item: by enum iot_function. The programs of a file system enter it, which know its types; 0: none
 * has run yet. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 64);
	__type(key, u32);
	__type(value, s64);
} converted_inodes SEC(".maps");

static __always_inline void work_inode_note(u32 function, s64 distance)
{
	s64 *at = bpf_map_lookup_elem(&converted_inodes, &function);

	if (at && *at != distance)
		*at = distance;
}

static __always_inline u64 work_inode(u64 work, u32 function)
{
	s64 *distance = bpf_map_lookup_elem(&converted_inodes, &function);

	return distance && *distance ? work + *distance : 0;
}

static __always_inline u64 txn_owner(u32 dev, u32 tid)
{
	return OWNER_TXN | ((u64)dev << 32 & ~(OWNER_TXN | OWNER_DATA)) | tid;
}

static __always_inline u64 txn_id(u64 owner)
{
	return owner & ~(OWNER_TXN | OWNER_DATA);
}

static __always_inline struct txn_set *txn_set_of(u64 id)
{
	/* low half: number in the journal; high half: the device */
	u32 n = INDEX((u32)id + (u32)(id >> 32) * 0x9e3779b1, TXN_SETS);

	return bpf_map_lookup_elem(&txns, &n);
}

static __always_inline struct txn *txn_in(struct txn_set *s, u64 id)
{
	for (int i = 0; i < TXN_WAYS; i++)
		if (s->way[i].id == id)
			return &s->way[i];
	return NULL;
}

static __always_inline struct txn *txn_find(u64 owner)
{
	u64 id = txn_id(owner);
	struct txn_set *s = txn_set_of(id);

	return s && id ? txn_in(s, id) : NULL;
}

static __always_inline struct txn_share *txn_share_find(u64 txn, u32 proc)
{
	struct txn_share_key k = { .txn = txn, .proc = proc };

	return bpf_map_lookup_elem(&txn_shares, &k);
}

/* The process that stands for an owner in an event: itself, or the largest share of a transaction.
 * With OWNER_LOOP. */
static __always_inline u32 owner_marked(u64 owner)
{
	struct txn *x;

	if (!(owner & OWNER_TXN))
		return owner & ~OWNER_DATA;
	x = txn_find(owner);
	return x ? x->top : PROC_NONE;
}

static __always_inline u32 owner_top(u64 owner)
{
	return owner_marked(owner) & ~OWNER_LOOP;
}

/* The cause of an owner's bytes: below a loop device it is another one than on the device itself.
 * Without jumps: the verifier would follow each combination. */
static __always_inline u8 cause_of(u32 marked, u8 cause)
{
	u8 below = cause == CAUSE_JOURNAL ? CAUSE_LOOP_JOURNAL : cause == CAUSE_METADATA ?
		CAUSE_LOOP_METADATA :
		   cause == CAUSE_LOOP_JOURNAL ||
			   cause == CAUSE_LOOP_METADATA ? cause : CAUSE_LOOPBACK;

	return marked & OWNER_LOOP ? below : cause;
}

/* A number that identifies the pages of an inode, also when another inode has used the same
 * memory. */
static __always_inline u64 page_space(struct inode *i)
{
	return (u64)i + inode_number(i) * 0x9e3779b97f4a7c15ULL + ((u64)inode_generation(i) << 32);
}

static __always_inline u64 loop_mark_at(struct inode *i, u64 index)
{
	struct page_key k = { page_space(i), index >> COARSE_SHIFT };
	struct loop_marks *m = bpf_map_lookup_elem(&loop_writer, &k);

	for (u32 n = 0; m && n < LOOP_OWNERS; n++) {
		if (m->pages[n] & COARSE_PAGE(index))
			return m->owner[n];
	}
	return PROC_NONE;
}

/* The owner of a page that a loop device's worker submits: of its backing file or, with direct I/O,
 * of the file or device above. *how: how that is known. Global: verified once. */
__noinline u64 loop_page_owner(u64 inode, u64 index, u8 *how)
{
	struct inode *i = (struct inode *)inode;
	struct writer *w = i ? writer_find(i) : NULL;
	u64 owner;

	if (!how)
		return PROC_NONE;
	if (!w || !w->loop || cfg.light)
		return page_owner(inode, index, how);
	owner = loop_mark_at(i, index);
	*how = !owner ? HOW_NONE : owner & OWNER_TXN ? HOW_TRANSACTION : HOW_INODE;
	return owner;
}

/* The owner of page `index` of a loop device's backing file, an inode by its address, with
 * OWNER_LOOP; PROC_NONE: it is no such file. Global: verified once. */
__noinline u32 loop_owner(u64 inode, u64 index)
{
	struct inode *i = (struct inode *)inode;
	struct writer *w = i ? writer_find(i) : NULL;

	if (!w || !w->loop)
		return PROC_NONE;
	return owner_top(cfg.light ? w->last : loop_mark_at(i, index)) | OWNER_LOOP;
}

static __always_inline bool is_below_loop(u8 cause)
{
	return IOT_BELOW_LOOP >> (cause & 63) & 1;
}

/* The file of a block device's own inode is the node that it was opened by. Its pages are claimed
 * one by one. */
static __noinline int device_name(struct inode *i, u32 file)
{
	struct writer *w;

	if (!i || !file)
		return 0;
	w = writer_find(i);
	if (!w)
		w = writer_make(i, PROC_NONE, 1);
	if (w)
		w->file = file;
	return 0;
}

/* The owner that the current task acts for, and how that is known; *how is unchanged when the task
 * acts for itself. Global: verified once, and not the rest of each caller once for each of its
 * branches. */
__noinline u64 owner_behalf(struct task_ctx *c, u8 *how)
{
	struct writer *w;

	if (!c || !how)
		return PROC_NONE;
	if (c->behalf == BEHALF_INODE) {
		w = writer_find((struct inode *)c->behalf_id);
		*how = w && w->recent ? HOW_INODE : HOW_NONE;
		return w ? w->recent : PROC_NONE;
	}
	if (c->behalf == BEHALF_LOOP) { /* owner of the request that was issued last */
		w = writer_find((struct inode *)c->behalf_id);
		*how = HOW_INODE;
		return (w ? w->recent : PROC_NONE) | OWNER_LOOP;
	}
	if (c->behalf == BEHALF_TXN || c->behalf == BEHALF_OWNER) {
		*how = HOW_TRANSACTION;
		return c->behalf_id;
	}
	return PROC_NONE;
}

/* The owner of what the current task does, and how it is known: the owner that it acts for, or its
 * process. */
static __always_inline u64 owner_current(struct task_ctx *c, u8 *how)
{
	/* on the stack: `how` may point into an object that another pointer is checked for */
	u8 known = HOW_MAX;
	u64 owner = owner_behalf(c, &known);

	if (known == HOW_MAX) {
		owner = proc_current(c);
		/* without a jump, as above; HOW_NONE is 0 */
		known = is_negative(owner | -owner) * HOW_EXACT;
	}
	*how = known;
	return owner;
}

_Static_assert(HOW_NONE == 0, "what nobody owns is known by nothing");

#define BLOCK_BITS_MAX 16

/* The block size of an inode: the unit that is dirtied and written back. Blocks larger than pages
 * (since 6.12) exist only with a block device: the block size of network file systems and FUSE is a
 * hint. */
static __always_inline u32 inode_block(struct inode *i)
{
	u8 bits = NUMBER_AT(i, struct inode, i_blkbits);

	if (bits < 9 || bits > BLOCK_BITS_MAX)
		return PAGE_SIZE;
	return bits <= PAGE_SHIFT ||
	       POINTER_AT(POINTER_AT(i, struct inode, i_sb), struct super_block, s_bdev) ?
	       1U << bits : PAGE_SIZE;
}

/* Reports which file has an id. Its name may be known from an earlier id, or never. */
static __always_inline void file_report(const struct file_key *k, u32 id, struct inode *i)
{
	struct iot_path *p = bpf_ringbuf_reserve(&ring, offsetof(struct iot_path, buf), 0);

	if (!p) {
		lose(LOSS_EVENT_OTHER);
		return;
	}
	__builtin_memset(p, 0, offsetof(struct iot_path, buf));
	p->type = RING_PATH;
	p->file = id;
	p->dev = k->dev;
	p->gen = k->gen;
	p->ino = k->ino;
	p->block = inode_block(i);
	bpf_ringbuf_submit(p, BPF_RB_NO_WAKEUP);
}

/* The address of an inode as a number, which a pointer argument of a program cannot become. */
static __always_inline u64 inode_itself(struct inode *i)
{
	return POINTER_AT(POINTER_AT(i, struct inode, i_mapping), struct address_space, host);
}

static __always_inline void file_key_of(struct file_key *k, struct inode *i)
{
	k->dev = inode_dev(i);
	k->ino = inode_number(i);
	k->gen = inode_generation(i);
}

/* The id of a file that has one; 0: it has none. */
static __always_inline u32 file_known_at(u64 inode)
{
	struct file_key k = {};
	struct file_entry *e;

	file_key_of(&k, (struct inode *)inode);
	e = bpf_map_lookup_elem(&files, &k);
	return e ? e->id : 0;
}

/* The id of a file, made at first sight, and reported then unless the caller does; 0 when the table
 * is full. A file that was not used for long gets another id when it is used again. Takes a struct
 * inode by its address. Global: verified once. */
__noinline u32 file_number_at(u64 inode, u32 tell)
{
	struct inode *i = (struct inode *)inode;
	struct iot_state *s = run_state();
	struct file_entry e = {}, *old;
	struct file_key k = {};

	if (!s || !i)
		return 0;
	file_key_of(&k, i);
	old = bpf_map_lookup_elem(&files, &k);
	if (old)
		return old->id;
	e.id = NEXT_NUMBER(s, next_file) + 1;
	if (bpf_map_update_elem(&files, &k, &e, BPF_NOEXIST)) {
		old = bpf_map_lookup_elem(&files, &k);
		if (old)
			return old->id;
		lose(LOSS_FILE_TABLE);
		return 0;
	}
	if (tell && cfg.events)
		file_report(&k, e.id, i);
	return e.id;
}

static __always_inline u32 file_number_of(struct inode *i, bool tell)
{
	return file_number_at((u64)i, tell);
}

static __always_inline u32 file_number(struct inode *i)
{
	return file_number_of(i, true);
}

static __always_inline u32 block_bytes(struct file *f)
{
	return inode_block(data_inode(f));
}

/* Bytes of the blocks that a write touches. */
static __always_inline u64 blocks_of(u64 offset, u64 bytes, u64 block)
{
	return ((offset + bytes + block - 1) & -block) - (offset & -block);
}

/* The head of the folio that a page belongs to. */
static __always_inline struct folio *page_folio(struct page *p)
{
	u64 head, inverse;

	if (HAS_COMPOUND_HEAD)
		head = POINTER_AT(p, struct page, compound_head); /* a union with list pointers */
	else
		head = BPF_CORE_READ((struct page___info *)p, compound_info);
	if (!(head & 1))
		return (struct folio *)p;
	inverse = ~(head - 1);
	if (!(inverse & (inverse + 1))) /* a mask, since 7.1 */
		return (struct folio *)((u64)p & head);
	return (struct folio *)(head - 1);
}

/* The number of pages of a folio. */
static __always_inline u64 folio_pages(struct folio *f)
{
	u64 flags = pointer_at((u64)f); /* flags are the first word of every page */

	if (!(flags >> bpf_core_enum_value(enum pageflags___iot, PG_head___iot) & 1))
		return 1;
	if (HAS_FOLIO_NR_PAGES)
		return NUMBER_AT(f, struct folio, _nr_pages);
	return BPF_CORE_READ((struct folio___old_nr *)f, _folio_nr_pages);
}

/* The inode of a folio; NULL: anonymous, or without a mapping. */
static __always_inline struct inode *folio_inode(struct folio *f)
{
	u64 m = POINTER_AT(f, struct folio, mapping);

	if (!m || m & MAPPING_FLAGS)
		return NULL;
	return (struct inode *)POINTER_AT(m, struct address_space, host);
}

#endif
