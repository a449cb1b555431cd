// SPDX-License-Identifier: GPL-3.0-only
/* cells.c - aggregates of one second: sums since the start, minus what they were a second ago.
 *
 * A hash table remembers the sums of each aggregate; it holds as many as the kernel side can have (about 5 MiB) and
 * so never grows while recording.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cells.h"
#include "tracer.h"

#define SLOTS (2 * IOT_MAX_CELLS) /* a power of two */

struct slot {
	struct iot_cell_key key;
	bool used;
	struct iot_cell sum;
};

struct cells {
	struct slot *slots;
	u64 sec;
	cells_give *give;
	void *arg;
	int err;
};

static const u8 kind_layers[] = {
#define KIND(sym, layer, name, dir, text, doc) [KIND_##sym] = LAYER_##layer,
#include "kinds.def"
};

int cells_new(struct cells **out)
{
	struct cells *c = calloc(1, sizeof(*c));

	*out = c;
	if (c)
		c->slots = calloc(SLOTS, sizeof(*c->slots));
	return c && c->slots ? 0 : fail(ENOMEM, "aggregates");
}

void cells_free(struct cells *c)
{
	if (c)
		free(c->slots);
	free(c);
}

static struct slot *find_slot(struct cells *c, const struct iot_cell_key *key)
{
	const u8 *p = (const u8 *)key;
	u64 h = 14695981039346656037ull; /* FNV-1a */
	size_t i;

	for (i = 0; i < sizeof(*key); i++)
		h = (h ^ p[i]) * 1099511628211ull;
	for (i = h % SLOTS; c->slots[i].used; i = (i + 1) % SLOTS)
		if (!memcmp(&c->slots[i].key, key, sizeof(*key)))
			break;
	return &c->slots[i];
}

static void take(void *arg, const struct iot_cell_key *key, const struct iot_cell *now)
{
	struct cells *c = arg;
	struct slot *s = find_slot(c, key);
	struct rec_agg r = {
		.sec = c->sec, .kind = key->kind, .owner = key->owner, .dev = key->dev, .cause = key->cause,
		.how = key->how, .sub = key->sub, .flags = key->flags,
		.ops = now->ops - s->sum.ops, .errors = now->errors - s->sum.errors, .bytes = now->bytes - s->sum.bytes,
		.touched = now->touched - s->sum.touched, .lat_ns = now->lat_ns - s->sum.lat_ns, .max_ns = now->max_ns,
	};

	if (!memcmp(now, &s->sum, sizeof(*now)) || c->err)
		return;
	rec_set(&r, agg, timed, now->timed - s->sum.timed);
	s->key = *key;
	s->used = true;
	s->sum = *now;
	if (key->dev)
		rec_set(&r, agg, dev, key->dev);
	c->err = c->give(c->arg, &r);
}

int cells_take(struct cells *c, struct probes *p, u64 sec, cells_give *give, void *arg)
{
	int err;

	c->sec = sec;
	c->give = give;
	c->arg = arg;
	c->err = 0;
	err = probes_cells(p, take, c);
	return err ? err : c->err;
}

static void count_ops(void *arg, const struct iot_cell_key *key, const struct iot_cell *now)
{
	u8 layer = key->kind < KIND_MAX ? kind_layers[key->kind] : LAYER_NONE;

	if (key->owner != PROC_SELF && key->owner != PROC_OTHER && (layer == LAYER_BLOCK || layer == LAYER_FS))
		*(u64 *)arg += now->ops;
}

u64 cells_device_ops(struct probes *p)
{
	u64 ops = 0;

	probes_cells(p, count_ops, &ops);
	return ops;
}

struct device_list {
	u32 *devs;
	size_t n, room;
	bool raw;
};

static void note_device(void *arg, const struct iot_cell_key *key, const struct iot_cell *now)
{
	struct device_list *l = arg;
	size_t i;

	if (key->owner < PROC_FIRST)
		return;
	l->raw |= key->sub == SUB_FT_BLK;
	for (i = 0; i < l->n && l->devs[i] != key->dev; i++)
		;
	if (key->dev && i == l->n && l->n < l->room)
		l->devs[l->n++] = key->dev;
}

size_t cells_devices(struct probes *p, u32 *devs, size_t room, bool *raw)
{
	struct device_list l = { .devs = devs, .room = room };

	probes_cells(p, note_device, &l);
	*raw = l.raw;
	return l.n;
}
