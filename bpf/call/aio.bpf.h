/* SPDX-License-Identifier: GPL-3.0-only */
/* aio.bpf.h - libaio: requests from io_submit() to their events. Their records are those of system
 * calls.
 *
 * Events are in a ring in user memory, and user space may take them without a call (libaio, fio).
 * So the ring is read from the last position to the kernel's tail, when a call on it returns, and
 * when its threads return from other calls that are traced. No event is overwritten before it is
 * read: no more requests are in flight than the ring holds, and only io_submit() begins one. A page
 * of the ring that user space has not touched is not readable; then its events came through
 * io_getevents().
 *
 * A request can complete before io_submit() returns, and another thread may have taken its event.
 * Such an event is `early`: it waits for the io_submit() that took its control block.
 */
#ifndef IOT_AIO_BPF_H
#define IOT_AIO_BPF_H

#include "aio_table.bpf.h"
#include "ext4_inode.bpf.h"
#include "op.bpf.h"

/* control blocks or events that are processed for one call */
#define AIO_STEPS (REDUCED ? 128 : 4096)

static __always_inline struct aio_walk *aio_begin(struct task_ctx *c)
{
	struct aio_walk *w = &c->scratch.aio.w;

	__builtin_memset(w, 0, sizeof(*w));
	w->pid = bpf_get_current_pid_tgid() >> 32;
	return w;
}

/* Reports what a finished request dirtied outside the range that it wrote. Of several requests of
 * one call, the first to complete gets all of that: where another one failed, it may have dirtied
 * pages, too. */
static __always_inline void aio_beside(struct task_ctx *c, const struct aio *a, const struct op *o)
{
	u64 from, begun;

	if (c->fresh.inode == a->host) {
		fresh_before(c, wrote_by(c, o, a->proc), a->size);
		return;
	}
	if (o->ret >= 0 || a->type != SUB_FT_REG || is_off_disk(a->type, a->dev) ||
	    inode_number((struct inode *)a->host) != a->ino)
		return;
	from = a->flags & FLAG_APPEND ? NUMBER_AT(a->host, struct inode, i_size) : a->offset;
	begun = from & -(u64)(a->block ?: PAGE_SIZE);
	dirty_event((struct inode *)a->host, begun, 0, from - begun + (a->size ?: PAGE_SIZE),
		    a->proc, HOW_EXACT, a->ts_ns);
}

/* A request is complete. */
__noinline int aio_finish(struct task_ctx *c, struct aio *a, s64 res)
{
	u64 now = bpf_ktime_get_ns();
	struct op *o;

	if (!c || !a)
		return 0;
	o = &c->scratch.aio.op;
	__builtin_memset(o, 0, sizeof(*o));
	c->seen.inode = 0; /* the context's file is replaced by that of the request */
	c->seen.dev = a->dev;
	c->seen.file = a->file;
	c->seen.type = a->type;
	c->seen.block = a->block;
	c->seen.host = a->host;
	o->ts_ns = a->ts_ns;
	o->dur_ns = cfg.latency ? now - a->ts_ns : 0;
	o->offset = a->offset;
	o->size = a->size ?: res > 0 ? res : 0;
	o->ret = res;
	o->flags = res > 0 || !a->direct ? a->flags : a->flags | FLAG_DIRECT;
	o->tid = a->tid;
	o->kind = a->kind;
	o->write = a->kind == KIND_AIO_WRITE ? MOVES_TO_FILE : a->kind == KIND_AIO_READ ?
		MOVES_FROM_FILE : MOVES_NOTHING;
	if (a->copied_ns > a->ts_ns)
		o->queue_ns = a->copied_ns - a->ts_ns;
	if (o->write == MOVES_TO_FILE && a->flags & FLAG_APPEND && res > 0 && a->host) {
		struct aio_walk *w = &c->scratch.aio.w;

		o->offset = (w->taken && w->append_host == a->host ? w->append_at :
			     NUMBER_AT(a->host, struct inode, i_size)) - res;
		w->append_host = a->host;
		w->append_at = o->offset;
	}
	op_record(c, o, a->proc);
	if (!is_off_disk(a->type, a->dev))
		filesum_async(a->comm, a->file, a->type, a->proc, o->kind, o->write, res > 0 &&
			      o->write != MOVES_NOTHING ? res : 0, o->flags);
	if (REDUCED)
		return 0;
	if (o->write == MOVES_TO_FILE && res > 0 && !(a->flags & FLAG_DIRECT) &&
	    is_storage(a->type) &&
	    inode_number((struct inode *)a->host) == a->ino)
		wrote_data(a->host, a->type == SUB_FT_BLK ? a->file : 0, o->offset, res, a->block,
			   a->proc);
	if (o->write == MOVES_TO_FILE && a->host)
		aio_beside(c, a, o);
	return 0;
}

