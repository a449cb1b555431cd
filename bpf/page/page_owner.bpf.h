/* SPDX-License-Identifier: GPL-3.0-only */
/* page_owner.bpf.h - the owner of a dirty page.
 *
 * A file with a single writer costs one look-up: all its pages have that owner. From the second
 * writer on, ranges are claimed in a tree of aligned spans (1, 8, 64, ... pages). Each claim has a
 * stamp that rises, and the newest claim that covers a page determines its owner: a claim costs the
 * same few steps however long its range is. Pages that were dirty before the run, that a kernel
 * thread dirtied, or that did not fit into the tables have no owner: never the first writer, never
 * the last known one.
 *
 * Entries are made when pages are dirtied, and are removed when they are clean again
 * (cache__sweep).
 *
 * With --light there are no claims. The owner of all dirty pages of a file is the process that
 * dirtied any of it last, and `many` marks the file where another one did so before, since the file
 * was clean: its bytes have HOW_FILE.
 */
#ifndef IOT_PAGE_OWNER_BPF_H
#define IOT_PAGE_OWNER_BPF_H

#include "task.bpf.h"

/* Bit 62 of a page's owner: the page holds file contents on a block device, not a structure of a
 * file system. */
#define OWNER_DATA (1ULL << 62)

struct writer {
	u64 ino;
	u32 gen, dev;
	u32 first;             /* process.id of the first writer; 0: not known */
	u32 many;              /* 1: several writers: claims are looked up */
	u32 file;              /* file.id; 0: none yet */
	u32 loop;              /* 1: backing file of a loop device */
	u64 space;             /* identifies its claims */
	u64 stamp;             /* stamp of the newest claim */
	/* stamp of the newest claim that did not fit: older ones may be wrong */
	u64 lost;
	u32 levels;            /* bit n: there are claims of 8^n pages */
	/* bit n: regions with number n modulo 64 have claims smaller than a region */
	u64 fine;
	u32 user;              /* the user whose share of the tables it takes: index in `users` */
	u32 second;            /* iot_state.second at the last claim */
	u32 recent;            /* process.id of the last claim */
	u32 wanted, pad;       /* 1: a claim was of a selected process */
	/* when bytes of it were submitted last; end of the highest range that was submitted */
	u64 carried_ns, submitted_to;
	u64 last;              /* --light: the owner that dirtied any of it last */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IOT_MAX_WRITERS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u64);      /* inode */
	__type(value, struct writer);
} writers SEC(".maps");

struct claim_key {
	u64 space;
	u64 at;                /* level << LEVEL_SHIFT | page >> 3 * level */
};

struct claim {
	u64 owner, stamp;
	u64 inode;
	u32 user;              /* index in `users` */
	u16 carried;           /* 1: the page is under writeback, and was not claimed since */
	u16 second;            /* iot_state.second when it was claimed or submitted, low bits */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IOT_MAX_CLAIMS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct claim_key);
	__type(value, struct claim);
} claims SEC(".maps");

/* The share of each user in both tables, so that no user takes what others need. */
#define USER_SLOTS 1024
struct user_share {
	s64 writers, claims;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, USER_SLOTS);
	__type(key, u32);
	__type(value, struct user_share);
} users SEC(".maps");

#define LEVELS 9               /* 8^8 pages: 64 GiB */
#define LEVEL_SHIFT 56
/* 8^3 pages, 2 MiB: without smaller claims all its pages have one owner */
#define REGION_LEVEL 3
#define REGION_PAGES (1ULL << 3 * REGION_LEVEL)
#define ALIKE_PAGES (1ULL << 20) /* pages that are treated as one, in a file with a single writer */

static __always_inline u64 region_of(u64 page)
{
	return page >> 3 * REGION_LEVEL & 63;
}

static __always_inline struct user_share *user_of(u32 slot)
{
	return bpf_map_lookup_elem(&users, &slot);
}

static __always_inline u32 user_slot(void)
{
	return INDEX((u32)bpf_get_current_uid_gid(), USER_SLOTS);
}

/* A user takes no more than is left for all others. */
static __always_inline bool has_room(s64 mine, s64 used, s64 max)
{
	return mine < max - used;
}

static __always_inline bool is_same_inode(const struct writer *w, struct inode *i)
{
	return w->ino == inode_number(i) && w->gen == inode_generation(i) && w->dev == inode_dev(i);
}

