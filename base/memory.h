/* SPDX-License-Identifier: GPL-3.0-only */
/* memory.h - text in memory, written with stdio.
 *
 * open_memstream(3) does not report when memory runs out: bytes are left out, glibc's fclose()
 * returns 0, and the text is incomplete, or NULL.
 */
#ifndef IOT_STREAM_MEMORY_H
#define IOT_STREAM_MEMORY_H

#include <stddef.h>
#include <stdio.h>

/* Opens a text for writing. fclose() puts it into *text, with a NUL after its *size bytes, to be
 * freed; when bytes were left out it returns EOF, and *text is NULL. size may be NULL. Returns NULL
 * when there is no memory. */
FILE *memory_open(char **text, size_t *size);

#endif
