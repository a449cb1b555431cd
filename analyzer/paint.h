/* SPDX-License-Identifier: GPL-3.0-only */
/* paint.h - what things look like in pictures: palette.def, and a paint for every word that it does not know. */
#ifndef IOT_ANALYZER_PAINT_H
#define IOT_ANALYZER_PAINT_H

#include <stdint.h>

enum hatch { PLAIN, RISING, FALLING, STEEP, SHEER, CROSSED, FINE, CHECKED, HATCHES };

struct paint {
	uint32_t colour;         /* 0xRRGGBB */
	enum hatch hatch;        /* of an area; for lines the number of a dash and of a mark */
};

/* The paint of a word. Unless the palette has it, `taken` are the n paints that the picture has already, of which it becomes none. */
struct paint paint_of(const char *word, const struct paint *taken, int n);

/* What stands for several that have no place of their own. */
extern const struct paint paint_others;

#endif
