/* SPDX-License-Identifier: GPL-3.0-only */
/* markup.c - tables in LaTeX and in Markdown. Names are from strangers: what means anything there is escaped. */
#include <errno.h>
#include "analyzer.h"
#include "markup.h"
#include "memory.h"
#include "text.h"
#include "utf8.h"

#define LAST_LETTER 0x17f        /* of Latin Extended-A */

/* Each character of `special`, one byte, is written as the text in its place. */
struct escapes {
	const char *special;
	const char *const *text; /* NULL: a backslash in front */
	unsigned last;           /* code points above it are written as \u{HEX}; 0: none are */
};

static const char *const latex_texts[] = { "\\&", "\\%", "\\$", "\\#", "\\_", "\\{", "\\}", "\\textasciitilde{}", "\\textasciicircum{}", "\\textbackslash{}",
					   "\\textless{}", "\\textgreater{}", "\\textbar{}", "\\textquotedbl{}", "\\textasciigrave{}", "{[}", "{]}", "{*}", "{-}" };
/* [ and * would belong to the \\ that ends the row before; -- would be one dash */
static const struct escapes latex = { "&%$#_{}~^\\<>|\"`[]*-", latex_texts, LAST_LETTER };
static const struct escapes markdown = { "\\`*_{}[]<>&|~$#!", NULL, 0 };

/* The text is valid UTF-8 without control characters: text_terminal() made it. */
static char *escape(const char *text, size_t len, const struct escapes *e)
{
	auto_free char *plain = text_terminal(text, len);
	char *out = NULL;
	FILE *f = plain ? memory_open(&out, NULL) : NULL;
	const char *p, *at;

	if (!f)
		return NULL;
	for (p = plain; *p; p++) {
		unsigned lead = (unsigned char)*p, code = lead < 0xe0 ? lead & 0x1f : lead < 0xf0 ? lead & 0xf : lead & 7;

		at = strchr(e->special, *p);
		if (at && e->text)
			fputs(e->text[at - e->special], f);
		else if (at)
			fprintf(f, "\\%c", *p);
		else if (lead < 0x80 || !e->last)
			fputc(*p, f);
		if (at || lead < 0x80 || !e->last)
			continue;
		for (at = p; (at[1] & 0xc0) == 0x80; at++)
			code = code << 6 | (at[1] & 0x3f);
		if (code <= e->last)
			fwrite(p, 1, at + 1 - p, f);
		else
			fprintf(f, "\\textbackslash{}u\\{%x\\}", code);
		p = at;
	}
	if (fclose(f)) {
		free(out);
		return NULL;
	}
	return out;
}

char *text_latex(const char *text, size_t len)
{
	return escape(text, len, &latex);
}

char *text_markdown(const char *text, size_t len)
{
	return escape(text, len, &markdown);
}

#define PAGE_ROWS 50 /* of a table in LaTeX */

/* What begins and ends a table, a row, a cell. */
struct markup {
	char *(*escape)(const char *, size_t);
	const char *begin_row, *between, *end_row, *least, *most; /* least, most: for bounds */
};

static const struct markup as_latex = { text_latex, "", " & ", " \\\\\n", "$\\geq$ ", "$\\leq$ " };
static const struct markup as_markdown = { text_markdown, "| ", " | ", " |\n", "≥ ", "≤ " };

static bool is_shown(const struct grid *t, int col)
{
	return !column_hidden(t, col) && !column_bound(t, col);
}

/* One cell, with the bound that stands in front of it. */
static int put_cell(const struct grid *t, size_t row, int col, const struct markup *m)
{
	auto_free char *s = cell_string(grid_cell(t, row, col), ABSENT, m->escape);
	const struct cell *bound = col && column_bound(t, col - 1) ? grid_cell(t, row, col - 1) : NULL;

	if (!s)
		return -ENOMEM;
	if (bound && bound->type == CELL_TEXT && !strcmp(bound->text, ">="))
		fputs(m->least, stdout);
	if (bound && bound->type == CELL_TEXT && !strcmp(bound->text, "<="))
		fputs(m->most, stdout);
	fputs(s, stdout);
	return 0;
}

