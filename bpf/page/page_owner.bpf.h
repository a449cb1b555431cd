/* SPDX-License-Identifier: GPL-3.0-only */
/* page_owner.bpf.h - whose a dirty page is.
 *
 * A file that one process dirties costs one look-up: all its pages are that process's. From its second writer on, ranges are
 * claimed in a tree of aligned spans (1, 8, 64, ... pages), each with a stamp that rises: the newest claim that covers a page
 * says whose it is, so that a claim costs the same few steps however long its range is. What was dirty before the run, what a
 * kernel thread wrote, and what did not fit into the tables is nobody's: never the first writer's, never the last known one's.
 *
 * Entries are made when something goes dirty and are thrown away when it is clean again (cache__sweep).
 */
#ifndef IOT_CLAIM_BPF_H
#define IOT_CLAIM_BPF_H

#include "task.bpf.h"

/* Bit 62 of a page's owner: file contents on a block device, not a structure of a file system. */
#define OWNER_DATA (1ULL << 62)

struct writer {
	u64 ino;
	u32 gen, dev;
	u32 first;             /* process.id of who dirtied it first; 0 nobody that is known */
	u32 many;              /* 1: claims are looked up */
	u32 file;              /* file.id, 0 none yet */
	u32 loop;              /* 1: backing file of a loop device */
	u64 space;             /* tells its claims from those of every other writer */
	u64 stamp;             /* of the newest claim */
	u64 lost;              /* newest claim for which there was no room: what is older may not be true any more */
	u32 levels;            /* bit n: there are claims of 8^n pages */
	u64 fine;              /* bit n: there are claims of less than a region in those whose number ends so */
	u32 user;              /* whose share of the tables it takes: slot in `users` */
	u32 second;            /* iot_state.second when it was claimed last */
	u32 recent;            /* process.id of who claimed last */
	u32 wanted, pad;       /* 1: one of those who claimed is traced */
	u64 carried_ns, submitted_to; /* when bytes of it were submitted last; the end of the last of all that were */
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
	u32 user;              /* slot in `users` */
	u16 carried;           /* 1: the page is on its way to the device, and was not claimed since */
	u16 second;            /* iot_state.second when it was claimed or carried, its low bits */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IOT_MAX_CLAIMS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct claim_key);
	__type(value, struct claim);
} claims SEC(".maps");

/* What each user takes of both tables, so that nobody takes what others need. */
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
#define REGION_LEVEL 3         /* 8^3 pages, 2 MiB: where no claim is smaller, all pages have one owner */
#define REGION_PAGES (1ULL << 3 * REGION_LEVEL)
#define ALIKE_PAGES (1ULL << 20) /* looked at as one, of a file with one writer */

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

/* Nobody takes more than is left for all others. */
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

	/* the memory of an inode is used again for another file */
	return w && is_same_inode(w, i) ? w : NULL;
}

/* Anything of the file is dirty or under writeback: the marks of its page cache as a whole. Their place in the word follows the
 * number of allocation flags (25 to 28); below are flags that this tree does not have. */
static __always_inline bool is_dirty(struct inode *i)
{
	u64 m = POINTER_AT(i, struct inode, i_mapping);

	return NUMBER_AT(m + bpf_core_field_offset(struct address_space, i_pages), struct xarray, xa_flags) >> 24;
}

/* Makes the entry of an inode. first: 0 where what is dirty in it has no single owner that is known. NULL: there is no room. */
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
	if (old) { /* the inode that was there before is gone: its claims are of another space */
		new.user = old->user;
		*old = new;
		__sync_fetch_and_add(&s->sole_epoch, 1);
		return old;
	}
	if (!has_room(u->writers, s->writers, cfg.max_writers) || bpf_map_update_elem(&writers, &k, &new, BPF_NOEXIST)) {
		return bpf_map_lookup_elem(&writers, &k);
	}
	__sync_fetch_and_add(&u->writers, 1);
	__sync_fetch_and_add(&s->writers, 1);
	return bpf_map_lookup_elem(&writers, &k);
}

