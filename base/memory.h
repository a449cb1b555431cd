/* SPDX-License-Identifier: GPL-3.0-only */
/* memory.h - a text that grows, written with stdio.
 *
 * open_memstream(3) does not tell when memory runs out: what does not fit is left out, glibc's fclose() returns 0, and the text is
 * cut, or NULL.
 */
#ifndef IOT_STREAM_MEMORY_H
#define IOT_STREAM_MEMORY_H

#include <stddef.h>
#include <stdio.h>

/* Opens a text for writing. fclose() puts it into *text, with a NUL behind its *size bytes, to be freed; when anything did not fit it
 * returns EOF, and *text is NULL. size may be NULL. NULL: no memory. */
FILE *memory_open(char **text, size_t *size);

#endif
