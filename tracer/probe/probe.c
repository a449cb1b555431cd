// SPDX-License-Identifier: GPL-3.0-only
/* probe.c - the life of the kernel side: open, gate, consume, close. */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <linux/membarrier.h>
#include "hash.h"
#include "probe_parts.h"

/* Asks the kernel for the identity of this process. Where it cannot run such a program (5.13 and
 * before), it is certain only in the initial PID namespace. */
static int find_self(struct probes *p)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "who",
		.btf_custom_path = p->modules_hidden ? TYPES_FILE : NULL);
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &p->self, .ctx_size_in = sizeof(p->self));
	struct bpf_object *o = bpf_object__open_mem(obj_who, obj_who_end - obj_who, &opts);
	struct bpf_program *g = o ? bpf_object__find_program_by_name(o, "who__self") : NULL;
	int err = g ? bpf_object__load(o) : -errno;
	struct stat s;

	if (!err)
		err = bpf_prog_test_run_opts(bpf_program__fd(g), &run);
	bpf_object__close(o);
	if (!err || probes_over(p))
		return err;
	if (stat("/proc/self/ns/pid", &s) || s.st_ino != FIRST_PID_NS)
		return fail(err,
			"cannot tell which process this is outside of its PID namespace: run it in the initial one");
	p->self = (struct iot_self){ .tgid = getpid() };
	return 0;
}

/* True when the kernel has this BPF helper function. */
static bool knows(const struct btf *b, const char *function)
{
	int id = btf__find_by_name_kind(b, "bpf_func_id", BTF_KIND_ENUM);
	const struct btf_type *t = id > 0 ? btf__type_by_id(b, id) : NULL;

	for (int i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(b, btf_enum(t)[i].name_off), function))
			return true;
	return false;
}

/* Reason why this kernel gets the legacy objects (bpf/reduced/); NULL: it gets the full ones. */
static const char *lacking(const struct probes *p)
{
	if (p->opts.reduced)
		return "the reduced tier was asked for";
	for (size_t i = 0; i < n_needed; i++)
		if (!knows(p->vmlinux, needed[i].function))
			return needed[i].why;
	return NULL;
}

static int prepare(struct probes *p)
{
	for (size_t i = 0; i < n_programs; i++) {
		p->info[i].name = programs[i].name;
		p->info[i].layer = programs[i].layer;
		p->info[i].target = "-";
	}
	p->hist_kinds = p->opts.whole ? KIND_MAX : KIND_WHOLE_FIRST;
	p->cpus = libbpf_num_possible_cpus();
	if (p->cpus < 1)
		return fail(p->cpus, "cannot count processors");
	p->max_cells = map_entries(p, "cells") ?: IOT_MAX_CELLS;
	p->max_writers = map_entries(p, "writers") ?: IOT_MAX_WRITERS;
	p->max_claims = map_entries(p, "claims") ?: IOT_MAX_CLAIMS;
	p->max_bios = map_entries(p, "bios") ?: IOT_MAX_BIOS;
	p->max_requests = map_entries(p, "requests") ?: IOT_MAX_REQUESTS;
	p->max_urings = map_entries(p, "urings") ?: IOT_MAX_URINGS;
	p->max_filesums = map_entries(p, "filesum_slots") ?: IOT_MAX_FILESUMS;
	if (p->max_cells > IOT_MAX_CELLS)
		return fail(E2BIG, "%u aggregates: there can be %u", p->max_cells, IOT_MAX_CELLS);
	p->vmlinux = btf__load_vmlinux_btf();
	if (!p->vmlinux)
		/* libbpf returns ESRCH whatever the reason was */
		return fail(errno == ESRCH ? 0 : errno,
			"cannot read the kernel's types in " TYPES_FILE);
	/* no store of flags to a page that is not there yet: QEMU 7.2 loses them */
	if (btf__find_by_name_kind(p->vmlinux, "bpf_rdonly_cast", BTF_KIND_FUNC) > 0)
		p->casts = true;
	p->lacks = lacking(p);
	ops_read(p);
	p->modules_hidden = types_hide_modules();
	return 0;
}

#define SUM_USERS_BYTES (IOT_FILESUM_USERS * sizeof(s64))

static size_t sum_slots_bytes(const struct probes *p)
{
	return p->max_filesums * sizeof(struct iot_filesum_slot);
}

/* Maps the elements of an array map. */
static int map_array(struct probes *p, const char *name, size_t size, void *out)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd(p, name), 0);

	if (at == MAP_FAILED)
		return fail(errno, "cannot map the kernel side's table %s", name);
	*(void **)out = at;
	return 0;
}

