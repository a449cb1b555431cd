/* SPDX-License-Identifier: GPL-3.0-only */
/* page.c - one run as one page of HTML: readable without a network, on paper, in light and in
 * dark; its only script sorts tables. */
#include <errno.h>
#include "analyzer.h"
#include "chart.h"
#include "compare.h"
#include "folder.h"
#include "html.h"
#include "memory.h"
#include "options.h"
#include "page.h"
#include "page_style.h"
#include "payload.h"
#include "place.h"
#include "plot.h"
#include "report.h"
#include "stream.h"
#include "text.h"

/* Events of a run beyond which reports that read each of them are left out: they would take longer
 * than all others together. */
#define EVENTS_MAX 5000000
#define ROWS_OPEN 40  /* of what no picture shows: more are there to be unfolded */

/* The sections in the order of questions: what, why, where, whose, when, how, and whether to
 * believe it. To add one: a row; why it may be empty is a row of v_absent
 * (reports/views/picture.sql). */
static const struct section { const char *report, *question; bool by_events; } sections[] = {
	{ "headline", "What happened" },
	{ "explain", "What should change?" },
	{ "waterfall", "Where do the bytes grow?" },
	{ "amplification", "What did each layer move?" },
	{ "breakdown", "Whose device bytes are they, and why?" },
	{ "files", "Which files?" },
	{ "carriers", "Who carried them?" },
	{ "components", "Which part of each system moved them?" },
	{ "journal", "What do journals hold?" },
	{ "fsync", "What does one sync cost?" },
	{ "perop", "What does one operation cost?" },
	{ "latency", "How long did it take?" },
	{ "timeline", "When?" },
	{ "pattern", "In sequence, or at random?", true },
	{ "iosize", "How large?", true },
	{ "heatmap", "Where on the devices?", true },
	{ "network", "What went over sockets?" },
	{ "pictures", "The systems beside each other" },
	{ "verify", "Do the bytes add up?" },
};

/* Sections that explain the sentences of the first section. */
static const struct { const char *about, *section; } about_sections[] = {
	{ "finding", "waterfall" },   { "from", "explain" },  { "writes", "amplification" },
	{ "reads", "amplification" }, { "ledger", "verify" }, { "missing", "run" },
};

struct page {
	FILE *out;
	struct store *store;
	const struct options *o;
	int64_t run;
	char *texts[N_OF(sections)];
	struct grid absent;      /* report, why */
	bool wrong, many;        /* many: more than EVENTS_MAX */
	int cut;                 /* EXIT_DATA: the run is incomplete, which was said */
};

/* The section that a command is the report of; NULL: none. */
static const char *section_of(const char *words)
{
	static const char program[] = "iot-analyze ";
	size_t n = sizeof(program) - 1, i, len;

	if (!words || strncmp(words, program, n))
		return NULL;
	len = strcspn(words + n, " ");
	for (i = 0; i < N_OF(sections); i++)
		if (strlen(sections[i].report) == len && !strncmp(sections[i].report, words + n, len))
			return sections[i].report;
	return NULL;
}

static const char *about_section(const char *about)
{
	size_t i;

	for (i = 0; i < N_OF(about_sections); i++)
		if (!strcmp(about_sections[i].about, about))
			return about_sections[i].section;
	return NULL;
}

/* A sentence, and a command as a link to what it prints. */
static void put_sentence(FILE *out, const char *words, const char *section)
{
	if (section)
		fprintf(out, "<dd><a href=\"#%s\"><code>%s</code></a></dd>\n", section, words);
	else
		fprintf(out, "<dd>%s</dd>\n", words);
}

static int put_words(FILE *out, const struct grid *t)
{
	size_t row;

	fputs("<dl>\n", out);
	for (row = 0; row < t->rows; row++) {
		auto_free char *about = cell_string(grid_cell(t, row, 0), "", text_xml),
			       *words = cell_string(grid_cell(t, row, 1), "n/a", text_xml);
		const char *before = row ? grid_cell(t, row - 1, 0)->text : NULL,
			   *now = grid_cell(t, row, 0)->text;
		const char *to = t->name && !strcmp(t->name, "headline") && now ? about_section(now) : NULL;

		if (!about || !words)
			return -ENOMEM;
		if (!before || !now || strcmp(before, now))
			fprintf(out, to ? "<dt><a href=\"#%s\">%s</a></dt>\n" : "<dt>%s%s</dt>\n", to ?: "", about);
		put_sentence(out, words, section_of(grid_cell(t, row, 1)->text));
	}
	fputs("</dl>\n", out);
	return 0;
}

