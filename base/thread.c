/* SPDX-License-Identifier: GPL-3.0-only */
#include <signal.h>
#include "thread.h"

int thread_begin(pthread_t *thread, void *(*run)(void *), void *arg, bool alarmed)
{
	sigset_t blocked, before;
	int err;

	sigfillset(&blocked);
	if (alarmed)
		sigdelset(&blocked, SIGALRM);
	pthread_sigmask(SIG_SETMASK, &blocked, &before);
	err = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}
