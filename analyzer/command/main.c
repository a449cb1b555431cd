/* SPDX-License-Identifier: GPL-3.0-only */
/* main.c - iot-analyze: answers from a store. Commands are rows; every report is a command too. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include "against.h"
#include "analyzer.h"
#include "clock.h"
#include "compare.h"
#include "export.h"
#include "options.h"
#include "out.h"
#include "page.h"
#include "payload.h"
#include "place.h"
#include "plot.h"
#include "print.h"
#include "question.h"
#include "report.h"
#include "sql.h"
#include "stream.h"
#include "tend.h"
#include "usage.h"

struct command {
	const char *name, *args, *doc;
	int min, max;                    /* arguments behind the name */
	int (*run)(const struct options *o);
	const char *takes;               /* general options that it takes, between blanks; NULL: all */
};

static int ingest_one(const char *store, const char *name)
{
	bool is_stdin = !strcmp(name, "-");
	auto_close int fd = is_stdin ? dup(STDIN_FILENO) : place_open_path(name, O_RDONLY);

	if (fd < 0)
		return fail_as(EXIT_DATA, is_stdin ? errno : -fd, "cannot open %s", is_stdin ? "stdin" : name);
	return ingest(fd, is_stdin ? "stdin" : name, store) ? EXIT_DATA : EXIT_OK;
}

/* A file that cannot be read, or is truncated, does not keep the others away. */
static int cmd_ingest(const struct options *o)
{
	int i, err = o->args > 2 ? EXIT_OK : ingest_one(o->arg[1], "-");

	for (i = 2; i < o->args && !store_interrupted(); i++)
		err |= ingest_one(o->arg[1], o->arg[i]);
	return err;
}

/* Puts a ledger into the run that it is of, so that reports need no --ledger. */
static int cmd_attach(const struct options *o)
{
	struct payload p = { 0 };
	struct store *s = NULL;
	int64_t run;
	int err = store_open(&s, o->arg[1]);

	if (!err)
		err = store_run(s, o->run, &run);
	if (!err)
		err = payload_read(&p, o->arg[2]);
	if (!err)
		err = store_check_ledger(s, run, &p.load, o->arg[2]);
	store_close(s);
	if (!err)
		err = store_attach(o->arg[1], run, REC_load, &p.load) ? EXIT_DATA : EXIT_OK;
	payload_free(&p);
	return err;
}

static int cmd_completion(const struct options *o);

/* To add a command that is not a report: a row here. */
static const struct command commands[] = {
	{ "ingest", "STORE [FILE...]", "read runs in JSON Lines (default: stdin) into a store", 1,
	  64, cmd_ingest, "" },
	{ "merge", "NEW A B [C...]",
	  "make one run of those of several hosts: STORE or STORE:RUN each, default the newest", 3,
	  64, tend_merge, "" },
	{ "prune", "STORE[:RUNS]",
	  "take out runs, or with --events their events: RUNS, --older DAYS, --to SIZE", 1, 1,
	  tend_prune, "" },
	{ "migrate", "STORE", "bring a store of an older version to the format of this one", 1, 1,
	  tend_migrate, "" },
	{ "anonymize", "STORE NEW", "a copy of a store with hashes in place of names (--key FILE)",
	  2, 2, tend_anonymize, "" },
	{ "compare", "A B [C...]",
	  "what differs between sets of repeated runs: stores, folders, STORE:RUNS, labels", 1, 64,
	  compare },
	{ "report", "STORE",
	  "write a run as one page of HTML, with all charts and tables (-o FILE.html)", 1, 1,
	  page },
	{ "sql", "STORE [SQL]",
	  "answer statements of one's own, with the views of reports (default: from stdin; .views lists those)",
	  1, 2, sql },
	{ "export", "STORE DIR",
	  "write the events of a run as CSV files, with the columns of earlier tools",
	  2, 2, export_streams, "--run --table --reports" },
	{ "help", "[QUESTION...]", "which command answers a question; without one, all", 0, 64,
	  help_question, "" },
	{ "completion", "SHELL", "the script by which bash or zsh completes command lines", 1, 1,
	  cmd_completion, "" },
	{ "attach", "STORE LEDGER",
	  "put the ledger of a workload into the run that it is of (--run; default: the newest)",
	  2, 2, cmd_attach, "--run" },
};

