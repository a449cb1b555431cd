// SPDX-License-Identifier: GPL-3.0-only
/* machine_disks.c - facts about block devices: disks with their queues, partitions, loop devices,
 * dm volumes, md arrays. */
#include <limits.h>
#include <string.h>
#include "devices.h"
#include "machine_parts.h"

#define DISKS_MAX 128           /* devices of each kind that are described */

/* Of each device with requests, and of each volume: its limits and its queue. */
static const struct machine_file queue[] = {
	{ "bytes", "size", FORM_SECTORS },
	{ "read_only", "ro" },
	{ "vendor", "device/vendor" },
	{ "model", "device/model" },
	{ "firmware", "device/firmware_rev" },
	{ "firmware", "device/rev" },
	{ "bus", "device/subsystem", FORM_LINK },
	{ "driver", "device/driver", FORM_LINK },
	{ "transport", "device/transport" },
	{ "scheduler", "queue/scheduler", FORM_CHOSEN },
	{ "write_cache", "queue/write_cache" },
	{ "fua", "queue/fua" },
	{ "rotational", "queue/rotational" },
	{ "logical_block_bytes", "queue/logical_block_size" },
	{ "physical_block_bytes", "queue/physical_block_size" },
	{ "minimum_io_bytes", "queue/minimum_io_size" },
	{ "optimal_io_bytes", "queue/optimal_io_size" },
	{ "discard_granularity_bytes", "queue/discard_granularity" },
	{ "discard_max_bytes", "queue/discard_max_bytes" },
	{ "max_request_kib", "queue/max_sectors_kb" },
	{ "read_ahead_kib", "queue/read_ahead_kb" },
	{ "queue_requests", "queue/nr_requests" },
	{ "queue_depth", "device/queue_depth" },
	{ "hardware_queues", "mq", FORM_COUNT },
	{ "zoned", "queue/zoned" },
	{ "merges_off", "queue/nomerges" },
	{ "writeback_throttling_us", "queue/wbt_lat_usec" },
};

/* Of some kinds only: their folder is there. */
static const struct machine_file special[] = {
	{ "file", "loop/backing_file" },
	{ "direct_io", "loop/dio" },
	{ "offset", "loop/offset" },
	{ "compression", "comp_algorithm", FORM_CHOSEN },
	{ "volume", "dm/name" },
	{ "level", "md/level" },
	{ "members", "md/raid_disks" },
	{ "chunk_bytes", "md/chunk_size" },
	{ "metadata", "md/metadata_version" },
	{ "array_state", "md/array_state" },
	{ "degraded", "md/degraded" },
	{ "bitmap", "md/bitmap/location" },
	{ "consistency", "md/consistency_policy" },
	{ "devices", "slaves", FORM_FOLDER },
};

static const struct machine_file partition[] = {
	{ "start_bytes", "start", FORM_SECTORS },
	{ "bytes", "size", FORM_SECTORS },
	{ "read_only", "ro" },
};

/* Kinds of devices, each counted. */
static const char *const kinds[] = { "disk", "partition", "loop", "dm", "md", "zram", "bcache" };

struct disks {
	FILE *to;
	size_t n[N_OF(kinds)];
};

/* Gives the kind of a dm volume: the first word of its UUID, as "LVM" and "CRYPT". */
static void put_dm_type(const struct machine_part *p, const char *folder)
{
	char path[128], uuid[256];

	snprintf(path, sizeof(path), "%s/dm/uuid", folder);
	if (read_line(path, uuid, sizeof(uuid)) <= 0 || !uuid[strcspn(uuid, "-")])
		return;
	uuid[strcspn(uuid, "-")] = '\0';
	machine_fact(p, "type", uuid);
}

/* Gives the disk of a partition, whose folder is in that of the disk. */
static void put_parent(const struct machine_part *p, char target[PATH_MAX])
{
	char *slash = strrchr(target, '/');

	if (!slash)
		return;
	*slash = '\0';
	slash = strrchr(target, '/');
	machine_fact(p, "disk", slash ? slash + 1 : NULL);
}

static void put_device(void *arg, u32 dev)
{
	struct disks *d = arg;
	char folder[64], target[PATH_MAX], name[256];
	ssize_t len;
	size_t kind = 0;
	struct machine_part p = { d->to, devices_type(dev), name };

	while (kind < N_OF(kinds) && strcmp(kinds[kind], p.part))
		kind++;
	if (kind == N_OF(kinds) || d->n[kind]++ >= DISKS_MAX)
		return;
	snprintf(folder, sizeof(folder), "/sys/dev/block/%u:%u", dev >> 20, dev & 0xfffff);
	len = readlink(folder, target, sizeof(target) - 1);
	target[len > 0 ? len : 0] = '\0';
	snprintf(name, sizeof(name), "%.255s", strrchr(target, '/') ? strrchr(target, '/') + 1 :
		target);
	if (!strcmp(p.part, "partition")) {
		put_parent(&p, target);
		machine_files(&p, folder, partition, N_OF(partition));
		return;
	}
	machine_files(&p, folder, queue, N_OF(queue));
	machine_files(&p, folder, special, N_OF(special));
	put_dm_type(&p, folder);
}

void machine_disks(FILE *to)
{
	struct disks d = { .to = to };

	devices_list(put_device, &d);
	for (size_t i = 0; i < N_OF(kinds); i++)
		machine_left_out(to, kinds[i], d.n[i] > DISKS_MAX ? d.n[i] - DISKS_MAX : 0);
}
