/* SPDX-License-Identifier: GPL-3.0-only */
/* chart.c - a picture: its head, then charts one below the other, each with its panels and its
 * key. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include "analyzer.h"
#include "chart_parts.h"
#include "lettering.h"
#include "memory.h"
#include "paint.h"
#include "report.h"
#include "text.h"

/* A column of a paper is 85 mm wide, a page 178 mm, and what is higher than `most` fits none; 96
 * pixels are an inch. Bitmaps of both have 300 dots an inch. */
static const struct { const char *name; double width, font, zoom, most; } sizes[] = {
	{ "column", 321, 8.5, 3.125, 860 },
	{ "page", 673, 9.5, 3.125, 900 },
	{ "screen", 1200, 13, 1, 0 },
};

int look_size(struct look *look, const char *text)
{
	unsigned width, height;
	char end;
	size_t i;

	for (i = 0; i < N_OF(sizes); i++) {
		if (strcmp(sizes[i].name, text))
			continue;
		look->width = sizes[i].width;
		look->height = 0;
		look->most = sizes[i].most;
		look->font = sizes[i].font;
		look->zoom = sizes[i].zoom;
		return 0;
	}
	if (sscanf(text, "%5ux%5u%c", &width, &height, &end) != 2 || width < 200 || height < 100 ||
	    width > 20000 || height > 20000)
		return -EINVAL;
	look->width = width;
	look->height = height;
	look->most = 0;
	look->font = width < 500 ? 8.5 : width < 1000 ? 10 : 13;
	look->zoom = 1;
	return 0;
}

int fail_size(const char *text)
{
	return fail_as(EXIT_USAGE, 0,
		"--size: '%s' is neither column, page or screen, nor WIDTHxHEIGHT in pixels (200x100 to 20000x20000)",
		text);
}

bool chart_has(const struct answer *a)
{
	int i;

	for (i = 0; i < a->tables; i++)
		if (chart_kind(&a->table[i]) != NO_CHART)
			return true;
	return false;
}

bool chart_has_rows(const struct answer *a)
{
	int i;

	for (i = 0; i < a->tables; i++)
		if (chart_kind(&a->table[i]) < NOTE && a->table[i].rows)
			return true;
	return false;
}

/* By enum style: size in fonts, colour, and where the text stands. */
static const struct { double size; const char *colour, *anchor; bool bold; } styles[] = {
	[TITLE] = { 1.3, "111111", "left", true },
	[HEADING] = { 1, "111111", "left", true },
	[PANEL] = { 0.95, "111111", "left", false },
	[DIM] = { 0.9, "555555", "left", false },
	[DIM_MIDDLE] = { 0.9, "555555", "center", false },
	[NAME] = { 0.95, "111111", "right", false },
	[BAR] = { 0.9, "555555", "right", false },
	[LABEL] = { 0.9, "111111", "left", false },
	[ON_LIGHT] = { 0.8, "111111", "center", false },
	[ON_DARK] = { 0.8, "ffffff", "center", false },
};

double word_width(const struct picture *p, enum style style, const char *plain)
{
	return lettering_width(plain, styles[style].size * p->font, styles[style].bold);
}

void put_word(struct picture *p, enum style style, double x, double y, const char *plain)
{
	if (!*plain)
		return;
	fprintf(p->word[style], "%.2f\t%.2f\t", x, y);
	lettering_put(p->word[style], plain);
	fputc('\n', p->word[style]);
}

void put_fit(struct picture *p, enum style style, double x, double y, double room,
	     const char *plain)
{
	auto_free char *cut = lettering_fit(plain, room, styles[style].size * p->font, styles[style].bold);

	p->failed |= !cut;
	put_word(p, style, x, y, cut ?: "");
}

void put_veiled(struct picture *p, double x, double y, double room, const char *plain)
{
	double w = fmin(word_width(p, LABEL, plain), room), high = 0.5 * p->font,
	       space = 0.15 * p->font;

	if (*plain)
		fprintf(p->word[VEIL], "%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\n", x, y, x - space,
			x + w + space, y - high, y + high);
	put_fit(p, LABEL, x, y, room, plain);
}

void put_clause(struct picture *p, const char *format, ...)
{
	va_list args;

	fprintf(p->script, "%sdata index %d ", p->clauses++ ? ", \\\n     " : "plot ", p->blocks++);
	va_start(args, format);
	vfprintf(p->script, format, args);
	va_end(args);
}

void end_block(struct picture *p)
{
	fputs("\n\n", p->data);
}

void end_plot(struct picture *p)
{
	fputs(p->clauses ? "\n" : "", p->script);
	p->clauses = 0;
}

