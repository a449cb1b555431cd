// SPDX-License-Identifier: GPL-3.0-only
/* aggregate.c - aggregates of one second: their sums minus those of a second ago. Aggregates of
 * ended processes are given back to the kernel side (probe.h), so that its table holds live ones.
 *
 * Memory is by number of aggregate, as many as the kernel side can have (2.5 MiB), however long the
 * run is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "aggregate.h"
#include "hash.h"
#include "tracer.h"

#define GRACE_NS (NSEC / 2) /* longer than any program that had found an aggregate runs */

struct slot {
	struct iot_cell_key key;
	struct iot_cell now, given;
	u64 closed_ns;          /* since when no program finds it; 0: open */
	bool fresh;             /* it was read in this round */
	bool quiet;             /* and had not changed */
};

/* Additions of a round for owners whose sums go to another one, by that one's key: many small
 * processes make few records. */
struct sum {
	struct iot_cell_key key;
	bool used;
	struct iot_cell added;
};
#define SUMS (2 * IOT_MAX_CELLS) /* a power of two */

struct aggregates {
	struct slot slot[IOT_MAX_CELLS];
	u32 n;                  /* numbers that were ever used */
	u64 device_ops;         /* of aggregates that were given back */
	u32 past[256];          /* devices of those */
	struct aggregate_devices past_devices;
	bool by_disk;
	struct sum sums[SUMS];
	u32 used[IOT_MAX_CELLS]; /* positions in `sums` */
	size_t n_used;
};

static const u8 kind_layers[] = {
#define KIND(sym, layer, name, dir, text, doc) [KIND_##sym] = LAYER_##layer,
#include "kinds.def"
};

int aggregate_new(struct aggregates **out, bool by_disk)
{
	struct aggregates *c = calloc(1, sizeof(*c));

	*out = c;
	if (!c)
		return fail(ENOMEM, "aggregates");
	c->past_devices = (struct aggregate_devices){ .devs = c->past, .room = N_OF(c->past) };
	c->by_disk = by_disk;
	return 0;
}

void aggregate_free(struct aggregates *c)
{
	free(c);
}

void aggregate_begin(struct aggregates *c)
{
	for (u32 i = 0; i < c->n; i++)
		c->slot[i].fresh = false;
}

void aggregate_keep(void *arg, u32 number, const struct iot_cell_key *key,
	const struct iot_cell *now)
{
	struct aggregates *c = arg;
	struct slot *s = &c->slot[number];

	s->key = *key;
	s->now = *now;
	s->fresh = true;
	if (number >= c->n)
		c->n = number + 1;
}

static bool has_news(const struct slot *s)
{
	return s->fresh && memcmp(&s->now, &s->given, sizeof(s->now));
}

void aggregate_bytes(const struct aggregates *c, void (*owner)(void *arg, u32 owner, u64 bytes),
	void *arg)
{
	for (u32 i = 0; i < c->n; i++)
		if (has_news(&c->slot[i]))
			owner(arg, c->slot[i].key.owner,
				c->slot[i].now.bytes - c->slot[i].given.bytes);
}

static int give_one(const struct iot_cell_key *key, const struct iot_cell *v, u64 sec,
	aggregate_give *give, void *arg)
{
	struct rec_agg r = {
		.sec = sec, .kind = key->kind, .owner = key->owner, .dev = key->dev,
			.cause = key->cause,
		.how = key->how, .sub = key->sub, .flags = key->flags & CELL_FLAGS,
		.ops = v->ops, .errors = v->errors, .bytes = v->bytes, .touched = v->touched,
		.lat_ns = v->lat_ns, .max_ns = v->max_ns,
	};

	rec_set(&r, agg, timed, v->timed);
	if (key->dev)
		rec_set(&r, agg, dev, key->dev);
	if (key->flags >> CELL_CARRIER_SHIFT)
		rec_set(&r, agg, carrier, key->flags >> CELL_CARRIER_SHIFT);
	if ((u8)(key->flags >> CELL_OP_SHIFT))
		rec_set(&r, agg, op, (u8)(key->flags >> CELL_OP_SHIFT));
	return give(arg, &r);
}

static struct sum *sum_of(struct aggregates *c, const struct iot_cell_key *key)
{
	size_t i;

	for (i = hash_bytes(HASH_START, key, sizeof(*key)) % SUMS; c->sums[i].used;
	    i = (i + 1) % SUMS)
		if (!memcmp(&c->sums[i].key, key, sizeof(*key)))
			return &c->sums[i];
	c->sums[i] = (struct sum){ .key = *key, .used = true };
	c->used[c->n_used++] = i;
	return &c->sums[i];
}

