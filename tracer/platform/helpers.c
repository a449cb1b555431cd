// SPDX-License-Identifier: GPL-3.0-only
/* helpers.c - the keeper, a process that starts and ends the helper processes.
 *
 * The keeper is forked before the tracer gives up its privileges. It reads orders (struct
 * ask_order: make or kill helper number N) from a socket, and exits when the tracer has closed the
 * other end or has died. A helper that hangs in a system call is killed and at once replaced by a
 * new one, although it only ends when that call returns. When the helper that may freeze file
 * systems has ended and left one frozen, the keeper thaws it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "ask.h"
#include "checkpoint.h"
#include "helpers.h"
#include "privilege.h"
#include "procfs.h"

/* killed helpers that still hang in a system call: with so many, no new helper is started */
#define HUNG 64
#define PRIORITY -15            /* nice value of helpers, as the tracer's: it waits for them */
#define THAW_MS 20              /* period of looking whether the helper that may freeze has ended */
#define END_MS 500              /* longest time that the tracer waits for its keeper to end */

static struct {
	pid_t pid;              /* 0: there is none */
} helper[ASK_HELPERS];
/* helpers' ends of the sockets: a new helper reads the questions that the one before it left */
static int ends[ASK_HELPERS];
static size_t hung;
static pid_t freezer;           /* the helper that may freeze file systems; 0: it has ended */
static pid_t keeper_pid;

/* Closes all descriptors but these, which it sorts. A helper that hangs must not keep the write end
 * of a pipe open: its reader would wait for the end of file. */
static void close_all_but(int *kept, size_t n)
{
	unsigned int from = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			if (kept[j] < kept[i]) {
				int lower = kept[j];

				kept[j] = kept[i];
				kept[i] = lower;
			}
	for (size_t i = 0; i < n; i++) {
		if (kept[i] < 0)
			continue;
		if ((unsigned int)kept[i] > from)
			syscall(SYS_close_range, from, kept[i] - 1, 0);
		from = kept[i] + 1;
	}
	syscall(SYS_close_range, from, ~0u, 0);
}

/* Detaches the standard descriptors from the terminal. */
static void leave_standard(void)
{
	int null = open("/dev/null", O_RDWR);

	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	if (null > 2)
		close(null);
}

static int give_up_rights(unsigned int i, const struct helpers_opts *o)
{
	if (i == ASK_ERRANDS)
		return privilege_keep_errands();
	return i == ASK_SETTLER ? privilege_keep_settling(&o->may) : privilege_keep_looking();
}

static void __attribute__((noreturn)) work(unsigned int i, const struct helpers_opts *o)
{
	int kept[HELPERS_KEPT + 5] = { 0, 1, 2, ends[i], procfs_fd() };
	size_t n = 5;

	for (; i == ASK_ERRANDS && n < N_OF(kept); n++)
		kept[n] = o->kept[n - 5];
	if (i == ASK_WALKER)
		kept[n] = o->walked;
	close_all_but(kept, N_OF(kept));
	if (i != ASK_ERRANDS)
		leave_standard();
	prctl(PR_SET_NAME, i == ASK_ERRANDS ? "iot-trace-end" : "iot-trace-look");
	if (!give_up_rights(i, o))
		ask_work(ends[i]);
	_exit(0);
}

static void reap(void)
{
	pid_t pid;
	size_t i;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
		for (i = 0; i < ASK_HELPERS && helper[i].pid != pid; i++)
			;
		if (i < ASK_HELPERS)
			helper[i].pid = 0;
		else
			hung--;
		if (pid == freezer)
			freezer = 0;
	}
}

/* Thaws the file system that `freezer` left frozen. Nothing is done while that helper lives: it
 * thaws the file system itself. */
static void thaw_left(const struct helpers_opts *o)
{
	reap();
	if (o->may.checkpoint && !freezer)
		checkpoint_thaw();
}

static void end_helper(unsigned int i)
{
	if (!helper[i].pid)
		return;
	kill(helper[i].pid, SIGKILL);
	helper[i].pid = 0;
	hung++;
}