/* Processes an event of the ring, or of a caller's buffer. */
static __always_inline void aio_event(struct task_ctx *c, u64 iocb, s64 res, bool keep)
{
	struct aio_walk *w = &c->scratch.aio.w;
	struct aio_key k = { iocb, w->pid };
	struct aio *a = bpf_map_lookup_elem(&aios, &k), *new = &c->scratch.aio.new;

	if (a && !a->early) {
		aio_finish(c, a, res);
		bpf_map_delete_elem(&aios, &k);
		return;
	}
	if (!keep)
		return;
	__builtin_memset(new, 0, sizeof(*new));
	new->early = 1;
	new->ring = w->ring;
	new->res = res;
	new->number = w->number;
	new->ts_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&aios, &k, new, BPF_ANY) && w->proc >= PROC_FIRST)
		lose(LOSS_AIO_TABLE);
}

static long aio_ring_one(u32 n, struct aio_ref *r)
{
	struct aio_walk *w = &r->c->scratch.aio.w;

	if (w->next == w->tail)
		return 1;
	if (bpf_probe_read_user(&w->event, sizeof(w->event),
				(void *)(w->ring + AIO_RING_HEADER + (u64)w->next *
					 sizeof(w->event)))) {
		w->unread = 1;
		return 1;
	}
	aio_event(r->c, w->event.obj, w->event.res, true);
	w->number++;
	w->next++;
	if (w->next >= w->nr)
		w->next = 0;
	return 0;
}

#ifdef IOT_REDUCED
__by_numbers int aio_ring_round(u32 n)
{
	struct aio_ref r = { ctx_find() };

	/* else the compiler passes no argument, and the verifier misses it */
	asm volatile("" : : "r"(n));
	return r.c ? aio_ring_one(n, &r) : 1;
}
#define AIO_LOOP(n, body, ref) LOOP(AIO_STEPS, n, body##_round(__round))
#else
#define AIO_LOOP(n, body, ref) bpf_loop(n, body##_one, ref, 0)
#endif

static __always_inline u32 ring_distance(u32 from, u32 to, u32 nr)
{
	return to >= from ? to - from : to + nr - from;
}

/* Fills in the kernel's state of a ring of the current process. False: there is no ring at that
 * address. */
static __noinline int aio_ring_find(struct aio_walk *w)
{
	struct user_aio_ring h;
	u64 mm, table;

	if (!w || bpf_probe_read_user(&h, sizeof(h), (void *)w->ring))
		return 0;
	mm = POINTER_AT(current_task(), struct task_struct, mm);
	table = mm ? POINTER_AT(mm, struct mm_struct, ioctx_table) : 0;
	if (!table || h.id >= NUMBER_AT(table, struct kioctx_table, nr))
		return 0;
	w->context = pointer_at(table + bpf_core_field_offset(struct kioctx_table, table) +
				(u64)h.id * sizeof(u64));
	if (!w->context || NUMBER_AT(w->context, struct kioctx, user_id) != w->ring)
		return 0;
	w->nr = NUMBER_AT(w->context, struct kioctx, nr_events);
	w->tail = NUMBER_AT(w->context, struct kioctx, tail);
	w->head = h.head; /* user memory: a wrong value harms only its process */
	if (!w->nr || w->head >= w->nr || w->tail >= w->nr)
		return 0;
	return 1;
}

