/* SPDX-License-Identifier: GPL-3.0-only */
/* thread.h - threads that leave all signals to the first thread, except those sent to one
 * thread. */
#ifndef IOT_THREAD_H
#define IOT_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Starts run(arg) in a thread that blocks all signals, except SIGALRM if `alarmed`. Returns 0, or
 * an errno when there is no thread. The caller joins it. */
int thread_begin(pthread_t *, void *(*run)(void *), void *arg, bool alarmed);

#endif