static __always_inline struct writer *writer_find(struct inode *i)
{
	u64 k = (u64)i;
	struct writer *w = bpf_map_lookup_elem(&writers, &k);

	/* the memory of an inode is reused for another file */
	return w && is_same_inode(w, i) ? w : NULL;
}

/* True when any page of the file is dirty or under writeback: the marks of its page cache as a
 * whole. Their position in xa_flags follows the number of allocation flags (25 to 28); the bits
 * below are flags that this tree does not have. */
static __always_inline bool is_dirty(struct inode *i)
{
	u64 m = POINTER_AT(i, struct inode, i_mapping);

	return NUMBER_AT(m + bpf_core_field_offset(struct address_space, i_pages), struct xarray,
			 xa_flags) >> 24;
}

/* Makes the entry of an inode. first: 0 when its dirty pages have no single known owner. NULL:
 * there is no room. */
static __always_inline struct writer *writer_enter(struct inode *i, u32 first, u32 many)
{
	struct iot_state *s = run_state();
	struct writer *old, new = {};
	struct user_share *u;
	u64 k = (u64)i;

	if (!i || !s)
		return NULL;
	new.user = user_slot();
	u = user_of(new.user);
	if (!u)
		return NULL;
	new.ino = inode_number(i);
	new.gen = inode_generation(i);
	new.dev = inode_dev(i);
	new.first = first;
	new.many = many;
	new.second = s->second;
	new.space = __sync_fetch_and_add(&s->next_space, 1) + 1;
	old = bpf_map_lookup_elem(&writers, &k);
	if (old) { /* the inode that was there before is gone: its claims have another space */
		new.user = old->user;
		*old = new;
		__sync_fetch_and_add(&s->sole_epoch, 1);
		return old;
	}
	if (!has_room(u->writers, s->writers, cfg.max_writers) ||
	    bpf_map_update_elem(&writers, &k, &new, BPF_NOEXIST)) {
		return bpf_map_lookup_elem(&writers, &k);
	}
	__sync_fetch_and_add(&u->writers, 1);
	__sync_fetch_and_add(&s->writers, 1);
	return bpf_map_lookup_elem(&writers, &k);
}

/* As writer_enter(), out of line, for callers with little stack left. */
static __noinline struct writer *writer_make(struct inode *i, u32 first, u32 many)
{
	struct writer *w = writer_enter(i, first, many);

	if (!w)
		lose(LOSS_INODE_TABLE);
	return w;
}

/* Removes the entry of an inode that is gone, or clean. */
static __always_inline void writer_drop(u64 inode)
{
	struct writer *w = bpf_map_lookup_elem(&writers, &inode);
	struct iot_state *s = run_state();
	struct user_share *u = w ? user_of(w->user) : NULL;

	if (!w || !s || !u || bpf_map_delete_elem(&writers, &inode))
		return;
	__sync_fetch_and_add(&s->sole_epoch, 1);
	__sync_fetch_and_add(&u->writers, -1);
	__sync_fetch_and_add(&s->writers, -1);
}

/* A claim that is being inserted. */
struct claiming {
	struct claim_key key;
	struct claim claim;
	u64 page, last;        /* the rest of the range: first and last page */
	u64 fine;
	u32 levels, lost;
};

/* Inserts one span. Returns false when there is no room. */
static __always_inline bool span_put(const struct claim_key *k, const struct claim *c)
{
	struct claim *old = bpf_map_lookup_elem(&claims, k);
	struct iot_state *s = run_state();
	struct user_share *u;

	if (old) {
		old->owner = c->owner;
		old->stamp = c->stamp;
		old->carried = 0;
		old->second = c->second;
		return true;
	}
	u = user_of(c->user);
	if (!u || !s || !has_room(u->claims, s->claims, cfg.max_claims) ||
	    bpf_map_update_elem(&claims, k, c, BPF_ANY))
		return false;
	__sync_fetch_and_add(&u->claims, 1);
	__sync_fetch_and_add(&s->claims, 1);
	return true;
}

/* Inserts the largest span that begins at c->page and ends inside the range. */
static long page_owner_set_span(u32 n, struct claiming *c)
{
	u64 level = 0, span = 1;

	if (c->page > c->last)
		return 1;
	for (int l = 1; l < LEVELS; l++) {
		if (c->page & (span * 8 - 1) || c->page + span * 8 - 1 > c->last)
			break;
		span *= 8;
		level = l;
	}
	c->key.at = level << LEVEL_SHIFT | c->page >> 3 * level;
	/* without a branch, which would double the verifier's work */
	c->fine |= is_negative(span - REGION_PAGES) << region_of(c->page);
	if (span_put(&c->key, &c->claim))
		c->levels |= 1U << level;
	else
		c->lost = 1;
	c->page += span;
	return 0;
}

