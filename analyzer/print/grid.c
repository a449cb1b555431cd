/* SPDX-License-Identifier: GPL-3.0-only */
/* grid.c - rows and columns in memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "grid.h"

int grid_find(const struct grid *t, const char *name)
{
	int i;

	for (i = 0; i < t->cols; i++) {
		if (!strcmp(t->col[i], name))
			return i;
	}
	return -1;
}

struct cell *grid_add(struct grid *t)
{
	size_t room = t->room ? t->room * 2 : 64;
	struct cell *row;

	if (t->rows == t->room) {
		struct cell *grown = reallocarray(t->cell, room, sizeof(*grown) * t->cols);

		if (!grown)
			return NULL;
		t->cell = grown;
		t->room = room;
	}
	row = grid_cell(t, t->rows, 0);
	memset(row, 0, sizeof(*row) * t->cols);
	t->rows++;
	return row;
}

int cell_text(struct cell *c, const char *text, size_t len)
{
	c->text = malloc(len + 1);
	if (!c->text)
		return -ENOMEM;
	memcpy(c->text, text, len);
	c->text[len] = '\0';
	c->len = len;
	c->type = CELL_TEXT;
	return 0;
}

void grid_empty(struct grid *t)
{
	size_t n = t->rows * t->cols, i;

	for (i = 0; i < n; i++)
		free(t->cell[i].text);
	t->rows = 0;
}

void grid_free(struct grid *t)
{
	int c;

	grid_empty(t);
	for (c = 0; c < t->cols; c++)
		free(t->col[c]);
	free(t->cell);
	free(t->col);
	free(t->name);
	free(t->title);
	free(t->hide);
	free(t->first);
	free(t->most);
	free(t->says);
	free(t->cases);
	memset(t, 0, sizeof(*t));
}