/* Prints the command of a report. Names that a shell would interpret are replaced by STORE and
 * SYSTEM. */
static void put_command(const struct page *p, const char *report, const char *more)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./+-";
	const char *store = p->o->arg[1], *system = p->o->system;

	fprintf(p->out, "<p class=\"dim\"><code>iot-analyze %s %s", report,
		store[strspn(store, plain)] || *store == '-' ? "STORE" : store);
	if (strcmp(report, "compare"))
		fprintf(p->out, " --run %lld", (long long)p->run);
	if (system)
		fprintf(p->out, " --system %s", system[strspn(system, plain)] ? "SYSTEM" : system);
	fprintf(p->out, "%s</code></p>\n", more);
}

static const char *why_absent(const struct page *p, const char *report)
{
	size_t row;

	for (row = 0; row < p->absent.rows; row++)
		if (!strcmp(grid_cell(&p->absent, row, 0)->text, report) &&
		    grid_cell(&p->absent, row, 1)->type == CELL_TEXT)
			return grid_cell(&p->absent, row, 1)->text;
	return "there is nothing of it in this run";
}

static int put_figure(struct page *p, const struct answer *a)
{
	static const char *const widths[][2] = { { "wide", "screen" },
						 { "narrow", "column" },
						 { "paper", "page" } };
	char id[64];
	size_t i;
	int err = 0;

	fprintf(p->out, "<figure>\n");
	for (i = 0; !err && i < N_OF(widths); i++) {
		struct look look = { .no_head = true };

		look_size(&look, widths[i][1]);
		snprintf(id, sizeof(id), "%s-%s", a->name, widths[i][0]);
		fprintf(p->out, "<div class=\"%s\">\n", widths[i][0]);
		err = plot_inline(a, &look, id, p->out);
		fprintf(p->out, "</div>\n");
	}
	fputs("<figcaption>", p->out);
	html_text(p->out, a->title);
	fputs(". ", p->out);
	if (a->caption)
		html_lines(p->out, a->caption);
	put_command(p, a->name, " --plot .");
	fputs("</figcaption></figure>\n", p->out);
	return err;
}

static size_t table_rows(const struct answer *a)
{
	size_t rows = 0;
	int i;

	for (i = 0; i < a->tables; i++)
		if (!a->table[i].plot && !a->table[i].words)
			rows += a->table[i].rows;
	return rows;
}

static int put_tables(struct page *p, const struct answer *a)
{
	bool drawn = chart_has(a);
	size_t rows = table_rows(a);
	int i, err = 0;

	for (i = 0; !err && i < a->tables; i++)
		if (a->table[i].words)
			err = put_words(p->out, &a->table[i]);
	if (err || !rows)
		return err;
	fprintf(p->out, "<details%s><summary>The numbers (%zu rows)</summary>\n",
		drawn || rows > ROWS_OPEN ? "" : " open", rows);
	for (i = 0; !err && i < a->tables; i++)
		if (!a->table[i].plot && !a->table[i].words && a->table[i].rows)
			err = html_table(p->out, &a->table[i]);
	put_command(p, a->name, "");
	fprintf(p->out, "</details>\n");
	return err;
}

/* Takes rows that agree out of tables of checks. Returns their number. */
static size_t fold_equal(struct answer *a)
{
	size_t n = 0, row, kept;
	int i, col, c;

	for (i = 0; i < a->tables; i++) {
		struct grid *t = &a->table[i];

		col = t->words ? -1 : grid_find(t, "result");
		if (col < 0)
			continue;
		for (row = kept = 0; row < t->rows; row++) {
			const struct cell *cell = grid_cell(t, row, col);

			if (cell->type != CELL_TEXT || result_of(cell->text) != RESULT_OK) {
				memmove(grid_cell(t, kept++, 0), grid_cell(t, row, 0), t->cols * sizeof(*t->cell));
				continue;
			}
			for (c = 0; c < t->cols; c++)
				free(grid_cell(t, row, c)->text);
			n++;
		}
		t->rows = kept;
	}
	return n;
}

