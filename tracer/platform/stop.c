// SPDX-License-Identifier: GPL-3.0-only
/* stop.c - signals, and how long an output that takes nothing is waited for.
 *
 * Signals are blocked and taken with sigtimedwait(2) by the loop. It does not run while an output
 * waits; then base/out.c asks here every few milliseconds. An output that is merely slow is never
 * given up while the run goes on.
 */
#include <errno.h>
#include <sys/time.h>
#include <time.h>
#include "out.h"
#include "stop.h"

#define STALL_NS (NSEC * 6 / 10)      /* so long an output may take nothing when the run is to end: below a second with what else there is to do */
#define NEXT_STALL_NS (NSEC / 10)     /* the others, once one was given up */
#define REPEAT_US 200                 /* an interruption may come just before the call that it is for; and libbpf tries five times */

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

/* When the run was to end; 0: it goes on. */
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
	if (!sigaction(SIGHUP, NULL, &old) && old.sa_handler != SIG_IGN) /* nohup */
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

/* --- while something is opened, or loaded --- */

static volatile sig_atomic_t caught;

static void on_signal(int signal)
{
	static const struct itimerval repeat = { { 0, REPEAT_US }, { 0, REPEAT_US } };

	if (!caught)
		caught = signal;
	setitimer(ITIMER_REAL, &repeat, NULL);
}

static const int interrupting[] = { SIGINT, SIGTERM, SIGHUP, SIGALRM };

/* Blocked before they lose their handler, unblocked after they got it. */
static void handle(void (*handler)(int), bool blocked)
{
	struct sigaction action = { .sa_handler = handler }; /* calls are not begun again */
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
	signal(SIGALRM, SIG_IGN); /* takes away one that waits */
	signal(SIGALRM, SIG_DFL);
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &alarm, NULL);
	if (caught && caught != SIGALRM)
		hear(caught);
	return caught;
}
