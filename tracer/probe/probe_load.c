// SPDX-License-Identifier: GPL-3.0-only
/* probe_load.c - chooses the programs of the kernel side, loads and attaches them.
 *
 * A program is chosen by trying it: one that the kernel refuses is left out with its reason, and
 * the rest is loaded.
 */
#include <errno.h>
#include <malloc.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>
#include "probe_parts.h"

/* Address of variable `name` in the read-only data of an object that is not loaded yet. */
static void *rodata(struct bpf_object *o, const char *name, size_t size)
{
	struct btf *b = bpf_object__btf(o);
	int id = btf__find_by_name_kind(b, ".rodata", BTF_KIND_DATASEC);
	const struct btf_type *t = id > 0 ? btf__type_by_id(b, id) : NULL;
	struct bpf_map *m;

	if (!t)
		return NULL;
	bpf_object__for_each_map(m, o) {
		const char *map_name = bpf_map__name(m);
		size_t have;
		char *base;

		if (!strstr(map_name, ".rodata"))
			continue;
		base = (char *)bpf_map__initial_value(m, &have); /* writable until it is loaded */
		for (int i = 0; i < btf_vlen(t); i++) {
			const struct btf_var_secinfo *v = btf_var_secinfos(t) + i;

			if (!strcmp(btf__name_by_offset(b, btf__type_by_id(b, v->type)->name_off),
			    name) &&
			    v->offset + size <= have)
				return base + v->offset;
		}
	}
	return NULL;
}

static bool layer_asked(const struct probes *p, int layer)
{
	return !p->opts.layers || p->opts.layers & 1u << layer;
}

static bool call_wanted(struct probes *p, const struct iot_config *c, const struct call_row *r)
{
	return r->nr >= 0 && r->nr < IOT_MAX_SYSCALL && (!r->whole || r->whole & p->opts.whole) &&
		(r->call.shape < SHAPE_TO || (c && c->sockets));
}

static void configure_calls(struct probes *p, struct bpf_object *o, const struct iot_config *c)
{
	struct iot_syscall *s = rodata(o, "calls", sizeof(*s) * IOT_MAX_SYSCALL);

	for (const struct call_row *r = call_rows; s && r < call_rows + n_call_rows; r++)
		if (call_wanted(p, c, r))
			s[r->nr] = r->call;
	if (s && c && c->sockets && p->opts.whole >> LAYER_NET & 1)
		net_calls_fill(s);
	args_fill(rodata(o, "call_args", sizeof(struct iot_args) * IOT_MAX_SYSCALL));
	if (s && (p->lacks || !layer_asked(p, LAYER_URING))) /* io_uring must not go unnoticed */
		s[SYS_io_uring_enter].instead = 1;
}

static void configure(struct probes *p, struct bpf_object *o, size_t n)
{
	struct iot_config *c = rodata(o, "cfg", sizeof(*c));
	struct tracepoint fault;

	if (c) {
		c->self_pid = p->self.tgid;
		c->pid_level = p->self.pid_level;
		c->pid_ns = p->self.pid_ns;
		c->mnt_ns = p->self.mnt_ns;
		c->root = p->self.root;
		c->by_pid = p->opts.by_pid;
		c->dev = p->opts.dev;
		c->events = p->opts.events;
		c->by_group = p->opts.by_group;
		c->sockets = sockets_by_call(p);
		c->calls = layer_asked(p, LAYER_SYSCALL);
		c->uring = layer_asked(p, LAYER_URING) || layer_asked(p, LAYER_VFS) ||
			layer_asked(p, LAYER_NET);
		c->twins = p->skips;
		c->copies = p->copies;
		c->preempt_count = p->symbols.preempt_count;
		c->per_cpu_offset = p->symbols.per_cpu_offset;
		c->vmemmap_base = p->symbols.vmemmap_base;
		c->page_offset_base = p->symbols.page_offset_base;
		c->object = n;
		c->max_cells = p->max_cells;
		c->max_writers = p->max_writers;
		c->max_claims = p->max_claims;
		c->bio_bits = __builtin_ctz(p->max_bios / IOT_PLACE_WAYS);
		c->request_bits = __builtin_ctz(p->max_requests / IOT_PLACE_WAYS);
		c->max_urings = p->max_urings;
		c->max_filesums = p->max_filesums;
		c->light = p->opts.light;
		c->whole = p->opts.whole;
		c->cache_sample = p->opts.cache_sample;
		c->hist_kinds = p->hist_kinds;
		c->claims = layer_asked(p, LAYER_CACHE) || layer_asked(p, LAYER_FS) ||
			layer_asked(p, LAYER_BLOCK);
		c->latency = p->opts.latency;
		c->faults = tracepoint_find(p, "mm_filemap_fault", &fault) &&
			tracepoint_args(&fault) == 2;
		c->only = p->opts.only;
		memcpy(c->comm, p->opts.comm, sizeof(c->comm));
		c->comm[sizeof(c->comm) - 1] = '\0';
	}
	configure_calls(p, o, c);
}

