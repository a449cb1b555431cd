/* SPDX-License-Identifier: GPL-3.0-only */
/* plot.c - pictures as files: SVG by chart.c, from that PNG and PDF; of a report with a script of its own by gnuplot.
 *
 * gnuplot runs back-ticks and has a shell: nothing from a store ever becomes part of a script. Names reach it as
 * cells of a .tsv. Programs work in a folder of its own that only we can enter (folder.h), and their products are copied to where they were
 * asked for.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include "analyzer.h"
#include "folder.h"
#include "place.h"
#include "plot.h"
#include "stream.h"
#include "text.h"

static FILE *create(const struct folder *work, const char *name, const char *ending)
{
	auto_free char *file = NULL;

	return asprintf(&file, "%s%s", name, ending) < 0 ? NULL : folder_create(work, file);
}

/* One block of the .tsv: names behind a #, rows, NaN for what was not measured. gnuplot would number the blocks anew
 * if one had no row at all. */
static void put_block(FILE *f, const struct grid *t)
{
	size_t row;
	int col;

	for (col = 0; col < t->cols; col++)
		fprintf(f, "%s%s", col ? "\t" : "# ", t->col[col]);
	for (row = 0; row < t->rows; row++) {
		for (col = 0; col < t->cols; col++) {
			auto_free char *s = cell_string(grid_cell(t, row, col), "NaN", text_plot);

			fprintf(f, "%c%s", col ? '\t' : '\n', s && *s ? s : "-");
		}
	}
	for (col = 0; !t->rows && col < t->cols; col++)
		fprintf(f, "%cNaN", col ? '\t' : '\n');
	fputs("\n\n\n", f);
}

/* Block 0 is what says which run it is (beside a picture without the machine and the command), - for a report about all runs; then the
 * tables for the picture, or else the first table. */
static void put_head(FILE *f, const struct grid *head)
{
	int col = grid_find(head, "line");
	size_t row;

	fputs("# line\n", f);
	for (row = 0; col >= 0 && row < head->rows && row < 2; row++) {
		const struct cell *c = grid_cell(head, row, col);
		auto_free char *s = c->type == CELL_TEXT ? text_plot(c->text, c->len) : NULL;

		fprintf(f, "%s%s", row ? "\t" : "", s ?: "-");
	}
	if (!row)
		fputs("-\t-", f);
	fputs("\n\n\n", f);
}

static int put_data(FILE *f, const struct answer *a, const struct grid *head)
{
	size_t rows = 0;
	int i, plots = 0;

	put_head(f, head);
	for (i = 0; i < a->tables; i++) {
		if (!a->table[i].plot)
			continue;
		plots++;
		rows += a->table[i].rows;
		put_block(f, &a->table[i]);
	}
	if (!plots) {
		rows = a->table[0].rows;
		put_block(f, &a->table[0]);
	}
	return rows ? 0 : fail_as(EXIT_DATA, 0, "nothing to draw: report '%s' has no rows for this run", a->name);
}

static int write_data(const struct answer *a, const struct grid *head, const struct folder *work)
{
	FILE *data = create(work, a->name, ".tsv");
	int err, bad;

	if (!data)
		return fail_as(EXIT_DATA, errno, "cannot write in %s", work->path);
	err = put_data(data, a, head);
	bad = ferror(data);
	if ((fclose(data) || bad) && !err)
		err = fail_as(EXIT_DATA, errno, "cannot write the data of the picture in %s", work->path);
	return err;
}

static int write_script(const struct answer *a, const char *style, const char *script, const struct folder *work)
{
	FILE *code = create(work, a->name, ".gp");
	int bad;

	if (!code)
		return fail_as(EXIT_DATA, errno, "cannot write in %s", work->path);
	fprintf(code, "%s\n%s", style, script);
	bad = ferror(code);
	if (fclose(code) || bad)
		return fail_as(EXIT_DATA, errno, "cannot write the script of the picture in %s", work->path);
	return 0;
}

