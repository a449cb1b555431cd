/* SPDX-License-Identifier: GPL-3.0-only */
/* plot.c - pictures as files, by gnuplot: the charts of a report (chart.c).
 *
 * gnuplot runs back-ticks and has a shell: nothing from a store ever becomes part of a script.
 * Names reach it as cells of its data. It works in a folder of its own that only we can enter
 * (folder.h), and its products are copied to where they were asked for. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include "analyzer.h"
#include "folder.h"
#include "place.h"
#include "plot.h"
#include "program.h"
#include "report.h"
#include "stream.h"
#include "text.h"

static FILE *create(const struct folder *work, const char *name, const char *ending)
{
	auto_free char *file = NULL;

	return asprintf(&file, "%s%s", name, ending) < 0 ? NULL : folder_create(work, file);
}

/* One block of the .tsv: names behind a #, rows, NaN for what was not measured. gnuplot would
 * number the blocks again if one had no row at all. */
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

/* Closes a file that was opened, or none; false when something that was written is not in it. */
static bool closed_whole(FILE *f)
{
	bool bad = f && ferror(f);

	return !(f && fclose(f)) && !bad;
}

/* Block 0 has the lines about the run, - for a report about all runs; then come the tables for the
 * picture. */
static void put_data(FILE *f, const struct answer *a)
{
	int col = grid_find(&a->picture, "line"), i;
	size_t row;

	fputs("# line\n", f);
	for (row = 0; row < 2; row++) {
		const struct cell *c = col >= 0 && row < a->picture.rows ?
					       grid_cell(&a->picture, row, col) :
					       NULL;
		auto_free char *s = c && c->type == CELL_TEXT ? text_plot(c->text, c->len) : NULL;

		fprintf(f, "%s%s", row ? "\t" : "", s ?: row ? "" : "-");
	}
	fputs("\n\n\n", f);
	for (i = 0; i < a->tables; i++)
		if (a->table[i].plot)
			put_block(f, &a->table[i]);
}

static int write_data(const struct answer *a, const struct folder *work)
{
	FILE *data = create(work, a->name, ".tsv");

	if (data)
		put_data(data, a);
	return closed_whole(data) && data ?
		       0 :
		       fail_as(EXIT_DATA, errno, "cannot write the data of the picture in %s",
			       work->path);
}