const char *fill_of(char *buf, const struct picture *p, const struct chart *c, int part)
{
	int pattern = 0;
	uint32_t colour = p->look->grey ? paint_grey(part, &pattern) : c->colour[part];

	if (pattern)
		snprintf(buf, LOOK_TEXT, "fc rgb \"#404040\" fs pattern %d border rgb \"#404040\"", pattern);
	else
		snprintf(buf, LOOK_TEXT, "fc rgb \"#%06x\" fs solid %s", colour,
			 p->look->grey ? "border rgb \"#404040\"" : "noborder");
	return buf;
}

const char *stroke_of(char *buf, const struct picture *p, const struct chart *c, int part)
{
	static const char *const dashes[] = { "solid",           "(4*dash,2*dash)",
					      "(dash,1.5*dash)", "(4*dash,1.5*dash,dash,1.5*dash)",
					      "(8*dash,2*dash)", "(dash,3*dash)" };

	if (p->look->grey)
		snprintf(buf, LOOK_TEXT, "lc rgb \"#%s\" dt %s",
			 part / N_OF(dashes) % 2 ? "888888" : "202020",
			 dashes[part % N_OF(dashes)]);
	else
		snprintf(buf, LOOK_TEXT, "lc rgb \"#%06x\" dt %s", c->colour[part],
			 part > 13 ? dashes[1] : dashes[0]);
	return buf;
}

void put_area(struct picture *p, struct area a, int border)
{
	fprintf(p->script,
		"set lmargin at screen X(%.2f); set rmargin at screen X(%.2f); set tmargin at screen Y(%.2f); set bmargin at screen Y(%.2f)\n"
		"unset key; unset logscale; unset tics; unset grid; unset colorbox; set border %d lw thick lc rgb \"#555555\"\n",
		a.x, a.x + a.w, a.y, a.y + a.h, border);
}

/* Bytes of a text that stand on one line: whole words, or one that is longer. */
static size_t line_bytes(const struct picture *p, const char *text, enum style style)
{
	size_t len, fits = strcspn(text, " ");

	for (len = fits; text[len]; fits = len) {
		len += strspn(text + len, " ");
		len += strcspn(text + len, " ");
		auto_free char *head = strndup(text, len);

		if (!head || len > TEXT_PLOT_CHARS || word_width(p, style, head) > p->width - 2 * p->margin)
			break;
	}
	return fits;
}

static void put_lines(struct picture *p, const char *plain, enum style style)
{
	double high = 1.35 * styles[style].size * p->font;
	size_t len;

	for (; *plain; plain += len + strspn(plain + len, " ")) {
		len = line_bytes(p, plain, style) ?: 1;
		auto_free char *line = strndup(plain, len);

		put_fit(p, style, p->margin, p->y + high / 2, p->width - 2 * p->margin, line ?: "");
		p->y += high;
	}
}

static void put_head(struct picture *p)
{
	const char *given = p->look->title ?: p->a->title;
	auto_free char *title = text_terminal(given, strlen(given));
	int col = grid_find(&p->a->picture, "line");
	size_t row;

	if (p->look->no_head)
		return;
	put_lines(p, title ?: "", TITLE);
	for (row = 0; col >= 0 && row < p->a->picture.rows; row++) {
		auto_free char *line = cell_string(grid_cell(&p->a->picture, row, col), "", text_terminal);

		put_lines(p, line ?: "", DIM);
	}
	p->y += 0.4 * p->font;
}

/* The style of gnuplot's "plot ... with" for a part in the key: boxes, lines or circles. */
static const char *key_kind(const struct chart *c, int part)
{
	int i;

	if (c->kind == LINES)
		return "lines lw thick*2";
	if (c->kind == POINTS || (c->kind == BARS && (c->log || (c->items && c->item[0].marked))))
		return "circles";
	for (i = 0; c->kind == AREAS && i < c->items; i++)
		if (c->item[i].part == part && c->item[i].over)
			return c->item[i].over == 1 ? "lines lw thick*2" : "circles";
	return "boxes";
}

/* Is anything drawn of a part? Parts that are 0 in each bar, area and curve have no key. */
static bool is_drawn(const struct chart *c, int part)
{
	int i;

	for (i = 0; i < c->items; i++) {
		const struct item *it = &c->item[i];

		if (it->part == part && !it->absent && (it->value != 0 || it->ranged || it->marked))
			return *c->part.name[part] != '\0';
	}
	return false;
}

