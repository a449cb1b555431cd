/* SPDX-License-Identifier: GPL-3.0-only */
/* paint.c - the palette. */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include "clean.h"
#include "paint.h"

enum {
	BLUE = 0x0072b2, SKY = 0x56b4e9, GREEN = 0x009e73, YELLOW = 0xf0e442, ORANGE = 0xe69f00, RED = 0xd55e00, PINK = 0xcc79a7, GREY = 0x999999,
	INDIGO = 0x332288, TEAL = 0x44aa99, OLIVE = 0x999933, WINE = 0x882255, SAND = 0xddcc77, ROSE = 0xcc6677, PURPLE = 0xaa4499, BROWN = 0x8c6d46,
	SHADE1 = 0xfff7bc, SHADE2 = 0xfec44f, SHADE3 = 0xfb9a29, SHADE4 = 0xcc4c02, SHADE5 = 0x662506,
};

static const struct { const char *word; struct paint paint; } palette[] = {
#define PAINT(word, colour, hatch) { word, { colour, hatch } },
#include "palette.def"
};

/* For words without a row. */
static const uint32_t spare[] = { BLUE, ORANGE, GREEN, WINE, SKY, RED, PURPLE, SAND, TEAL, INDIGO, ROSE, OLIVE, YELLOW, PINK, BROWN };

const struct paint paint_others = { 0xcccccc, PLAIN };

static bool is_taken(struct paint p, const struct paint *taken, int n)
{
	while (n--)
		if (taken[n].colour == p.colour && taken[n].hatch == p.hatch)
			return true;
	return false;
}

struct paint paint_of(const char *word, const struct paint *taken, int n)
{
	uint32_t h = 2166136261u, i;
	struct paint p = paint_others;
	const char *c;

	for (i = 0; i < N_OF(palette); i++)
		if (!strcmp(palette[i].word, word))
			return palette[i].paint;
	for (c = word; *c; c++)
		h = (h ^ (unsigned char)*c) * 16777619u;
	h ^= h >> 15;
	for (i = 0; i < N_OF(spare) * HATCHES; i++) {
		p = (struct paint){ spare[(h + i) % N_OF(spare)], (h / N_OF(spare) + i + i / N_OF(spare)) % HATCHES };
		if (!is_taken(p, taken, n))
			break;
	}
	return p;
}