/* Reads the new events of a ring. */
static __always_inline int aio_ring_read(struct task_ctx *c)
{
	struct aio_ring_state *s, *new;
	struct aio_ref ref __attribute__((unused)) = { c };
	struct aio_ring_key *k;
	struct aio_walk *w;

	if (!c)
		return 0;
	w = &c->scratch.aio.w;
	if (!aio_ring_find(w))
		return 0;
	k = &c->scratch.aio.key;
	k->ring = w->ring;
	k->pid = w->pid;
	k->pad = 0;
	s = bpf_map_lookup_elem(&aio_rings, k);
	/* the first read: events that were taken before are of no known request */
	if (!s || s->context != w->context) {
		new = &c->scratch.aio.state;
		__builtin_memset(new, 0, sizeof(*new));
		new->context = w->context;
		new->next = w->head;
		bpf_map_update_elem(&aio_rings, k, new, BPF_ANY);
		s = bpf_map_lookup_elem(&aio_rings, k);
		if (!s)
			return 0;
	}
	w->next = s->next;
	w->number = w->number_before = s->number;
	AIO_LOOP(AIO_STEPS, aio_ring, &ref);
	if (w->unread && ring_distance(w->next, w->tail, w->nr) >=
	    ring_distance(w->head, w->tail, w->nr)) {
		w->unread = ring_distance(w->next, w->head, w->nr); /* calls took those */
		w->number += w->unread;
		w->next = w->head;
	} else {
		w->unread = 0;
	}
	w->not_taken = ring_distance(w->head, w->tail, w->nr);
	s->number = w->number;
	s->next = w->next;
	return 1;
}

#ifdef IOT_REDUCED
__by_numbers int aio_ring_looked(void)
{
	return aio_ring_read(ctx_find());
}
#define aio_ring_read(c) aio_ring_looked()
#endif

/* The time at which a request with O_SYNC or the like dirtied its pages: behind the requests before
 * it, which may have had the same page written back. A request with such a time went through the
 * page cache, also with O_DIRECT. */
static __always_inline void aio_time(struct task_ctx *c, struct aio *a, u64 address)
{
	struct aio_time_key *k = &c->scratch.aio.time;
	u64 *at;

	k->iocb = address;
	k->pid = c->scratch.aio.w.pid;
	k->pad = 0;
	at = bpf_map_lookup_elem(&aio_times, k);
	if (!at)
		return;
	if (*at >= c->scratch.aio.w.since_ns) { /* else of an earlier request at that address */
		if (a->copied_ns < *at)
			a->copied_ns = *at;
		a->flags &= ~FLAG_DIRECT;
	}
	bpf_map_delete_elem(&aio_times, k);
}

/* The time at which the only request of an io_submit() first dirtied something, if it waited for
 * its inode or for writeback, and something was submitted since it began. Without a known begin it
 * began then. */
static __noinline int aio_dirtied(struct aio_walk *w)
{
	struct thread *th = thread_of(TASK(current_task(), pid));
	u64 begin, after;

	if (!w)
		return 0;
	begin = w->begin_ns;
	after = th && cfg.events ? dirtied_when(th, &begin) : 0;
	if (w->taken != 1 || !begin)
		return 0;
	w->ts_ns = begin;
	w->dirtied_ns = after ? begin + after : 0;
	return 0;
}