static int put_row(const struct grid *t, size_t row, const struct markup *m)
{
	int col, n = 0, err = 0;

	fputs(m->begin_row, stdout);
	for (col = 0; !err && col < t->cols; col++) {
		if (!is_shown(t, col))
			continue;
		fputs(n++ ? m->between : "", stdout);
		err = put_cell(t, row, col, m);
	}
	fputs(m->end_row, stdout);
	return err;
}

static int put_names(const struct grid *t, const struct markup *m)
{
	int col, n = 0;

	fputs(m->begin_row, stdout);
	for (col = 0; col < t->cols; col++) {
		auto_free char *s = m->escape(t->col[col], strlen(t->col[col]));

		if (!s)
			return -ENOMEM;
		if (is_shown(t, col))
			printf("%s%s", n++ ? m->between : "", s);
	}
	fputs(m->end_row, stdout);
	return 0;
}

static int put_rows(const struct grid *t, size_t from, size_t to, const struct markup *m)
{
	size_t row;
	int err = 0;

	for (row = from; !err && row < to && row < t->rows; row++)
		err = put_row(t, row, m);
	return err;
}

/* A sentence each, behind what it is about. */
static int put_sentences(const struct grid *t, const char *begin, const char *between, char *(*text)(const char *, size_t))
{
	size_t row;

	for (row = 0; row < t->rows; row++) {
		auto_free char *about = cell_string(grid_cell(t, row, 0), ABSENT, text), *words = cell_string(grid_cell(t, row, 1), ABSENT, text);

		if (!about || !words)
			return -ENOMEM;
		printf("%s%s%s%s\n", begin, about, between, words);
	}
	return 0;
}

/* The rows from that one on, as many as a page holds. */
static int latex_page(const struct grid *t, size_t from)
{
	int col, err;

	printf("\\begin{tabular}{");
	for (col = 0; col < t->cols; col++)
		if (is_shown(t, col))
			putchar(column_numeric(t, col) ? 'r' : 'l');
	printf("}\n\\hline\n");
	err = put_names(t, &as_latex);
	printf("\\hline\n");
	err = err ?: put_rows(t, from, from + PAGE_ROWS, &as_latex);
	printf("\\hline\n\\end{tabular}\n\n");
	return err;
}

/* TeX breaks no tabular, and keeps all of it in its memory: a long table is several. */
static int latex_table(const struct grid *t)
{
	size_t row;
	int err;

	if (t->title) {
		auto_free char *title = text_terminal(t->title, strlen(t->title));

		if (!title)
			return -ENOMEM;
		printf("%% %s\n", title);
	}
	if (t->words) {
		printf("\\begin{description}\n");
		err = put_sentences(t, "\\item[", "] ", text_latex);
		printf("\\end{description}\n\n");
		return err;
	}
	for (row = 0, err = latex_page(t, 0); !err && (row += PAGE_ROWS) < t->rows;)
		err = latex_page(t, row);
	if (t->others)
		printf("%% and %zu other%s\n", t->others, t->others > 1 ? "s" : "");
	return err;
}

static int markdown_table(const struct grid *t)
{
	int col, err;

	if (t->title) {
		auto_free char *title = text_markdown(t->title, strlen(t->title));

		if (!title)
			return -ENOMEM;
		printf("### %s\n\n", title);
	}
	if (t->words) {
		err = put_sentences(t, "- **", "**: ", text_markdown);
		printf("\n");
		return err;
	}
	err = put_names(t, &as_markdown);
	for (col = 0; col < t->cols; col++)
		if (is_shown(t, col))
			printf("|%s", column_numeric(t, col) ? "---:" : "---");
	printf("|\n");
	err = err ?: put_rows(t, 0, t->rows, &as_markdown);
	if (t->others)
		printf("\nand %zu other%s\n", t->others, t->others > 1 ? "s" : "");
	printf("\n");
	return err;
}

static int each_table(const struct answer *a, const struct grid *only, int (*table)(const struct grid *))
{
	int i, err = 0;

	if (only)
		return table(only);
	for (i = 0; !err && i < a->tables; i++)
		if (!a->table[i].plot && a->table[i].rows)
			err = table(&a->table[i]);
	return err;
}

int print_latex(const struct answer *a, const struct grid *only)
{
	return each_table(a, only, latex_table);
}

int print_markdown(const struct answer *a, const struct grid *only)
{
	return each_table(a, only, markdown_table);
}
