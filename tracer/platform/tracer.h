/* SPDX-License-Identifier: GPL-3.0-only */
/* tracer.h - shared by all files of the tracer: exit statuses, messages, and the headers of base/
 * that everybody needs.
 */
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

/* Exit statuses of iot-trace, in addition to those of its command (documented in iot-trace(8)). */
enum {
	STATUS_OK = 0,          /* the run is complete */
	STATUS_FAILED = 1,      /* there is no run, or it is incomplete */
	STATUS_USAGE = 2,       /* the command line is wrong */
	STATUS_NOT_RUN = 126,   /* the command exists and cannot be run */
	STATUS_NOT_FOUND = 127, /* the command does not exist */
	STATUS_SIGNAL = 128, /* + number of the signal that ended the command, or the run at once */
};

/* Prints a message that is not an error on stderr, unless -q was given. */
__attribute__((format(printf, 1, 2))) void note(const char *format, ...);
void note_quiet(bool quiet);
/* Prints it with -q too. */
__attribute__((format(printf, 1, 2))) void note_anyway(const char *format, ...);
/* True when standard error takes a line without blocking. */
bool note_can(void);
/* Prints a line that the next one overwrites, if the terminal takes it without blocking. */
__attribute__((format(printf, 1, 2))) void note_progress(const char *format, ...);

#endif
