// SPDX-License-Identifier: GPL-3.0-only
/* describe.c - run, probe, lost and end records, and the table of --probes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "describe.h"
#include "kernel_counters.h"

#define COMMAND_MAX 4096

static const char *const latencies[] = { [LATENCY_NONE] = "none", [LATENCY_SYNCS] = "syncs",
	[LATENCY_SAMPLED] = "sampled", [LATENCY_ALL] = "all" };

static const char *const layer_names[] = {
#define LAYER(sym, name, text, doc) [LAYER_##sym] = name,
#include "kinds.def"
};

static const struct {
	const char *layer, *what, *effect;
} losses[] = {
#define LOSS(sym, layer, what, effect, spoils) [LOSS_##sym] = { layer, what, effect },
#include "kinds.def"
};

static const struct {
	const char *name;
	u8 kind;
} operations[] = {
#define KIND(sym, layer, name, dir, text, doc) { LAYER_##layer == LAYER_VFS ? name : NULL, \
	KIND_##sym },
#include "kinds.def"
};

static bool wanted(const struct options *o, int layer)
{
	return !o->layers || o->layers & 1u << layer;
}

static bool layer_has(const struct probes *p, const char *layer, bool chosen)
{
	const struct probe_info *list;
	size_t n = probes_list(p, &list);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i].layer, layer) && (list[i].chosen || !chosen))
			return true;
	return false;
}

#define RING_HEADER 8          /* bytes that the kernel puts before each record of a ring */
#define RING_MOST (1ull << 30) /* largest value of --ring */
#define MAX_INDIRECT 64

/* Facts about a run in addition to its probes, in rows like those of probes. */
struct said {
	struct probe_info rows[MAX_INDIRECT];
	size_t n;
	char names[MAX_INDIRECT][32], reasons[MAX_INDIRECT][256];
};

static void say(struct said *s, const char *name, const char *of, const char *layer,
	const char *target, bool chosen, const char *reason)
{
	size_t n = s->n;

	if (n == MAX_INDIRECT)
		return;
	snprintf(s->names[n], sizeof(s->names[n]), "%s__%s", name, of);
	snprintf(s->reasons[n], sizeof(s->reasons[n]), "%s", reason ?: "");
	s->rows[n] = (struct probe_info){ s->names[n], layer, target, chosen,
		reason ? s->reasons[n] : NULL };
	s->n++;
}

/* Adds a row layer__NAME for each layer that was asked for and is not measured because a program is
 * missing. */
static void say_layers(struct said *s, const struct probes *p, const struct options *o)
{
	const struct probe_info *missing;
	char why[256];

	for (size_t i = LAYER_NONE + 1; i < LAYER_MAX; i++) {
		missing = wanted(o, i) ? probes_unfed(p, i) : NULL;
		if (!missing)
			continue;
		snprintf(why, sizeof(why), "%s: %s", missing->name, missing->reason);
		say(s, "layer", layer_names[i], layer_names[i], missing->target, false, why);
	}
	if (wanted(o, LAYER_NET) && probes_lacks(p))
		say(s, "layer", "net", "net", "-", false, probes_lacks(p));
	missing = probes_unfed(p, LAYER_FS);
	if (wanted(o, LAYER_BLOCK) && !probes_unfed(p, LAYER_BLOCK) && missing) {
		snprintf(why, sizeof(why), "nobody is known as an owner of device bytes: %s",
			missing->reason);
		say(s, "block", "owners", "block", missing->target, false, why);
	}
}

/* Adds a row tier__NAME for each file system that has programs of its own. */
static void say_systems(struct said *s, const struct probes *p, const struct options *o)
{
	const struct probe_info *lacking;
	const char *fs;

	for (size_t i = 0; wanted(o, LAYER_FS) && (fs = probes_system(p, i, &lacking)); i++)
		say(s, "tier", fs, "fs", fs, !lacking, lacking ? lacking->reason : NULL);
}

/* Adds a row operation__NAME for each operation of the VFS that no attached program measures. */
static void say_operations(struct said *s, const struct probes *p)
{
	const char *why;

	for (size_t i = 0; i < N_OF(operations); i++)
		if (operations[i].name && !probes_vfs_has(p, operations[i].kind, &why))
			say(s, "operation", operations[i].name, "vfs", "syscall,uring", false, why);
}

