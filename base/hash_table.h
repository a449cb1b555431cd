/* SPDX-License-Identifier: GPL-3.0-only */
/* hash_table.h - tables that grow: uthash's, whose rows are structs with a member `UT_hash_handle hh`. A table that is empty is NULL.
 *
 * Tables of a fixed size, where what is old makes room or nothing may be allocated, and those of fold() have their own few lines.
 */
#ifndef IOT_BASE_HASH_TABLE_H
#define IOT_BASE_HASH_TABLE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Keys are numbers of 32 bits without holes. Ingesting events takes 1.5 % more instructions than with tables of our own, 3.2 % with
 * uthash's own hash. */
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

/* Puts a row in, by the `size` bytes from its member `key` on. Without memory for it the row is freed, and NULL. */
#define HASH_PUT(table, key, size, row) do { \
	if (row) \
		HASH_ADD(hh, table, key, size, row); \
	if ((row) && !(row)->hh.tbl) { \
		free(row); \
		(row) = NULL; \
	} \
} while (0)

/* Frees the table and its rows. */
#define HASH_FREE(table) do { \
	__typeof__(table) row_ = (table), next_row_; \
	HASH_CLEAR(hh, table); \
	for (; row_; row_ = next_row_) { \
		next_row_ = row_->hh.next; \
		free(row_); \
	} \
} while (0)

#endif
