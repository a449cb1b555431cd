/* SPDX-License-Identifier: GPL-3.0-only */
/* tracer.h - the few things that every file of the tracer uses: exit statuses, messages, and what is below. */
#ifndef IOT_TRACER_H
#define IOT_TRACER_H

#include <stdbool.h>
#include <stddef.h>
#include "clean.h"
#include "clock.h"
#include "wire.h"
#include "fail.h"
#include "file.h"
#include "number.h"

/* Exit statuses of iot-trace, beside those of the command that it runs (iot-trace(8) documents them). */
enum {
	STATUS_OK = 0,          /* the run is complete */
	STATUS_FAILED = 1,      /* it could not be made, or is incomplete */
	STATUS_USAGE = 2,       /* the command line is wrong */
	STATUS_NOT_RUN = 126,   /* the command exists and cannot be run */
	STATUS_NOT_FOUND = 127, /* the command does not exist */
	STATUS_SIGNAL = 128,    /* + number of the signal that ended the command, or the run at once */
};

/* Says something that is not an error, on stderr, unless -q was given. */
__attribute__((format(printf, 1, 2))) void note(const char *format, ...);
void note_quiet(bool quiet);
/* Also with -q. */
__attribute__((format(printf, 1, 2))) void note_anyway(const char *format, ...);
/* A line that the next one covers, where a terminal takes it at once. */
__attribute__((format(printf, 1, 2))) void note_progress(const char *format, ...);

#endif