static void run_child(const struct folder *work, const char *program, char *const argv[])
{
	int log, null;

	if (fchdir(work->fd))
		_exit(126);
	log = openat(work->fd, "log", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (log < 0 || null < 0 || dup2(log, 2) < 0 || dup2(null, 1) < 0 || dup2(null, 0) < 0)
		_exit(126);
	umask(077);
	execvp(program, argv);
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

static int fail_missing(void)
{
	return fail_as(EXIT_DATA, 0,
		"cannot draw: gnuplot is missing: install the Debian package 'gnuplot-nox'");
}

/* A user who draws trusts the programs on the search path. That of root may lead through folders
 * of others, and its programs have all rights: *path is then the name of one that may be run. */
static int find_gnuplot(char **path)
{
	int fd;

	if (geteuid()) {
		*path = strdup("gnuplot");
		return *path ? 0 : fail_as(EXIT_DATA, ENOMEM, "cannot draw");
	}
	fd = program_find("gnuplot", path);
	if (fd == -EPERM)
		return fail_as(EXIT_DATA, 0, "cannot draw: %s: " PROGRAM_REFUSED, *path);
	if (fd < 0)
		return fd == -ENOENT ? fail_missing() : fail_as(EXIT_DATA, -fd, "cannot draw");
	close(fd);
	return 0;
}

/* Runs NAME.gp in the folder: it draws NAME.KIND. */
static int run_gnuplot(const char *name, const char *kind, const struct folder *work)
{
	auto_free char *program = NULL;
	char script[96], line[256];
	char *const argv[] = { "gnuplot", "-d", "-c", script, (char *)kind, NULL };
	int status, err = find_gnuplot(&program);
	pid_t pid;

	if (err)
		return err;
	snprintf(script, sizeof(script), "%s.gp", name);
	pid = fork();
	if (pid < 0)
		return fail_as(EXIT_DATA, errno, "cannot start gnuplot");
	if (!pid)
		run_child(work, program, argv);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		if (store_interrupted())
			kill(pid, SIGTERM);
	if (store_interrupted())
		return fail_as(EXIT_DATA, 0, "interrupted");
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	read_log(work, line, sizeof(line));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127 && !*line) /* nobody who ran said so */
		return fail_missing();
	if (!*line && WIFEXITED(status))
		snprintf(line, sizeof(line), "it ended with status %d", WEXITSTATUS(status));
	return fail_as(EXIT_DATA, 0, "gnuplot failed on picture '%s': %s", name,
		       *line ? line : "it was killed");
}

/* The script of the charts, NAME.gp, and what it reads, NAME.dat. */
static int write_charts(const struct answer *a, const struct look *look, const char *name,
			const struct folder *work)
{
	auto_free char *style = report_text(NULL, "chart.gp");
	FILE *data = create(work, name, ".dat"), *script = create(work, name, ".gp");
	bool bad;
	int err;

	if (!style || !data || !script)
		err = fail_as(EXIT_DATA, errno, "cannot write in %s", work->path);
	else
		err = chart_draw(a, look, name, style, data, script);
	bad = !closed_whole(data);
	bad = !closed_whole(script) || bad;
	return err || !bad ? err : fail_as(EXIT_DATA, errno, "cannot write the picture in %s", work->path);
}

/* A line of the element <svg> of a file that gnuplot wrote, without titles, which are its own
 * names of what it drew, and with the one id that all pictures have made its own. Text of
 * strangers stands in lines that begin with <text>, and these are left alone. */
static void put_line(const char *line, const char *name, FILE *out)
{
	const char *p = line + strspn(line, "\t "),
		   *title = strncmp(p, "<text>", 6) ? strstr(p, "<title>") : NULL;

	if (!strncmp(p, "<g id=\"gnuplot_canvas\"", 22))
		fprintf(out, "<g id=\"%s-canvas\">\n", name);
	else
		fprintf(out, title ? "%.*s\n" : "%.*s", (int)(title ? title - p : (ptrdiff_t)strlen(p)), p);
}

static int put_element(const struct answer *a, const char *name, const struct folder *work,
		       FILE *out)
{
	auto_free char *file = NULL, *line = NULL, *title = text_xml(a->title, strlen(a->title));
	int fd = asprintf(&file, "%s.svg", name) < 0 ?
			 -1 :
			 openat(work->fd, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	bool inside = false;
	size_t size = 0;

	if (!f)
		return fail_as(EXIT_DATA, errno, "cannot read the picture in %s", work->path);
	fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"%s\"",
		title ?: "");
	while (getline(&line, &size, f) > 0) {
		/* of the head only the size; the symbols defined there are not used */
		if (!inside && (!strncmp(line, " width=", 7) || !strncmp(line, " viewBox=", 9)))
			fprintf(out, "%.*s", (int)strcspn(line, "\n"), line);
		if (!strncmp(line, "<g id=\"gnuplot_canvas\"", 22))
			fputs(">\n", out);
		inside = (inside || !strncmp(line, "<g id=\"gnuplot_canvas\"", 22)) && strncmp(line, "<defs>", 6);
		inside |= !strncmp(line, "</defs>", 7);
		if (inside && strncmp(line, "</defs>", 7))
			put_line(line, name, out);
	}
	return fclose(f) ? fail_as(EXIT_DATA, errno, "cannot read the picture in %s", work->path) : 0;
}

int plot_inline(const struct answer *a, const struct look *look, const char *name, FILE *out)
{
	struct folder work = { .fd = -1 };
	int err = folder_make(&work) ?: write_charts(a, look, name, &work) ?:
		  run_gnuplot(name, "svg", &work) ?: put_element(a, name, &work, out);

	folder_remove(&work);
	return err;
}

/* The pictures, and all from which they are drawn. */
static const char *const products[] = { ".svg", ".png", ".pdf", ".tsv", ".dat", ".gp" };

static int draw_into(const struct answer *a, const struct look *look, const struct place *to,
		     const char *dir)
{
	struct folder work = { .fd = -1 };
	char file[96];
	size_t i, round;
	int err = 0;

	for (round = 0; round < 2; round++) {
		for (i = 0; !err && i < N_OF(products); i++) {
			snprintf(file, sizeof(file), "%s%s", a->name, products[i]);
			err = round ? folder_place(&work, to, dir, file) : folder_may_place(to, dir, file);
		}
		if (!round && !err)
			err = folder_make(&work) ?: write_charts(a, look, a->name, &work) ?: write_data(a, &work);
		for (i = 0; !round && !err && i < 3; i++)
			err = run_gnuplot(a->name, products[i] + 1, &work);
	}
	folder_remove(&work);
	return err;
}

/* Makes the folder where there is none; what is above it must be there. */
static int enter(struct place *to, const char *dir)
{
	int err = place_find(to, dir);

	if (!err && mkdirat(to->dir, to->name, 0777) && errno != EEXIST)
		err = -errno;
	place_leave(to);
	return err ?: place_enter(to, dir);
}

int plot_answer(const struct answer *a, const struct look *look, const char *dir)
{
	struct place to;
	int err = enter(&to, dir);

	if (err)
		return fail_as(EXIT_DATA, 0, "cannot write pictures to %s: %s", dir, place_error(err, true));
	err = draw_into(a, look, &to, dir);
	place_leave(&to);
	return err;
}
