/* SPDX-License-Identifier: GPL-3.0-only */
/* answer.c - cells and columns of an answer as the formats want them. NULL, not measured, is n/a. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "answer.h"

char *cell_string(const struct cell *c, const char *absent, char *(*escape)(const char *, size_t))
{
	char *s = NULL;
	int n = 0;

	switch (c->type) {
	case CELL_TEXT:
		return escape ? escape(c->text, c->len) : strdup(c->text);
	case CELL_INT:
		n = asprintf(&s, "%lld", (long long)c->i);
		break;
	case CELL_REAL:
		n = asprintf(&s, "%.3f", c->r);
		break;
	case CELL_NULL:
		return strdup(absent);
	}
	return n < 0 ? NULL : s;
}

char *cell_exact(const struct cell *c, const char *absent, char *(*escape)(const char *, size_t))
{
	char text[64];
	int digits;

	if (c->type != CELL_REAL || !isfinite(c->r) || fabs(c->r) >= 1e15)
		return cell_string(c, absent, escape);
	snprintf(text, sizeof(text), "%.3f", c->r);
	for (digits = 15; strtod(text, NULL) != c->r && digits <= 17; digits++)
		snprintf(text, sizeof(text), "%.*g", digits, c->r);
	return strdup(text);
}

bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = words; len && p && (p = strstr(p, word)); p += len)
		if ((p == words || p[-1] == ' ') && (!p[len] || p[len] == ' '))
			return true;
	return false;
}

enum result result_of(const char *text)
{
	if (!strcmp(text, "MISMATCH") || !strcmp(text, "BROKEN"))
		return RESULT_FAILED;
	if (!strcmp(text, "UNKNOWN"))
		return RESULT_UNKNOWN;
	return strcmp(text, "n/a") ? RESULT_OK : RESULT_ABSENT;
}

bool column_hidden(const struct grid *t, int col)
{
	return t->hide && has_word(t->hide, t->col[col]);
}

bool column_numeric(const struct grid *t, int col)
{
	size_t r;
	bool any = false;

	for (r = 0; r < t->rows; r++) {
		if (grid_cell(t, r, col)->type == CELL_TEXT)
			return false;
		any |= grid_cell(t, r, col)->type != CELL_NULL;
	}
	return any;
}

/* A column `bound...` (exact, >=, <=, n/a) is about the column behind it. */
bool column_bound(const struct grid *t, int col)
{
	return col + 1 < t->cols && !strncmp(t->col[col], "bound", 5);
}
