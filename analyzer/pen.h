/* SPDX-License-Identifier: GPL-3.0-only */
/* pen.h - the strokes of a picture, kept until gnuplot draws them: where and what is data, how it looks is the script.
 *
 * Lengths are in the units of the canvas, y grows downwards. Strokes are drawn in layers (grid, fills, lines, curves, marks, text), in each
 * layer in the order in which a look was first used; what looks alike is one block of data and one clause of the script.
 * Text is plain (text_terminal()); what gnuplot would read in a cell is escaped here, and no more than TEXT_PLOT_CHARS are drawn.
 */
#ifndef IOT_ANALYZER_PEN_H
#define IOT_ANALYZER_PEN_H

#include <stdbool.h>
#include <stdio.h>
#include "paint.h"

struct pen_block;

struct pen {
	struct pen_block *first;
	bool failed;             /* no memory: pen_write() says so */
};

enum anchor { START, MIDDLE, END };

/* Text and text beside it; axes, grid, and what separates fills. */
enum ink { INK, DIM, LINE, GRID, PAPER };

/* Width of a plain text of that size, in the metrics of DejaVu Sans. */
double pen_width(const char *plain, double size, bool bold);

/* The text, or what of it fits into `room`: the middle is cut out. Allocated. */
char *pen_fit(const char *plain, double room, double size, bool bold);

/* y is that of the baseline. */
void pen_text(struct pen *p, double x, double y, enum anchor anchor, double size, enum ink ink, bool bold, const char *plain);
void pen_rect(struct pen *p, double x, double y, double w, double h, struct paint paint);
void pen_rule(struct pen *p, double x1, double y1, double x2, double y2, enum ink ink, double width, bool dashed);

/* A line through points, "M0 0L1 1H2V3" (absolute; each M begins another), with the dash of the paint; or an area. */
void pen_path(struct pen *p, const char *d, struct paint paint, double width);
void pen_area(struct pen *p, const char *d, struct paint paint);

/* The mark of the paint around a point. */
void pen_mark(struct pen *p, double x, double y, double r, struct paint paint);

/* All strokes: blocks for `data`, and for `script` what reads them from the file that its variable `data` names: "plot ...". The functions
 * and variables that it uses are those of reports/pen.gp. 0 or -ENOMEM. */
int pen_write(struct pen *p, FILE *data, FILE *script);

/* Forgets all strokes. */
void pen_free(struct pen *p);

#endif
