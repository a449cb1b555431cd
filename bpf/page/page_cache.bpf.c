// SPDX-License-Identifier: GPL-3.0-only
/* page_cache.bpf.c - the life of cached pages: who brought them in, what made them dirty, why they
 * were removed, and the faults that looked for them. Attached only where layer cache is traced
 * whole. Hits, misses and readahead are seen by the programs of calls and of bios.
 */
#include "cache_event.bpf.h"
#include "file.bpf.h"
#include "folio.bpf.h"
#include "program_copies.bpf.h"
#include "readahead.bpf.h"
#include "task_op.bpf.h"
#include "vm_area.bpf.h"

/* ---- who brought pages in ---- */

#define SPAN_PAGES (1 << CACHE_SPAN_SHIFT)
#define SPAN_OWNERS 2          /* owners of a span that are kept; pages of others have none */
#define FOLIO_SPANS 8          /* spans of the largest folio, 2 MiB */

struct span_key {
	u64 space, span;       /* page_space(), page index / SPAN_PAGES */
};

/* The processes that inserted the pages of a span during the run, as the control group of a page is
 * that of the process which inserted it. An entry that was evicted leaves pages without owner. */
struct span {
	u64 pages[SPAN_OWNERS]; /* a bit for each page that the owner inserted */
	u32 owner[SPAN_OWNERS];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct span_key);
	__type(value, struct span);
} spans SEC(".maps");

/* The pages of a folio that are in its nth span, as bits. */
static __always_inline u64 span_bits(u64 index, u64 pages, u32 n)
{
	u64 begin = ((index >> CACHE_SPAN_SHIFT) + n) << CACHE_SPAN_SHIFT, end = begin + SPAN_PAGES;
	u64 from = index > begin ? index - begin : 0;
	u64 to = index + pages < end ? index + pages - begin : SPAN_PAGES;

	if (begin >= index + pages || from >= to)
		return 0;
	return (to - from == SPAN_PAGES ? ~0ULL : (1ULL << (to - from)) - 1) << from;
}

static __always_inline void span_add(const struct span_key *k, u64 bits, u32 owner)
{
	struct span *s = bpf_map_lookup_elem(&spans, k), new = {};
	bool set = false;

	if (!s) {
		new.pages[0] = bits;
		new.owner[0] = owner;
		if (!bpf_map_update_elem(&spans, k, &new, BPF_NOEXIST))
			return;
		s = bpf_map_lookup_elem(&spans, k);
		if (!s)
			return;
	}
	for (u32 n = 0; n < SPAN_OWNERS; n++) {
		if (!set && (s->owner[n] == owner || !s->pages[n])) {
			s->owner[n] = owner;
			__sync_fetch_and_or(&s->pages[n], bits);
			set = true;
		} else {
			__sync_fetch_and_and(&s->pages[n], ~bits);
		}
	}
}

struct span_walk {
	struct span_key key;
	u64 index, pages;
	u32 owner;
};

static long span_step(u32 n, struct span_walk *w)
{
	u64 bits = span_bits(w->index, w->pages, n);

	if (!bits)
		return 1;
	w->key.span = (w->index >> CACHE_SPAN_SHIFT) + n;
	span_add(&w->key, bits, w->owner);
	return 0;
}

/* The process that inserted a page; PROC_NONE: not known. A folio was inserted as one. */
static __always_inline u32 page_inserter(struct inode *i, u64 index)
{
	struct span_key k = { page_space(i), index >> CACHE_SPAN_SHIFT };
	struct span *s = bpf_map_lookup_elem(&spans, &k);

	for (u32 n = 0; s && n < SPAN_OWNERS; n++)
		if (s->pages[n] >> (index & (SPAN_PAGES - 1)) & 1)
			return s->owner[n];
	return PROC_NONE;
}

/* True for pages of files and of block devices that are open as such; not for the blocks of trees
 * of btrfs, nor for directories. */
static __always_inline bool is_cached_data(struct inode *i)
{
	return i && is_storage_mode(inode_mode(i)) &&
	       !(inode_number(i) == BTRFS_TREES_INODE && is_on(i, BTRFS_MAGIC));
}