/* Adds a row vfs__derived where no program measures the VFS, whose figures come from calls then. */
static void say_vfs(struct said *s, const struct probes *p, const struct options *o)
{
	char reason[sizeof(s->reasons[0])];
	const char *why;

	if (!wanted(o, LAYER_VFS))
		return;
	if (probes_vfs(p, &why)) {
		say_operations(s, p);
		return;
	}
	snprintf(reason, sizeof(reason), "%.160s: derived from the calls, and marked so",
		*why ? why : "no probe of its own");
	say(s, "vfs", "derived", "vfs", "syscall,uring", false, reason);
}

/* True for programs that are listed one by one: those of the VFS are not where none is attached. */
static bool is_listed(const struct probes *p, const struct probe_info *i)
{
	const char *why;

	return !probes_is_vfs(i) || probes_vfs(p, &why);
}

/* Adds rows for layers without probes of their own, whose figures come from other layers: the VFS,
 * and sockets where the kernel has no tracepoints for their bytes. */
static void indirect(const struct probes *p, const struct options *o, struct said *s)
{
	struct probe_info *rows = s->rows;
	size_t n = 0;

	if (probes_sockets(p) == SOCKETS_ALL)
		rows[n++] = (struct probe_info){ "net__by_call", "net", "syscall,uring", true,
			NULL };
	if (probes_hidden(p))
		rows[n++] = (struct probe_info){ "core__functions", "all", probes_hidden(p), false,
			"addresses hidden (kernel.kptr_restrict): " PROBES_HIDDEN_MEANS };
	s->n = n;
	say_vfs(s, p, o);
	say_layers(s, p, o);
	say_systems(s, p, o);
}

/* net__state only tells the side of a connection: it measures no bytes. */
static bool layer_measured(const struct probes *p, size_t layer)
{
	if (probes_feed(layer))
		return !probes_unfed(p, layer);
	return layer_has(p, layer_names[layer], true) &&
		(layer != LAYER_NET || probes_sockets(p) != SOCKETS_NONE);
}

static void measured_layers(const struct probes *p, const struct options *o, char *buf)
{
	buf[0] = '\0';
	for (size_t i = LAYER_NONE + 1; i < LAYER_MAX; i++)
		if (wanted(o, i) && layer_measured(p, i))
			strcat(strcat(buf, *buf ? "," : ""), layer_names[i]);
}

static void whole_layers(const struct options *o, char *buf)
{
	buf[0] = '\0';
	for (size_t i = LAYER_NONE + 1; i < LAYER_MAX; i++)
		if (o->whole >> i & 1)
			strcat(strcat(buf, *buf ? "," : ""), layer_names[i]);
}

static int make_uuid(char buf[37])
{
	u8 b[16];

	if (getrandom(b, sizeof(b), 0) != sizeof(b))
		return fail(errno, "cannot get random bytes");
	b[6] = (b[6] & 0x0f) | 0x40; /* version 4 of RFC 4122 */
	b[8] = (b[8] & 0x3f) | 0x80;
	for (int i = 0, at = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			buf[at++] = '-';
		at += sprintf(buf + at, "%02x", b[i]);
	}
	return 0;
}

static void join(char *const *argv, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = '\0';
	for (; *argv && n < size; argv++)
		n += snprintf(buf + n, size - n, "%s%s", n ? " " : "", *argv);
}

