/* SPDX-License-Identifier: GPL-3.0-only */
/* small_file.c - reads small regular files: rule files, and the files of container engines. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "clean.h"
#include "file.h"
#include "place.h"
#include "rules.h"

char *sys_read_small(const char *path, size_t *len, const char **why)
{
	auto_close int fd = place_open_path(path, O_RDONLY | O_NONBLOCK);
	char *text = NULL;
	struct stat st;

	*why = NULL;
	if (fd < 0)
		*why = place_error(fd, false);
	else if (fstat(fd, &st))
		*why = strerror(errno);
	else if (!S_ISREG(st.st_mode))
		*why = "not a regular file";
	else if (!(text = read_all(fd, SYS_FILE_BYTES, len)))
		*why = errno == EFBIG ? "larger than 1 MiB, which is refused" : strerror(errno);
	return text;
}
