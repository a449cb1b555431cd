/* SPDX-License-Identifier: GPL-3.0-only */
/* grid.h - the answer of one statement, held in memory: so that an error in the last row prints no
 * half table. */
#ifndef IOT_ANALYZER_GRID_H
#define IOT_ANALYZER_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cell_type {
	CELL_NULL,   /* not measured: n/a */
	CELL_INT,
	CELL_REAL,   /* printed with three decimals */
	CELL_TEXT,   /* bytes from strangers, NULs and invalid UTF-8 included; ends with an extra NUL */
};

struct cell {
	enum cell_type type;
	int64_t i;
	double r;
	char *text;
	size_t len;
};

struct grid {
	char *name;      /* word after "-- table:", or NULL */
	char *title;     /* rest of that line, or NULL */
	char *hide;      /* columns left out of the text format, blank separated, or NULL */
	char *first; /* columns that the text format begins with, in that order, blank separated,
			or NULL */
	char *most; /* columns whose sum decides which rows --top keeps, blank separated; NULL: the
		       first */
	char *cases;     /* columns that name a case of --format junit, blank separated, or NULL */
	char *says;      /* the comments in front of its statement, when it is of a picture */
	bool plot;       /* "-- plot:": data of the picture, not printed */
	bool words;      /* "-- words:": sentences; in text a paragraph each, behind what it is about */
	int cols;
	char **col;      /* names */
	size_t rows, room, others; /* others: rows that --top left out */
	struct cell *cell; /* rows x cols */
};

static inline struct cell *grid_cell(const struct grid *t, size_t row, int col)
{
	return &t->cell[row * t->cols + col];
}

/* Number of column `name`, or -1. */
int grid_find(const struct grid *t, const char *name);

/* A new row of empty cells; NULL without memory. */
struct cell *grid_add(struct grid *t);

/* Sets a cell to a copy of len bytes. 0 or -ENOMEM. */
int cell_text(struct cell *c, const char *text, size_t len);

/* Removes all rows. */
void grid_empty(struct grid *t);

/* Frees what the table holds, not the table. */
void grid_free(struct grid *t);

#endif
