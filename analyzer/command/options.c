/* SPDX-License-Identifier: GPL-3.0-only */
/* options.c - the options of iot-analyze, read by glibc's argp (base/arguments.h). To add one: a
 * member of struct options and a row here, whose last columns say which commands take it. */
#include <errno.h>
#include "analyzer.h"
#include "arguments.h"
#include "near.h"
#include "options.h"

enum option_type {
	OPT_FLAG, OPT_TEXT, OPT_NUMBER, OPT_SIZE, OPT_COPIES, OPT_CODE, OPT_PERCENT, OPT_CHOICE,
	OPT_MAX, OPT_MIN, OPT_WHERE,
};

struct option_row {
	const char *name, *value;   /* "--run", name of its value in --help; name NULL: head of a group */
	enum option_type type;
	size_t offset;              /* member of struct options */
	size_t has;                 /* the member that is set when the option is given, 0 for none */
	const char *const *choices; /* OPT_CHOICE: stored as an index */
	const char *doc;
	const char *commands;       /* those that take it; NULL: every report, and commands like one */
	bool alone;                 /* refused by all others; else other reports refuse it, and other
				       commands ignore it */
};

static const char *const format_names[] = { /* enum format */
	"text", "csv", "tsv", "json", "junit", "latex", "markdown", NULL,
};
const char *const per_names[] = {
	"system", "instance", "comm", "pid", "container", "cgroup", "unit", "user", "carrier",
	"host", "all", "cause", "owner", "device", "component", "file", "directory", "pattern", NULL,
};