/* Gives an object the maps that exist already, and sizes its own. */
static int share_maps(struct probes *p, struct bpf_object *o)
{
	struct bpf_map *m, *have;
	int err;

	bpf_object__for_each_map(m, o) {
		if (bpf_map__is_internal(m))
			continue;
		have = map_of(p, bpf_map__name(m));
		if (map_is_work(m) && !have)
			bpf_map__set_autocreate(m, p->copies);
		if (have) {
			err = bpf_map__reuse_fd(m, bpf_map__fd(have));
			if (err)
				return fail(err, "cannot share map %s", bpf_map__name(m));
		} else {
			size_map(p, m);
		}
	}
	return 0;
}

static void remember_maps(struct probes *p, struct bpf_object *o)
{
	struct bpf_map *m;

	bpf_object__for_each_map(m, o)
		if (!bpf_map__is_internal(m) && bpf_map__fd(m) >= 0 &&
		    !map_of(p, bpf_map__name(m)) && p->n_maps < MAX_MAPS)
			p->maps[p->n_maps++] = m;
}

/* Number of opened objects with a map of this name, without the object of shared maps. */
static int map_users(const struct probes *p, const char *name)
{
	int n = 0;

	for (size_t i = OBJECT_MAPS + 1; i < n_objects; i++)
		n += p->obj[i] && bpf_object__find_map_by_name(p->obj[i], name);
	return n;
}

/* Creates only the shared maps that an object uses. A map of two objects that is not among the
 * shared ones would exist twice. */
int maps_plan(struct probes *p)
{
	struct bpf_map *m;

	bpf_object__for_each_map(m, p->obj[OBJECT_MAPS])
		bpf_map__set_autocreate(m, bpf_map__is_internal(m) ||
			map_users(p, bpf_map__name(m)));
	for (size_t i = OBJECT_MAPS + 1; i < n_objects; i++) {
		if (!p->obj[i])
			continue;
		bpf_object__for_each_map(m, p->obj[i])
			if (!bpf_map__is_internal(m) && map_users(p, bpf_map__name(m)) > 1 &&
			    !bpf_object__find_map_by_name(p->obj[OBJECT_MAPS], bpf_map__name(m)))
				return fail(EINVAL, "map %s of %s is not in maps.bpf.c",
					bpf_map__name(m), objects[i].name);
	}
	return 0;
}

#define SYNC_POINT "/events/syscalls/sys_enter_fsync/id"

/* True when each call of the fsync family has a tracepoint of its own (CONFIG_FTRACE_SYSCALLS). */
static bool has_sync_points(void)
{
	return !access("/sys/kernel/tracing" SYNC_POINT, R_OK) ||
		!access("/sys/kernel/debug/tracing" SYNC_POINT, R_OK);
}

/* True when the program starts the clock of calls that are to be timed: of all, or of syncs. */
static bool clock_asked(const struct probes *p, const char *name)
{
	bool of_all = !strcmp(name, "syscall__enter") || !strcmp(name, "syscall__enter_twin");

	return p->opts.latency &&
		of_all != (p->opts.latency == LATENCY_SYNCS && has_sync_points());
}

static bool is_asked(const struct probes *p, const struct program *g)
{
	if (is_clock(g->name) && !clock_asked(p, g->name))
		return false;
	for (size_t i = 0; p->opts.layers && i < n_wanted_by; i++)
		if (!strcmp(g->layer, wanted_by[i].layer))
			return wanted_by[i].layers & p->opts.layers;
	return true;
}

/* Sets why a program cannot be attached to its tracepoint. Returns false when it can, or nothing is
 * known about it. */