/* Resolves the file and the offset of a control block. False: no operation on a file. */
static __noinline int aio_look(struct aio *a, struct task_ctx *c, u64 address, u32 proc)
{
	struct inode *host;
	struct iocb *b = &c->scratch.aio.iocb;
	struct file *f;

	if (!a || !c)
		return 0;
	if (bpf_probe_read_user(b, sizeof(*b), (void *)address)) {
		if (proc >= PROC_FIRST)
			lose(LOSS_AIO_UNREAD);
		return 0;
	}
	a->size = b->aio_nbytes;
	a->offset = b->aio_offset;
	switch (b->aio_lio_opcode) {
	case IOCB_CMD_PREADV:
		a->size = 0; /* counts vectors */
		/* fall through */
	case IOCB_CMD_PREAD:
		a->kind = KIND_AIO_READ;
		break;
	case IOCB_CMD_PWRITEV:
		a->size = 0;
		/* fall through */
	case IOCB_CMD_PWRITE:
		a->kind = KIND_AIO_WRITE;
		break;
	case IOCB_CMD_FSYNC:
	case IOCB_CMD_FDSYNC:
		a->kind = KIND_AIO_FSYNC;
		a->offset = a->size = 0;
		break;
	default:
		return 0;
	}
	f = file_of(b->aio_fildes);
	if (!f)
		return 0;
	file_see(c, f, (struct inode *)POINTER_AT(f, struct file, f_inode));
	a->file = c->seen.file;
	a->dev = c->seen.dev;
	a->type = c->seen.type;
	a->block = c->seen.block;
	a->flags = flags_of_call(flags_of(NUMBER_AT(f, struct file, f_flags)), b->aio_rw_flags);
	a->direct = !!(a->flags & FLAG_DIRECT);
	host = (struct inode *)c->seen.host;
	a->host = (u64)host;
	a->ino = host ? inode_number(host) : 0;
	if (!REDUCED && a->kind == KIND_AIO_WRITE) {
		a->copied_ns = c->scratch.aio.w.dirtied_ns;
		aio_time(c, a, address);
	}
	if (a->kind == KIND_AIO_WRITE &&
	    ((went_through_cache(c, a->host, a->flags & FLAG_APPEND ? 0 : a->offset) &&
	      /* elsewhere aio_time() has the time of each */
	      (c->scratch.aio.w.taken == 1 || is_on((struct inode *)c->seen.host, BTRFS_MAGIC))) ||
	     (a->flags & FLAG_DIRECT && is_indirect((u64)host, a->offset))))
		a->flags &= ~FLAG_DIRECT;
	a->proc = proc;
	a->tid = current_thread();
	filesum_comm(a->comm);
	return 1;
}

/* True when an early event belongs to the request that io_submit() just took, not to an earlier use
 * of its control block. */
static __always_inline bool is_of_this_call(const struct aio_walk *w, const struct aio *early)
{
	return early->ring == w->ring &&
	       (early->number >= w->number_before || early->number + w->not_taken >= w->number ||
					  (w->since_ns && early->ts_ns >= w->since_ns));
}

/* Enters one control block that io_submit() took, until its event comes. */
static long aio_taken_one(u32 n, struct aio_ref *r)
{
	struct aio_walk *w = &r->c->scratch.aio.w;
	struct aio *old, *a = &r->c->scratch.aio.new;
	struct aio_key k = { 0, w->pid };
	bool over = false;
	s64 res = 0;

	if (bpf_probe_read_user(&k.iocb, sizeof(k.iocb),
				(void *)(w->list + (w->taken - 1 - n) * sizeof(k.iocb)))) {
		if (w->proc >= PROC_FIRST)
			lose(LOSS_AIO_UNREAD);
		return 1;
	}
	old = bpf_map_lookup_elem(&aios, &k);
	if (old && old->early) {
		over = is_of_this_call(w, old);
		res = old->res;
		bpf_map_delete_elem(&aios, &k);
	} else if (old && old->proc >= PROC_FIRST) {
		/* the control block is reused, and its event was not read */
		lose(LOSS_AIO_UNREAPED);
	}
	__builtin_memset(a, 0, sizeof(*a));
	a->ts_ns = w->ts_ns;
	a->ring = w->ring;
	if (!aio_look(a, r->c, k.iocb, w->proc))
		return 0;
	if (over)
		aio_finish(r->c, a, res);
	else if (bpf_map_update_elem(&aios, &k, a, BPF_ANY) && w->proc >= PROC_FIRST)
		lose(LOSS_AIO_TABLE);
	return 0;
}

#ifdef IOT_REDUCED
__by_numbers int aio_taken_round(u32 n)
{
	struct aio_ref r = { ctx_find() };

	return r.c ? aio_taken_one(n, &r) : 1;
}
#endif

