/* SPDX-License-Identifier: GPL-3.0-only */
/* paint.c - the palette. */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include "clean.h"
#include "paint.h"

enum {
	BLUE = 0x0072b2, SKY = 0x56b4e9, GREEN = 0x009e73, YELLOW = 0xf0e442, ORANGE = 0xe69f00,
	RED = 0xd55e00, PINK = 0xcc79a7, GREY = 0x8c8c8c, INDIGO = 0x332288, TEAL = 0x44aa99,
	OLIVE = 0x999933, WINE = 0x882255, SAND = 0xddcc77, ROSE = 0xcc6677, PURPLE = 0xaa4499,
	BROWN = 0x8c6d46, SILVER = 0xbbbbbb, PALE_SKY = 0xa6d8f4, PALE_WINE = 0xc27ba0,
};

static const struct { const char *word; uint32_t colour; } palette[] = {
#define PAINT(word, colour) { word, colour },
#include "palette.def"
};

static const uint32_t others[] = {
	BLUE, ORANGE, GREEN, WINE,  SKY,  RED,   PURPLE,   SAND,
	TEAL, INDIGO, ROSE,  OLIVE, PINK, BROWN, PALE_SKY, YELLOW,
};

/* Greys and patterns that differ from their neighbours in the list; line patterns lie over white. */
static const struct { uint32_t grey; int pattern; } greys[] = {
	{ 0x404040, 0 }, { 0xd0d0d0, 0 }, { 0xffffff, 4 }, { 0x808080, 0 }, { 0xffffff, 2 },
	{ 0xb0b0b0, 5 }, { 0xf0f0f0, 0 }, { 0xffffff, 1 }, { 0xb0b0b0, 0 }, { 0xd0d0d0, 4 },
	{ 0xffffff, 7 }, { 0xe0e0e0, 2 }, { 0xffffff, 6 }, { 0x606060, 0 },
};

static bool is_taken(uint32_t colour, const uint32_t *taken, int n)
{
	while (n--)
		if (taken[n] == colour)
			return true;
	return false;
}

uint32_t paint_of(const char *word, const uint32_t *taken, int n)
{
	uint32_t h = 2166136261u, i;
	const char *c;

	for (i = 0; i < N_OF(palette); i++)
		if (!strcmp(palette[i].word, word) && !is_taken(palette[i].colour, taken, n))
			return palette[i].colour;
	for (c = word; *c; c++)
		h = (h ^ (unsigned char)*c) * 16777619u;
	h ^= h >> 15;
	for (i = 0; i < N_OF(others); i++)
		if (!is_taken(others[(h + i) % N_OF(others)], taken, n))
			break;
	return others[(h + i) % N_OF(others)];
}

uint32_t paint_grey(int i, int *pattern)
{
	*pattern = greys[i % N_OF(greys)].pattern;
	return greys[i % N_OF(greys)].grey;
}