static int cmd_completion(const struct options *o)
{
	struct command_word words[N_OF(commands) + 1] = { 0 };
	size_t i;

	for (i = 0; i < N_OF(commands); i++)
		words[i] = (struct command_word){ commands[i].name, commands[i].doc };
	return completion(o, words);
}

static void help_report(const char *name, const char *title)
{
	printf("  %-14s STORE           %s\n", name, title);
}

static int help(const struct options *o)
{
	size_t i;
	int err;

	printf("usage: iot-analyze STORE [OPTIONS]             what happened, in words\n       iot-analyze COMMAND STORE [OPTIONS]\n\ncommands:\n");
	for (i = 0; i < N_OF(commands); i++)
		printf("  %-14s %-15s %s\n", commands[i].name, commands[i].args, commands[i].doc);
	printf("\nreports:\n");
	err = report_each(o->reports, help_report);
	printf("\n");
	err = err ?: options_help(NULL, NULL, true);
	printf("\nexit status: 0 all is well; 1 something is wrong with the data; 2 wrong usage\n");
	return err;
}

/* Names of reports become file names. */
static bool is_plain(const char *name)
{
	return *name && strlen(name) < 64 &&
	       !name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-")] &&
	       strcmp(name, "views");
}

/* A name alone is a store when it can be no report's name, or when a file has it and no report. */
static bool is_store(const char *name)
{
	auto_free char *file = NULL, *report = NULL;

	if (!is_plain(name))
		return true;
	if (asprintf(&file, "%s.sql", name) < 0)
		return false;
	report = report_text(NULL, file);
	return !report && !access(name, F_OK);
}

/* 0, or an exit status: a picture is asked for, and there is none. */
static int check_plot(const struct options *o, const char *name, const char *text)
{
	auto_free char *why = report_line(text, "no picture");

	if (!o->plot || strstr(text, "\n-- chart: "))
		return 0;
	return fail_as(EXIT_USAGE, 0, "report '%s' has no picture%s%s", name, why ? ": " : "", why ?: "");
}

/* Returns the WHAT of --by by which a report cuts its bytes, NULL where it cuts none. timeline
 * also cuts by the lines of other reports. */
static const char *part_of(const struct options *o, const char *report)
{
	if (o->has_per && (!o->per || o->per > PER_ALL))
		return per_names[o->per];
	if (o->has_per && !strcmp(report, "timeline"))
		return o->per == PER_CARRIER ? per_names[o->per] : "owner";
	return o->has_step ? "cause" : NULL;
}