static int put_section(struct page *p, size_t number)
{
	const struct section *s = &sections[number];
	struct answer a = { 0 };
	int err;

	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\riot-analyze: report: %zu of %zu, %s        %s", number + 1,
			N_OF(sections), s->report, number + 1 < N_OF(sections) ? "" : "\n");
	if (p->many && s->by_events) {
		fprintf(p->out, "<section id=\"%s\"><h2>", s->report);
		html_text(p->out, s->question);
		fprintf(p->out,
			"</h2>\n<p class=\"absent\">Not drawn, because the run has more than %d events, each of which would be read:</p>\n",
			EVENTS_MAX);
		put_command(p, s->report, " --plot .");
		fputs("</section>\n", p->out);
		return 0;
	}
	err = report_run(p->store, s->report, p->texts[number], &a);
	if (!err) {
		bool wrong = answer_mismatch(&a);
		size_t equal = fold_equal(&a);

		p->wrong |= wrong;
		p->cut = p->cut ?: answer_whole(&a, p->o->arg[1]);
		fprintf(p->out, "<section id=\"%s\"%s><h2>", s->report, wrong ? " class=\"wrong\"" : "");
		html_text(p->out, s->question);
		fputs("</h2>\n", p->out);
		if (chart_has(&a) && chart_has_rows(&a))
			err = put_figure(p, &a);
		else if (chart_has(&a) || !(equal || table_rows(&a) || a.table[0].words)) {
			fputs("<p class=\"absent\">Not measured, because ", p->out);
			html_text(p->out, why_absent(p, s->report));
			fputs(".</p>\n", p->out);
		}
		if (equal) {
			fprintf(p->out,
				"<p>%zu comparison%s with what the kernel counted: equal, and not listed here.</p>\n",
				equal, equal == 1 ? "" : "s");
			put_command(p, s->report, "");
		}
		err = err ?: put_tables(p, &a) ? fail_as(EXIT_DATA, ENOMEM, "%s", s->report) : 0;
		fputs("</section>\n", p->out);
	}
	answer_free(&a);
	return err;
}

/* The differences between the sets of runs of the store, where it has several. */
static int put_comparison(struct page *p)
{
	auto_free char *unlike = NULL;
	struct answer a = { 0 };
	int err = compare_store(p->o, p->o->arg[1], &a, &unlike);

	if (!err && a.tables) {
		fputs("<section id=\"compare\"><h2>Do the runs of this store differ?</h2>\n", p->out);
		if (unlike) {
			fputs("<p class=\"absent\">Not compared, because the runs are not comparable: ", p->out);
			html_text(p->out, unlike);
			fputs(".</p>\n", p->out);
		} else {
			err = chart_has_rows(&a) ? put_figure(p, &a) : 0;
			err = err ?: put_tables(p, &a) ? fail_as(EXIT_DATA, ENOMEM, "compare") : 0;
		}
		fputs("</section>\n", p->out);
	}
	answer_free(&a);
	return err;
}