static void obey(const struct ask_order *a, const struct helpers_opts *o)
{
	if (a->helper >= ASK_HELPERS)
		return;
	end_helper(a->helper); /* one that had ended by itself counts as hung until reap() */
	reap();
	if (a->order != ASK_MAKE || hung >= HUNG ||
	    (a->helper == ASK_SETTLER && o->may.checkpoint && freezer))
		return;
	helper[a->helper].pid = fork();
	if (!helper[a->helper].pid)
		work(a->helper, o);
	if (a->helper == ASK_SETTLER)
		freezer = helper[a->helper].pid;
}

/* Carries out the tracer's orders until the tracer has ended. */
static void serve(int control, const struct helpers_opts *o)
{
	struct pollfd p = { .fd = control, .events = POLLIN };
	struct ask_order a;

	for (;;) {
		int n = poll(&p, 1, freezer ? THAW_MS : -1);

		if (n > 0 && recv(control, &a, sizeof(a), 0) != sizeof(a))
			return;
		if (n > 0)
			obey(&a, o);
		thaw_left(o);
	}
}

static void __attribute__((noreturn)) keep(int control, const struct helpers_opts *o)
{
	int kept[6 + ASK_HELPERS + HELPERS_KEPT] = { 0, 1, 2, control, procfs_fd(), o->walked };
	const struct timespec pause = { .tv_nsec = THAW_MS * NSEC / 1000 };
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	/* the current directory must not keep a file system mounted after the tracer's end */
	if (chdir("/"))
		_exit(1);
	memcpy(kept + 6, ends, sizeof(ends));
	memcpy(kept + 6 + ASK_HELPERS, o->kept, sizeof(o->kept));
	close_all_but(kept, N_OF(kept));
	if (!o->report)
		leave_standard();
	prctl(PR_SET_NAME, "iot-trace-keep");
	setpriority(PRIO_PROCESS, 0, PRIORITY);
	if (!privilege_keep_helping(&o->may))
		serve(control, o);
	for (unsigned int i = 0; i < ASK_HELPERS; i++)
		end_helper(i);
	/* the killed helper may freeze a file system as long as it has not ended */
	for (thaw_left(o); o->may.checkpoint && freezer; thaw_left(o))
		nanosleep(&pause, NULL);
	_exit(0);
}

static int make_sockets(int control[2], int ours[ASK_HELPERS])
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control))
		return fail(errno, "cannot make a socket");
	for (size_t i = 0; i < ASK_HELPERS; i++) {
		const int room = 2 * ASK_ROOM;

		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
			return fail(errno, "cannot make a socket");
		ours[i] = pair[0];
		ends[i] = pair[1];
		for (int end = 0; end < 2; end++)
			setsockopt(pair[end], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	}
	return 0;
}

#define NOTES 8                 /* messages about unresponsive objects, at most */

static void note_given_up(u32 pid, const char *mount)
{
	if (ask_given_up() > NOTES)
		return;
	if (pid)
		note("process %u does not let itself be looked at (its memory is locked, or the file system of its program does not answer): "
		     "what it is stays unknown", pid);
	else if (mount)
		note("the file system at %s does not answer: nothing on it is looked at", mount);
	else
		note("a look at the files of all processes did not end: names are missing");
}

int helpers_start(const struct helpers_opts *o)
{
	int control[2], ours[ASK_HELPERS], err = make_sockets(control, ours);

	if (!err && o->may.checkpoint)
		err = checkpoint_share();
	if (err)
		return err;
	keeper_pid = fork();
	if (!keeper_pid)
		keep(control[1], o);
	if (keeper_pid < 0)
		return fail(errno, "cannot start the process that keeps helpers");
	close(control[1]);
	for (size_t i = 0; i < ASK_HELPERS; i++)
		close(ends[i]);
	ask_on_given_up = note_given_up;
	ask_begin(control[0], ours);
	return 0;
}

u32 helpers_keeper(void)
{
	return keeper_pid;
}

void helpers_end(void)
{
	const struct timespec pause = { .tv_nsec = NSEC / 1000 };

	if (keeper_pid <= 0)
		return;
	ask_end();
	for (int i = 0; i < END_MS && !waitpid(keeper_pid, NULL, WNOHANG); i++)
		nanosleep(&pause, NULL);
	keeper_pid = 0;
}
