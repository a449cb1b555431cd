// SPDX-License-Identifier: GPL-3.0-only
/* arguments.c - command lines, read by glibc's argp. Its messages of two lines are switched off:
 * ours say what was wrong. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "arguments.h"
#include "clean.h"
#include "fail.h"
#include "near.h"

#define KEY 256 /* key of row 0: above all letters */

struct reading {
	const struct arguments *of;
	void *into;
	int at;     /* index of the current argument: where argp stops, it is wrong */
	int status; /* result of the function that ended the reading */
};

static bool may_lack(const struct argument *a)
{
	return a->value && *a->value == '?';
}

/* Returns the row of a letter, or of the first `len` bytes of a name; n: there is none. */
static size_t find(const struct arguments *of, char letter, const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < of->n; i++) {
		struct argument a = of->row(i);

		if (letter ? a.letter == letter : a.name && strlen(a.name) == len && !memcmp(a.name, name, len))
			break;
	}
	return i;
}

/* Reports an unknown option, with the option that may have been meant. */
static int unknown(const struct arguments *of, const char *arg)
{
	auto_free char *name = strndup(arg + strspn(arg, "-"), strcspn(arg + strspn(arg, "-"), "="));
	struct near n = { .given = name ?: "" };
	char hint[NEAR_HINT];
	size_t i;

	for (i = 0; arg[1] == '-' && i < of->n; i++)
		if (of->row(i).name)
			near_try(&n, of->row(i).name);
	return fail_usage("unknown option '%s'%s", arg, near_hint(&n, "--", hint));
}

/* Reports an argument that argp refused: an unknown option, or a known one with a value too many or
 * too few. */
static int wrong(const struct arguments *of, const char *arg)
{
	bool is_long = arg[1] == '-';
	const char *p = arg + 1 + is_long;
	size_t len = strcspn(p, "="), i;
	struct argument a;

	do
		i = find(of, is_long ? 0 : *p, p, len);
	while (!is_long && i < of->n && !of->row(i).value && *++p);
	if (i == of->n || (!is_long && !*p))
		return unknown(of, arg);
	a = of->row(i);
	if (is_long && p[len])
		return fail_usage("option --%s takes no value", a.name);
	return fail_usage("option -%s%.*s needs a value: %s", a.name ? "-" : "",
			  a.name ? (int)strlen(a.name) : 1, a.name ?: p, a.value);
}

static int take_option(struct reading *r, size_t i, char *value, struct argp_state *s)
{
	struct argument a = r->of->row(i);
	const char *arg = s->argv[r->at];

	if (arg[1] == '-' && strcspn(arg + 2, "=") != strlen(a.name))
		return unknown(r->of, arg);
	/* argp itself accepts an optional value only after = */
	if (may_lack(&a) && !value && s->next > r->at && s->next < s->argc && *s->argv[s->next] != '-')
		value = s->argv[s->next++];
	return r->of->take(r->into, i, value);
}

static error_t take(int key, char *value, struct argp_state *s)
{
	struct reading *r = s->input;
	size_t i = key >= KEY ? (size_t)key - KEY :
		   key > 0 && key < 128 ? find(r->of, key, NULL, 0) : r->of->n;

	if (key == ARGP_KEY_ERROR) {
		if (!r->status)
			r->status = wrong(r->of, s->argv[r->at]);
		return 0;
	}
	if (key == ARGP_KEY_END && r->at < s->argc) /* the last argument is -- */
		r->status = r->of->word(r->into, s->argv + s->argc, true);
	else if (key == ARGP_KEY_ARG)
		r->status = r->of->word(r->into, s->argv + s->next - 1, s->quoted);
	else if (i < r->of->n)
		r->status = take_option(r, i, value, s);
	else
		return ARGP_ERR_UNKNOWN;
	if (key == ARGP_KEY_ARG && r->of->rest)
		s->next = s->argc;
	r->at = s->next;
	return r->status ? ECANCELED : 0;
}

/* Appends its choices to the help of an option. Returns 0, or -1 when there is no memory. */
static int add_choices(const struct argument *a, const char **doc)
{
	char *all = strdup(a->help), *more;
	size_t c;

	for (c = 0; all && a->choices && a->choices[c]; c++) {
		if (asprintf(&more, "%s%s%s", all, c ? ", " : ": ", a->choices[c]) < 0)
			more = NULL;
		free(all);
		all = more;
	}
	*doc = all;
	return all ? 0 : -1;
}

static struct argp_option *make_options(const struct arguments *of)
{
	struct argp_option *all = calloc(of->n + 1, sizeof(*all));
	size_t i;

	for (i = 0; all && i < of->n; i++) {
		struct argument a = of->row(i);
		bool lack = may_lack(&a);

		all[i] = (struct argp_option){
			.name = a.name, .key = a.letter ? a.letter : a.name ? KEY + (int)i : 0,
			.arg = a.value ? a.value + lack : NULL, .flags = lack ? OPTION_ARG_OPTIONAL : 0,
			.doc = a.help,
		};
	}
	return all;
}

int arguments_read(const struct arguments *of, void *into, int argc, char **argv)
{
	auto_free struct argp_option *options = make_options(of);
	struct argp argp = { .options = options, .parser = take };
	struct reading r = { .of = of, .into = into, .at = 1 };
	unsigned int flags = ARGP_IN_ORDER | ARGP_NO_HELP | ARGP_NO_ERRS | ARGP_NO_EXIT;
	int err = options ? argp_parse(&argp, argc, argv, flags, NULL, &r) : ENOMEM;

	return r.status ?: err ? fail_as(1, err, "cannot read the options") : 0;
}

int arguments_help(const struct arguments *of)
{
	auto_free struct argp_option *options = make_options(of);
	struct argp argp = { .options = options, .parser = take, .args_doc = of->usage, .doc = of->doc };
	unsigned int flags = ARGP_HELP_LONG | (of->usage ? ARGP_HELP_SHORT_USAGE | ARGP_HELP_PRE_DOC : 0);
	size_t i, n = options ? of->n : 0;

	unsetenv("ARGP_HELP_FMT"); /* glibc 2.36 prints endlessly when it sets a small margin */
	for (i = 0; i < n; i++) {
		struct argument a = of->row(i);

		if (add_choices(&a, &options[i].doc))
			n = 0;
	}
	if (!n)
		fail(ENOMEM, "cannot print the options");
	else
		argp_help(&argp, stdout, flags, program_invocation_short_name);
	while (i--)
		free((char *)options[i].doc);
	return n ? 0 : -ENOMEM;
}
