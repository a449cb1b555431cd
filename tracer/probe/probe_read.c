// SPDX-License-Identifier: GPL-3.0-only
/* probe_read.c - reads the tables of the kernel side, and frees elements that are not needed any
 * more.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "ask.h"
#include "hist.h"
#include "probe_parts.h"

/* Adds the counts of one processor, which may change meanwhile: each number is read once. */
static void add_cell(struct iot_cell *sum, const volatile struct iot_cell *v)
{
	u64 max_ns = v->max_ns;

	sum->ops += v->ops;
	sum->errors += v->errors;
	sum->bytes += v->bytes;
	sum->touched += v->touched;
	sum->timed += v->timed;
	sum->lat_ns += v->lat_ns;
	if (max_ns > sum->max_ns)
		sum->max_ns = max_ns;
}

static int sum_cell(struct probes *p, u32 n, struct iot_cell *sum)
{
	for (int cpu = 0; cpu < p->cpus; cpu++) {
		const struct iot_cell *v = each_at(&p->cells, cpu, n);

		if (!v)
			return -ENOMEM;
		add_cell(sum, v);
	}
	return 0;
}

int probes_cells(struct probes *p, probes_cell *cell, void *arg)
{
	u32 n;

	late_share(p);
	n = __atomic_load_n(&p->state->next_cell, __ATOMIC_ACQUIRE);
	for (u32 i = 0; i < n && i < p->max_cells; i++) {
		struct iot_cell sum = {};

		if (p->cell_slots[i].used == IOT_CELL_LOST)
			probes_cell_free(p, i);
		if (!p->cell_slots[i].used)
			continue;
		if (sum_cell(p, i, &sum))
			return fail(errno, "cannot read the aggregates");
		cell(arg, i, &p->cell_slots[i].key, &sum);
	}
	return 0;
}

const struct iot_filesum_slot *probes_sums(const struct probes *p, u32 *n_spare, u32 *n)
{
	const u32 spare = __atomic_load_n(&p->state->next_spare, __ATOMIC_ACQUIRE) + 1,
		next = __atomic_load_n(&p->state->next_sum, __ATOMIC_ACQUIRE);

	*n_spare = spare < IOT_FILESUM_RESERVE ? spare : IOT_FILESUM_RESERVE;
	*n = next < p->max_filesums - IOT_FILESUM_RESERVE ? IOT_FILESUM_RESERVE + next :
		p->max_filesums;
	return p->sum_slots;
}

bool probes_sums_are_many(const struct probes *p)
{
	return __atomic_load_n(&p->state->sums, __ATOMIC_RELAXED) > (int)p->max_filesums / 2;
}

int probes_sum(struct probes *p, u32 slot, struct iot_filesum *sum)
{
	*sum = (struct iot_filesum){ 0 };
	for (int cpu = 0; cpu < p->cpus; cpu++) {
		const volatile u64 *v = each_at(&p->sums, cpu, slot);

		if (!v)
			return fail(errno, "cannot read the sums by file");
		for (size_t i = 0; i < sizeof(*sum) / sizeof(u64); i++)
			((u64 *)sum)[i] += v[i];
	}
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
		put_free(p, &p->state->sum_spare, p->max_filesums, IOT_FILESUM_RESERVE, slot);
		return;
	}
	if (counted) {
		__atomic_sub_fetch(&p->sum_users[p->sum_slots[slot].user % IOT_FILESUM_USERS], 1,
			__ATOMIC_RELAXED);
		__atomic_sub_fetch(&p->state->sums, 1, __ATOMIC_RELAXED);
	}
	put_free(p, &p->state->sum_free, 0, p->max_filesums, slot);
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
	/* the process has sums, so that its entry has a user by now */
	bpf_map_lookup_elem(fd, &proc, &o);
	o.nameless = yes;
	return bpf_map_update_elem(fd, &proc, &o, BPF_ANY) ?
		fail(errno, "cannot tell what threads say") : 0;
}

/* Runs the next statement for every element of a map; for none with a negative descriptor. */
#define EACH_ELEMENT(fd, key, value) \
	for (void *at = NULL; (fd) >= 0 && !bpf_map_get_next_key(fd, at, &(key)); at = &(key)) \
		if (!bpf_map_lookup_elem(fd, &(key), &(value)))

int probes_files(struct probes *p, void (*file)(void *, u32, u32, u64, u32), void *arg)
{
	int fd = map_fd(p, "files");
	struct { u32 dev, gen; u64 ino; } key;
	struct { u32 id, named, sent, pad; } v;

	EACH_ELEMENT(fd, key, v)
		if (!v.named)
			file(arg, v.id, key.dev, key.ino, key.gen);
	return 0;
}

bool probes_cells_scarce(const struct probes *p)
{
	return p->state->used_cells > p->max_cells / 2;
}

/* A number that lost the race for its key keeps the key for a moment without being in the index. An
 * open one without an element there was found by the cache alone (cell_insert()). */