#define COPIES_MAX 1000000
#define AT(member) offsetof(struct options, member)
static const struct option_row rows[] = {
	{ NULL, NULL, OPT_FLAG, 0, 0, NULL, "Which run, and whose lines:" },
	{ "--run", "N|LABEL", OPT_TEXT, AT(run), 0, NULL,
	  "run by number, or the newest with that label (default: the newest)" },
	{ "--system", "NAME", OPT_TEXT, AT(system), 0, NULL,
	  "only this storage system, by its name or an alias" },
	{ "--by", "WHAT", OPT_CHOICE, AT(per), AT(has_per), per_names,
	  "one line a WHAT (system: a detected system, else a program; instance: each server of it; unit: of systemd; carrier: who ran it; host: of a merged run)" },
	{ NULL, NULL, OPT_FLAG, 0, 0, NULL, "How it is printed:" },
	{ "--format", "FORMAT", OPT_CHOICE, AT(format), 0, format_names, "how to print" },
	{ "--table", "WORD", OPT_TEXT, AT(table), 0, NULL,
	  "this table of the report only (csv and tsv hold one: by default the main one)" },
	{ "--where", "COLUMN=VALUE", OPT_WHERE, 0, 0, NULL,
	  "only rows of which that holds: = != < <= > >=, ~ contains; may be given often" },
	{ "--sort", "COLUMN", OPT_TEXT, AT(select.sort), 0, NULL,
	  "rows by that column, numbers from the largest on; COLUMN:asc, COLUMN:desc" },
	{ "--top", "N", OPT_NUMBER, AT(select.top), AT(has_top), NULL,
	  "the first N rows of each table" },
	{ "--bytes", NULL, OPT_FLAG, AT(exact), 0, NULL,
	  "exact numbers on a terminal too, in place of three digits and a unit" },
	{ "-o", "FILE", OPT_TEXT, AT(out), 0, NULL, "report: the page of HTML to write", "report",
	  true },
	{ NULL, NULL, OPT_FLAG, 0, 0, NULL, "Pictures:" },
	{ "--plot", "DIR", OPT_TEXT, AT(plot), 0, NULL,
	  "also draw the report (gnuplot): DIR/NAME.svg, .png and .pdf, and .tsv with the data" },
	{ "--size", "SIZE", OPT_TEXT, AT(size), 0, NULL,
	  "of pictures: column or page (of a paper), screen, or WIDTHxHEIGHT in pixels (default: screen)" },
	{ "--title", "TEXT", OPT_TEXT, AT(title), 0, NULL,
	  "of pictures, in place of the report's" },
	{ "--grey", NULL, OPT_FLAG, AT(grey), 0, NULL,
	  "pictures without colours, for print: greys and patterns, dashes for lines" },
	{ "--no-head", NULL, OPT_FLAG, AT(no_head), 0, NULL,
	  "pictures without title and lines about the run: a paper has a caption" },
	{ NULL, NULL, OPT_FLAG, 0, 0, NULL, "What clients had acknowledged:" },
	{ "--payload", "SIZE", OPT_SIZE, AT(logical_bytes), AT(has_logical), NULL,
	  "bytes that clients had acknowledged, with a unit such as 64MiB: waf_e2e, hop_app" },
	{ "--copies", "N", OPT_COPIES, 0, 0, NULL,
	  "how often the payload is to be kept, for waf_norm" },
	{ "--ec", "K+M", OPT_CODE, 0, 0, NULL, "or by which erasure code, such as 2+2" },
	{ "--logical-bytes", "N", OPT_NUMBER, AT(logical_bytes), AT(has_logical), NULL,
	  "the same as a plain number" },
	{ "--ledger", "FILE", OPT_TEXT, AT(ledger), 0, NULL,
	  "what clients had acknowledged, as workloads/SYSTEM.sh load prints it: waf_e2e, waf_norm, raf_e2e, naf_cli, naf_int" },
	{ NULL, NULL, OPT_FLAG, 0, 0, NULL, "Of one command:" },
	{ "--step", "MS", OPT_NUMBER, AT(step), AT(has_step), NULL,
	  "timeline: length of a step, from 10 milliseconds on (default: 1000)", "timeline" },
	{ "--cdf", NULL, OPT_FLAG, AT(cdf), 0, NULL, "latency: also the table behind its curves",
	  "latency" },
	{ "--ops", "N", OPT_NUMBER, AT(ops), AT(has_ops), NULL,
	  "perop: how many operations clients had acknowledged", "perop" },
	{ "--max", "RATIO=N", OPT_MAX, 0, 0, NULL,
	  "check: what the ratio may be at most; may be given often", "check" },
	{ "--min", "RATIO=N", OPT_MIN, 0, 0, NULL,
	  "check: what it must be at least, such as attributed=0.99", "check" },
	{ "--against", "BASE", OPT_TEXT, AT(against), 0, NULL,
	  "check: ratios must be those of BASE: a store, STORE:RUN, a label in STORE:LABEL",
	  "check" },
	{ "--within", "N%", OPT_PERCENT, AT(within), AT(has_within), NULL,
	  "check --against: how far they may be apart (default: 5%)", "check" },
	{ "--seed", NULL, OPT_FLAG, AT(seed), 0, NULL,
	  "amplification with the columns of earlier tools", "amplification" },
	{ "--once", NULL, OPT_FLAG, AT(once), 0, NULL,
	  "headline: of a store that is removed next, as by iot-trace without -o: says how to keep one, and is no check",
	  "headline" },
	{ "--older", "DAYS", OPT_NUMBER, AT(older), AT(has_older), NULL,
	  "prune: runs that ended before so many days", "prune", true },
	{ "--to", "SIZE", OPT_SIZE, AT(to), AT(has_to), NULL,
	  "prune: the oldest first, until the store has at most SIZE, such as 2GiB", "prune",
	  true },
	{ "--events", NULL, OPT_FLAG, AT(events), 0, NULL,
	  "prune: only events; the runs and their sums stay", "prune", true },
	{ "--key", "FILE", OPT_TEXT, AT(key), 0, NULL,
	  "anonymize: the key of the hashes, made when absent (default: one that nobody keeps)",
	  "anonymize", true },
	{ "--force", NULL, OPT_FLAG, AT(force), 0, NULL,
	  "compare: also runs that are not comparable, marked as such", "compare check" },
	{ NULL, NULL, OPT_FLAG, 0, 0, NULL, "Of the program:" },
	{ "--reports", "DIR", OPT_TEXT, AT(reports), 0, NULL, "read reports from DIR first" },
	{ "--help", NULL, OPT_FLAG, AT(help), 0, NULL, "this text" },
	{ "--version", NULL, OPT_FLAG, AT(version), 0, NULL, "the version" },
};

struct ask options_ask(const struct options *o, const char *rules)
{
	return (struct ask){ .per = per_names[o->per > PER_ALL ? 0 : o->per],
			     .system = o->system,
			     .rules = rules,
			     .systems = "v_process",
			     .each = o->has_per,
			     .has_logical = o->has_logical,
			     .logical_bytes = o->logical_bytes,
			     .copies = o->copies,
			     .shares = o->shares,
			     .ledger_name = o->ledger };
}

