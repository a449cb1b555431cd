// SPDX-License-Identifier: GPL-3.0-only
/* options_text.c - the filters of a command line, as text for the record of the run. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "options.h"

bool options_by_pid(const struct options *o)
{
	return o->n_pids || (o->command && !o->all);
}

/* Appends formatted text to buf, as much as fits. */
__attribute__((format(printf, 3, 4))) static void add_text(char *buf, size_t size,
	const char *format, ...)
{
	size_t n = strlen(buf);
	va_list args;

	va_start(args, format);
	vsnprintf(buf + n, size - n, format, args);
	va_end(args);
}

void options_filters(const struct options *o, char *buf, size_t size)
{
	buf[0] = '\0';
	if (o->command && !o->all)
		add_text(buf, size, " command");
	for (size_t i = 0; i < o->n_pids; i++)
		add_text(buf, size, " pid=%u", o->pids[i]);
	if (o->comm[0])
		add_text(buf, size, " comm=%s", o->comm);
	for (size_t i = 0; i < o->n_group_names; i++)
		add_text(buf, size, " %s=%s", o->group_kinds[i], o->group_names[i]);
	if (o->system)
		add_text(buf, size, " system=%s", o->system);
	if (o->dev)
		add_text(buf, size, " dev=%s", o->dev_name);
	for (size_t i = 0; i < o->only.n_text; i++)
		if (!o->only.of_events[i])
			add_text(buf, size, " %s", o->only.text[i]);
	if (buf[0])
		memmove(buf, buf + 1, strlen(buf));
}

void options_only_events(const struct options *o, char *buf, size_t size)
{
	buf[0] = '\0';
	for (size_t i = 0; i < o->only.n_text; i++)
		if (o->only.of_events[i])
			add_text(buf, size, " %s", o->only.text[i]);
	if (buf[0])
		memmove(buf, buf + 1, strlen(buf));
}