bool probes_cell_close(struct probes *p, u32 n)
{
	struct iot_cell_key key = p->cell_slots[n].key;
	int fd = map_fd(p, "cell_index");
	u32 at;

	if (bpf_map_lookup_elem(fd, &key, &at) || at != n) {
		if (p->lacks || p->cell_slots[n].used != IOT_CELL_OPEN)
			return false;
		__atomic_store_n(&p->cell_slots[n].used, IOT_CELL_CLOSED, __ATOMIC_RELEASE);
		return true;
	}
	__atomic_store_n(&p->cell_slots[n].used, IOT_CELL_CLOSED, __ATOMIC_RELEASE);
	return !bpf_map_delete_elem(fd, &key);
}

void probes_cell_free(struct probes *p, u32 n)
{
	for (int cpu = 0; cpu < p->cpus; cpu++) {
		struct iot_cell *v = each_at(&p->cells, cpu, n);

		if (!v)
			return; /* the number is not used again */
		*v = (struct iot_cell){ 0 };
	}
	__atomic_store_n(&p->cell_slots[n].used, 0, __ATOMIC_RELEASE);
	__atomic_fetch_sub(&p->state->used_cells, 1, __ATOMIC_RELAXED);
	p->free_cells[p->state->free_end % p->max_cells] = n;
	__atomic_fetch_add(&p->state->free_end, 1, __ATOMIC_RELEASE);
}

void probes_fold(struct probes *p, u32 id, u32 to)
{
	struct iot_fold *f = &p->folds[id & (IOT_MAX_FOLDS - 1)];

	f->id = 0; /* a reader never sees a mixture of both */
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
	struct iot_proc now;

	/* a process that moved to another control group lives on under a later number */
	if (!bpf_map_lookup_elem(map_fd(p, "procs"), &proc->key, &now) && now.id == proc->id)
		bpf_map_delete_elem(map_fd(p, "procs"), &proc->key);
}

/* Kind, group and "other" of a histogram by its number. False: it is of none. */
static bool hist_of(const struct probes *p, u32 n, u8 *kind, u32 *group, bool *other)
{
	*kind = n % p->hist_kinds;
	*group = n / p->hist_kinds / 2;
	*other = n / p->hist_kinds % 2;
	if (!p->opts.light)
		return true;
	*group = n / IOT_LIGHT_KINDS;
	*other = false;
	for (*kind = 0; *kind < KIND_MAX; ++*kind)
		if (n % IOT_LIGHT_KINDS && n % IOT_LIGHT_KINDS == (u32)IOT_LIGHT_ROW(*kind))
			return true;
	return false;
}

int probes_hists(struct probes *p, void (*hist)(void *, u8, u32, bool, u32, u64), void *arg)
{
	int fd = map_fd(p, "hists");
	size_t row = HIST_BUCKETS * sizeof(u64);
	u64 *values = calloc(p->cpus, row);

	if (!values)
		return fail(ENOMEM, "histograms");
	for (u32 i = 0; i < (p->opts.light ? IOT_LIGHT_HISTS : IOT_HISTS(p->hist_kinds)); i++) {
		u32 group;
		bool other;
		u8 kind;

		if (!hist_of(p, i, &kind, &group, &other) || bpf_map_lookup_elem(fd, &i, values))
			continue;
		for (u32 b = 0; b < HIST_BUCKETS; b++) {
			u64 n = 0;

			for (int cpu = 0; cpu < p->cpus; cpu++)
				n += values[cpu * HIST_BUCKETS + b];
			if (n)
				hist(arg, kind, group, other, b, n);
		}
	}
	free(values);
	return 0;
}

int probes_puts(struct probes *p, void (*put)(void *, const struct iot_put_key *,
	const struct iot_put *), void *arg)
{
	static const char *const maps[] = { "puts", "puts_rest" };
	struct iot_put_key key;
	struct iot_put v;

	for (size_t i = 0; i < N_OF(maps); i++) {
		int fd = map_fd(p, maps[i]);

		EACH_ELEMENT(fd, key, v)
			put(arg, &key, &v);
	}
	return 0;
}

int probes_procs(struct probes *p, void (*proc)(void *, const struct iot_proc *), void *arg)
{
	int fd = map_fd(p, "procs");
	struct iot_proc_key key;
	struct iot_proc v;

	EACH_ELEMENT(fd, key, v)
		proc(arg, &v);
	return 0;
}

int probes_flows(struct probes *p, void (*flow)(void *, const struct iot_flow_key *,
	const struct iot_flow *), void *arg)
{
	int fd = map_fd(p, "flows"); /* absent where layer net is not measured */
	struct iot_flow_key key;
	struct iot_flow v;

	EACH_ELEMENT(fd, key, v)
		flow(arg, &key, &v);
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

	return how == SOCKETS_ALL && !p->info[program_row("syscall__exit")].chosen ? SOCKETS_NONE :
		how;
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
	*u = (struct probe_use){ p->state->used_cells, p->state->used_flows, count_keys(p, "procs"),
		count_keys(p, "files") };
}