static int map_sums(struct probes *p)
{
	int fd = map_fd(p, "filesum_slots");
	void *slots;

	p->state->keeper = p->opts.keeper;
	p->state->sum_epoch = 1; /* threads without a cached slot have epoch 0 */
	if (fd < 0)
		return 0;
	slots = mmap(NULL, sum_slots_bytes(p), PROT_READ, MAP_SHARED, fd, 0);
	if (slots == MAP_FAILED)
		return fail(errno, "cannot map the sums by file");
	p->sum_slots = slots;
	return map_array(p, "filesum_users", SUM_USERS_BYTES, &p->sum_users) ?:
		each_begin(p, &p->sums, "filesums", sizeof(struct iot_filesum), p->max_filesums);
}

static int map_tables(struct probes *p)
{
	return map_array(p, "state", sizeof(*p->state), &p->state) ?:
		each_begin(p, &p->cells, "cells", sizeof(struct iot_cell), p->max_cells) ?:
		map_array(p, "cell_keys", p->max_cells * sizeof(*p->cell_slots), &p->cell_slots) ?:
		map_array(p, "free_cells", p->max_cells * sizeof(*p->free_cells), &p->free_cells) ?:
		map_array(p, "folds", IOT_MAX_FOLDS * sizeof(*p->folds), &p->folds);
}

static int open_all(struct probes *p)
{
	u32 layers = p->opts.layers ? p->opts.layers : ~0u;
	int err = prepare(p) ?: find_self(p);

	if (err)
		return err;
	for (size_t i = 0; i < n_objects; i++) {
		if (probes_over(p))
			return -EINTR;
		if (objects[i].layers && !(objects[i].layers & layers))
			continue;
		if (objects[i].whole && (!(objects[i].layers & p->opts.whole) || p->lacks))
			continue;
		if (i == OBJECT_VFS && !vfs_choose(p))
			continue;
		if (p->lacks) {
			err = objects_reduce(p, i);
			if (err)
				return err;
			continue;
		}
		if (objects[i].fs && !fs_is_mounted(objects[i].fs)) {
			objects_wait(p, i);
			continue;
		}
		p->obj[i] = object_open(p, i);
		if (!p->obj[i])
			return -EINVAL;
	}
	err = maps_plan(p) ?: objects_load(p);
	if (err)
		return err;
	for (size_t i = 0; i < n_objects; i++)
		if (p->obj[i])
			(i == OBJECT_VFS ? vfs_attach : object_attach)(p, p->obj[i]);
	for (size_t i = 0; i < n_objects; i++)
		if (p->obj[i])
			copies_attach(p, p->obj[i]);
	if (probes_over(p))
		return -EINTR;
	for (size_t i = 0; i < n_programs; i++)
		if (!p->info[i].chosen && !p->info[i].reason)
			program_refuse(p, programs[i].name,
				programs[i].reduced && !p->lacks ? NOT_NEEDED :
				programs[i].whole ? ONLY_WHOLE : NOT_ASKED);
	programs_name_others(p);
	err = ring_open(&p->ring, map_fd(p, "ring"), bpf_map__max_entries(map_of(p, "ring")));
	if (!err)
		err = ring_open(&p->names, map_fd(p, "names"),
			bpf_map__max_entries(map_of(p, "names")));
	if (err)
		return fail(err, "cannot map the ring");
	return maps_check(p) ?: map_tables(p) ?: map_sums(p) ?:
		event_batch_open(&p->batches, map_fd(p, "packs"), p->opts.events ? p->cpus : 0);
}

int probes_open(struct probes **out, const struct probe_opts *opts)
{
	struct probes *p = calloc(1, sizeof(*p));
	int err;

	*out = p;
	if (!p)
		return fail(ENOMEM, "probes");
	p->opts = *opts;
	libbpf_listen(opts->verbose);
	mallopt(M_ARENA_MAX, 1); /* one arena: memory that one thread frees serves the other */
	functions_begin(p);
	err = types_begin(p) ?: open_all(p);
	for (size_t i = 0; err && i < n_programs; i++)
		if (!p->info[i].chosen && !p->info[i].reason)
			program_refuse(p, programs[i].name, "not tried");
	return err;
}