/* io_submit() returns, and took so many control blocks. ts_ns: when it began; 0: not timed. */
static __noinline int aio_submitted(struct task_ctx *c, const struct call *k, s64 taken, u32 proc,
				    u64 ts_ns)
{
	u64 now = bpf_ktime_get_ns();
	struct aio_ref ref __attribute__((unused)) = { c };
	struct aio_walk *w;

	if (!c || !k)
		return 0;
	c->aio.now = c->aio.from = c->aio.direct = c->aio.copies = 0;
	c->direct.request = ~0ULL;
	if (!REDUCED && c->fresh_ns)
		fresh_report(c);
	if (taken <= 0)
		return 0;
	w = aio_begin(c);
	w->proc = proc;
	w->ring = k->arg[0];
	w->list = k->arg[2];
	w->since_ns = ts_ns ?: c->aio.ns;
	w->begin_ns = ts_ns;
	w->ts_ns = ts_ns ?: now;
	c->aio.ring = w->ring;
	c->aio.ns = now;
	aio_ring_read(c);
	if (taken > AIO_STEPS) {
		taken = AIO_STEPS;
		if (proc >= PROC_FIRST)
			lose(LOSS_AIO_TABLE);
	}
	w->taken = taken;
	if (!REDUCED)
		aio_dirtied(w);
	AIO_LOOP(taken, aio_taken, &ref);
	return 0;
}

/* Processes an event in the buffer of io_getevents(). */
static long aio_reaped_one(u32 n, struct aio_ref *r)
{
	struct aio_walk *w = &r->c->scratch.aio.w;

	if (bpf_probe_read_user(&w->event, sizeof(w->event),
				(void *)(w->list + n * sizeof(w->event)))) {
		if (w->proc >= PROC_FIRST)
			lose(LOSS_AIO_UNREAD);
		return 1;
	}
	aio_event(r->c, w->event.obj, w->event.res, n >= w->from);
	return 0;
}

#ifdef IOT_REDUCED
__by_numbers int aio_reaped_round(u32 n)
{
	struct aio_ref r = { ctx_find() };

	return r.c ? aio_reaped_one(n, &r) : 1;
}
#endif

/* io_getevents() returns n events. */
static __noinline int aio_reaped(struct task_ctx *c, const struct call *k, s64 n)
{
	struct aio_ref ref __attribute__((unused)) = { c };
	struct aio_walk *w;

	if (!c || !k || n <= 0)
		return 0;
	w = aio_begin(c);
	w->ring = k->arg[0];
	w->list = k->arg[3];
	w->proc = proc_current(c);
	if (!aio_ring_read(c))
		w->unread = n;
	w->from = w->unread < n ? n - w->unread : 0;
	AIO_LOOP(n > AIO_STEPS ? AIO_STEPS : n, aio_reaped, &ref);
	return 0;
}

/* A thread that uses libaio returns from another call: events that it took without a call are still
 * in its ring, and the next call may overwrite them. */
static __noinline int aio_passing(struct task_ctx *c)
{
	struct aio_walk *w;

	if (!c)
		return 0;
	w = aio_begin(c);
	w->ring = c->aio.ring;
	w->proc = proc_current(c);
	aio_ring_read(c);
	return 0;
}

/* io_destroy() returns. The next ring may have the same address, and the same kernel object. */
static __noinline int aio_destroyed(struct task_ctx *c, u64 ring, s64 ret)
{
	struct aio_ring_key *k;

	if (!c || ret)
		return 0;
	k = &c->scratch.aio.key;
	k->ring = ring;
	k->pid = bpf_get_current_pid_tgid() >> 32;
	k->pad = 0;
	bpf_map_delete_elem(&aio_rings, k);
	return 0;
}

/* A request that is left at the end of the run: in flight if the ring lives and all its events were
 * read, else one whose event was not read. */
static long aio_left(void *map, struct aio_key *k, struct aio *a, void *ctx)
{
	struct aio_ring_key key = { a->ring, k->pid };
	struct aio_ring_state *s = bpf_map_lookup_elem(&aio_rings, &key);

	if (a->early || a->proc < PROC_FIRST || !is_storage(a->type))
		return 0;
	if (s && NUMBER_AT(s->context, struct kioctx, user_id) == a->ring &&
	    !NUMBER_AT(s->context, struct kioctx, dead.counter) &&
	    NUMBER_AT(s->context, struct kioctx, tail) == s->next)
		return 0;
	lose(LOSS_AIO_UNREAPED);
	return 0;
}

#ifndef IOT_REDUCED
/* Called by the tracer after it has closed the gate. */
SEC("syscall")
int aio__sweep(void *ctx)
{
	bpf_for_each_map_elem(&aios, aio_left, NULL, 0);
	return 0;
}
#endif

#endif