/* The key is gnuplot's own, of a plot that draws nothing: columns as wide as the longest name. */
static void put_key(struct picture *p, const struct chart *c)
{
	double room = p->width - 2 * p->margin, widest = 0, high = 1.35 * p->font;
	char look[LOOK_TEXT];
	int i, n = 0, columns;

	for (i = 0; i < c->part.n; i++) {
		if (!is_drawn(c, i))
			continue;
		n++;
		widest = fmax(widest, 0.68 * p->font * strlen(c->part.name[i]));
		widest = fmax(widest, word_width(p, DIM, c->part.name[i]));
	}
	columns = fmax(1, fmin(n, room / (widest + 5 * p->font)));
	put_area(p, (struct area){ 0, 0, p->width, 1 }, 0);
	fprintf(p->script,
		"set key at screen X(%.2f), screen Y(%.2f) left top horizontal Left reverse samplen 1.5 height 0 spacing row maxcols %d\n"
		"set key font small textcolor rgb \"#111111\"\nset xrange [0:1]; set yrange [0:1]\n",
		p->margin, p->y, columns);
	for (i = 0; i < c->part.n; i++) {
		bool line = strstr(key_kind(c, i), "lines");
		auto_free char *name = lettering_fit(c->part.name[i], room - 5 * p->font, 0.9 * p->font, false);

		if (!is_drawn(c, i))
			continue;
		put_clause(p, "using (-9):(-9) with %s %s title columnheader(words - 2)",
			   key_kind(c, i), (line ? stroke_of : fill_of)(look, p, c, i));
		lettering_put(p->data, name ?: "");
		fputs("\n0\t0\n", p->data);
		end_block(p);
	}
	end_plot(p);
	p->y += n ? high * ((n + columns - 1) / columns) + 0.4 * p->font : 0;
}

/* Is the key of a chart the one that the chart above has? */
static bool same_parts(const struct chart *a, const struct chart *b)
{
	int i;

	if (a->part.n != b->part.n || a->kind != b->kind)
		return false;
	for (i = 0; i < a->part.n; i++)
		if (strcmp(a->part.name[i], b->part.name[i]))
			return false;
	return true;
}

/* Panels of a line: as many as their least width allows. */
static int columns_of(struct picture *p, const struct chart *c)
{
	double least = (c->kind == LINES || c->kind == POINTS ? 15 : 24) * p->font;
	int n = c->kind == BARS ? bars_columns(p, c) : (p->width - 2 * p->margin) / least;

	return n < 1 ? 1 : n > c->panel.n ? c->panel.n : n > 4 ? 4 : n;
}

static void put_panels(struct picture *p, const struct chart *c)
{
	int n = columns_of(p, c), i;
	double w = (p->width - 2 * p->margin) / n,
	       plot = fmin(fmax(0.5 * w, 9 * p->font), 16 * p->font) + p->stretch;

	p->columns = n;
	if (c->kind == FLOW)
		p->y += flow_put(p, c);
	for (i = 0; i < c->panel.n && c->kind != FLOW; i += n) {
		int here = i + n < c->panel.n ? n : c->panel.n - i;

		p->y += c->kind == BARS ? bars_put(p, c, i, here) : xy_put(p, c, i, here, plot);
		p->plots += c->kind != BARS;
	}
}

static void put_chart(struct picture *p, int number)
{
	const struct chart *c = &p->chart[number];
	bool key = c->items && c->key && c->kind != CELLS && c->kind != FLOW &&
		   !(c->kind == BARS && bars_name_parts(c));
	int i;

	if (c->items && c->heading) {
		p->y += number ? 0.5 * p->font : 0;
		put_lines(p, c->heading, HEADING);
	}
	if (key && (!number || !same_parts(c, &p->chart[number - 1])))
		put_key(p, c);
	if (c->items)
		put_panels(p, c);
	for (i = 0; i < c->note.n; i++)
		put_lines(p, c->note.name[i], DIM);
}

static void forget(struct picture *p)
{
	int i;

	for (i = -2; i < STYLES; i++) {
		FILE **f = i == -2 ? &p->script : i == -1 ? &p->data : &p->word[i];
		char **text = i == -2 ? &p->script_text : i == -1 ? &p->data_text : &p->words[i];

		if (*f)
			fclose(*f);
		free(*text);
		*f = NULL;
		*text = NULL;
	}
	while (p->charts)
		chart_free(&p->chart[--p->charts]);
	p->blocks = p->plots = 0;
}

static int read_charts(struct picture *p, struct room room)
{
	int i, items = 0;

	for (i = 0; i < p->a->tables && p->charts < (int)N_OF(p->chart); i++) {
		if (chart_kind(&p->a->table[i]) == NO_CHART)
			continue;
		if (chart_read(&p->chart[p->charts++], &p->a->table[i], room))
			return fail_as(EXIT_DATA, ENOMEM, "%s", p->a->name);
		items += p->chart[p->charts - 1].items;
	}
	return items ? 0 :
		       fail_as(EXIT_DATA, 0,
			       "nothing to draw: report '%s' has no rows for this run",
			       p->a->name);
}