int describe_run(struct sink *s, const struct options *o, const struct probes *p, u64 start_ns,
	u64 attach_ns)
{
	char uuid[37], layers[128], whole[128], filters[1024], only[1024], command[COMMAND_MAX];
	time_t now = time(NULL);
	struct utsname u;
	struct tm tm;
	struct rec_run r = {
		.schema = IOT_SCHEMA, .uuid = uuid, .label = o->label, .tool = IOT_VERSION,
			.tier = probes_tier(p),
		.layers = layers, .events = !o->no_events, .settle = o->settle_text,
		.latency = latencies[o->latency],
		.boot_ns = start_ns, .cpus = sysconf(_SC_NPROCESSORS_ONLN),
	};
	int err = make_uuid(uuid);

	if (err)
		return err;
	uname(&u);
	localtime_r(&now, &tm);
	r.host = u.nodename;
	r.kernel = u.release;
	r.machine = u.machine;
	r.utc_offset_s = tm.tm_gmtoff;
	r.wall_ns = clock_wall(start_ns);
	measured_layers(p, o, layers);
	whole_layers(o, whole);
	r.whole = *whole ? whole : NULL;
	if (o->cache_sample > 1)
		rec_set(&r, run, cache_sample, o->cache_sample);
	options_filters(o, filters, sizeof(filters));
	r.filters = *filters ? filters : NULL;
	options_only_events(o, only, sizeof(only));
	if (*only) {
		r.only = only;
		r.events = 2;
	}
	if (o->command) {
		join(o->command, command, sizeof(command));
		r.command = command;
	}
	rec_set(&r, run, map_bytes, probes_map_bytes(p));
	rec_set(&r, run, attach_ns, attach_ns);
	return s->record(s, REC_run, &r);
}

static int describe_probe(struct sink *s, const struct probe_info *i)
{
	struct rec_probe r = { .name = i->name, .layer = i->layer, .target = i->target,
		.chosen = i->chosen, .reason = i->reason };

	return s->record(s, REC_probe, &r);
}

int describe_probes(struct sink *s, const struct probes *p, const struct options *o)
{
	const struct probe_info *list;
	struct said others;
	size_t n = probes_list(p, &list);
	int err = 0;

	indirect(p, o, &others);
	for (size_t i = 0; i < others.n && !err; i++)
		err = describe_probe(s, &others.rows[i]);
	for (size_t i = 0; i < n && !err; i++)
		err = is_listed(p, &list[i]) ? describe_probe(s, &list[i]) : 0;
	return err;
}

/* Numbers that have names, and the layer of their kinds. */
static const struct {
	const char *scope;
	u32 layer;
} ops[OPS_MAX] = {
	[OPS_URING] = { "uring", LAYER_URING },
	[OPS_DROP] = { "drop", LAYER_NET },
};

int describe_op(struct sink *s, const struct probes *p, enum probe_ops which, u32 op)
{
	struct rec_op_name r = { .scope = ops[which].scope, .op = op,
		.name = probes_op(p, which, op) };

	return r.name ? s->record(s, REC_op_name, &r) : 0;
}

int describe_ops(struct sink *s, const struct probes *p, const struct options *o)
{
	int err = 0;

	for (u32 i = 0; i < OPS_MAX; i++)
		for (u32 op = 0; o->whole >> ops[i].layer & 1 && op < 256 && !err; op++)
			err = describe_op(s, p, i, op);
	return err;
}

int describe_late(struct sink *s, const struct probe_info *denied)
{
	char name[32], reason[320];
	struct probe_info late = { name, denied->layer, denied->target, .reason = reason };

	snprintf(name, sizeof(name), "late__%.*s", (int)strcspn(denied->name, "_"), denied->name);
	snprintf(reason, sizeof(reason), "%s: %s", denied->name, denied->reason);
	return describe_probe(s, &late);
}

/* Losses of 0 are written too: that nothing was lost is a fact. */
int describe_losses(struct sink *s, struct probes *p)
{
	u64 n[LOSS_MAX];
	int err = probes_losses(p, n);

	for (size_t i = 0; i < LOSS_MAX && !err; i++) {
		struct rec_lost r = { .layer = losses[i].layer, .what = losses[i].what,
			.effect = losses[i].effect, .n = n[i] };

		err = s->record(s, REC_lost, &r);
	}
	return err;
}

