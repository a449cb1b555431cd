/* SPDX-License-Identifier: GPL-3.0-only */
/* analyzer.h - the few things that every file of the analyzer uses: exit statuses, and what is below. */
#ifndef IOT_ANALYZER_H
#define IOT_ANALYZER_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "clean.h"
#include "fail.h"
#include "file.h"
#include "number.h"

/* Exit statuses of iot-analyze, documented in iot-analyze(1). */
enum {
	EXIT_OK = 0,
	EXIT_DATA = 1,   /* the store, a file or a check is not as it must be */
	EXIT_USAGE = 2,  /* the command line asks for something that there is not */
};

#endif