int probes_look(struct probes **out)
{
	struct probes *p = calloc(1, sizeof(*p));
	int err;

	*out = p;
	if (!p)
		return fail(ENOMEM, "probes");
	p->looks = true;
	p->opts.latency = LATENCY_ALL;
	libbpf_listen(0);
	functions_begin(p);
	err = types_begin(p) ?: prepare(p) ?: objects_look(p);
	if (!err)
		programs_name_others(p);
	functions_wait(p);
	return err;
}

size_t probes_list(const struct probes *p, const struct probe_info **list)
{
	*list = p->info;
	return n_programs;
}

u64 probes_ring_bytes(const struct probes *p)
{
	return bpf_map__max_entries(map_of(p, "ring"));
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

/* True when the full tier needs the program, or with --light that tier, and it is not attached. A
 * program of a file system that was not mounted is not lacking: it would have had nothing to
 * see. */
static bool is_lacking(const struct probes *p, size_t row)
{
	return program_lacks(p, row) && strcmp(p->info[row].reason, NOT_MOUNTED);
}

const struct probe_info *probes_refused(const struct probes *p)
{
	for (size_t i = 0; i < n_programs; i++)
		if (is_lacking(p, i) && strcmp(p->info[i].reason, NOT_ASKED))
			return &p->info[i];
	return NULL;
}

const char *probes_hidden(const struct probes *p)
{
	return p->hidden[0] ? p->hidden : NULL;
}

/* True when a program of the feed is attached. *row: that of its first program. */
static bool is_fed(const struct probes *p, const struct feed *f, int *row)
{
	bool fed = false;

	for (size_t i = N_OF(f->programs); i--;) {
		if (!f->programs[i])
			continue;
		*row = program_row(f->programs[i]);
		fed |= p->info[*row].chosen;
	}
	return fed;
}

bool probes_chosen(const struct probes *p, const char *program)
{
	return p->info[program_row(program)].chosen;
}

const struct probe_info *probes_unfed(const struct probes *p, int layer)
{
	int row = 0;

	for (size_t i = 0; i < n_feeds; i++)
		if (feeds[i].layer == layer && !is_fed(p, &feeds[i], &row))
			return &p->info[row];
	return NULL;
}

bool probes_feed(int layer)
{
	for (size_t i = 0; i < n_feeds; i++)
		if (feeds[i].layer == layer)
			return true;
	return false;
}

/* True when the program serves only another file system: program names begin with the file
 * system's. */
static bool is_for_other(const char *program, const char *fs)
{
	for (size_t i = 0; i < n_objects; i++) {
		const char *other = objects[i].name;

		if (strncmp(other, FS_OBJECT, strlen(FS_OBJECT)))
			continue;
		other += strlen(FS_OBJECT);
		if (strcmp(other, fs) && !strncmp(program, other, strlen(other)) &&
		    !strncmp(program + strlen(other), "__", 2))
			return true;
	}
	return false;
}

const char *probes_system(const struct probes *p, size_t n, const struct probe_info **lacking)
{
	const char *fs = NULL;

	for (size_t i = 0; i < n_objects && !fs; i++)
		if (!strncmp(objects[i].name, FS_OBJECT, strlen(FS_OBJECT)) && !n--)
			fs = objects[i].name + strlen(FS_OBJECT);
	*lacking = NULL;
	for (size_t i = 0; fs && i < n_programs && !*lacking; i++)
		if (program_lacks(p, i) && !is_for_other(programs[i].name, fs))
			*lacking = &p->info[i];
	return fs;
}

const char *probes_lacks(const struct probes *p)
{
	return p->lacks;
}

const char *probes_tier(const struct probes *p)
{
	if (p->hidden[0] || p->lacks)
		return "reduced";
	for (size_t i = 0; i < n_programs; i++)
		if (is_lacking(p, i))
			return "reduced";
	return p->opts.light ? "light" : "full";
}

int probes_want_pid(struct probes *p, u32 pid)
{
	u32 one = 1;
	int err = bpf_map_update_elem(map_fd(p, "want_pids"), &pid, &one, BPF_ANY);

	return err ? fail(err, "cannot follow process %u", pid) : 0;
}

int probes_want_group(struct probes *p, u64 group, const char *path)
{
	u64 hash = hash_bytes(HASH_START, path, strlen(path));
	u32 one = 1;
	int err = bpf_map_update_elem(map_fd(p, "want_groups"), &group, &one, BPF_ANY) ?:
		bpf_map_update_elem(map_fd(p, "want_paths"), &hash, &one, BPF_ANY);

	return err ? fail(err, "cannot follow the control group %s", path) : 0;
}

void probes_hold(struct probes *p, u32 dev, u32 logical, u32 cached)
{
	struct iot_held h = { .logical = logical, .cached = cached };
	int fd = map_fd(p, "held");

	if (fd >= 0)
		bpf_map_update_elem(fd, &dev, &h, BPF_ANY);
	if (p->state) /* bios may be passed on without a tracepoint */
		p->state->passes = 1;
}

void probes_want_device(struct probes *p, u32 dev)
{
	int fd = map_fd(p, "on_disk");
	u32 one = 1;

	if (fd >= 0)
		bpf_map_update_elem(fd, &dev, &one, BPF_ANY);
}

static size_t on_record(void *arg, const void *data)
{
	struct probes *p = arg;
	const struct probe_callbacks *cb = p->callbacks;

	switch (*(const u32 *)data) {
	case RING_PACK:
		return event_batch_take(&p->batches, data, cb->event, cb->arg);
	case RING_EVENT:
		cb->event(cb->arg, &((const struct iot_ring_event *)data)->e);
		break;
	case RING_PROCESS:
		cb->process(cb->arg, data);
		break;
	case RING_PATH:
		cb->path(cb->arg, data);
		break;
	case RING_CALL_PATH:
		cb->call_path(cb->arg, data);
		break;
	}
	return 1;
}

size_t probes_consume(struct probes *p, const struct probe_callbacks *cb)
{
	p->callbacks = cb;
	late_share(p);
	/* processes and paths are sent before the events that name them: only events that were
	 * there before those are read are taken */
	event_batch_mark(&p->batches);
	u64 end = ring_end(p->ring);
	size_t n = ring_take(p->names, PROBES_TAKE, ring_end(p->names), on_record, p), more = 0;

	if (n < PROBES_TAKE)
		more = ring_take(p->ring, PROBES_TAKE, end, on_record, p);
	if (n < PROBES_TAKE && ring_at(p->ring) == end)
		event_batch_take_rest(&p->batches, cb->event, cb->arg);
	return n > more ? n : more;
}

int probes_start(struct probes *p, u64 *start_ns)
{
	program_call_each(p, "cache__stock");
	p->state->boot_ns = clock_now(CLOCK_BOOTTIME);
	p->state->start_ns = *start_ns = clock_now(CLOCK_MONOTONIC);
	__atomic_store_n(&p->state->gate, 1, __ATOMIC_RELEASE);
	return 0;
}

/* Waits until every program that found the gate open has ended: it may be about to count. */
int probes_stop(struct probes *p)
{
	const struct timespec while_one_runs = { .tv_nsec = 20000000 };

	__atomic_store_n(&p->state->gate, 0, __ATOMIC_RELEASE);
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0)) /* fails where nohz_full is set */
		nanosleep(&while_one_runs, NULL);
	program_call(p, "uring__sweep", NULL, 0);
	program_call(p, "aio__sweep", NULL, 0);
	return 0;
}