static void add(struct iot_cell *sum, const struct iot_cell *v)
{
	sum->ops += v->ops;
	sum->errors += v->errors;
	sum->bytes += v->bytes;
	sum->touched += v->touched;
	sum->timed += v->timed;
	sum->lat_ns += v->lat_ns;
	if (v->max_ns > sum->max_ns)
		sum->max_ns = v->max_ns;
}

static int take_slot(struct aggregates *c, struct slot *s, u64 sec, aggregate_owner *owner,
	aggregate_give *give, void *arg)
{
	const struct iot_cell *now = &s->now, *was = &s->given;
	struct iot_cell added = {
		.ops = now->ops - was->ops, .errors = now->errors - was->errors,
			.bytes = now->bytes - was->bytes,
		.touched = now->touched - was->touched, .timed = now->timed - was->timed,
		.lat_ns = now->lat_ns - was->lat_ns,
		.max_ns = now->max_ns,
	};
	struct iot_cell_key key = s->key;

	key.owner = owner(arg, key.owner);
	if (key.owner == AGGREGATE_WAIT)
		return 0;
	s->given = *now;
	if (key.owner == s->key.owner)
		return give_one(&key, &added, sec, give, arg);
	add(&sum_of(c, &key)->added, &added);
	return 0;
}

int aggregate_take(struct aggregates *c, u64 sec, aggregate_owner *owner, aggregate_give *give,
	void *arg)
{
	int err = 0;

	for (u32 i = 0; i < c->n && !err; i++) {
		c->slot[i].quiet = !has_news(&c->slot[i]);
		if (!c->slot[i].quiet)
			err = take_slot(c, &c->slot[i], sec, owner, give, arg);
	}
	for (size_t i = 0; i < c->n_used; i++) {
		struct sum *sum = &c->sums[c->used[i]];

		err = err ? err : give_one(&sum->key, &sum->added, sec, give, arg);
		sum->used = false;
	}
	c->n_used = 0;
	return err;
}

static bool is_device_op(const struct iot_cell_key *key)
{
	u8 layer = key->kind < KIND_MAX ? kind_layers[key->kind] : LAYER_NONE;

	return key->owner != PROC_SELF && key->owner != PROC_OTHER &&
		(layer == LAYER_BLOCK || layer == LAYER_FS);
}

void aggregate_add_device(struct aggregate_devices *l, u32 owner, u32 dev)
{
	size_t i;

	if (owner < PROC_FIRST)
		return;
	for (i = 0; i < l->n && l->devs[i] != dev; i++)
		;
	if (dev && i == l->n && l->n < l->room)
		l->devs[l->n++] = dev;
}

static void note_device(struct aggregate_devices *l, const struct iot_cell_key *key, bool by_disk)
{
	u8 layer = key->kind < KIND_MAX ? kind_layers[key->kind] : LAYER_NONE;

	l->raw |= key->owner >= PROC_FIRST && key->sub == SUB_FT_BLK;
	if (by_disk || (layer != LAYER_BLOCK && layer != LAYER_FS))
		aggregate_add_device(l, key->owner, key->dev);
}

static void forget(struct aggregates *c, struct probes *p, u32 number)
{
	struct slot *s = &c->slot[number];

	if (is_device_op(&s->key))
		c->device_ops += s->given.ops;
	note_device(&c->past_devices, &s->key, c->by_disk);
	memset(s, 0, sizeof(*s));
	probes_cell_free(p, number);
}

void aggregate_collect(struct aggregates *c, struct probes *p,
	bool (*over)(void *arg, u32 owner, bool quiet), void *arg)
{
	u64 now = clock_now(CLOCK_MONOTONIC);

	for (u32 i = 0; i < c->n; i++) {
		struct slot *s = &c->slot[i];

		if (!s->fresh)
			continue;
		if (!s->closed_ns && over(arg, s->key.owner, s->quiet) && probes_cell_close(p, i))
			s->closed_ns = now;
		else if (s->closed_ns && s->quiet && now - s->closed_ns >= GRACE_NS)
			forget(c, p, i);
	}
}

u64 aggregate_device_ops(const struct aggregates *c)
{
	u64 ops = c->device_ops;

	for (u32 i = 0; i < c->n; i++)
		if (c->slot[i].fresh && is_device_op(&c->slot[i].key))
			ops += c->slot[i].now.ops;
	return ops;
}

void aggregate_devices(const struct aggregates *c, struct aggregate_devices *l)
{
	l->raw |= c->past_devices.raw;
	for (size_t i = 0; i < c->past_devices.n; i++)
		aggregate_add_device(l, PROC_FIRST, c->past_devices.devs[i]);
	for (u32 i = 0; i < c->n; i++)
		if (c->slot[i].fresh)
			note_device(l, &c->slot[i].key, c->by_disk);
}
