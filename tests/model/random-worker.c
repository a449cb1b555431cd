/* SPDX-License-Identifier: GPL-3.0-only */
/* random-worker - makes one call on command, and says what the kernel returned.
 *
 * usage: random-worker SOCKET             the host: forks workers on command, so that they are all its children
 *        random-worker SOCKET ID NAME     one worker
 *
 * Talks over the Unix socket SOCKET that tests/model/random-programs.py listens on; begins with "ID PID\n". One line is one command:
 *	OP KEY=NUMBER... mode=LETTERS
 * and is answered by one line: KEY=NUMBER..., see answer(). A descriptor is opened once for a file and a mode, and kept until
 * `close`. To add a call: a row in ops[] and a function of a few lines.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "random.h"

struct keep {
	int f, fd;
	char mode[16];
};

static struct keep kept[64];
static FILE *out;              /* the socket */
static const char *socket_name;
static char other_mount[400] = "."; /* the same folder below a bind mount */
char *buffer, folios[65536], parts[1024];
pid_t child;

void die(const char *what)
{
	fprintf(stderr, "random-worker: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- descriptors ---- */

void file_name(char *s, size_t size, int f)
{
	snprintf(s, size, "f%d", f);
}

static int open_flags(const char *mode)
{
	int flags = O_RDWR;

	for (; *mode; mode++) {
		switch (*mode) {
		case 'r': flags = (flags & ~O_ACCMODE) | O_RDONLY; break;
		case 'w': flags = (flags & ~O_ACCMODE) | O_WRONLY; break;
		case 'a': flags |= O_APPEND; break;
		case 's': flags |= O_SYNC; break;
		case 'd': flags |= O_DSYNC; break;
		case 'x': flags |= O_DIRECT; break;
		case 't': flags |= O_TRUNC; break;
		case 'T': return (flags & ~O_CREAT) | O_TMPFILE | O_CLOEXEC;
		}
	}
	return flags | O_CREAT | O_CLOEXEC;
}

static struct keep *keep_find(int f, const char *mode)
{
	for (size_t i = 0; i < COUNT(kept); i++)
		if (kept[i].fd >= 0 && kept[i].f == f && !strcmp(kept[i].mode, mode))
			return &kept[i];
	return NULL;
}

static int keep_add(int f, const char *mode, int fd)
{
	for (size_t i = 0; fd >= 0 && i < COUNT(kept); i++) {
		if (kept[i].fd >= 0)
			continue;
		kept[i].f = f;
		kept[i].fd = fd;
		strcpy(kept[i].mode, mode);
		return fd;
	}
	return fd;
}

/* Mode "u...": a duplicate of the descriptor without the u: both share a position. "b": by the name
 * below the other mount. "t" and "T" (a file without a name) count for the first use. */
int descriptor(int f, const char *mode)
{
	struct keep *k = keep_find(f, mode);
	char file[64], name[512];

	if (k)
		return k->fd;
	if (mode[0] == 'u')
		return keep_add(f, mode, dup(descriptor(f, mode + 1)));
	file_name(file, sizeof(file), f);
	snprintf(name, sizeof(name), "%s%s%s", strchr(mode, 'b') ? other_mount : "",
		 strchr(mode, 'b') ? "/" : "", strchr(mode, 'T') ? "." : file);
	return keep_add(f, mode, open(name, open_flags(mode), 0644));
}

void close_file(int f)
{
	for (size_t i = 0; i < COUNT(kept); i++) {
		if (kept[i].fd < 0 || (f >= 0 && kept[i].f != f))
			continue;
		close(kept[i].fd);
		kept[i].fd = -1;
	}
}

enum { NO_FD = 1 };
static const struct op {
	const char *name;
	int how;
	ssize_t (*make)(const struct command *, int fd);
} ops[] = {
	{ "write", 0, do_write }, { "pwrite", 0, do_pwrite }, { "writev", 0, do_writev }, { "pwritev", 0, do_pwritev },
	{ "pwritev2", 0, do_pwritev2 }, { "pread", 0, do_pread }, { "sendfile", 0, do_sendfile }, { "copy", 0, do_copy },
	{ "splice", 0, do_splice }, { "aio", 0, do_aio }, { "uring", 0, do_uring }, { "uring_fsync", 0, do_uring_fsync },
	{ "store", 0, do_store }, { "msync", 0, do_msync }, { "fsync", 0, do_fsync }, { "fdatasync", 0, do_fdatasync },
	{ "syncfs", 0, do_syncfs }, { "sync", NO_FD, do_sync }, { "range", 0, do_range }, { "truncate", 0, do_truncate },
	{ "fallocate", 0, do_fallocate }, { "forget", 0, do_forget }, { "open", 0, do_open }, { "seek", 0, do_seek },
	{ "close", NO_FD, do_close }, { "unlink", NO_FD, do_unlink }, { "rename", NO_FD, do_rename }, { "link", NO_FD, do_link },
	{ "child", 0, do_child }, { "thread", 0, do_thread }, { "path_truncate", 0, do_path_truncate },
	{ "aios", 0, do_aios }, { "urings", 0, do_urings },
};

/* ---- commands ---- */

static bool parse(char *line, struct command *c)
{
	char *word, *rest = NULL;

	memset(c, 0, sizeof(*c));
#define K(name) c->name = -1;
	KEYS(K)
#undef K
	word = strtok_r(line, " \n", &rest);
	if (!word)
		return false;
	snprintf(c->op, sizeof(c->op), "%s", word);
	while ((word = strtok_r(NULL, " \n", &rest))) {
		char *value = strchr(word, '=');

		if (!value)
			return false;
		*value++ = '\0';
		if (!strcmp(word, "mode"))
			snprintf(c->mode, sizeof(c->mode), "%s", value);
#define K(name) else if (!strcmp(word, #name)) c->name = strtoll(value, NULL, 10);
		KEYS(K)
#undef K
	}
	return true;
}

static void limit_size(long long bytes_max)
{
	struct rlimit r;

	getrlimit(RLIMIT_FSIZE, &r);
	r.rlim_cur = bytes_max < 0 ? r.rlim_max : (rlim_t)bytes_max;
	setrlimit(RLIMIT_FSIZE, &r);
}

/* The returned value, the file, and its size and position before and after. */
static void answer(const struct command *c, const struct op *o)
{
	struct stat before = { 0 }, after = { 0 };
	long long pos = -1, pos_after = -1;
	int fd = -1, err = 0, generation = 0;
	ssize_t ret;

	folios[0] = parts[0] = '\0';
	child = 0;
	if (!(o->how & NO_FD)) {
		fd = descriptor(c->f, c->mode);
		if (fd < 0) {
			fprintf(out, "ret=-1 errno=%d open=1\n", errno);
			return;
		}
		fstat(fd, &before);
		pos = lseek(fd, 0, SEEK_CUR);
		ioctl(fd, FS_IOC_GETVERSION, &generation);
	}
	memset(buffer, 'A' + c->seed % 26, c->len > 0 && c->len <= (long long)BUFFER ? c->len : 0);
	if (c->bad > 0)
		memset(buffer + BUFFER - c->bad, 'A' + c->seed % 26, c->bad);
	if (c->limit >= 0)
		limit_size(c->limit);
	errno = 0;
	ret = o->make(c, fd);
	err = ret < 0 ? errno : 0;
	if (c->limit >= 0)
		limit_size(-1);
	if (fd >= 0) {
		fstat(fd, &after);
		pos_after = lseek(fd, 0, SEEK_CUR);
	}
	fprintf(out,
		"ret=%zd errno=%d ino=%llu gen=%u size=%lld size_after=%lld pos=%lld pos_after=%lld links=%llu child=%d parts=%s folios=%s\n",
		ret, err, (unsigned long long)after.st_ino, (unsigned int)generation,
		(long long)before.st_size, (long long)after.st_size, pos, pos_after,
		(unsigned long long)after.st_nlink, child, parts, folios);
}

static void obey(char *line)
{
	struct command c;

	if (!parse(line, &c))
		die("bad command");
	for (size_t i = 0; i < COUNT(ops); i++) {
		if (strcmp(ops[i].name, c.op))
			continue;
		answer(&c, &ops[i]);
		fflush(out);
		return;
	}
	errno = ENOSYS;
	die(c.op);
}

static FILE *talk(const char *id)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	FILE *in;

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", socket_name);
	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)))
		die(socket_name);
	out = fdopen(dup(fd), "w");
	in = fdopen(fd, "r");
	if (!in || !out)
		die("fdopen");
	fprintf(out, "%s %d\n", id, getpid());
	fflush(out);
	return in;
}