/* Sets the owner of a page that has a claim of its own; false: it has none. */
static __always_inline bool claim_renew(struct writer *w, u64 page, u64 owner)
{
	struct claim_key k = { .space = w->space, .at = page };
	struct claim *c = bpf_map_lookup_elem(&claims, &k);
	struct iot_state *s = run_state();

	if (!c || !s)
		return false;
	c->owner = owner;
	c->stamp = __sync_fetch_and_add(&w->stamp, 1) + 1;
	c->carried = 0;
	c->second = s->second;
	return true;
}

/* Sets the owner of pages first .. last. */
static __always_inline int page_owner_set_pages(struct writer *w, u64 inode, u64 first, u64 last,
						u64 owner)
{
	struct iot_state *s = run_state();
	struct claiming c = {};

	if (!w || !s)
		return 0;
	c.key.space = w->space;
	c.page = first;
	c.last = last;
	c.claim.owner = owner;
	c.claim.inode = inode;
	c.claim.user = user_slot();
	c.claim.second = s->second;
	c.claim.stamp = __sync_fetch_and_add(&w->stamp, 1) + 1;
	if (first == last) { /* the usual case needs no loop */
		c.key.at = first;
		c.fine = 1ULL << region_of(first);
		if (span_put(&c.key, &c.claim))
			c.levels = 1;
		else
			c.lost = 1;
	} else {
		bpf_loop(2 * 7 * LEVELS, page_owner_set_span, &c, 0);
		c.lost |= c.page <= c.last;
	}
	if (c.levels & ~w->levels)
		__sync_fetch_and_or(&w->levels, c.levels);
	if (c.fine & ~w->fine)
		__sync_fetch_and_or(&w->fine, c.fine);
	if (c.lost) {
		w->lost = c.claim.stamp;
		if (owner != PROC_OTHER || w->first != PROC_OTHER)
			lose(LOSS_PAGE_TABLE);
	}
	return 0;
}

/* True when a file has several shared mappings that may be stored to. */
static __always_inline bool is_mapped_often(struct inode *i)
{
	return (s32)NUMBER_AT(POINTER_AT(i, struct inode, i_mapping), struct address_space,
			      i_mmap_writable.counter) > 1;
}

/* --light: the owner of the dirty pages of a file; *how: how that is known. A store through a
 * mapping to a page that is dirty already is not seen: where several processes may do that, any of
 * them may be the last writer. */
static __always_inline u64 file_owner(struct inode *i, const struct writer *w, u8 *how)
{
	*how = !w->last ? HOW_NONE : w->many || is_mapped_often(i) ? HOW_FILE :
		w->last & OWNER_TXN ? HOW_TRANSACTION : HOW_INODE;
	return w->last;
}

/* --light: `owner` dirtied any of a file. 0: nobody who is known; of a file that is dirty already
 * the owner before stays. clean: as in page_owner_set(). */
static __always_inline int file_owner_set(struct iot_state *s, struct writer *w, u64 owner,
					  u32 clean)
{
	u64 before;

	if (w->second != s->second)
		w->second = s->second;
	if ((clean || w->last != owner) && w->many != !clean)
		w->many = !clean;
	if (w->last == owner || (!owner && !clean))
		return 0;
	before = w->last;
	w->last = owner;
	w->first = w->recent = owner >> 32 ? PROC_NONE : owner;
	if (before) /* else no thread has learned that it is the single writer */
		__sync_fetch_and_add(&s->sole_epoch, 1);
	return 0;
}

/* Sets the owner of the pages of bytes [off, off + len) of an inode, which are dirty; owner 0:
 * none. clean: nothing of the inode was dirty before. Global, as the others that take an inode by
 * its address: verified once. */
