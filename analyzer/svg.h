/* SPDX-License-Identifier: GPL-3.0-only */
/* svg.h - the strokes of a picture. Every text says how wide it is, so that its box is the same in every viewer.
 *
 * Lengths are in the units of the canvas. Classes: ink (text), dim (text beside), line (axes), grid, paper: a page may give them other
 * colours. Text is plain (text_terminal()); what XML would read is escaped here.
 */
#ifndef IOT_ANALYZER_SVG_H
#define IOT_ANALYZER_SVG_H

#include <stdbool.h>
#include <stdio.h>
#include "paint.h"

struct svg {
	FILE *f;
	const char *id;          /* begins the ids of patterns: pictures of one page must not share them */
	struct paint hatched[64]; /* the patterns that were used */
	int patterns;
	int stripped;            /* patterns that found no room: drawn without hatch */
};

enum anchor { START, MIDDLE, END };

/* Width of a plain text of that size, in the metrics of DejaVu Sans. */
double svg_width(const char *plain, double size, bool bold);

/* The text, or what of it fits into `room`: the middle is cut out. Allocated. */
char *svg_fit(const char *plain, double room, double size, bool bold);

void svg_text(struct svg *s, double x, double y, enum anchor anchor, double size, const char *class, bool bold, const char *plain);
void svg_rect(struct svg *s, double x, double y, double w, double h, struct paint p);
void svg_rule(struct svg *s, double x1, double y1, double x2, double y2, const char *class, double width, const char *dash);

/* A line through points, "M0 0L1 1" (x y pairs), with the dash of the paint; or an area. */
void svg_path(struct svg *s, const char *d, struct paint p, double width);
void svg_area(struct svg *s, const char *d, struct paint p);

/* The mark of the paint around a point. */
void svg_mark(struct svg *s, double x, double y, double r, struct paint p);

/* What svg_rect() and svg_area() filled with. */
void svg_defs(struct svg *s);

#endif