static void run_child(const struct folder *work, char *const argv[])
{
	int log, null;

	if (fchdir(work->fd))
		_exit(126);
	log = openat(work->fd, "log", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (log < 0 || null < 0 || dup2(log, 2) < 0 || dup2(null, 1) < 0 || dup2(null, 0) < 0)
		_exit(126);
	umask(077);
	execvp(argv[0], argv);
	_exit(errno == ENOENT ? 127 : 126);
}

/* The first line that a program wrote about its failure. */
static void read_log(const struct folder *work, char *line, size_t size)
{
	int fd = openat(work->fd, "log", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	*line = '\0';
	while (f && fgets(line, size, f) && !line[strspn(line, " \n")])
		;
	if (f)
		fclose(f);
	line[strcspn(line, "\n")] = '\0';
}

/* Runs a program of a Debian package in the folder. */
static int run_program(const struct answer *a, const struct folder *work, char *const argv[], const char *package)
{
	char line[256];
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return fail_as(EXIT_DATA, errno, "cannot start %s", argv[0]);
	if (!pid)
		run_child(work, argv);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		if (store_interrupted())
			kill(pid, SIGTERM);
	if (store_interrupted())
		return fail_as(EXIT_DATA, 0, "interrupted");
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return fail_as(EXIT_DATA, 0, "cannot draw%s: %s is missing: install the Debian package '%s'", !strcmp(argv[0], "gnuplot") ? "" : " PNG and PDF, only SVG",
			       argv[0], package);
	read_log(work, line, sizeof(line));
	return fail_as(EXIT_DATA, 0, "%s failed on report '%s': %s", argv[0], a->name, *line ? line : "it was killed");
}

/* A report with a script of its own: by gnuplot. */
static int draw_script(const struct answer *a, const char *style, const char *code, const struct folder *work)
{
	static const char *const kinds[] = { "svg", "png" };
	auto_free char *script = NULL;
	size_t i;
	int err = write_data(a, &a->head, work) ?: write_script(a, style, code, work);

	if (!err && asprintf(&script, "%s.gp", a->name) < 0)
		err = fail_as(EXIT_DATA, ENOMEM, "gnuplot");
	for (i = 0; !err && i < N_OF(kinds); i++) {
		char *const argv[] = { "gnuplot", "-d", "-c", script, (char *)kinds[i], NULL };

		err = run_program(a, work, argv, "gnuplot-nox");
	}
	return err;
}

/* A report with charts: SVG, and from that a bitmap and a PDF. *vector: the SVG is there, whatever became of these. */
static int draw_charts(const struct answer *a, const struct look *look, const struct folder *work, bool *vector)
{
	auto_free char *svg = NULL, *png = NULL, *pdf = NULL;
	char zoom[32];
	FILE *f = create(work, a->name, ".svg");
	int err, bad;

	if (!f || asprintf(&svg, "%s.svg", a->name) < 0 || asprintf(&png, "%s.png", a->name) < 0 || asprintf(&pdf, "%s.pdf", a->name) < 0)
		return fail_as(EXIT_DATA, errno, "cannot write in %s", work->path);
	err = chart_draw(a, look, a->name, f);
	bad = ferror(f);
	if ((fclose(f) || bad) && !err)
		err = fail_as(EXIT_DATA, errno, "cannot write the picture in %s", work->path);
	err = err ?: write_data(a, &a->picture, work);
	*vector = !err;
	snprintf(zoom, sizeof(zoom), "%.3f", look->zoom);
	if (!err) {
		char *const bitmap[] = { "rsvg-convert", "-f", "png", "-z", zoom, "-o", png, svg, NULL };
		char *const print[] = { "rsvg-convert", "-f", "pdf", "-o", pdf, svg, NULL };

		err = run_program(a, work, bitmap, "librsvg2-bin") ?: run_program(a, work, print, "librsvg2-bin");
	}
	return err;
}

static const char *const of_script[] = { ".tsv", ".gp", ".svg", ".png", NULL };
static const char *const of_charts[] = { ".tsv", ".svg", ".png", ".pdf", NULL };
static const char *const of_vector[] = { ".tsv", ".svg", NULL };

static int each_product(const struct answer *a, const char *const *endings, const struct folder *work, const struct place *to, const char *dir)
{
	char file[96];
	int err = 0;

	for (; !err && *endings; endings++) {
		snprintf(file, sizeof(file), "%s%s", a->name, *endings);
		err = work ? folder_place(work, to, dir, file) : folder_may_place(to, dir, file);
	}
	return err;
}

static int draw_into(const struct answer *a, const char *style, const char *script, const struct look *look, const struct place *to, const char *dir)
{
	const char *const *products = script ? of_script : of_charts;
	struct folder work = { .fd = -1 };
	bool vector = false;
	int err = each_product(a, products, NULL, to, dir) ?: folder_make(&work);

	if (!err)
		err = script ? draw_script(a, style, script, &work) : draw_charts(a, look, &work, &vector);
	if (!err)
		err = each_product(a, products, &work, to, dir);
	else if (vector)
		each_product(a, of_vector, &work, to, dir);
	folder_remove(&work);
	return err;
}

int plot_answer(const struct answer *a, const char *style, const char *script, const struct look *look, const char *dir)
{
	struct place to;
	int err = place_enter(&to, dir);

	if (err)
		return fail_as(EXIT_DATA, 0, "cannot write pictures to %s: %s", dir, place_error(err, true));
	err = draw_into(a, style, script, look, &to, dir);
	place_leave(&to);
	return err;
}
