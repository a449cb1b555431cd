// SPDX-License-Identifier: GPL-3.0-only
/* fail.c - one line on stderr for every error. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "fail.h"
#include "out.h"
#include "place.h"

static void tell(int err, const char *format, va_list args)
{
	int neg = -abs(err);

	out_message(program_invocation_short_name, !err ? NULL : place_errno(neg) == neg ?
		    out_error(neg) : place_error(neg, false), format, args);
}

int fail(int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	tell(err, format, args);
	va_end(args);
	return err ? -abs(err) : -EINVAL;
}

int fail_as(int result, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	tell(err, format, args);
	va_end(args);
	return result;
}

int fail_usage(const char *format, ...)
{
	char hint[64];
	va_list args;

	snprintf(hint, sizeof(hint), "try '%s --help'", program_invocation_short_name);
	va_start(args, format);
	out_message(program_invocation_short_name, hint, format, args);
	va_end(args);
	return 2;
}