static int take_choice(const struct option_row *r, const char *value, int *out)
{
	struct near n = { .given = value };
	char all[192] = "", hint[NEAR_HINT];
	int i;

	for (i = 0; r->choices[i]; i++) {
		if (!strcmp(r->choices[i], value)) {
			*out = i;
			return 0;
		}
		near_try(&n, r->choices[i]);
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i ? ", " : "", r->choices[i]);
	}
	return fail_as(EXIT_USAGE, 0, "%s: unknown value '%s'%s (there are %s)", r->name, value,
		       near_hint(&n, "", hint), all);
}

/* RATIO=N, where N is a decimal number that is not negative. */
static int take_limit(const struct option_row *r, const char *text, struct options *o)
{
	const char *value = strrchr(text, '=');
	size_t len = value ? value - text : 0;
	struct limit *l = &o->limit[o->limits];
	char *end;

	if ((size_t)o->limits == sizeof(o->limit) / sizeof(*o->limit))
		return fail_as(EXIT_USAGE, 0, "%s: more than %zu limits", r->name,
			       sizeof(o->limit) / sizeof(*o->limit));
	if (!len || len >= sizeof(l->name) || value[1] < '0' || value[1] > '9' ||
	    value[1 + strspn(value + 1, "0123456789.")])
		return fail_as(EXIT_USAGE, 0, "%s: '%s' is not RATIO=N, such as waf_sys=3.5", r->name, text);
	memcpy(l->name, text, len);
	l->text = value + 1;
	l->kind = r->type == OPT_MIN ? LIMIT_LEAST : LIMIT_MOST;
	l->value = strtod(value + 1, &end);
	if (*end)
		return fail_as(EXIT_USAGE, 0, "%s: '%s' is not RATIO=N, such as waf_sys=3.5", r->name, text);
	o->limits++;
	return 0;
}

/* "5%" or "0.5%" as a fraction. */
static int take_percent(const struct option_row *r, const char *value, double *out)
{
	size_t digits = strspn(value, "0123456789.");
	char *end;

	*out = strtod(value, &end) / 100;
	if (!digits || *value == '.' || end != value + digits || strcmp(end, "%") || *out > 1e6)
		return fail_as(EXIT_USAGE, 0, "%s: '%s' is not a percentage, such as 5%%", r->name, value);
	return 0;
}

/* --copies N is N shares for each one of payload, --ec K+M is K + M shares for each K. */
static int take_copies(const struct option_row *r, const char *value, struct options *o)
{
	const char *plus = r->type == OPT_CODE ? strchr(value, '+') : NULL;
	auto_free char *first = plus ? strndup(value, plus - value) : strdup(value);
	uint64_t k, m = 0;

	if (!first || (r->type == OPT_CODE && !plus) || parse_number(first, &k) ||
	    (plus && parse_number(plus + 1, &m)) || !k || k > COPIES_MAX || m > COPIES_MAX)
		return fail_as(EXIT_USAGE, 0, "%s: '%s' is not %s (1 to 1000000)", r->name, value, r->value);
	if (o->copies)
		return fail_as(EXIT_USAGE, 0, "--copies and --ec say the same thing: give one of them");
	o->copies = k + m;
	o->shares = plus ? k : 1;
	return 0;
}

static int take_value(const struct option_row *r, const char *value, struct options *o)
{
	void *at = (char *)o + r->offset;

	if (r->has)
		*(bool *)((char *)o + r->has) = true;
	if (r->type == OPT_FLAG)
		*(bool *)at = true;
	if (r->type == OPT_TEXT)
		*(const char **)at = value;
	if (r->type == OPT_MAX || r->type == OPT_MIN)
		return take_limit(r, value, o);
	if (r->type == OPT_WHERE) {
		if (o->select.wheres == N_OF(o->select.where))
			return fail_as(EXIT_USAGE, 0, "--where: more than %zu conditions", N_OF(o->select.where));
		o->select.where[o->select.wheres++] = value;
	}
	if (r->type == OPT_COPIES || r->type == OPT_CODE)
		return take_copies(r, value, o);
	if (r->type == OPT_PERCENT)
		return take_percent(r, value, at);
	if (r->type == OPT_SIZE && (parse_size(value, at) || *(uint64_t *)at > INT64_MAX))
		return fail_as(EXIT_USAGE, 0, "%s: '%s' is not a number of bytes, such as 64MiB", r->name, value);
	if (r->type == OPT_CHOICE)
		return take_choice(r, value, at);
	if (r->type == OPT_NUMBER && parse_number_63(value, at))
		return fail_as(EXIT_USAGE, 0, "%s: '%s' is not a whole number", r->name, value);
	return 0;
}

