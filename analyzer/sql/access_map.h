/* SPDX-License-Identifier: GPL-3.0-only */
/* access_map.h - classes of events, looked up in arrays: reports read millions of events, and a
 * join for each costs more than the answer.
 *
 * The text that it is read from (v_access_map, reports/views/access.sql) has parts between
 * slashes: for each kind of event, by its number, a letter ('.': not looked at); for each cause
 * the digit of its class; for each sub whether calls on it count (1); owners whose events are left
 * out; devices whose bytes are counted again on a device below; and the bits of flags that make a
 * write a sync. */
#ifndef IOT_ANALYZER_ACCESS_MAP_H
#define IOT_ANALYZER_ACCESS_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum access_place {
	PLACE_NONE, PLACE_CALLS, PLACE_VFS, PLACE_BLOCK, PLACE_DEVICE, PLACE_FS, PLACE_SYNC,
	PLACE_COMMIT, PLACE_FLUSH,
};
enum { CLASS_AGAIN = 4 };        /* a loop device's bytes, on the device below */

struct access_map {
	uint8_t place[256], way[256]; /* by kind; way: 1 read, 2 written */
	uint8_t class[256];      /* by cause */
	bool on_file[256];       /* by sub */
	uint64_t sync_flags;
	uint64_t *unwanted, *stacked; /* sorted */
	size_t unwanteds, stackeds;
	bool ready;
};

/* 0, -EINVAL or -ENOMEM. Free with access_map_free(). */
int access_map_read(struct access_map *m, const char *text);
void access_map_free(struct access_map *m);

/* A kind, cause or sub as an index; numbers that no tracer writes become one that is not looked
 * at. */
static inline uint8_t access_index(int64_t number)
{
	return number >= 0 && number < 255 ? number : 255;
}

static inline bool access_listed(const uint64_t *list, size_t n, uint64_t v)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (list[middle] == v)
			return true;
		if (list[middle] < v)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

#endif
