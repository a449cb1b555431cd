// SPDX-License-Identifier: GPL-3.0-only
/* probe_maps.c - the tables of the kernel side: by name, and how large they are. */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "probe_parts.h"

#define DEFAULT_RING (16u << 20)

struct bpf_map *map_of(const struct probes *p, const char *name)
{
	for (size_t i = 0; i < p->n_maps; i++)
		if (!strcmp(bpf_map__name(p->maps[i]), name))
			return p->maps[i];
	return NULL;
}

int map_fd(const struct probes *p, const char *name)
{
	struct bpf_map *m = map_of(p, name);

	return m ? bpf_map__fd(m) : -ENOENT;
}

/* Tables whose size is that of another, or a part of it. */
static const struct {
	const char *map, *as;
	u32 part;
} sized_as[] = {
	{ "cell_index", "cells", 1 },
	{ "cell_keys", "cells", 1 },
	{ "free_cells", "cells", 1 },
	{ "bio_sets", "bios", IOT_PLACE_WAYS },
	{ "request_sets", "requests", IOT_PLACE_WAYS },
};

/* The size that was asked for a table by the name of its map; 0 none. */
u32 map_asked(const struct probes *p, const char *map)
{
	u32 part = 1;

	for (size_t i = 0; i < sizeof(sized_as) / sizeof(*sized_as); i++) {
		if (strcmp(map, sized_as[i].map))
			continue;
		map = sized_as[i].as;
		part = sized_as[i].part;
		break;
	}
	for (size_t i = 0; i < p->opts.n_tables; i++)
		if (!strcmp(map, p->opts.tables[i].name))
			return (p->opts.tables[i].entries + part - 1) / part;
	return 0;
}

/* Does it say the size of others? Then it is an array whose size can be set. */
static bool sizes_others(const char *map)
{
	for (size_t i = 0; i < sizeof(sized_as) / sizeof(*sized_as); i++)
		if (!strcmp(map, sized_as[i].as))
			return true;
	return false;
}

void size_map(struct probes *p, struct bpf_map *m)
{
	const char *name = bpf_map__name(m);
	u32 entries = map_asked(p, name);

	if (!strcmp(name, "ring"))
		entries = !p->opts.events ? (u32)sysconf(_SC_PAGESIZE) : p->opts.ring_bytes ? p->opts.ring_bytes : DEFAULT_RING;
	if (!strcmp(name, "packs") && p->opts.events)
		entries = p->cpus;
	if (entries)
		bpf_map__set_max_entries(m, entries);
}

/* Every table that was given a size must be there, and be one that can have another. */
int maps_check(const struct probes *p)
{
	for (size_t i = 0; i < p->opts.n_tables; i++) {
		const char *name = p->opts.tables[i].name;
		struct bpf_map *m = map_of(p, name);
		enum bpf_map_type type = m ? bpf_map__type(m) : BPF_MAP_TYPE_UNSPEC;

		if (type != BPF_MAP_TYPE_HASH && type != BPF_MAP_TYPE_LRU_HASH && (!m || !sizes_others(name)))
			return fail(ENOENT, "there is no table '%s' whose size can be set", name);
	}
	return 0;
}