static bool has_other_tracepoint(struct probes *p, const char *target, int args, char *why,
	size_t size)
{
	struct tracepoint t;
	int have;

	if (strncmp(target, TRACEPOINT, strlen(TRACEPOINT)))
		return false;
	if (!tracepoint_find(p, target + strlen(TRACEPOINT), &t)) {
		snprintf(why, size, "%s", !p->vmlinux ? "the kernel's types cannot be read" :
			 p->modules_hidden ?
			 	"no such tracepoint in the kernel's types, and CAP_SYS_ADMIN is missing for those of modules" :
			 "no such tracepoint in the types (BTF) of kernel and modules");
		return true;
	}
	have = tracepoint_args(&t);
	snprintf(why, size, "tracepoint has %d arguments, this probe is for %d", have, args);
	return args && have != args;
}

/* Sets why a program is left out now; "": it is not. */
static void judge(struct probes *p, const struct bpf_program *g, int row, char *why, size_t size)
{
	const struct program *known = &programs[row];

	why[0] = '\0';
	if (!is_asked(p, known))
		snprintf(why, size, NOT_ASKED);
	else if (known->heavy && p->opts.light)
		snprintf(why, size, NOT_LIGHT);
	else if (known->light && !p->opts.light)
		snprintf(why, size, ONLY_LIGHT);
	else if (known->whole && !layer_is_in(known->layer, p->opts.whole))
		snprintf(why, size, ONLY_WHOLE);
	else if (known->twin && !p->skips)
		snprintf(why, size, "this kernel does not skip the first");
	else if (!strcmp(known->layer, "vfs"))
		vfs_judge(p, known->name, why, size);
	else if (!has_other_tracepoint(p, bpf_program__section_name(g), known->args, why, size))
		why[0] = '\0';
}

/* Leaves out programs that were refused before, and those that this kernel cannot have: an attempt
 * would fail, and the rest would have to be loaded again. */
static void choose(struct probes *p, struct bpf_object *o)
{
	struct bpf_program *g;

	bpf_object__for_each_program(g, o) {
		int row = program_row(bpf_program__name(g));
		char why[128] = "";

		if (row >= 0 && !p->info[row].reason) {
			judge(p, g, row, why, sizeof(why));
			if (why[0])
				program_refuse(p, bpf_program__name(g), why);
		}
		if (row < 0 || p->info[row].reason)
			bpf_program__set_autoload(g, false);
	}
}

static void refuse_object(struct probes *p, struct bpf_object *o, const char *why,
	void (*refuse)(struct probes *, const char *, const char *))
{
	struct bpf_program *g;

	bpf_object__for_each_program(g, o) {
		int row = program_row(bpf_program__name(g));

		if (row >= 0 && !p->info[row].reason)
			refuse(p, bpf_program__name(g), why);
	}
}

/* Names the programs of an object, whether it can be loaded or not. */
static int name_programs(struct probes *p, struct bpf_object *o)
{
	struct bpf_program *g;

	bpf_object__for_each_program(g, o) {
		int row = program_row(bpf_program__name(g));

		if (copy_first(bpf_program__name(g), NULL))
			continue;
		if (row < 0)
			return fail(EINVAL, "program %s has no row in the table",
				bpf_program__name(g));
		snprintf(p->target[row], sizeof(p->target[row]), "%s",
			bpf_program__section_name(g));
		p->info[row].target = p->target[row];
	}
	return 0;
}

static struct bpf_object *parse(struct probes *p, size_t n, const char *data, const char *end)
{
	/* With a custom path libbpf does not ask for the types of modules. Level 4 is
	 * BPF_LOG_STATS. At level 0 libbpf asks for a complete log where a program is refused,
	 * which -v shows. */
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = objects[n].name,
		.btf_custom_path = p->modules_hidden ? TYPES_FILE : NULL,
		    .kernel_log_level = p->opts.counts && !p->opts.verbose ? 4 : 0);
	struct bpf_object *o = bpf_object__open_mem(data, end - data, &opts);

	if (!o) {
		fail(errno, "cannot open object %s", objects[n].name);
		return NULL;
	}
	if (!name_programs(p, o))
		return o;
	bpf_object__close(o);
	return NULL;
}

