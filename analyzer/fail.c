/* SPDX-License-Identifier: GPL-3.0-only */
/* fail.c - one line on stderr for every error. */
#include "fail.h"
#include "place.h"
#include "out.h"

int fail(int status, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	out_message("iot-analyze", err ? place_error(-err, false) : NULL, format, args);
	va_end(args);
	return status;
}
