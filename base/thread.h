/* SPDX-License-Identifier: GPL-3.0-only */
/* thread.h - threads that work beside the program: signals are for the first, but those that are sent to one alone. */
#ifndef IOT_THREAD_H
#define IOT_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Starts run(arg) in a thread where every signal is blocked, but SIGALRM where it is `alarmed`. Returns 0, or an errno: there is no
 * thread. The caller joins it. */
int thread_begin(pthread_t *, void *(*run)(void *), void *arg, bool alarmed);

#endif
