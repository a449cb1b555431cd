// SPDX-License-Identifier: GPL-3.0-only
/* probe_maps.c - tables of the kernel side: by name, and their sizes. */
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "probe_parts.h"

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

/* Tables whose size follows that of another table. */
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

/* Tables whose size follows the machine. Work in flight, and work of one second, grows with the
 * processors: so much for each. Dirty data grows with memory: an entry for each so many bytes. The
 * size is a power of two. */
static const struct {
	const char *map;
	u32 of_processor, bytes, least, most;
} sized_by_machine[] = {
	{ "ring", 4 << 20, 0, 8 << 20, 16 << 20 },
	{ "names", 1 << 20, 0, 2 << 20, 4 << 20 },
	{ "bios", 1 << 14, 0, 1 << 14, IOT_MAX_BIOS },
	{ "txn_shares", 1 << 14, 0, 1 << 14, 1 << 16 },
	{ "socket_roles", 1 << 13, 0, 1 << 13, 1 << 15 },
	{ "writers", 0, 32 << 10, 1 << 16, IOT_MAX_WRITERS },
	{ "claims", 0, 32 << 10, 1 << 16, IOT_MAX_CLAIMS },
};

/* --light: sizes of tables, by which all maps together take at most 24 MiB on a machine of up to 8
 * processors. Tables of what --light does not record have the least size that there is. */
static const struct {
	const char *map;
	u32 entries;
} sized_by_light[] = {
	{ "hists", IOT_LIGHT_HISTS }, { "names", 1 << 20 }, { "files", 8192 },
	{ "threads", 1 << 15 }, { "quicks", 1 << 13 },
	{ "procs", 8192 }, { "writers", 8192 }, { "bios", 8192 }, { "requests", 4096 },
	{ "txn_shares", 8192 }, { "uppers", 2048 }, { "held", 1024 },
	{ "aios", 4096 }, { "aio_rings", 1024 }, { "aio_times", 32 }, { "urings", 4096 },
	{ "late", 1024 }, { "btrfs_blocks", 4096 }, { "btrfs_extents", 4096 },
	{ "btrfs_inodes", 2048 }, { "xfs_items", 8192 }, { "xfs_inodes", 8192 },
	{ "xfs_checkpoints", 1024 }, { "socket_roles", 32 }, { "flows", 32 },
	{ "claims", 32 }, { "loop_writer", 32 }, { "puts", 32 }, { "puts_rest", 32 },
	{ "ra_chunks", 32 },
};

/* --light: entries of a table that each processor has for itself, of so many bytes. All of them
 * take at most 4 MiB where that leaves 2048. */
static u32 by_processors(const struct probes *p, size_t size)
{
	u32 n = 4096;

	while (n > 2048 && n * size * p->cpus > 4 << 20)
		n /= 2;
	return n;
}

static u32 by_light(const struct probes *p, const char *map)
{
	if (p->opts.light && !strcmp(map, "cells"))
		return by_processors(p, sizeof(struct iot_cell));
	if (p->opts.light && (!strcmp(map, "filesum_slots") || !strcmp(map, "filesum_index")))
		return by_processors(p, sizeof(struct iot_filesum));
	for (size_t i = 0; p->opts.light && i < N_OF(sized_by_light); i++)
		if (!strcmp(map, sized_by_light[i].map))
			return sized_by_light[i].entries;
	return 0;
}

static u32 by_machine(const struct probes *p, const char *map)
{
	u64 memory = (u64)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE), wanted;

	for (size_t i = 0; i < N_OF(sized_by_machine); i++) {
		u32 n = sized_by_machine[i].least;

		if (strcmp(map, sized_by_machine[i].map))
			continue;
		wanted = sized_by_machine[i].bytes ? memory / sized_by_machine[i].bytes :
			(u64)sized_by_machine[i].of_processor * p->cpus;
		while (n < wanted && n < sized_by_machine[i].most)
			n *= 2;
		return n;
	}
	return 0;
}

static u32 size_asked(const struct probes *p, const char *map)
{
	for (size_t i = 0; i < p->opts.n_tables; i++)
		if (!strcmp(map, p->opts.tables[i].name))
			return p->opts.tables[i].entries;
	return 0;
}

/* Entries of a table that is divided into sets: their number is a power of two. */
static u32 whole_sets(u32 entries)
{
	u32 n = IOT_PLACE_WAYS;

	while (n < entries)
		n *= 2;
	return entries ? n : 0;
}

static bool has_sets(const char *map)
{
	return !strcmp(map, "bios") || !strcmp(map, "requests");
}

/* Tables that only a layer that is traced whole uses have the least size else. */
static u32 by_whole(const struct probes *p, const char *map)
{
	static const struct {
		const char *map;
		int layer;
	} rows[] = {
		{ "flow_owners", LAYER_NET }, { "net_closing", LAYER_NET },
		{ "net_connecting", LAYER_NET }, { "net_dropped_of", LAYER_NET },
	};

	for (size_t i = 0; i < N_OF(rows); i++)
		if (!strcmp(map, rows[i].map) && !(p->opts.whole >> rows[i].layer & 1))
			return 32;
	return 0;
}

/* Entries of a table by the name of its map: as asked for, or as this machine needs. 0: as in its
 * object. */
u32 map_entries(const struct probes *p, const char *map)
{
	u32 part = 1, n = size_asked(p, map);

	for (size_t i = 0; i < N_OF(sized_as) && !n; i++) {
		if (strcmp(map, sized_as[i].map))
			continue;
		map = sized_as[i].as;
		part = sized_as[i].part;
		break;
	}
	n = n ?: size_asked(p, map) ?: by_light(p, map) ?: by_whole(p, map) ?: by_machine(p, map);
	if (has_sets(map))
		n = whole_sets(n);
	return n / part;
}