static struct argument row_argument(size_t i)
{
	const struct option_row *r = &rows[i];
	bool is_letter = r->name && r->name[1] != '-';

	return (struct argument){ is_letter ? r->name[1] : 0,
				  r->name && !is_letter ? r->name + 2 : NULL, r->value, r->doc,
				  r->choices };
}

_Static_assert(N_OF(rows) <= 64, "a bit a row in options.given");

static int take_option(void *into, size_t i, const char *value)
{
	struct options *o = into;

	o->given |= 1ULL << i;
	return take_value(&rows[i], value, o);
}

static int take_word(void *into, char **words, bool behind)
{
	struct options *o = into;

	if (*words && o->args == N_OF(o->arg))
		return fail_as(EXIT_USAGE, 0, "too many arguments: '%s'", *words);
	if (*words)
		o->arg[o->args++] = *words;
	return 0;
}

static const struct arguments arguments = {
	.n = N_OF(rows), .row = row_argument, .take = take_option, .word = take_word
};

int options_read(struct options *o, int argc, char **argv)
{
	int err = arguments_read(&arguments, o, argc, argv);

	if (!err && o->has_top && !o->select.top)
		return fail_as(EXIT_USAGE, 0, "--top: at least one row");
	if (!err && o->copies && (!o->has_logical || o->logical_bytes > INT64_MAX / o->copies))
		return fail_as(EXIT_USAGE, 0,
			       o->has_logical ?
				       "the payload with its copies does not fit in 63 bits" :
				       "--copies and --ec are of a payload: give --payload too");
	return err;
}

int options_check(const struct options *o, const char *command, bool is_report)
{
	size_t i;

	for (i = 0; i < N_OF(rows); i++) {
		const struct option_row *r = &rows[i];
		bool is_limit = r->type == OPT_MAX || r->type == OPT_MIN;

		if (!(o->given >> i & 1) || !r->commands || has_word(r->commands, command) ||
		    !(r->alone || is_report))
			continue;
		return fail_as(EXIT_USAGE, 0, "%s %s to the command '%.*s'",
			       is_limit ? "--max and --min" : r->name,
			       is_limit ? "belong" : "belongs", (int)strcspn(r->commands, " "),
			       r->commands);
	}
	return 0;
}

int fail_by_carrier(const char *command)
{
	return fail_as(EXIT_USAGE, 0,
		"--by carrier: %s has what calls did as well, and those have no carrier; %s",
		command, "breakdown, carriers, stack and timeline have a line a carrier");
}

void options_each(void (*call)(const char *name, const char *value, const char *const *choices,
			       const char *doc))
{
	size_t i;

	for (i = 0; i < N_OF(rows); i++)
		if (rows[i].name)
			call(rows[i].name, rows[i].value, rows[i].choices, rows[i].doc);
}

static struct {
	const char *command, *takes;
	bool draws;
	size_t row[N_OF(rows)], n;
} shown;

static bool is_picture(const struct option_row *r)
{
	return r->offset == AT(plot) || r->offset == AT(size) || r->offset == AT(title) ||
	       r->offset == AT(no_head);
}

static bool is_shown(const struct option_row *r)
{
	if (!shown.command)
		return true;
	if (r->commands)
		return has_word(r->commands, shown.command);
	if (is_picture(r) && r->name && !shown.draws)
		return false;
	return shown.takes ? has_word(shown.takes, r->name) :
			     r->offset != AT(version) && r->offset != AT(help);
}

/* Those of a group, with its head where there are any. */
static void show_group(size_t head, size_t end)
{
	size_t i;

	for (i = head + 1; i < end && !is_shown(&rows[i]); i++)
		;
	if (i == end)
		return;
	for (shown.row[shown.n++] = head, i = head + 1; i < end; i++)
		if (is_shown(&rows[i]))
			shown.row[shown.n++] = i;
}

static struct argument shown_argument(size_t i)
{
	return row_argument(shown.row[i]);
}

int options_help(const char *command, const char *takes, bool draws)
{
	struct arguments some = { .row = shown_argument, .take = take_option, .word = take_word };
	size_t i, head = 0;

	shown.command = command;
	shown.takes = takes;
	shown.draws = draws;
	shown.n = 0;
	for (i = 1; i <= N_OF(rows); i++)
		if (i == N_OF(rows) || !rows[i].name) {
			show_group(head, i);
			head = i;
		}
	some.n = shown.n;
	return shown.n && arguments_help(&some) ? EXIT_DATA : EXIT_OK;
}
