/* SPDX-License-Identifier: GPL-3.0-only */
/* volume.c - the rows of volumes.def, and the volumes that losses spoil, as tables for reports. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memory.h"
#include "volume.h"
#include "words.h"

bool volume_kind(enum volume_row row, u8 kind)
{
	const struct volume *v = &volumes[row];
	const struct word *word;

	if (v->kind || kind >= KIND_MAX)
		return kind == v->kind;
	word = &dictionary[WORDS_KIND].row[kind];
	return v->layers & BIT(word->layer) && word->dir == v->dir;
}

/* True when row n belongs to the volume whose first row is `row`. */
static bool is_of(enum volume_row row, size_t n)
{
	return n < VOLUME_MAX && !strcmp(volumes[n].symbol, volumes[row].symbol);
}

bool volume_sums_kind(enum volume_row row, u8 kind)
{
	for (size_t n = row; is_of(row, n); n++)
		if (volume_kind(n, kind))
			return true;
	return false;
}

bool volume_sums(enum volume_row row, u8 kind, u8 cause, u8 sub, u32 flags)
{
	for (size_t n = row; is_of(row, n); n++)
		if (volume_kind(n, kind) && volume_has(n, cause, sub, flags))
			return true;
	return false;
}

static void put_text(FILE *f, const char *text)
{
	text ? fprintf(f, "'%s',", text) : fprintf(f, "NULL,");
}

/* Begins one more row of a statement: preparing a statement for each row would take longer than all
 * else. */
static void next_row(FILE *f, const char *table, size_t *rows)
{
	(*rows)++ ? fprintf(f, ",\n(") : fprintf(f, ";\nINSERT INTO temp.%s VALUES(", table);
}

static void put_row(FILE *f, const struct volume *v, unsigned int kind)
{
	fprintf(f, "%zu,", v - volumes);
	put_text(f, v->symbol);
	put_text(f, v->name ? v->name : v->symbol);
	put_text(f, v->needs);
	put_text(f, v->class);
	put_text(f, v->rest);
	fprintf(f, "%u,%u,%d,%d,%d)", v->measure, kind, v->unless_vfs, v->of_load, v->of_logical);
}

static const struct { const char *layer, *what, *spoils; } losses[] = {
#define LOSS(sym, layer, what, effect, spoils) { layer, what, spoils },
#include "kinds.def"
};

/* Writes one row for each class of volumes that a loss spoils. A loss that spoils none gets a row
 * with NULL. */
static void put_loss(FILE *f, size_t i, size_t *rows)
{
	const char *word = losses[i].spoils;
	size_t len;

	do {
		len = strcspn(word, " ");
		next_row(f, "loss", rows);
		fprintf(f, "'%s','%s',NULLIF('%.*s',''))", losses[i].layer, losses[i].what, (int)len, word);
		word += len + 1;
	} while (word[-1]);
}

/* True when a volume counts on a device. device: IS_LEAF, IS_BOTTOM. */
static bool is_placed(const struct volume *v, int device)
{
	if (v->place == ANYWHERE)
		return true;
	return v->place == BOTTOM ? device & IS_BOTTOM : !!(device & IS_LEAF) == (v->place == LEAF);
}

static void sql_volume_has(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	sqlite3_int64 row = sqlite3_value_int64(argv[0]);
	const struct volume *v = row >= 0 && row < VOLUME_MAX ? &volumes[row] : NULL;

	sqlite3_result_int(ctx, v && is_placed(v, sqlite3_value_int(argv[4])) &&
			   volume_has(row, sqlite3_value_int(argv[1]), sqlite3_value_int(argv[2]),
				      sqlite3_value_int64(argv[3])));
}

int volume_register(struct sqlite3 *db)
{
	char *sql = NULL;
	size_t size, i, k, rows = 0;
	FILE *f = memory_open(&sql, &size);
	int rc;

	if (!f)
		return SQLITE_NOMEM;
	fprintf(f, "CREATE TEMP TABLE volume(row INTEGER, sym TEXT, name TEXT, needs TEXT,"
		" class TEXT, rest TEXT,"
		" measure INTEGER, kind INTEGER, unless_vfs INTEGER, of_load INTEGER,"
		" of_logical INTEGER)");
	for (i = 0; i < VOLUME_MAX; i++)
		for (k = 0; k < KIND_MAX; k++)
			if (volume_kind(i, k)) {
				next_row(f, "volume", &rows);
				put_row(f, &volumes[i], k);
			}
	fprintf(f, ";\nCREATE TEMP TABLE loss(layer TEXT, what TEXT, class TEXT)");
	for (i = rows = 0; i < sizeof(losses) / sizeof(*losses); i++)
		put_loss(f, i, &rows);
	rc = fclose(f) ? SQLITE_NOMEM : sqlite3_exec(db, sql, NULL, NULL, NULL);
	free(sql);
	return rc ? rc : sqlite3_create_function(db, "volume_has", 5,
						 SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY,
						 NULL, sql_volume_has, NULL, NULL);
}
