// SPDX-License-Identifier: GPL-3.0-only
/* near.c - finds the word that was probably meant. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "near.h"

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Computes row i of the table of distances between prefixes of a and b, from the two rows above
 * it. */
static void next_row(const char *a, const char *b, size_t i, size_t len, size_t row[3][NEAR_WORD])
{
	size_t *now = row[i % 3], *one = row[(i + 2) % 3], *two = row[(i + 1) % 3], j;

	now[0] = i;
	for (j = 1; j <= len; j++) {
		int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);

		now[j] = least(least(now[j - 1], one[j]) + 1, one[j - 1] + (x != y));
		if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
		    y == tolower((unsigned char)a[i - 2]))
			now[j] = least(now[j], two[j - 2] + 1);
	}
}

static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t row[3][NEAR_WORD], i;

	for (i = 0; i <= b_len; i++)
		row[0][i] = i;
	for (i = 1; i <= a_len; i++)
		next_row(a, b, i, b_len, row);
	return row[a_len % 3][b_len];
}

void near_try(struct near *n, const char *word)
{
	size_t given = strlen(n->given), len = strlen(word), longer = given > len ? given : len, d;

	if (!given || longer >= NEAR_WORD)
		return;
	d = distance(n->given, given, word, len);
	if (d > (longer < 5 ? 1 : longer < 8 ? 2 : longer / 3) || d >= longer ||
	    (*n->best && d >= n->distance))
		return;
	strcpy(n->best, word);
	n->distance = d;
}

const char *near_hint(const struct near *n, const char *dash, char hint[NEAR_HINT])
{
	*hint = '\0';
	if (*n->best)
		snprintf(hint, NEAR_HINT, " (did you mean %s%s?)", dash, n->best);
	return hint;
}