/* Waits for what is being written back. */
static int wait_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -1;
	ret = sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE);
	close(fd);
	return ret;
}

/* Commands until "quit"; "cd DIR" changes the folder, "other DIR" is the same folder below another
 * mount, "wait FILE" waits for its writeback. What it holds is closed before it says so. */
static void worker(const char *id)
{
	char line[1024];
	FILE *in = talk(id);

	while (fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strcmp(line, "quit"))
			break;
		if (!strncmp(line, "other ", 6)) {
			snprintf(other_mount, sizeof(other_mount), "%.390s", line + 6);
			fprintf(out, "ret=0\n");
			fflush(out);
			continue;
		}
		if (!strncmp(line, "cd ", 3) || !strncmp(line, "wait ", 5)) {
			fprintf(out, "ret=%d\n", line[0] == 'c' ? chdir(line + 3) : wait_file(line + 5));
			fflush(out);
			continue;
		}
		obey(line);
	}
	close_file(-1);
	fprintf(out, "ret=0\n");
	fflush(out);
	exit(0);
}

static void worker_begin(void)
{
	for (size_t i = 0; i < COUNT(kept); i++)
		kept[i].fd = -1;
	buffer = mmap(NULL, BUFFER + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buffer == MAP_FAILED || mprotect(buffer + BUFFER, PAGE, PROT_NONE))
		die("no memory");
	signal(SIGXFSZ, SIG_IGN);
}

/* "fork ID NAME": a worker is born. */
static void host(void)
{
	char line[256], id[64], name[64];
	FILE *in = talk("host");

	signal(SIGCHLD, SIG_IGN);
	while (fgets(line, sizeof(line), in) && sscanf(line, "fork %63s %63s", id, name) == 2) {
		if (fork())
			continue;
		signal(SIGCHLD, SIG_DFL);
		fclose(in);
		fclose(out);
		prctl(PR_SET_NAME, name);
		worker_begin();
		worker(id);
	}
}

int main(int argc, char **argv)
{
	if (argc != 2 && argc != 4) {
		fprintf(stderr, "usage: random-worker SOCKET [ID NAME]\n");
		return 2;
	}
	socket_name = argv[1];
	if (argc == 2) {
		host();
		return 0;
	}
	prctl(PR_SET_NAME, argv[3]);
	worker_begin();
	worker(argv[2]);
}
