// SPDX-License-Identifier: GPL-3.0-only
/* stop.c - signals, and how long the run waits for a blocked output.
 *
 * The loop takes signals with sigtimedwait(2); they are blocked otherwise. While an output blocks,
 * the loop does not run, and base/out.c calls patience() every few milliseconds. A slow output is
 * never abandoned while the run goes on.
 */
#include <errno.h>
#include <sys/time.h>
#include <time.h>
#include "out.h"
#include "stop.h"

/* time for a blocked output when the run is to end: below a second with the rest of the work */
#define STALL_NS (NSEC * 6 / 10)
#define NEXT_STALL_NS (NSEC / 10)     /* time for the other outputs, once one was abandoned */
/* repeated, because an interruption may come just before the call that it is for, and because
 * libbpf retries five times */
#define REPEAT_US 200

static sigset_t signals;
static int asked, again;
static u64 asked_ns, due_ns;
static bool given_up;

static void hear(int signal)
{
	if (asked)
		again = signal;
	else
		asked = signal;
	if (!asked_ns)
		asked_ns = clock_now(CLOCK_MONOTONIC);
}

void stop_wait(u64 ns)
{
	struct timespec t = { .tv_sec = ns / NSEC, .tv_nsec = ns % NSEC };
	int got = sigtimedwait(&signals, NULL, &t);

	if (got > 0 && got != SIGCHLD)
		hear(got);
}

/* Time at which the run was asked to end; 0: it goes on. */
static u64 over_ns(void)
{
	if (asked)
		return asked_ns;
	return due_ns && clock_now(CLOCK_MONOTONIC) >= due_ns ? due_ns : 0;
}

static bool patience(u64 waited_ns)
{
	u64 now, over, since;

	stop_wait(0);
	over = over_ns();
	if (again || !over)
		return !again;
	now = clock_now(CLOCK_MONOTONIC);
	since = now - waited_ns > over ? now - waited_ns : over;
	if (now - since < (given_up ? NEXT_STALL_NS : STALL_NS))
		return true;
	given_up = true;
	return false;
}

void stop_signals(sigset_t *before)
{
	struct sigaction old;
	sigset_t set;

	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGCHLD);
	if (!sigaction(SIGHUP, NULL, &old) && old.sa_handler != SIG_IGN) /* as nohup(1) sets it */
		sigaddset(&signals, SIGHUP);
	set = signals;
	sigaddset(&set, SIGPIPE);
	sigaddset(&set, SIGXFSZ);
	sigprocmask(SIG_BLOCK, &set, before);
	out_patience = patience;
}

void stop_due(u64 ns)
{
	due_ns = ns;
}

int stop_asked(void)
{
	return asked;
}

int stop_again(void)
{
	return again;
}

u64 stop_asked_ns(void)
{
	return asked_ns;
}

/* --- interruptible opening and loading --- */

static volatile sig_atomic_t caught;

static void on_signal(int signal)
{
	static const struct itimerval repeat = { { 0, REPEAT_US }, { 0, REPEAT_US } };

	if (!caught)
		caught = signal;
	setitimer(ITIMER_REAL, &repeat, NULL);
}

static const int interrupting[] = { SIGINT, SIGTERM, SIGHUP, SIGALRM };

/* Signals are blocked before their handler is removed, and unblocked after it is set. */
static void handle(void (*handler)(int), bool blocked)
{
	struct sigaction action = { .sa_handler = handler }; /* without SA_RESTART */
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < N_OF(interrupting); i++)
		if (interrupting[i] == SIGALRM || sigismember(&signals, interrupting[i]))
			sigaddset(&set, interrupting[i]);
	if (blocked)
		sigprocmask(SIG_BLOCK, &set, NULL);
	for (size_t i = 0; i < N_OF(interrupting); i++)
		if (sigismember(&set, interrupting[i]))
			sigaction(interrupting[i], &action, NULL);
	if (!blocked)
		sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void stop_interrupts(u64 ns)
{
	struct itimerval once = { { 0, 0 }, { ns / NSEC, ns % NSEC / 1000 } };

	caught = 0;
	if (ns && !once.it_value.tv_sec && !once.it_value.tv_usec)
		once.it_value.tv_usec = 1;
	handle(on_signal, false);
	setitimer(ITIMER_REAL, &once, NULL);
}

bool stop_interrupted(void)
{
	return caught;
}

bool stop_uninterrupted(void)
{
	static const struct itimerval never;
	sigset_t alarm;

	handle(SIG_DFL, true);
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_IGN); /* discards a pending one */
	signal(SIGALRM, SIG_DFL);
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &alarm, NULL);
	if (caught && caught != SIGALRM)
		hear(caught);
	return caught;
}