__noinline int page_owner_set(u64 inode, u64 off, u64 len, u64 owner, u32 clean)
{
	struct inode *i = (struct inode *)inode;
	struct iot_state *s = run_state();
	u64 first, last;
	struct writer *w;

	if (!i || !len || !s)
		return 0;
	w = writer_find(i);
	if (!w) {
		clean = clean && (cfg.light || !(owner >> 32));
		w = writer_enter(i, clean && !cfg.light ? owner : PROC_NONE, !clean);
		if (!w) {
			if (owner != PROC_OTHER) /* of an excluded process it is no loss */
				lose(LOSS_INODE_TABLE);
			return 0;
		}
	}
	if (cfg.light)
		return file_owner_set(s, w, owner, clean);
	if (w->second != s->second)
		w->second = s->second;
	if (w->recent != (u32)owner && !(owner >> 32)) {
		w->recent = owner;
		w->wanted |= owner >= PROC_FIRST;
	}
	if (!w->many && w->first == owner && owner)
		return 0;
	if (!w->many) {
		w->many = 1;
		__sync_fetch_and_add(&s->sole_epoch, 1);
	}
	first = off >> PAGE_SHIFT;
	last = (off + len - 1) >> PAGE_SHIFT;
	if (first == last && w->levels & 1 && w->fine >> region_of(first) & 1 &&
	    claim_renew(w, first, owner))
		return 0;
	return page_owner_set_pages(w, inode, first, last, owner);
}

/* Process `proc` overwrote bytes [off, off + len) of a file, which are dirty already: for callers
 * that do not see the pages being dirtied. */
__noinline int page_owner_overwrite(u64 inode, u64 off, u64 len, u32 proc)
{
	struct inode *i = (struct inode *)inode;

	if (i && len && (writer_find(i) || is_dirty(i)))
		page_owner_set(inode, off, len, proc, false);
	return 0;
}

/* The process that dirtied page `index` of an inode last; *how: how that is known. */
__noinline u64 page_owner(u64 inode, u64 index, u8 *how)
{
	struct inode *i = (struct inode *)inode;
	struct writer *w;
	struct claim_key k;
	struct claim *c;
	u64 owner, stamp;

	if (!i || !how)
		return PROC_NONE;
	w = writer_find(i);
	*how = HOW_NONE;
	if (!w)
		return PROC_NONE;
	if (cfg.light)
		return file_owner(i, w, how);
	stamp = w->lost;
	owner = stamp ? PROC_NONE : w->first;
	if (owner)
		*how = HOW_INODE;
	if (!w->many)
		return owner;
	k.space = w->space;
	for (u64 l = 0; l < LEVELS; l++) {
		if (!(w->levels >> l & 1))
			continue;
		k.at = l << LEVEL_SHIFT | index >> 3 * l;
		c = bpf_map_lookup_elem(&claims, &k);
		if (!c || c->stamp <= stamp)
			continue;
		stamp = c->stamp;
		owner = c->owner;
		*how = owner & OWNER_TXN ? HOW_TRANSACTION : owner ? HOW_EXACT : HOW_NONE;
	}
	return owner;
}

/* The number of pages from page `index` on that surely have its owner. */
__noinline u64 same_owner_pages(u64 inode, u64 index)
{
	struct writer *w = inode ? writer_find((struct inode *)inode) : NULL;

	if (!w || !w->many || cfg.light)
		return ALIKE_PAGES;
	return w->fine >> region_of(index) & 1 ? 1 : REGION_PAGES - (index & (REGION_PAGES - 1));
}

/* Notes that a page is submitted. Its entry can be removed some seconds later when it is not
 * claimed again; until then it is looked up once more, at completion. Returns true when a selected
 * process has dirtied any of its file. */
static __always_inline bool page_submitted(struct inode *i, u64 index)
{
	struct iot_state *s = run_state();
	struct writer *w = writer_find(i);
	struct claim_key k = {};
	struct claim *c;

	if (!w)
		return false;
	if (!(w->levels & 1))
		return w->wanted;
	k.space = w->space;
	k.at = index;
	c = bpf_map_lookup_elem(&claims, &k);
	if (c && s) {
		c->second = s->second;
		c->carried = 1;
	}
	return w->wanted;
}

/* Notes that data of a file, up to byte `to`, are submitted. A program that dirties sees that, or
 * is seen by what follows: the exchange is a barrier. Returns the time; 0: not known. */
static __always_inline u64 submission_begins(u64 inode, u64 to)
{
	struct writer *w = inode ? writer_find((struct inode *)inode) : NULL;
	struct iot_state *s = run_state();
	u64 now;

	if (!s)
		return 0;
	now = bpf_ktime_get_ns();
	if (w) {
		w->carried_ns = now;
		if (w->submitted_to < to)
			w->submitted_to = to;
	}
	__sync_lock_test_and_set(&s->carried_ns, now);
	return now;
}

#endif