static __always_inline struct inode *data_of(struct folio *f)
{
	struct inode *i = f && gate_open() ? folio_inode(f) : NULL;

	return is_cached_data(i) ? i : NULL;
}

SEC("tp_btf/mm_filemap_add_to_page_cache")
int PROBE(pagecache__added, struct folio *f)
{
	struct inode *i = data_of(f);
	struct span_walk w = {};
	struct task_ctx *c;
	u64 owner;
	u8 how;

	if (!i)
		return 0;
	c = ctx_make();
	if (!c)
		return 0;
	owner = owner_current(c, &how);
	w.owner = owner_top(owner);
	w.key.space = page_space(i);
	w.index = NUMBER_AT(f, struct folio, index);
	w.pages = folio_pages(f);
	bpf_loop(FOLIO_SPANS + 1, span_step, &w, 0);
	return 0;
}

/* ---- dirty ---- */

SEC("tp_btf/writeback_dirty_folio")
int PROBE(pagecache__dirtied, struct folio *f, struct address_space *m)
{
	struct inode *i = data_of(f);
	struct cache_op o = { .uncounted = 1 };
	struct task_ctx *c;
	u8 how;

	if (!i || is_blockdev(i))
		return 0;
	c = ctx_make();
	if (!c || c->behalf == BEHALF_LOOP || is_put_back(c, task_op_now(current_task()), i))
		return 0; /* not counted either (folio_dirty() in cache.bpf.c) */
	o.key.owner = owner_top(owner_current(c, &how));
	o.key.how = how;
	o.key.dev = inode_dev(i);
	o.key.kind = KIND_DIRTY;
	o.key.sub = SUB_FT_REG;
	o.inode = (u64)i;
	o.index = NUMBER_AT(f, struct folio, index);
	o.pages = folio_pages(f);
	return cache_record(&o);
}

/* ---- removal ---- */

#define NAME_DROP_CACHES 0x6361635f706f7264 /* "drop_cac", of no other file of /proc */

/* True for /proc/sys/vm/drop_caches. */
static __always_inline bool is_drop_caches(struct file *f)
{
	u64 name, eight = 0;

	if (!f || !is_on((struct inode *)POINTER_AT(f, struct file, f_inode), PROC_SUPER_MAGIC))
		return false;
	name = POINTER_AT(POINTER_AT(f, struct file, f_path.dentry), struct dentry, d_name.name);
	bpf_probe_read_kernel(&eight, sizeof(eight), (void *)name);
	return eight == NAME_DROP_CACHES;
}

/* The reason that the call in progress gives for a removal; KIND_NONE: none. A reading call removes
 * pages when it was told to keep none (RWF_DONTCACHE). */
static __noinline u32 removal_by_call(void)
{
	const struct pt_regs *regs = current_regs();
	const volatile struct iot_syscall *row;

	if (!regs_in_call(regs) || regs_nr(regs) >= IOT_MAX_SYSCALL)
		return KIND_NONE;
	row = call_row(regs_nr(regs));
	if (row->shape == SHAPE_ADVISE)
		return KIND_DROP;
	if (writes_simply(row))
		return is_drop_caches(file_of(regs_arg0(regs))) ? KIND_DROP : KIND_INVALIDATE;
	if (row->kind >= KIND_READ && row->kind <= KIND_PREADV)
		return KIND_DROP;
	switch (row->kind) {
	case KIND_TRUNCATE:
	case KIND_OPEN:
	case KIND_FALLOCATE:
	case KIND_COPY_IN:
	case KIND_SENDFILE_IN:
	case KIND_SPLICE_IN:
	case KIND_AIO_SUBMIT:
		return KIND_INVALIDATE;
	}
	return row->shape == SHAPE_URING ? KIND_INVALIDATE : KIND_NONE;
}

/* The kind of a removal by the current thread. PF_MEMALLOC is set in kswapd, and in a process while
 * it reclaims: for itself, for its control group, or as it was told. A file system that is being
 * unmounted has no root any more. */
