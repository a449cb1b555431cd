// SPDX-License-Identifier: GPL-3.0-only
/* errands_helper.c - the helper's side of errands.h: removes files next to a store, prints the
 * first screen, has CSV streams written.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "ask.h"
#include "errands_helper.h"

static const char *const beside[] = { "-wal", "-shm" };

static bool lies_beside(const struct outputs *o, int dir, const char *name)
{
	const char *store;
	int at;

	for (size_t i = 0; outputs_store(o, i, &at, &store); i++)
		for (size_t n = 0; store && at == dir && n < N_OF(beside); n++)
			if (!strncmp(name, store, strlen(store)) &&
			    !strcmp(name + strlen(store), beside[n]))
				return true;
	return false;
}

/* Question: the descriptor of the directory, followed by the file's name. */
static ssize_t answer_remove(void *arg, const void *question, size_t len, void *answer, size_t room)
{
	const char *name = (const char *)question + sizeof(int);
	int dir;

	if (len <= sizeof(dir) || name[len - sizeof(dir) - 1])
		return -EINVAL;
	memcpy(&dir, question, sizeof(dir));
	if (!lies_beside(arg, dir, name))
		return -EPERM;
	return unlinkat(dir, name, 0) ? -errno : 0;
}

static void __attribute__((noreturn)) report(const struct outputs *o)
{
	char program[32];
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGTERM); /* ends with the helper */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* executes the open program: another one may have its name by now */
	snprintf(program, sizeof(program), "/proc/self/fd/%d", o->analyzer_fd);
	if (o->streams) {
		dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
		execl(program, o->analyzer, "export", o->streams_store, o->streams, (char *)NULL);
	} else {
		execl(program, o->analyzer, "headline", o->store, "--once", (char *)NULL);
	}
	fail(errno, "cannot run %s", o->analyzer);
	_exit(STATUS_FAILED);
}

static ssize_t answer_report(void *arg, const void *question, size_t len, void *answer, size_t room)
{
	const struct outputs *o = arg;
	int status;
	pid_t pid = o->store || o->streams ? fork() : -1;

	if (!pid)
		report(o);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -EIO;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EIO;
}

static ssize_t answer_tidy(void *arg, const void *question, size_t len, void *answer, size_t room)
{
	outputs_tidy(arg);
	return 0;
}

void errands_serve(const struct outputs *o, int kept[ERRANDS_KEPT])
{
	const char *store;
	size_t n = 0;

	ask_serve(ASK_REMOVE, answer_remove, (void *)o);
	ask_serve(ASK_REPORT, answer_report, (void *)o);
	ask_serve(ASK_TIDY, answer_tidy, (void *)o);
	memset(kept, -1, ERRANDS_KEPT * sizeof(*kept));
	kept[MAX_OUTPUTS] = o->folder ? o->folder_fd : -1;
	kept[MAX_OUTPUTS + 1] = o->analyzer ? o->analyzer_fd : -1;
	for (; n < MAX_OUTPUTS && outputs_store(o, n, &kept[n], &store); n++)
		;
}