void probes_second(struct probes *p)
{
	struct iot_clean_up ask = { .min_age = 3 };
	u32 second = ++p->state->second;

	/* the sweep walks both tables: only when they fill up, and now and then to free the memory
	 * of stale entries */
	if (p->state->writers > p->max_writers / 8 || p->state->claims > p->max_claims / 8 ||
	    !(second % 32))
		program_call(p, "cache__sweep", &ask, sizeof(ask));
}

static void unmap(void *at, size_t bytes)
{
	if (at)
		munmap(at, bytes);
}

void probes_close(struct probes *p)
{
	if (!p)
		return;
	probes_unwatch(p);
	functions_wait(p);
	for (size_t i = 0; i < n_programs; i++)
		bpf_link__destroy(p->link[i]);
	copies_close(p);
	vfs_close(p);
	ring_close(p->ring);
	ring_close(p->names);
	event_batch_close(&p->batches);
	unmap(p->state, sizeof(*p->state));
	unmap((void *)p->sum_slots, sum_slots_bytes(p));
	unmap(p->sum_users, SUM_USERS_BYTES);
	each_end(p, &p->sums);
	each_end(p, &p->cells);
	for (size_t i = 0; i < n_objects; i++)
		bpf_object__close(p->obj[i]);
	types_end(p);
	ops_free(p);
	unmap(p->cell_slots, p->max_cells * sizeof(*p->cell_slots));
	unmap(p->free_cells, p->max_cells * sizeof(*p->free_cells));
	unmap(p->folds, IOT_MAX_FOLDS * sizeof(*p->folds));
	free(p);
}