static __noinline u32 removal_kind(struct task_struct *t, struct inode *i)
{
	u32 flags = TASK(t, flags), kind;

	if (flags & PF_MEMALLOC)
		return KIND_RECLAIM;
	if (!POINTER_AT(POINTER_AT(i, struct inode, i_sb), struct super_block, s_root))
		return KIND_EVICT;
	kind = flags & PF_KTHREAD || is_worker(t) ? KIND_NONE : removal_by_call();
	if (kind)
		return kind;
	return is_blockdev(i) || !NUMBER_AT(i, struct inode, i_nlink) ? KIND_EVICT :
		KIND_INVALIDATE;
}

/* The owner of a removal: the process that asked for it. Of pages that were reclaimed, or that a
 * kernel thread removed for nobody, the process that had inserted them. */
static __always_inline u32 removal_owner(struct task_struct *t, struct inode *i, u64 index,
					 u32 kind, u8 *how)
{
	struct task_ctx *c = kind == KIND_RECLAIM ? NULL : ctx_make();
	u64 owner = PROC_NONE;
	u32 inserter;
	u8 known = HOW_NONE;

	if (c)
		owner = owner_current(c, &known);
	if (c && !(TASK(t, flags) & PF_KTHREAD && known == HOW_EXACT)) {
		*how = known;
		return owner_top(owner);
	}
	inserter = page_inserter(i, index);
	*how = inserter ? HOW_EXACT : HOW_NONE;
	return inserter;
}

/* A folio leaves the page cache. Interrupts are off. */
SEC("tp_btf/mm_filemap_delete_from_page_cache")
int PROBE(pagecache__removed, struct folio *f)
{
	struct inode *i = data_of(f);
	struct task_struct *t = current_task();
	struct cache_op o = {};
	u8 how = HOW_NONE;
	u32 wasted = 0;

	if (!i)
		return 0;
	o.inode = (u64)i;
	o.index = NUMBER_AT(f, struct folio, index);
	o.pages = folio_pages(f);
	o.bytes = o.pages << PAGE_SHIFT;
	o.key.kind = removal_kind(t, i);
	o.key.owner = removal_owner(t, i, o.index, o.key.kind, &how);
	o.key.how = how;
	o.key.dev = cache_dev(i);
	o.key.sub = is_blockdev(i) ? SUB_FT_BLK : SUB_FT_REG;
	if (ra_waits(o.inode))
		wasted = ra_take(o.inode, o.index << PAGE_SHIFT, (o.index << PAGE_SHIFT) + o.bytes,
				 KIND_READAHEAD_WASTED);
	cache_record(&o);
	if (!wasted)
		return 0;
	o.key.owner = page_inserter(i, o.index);
	o.key.how = o.key.owner ? HOW_EXACT : HOW_NONE;
	o.key.kind = KIND_READAHEAD_WASTED;
	o.bytes = (u64)wasted << PAGE_SHIFT;
	o.uncounted = 1; /* ra_take() has counted it */
	return cache_record(&o);
}

/* ---- faults ---- */

/* bits of the error code of x86, the only architecture with tracepoints of exceptions */
#define FAULT_PRESENT 1
#define FAULT_WRITE 2

/* The fault in progress of a thread. */
struct trap {
	u64 address;           /* of the exception; 0: none */
	u64 inode, index;      /* the page that was counted for it */
	u32 store;             /* 1: it was a store */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct trap);
} traps SEC(".maps");