void probes_ready(struct probes *p)
{
	skips_sum(p, p->misses_before);
}

/* Skips since probes_ready(). */
static void misses_now(const struct probes *p, u64 n[SKIPS])
{
	skips_sum(p, n);
	for (u32 i = 0; i < SKIPS; i++)
		n[i] -= p->misses_before[i];
	/* a skip and the copy's work for it may be read at different moments */
	if ((s64)n[LOSS_SKIPPED] < 0)
		n[LOSS_SKIPPED] = 0;
	n[LOSS_SKIPPED] += late_skips(p);
	n[LOSS_SKIPPED_CALL] -= n[LOSS_SKIPPED_CALL] < p->state->spared ? n[LOSS_SKIPPED_CALL] :
		p->state->spared;
}

void probes_skips_end(struct probes *p)
{
	misses_now(p, p->misses);
	p->misses_known = true;
}

u32 probes_unsettled(const struct probes *p, u32 disk)
{
	struct iot_sweep ask = { disk };

	return program_call(p, "block__sweep", &ask, sizeof(ask));
}

bool probes_outside(const struct probes *p, u32 disk, struct iot_outside *o)
{
	int fd = map_fd(p, "outside");

	if (fd < 0)
		return false;
	if (bpf_map_lookup_elem(fd, &disk, o))
		memset(o, 0, sizeof(*o)); /* nothing completed there */
	return true;
}

/* Room for the values and keys of the table of requests. */
struct in_flight {
	struct iot_request *u;
	u64 *keys;
	u32 max;
};

/* Adds the bytes of a disk's requests in the table. Returns false when the kernel cannot list
 * them. */
static bool add_requests(int fd, u32 disk, const struct in_flight *l, u64 *read, u64 *written)
{
	u32 n = l->max;
	u64 next;

	if (bpf_map_lookup_batch(fd, NULL, &next, l->keys, l->u, &n, NULL) && errno != ENOENT)
		return false;
	for (u32 i = 0; i < n; i++)
		/* REQ_OP_READ, REQ_OP_WRITE */
		if (l->u[i].address && l->u[i].disk == disk && l->u[i].inside && l->u[i].op <= 1)
			*(l->u[i].op ? written : read) += l->u[i].bytes;
	return true;
}

bool probes_in_flight(const struct probes *p, u32 disk, u64 *read, u64 *written)
{
	struct in_flight l = { calloc(p->max_requests, sizeof(*l.u)),
		calloc(p->max_requests, sizeof(*l.keys)), p->max_requests };
	int fd = map_fd(p, "requests");
	struct iot_outside before, after;
	bool known = false;

	for (int attempt = 0; l.u && l.keys && !known && attempt < 100; attempt++) {
		probes_unsettled(p, disk);
		if (!probes_outside(p, disk, &before))
			break;
		*read = before.late_read;
		*written = before.late_write;
		if (!add_requests(fd, disk, &l, read, written))
			break;
		probes_unsettled(p, disk);
		probes_outside(p, disk, &after);
		known = before.late_read == after.late_read &&
			before.late_write == after.late_write;
	}
	free(l.u);
	free(l.keys);
	return known;
}

void probes_lose_late(struct probes *p, u64 n)
{
	p->late += n;
}

int probes_losses(struct probes *p, u64 n[LOSS_MAX])
{
	int fd = map_fd(p, "losses");
	u64 values[p->cpus], misses[SKIPS];

	for (u32 i = 0; i < LOSS_MAX; i++) {
		n[i] = 0;
		if (bpf_map_lookup_elem(fd, &i, values))
			return fail(errno, "cannot read the losses");
		for (int cpu = 0; cpu < p->cpus; cpu++)
			n[i] += values[cpu];
	}
	if (p->misses_known)
		memcpy(misses, p->misses, sizeof(misses));
	else
		misses_now(p, misses);
	n[LOSS_EVENT_SYSCALL] += p->batches.missing;
	n[LOSS_LOOK] = ask_given_up();
	n[LOSS_LATE] = p->late;
	n[LOSS_SKIPPED] = misses[LOSS_SKIPPED];
	n[LOSS_VFS_MISSED] += misses[LOSS_VFS_MISSED];
	n[LOSS_SKIPPED_CALL] = misses[p->skips ? LOSS_SKIPPED_CALL : SKIPPED_FIRST];
	denied_losses(p, n);
	return 0;
}

int probes_set_group(struct probes *p, const struct iot_proc *proc, u32 group)
{
	u32 at = proc->id & (IOT_MAX_GROUPED - 1), value = proc->id << IOT_GROUP_BITS | group;

	if (group >= IOT_HIST_GROUPS)
		return 0;
	if (group && p->state)
		__atomic_store_n(&p->state->grouped, 1, __ATOMIC_RELEASE);
	return bpf_map_update_elem(map_fd(p, "groups"), &at, &value, BPF_ANY) ?
		fail(errno, "cannot set the group of process %u", proc->pid) : 0;
}
