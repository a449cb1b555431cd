// SPDX-License-Identifier: GPL-3.0-only
/* usage.c - the help of one command. */
#include <errno.h>
#include "analyzer.h"
#include "near.h"
#include "print_text.h"
#include "question.h"
#include "report.h"
#include "usage.h"

static int put_rest(const char *name, const char *takes, bool draws)
{
	const char *example = question_example(name);
	int err;

	printf("\n");
	err = options_help(name, takes, draws);
	if (example)
		printf("\nexample: iot-analyze %s\n", example);
	return err;
}

int usage_command(const char *name, const char *args, const char *doc, const char *takes)
{
	printf("usage: iot-analyze %s %s\n\n", name, args);
	print_words(doc, 0, 80);
	return put_rest(name, takes, true);
}

/* The lines "-- table: WORD: title" of a report, and those of sentences. */
static void put_tables(const char *text)
{
	static const char *const heads[] = { "-- table: ", "-- words: " };
	const char *p, *colon;
	bool any = false;
	size_t i, len;

	for (p = text; p; p = strchr(p, '\n'), p = p ? p + 1 : NULL)
		for (i = 0; i < N_OF(heads); i++) {
			auto_free char *line = strncmp(p, heads[i], strlen(heads[i])) ?
						       NULL :
						       strndup(p + 10, strcspn(p + 10, "\n"));

			if (!line)
				continue;
			colon = strstr(line, ": ");
			len = colon ? (size_t)(colon - line) : strlen(line);
			printf("%s  %-*.*s%s", any ? "" : "\ntables (--table):\n", colon ? 14 : 0,
			       (int)len, line, colon ? "  " : "\n");
			if (colon)
				print_words(colon + 2, 18, 80);
			any = true;
		}
}

int usage_report(const struct options *o, const char *name, const char *text)
{
	auto_free char *title = report_line(text, "title"), *caption = NULL;

	errno = 0;
	caption = report_lines(text, "caption");
	if (!caption && errno == ENOMEM)
		return fail_as(EXIT_DATA, ENOMEM, "%s", name);
	printf("usage: iot-analyze %s%sSTORE [OPTIONS]\n\n", strcmp(name, "headline") ? name : "",
	       strcmp(name, "headline") ? " " : "");
	print_words(title ?: name, 0, 80);
	put_tables(text);
	if (caption && *caption) {
		printf("\n");
		print_words(caption, 0, 80);
	}
	return put_rest(name, NULL, strstr(text, "\n-- chart: ") != NULL);
}

static struct near nearest;

static void try_report(const char *name, const char *title)
{
	near_try(&nearest, name);
}

int usage_unknown(const struct options *o, const char *name, const char *const *commands)
{
	char hint[NEAR_HINT];

	nearest = (struct near){ .given = name };
	for (; *commands; commands++)
		near_try(&nearest, *commands);
	if (report_each(o->reports, try_report))
		return EXIT_DATA;
	return fail_as(EXIT_USAGE, 0, "unknown command '%s'%s (--help lists commands and reports)",
		       name, near_hint(&nearest, "", hint));
}