int describe_end(struct sink *s, struct probes *p, const struct run_end *e)
{
	struct rec_end r = { .dur_ns = e->dur_ns, .horizon = e->horizon, .events = e->events };
	struct rusage u;
	u64 n;

	if (e->status >= 0)
		rec_set(&r, end, status, e->status);
	if (e->settle_ns)
		rec_set(&r, end, settle_ns, e->settle_ns);
	if (!kernel_counters_dirty(&n))
		rec_set(&r, end, dirty_bytes, n);
	if (!getrusage(RUSAGE_SELF, &u)) {
		rec_set(&r, end, self_cpu_ns, (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * NSEC +
						      (u.ru_utime.tv_usec +
						      u.ru_stime.tv_usec) * 1000ull);
		rec_set(&r, end, rss_bytes, u.ru_maxrss * 1024ull);
	}
	if (!probes_cpu_ns(p, &n))
		rec_set(&r, end, probe_cpu_ns, n);
	return s->record(s, REC_end, &r);
}

static void print_probe(const struct probe_info *i)
{
	printf("%-9s %-26s %-36s %-8s", i->layer, i->name, i->target, i->chosen ? "yes" : "no");
	if (i->reason)
		printf(" %s", i->reason);
	else if (i->verified)
		printf(" frame: %-4u code: %-6u verified: %u", i->frame_bytes, i->code_bytes,
			i->verified);
	putchar('\n');
}

void print_probes(const struct probes *p, const struct options *o, u64 attach_ns)
{
	const struct probe_info *list;
	struct said others;
	size_t n = probes_list(p, &list);
	struct utsname u;
	u32 verified = 0;

	uname(&u);
	for (size_t i = 0; i < n; i++)
		verified += list[i].verified;
	printf("%-9s %-26s %-36s %-8s %s\n", "LAYER", "PROBE", "TARGET", "CHOSEN", "REASON");
	for (size_t i = 0; i < n; i++)
		if (is_listed(p, &list[i]))
			print_probe(&list[i]);
	indirect(p, o, &others);
	for (size_t i = 0; i < others.n; i++)
		print_probe(&others.rows[i]);
	printf("\nkernel    %s %s\n", u.release, u.machine);
	printf("tier      %s\n", probes_tier(p));
	if (probes_copies(p, 2))
		printf("copies    %zu programs are attached %d times, %zu of them %d times, since this kernel skips the first now and then\n",
			probes_copies(p, 2), IOT_COPIES, probes_copies(p, IOT_COPIES_MOST),
			IOT_COPIES_MOST);
	if (verified)
		printf("verified  %u instructions, on all paths\n", verified);
	printf("memory    %.1f MiB of maps and ring in the kernel\n",
		probes_map_bytes(p) / 1048576.0);
	printf("attached  in %.3f s\n", attach_ns / 1e9);
}

/* Suggests a --ring that would have held the lost events, from the room that they take in it.
 * when: when that is said. */
static void note_ring(u64 ring, u64 events, const char *when)
{
	u64 needs = ring + events * (sizeof(struct iot_ring_event) + RING_HEADER), size = ring;

	while (size < needs || size < 1 << 20)
		size *= 2;
	if (size <= RING_MOST)
		note("%s--ring %lluM had held the %llu events; sums are exact without: --no-events needs none", when,
			(unsigned long long)size >> 20, (unsigned long long)events);
	else
		note("%sno --ring holds %llu events more; sums are exact without: --no-events needs none", when,
			(unsigned long long)events);
}

static u64 lost_events(const u64 n[LOSS_MAX])
{
	u64 events = 0;

	for (size_t i = 0; i < LOSS_MAX; i++)
		events += strcmp(losses[i].what, "ring full") ? 0 : n[i];
	return events;
}

bool note_first_loss(struct probes *p, const u64 n[LOSS_MAX], bool progress)
{
	u64 events = lost_events(n);

	if (!events || !note_can())
		return false;
	if (progress)
		note_progress("\n");
	note_ring(probes_ring_bytes(p), events, "the ring is full: ");
	return true;
}

void note_losses(struct probes *p)
{
	u64 n[LOSS_MAX], sum = 0, events;

	if (probes_losses(p, n))
		return;
	for (size_t i = 0; i < LOSS_MAX; i++) {
		if (n[i])
			note("lost: %s: %s: %llu (%s)", losses[i].layer, losses[i].what,
				(unsigned long long)n[i], losses[i].effect);
		sum += n[i];
	}
	if (sum)
		note("reports print bounds where that matters");
	events = lost_events(n);
	if (events)
		note_ring(probes_ring_bytes(p), events, "");
}