struct bpf_object *object_open(struct probes *p, size_t n)
{
	const struct object *o = &objects[n];

	if (p->lacks)
		return parse(p, n, o->reduced, o->reduced_end);
	return p->casts ? parse(p, n, o->data, o->end) : parse(p, n, o->no_cast, o->no_cast_end);
}

int objects_reduce(struct probes *p, size_t n)
{
	struct bpf_object *o = parse(p, n, objects[n].data, objects[n].end);
	struct bpf_program *g;

	if (!o)
		return -EINVAL;
	refuse_object(p, o, p->lacks, program_refuse);
	bpf_object__close(o);
	o = objects[n].reduced ? object_open(p, n) : NULL;
	p->obj[n] = o;
	if (!o)
		return objects[n].reduced ? -EINVAL : 0;
	bpf_object__for_each_program(g, o)
		p->info[program_row(bpf_program__name(g))].reason = NULL;
	return 0;
}

static pthread_mutex_t maps_lock = PTHREAD_MUTEX_INITIALIZER;

/* Sets the configuration of an opened object, and gives it the existing maps. */
static int object_set_up(struct probes *p, struct bpf_object *o, size_t n)
{
	int err;

	configure(p, o, n);
	pthread_mutex_lock(&maps_lock);
	err = share_maps(p, o);
	pthread_mutex_unlock(&maps_lock);
	return err;
}

/* Loads one object. A program that the kernel refuses is left out, and the rest is tried again. */
int object_load(struct probes *p, size_t n)
{
	struct complaint *said = libbpf_complaint();
	const char *first;
	char why[256];
	int err, row;

	for (size_t attempt = 0; attempt <= n_programs; attempt++) {
		struct bpf_object *o = p->obj[n] ?: object_open(p, n);

		if (!o)
			return -EINVAL;
		p->obj[n] = o;
		if (probes_over(p))
			return -EINTR;
		choose(p, o);
		copies_choose(p, o);
		err = object_set_up(p, o, n);
		if (err || probes_over(p))
			return err ?: -EINTR;
		*said = (struct complaint){};
		err = bpf_object__load(o);
		if (!err) {
			copies_tell(p, o);
			pthread_mutex_lock(&maps_lock);
			remember_maps(p, o);
			pthread_mutex_unlock(&maps_lock);
			return 0;
		}
		if (probes_over(p)) /* the interruption may be why it failed */
			return -EINTR;
		first = copy_first(said->program, NULL);
		row = program_row(first ?: said->program);
		if (row < 0 || p->info[row].reason) {
			snprintf(why, sizeof(why), "object refused: %s", strerror(-err));
			refuse_object(p, o, why, program_deny);
			/* `info` points to names inside the object: it is kept, unloaded */
			return n == OBJECT_MAPS || n == OBJECT_CALLS ?
				fail(err, "cannot load the kernel side") : 0;
		}
		snprintf(why, sizeof(why), "%s: %s", strerror(-err),
			*said->line ? said->line : said->text);
		if (first)
			p->alone[row] = true;
		else
			program_deny(p, said->program, why);
		p->obj[n] = NULL;
		bpf_object__close(o);
	}
	return -E2BIG;
}

/* Programs that the tracer runs itself are attached to nothing. */
static bool is_called(const struct bpf_program *g)
{
	return bpf_program__type(g) == BPF_PROG_TYPE_SYSCALL ||
		!strcmp(bpf_program__section_name(g), "raw_tp");
}

static void program_attach(struct probes *p, struct bpf_program *g)
{
	int row = program_row(bpf_program__name(g));
	struct bpf_prog_info info = {};
	u32 len = sizeof(info);
	char why[64];

	if (row < 0 || p->info[row].reason || bpf_program__fd(g) < 0 || probes_over(p))
		return;
	if (!bpf_obj_get_info_by_fd(bpf_program__fd(g), &info, &len)) {
		p->info[row].verified = info.verified_insns;
		p->info[row].code_bytes = info.jited_prog_len;
	}
	p->info[row].frame_bytes = libbpf_frame(row);
	if (is_called(g)) {
		p->info[row].chosen = true;
		return;
	}
	p->link[row] = bpf_program__attach(g);
	if (!p->link[row]) {
		snprintf(why, sizeof(why), "cannot attach: %s", strerror(errno));
		program_deny(p, bpf_program__name(g), why);
		return;
	}
	p->info[row].chosen = true;
}