/* True when other tables follow this one: an array whose size can be set. */
static bool sizes_others(const char *map)
{
	for (size_t i = 0; i < N_OF(sized_as); i++)
		if (!strcmp(map, sized_as[i].as))
			return true;
	return false;
}

static u32 ring_size(const struct probes *p)
{
	return !p->opts.events ? (u32)sysconf(_SC_PAGESIZE) : p->opts.ring_bytes ?:
		map_entries(p, "ring");
}

static u32 packs_size(const struct probes *p)
{
	return p->opts.events ? p->cpus : 0;
}

static u32 cells_size(const struct probes *p)
{
	return p->max_cells * p->cpus;
}

static u32 filesums_size(const struct probes *p)
{
	return p->max_filesums * p->cpus;
}

static u32 filesum_free_size(const struct probes *p)
{
	return p->max_filesums + IOT_FILESUM_RESERVE;
}

/* The table is not used where all processes are wanted. */
static u32 want_pids_size(const struct probes *p)
{
	return map_entries(p, "want_pids") ?: (p->opts.by_pid ? 0 : 32);
}

/* The table marks data that was written to a loop device and not yet to the disk below. A loop
 * device that is set up later finds room for 2 GiB of its file. */
static u32 loop_writer_size(const struct probes *p)
{
	u32 asked = map_entries(p, "loop_writer");
	glob_t found = {};
	bool attached = !glob("/sys/block/loop*/loop/backing_file", GLOB_NOSORT, NULL, &found);

	globfree(&found);
	return asked ?: (attached ? 0 : 1 << 15);
}

static u32 hists_size(const struct probes *p)
{
	return map_entries(p, "hists") ?: IOT_HISTS(p->hist_kinds);
}

/* Tables whose size depends on the run. 0: as in the object. */
static const struct {
	const char *map;
	u32 (*entries)(const struct probes *);
} sized_by_run[] = {
	{ "ring", ring_size },
	{ "packs", packs_size },
	{ "cells", cells_size },
	{ "filesums", filesums_size },
	{ "filesum_free", filesum_free_size },
	{ "hists", hists_size },
	{ "want_pids", want_pids_size },
	{ "loop_writer", loop_writer_size },
};

void size_map(struct probes *p, struct bpf_map *m)
{
	const char *name = bpf_map__name(m);
	u32 entries = map_entries(p, name);

	for (size_t i = 0; i < N_OF(sized_by_run); i++)
		if (!strcmp(name, sized_by_run[i].map))
			entries = sized_by_run[i].entries(p);
	if (entries)
		bpf_map__set_max_entries(m, entries);
	if (!strcmp(name, "call_paths")) /* whole.bpf.h */
		bpf_map__set_autocreate(m, p->opts.events &&
					   p->opts.whole & (1u << LAYER_VFS | 1u << LAYER_URING));
}

/* Every table that was given a size must exist and be resizable. */
int maps_check(const struct probes *p)
{
	for (size_t i = 0; i < p->opts.n_tables; i++) {
		const char *name = p->opts.tables[i].name;
		struct bpf_map *m = map_of(p, name);
		enum bpf_map_type type = m ? bpf_map__type(m) : BPF_MAP_TYPE_UNSPEC;

		if (type != BPF_MAP_TYPE_HASH && type != BPF_MAP_TYPE_LRU_HASH &&
		    (!m || !sizes_others(name)))
			return fail(ENOENT, "there is no table '%s' whose size can be set", name);
	}
	return 0;
}

/* --- elements per processor --- */

#define PART (64u << 10)       /* smallest mapping */

int each_begin(struct probes *p, struct each *e, const char *map, size_t size, u32 n)
{
	*e = (struct each){ .fd = map_fd(p, map), .size = size, .n = n,
		.part = calloc(p->cpus, sizeof(*e->part)) };
	return e->part ? 0 : fail(ENOMEM, "table %s", map);
}

/* Mappings begin at a page: bytes of it that belong to the previous processor. */
static size_t before(const struct each *e, int cpu)
{
	return (size_t)cpu * e->n * e->size % sysconf(_SC_PAGESIZE);
}

static void unmap(const struct each *e, int cpu)
{
	struct part *m = &e->part[cpu];

	if (m->at)
		munmap(m->at - before(e, cpu), m->bytes + before(e, cpu));
	*m = (struct part){ 0 };
}

static int map_more(struct each *e, int cpu, size_t need)
{
	size_t begin = (size_t)cpu * e->n * e->size, all = e->n * e->size,
		bytes = 2 * e->part[cpu].bytes, skip = before(e, cpu);
	char *at;

	bytes = bytes > need ? bytes : need;
	bytes = (bytes + PART - 1) / PART * PART;
	bytes = bytes < all ? bytes : all;
	at = mmap(NULL, skip + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, e->fd, begin - skip);
	if (at == MAP_FAILED)
		return -errno;
	unmap(e, cpu);
	e->part[cpu] = (struct part){ at + skip, bytes };
	return 0;
}

void *each_at(struct each *e, int cpu, u32 n)
{
	size_t need = (n + 1) * e->size;

	if (n >= e->n || (need > e->part[cpu].bytes && map_more(e, cpu, need)))
		return NULL;
	return e->part[cpu].at + n * e->size;
}

void each_end(struct probes *p, struct each *e)
{
	for (int cpu = 0; e->part && cpu < p->cpus; cpu++)
		unmap(e, cpu);
	free(e->part);
	e->part = NULL;
}
