// SPDX-License-Identifier: GPL-3.0-only
/* tracer.c - messages that are not errors. */
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>
#include "out.h"
#include "tracer.h"

static bool quiet_notes;

void note(const char *format, ...)
{
	va_list args;

	if (quiet_notes)
		return;
	va_start(args, format);
	out_message("iot-trace", NULL, format, args);
	va_end(args);
}

void note_anyway(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	out_message("iot-trace", NULL, format, args);
	va_end(args);
}

void note_quiet(bool quiet)
{
	quiet_notes = quiet;
}

bool note_can(void)
{
	struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };

	return poll(&p, 1, 0) == 1;
}

void note_progress(const char *format, ...)
{
	char line[128];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (n > 0 && n < (int)sizeof(line) && note_can() &&
	    write(STDERR_FILENO, line, n) < 0)
		return; /* the next line will be seen */
}