static int answer_report(const struct options *o, const char *name, const char *text,
			 const struct rec_load *ledger, struct store *s)
{
	bool about_store = report_about_store(text);
	auto_free char *rules = report_text(NULL, "systems.json"), *systems = report_line(text, "systems");
	auto_free char *lines_by = report_line(text, "by"), *carried = report_line(text, "by carrier");
	bool own = o->per > PER_ALL || (o->per == PER_CARRIER && carried && !strcmp(carried, "always"));
	struct ask ask = options_ask(o, rules);
	auto_free struct limit *limits = NULL;
	struct comparison base = { 0 };
	struct answer a = { .exact = o->exact };
	struct look look = { .title = o->title, .no_head = o->no_head, .grey = o->grey };
	int err = check_plot(o, name, text), mismatch = 0;

	ask.per = lines_by ?: per_names[own ? 0 : o->per];
	ask.by = part_of(o, name);
	ask.step = o->step;
	ask.systems = systems ?: about_store ? NULL : "v_process";
	ask.about_store = about_store;
	ask.plot = o->plot;
	ask.cdf = o->cdf;
	ask.once = o->once;
	ask.select = &o->select;
	ask.all_rows = o->select.wheres || o->select.sort || o->select.top;
	ask.has_ops = o->has_ops;
	ask.ops = o->ops;
	ask.ledger = ledger;
	ask.limits = o->limits;
	if (!err && look_size(&look, o->size ?: "screen"))
		err = fail_size(o->size);
	if (!err)
		err = store_run(s, o->run, &ask.run);
	if (!err && o->against)
		err = against(&base, o, ask.run, &limits, &ask.limits);
	ask.limit = limits ?: o->limit;
	if (!err && !rules)
		err = fail_as(EXIT_DATA, errno, "cannot read systems.json");
	if (!err)
		err = store_ask(s, &ask) ?: report_views(s, o->reports, text, ask.systems) ?:
		      store_asked(s, o->system);
	if (!err)
		err = report_run(s, name, text, &a);
	if (!err)
		mismatch = answer_mismatch(&a); /* of all rows, whichever are printed */
	if (!err)
		err = answer_select(&a, &o->select, o->table) ?: print_answer(&a, o->format, o->table);
	if (!err && o->plot)
		err = plot_answer(&a, &look, o->plot);
	if (!err)
		err = answer_whole(&a, o->arg[o->args - 1]);
	if (!err)
		err = mismatch && !o->once ? EXIT_DATA : EXIT_OK;
	answer_free(&a);
	comparison_free(&base);
	return err;
}

/* Checks --by and --step: some parts of bytes are known to some reports only. */
static int check_by(const struct options *o, const char *name, const char *text)
{
	auto_free char *lines_by = report_line(text, "by"), *carried = report_line(text, "by carrier");
	bool of_time = o->per > PER_ALL && o->per < PER_COMPONENT, of_files = o->per > PER_COMPONENT;
	bool is_time = !strcmp(name, "timeline"), is_files = !strcmp(name, "files");

	if (o->per == PER_CARRIER && !carried)
		return fail_by_carrier(name);
	if (lines_by && o->has_per && strcmp(lines_by, per_names[o->per]))
		return fail_as(EXIT_USAGE, 0,
			"%s has a line a %s; for others: iot-analyze breakdown STORE --by %s",
			name, lines_by, per_names[o->per]);
	if (of_time && !is_time)
		return fail_as(EXIT_USAGE, 0, "--by %s belongs to the command 'timeline'", per_names[o->per]);
	if (of_files && !is_files && strcmp(name, "fsync"))
		return fail_as(EXIT_USAGE, 0,
			       "--by %s belongs to the commands 'files' and 'fsync'",
			       per_names[o->per]);
	if (o->per == PER_COMPONENT && !is_time && !is_files)
		return fail_as(EXIT_USAGE, 0, "--by component belongs to the commands 'timeline' and 'files'");
	return 0;
}

/* Checks the other options of a report. */
static int check_options(const struct options *o, const char *report)
{
	bool is_against = o->has_within || o->force, is_aim = o->limits || o->against;

	if (is_against && !o->against && (is_aim || strcmp(report, "check")))
		return fail_as(EXIT_USAGE, 0, "%s belongs to %s", o->force ? "--force" : "--within",
			       o->force ? "the command 'compare', and to --against" : "--against");
	if (options_check(o, report, true))
		return EXIT_USAGE;
	if (o->has_step && (o->step < 10 || o->step > 86400000))
		return fail_as(EXIT_USAGE, 0, "--step: %llu is not from 10 milliseconds to a day",
			       (unsigned long long)o->step);
	if (!is_aim && !strcmp(report, "check"))
		return fail_as(EXIT_USAGE, 0,
			       "check what? give --max RATIO=N, --min RATIO=N or --against BASE");
	return 0;
}

static int unknown(const struct options *o)
{
	const char *names[N_OF(commands) + 1] = { NULL };
	size_t i;

	for (i = 0; i < N_OF(commands); i++)
		names[i] = commands[i].name;
	return usage_unknown(o, o->arg[0], names);
}

