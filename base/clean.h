/* SPDX-License-Identifier: GPL-3.0-only */
/* clean.h - locals that clean up when they go out of scope, and arrays that grow. Such a local must
 * be initialised. */
#ifndef IOT_BASE_CLEAN_H
#define IOT_BASE_CLEAN_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define N_OF(array) (sizeof(array) / sizeof(*(array)))

static inline void clean_memory(void *memory)
{
	free(*(void **)memory);
}

static inline void clean_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void clean_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

#define auto_free __attribute__((cleanup(clean_memory)))
#define auto_close __attribute__((cleanup(clean_fd)))
#define auto_fclose __attribute__((cleanup(clean_file)))

/* Makes room for one more element of `size` bytes after n of them. Returns 0 or -ENOMEM,
 * silently. */
int grow(void **array, size_t n, size_t *room, size_t size);

#endif
