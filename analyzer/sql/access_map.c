/* SPDX-License-Identifier: GPL-3.0-only */
/* access_map.c - reads the text of v_access_map. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "access_map.h"

/* To add what is looked at: a letter here, and in v_access_map. */
static const struct { char letter; uint8_t place, way; } letters[] = {
	{ 'a', PLACE_CALLS, 1 },  { 'b', PLACE_CALLS, 2 }, { 'c', PLACE_VFS, 1 },
	{ 'd', PLACE_VFS, 2 },    { 'e', PLACE_BLOCK, 1 }, { 'f', PLACE_BLOCK, 2 },
	{ 'i', PLACE_FS, 1 },     { 'j', PLACE_FS, 2 },    { 's', PLACE_SYNC, 0 },
	{ 't', PLACE_COMMIT, 0 }, { 'u', PLACE_FLUSH, 0 },
};

static void set_kind(struct access_map *m, int kind, char letter)
{
	size_t i;

	for (i = 0; i < sizeof(letters) / sizeof(*letters); i++) {
		if (letters[i].letter != letter)
			continue;
		m->place[kind] = letters[i].place;
		m->way[kind] = letters[i].way;
	}
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Numbers between commas, up to a slash or the end, which *end is. */
static int read_numbers(const char *p, uint64_t **list, size_t *n, const char **end)
{
	size_t room = 1, i;

	*end = p + strcspn(p, "/");
	for (i = 0; p + i < *end; i++)
		room += p[i] == ',';
	*list = calloc(room, sizeof(**list));
	if (!*list)
		return -ENOMEM;
	for (*n = 0; p < *end && *n < room; p++) {
		char *next;

		(*list)[(*n)++] = strtoull(p, &next, 10);
		if (next == p)
			return -EINVAL;
		p = next;
	}
	qsort(*list, *n, sizeof(**list), by_number);
	return 0;
}

int access_map_read(struct access_map *m, const char *text)
{
	const char *p = text;
	int i, err;

	for (i = 0; i < 255 && *p && *p != '/'; i++, p++)
		set_kind(m, i, *p);
	for (i = 0, p += *p == '/'; i < 255 && *p && *p != '/'; i++, p++)
		m->class[i] = *p - '0';
	for (i = 0, p += *p == '/'; i < 255 && *p && *p != '/'; i++, p++)
		m->on_file[i] = *p == '1';
	if (*p != '/')
		return -EINVAL;
	err = read_numbers(p + 1, &m->unwanted, &m->unwanteds, &p);
	if (!err && *p == '/')
		err = read_numbers(p + 1, &m->stacked, &m->stackeds, &p);
	if (!err && *p == '/')
		m->sync_flags = strtoull(p + 1, NULL, 10);
	m->ready = !err;
	return err;
}

void access_map_free(struct access_map *m)
{
	free(m->unwanted);
	free(m->stacked);
	memset(m, 0, sizeof(*m));
}