static int run_report(const struct options *o)
{
	auto_free char *file = NULL, *text = NULL;
	bool headline = o->args == 1 && !o->seed && is_store(o->arg[0]);
	const char *name = headline ? "headline" :
			   o->seed  ? "seed" :
				      o->arg[0],
		   *path = o->arg[headline ? 0 : 1];
	struct payload p = { 0 };
	struct store *s = NULL;
	int err = 0;

	if (asprintf(&file, "%s.sql", name) < 0)
		return fail_as(EXIT_DATA, ENOMEM, "%s", name);
	errno = ENOENT;
	text = is_plain(name) ? report_text(o->reports, file) : NULL;
	if (!text && errno == ENOENT)
		return unknown(o);
	if (!text)
		return fail_as(errno == ENOMEM ? EXIT_DATA : EXIT_USAGE, errno,
			       "cannot read report %s/%s", o->reports, file);
	if (check_by(o, name, text) || check_options(o, headline ? name : o->arg[0]))
		return EXIT_USAGE;
	if (o->args > 3)
		return fail_as(EXIT_USAGE, 0, "too many arguments: '%s'", o->arg[3]);
	if (o->args != 2 && !headline)
		return fail_as(EXIT_USAGE, 0, "usage: iot-analyze %s STORE [OPTIONS]", o->arg[0]);
	if (o->ledger && o->has_logical)
		return fail_as(EXIT_USAGE, 0,
			       "--ledger and --%s say the same thing: give one of them",
			       o->copies ? "payload" : "logical-bytes");
	if (o->ledger)
		err = payload_read(&p, o->ledger);
	if (!err)
		err = store_open(&s, path);
	if (!err)
		err = answer_report(o, name, text, o->ledger ? &p.load : NULL, s);
	store_close(s);
	payload_free(&p);
	return err;
}

/* Refuses options of other commands: they are mistakes, above all where they seem to say what is
 * taken out. */
static int check_place(const struct options *o, const char *command)
{
	static const char *const stores[] = { "ingest", "merge", "prune", "migrate",
		"anonymize" };
	size_t i;

	if (options_check(o, command, false))
		return EXIT_USAGE;
	for (i = 0; (o->select.wheres || o->select.sort || o->has_top) && i < N_OF(commands); i++)
		if (!strcmp(commands[i].name, command) && strcmp(command, "compare"))
			return fail_as(EXIT_USAGE, 0, "--%s is for reports and compare",
				       o->select.wheres ? "where" :
				       o->select.sort   ? "sort" :
							  "top");
	for (i = 0; (o->run || o->system) && i < N_OF(stores); i++)
		if (!strcmp(stores[i], command))
			return fail_as(EXIT_USAGE, 0, "--%s is not for %s%s", o->run ? "run" : "system", command,
				       o->run && strcmp(command, "ingest") ? ": a run of a store is STORE:RUN" : "");
	return 0;
}

