/* SPDX-License-Identifier: GPL-3.0-only */
/* memory.c - text streams in memory that report when memory ran out. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "memory.h"

struct memory {
	char **text, *to;
	size_t *size, len, room;
	bool failed;
};

static ssize_t put(void *cookie, const char *buf, size_t n)
{
	struct memory *m = cookie;
	size_t room = m->room ? m->room : 256;
	char *to;

	while (room < m->len + n + 1)
		room *= 2;
	to = m->failed ? NULL : realloc(m->to, room);
	m->failed = !to;
	if (!to)
		return 0;
	m->to = to;
	m->room = room;
	memcpy(m->to + m->len, buf, n);
	m->len += n;
	m->to[m->len] = 0;
	return n;
}

static int end(void *cookie)
{
	struct memory *m = cookie;
	int err;

	if (!m->to)
		put(m, "", 0);
	err = m->failed ? -1 : 0;
	if (m->failed) {
		free(m->to);
		m->to = NULL;
	}
	*m->text = m->to;
	if (m->size)
		*m->size = m->failed ? 0 : m->len;
	free(m);
	errno = err ? ENOMEM : 0;
	return err;
}

FILE *memory_open(char **text, size_t *size)
{
	struct memory *m = calloc(1, sizeof(*m));
	FILE *f;

	*text = NULL;
	if (!m)
		return NULL;
	m->text = text;
	m->size = size;
	f = fopencookie(m, "w", (cookie_io_functions_t){ .write = put, .close = end });
	if (!f)
		free(m);
	return f;
}
