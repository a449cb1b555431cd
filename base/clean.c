// SPDX-License-Identifier: GPL-3.0-only
/* clean.c - arrays that grow. */
#include <errno.h>
#include "clean.h"

int grow(void **array, size_t n, size_t *room, size_t size)
{
	size_t want = *room ? *room * 2 : 64;
	void *more;

	if (n < *room)
		return 0;
	more = reallocarray(*array, want, size);
	if (!more)
		return -ENOMEM;
	*array = more;
	*room = want;
	return 0;
}
