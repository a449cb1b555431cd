/* SPDX-License-Identifier: GPL-3.0-only */
/* fail.c - one line on stderr for every error. */
#include "fail.h"
#include "place.h"

int fail(int status, int err, const char *format, ...)
{
	char line[2048];
	va_list args;
	size_t i;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	for (i = 0; line[i]; i++) {
		if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
			line[i] = '?';
	}
	if (err)
		fprintf(stderr, "iot-analyze: %s: %s\n", line, place_error(-err, false));
	else
		fprintf(stderr, "iot-analyze: %s\n", line);
	return status;
}
