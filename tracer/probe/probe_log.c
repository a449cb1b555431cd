// SPDX-License-Identifier: GPL-3.0-only
/* probe_log.c - messages of libbpf: printed as asked for, and kept where they tell why a program
 * was refused.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "clean.h"
#include "probe_parts.h"

static unsigned int verbose;

static _Thread_local struct complaint said;

#define LOG_LINES 50 /* lines of the verifier's log that -v shows: the reason is at the end */

/* Prints a message of libbpf; of a long one, which holds the verifier's log, the first line and the
 * last ones. */
static void show(const char *format, va_list args)
{
	char *text, *p;
	int lines = 0;

	if (vasprintf(&text, format, args) < 0)
		return;
	for (p = text; *p; p++)
		lines += *p == '\n';
	p = text;
	if (verbose < 2 && lines > LOG_LINES + 1) {
		for (int skipped = lines - LOG_LINES; skipped; skipped--)
			p = strchr(p, '\n') + 1;
		fprintf(stderr, "%.*s\n[%d lines are left out: -vv prints them]\n",
			(int)strcspn(text, "\n"), text, lines - LOG_LINES - 1);
	}
	fputs(p, stderr);
	free(text);
}

/* Keeps the last line of the verifier's log that gives a reason: only its statistics follow. */
static void keep_line(const char *log)
{
	static const char *const counts[] = { "processed ", "verification time ", "stack depth ",
		"-- ", "peak_states " };
	const char *end;

	said.line[0] = '\0';
	for (const char *p = log; p && *p; p = end ? end + 1 : NULL) {
		bool says = false;

		end = strchr(p, '\n');
		says = *p && *p != '\n';
		for (size_t i = 0; i < N_OF(counts); i++)
			says &= !!strncmp(p, counts[i], strlen(counts[i]));
		if (says)
			snprintf(said.line, sizeof(said.line), "%.*s", (int)strcspn(p, "\n"), p);
	}
}

/* By row of `programs`. One thread loads a program. */
static u32 frames[MAX_PROGRAMS];

/* Keeps the largest stack depth ("56+0+208", one a function) in the verifier's log of an accepted
 * program, which follows "prog 'NAME': -- BEGIN PROG LOAD LOG --". */
static void keep_frame(const char *format, va_list args)
{
	static const char begin[] = "prog '", depth[] = "\nstack depth ";
	auto_free char *text = NULL;
	char name[64], *end;
	const char *at;
	int row;

	if (!strstr(format, "PROG LOAD LOG") || vasprintf(&text, format, args) < 0)
		return;
	at = strstr(text, begin);
	if (!at)
		return;
	at += strlen(begin);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, "'"), at);
	row = program_row(name);
	at = row >= 0 ? strstr(at, depth) : NULL;
	for (at = at ? at + strlen(depth) : NULL; at; at = *end == '+' ? end + 1 : NULL) {
		u32 bytes = strtoul(at, &end, 10);

		frames[row] = bytes > frames[row] ? bytes : frames[row];
	}
}

u32 libbpf_frame(int row)
{
	return frames[row];
}

static int libbpf_says(enum libbpf_print_level level, const char *format, va_list a)
{
	auto_free char *line = NULL;
	const char *p;
	va_list again;
	size_t n;

	va_copy(again, a);
	if (verbose > (level == LIBBPF_DEBUG))
		show(format, again);
	va_end(again);
	if (level == LIBBPF_DEBUG)
		keep_frame(format, a);
	if (level != LIBBPF_WARN || vasprintf(&line, format, a) < 0)
		return 0;
	p = strstr(line, "prog '");
	if (!p)
		return 0;
	p += strlen("prog '");
	n = strcspn(p, "'");
	if (n >= sizeof(said.program))
		return 0;
	memcpy(said.program, p, n);
	said.program[n] = '\0';
	if (strstr(p, "BEGIN PROG LOAD LOG")) {
		keep_line(strchr(p, '\n'));
		return 0;
	}
	p += n + !!p[n];
	snprintf(said.text, sizeof(said.text), "%s", p + strspn(p, ": "));
	said.text[strcspn(said.text, "\n")] = '\0';
	return 0;
}

void libbpf_listen(unsigned int how)
{
	verbose = how;
	libbpf_set_print(libbpf_says);
}

struct complaint *libbpf_complaint(void)
{
	return &said;
}
