/* SPDX-License-Identifier: GPL-3.0-only */
/* hash.h - hash tables, which are uthash's; and arrays with open addressing for many small rows.
 *
 * Rows of a table are structs with a member `UT_hash_handle hh`; an empty table is NULL. A handle
 * takes 56 bytes and a row an allocation: tables of many small rows are a struct hash_array.
 */
#ifndef IOT_BASE_HASH_H
#define IOT_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HASH_START 14695981039346656037ull

/* FNV-1a of bytes. h: HASH_START, or the hash of the bytes before them. */
static inline uint64_t hash_bytes(uint64_t h, const void *bytes, size_t n)
{
	for (const unsigned char *p = bytes; n--; p++)
		h = (h ^ *p) * 1099511628211ull;
	return h;
}

/* Hash of two small numbers, whose low bits are the best. */
static inline uint64_t hash_pair(uint32_t a, uint32_t b)
{
	return ((uint64_t)a << 32 | b) * 0x9e3779b97f4a7c15ull >> 32;
}

/* Hash of numbers of 32 bits without padding between them: the keys of tables. With uthash's own
 * function ingesting events takes 1.7 % more instructions. */
static inline unsigned int hash_words(const void *key, size_t size)
{
	uint64_t h = 0;
	uint32_t word;

	for (size_t i = 0; i < size; i += sizeof(word)) {
		memcpy(&word, (const char *)key + i, sizeof(word));
		h = (h ^ word) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 32;
	}
	return h;
}

#define HASH_FUNCTION(key, size, h) ((h) = hash_words(key, size))
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* Adds a row; its key is the `size` bytes from member `key` on. Without memory the row is freed,
 * and becomes NULL. */
#define HASH_PUT(table, key, size, row) do { \
	if (row) \
		HASH_ADD(hh, table, key, size, row); \
	if ((row) && !(row)->hh.tbl) { \
		free(row); \
		(row) = NULL; \
	} \
} while (0)

/* Frees a table and its rows. */
#define HASH_FREE(table) do { \
	__typeof__(table) row_ = (table), next_row_; \
	HASH_CLEAR(hh, table); \
	for (; row_; row_ = next_row_) { \
		next_row_ = row_->hh.next; \
		free(row_); \
	} \
} while (0)

/* An array with open addressing. A row begins with its key: numbers of 32 bits, of which the first
 * is not 0. All zero: empty. `words` below is the length of the key, `size` that of a row in bytes;
 * constants, so that the compiler makes code for each kind of row. */
struct hash_array {
	void *row;
	size_t n, room;         /* room: 0 or a power of two */
};

#define HASH_INLINE static inline __attribute__((always_inline))

/* Returns the row of a key, or the free row for it. */
HASH_INLINE void *hash_array_at(const struct hash_array *a, const uint32_t *key, size_t words,
				size_t size)
{
	size_t i = hash_words(key, words * sizeof(*key));

	for (;; i++) {
		char *row = (char *)a->row + (i & (a->room - 1)) * size;

		if (!*(const uint32_t *)row || !memcmp(row, key, words * sizeof(*key)))
			return row;
	}
}

/* Returns the row of a key, or NULL. */
HASH_INLINE void *hash_array_find(const struct hash_array *a, const uint32_t *key, size_t words,
				  size_t size)
{
	uint32_t *row = a->room ? hash_array_at(a, key, words, size) : NULL;

	return row && *row ? row : NULL;
}

/* Moves the rows to an array of twice the size. Returns false when that exceeds room_max rows, or
 * when there is no memory. */
HASH_INLINE bool hash_array_grow(struct hash_array *a, size_t words, size_t size, size_t room_max)
{
	struct hash_array more = { .n = a->n, .room = a->room ? 2 * a->room : 1024 };

	if (more.room > room_max || !(more.row = calloc(more.room, size)))
		return false;
	for (char *row = a->row; row && row < (char *)a->row + a->room * size; row += size)
		if (*(const uint32_t *)row)
			memcpy(hash_array_at(&more, (const uint32_t *)row, words, size), row, size);
	free(a->row);
	*a = more;
	return true;
}

/* Returns the row of a key, which is added if needed, the rest of it zero. The array grows when
 * `eighths` of it are in use. NULL: it cannot grow. */
HASH_INLINE void *hash_array_put(struct hash_array *a, const uint32_t *key, size_t words,
				 size_t size, size_t room_max, size_t eighths)
{
	void *row = hash_array_find(a, key, words, size);

	if (row)
		return row;
	if (a->n >= a->room / 8 * eighths && !hash_array_grow(a, words, size, room_max))
		return NULL;
	a->n++;
	row = hash_array_at(a, key, words, size);
	return memcpy(row, key, words * sizeof(*key));
}

#endif
