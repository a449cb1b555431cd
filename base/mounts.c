// SPDX-License-Identifier: GPL-3.0-only
/* mounts.c - reads mountinfo. */
#include <fcntl.h>
#include <string.h>
#include "clean.h"
#include "file.h"
#include "mounts.h"

#define MOUNTS_BYTES (64 << 20)  /* fs.mount-max is 100,000, and may be more */

/* Undoes the octal escapes of blanks and backslashes, in place. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++, to++) {
		*to = *s;
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
		    s[3] >= '0' && s[3] <= '7') {
			*to = (s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0');
			s += 3;
		}
	}
	*to = '\0';
}

/* id parent major:minor root point options ... - type source super-options */
static bool parse(char *line, struct mount *m)
{
	char *tail = strstr(line, " - "), *at, *root, *flags;
	unsigned int major, minor;
	int skipped = 0;

	if (!tail || sscanf(line, "%*s %*s %u:%u %n", &major, &minor, &skipped) != 2 || !skipped)
		return false;
	*tail = '\0';
	tail += strlen(" - ");
	at = line + skipped;
	root = strsep(&at, " ");
	if (!at)
		return false;
	flags = at + strcspn(at, " ");
	flags += *flags == ' ';
	at[strcspn(at, " ")] = '\0';
	flags[strcspn(flags, " ")] = '\0';
	unescape(root);
	unescape(at);
	m->dev = major << 20 | minor;
	m->root = root;
	m->at = at;
	m->flags = flags;
	m->fs = strsep(&tail, " ");
	m->source = strsep(&tail, " ") ?: "";
	m->options = tail ? tail : "";
	return true;
}

bool mounts_find(int fd, bool (*is_it)(void *, const struct mount *), void *arg)
{
	size_t len;
	auto_free char *text = fd < 0 || lseek(fd, 0, SEEK_SET) ? NULL : read_all(fd, MOUNTS_BYTES, &len);
	char *line, *next = text;
	struct mount m;

	while ((line = strsep(&next, "\n")))
		if (parse(line, &m) && is_it(arg, &m))
			return true;
	return false;
}

bool mounts_find_ours(bool (*is_it)(void *, const struct mount *), void *arg)
{
	auto_close int fd = open(MOUNTS_OURS, O_RDONLY | O_CLOEXEC);

	return mounts_find(fd, is_it, arg);
}

bool mounts_is_remote(const char *type)
{
	static const char *const types[] = {
		"nfs", "nfs4", "cifs", "smb3", "afs", "autofs", "ceph", "lustre", "beegfs", "ocfs2", "gfs2",
		"9p", "glusterfs", "orangefs", "coda", NULL
	};

	for (int i = 0; types[i]; i++)
		if (!strcmp(type, types[i]))
			return true;
	return !strncmp(type, "fuse", 4);
}