/* The run, its machine and its devices. */
static int put_run(struct page *p)
{
	struct grid t = { 0 }, devices = { .title = NULL }, runs = { .title = NULL };
	static const char disks[] =
		"SELECT device, type, fs, options, mount, size_bytes, rotational FROM v_device WHERE leaf = 1 ORDER BY device";
	int col, err = store_query(p->store, "run", "SELECT * FROM v_run", NULL, &t) ?:
		       store_query(p->store, "devices", disks, NULL, &devices) ?:
		       store_query(p->store, "runs", "SELECT * FROM v_runs ORDER BY run", NULL,
				   &runs);

	fputs("<section id=\"run\"><h2>The run and its system</h2>\n<details open><summary>The run</summary>",
	      p->out);
	fputs("<div class=\"scroll\"><table class=\"wrap\"><tbody>\n", p->out);
	for (col = 0; !err && t.rows && col < t.cols; col++) {
		auto_free char *value = cell_string(grid_cell(&t, 0, col), "n/a", text_xml);

		fprintf(p->out, "<tr><th>%s</th><td>%s</td></tr>\n", t.col[col], value ?: "");
	}
	fputs("</tbody></table></div></details>\n", p->out);
	devices.title = strdup("Devices whose bytes are counted");
	if (!err && devices.rows)
		err = html_table(p->out, &devices);
	runs.title = strdup("All runs of the store");
	if (!err && runs.rows > 1)
		err = html_table(p->out, &runs);
	fputs("</section>\n", p->out);
	grid_free(&t);
	grid_free(&devices);
	grid_free(&runs);
	return err;
}

/* Host, command, date, duration, kernel; until when is counted; what was lost. */
static int put_identity(struct page *p)
{
	struct grid head = { 0 };
	int err = store_query(p->store, "head", "SELECT line FROM v_head ORDER BY ord", NULL, &head);
	size_t row;

	for (row = 0; !err && row < head.rows; row++) {
		fputs("<p class=\"dim\">", p->out);
		html_text(p->out, grid_cell(&head, row, 0)->text ?: "");
		fputs("</p>\n", p->out);
	}
	fputs("<p class=\"dim paper\">On paper: words and pictures. The numbers are in the page, and behind each command.</p>\n",
	      p->out);
	grid_free(&head);
	return err;
}

static int put_page(struct page *p)
{
	size_t i;
	int err;

	fprintf(p->out,
		"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" SCRIPT_SHA256
		"'\">\n<title>");
	html_text(p->out, p->o->title ?: "iot: where the bytes go");
	fprintf(p->out, "</title>\n<style>\n%s</style></head>\n<body><main><h1>", style);
	html_text(p->out, p->o->title ?: "Where the bytes go, and whose they are");
	fprintf(p->out, "</h1>\n");
	err = put_identity(p);
	fprintf(p->out, "<nav>");
	for (i = 0; i < N_OF(sections); i++)
		fprintf(p->out, "<a href=\"#%s\">%s</a> ", sections[i].report, sections[i].report);
	fprintf(p->out, "<a href=\"#run\">run</a></nav>\n");
	for (i = 0; !err && i < N_OF(sections); i++)
		err = put_section(p, i);
	err = err ?: put_comparison(p) ?: put_run(p);
	fprintf(p->out,
		"<p class=\"dim\">Made by iot-analyze %s. Bytes in pictures are in powers of 1024, counts in powers of 1000; tables are exact.</p>\n"
		"</main><script>%s</script></body></html>\n",
		IOT_VERSION, script);
	return err;
}

/* Reads the number of events, which the tracer counted; those of a run that it did not end are
 * counted here. */
static int count_events(struct page *p)
{
	static const char count[] =
		"SELECT COALESCE(MAX(iif(r.events = 1, e.events, 0)), (SELECT COUNT(*) FROM (SELECT 1 FROM event WHERE run = %lld LIMIT %d)))"
		" FROM run r JOIN run_end e ON e.run = r.run WHERE r.run = %lld";
	auto_free char *sql = NULL;
	struct grid t = { 0 };
	int err;

	if (asprintf(&sql, count, (long long)p->run, EVENTS_MAX + 1, (long long)p->run) < 0)
		return fail_as(EXIT_DATA, ENOMEM, "report");
	err = store_query(p->store, "run", sql, NULL, &t);
	p->many = !err && t.rows && grid_cell(&t, 0, 0)->i > EVENTS_MAX;
	grid_free(&t);
	return err;
}