static const struct command *find_command(const char *name)
{
	size_t i;

	for (i = 0; i < N_OF(commands); i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

static char *find_report(const struct options *o, const char *name)
{
	auto_free char *file = NULL;

	return is_plain(name) && asprintf(&file, "%s.sql", name) > 0 ?
		       report_text(o->reports, file) :
		       NULL;
}

/* A store before its command is taken as one behind it. */
static void place_command(struct options *o)
{
	auto_free char *report = NULL;
	const char *store = o->arg[0];

	if (o->args < 2 || find_command(store) || !is_store(store))
		return;
	report = find_report(o, o->arg[1]);
	if (!report && !find_command(o->arg[1]))
		return;
	o->arg[0] = o->arg[1];
	o->arg[1] = store;
}

/* `slow STORE 5` is `slow STORE --top 5`, and so of any report. */
static int place_top(struct options *o)
{
	if (o->args != 3 || o->has_top || find_command(o->arg[0]) ||
	    parse_number_63(o->arg[2], &o->select.top))
		return 0;
	if (!o->select.top)
		return fail_as(EXIT_USAGE, 0, "0 rows of each table: at least one");
	o->has_top = true;
	o->args--;
	return 0;
}

/* Help of the command that stands in the command line with --help. */
static int help_command(const struct options *o)
{
	const struct command *c = find_command(o->arg[0]);
	auto_free char *report = c ? NULL : find_report(o, o->arg[0]);

	if (c)
		return usage_command(c->name, c->args, c->doc, c->takes);
	return report ? usage_report(o, o->arg[0], report) : is_store(o->arg[0]) ? help(o) : unknown(o);
}

static int run_command(struct options *o)
{
	const struct command *c;

	if (o->version)
		return printf("iot-analyze %s\n", IOT_VERSION) < 0;
	place_command(o);
	if (o->help)
		return o->args ? help_command(o) : help(o);
	if (!o->args)
		return fail_as(EXIT_USAGE, 0,
			"what shall I do? usage: iot-analyze COMMAND STORE [OPTIONS] (--help says more)");
	if (place_top(o) || check_place(o, o->arg[0]))
		return EXIT_USAGE;
	c = find_command(o->arg[0]);
	if (!c)
		return run_report(o);
	if (o->args - 1 < c->min || o->args - 1 > c->max)
		return fail_as(EXIT_USAGE, 0, "usage: iot-analyze %s %s", c->name, c->args);
	return c->run(o);
}

/* Ends with the status of the command, unless the answer could not be written. A reader that left
 * (`| head -1`) is not reported; a full disk is. */
static int finish(int status)
{
	int bad = fflush(stdout) | ferror(stdout);

	if (!bad)
		return status;
	if (errno == EPIPE || errno == ETIME) /* the reader left, or a signal came */
		return EXIT_DATA;
	return fail_as(EXIT_DATA, errno, "cannot write the answer");
}

#define TWICE_NS (NSEC / 10)

static volatile sig_atomic_t caught;

/* The first signal ends the statement under way, so that files are cleaned up; the next one ends
 * the program at once. timeout(1) sends each signal twice, to the process and to its group: the
 * second is ignored. */
static void on_signal(int number)
{
	static volatile uint64_t first_ns;
	uint64_t now = clock_now(CLOCK_MONOTONIC);

	if (caught && now - first_ns > TWICE_NS) {
		signal(number, SIG_DFL);
		raise(number);
	}
	if (caught)
		return;
	first_ns = now;
	caught = number;
	store_interrupt();
}

/* Waits for a reader that takes nothing until a signal comes. */
static bool is_patient(uint64_t waited_ns)
{
	return !caught;
}

static void take_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction on = { .sa_handler = on_signal }, before;
	size_t i;

	for (i = 0; i < N_OF(numbers); i++)
		if (!sigaction(numbers[i], NULL, &before) && before.sa_handler != SIG_IGN)
			sigaction(numbers[i], &on, NULL);
}

/* SQLite frees and asks again for the memory of each statement: given back to the kernel in
 * between, it was a third of the page faults of a small report. */
static void keep_memory(void)
{
	mallopt(M_TOP_PAD, 1 << 20);
	mallopt(M_TRIM_THRESHOLD, 16 << 20);
}

int main(int argc, char **argv)
{
	struct options o = { 0 };
	int err;

	keep_memory();
	signal(SIGPIPE, SIG_DFL);
	signal(SIGCHLD, SIG_DFL); /* ignored, it would hide the exit status of gnuplot */
	umask(umask(0) & ~0700);  /* folders made here are entered, and files read again */
	take_signals();
	out_patience = is_patient;
	signal(SIGXFSZ, SIG_IGN); /* then it is an error of write(2) */
	out_standard();
	err = options_read(&o, argc, argv);
	err = finish(err ? err : run_command(&o));
	if (caught) {
		signal(caught, SIG_DFL);
		raise(caught);
	}
	return err;
}