static __always_inline struct trap *trap_here(void)
{
	return bpf_task_storage_get(&traps, bpf_get_current_task_btf(), 0,
				    BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* Counts the fault of a thread on a page. Once: the kernel looks again when it had to wait for the
 * page without its locks (FAULT_FLAG_TRIED). */
static __noinline int fault_count(struct trap *p, u64 inode, u64 index, u32 kind)
{
	struct task_ctx *c = ctx_make();
	struct inode *i = (struct inode *)inode;
	struct cache_op o = {};
	u8 how;

	if (!c || !p || !is_cached_data(i) || (p->inode == inode && p->index == index))
		return 0;
	p->inode = inode;
	p->index = index;
	o.inode = inode;
	o.index = index;
	o.pages = 1;
	o.key.owner = owner_top(owner_current(c, &how));
	o.key.how = how;
	o.key.dev = cache_dev(i);
	o.key.kind = kind;
	o.key.sub = is_blockdev(i) ? SUB_FT_BLK : SUB_FT_REG;
	o.key.flags = CELL_OP(p->address ? p->store : 0);
	return cache_record(&o);
}

/* The page of a file that an address of the current process maps. Returns the inode; 0: none. */
static __always_inline u64 page_mapped(struct task_ctx *c, u64 address, u64 *index, bool shared)
{
	u64 mm = POINTER_AT(current_task(), struct task_struct, mm), file;
	u64 area = area_in(c, mm, address);

	if (!area || (shared && !(NUMBER_AT(area, struct vm_area_struct, vm_flags) & VM_SHARED)))
		return 0;
	file = POINTER_AT(area, struct vm_area_struct, vm_file);
	if (!file)
		return 0;
	*index = NUMBER_AT(area, struct vm_area_struct, vm_pgoff) +
		((address - NUMBER_AT(area, struct vm_area_struct, vm_start)) >> PAGE_SHIFT);
	return (u64)data_inode((struct file *)file);
}

/* An exception of the current thread. A store to a page that is mapped for loads does not look into
 * the page cache: such a fault of a shared mapping is counted here. */
static __always_inline int trapped(u64 address, u64 error)
{
	struct task_ctx *c;
	struct trap *p;
	u64 inode, index = 0;

	if ((s64)address < 0 || !cfg.faults || !gate_open() ||
	    TASK(current_task(), flags) & PF_KTHREAD)
		return 0;
	p = trap_here();
	if (!p)
		return 0;
	p->address = address;
	p->store = !!(error & FAULT_WRITE);
	p->inode = 0;
	if (!(error & FAULT_PRESENT) || !p->store)
		return 0;
	c = ctx_make();
	inode = c ? page_mapped(c, address, &index, true) : 0;
	return inode ? fault_count(p, inode, index, KIND_FAULT_MINOR) : 0;
}

SEC("tp_btf/page_fault_user")
int PROBE(pagecache__trap_user, unsigned long address, struct pt_regs *regs, unsigned long error)
{
	return trapped(address, error);
}

SEC("tp_btf/page_fault_kernel")
int PROBE(pagecache__trap_kernel, unsigned long address, struct pt_regs *regs,
	  unsigned long error)
{
	return trapped(address, error);
}

/* filemap_fault() looks for a page: it is a major fault when the page is not there. */
SEC("tp_btf/mm_filemap_fault")
int PROBE(pagecache__fault, struct address_space *m, unsigned long index)
{
	struct trap *p = m && gate_open() ? trap_here() : NULL;
	u64 inode;

	if (!p)
		return 0;
	inode = POINTER_AT(m, struct address_space, host);
	fault_count(p, inode, index, folio_at(POINTER_AT(inode, struct inode, i_mapping), index) ?
		    KIND_FAULT_MINOR : KIND_FAULT_MAJOR);
	p->address = 0;
	return 0;
}

/* filemap_map_pages() maps pages around the one of a load. If that one is not ready,
 * filemap_fault() follows. */
SEC("tp_btf/mm_filemap_map_pages")
int PROBE(pagecache__map, struct address_space *m, unsigned long first, unsigned long last)
{
	struct trap *p = m && gate_open() ? trap_here() : NULL;
	struct task_ctx *c = p && p->address ? ctx_make() : NULL;
	u64 inode, index = 0, folio;

	if (!c || !p)
		return 0;
	inode = page_mapped(c, p->address, &index, false);
	if (!inode || inode != POINTER_AT(m, struct address_space, host) || index < first ||
	    index > last)
		return 0;
	folio = folio_at(POINTER_AT(inode, struct inode, i_mapping), index);
	if (folio && folio_is_uptodate(folio))
		fault_count(p, inode, index, KIND_FAULT_MINOR);
	return 0;
}
