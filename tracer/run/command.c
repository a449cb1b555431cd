// SPDX-License-Identifier: GPL-3.0-only
/* command.c - starts the traced command behind a gate, so that its first system call is recorded.
 *
 * The child is forked before privileges are dropped and keeps those of the user. It waits for a
 * byte in a pipe. A second pipe, which a successful exec closes, carries the error of a failed one.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "command.h"
#include "rights.h"

/* reading end of the second pipe, from command_start() to command_go() */
static int report_pipe = -1;

/* Descriptors: each program and each map needs one, in every object and every copy of one. 1630
 * were counted under Linux 7.2 with ext4, XFS and btrfs, 316 under 6.18. */
#define FILES 8192

static mode_t given_umask;
static struct rlimit given_files;

void command_given(void)
{
	struct rlimit files;

	given_umask = umask(0);
	umask(given_umask & ~0700);
	if (getrlimit(RLIMIT_NOFILE, &given_files) || given_files.rlim_cur >= FILES)
		return;
	files.rlim_cur = FILES;
	files.rlim_max = given_files.rlim_max < FILES ? FILES : given_files.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &files)) { /* raises it as far as allowed */
		files.rlim_cur = files.rlim_max = given_files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

/* Returns 0 when the file can be executed, else an errno. */
static int runnable(const char *path)
{
	struct stat s;

	if (stat(path, &s))
		return errno;
	if (S_ISDIR(s.st_mode))
		return EISDIR;
	return access(path, X_OK) ? EACCES : 0;
}

static int search_path(const char *name)
{
	const char *dir = getenv("PATH");
	char path[PATH_MAX];
	int err = ENOENT;

	for (dir = dir ? dir : "/bin:/usr/bin"; ; ) {
		size_t len = strcspn(dir, ":");
		int got;

		if (snprintf(path, sizeof(path), "%.*s%s%s", (int)len, dir, len ? "/" : "",
		    name) < (int)sizeof(path)) {
			got = runnable(path);
			if (!got)
				return 0;
			if (got == EACCES)
				err = got;
		}
		if (!dir[len])
			return err;
		dir += len + 1;
	}
}

static int not_run(int err, const char *name)
{
	fail(err, "cannot run command '%s'", name);
	return err == ENOENT || err == ENOTDIR ? STATUS_NOT_FOUND : STATUS_NOT_RUN;
}

int command_check(const char *name)
{
	int err = strchr(name, '/') ? runnable(name) : *name ? search_path(name) : ENOENT;

	return err ? not_run(err, name) : 0;
}

/* The child makes only calls that are not recorded until it is released, such as poll(2) and
 * prctl(2). It has the command's name already: reading the program file is part of starting the
 * command. */
static void __attribute__((noreturn)) child(char **argv, int gate, int report, const sigset_t *mask,
	bool to_stderr)
{
	struct pollfd wait = { .fd = gate, .events = POLLIN };
	const char *slash = strrchr(argv[0], '/');
	int err;

	prctl(PR_SET_NAME, slash ? slash + 1 : argv[0]);
	/* both ends of the pipe are open here: it would never hang up */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (to_stderr)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	while (poll(&wait, 1, -1) < 1)
		;
	prctl(PR_SET_PDEATHSIG, 0);
	sigprocmask(SIG_SETMASK, mask, NULL);
	umask(given_umask);
	if (given_files.rlim_max)
		setrlimit(RLIMIT_NOFILE, &given_files);
	rights_shed();
	execvp(argv[0], argv);
	err = errno;
	if (write(report, &err, sizeof(err)) < 0)
		_exit(STATUS_NOT_RUN);
	_exit(err == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_RUN);
}

int command_start(struct command *c, char **argv, const sigset_t *mask, bool to_stderr)
{
	int gate[2] = { -1, -1 }, report[2] = { -1, -1 };

	c->gate = -1;
	c->status = -1;
	if (pipe2(gate, O_CLOEXEC) || pipe2(report, O_CLOEXEC))
		return fail(errno, "cannot make a pipe");
	c->pid = fork();
	if (c->pid < 0)
		return fail(errno, "cannot start a process");
	if (!c->pid)
		child(argv, gate[0], report[1], mask, to_stderr);
	close(gate[0]);
	close(report[1]);
	c->gate = gate[1];
	report_pipe = report[0];
	return 0;
}

int command_go(struct command *c, const char *name)
{
	int err = 0;
	ssize_t n = write(c->gate, "", 1);

	close(c->gate);
	c->gate = -1;
	if (n == 1)
		/* returns when exec closes the other end */
		n = read(report_pipe, &err, sizeof(err));
	close(report_pipe);
	if (n != sizeof(err))
		return 0;
	waitpid(c->pid, NULL, 0);
	c->pid = 0;
	c->status = not_run(err, name);
	return c->status;
}

bool command_ended(struct command *c)
{
	int status;

	if (!c->pid || waitpid(c->pid, &status, WNOHANG) != c->pid)
		return false;
	c->pid = 0;
	c->status = WIFSIGNALED(status) ? STATUS_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
	return true;
}

void command_cancel(struct command *c)
{
	if (c->gate < 0)
		return;
	kill(c->pid, SIGKILL);
	close(c->gate);
	close(report_pipe);
	c->gate = -1;
	waitpid(c->pid, NULL, 0);
	c->pid = 0;
}
