/* SPDX-License-Identifier: GPL-3.0-only */
/* plot.c - write the data beside the script, run gnuplot, put the products in their place.
 *
 * gnuplot runs back-ticks and has a shell: nothing from a store ever becomes part of a script. Names reach it as
 * cells of a .tsv. It works in a folder of its own that only we can enter (folder.h), and its products are copied to where they were
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

static const char *const endings[] = { ".tsv", ".gp", ".svg", ".png" };

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

/* Block 0 is the line that says which run it is, - for a report about all runs; then the tables for the picture, or else the first table. */
static void put_head(FILE *f, const struct answer *a)
{
	int col = grid_find(&a->head, "line");
	size_t row;

	fputs("# line\n", f);
	for (row = 0; col >= 0 && row < a->head.rows && row < 2; row++) {
		const struct cell *c = grid_cell(&a->head, row, col);
		auto_free char *s = c->type == CELL_TEXT ? text_plot(c->text, c->len) : NULL;

		fprintf(f, "%s%s", row ? "\t" : "", s ?: "-");
	}
	if (!row)
		fputs("-\t-", f);
	fputs("\n\n\n", f);
}

static int put_data(FILE *f, const struct answer *a)
{
	size_t rows = 0;
	int i, plots = 0;

	put_head(f, a);
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

static int write_inputs(const struct answer *a, const char *style, const char *script, const struct folder *work)
{
	FILE *data = create(work, a->name, ".tsv"), *code;
	int err, bad;

	if (!data)
		return fail_as(EXIT_DATA, errno, "cannot write in %s", work->path);
	err = put_data(data, a);
	bad = ferror(data);
	if ((fclose(data) || bad) && !err)
		err = fail_as(EXIT_DATA, errno, "cannot write the data of the picture in %s", work->path);
	if (err)
		return err;
	code = create(work, a->name, ".gp");
	if (!code)
		return fail_as(EXIT_DATA, errno, "cannot write in %s", work->path);
	fprintf(code, "%s\n%s", style, script);
	bad = ferror(code);
	if (fclose(code) || bad)
		return fail_as(EXIT_DATA, errno, "cannot write the script of the picture in %s", work->path);
	return 0;
}

static void run_child(const struct folder *work, const char *script, const char *kind)
{
	int log, null;

	if (fchdir(work->fd))
		_exit(126);
	log = openat(work->fd, "log", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (log < 0 || null < 0 || dup2(log, 2) < 0 || dup2(null, 1) < 0 || dup2(null, 0) < 0)
		_exit(126);
	umask(077);
	execlp("gnuplot", "gnuplot", "-d", "-c", script, kind, (char *)NULL);
	_exit(errno == ENOENT ? 127 : 126);
}

/* The first line that gnuplot wrote about its failure. */
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

static int draw(const struct answer *a, const struct folder *work, const char *kind)
{
	auto_free char *script = NULL;
	char line[256];
	int status;
	pid_t pid;

	if (asprintf(&script, "%s.gp", a->name) < 0)
		return fail_as(EXIT_DATA, ENOMEM, "gnuplot");
	pid = fork();
	if (pid < 0)
		return fail_as(EXIT_DATA, errno, "cannot start gnuplot");
	if (!pid)
		run_child(work, script, kind);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		if (store_interrupted())
			kill(pid, SIGTERM);
	if (store_interrupted())
		return fail_as(EXIT_DATA, 0, "interrupted");
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return fail_as(EXIT_DATA, 0, "cannot draw: gnuplot is missing: install the Debian package 'gnuplot-nox'");
	read_log(work, line, sizeof(line));
	return fail_as(EXIT_DATA, 0, "gnuplot failed on report '%s': %s", a->name, *line ? line : "it was killed");
}

static int draw_into(const struct answer *a, const char *style, const char *script, const struct place *to, const char *dir)
{
	struct folder work = { .fd = -1 };
	char file[N_OF(endings)][96];
	size_t i;
	int err = 0;

	for (i = 0; !err && i < N_OF(endings); i++) {
		snprintf(file[i], sizeof(file[i]), "%s%s", a->name, endings[i]);
		err = folder_may_place(to, dir, file[i]);
	}
	if (!err)
		err = folder_make(&work);
	if (!err)
		err = write_inputs(a, style, script, &work);
	if (!err)
		err = draw(a, &work, "svg");
	if (!err)
		err = draw(a, &work, "png");
	for (i = 0; !err && i < N_OF(endings); i++)
		err = folder_place(&work, to, dir, file[i]);
	folder_remove(&work);
	return err;
}

int plot_answer(const struct answer *a, const char *style, const char *script, const char *dir)
{
	struct place to;
	int err = place_enter(&to, dir);

	if (err)
		return fail_as(EXIT_DATA, 0, "cannot write pictures to %s: %s", dir, place_error(err, true));
	err = draw_into(a, style, script, &to, dir);
	place_leave(&to);
	return err;
}
