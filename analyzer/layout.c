/* SPDX-License-Identifier: GPL-3.0-only */
/* layout.c - where the columns of a table stand on a terminal. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "clean.h"
#include "layout.h"
#include "print.h"
#include "screen.h"
#include "text.h"

#define BETWEEN 2    /* blanks behind a column */
#define CUT_LEAST 24 /* names are not cut shorter */

static void measure(const struct grid *t, char **cell, struct layout *l)
{
	size_t row, width;
	int col;

	for (col = 0; col < t->cols; col++) {
		l[col] = (struct layout){ .shown = !column_hidden(t, col) && !column_bound(t, col), .right = column_numeric(t, col),
					  .width = text_width(t->col[col]) };
		for (row = 0; row < t->rows; row++) {
			width = text_width(cell[row * t->cols + col]);
			if (width > l[col].width)
				l[col].width = width;
		}
		l[col].whole = l[col].width;
	}
}

/* Makes names narrower until all columns are within `screen`, the longest first. Whether they are. */
static bool narrow(const struct grid *t, size_t screen, struct layout *l)
{
	size_t all = 0;
	int col, widest;

	for (col = 0; col < t->cols; col++)
		all += l[col].shown ? l[col].width + BETWEEN : 0;
	for (; all > screen + BETWEEN; all--) {
		for (widest = -1, col = 0; col < t->cols; col++)
			if (l[col].shown && !l[col].right && l[col].width > CUT_LEAST && l[col].width > text_width(t->col[col]) &&
			    (widest < 0 || l[col].width > l[widest].width))
				widest = col;
		if (widest < 0)
			return false;
		l[widest].width--;
	}
	return true;
}

struct rows {
	const struct grid *t;
	char **cell;
	const struct layout *l;
};

static int by_keys(const void *a, const void *b, void *arg)
{
	const struct rows *r = arg;
	size_t x = *(const size_t *)a * r->t->cols, y = *(const size_t *)b * r->t->cols;
	int col, order = 0;

	for (col = 0; !order && col < r->t->cols; col++)
		order = r->l[col].key ? strcmp(r->cell[x + col], r->cell[y + col]) : 0;
	return order;
}

static bool is_constant(const struct rows *r, int col)
{
	size_t row;

	for (row = 1; row < r->t->rows; row++)
		if (strcmp(r->cell[row * r->t->cols + col], r->cell[col]))
			return false;
	return true;
}

/* The columns, from the first one on, by which rows differ: as many as that takes, on two thirds of the screen at most. */
static int find_keys(struct rows *r, size_t screen, struct layout *l)
{
	auto_free size_t *row = calloc(r->t->rows + 1, sizeof(*row));
	size_t all = 0, i;
	bool same = true;
	int col;

	if (!row)
		return -ENOMEM;
	for (i = 0; i < r->t->rows; i++)
		row[i] = i;
	for (col = 0; same && col < r->t->cols; col++) {
		if (!l[col].shown || is_constant(r, col))
			continue;
		all += l[col].width + BETWEEN;
		if (all > screen * 2 / 3)
			break;
		l[col].key = true;
		qsort_r(row, r->t->rows, sizeof(*row), by_keys, r);
		for (same = false, i = 1; !same && i < r->t->rows; i++)
			same = !by_keys(row + i - 1, row + i, r);
	}
	return 0;
}

/* What room a block has for a name beside its keys: its head at least. */
static size_t cut_width(const char *head, const struct layout *l, size_t room)
{
	size_t least = text_width(head);

	return l->right || l->width <= room ? l->width : room > least ? room : least;
}

/* A block gets columns as long as there is room; how many blocks. */
static int spread(const struct grid *t, size_t screen, struct layout *l)
{
	size_t keys = 0, used;
	int col, block = 0;

	for (col = 0; col < t->cols; col++)
		keys += l[col].key ? l[col].width + BETWEEN : 0;
	for (used = keys, col = 0; col < t->cols; col++) {
		if (!l[col].shown || l[col].key)
			continue;
		l[col].width = cut_width(t->col[col], &l[col], screen > keys ? screen - keys : 0);
		if (used > keys && used + l[col].width > screen) {
			used = keys;
			block++;
		}
		l[col].block = block;
		used += l[col].width + BETWEEN;
	}
	return block + 1;
}

/* Names get back what room their block has. */
static void widen(const struct grid *t, size_t screen, int block, struct layout *l)
{
	size_t used = 0, more;
	int col;

	for (col = 0; col < t->cols; col++)
		used += l[col].shown && (l[col].key || l[col].block == block) ? l[col].width + BETWEEN : 0;
	for (col = 0; col < t->cols; col++) {
		if (!l[col].shown || l[col].key || l[col].block != block || used >= screen + BETWEEN)
			continue;
		more = l[col].whole - l[col].width;
		if (more > screen + BETWEEN - used)
			more = screen + BETWEEN - used;
		l[col].width += more;
		used += more;
	}
}

static int make_blocks(const struct grid *t, char **cell, size_t screen, struct layout *l)
{
	struct rows rows = { t, cell, l };
	int err = find_keys(&rows, screen, l), n = err ?: spread(t, screen, l), block;

	for (block = 0; block < n; block++)
		widen(t, screen, block, l);
	return n;
}

int layout_make(const struct grid *t, char **cell, size_t screen, struct layout *l)
{
	int col, blocks = 1;
	size_t row;

	measure(t, cell, l);
	if (!screen)
		return blocks;
	if (!narrow(t, screen, l))
		blocks = make_blocks(t, cell, screen, l);
	for (col = 0; blocks > 0 && col < t->cols; col++)
		for (row = 0; !l[col].right && row < t->rows; row++)
			screen_cut(cell[row * t->cols + col], l[col].width);
	return blocks;
}