/* All that is drawn; only then the height is known. 0 or an exit status. */
static int put_body(struct picture *p, struct room room)
{
	int i, err;

	forget(p);
	p->y = p->margin = 0.8 * p->font;
	p->script = memory_open(&p->script_text, NULL);
	p->data = memory_open(&p->data_text, NULL);
	p->failed = !p->script || !p->data;
	for (i = 0; i < STYLES; i++)
		p->failed |= !(p->word[i] = memory_open(&p->words[i], NULL));
	if (p->failed)
		return fail_as(EXIT_DATA, ENOMEM, "%s", p->a->name);
	err = read_charts(p, room);
	if (!err)
		put_head(p);
	for (i = 0; !err && i < p->charts; i++)
		put_chart(p, i);
	p->y += p->margin;
	return err;
}

/* A picture that is higher than a page has fewer panels, then fewer rows, and is then drawn on a
 * larger canvas and made smaller, as is one of a given height; to that its plots grow. */
static int fit_body(struct picture *p)
{
	struct room room = p->look->width < 500 ? (struct room){ 10, 6, 9 } : (struct room){ 14, 9, 14 };
	double want = p->look->height / p->look->width,
	       most = (p->look->height ?: p->look->most) / p->look->width, grow;
	int err = put_body(p, room);

	while (!err && p->look->most && p->y > p->look->most && (room.panels > 2 || room.rows > 3)) {
		room.panels -= room.panels > 2;
		room.rows -= room.panels <= 3 && room.rows > 3;
		err = put_body(p, room);
	}
	while (!err && most > 0 && p->y > p->width * most && p->width < 20 * p->look->width) {
		p->width *= 1.08;
		err = put_body(p, room);
	}
	grow = want > 0 && p->plots ? (p->width * want - p->y) / p->plots : 0;
	if (!err && grow > 1) {
		p->stretch = grow;
		err = put_body(p, room);
	}
	if (want > 0)
		p->y = fmax(p->y, p->width * want);
	return err;
}

/* The clause of all words of a style, or of the veils. */
static void put_style(struct picture *p, enum style style)
{
	if (style == VEIL) {
		put_clause(p, "using 1:2:3:4:5:6 notitle with boxxyerror fc rgb \"#ffffff\" "
			      "fs transparent solid 0.75 noborder");
		return;
	}
	put_clause(
		p,
		"using 1:2:words notitle with labels %s noenhanced font %s(%.2f) tc rgb \"#%s\"",
		styles[style].anchor, styles[style].bold ? "bold" : "face",
		styles[style].size * p->font, styles[style].colour);
}

/* Text but ticks and keys: one plot over the whole canvas. */
static void put_words(struct picture *p, int from, int to)
{
	int i;

	put_area(p, (struct area){ 0, 0, p->width, p->y }, 0);
	fprintf(p->script, "set xrange [0:across]; set yrange [%.2f:0]\n", p->y);
	for (i = from; i < to; i++) {
		p->failed |= fclose(p->word[i]) || !p->words[i];
		p->word[i] = NULL;
		if (p->failed || !*p->words[i])
			continue;
		put_style(p, i);
		fputs(p->words[i], p->data);
		end_block(p);
	}
	end_plot(p);
}

/* The title is the first text, what stands on bars and lines the last. */
static void write_script(struct picture *p, const char *name, const char *style, FILE *script)
{
	char id[64], *dash;

	p->failed |= fclose(p->script) != 0;
	p->script = script;
	snprintf(id, sizeof(id), "%s", name); /* gnuplot takes letters, digits and _ */
	for (; (dash = strchr(id, '-'));)
		*dash = '_';
	fprintf(script,
		"picture = \"%s\"; id = \"%s\"; width = %.1f; height = %.1f; zoom = %.3f; across = %.2f; font = %.2f\n%s",
		name, id, p->look->width, ceil(p->y * p->look->width / p->width - 1e-6),
		p->look->zoom, p->width, p->font, style);
	put_words(p, TITLE, VEIL);
	fputs(p->script_text ?: "", script);
	put_words(p, VEIL, STYLES);
	fputs("unset multiplot\n", script);
	p->failed |= fclose(p->data) || !p->script_text || !p->data_text;
	p->script = p->data = NULL;
}

int chart_draw(const struct answer *a, const struct look *look, const char *name,
	       const char *style, FILE *data, FILE *script)
{
	struct picture p = { .a = a, .look = look, .width = look->width, .font = look->font };
	int err = fit_body(&p);

	if (!err) {
		write_script(&p, name, style, script);
		fputs(p.data_text ?: "", data);
		err = p.failed ? fail_as(EXIT_DATA, ENOMEM, "%s", a->name) : 0;
	}
	forget(&p);
	return err;
}
