/* SPDX-License-Identifier: GPL-3.0-only */
/* layout.c - positions of the columns of a table on a terminal. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "answer.h"
#include "clean.h"
#include "layout.h"
#include "screen.h"
#include "text.h"

#define BETWEEN 2    /* blanks behind a column */
#define CUT_LEAST 24 /* names are not cut shorter */

static void measure(const struct grid *t, char **cell, struct layout *l)
{
	size_t row, width;
	int col;

	for (col = 0; col < t->cols; col++) {
		l[col] = (struct layout){ .shown = !column_hidden(t, col) && !column_bound(t, col),
					  .right = column_numeric(t, col),
					  .width = text_width(t->col[col]) };
		for (row = 0; row < t->rows; row++) {
			width = text_width(cell[row * t->cols + col]);
			if (width > l[col].width)
				l[col].width = width;
		}
		l[col].whole = l[col].width;
	}
}

/* Makes names narrower, the longest first, until all columns fit into `screen`; false: they do not
 * fit. */
static bool narrow(const struct grid *t, size_t screen, struct layout *l)
{
	size_t all = 0;
	int col, widest;

	for (col = 0; col < t->cols; col++)
		all += l[col].shown ? l[col].width + BETWEEN : 0;
	for (; all > screen + BETWEEN; all--) {
		for (widest = -1, col = 0; col < t->cols; col++)
			if (l[col].shown && !l[col].right && l[col].width > CUT_LEAST &&
			    l[col].width > text_width(t->col[col]) &&
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

/* The columns, from the first one on, by which rows differ: as many as that takes, on two thirds
 * of the screen at most. */
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

/* The width of a name in a block that has `room` next to its keys: at least that of its head. */
static size_t cut_width(const char *head, const struct layout *l, size_t room)
{
	size_t least = text_width(head);

	return l->right || l->width <= room ? l->width : room > least ? room : least;
}

/* Fills blocks with columns, each as long as there is room. Returns the number of blocks. */
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

/* The width of the columns of a block, with the blanks between them. */
static size_t block_width(const struct grid *t, const struct layout *l, int block)
{
	size_t used = 0;
	int col;

	for (col = 0; col < t->cols; col++)
		used += l[col].shown && (l[col].key || l[col].block == block) ? l[col].width + BETWEEN : 0;
	return used;
}

/* Widens names that are keys by the room that every block has. */
static void widen_keys(const struct grid *t, size_t screen, int blocks, struct layout *l)
{
	size_t room = screen, used, more;
	int block, col;

	for (block = 0; block < blocks; block++) {
		used = block_width(t, l, block);
		if (used >= screen + BETWEEN)
			return;
		if (screen + BETWEEN - used < room)
			room = screen + BETWEEN - used;
	}
	for (col = 0; col < t->cols; col++) {
		if (!l[col].key)
			continue;
		more = l[col].whole - l[col].width < room ? l[col].whole - l[col].width : room;
		l[col].width += more;
		room -= more;
	}
}

/* Widens other names by the room that their block has. */
static void widen(const struct grid *t, size_t screen, int block, struct layout *l)
{
	size_t used = block_width(t, l, block), more;
	int col;

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

	if (n > 0)
		widen_keys(t, screen, n, l);
	for (block = 0; block < n; block++)
		widen(t, screen, block, l);
	return n;
}

/* A name of a column, as it is and as it is printed. */
struct name {
	char *whole, *cut;
};

static int by_cut(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	return strcmp(x->cut, y->cut) ?: strcmp(x->whole, y->whole);
}

/* Cuts every name behind its first `head` columns. Returns how many different names look the same
 * then, or -ENOMEM. */
static long cut_names(struct name *name, size_t n, size_t width, size_t head)
{
	long same = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		free(name[i].cut);
		name[i].cut = strdup(name[i].whole);
		if (!name[i].cut)
			return -ENOMEM;
		screen_cut(name[i].cut, width, head);
	}
	qsort(name, n, sizeof(*name), by_cut);
	for (i = 1; i < n; i++)
		same += !strcmp(name[i].cut, name[i - 1].cut) && strcmp(name[i].whole, name[i - 1].whole);
	return same;
}

/* Finds the place where names of a column are cut: the middle, or, when different names would then
 * look the same, the place at which the fewest do. */
static long find_cut(struct name *name, size_t n, size_t width, size_t *head)
{
	size_t room = width > 2 ? width - 2 : 0,
	       places[] = { room / 2, room / 4, 0, room * 3 / 4, room - (room > 0) }, i;
	long least = -1, same;

	for (i = 0; i < N_OF(places) && least; i++) {
		same = cut_names(name, n, width, places[i]);
		if (same < 0)
			return same;
		if (least < 0 || same < least) {
			least = same;
			*head = places[i];
		}
	}
	return least;
}

static size_t alike(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	return n;
}

/* The place at which two names differ whose cuts are equal, else 0. */
static size_t differ_at(const struct name *a, const struct name *b)
{
	return strcmp(a->cut, b->cut) ? 0 : alike(a->whole, b->whole) + 1;
}

/* Names that would still look the same are cut around the place where they differ. Equal cuts
 * stand together, in the order of their names. */
static void tell_apart(struct name *name, size_t n, size_t width)
{
	size_t i, next, before = 0, after, at;

	for (i = 0; i < n; before = after) {
		for (next = i + 1; next < n && !strcmp(name[next].whole, name[i].whole);)
			next++;
		after = next < n ? differ_at(&name[next - 1], &name[next]) : 0;
		for (at = before > after ? before : after; i < next; i++) {
			if (at)
				screen_cut_around(name[i].whole, width, at - 1);
			else
				strcpy(name[i].whole, name[i].cut);
		}
	}
}

static int cut_column(const struct grid *t, char **cell, int col, size_t width)
{
	auto_free struct name *name = calloc(t->rows + 1, sizeof(*name));
	size_t row, head = 0;
	long err = name ? 0 : -ENOMEM;

	for (row = 0; name && row < t->rows; row++)
		name[row].whole = cell[row * t->cols + col];
	if (!err)
		err = find_cut(name, t->rows, width, &head);
	if (err > 0)
		err = cut_names(name, t->rows, width, head);
	if (err >= 0)
		tell_apart(name, t->rows, width);
	for (row = 0; name && row < t->rows; row++)
		free(name[row].cut);
	return err < 0 ? err : 0;
}

int layout_make(const struct grid *t, char **cell, size_t screen, struct layout *l)
{
	int col, blocks = 1, err;

	measure(t, cell, l);
	if (!screen)
		return blocks;
	if (!narrow(t, screen, l))
		blocks = make_blocks(t, cell, screen, l);
	for (col = 0; blocks > 0 && col < t->cols; col++) {
		err = l[col].right || l[col].width >= l[col].whole ? 0 : cut_column(t, cell, col, l[col].width);
		blocks = err ?: blocks;
	}
	return blocks;
}