static bool is_end(const struct bpf_program *g)
{
	static const char end[] = "_end";
	const char *name = bpf_program__name(g);
	size_t n = strlen(name);

	return n > strlen(end) && !strcmp(name + n - strlen(end), end);
}

/* A program that sees the end of some work is attached before the one that sees its beginning.
 * Otherwise a kernel thread whose work began and ended in between would be charged with that work
 * for the whole run. */
void object_attach(struct probes *p, struct bpf_object *o)
{
	struct bpf_program *g;

	bpf_object__for_each_program(g, o)
		if (is_end(g))
			program_attach(p, g);
	bpf_object__for_each_program(g, o)
		if (!is_end(g))
			program_attach(p, g);
}

int objects_look(struct probes *p)
{
	struct bpf_program *g;

	for (size_t i = 0; i < n_objects; i++) {
		int err;

		if (i == OBJECT_VFS) /* nothing is traced whole */
			continue;
		err = p->lacks ? objects_reduce(p, i) : 0;
		if (!p->lacks)
			p->obj[i] = object_open(p, i);
		if (err || (!p->lacks && !p->obj[i]))
			return err ?: -EINVAL;
		if (!p->obj[i])
			continue;
		choose(p, p->obj[i]);
		bpf_object__for_each_program(g, p->obj[i]) {
			int row = program_row(bpf_program__name(g));

			if (row >= 0)
				p->info[row].chosen = !p->info[row].reason;
		}
	}
	return 0;
}

/* Objects that threads load in parallel, each the next one. */
struct loading {
	struct probes *p;
	size_t next;
	int err;
	pthread_mutex_t lock;
	sem_t ended;
};

#define LOOK_NS (NSEC / 50)    /* interval of checks for an interruption, if no signal comes, */
/* and of repeated interruptions of the threads: libbpf retries five times */
#define AGAIN_NS (NSEC / 5000)
#define LOADERS 2              /* each holds a copy of the kernel's types: some 15 MiB */

static void *load_next(void *arg)
{
	struct loading *l = arg;
	size_t n;
	int err;

	for (;;) {
		pthread_mutex_lock(&l->lock);
		n = l->next++;
		pthread_mutex_unlock(&l->lock);
		if (n >= n_objects)
			break;
		err = l->p->obj[n] ? object_load(l->p, n) : 0;
		pthread_mutex_lock(&l->lock);
		l->err = l->err ?: err;
		pthread_mutex_unlock(&l->lock);
	}
	sem_post(&l->ended);
	return NULL;
}

/* The signal comes to this thread, which passes it to all loading threads: each is interrupted in
 * its own program. */
static void join_loaders(struct loading *l, const pthread_t *thread, int n)
{
	struct timespec until;
	int ended = 0;

	while (ended < n) {
		bool over = probes_over(l->p);

		for (int i = 0; over && i < n; i++)
			pthread_kill(thread[i], SIGALRM);
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += over ? AGAIN_NS : LOOK_NS;
		until.tv_sec += until.tv_nsec / NSEC;
		until.tv_nsec %= NSEC;
		ended += !sem_clockwait(&l->ended, CLOCK_MONOTONIC, &until);
	}
	while (n)
		pthread_join(thread[--n], NULL);
}

/* Loads all objects but the maps, which are loaded, in several threads. Returns 0 or the first
 * error. */
static int load_side_by_side(struct probes *p)
{
	struct loading l = { .p = p, .next = OBJECT_MAPS + 1, .lock = PTHREAD_MUTEX_INITIALIZER };
	pthread_t thread[LOADERS];
	int n = 0;

	sem_init(&l.ended, 0, 0);
	while (n < LOADERS && !thread_begin(&thread[n], load_next, &l, true))
		n++;
	if (n)
		join_loaders(&l, thread, n);
	else
		load_next(&l);
	sem_destroy(&l.ended);
	return l.err;
}

/* Loads the opened objects. The verifier follows every path of every program: this takes most of
 * the time until a run begins. */
int objects_load(struct probes *p)
{
	int err = object_load(p, OBJECT_MAPS);

	if (err)
		return err;
	functions_tell(p); /* the configuration of the others depends on it */
	err = load_side_by_side(p);
	types_drop(p);
	return err;
}