/* The views that all sections need, made once. */
static int ask_all(struct page *p, const struct ask *ask)
{
	char *all = NULL;
	FILE *f = memory_open(&all, NULL);
	size_t i;
	int err = f ? 0 : fail_as(EXIT_DATA, ENOMEM, "report");

	for (i = 0; !err && i < N_OF(sections); i++) {
		auto_free char *name = NULL;

		if (asprintf(&name, "%s.sql", sections[i].report) > 0)
			p->texts[i] = report_text(p->o->reports, name);
		if (p->many && sections[i].by_events)
			continue;
		if (!p->texts[i])
			err = fail_as(EXIT_USAGE, errno, "cannot read report %s.sql", sections[i].report);
		else
			fprintf(f, "%s\n", p->texts[i]);
	}
	if (!err)
		fputs("-- table: absent\nSELECT * FROM v_absent;\n-- table: runs\nSELECT * FROM v_runs;\n", f);
	if (f && fclose(f) && !err)
		err = fail_as(EXIT_DATA, ENOMEM, "report");
	err = err ?: store_ask(p->store, ask) ?:
	      report_views(p->store, p->o->reports, all, ask->systems) ?:
	      store_asked(p->store, p->o->system);
	free(all);
	return err ?: store_query(p->store, "absent", "SELECT report, why FROM v_absent", NULL,
				 &p->absent);
}

/* Prints the page only when it is complete: a reader who leaves ends the program, and no folder of
 * pictures may then be left. */
static int print_page(struct page *p)
{
	auto_free char *text = NULL;
	size_t size = 0;
	int err;

	p->out = memory_open(&text, &size);
	err = p->out ? put_page(p) : 0;
	if (!p->out || fclose(p->out))
		return fail_as(EXIT_DATA, ENOMEM, "report");
	fwrite(text, 1, err ? 0 : size, stdout);
	return err;
}

/* Writes the page in a folder of its own, then moves it to its place: half a page never has the
 * name. */
static int place_page(struct page *p)
{
	const char *path = p->o->out, *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	auto_free char *dir = slash ? strndup(path, slash == path ? 1 : slash - path) : strdup(".");
	struct folder work = { .fd = -1 };
	struct place to;
	int err;

	if (!strcmp(path, "-"))
		return print_page(p);
	if (!dir || !*name || strlen(name) > 200)
		return fail_as(EXIT_USAGE, 0, "-o: '%s' is no name of a file", path);
	err = place_enter(&to, dir);
	if (err)
		return fail_as(EXIT_DATA, 0, "cannot write to %s: %s", dir, place_error(err, true));
	err = folder_may_place(&to, dir, name) ?: folder_make(&work);
	if (!err) {
		p->out = folder_create(&work, name);
		err = p->out ? put_page(p) : fail_as(EXIT_DATA, errno, "cannot write in %s", work.path);
	}
	if (p->out && (ferror(p->out) | fclose(p->out)) && !err)
		err = fail_as(EXIT_DATA, errno, "cannot write the page in %s", work.path);
	err = err ?: folder_place(&work, &to, dir, name);
	folder_remove(&work);
	place_leave(&to);
	return err;
}

static int page_of(struct page *p, const struct rec_load *ledger)
{
	const struct options *o = p->o;
	auto_free char *rules = report_text(NULL, "systems.json");
	struct ask ask = options_ask(o, rules);
	int err = store_run(p->store, o->run, &p->run);

	ask.run = p->run;
	ask.plot = true;
	ask.ledger = ledger;
	if (!err && !rules)
		err = fail_as(EXIT_DATA, errno, "cannot read systems.json");
	return err ?: count_events(p) ?: ask_all(p, &ask) ?: place_page(p);
}

int page(const struct options *o)
{
	struct page p = { .o = o };
	struct payload load = { 0 };
	size_t i;
	int err;

	if (!o->out)
		return fail_as(EXIT_USAGE, 0, "report: where to? give -o FILE.html");
	if (o->per == PER_CARRIER)
		return fail_by_carrier("report");
	err = o->ledger ? payload_read(&load, o->ledger) : 0;
	err = err ?: store_open(&p.store, o->arg[1]) ?: page_of(&p, o->ledger ? &load.load : NULL);
	if (!err && p.wrong)
		err = fail_as(EXIT_DATA, 0, "a check does not agree: see the page, or iot-analyze verify");
	err = err ?: p.cut;
	store_close(p.store);
	payload_free(&load);
	grid_free(&p.absent);
	for (i = 0; i < N_OF(sections); i++)
		free(p.texts[i]);
	return err;
}