/* The same, out of line: for those who have little room on the stack. */
static __noinline struct writer *writer_make(struct inode *i, u32 first, u32 many)
{
	struct writer *w = writer_enter(i, first, many);

	if (!w)
		lose(LOSS_INODE_TABLE);
	return w;
}

/* The inode is gone, or nothing of it is dirty. */
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

/* One claim on its way into the table. */
struct claiming {
	struct claim_key key;
	struct claim claim;
	u64 page, last;        /* what is left of the range, in pages, the last one included */
	u64 fine;
	u32 levels, lost;
};

/* Puts one span into the table. Returns false when there is no room. */
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
	if (!u || !s || !has_room(u->claims, s->claims, cfg.max_claims) || bpf_map_update_elem(&claims, k, c, BPF_ANY))
		return false;
	__sync_fetch_and_add(&u->claims, 1);
	__sync_fetch_and_add(&s->claims, 1);
	return true;
}

/* The largest span that begins at the page and ends inside the range. */
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
	c->fine |= is_negative(span - REGION_PAGES) << region_of(c->page); /* a branch would double what the verifier looks at */
	if (span_put(&c->key, &c->claim))
		c->levels |= 1U << level;
	else
		c->lost = 1;
	c->page += span;
	return 0;
}

/* Pages first .. last of the writer are the owner's from now. */
static __always_inline int page_owner_set_pages(struct writer *w, u64 inode, u64 first, u64 last, u64 owner)
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

/* The pages that bytes [off, off + len) of an inode lie on are dirty, and the owner's (0: nobody's) from now. clean: nothing of
 * the inode was dirty before. Global, like the others that take an inode by its address: the verifier looks at them once. */
__noinline int page_owner_set(u64 inode, u64 off, u64 len, u64 owner, u32 clean)
{
	struct inode *i = (struct inode *)inode;
	struct iot_state *s = run_state();
	struct writer *w;

	if (!i || !len || !s)
		return 0;
	w = writer_find(i);
	if (!w) {
		clean = clean && !(owner >> 32);
		w = writer_enter(i, clean ? owner : PROC_NONE, !clean);
		if (!w) {
			if (owner != PROC_OTHER) /* what is a stranger's is no loss */
				lose(LOSS_INODE_TABLE);
			return 0;
		}
	}
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
	return page_owner_set_pages(w, inode, off >> PAGE_SHIFT, (off + len - 1) >> PAGE_SHIFT, owner);
}

/* Process `proc` wrote bytes [off, off + len) of a file, which are dirty already: for those who do not see the pages turn dirty. */
__noinline int page_owner_overwrite(u64 inode, u64 off, u64 len, u32 proc)
{
	struct inode *i = (struct inode *)inode;

	if (i && len && (writer_find(i) || is_dirty(i)))
		page_owner_set(inode, off, len, proc, false);
	return 0;
}

/* Who dirtied page `index` of an inode last; *how says how that is known. */
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

/* How many pages from page `index` of an inode on have its owner for sure. */
__noinline u64 same_owner_pages(u64 inode, u64 index)
{
	struct writer *w = inode ? writer_find((struct inode *)inode) : NULL;

	if (!w || !w->many)
		return ALIKE_PAGES;
	return w->fine >> region_of(index) & 1 ? 1 : REGION_PAGES - (index & (REGION_PAGES - 1));
}

/* The page is on its way to the device: its entry can be thrown away some seconds from now when it is not claimed again; until then it
 * is asked once more whose the page is, when it has arrived. Returns true when somebody who
 * is traced has dirtied any of its file. */
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

/* Data of a file, up to byte `to`, are on their way from now. Who makes something dirty sees that, or is seen by what follows: the exchange is a
 * barrier. Returns the time; 0: not known. */
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
