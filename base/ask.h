/* SPDX-License-Identifier: GPL-3.0-only */
/* ask.h - questions about other processes, files and mounts.
 *
 * Whoever looks at them may wait for as long as somebody else likes: for a page of a FUSE file system, for the lock of a process's memory
 * (mmap_lock). So processes of our own look, the helpers, and nobody waits longer than a moment for one of them. What is not answered
 * within that moment is not known; the same question asked again later has the answer when it came meanwhile.
 *
 * Where ask_begin() was not called a question is answered on the spot. Not thread-safe.
 */
#ifndef IOT_BASE_ASK_H
#define IOT_BASE_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* To add a question: a row, and ask_serve() where it is answered. */
enum ask {
	ASK_SMALL,              /* base/procfs.c */
	ASK_PROCESS,            /* systems/proc.c */
	ASK_FILES,
	ASK_PROGRAM,            /* systems/program.c */
	ASK_WAY,                /* systems/roots.c */
	ASK_FOLDER,
	ASK_BESIDE,
	ASK_NAMES,              /* names.c */
	ASK_ACCOUNT,            /* kernel_counters.c */
	ASK_OPEN_FILES,         /* open_files.c */
	ASK_SERVER,             /* fuse.c */
	ASK_BACKING,            /* devices.c */
	ASK_SETTLE,             /* settle.c */
	ASK_REMOVE,             /* errands.c */
	ASK_REPORT,
	ASK_TIDY,
	ASK_KINDS
};

#define ASK_ROOM (160u << 10)   /* bytes of one question or answer */

/* Runs in a helper: writes at most `room` bytes and returns how many, or a negative errno. A question is as hostile to it as its answer
 * is to whoever asked. */
typedef ssize_t ask_answer(void *arg, const void *question, size_t len, void *answer, size_t room);

/* Says who answers. Before helpers_start(). */
void ask_serve(enum ask, ask_answer *, void *arg);

/* The object that a question is about: who asks again about one that keeps a helper waiting is not answered. */
struct ask_about {
	uint32_t pid;           /* a process; 0: */
	const char *path;       /* the file system that our own path is on; NULL: no object in particular */
};

/* Returns the length of the answer, what the answer says went wrong, or silently -EBUSY: nobody knows now, or ever. */
ssize_t ask(enum ask, struct ask_about, const void *question, size_t len, void *answer, size_t room);

/* How long an answer may be waited for. */
enum ask_patience {
	ASK_IN_PASSING,         /* while something is recorded: all answers of a second together not longer than a part of it */
	ASK_AT_EASE,            /* half a second */
	ASK_IN_TURN,            /* as long as a helper may take: it is given up at once then */
};
void ask_patience(enum ask_patience);

/* Helpers for one kind of work each: */
enum ask_worker {
	ASK_LOOKERS = 7,        /* those with lower numbers answer ask() */
	ASK_SETTLER = ASK_LOOKERS,
	ASK_ERRANDS,            /* it stays who the tracer was, for the few things that he must be for */
	ASK_HELPERS
};

/* A question to one of those may take long: it is begun, its answer looked for (-EAGAIN: not yet; -EPIPE: there will be none), and it is
 * given up. */
int ask_job(enum ask_worker, enum ask, const void *question, size_t len);
ssize_t ask_job_answer(enum ask_worker, void *answer, size_t room);
void ask_job_end(enum ask_worker);
/* All of that, for some seconds at most. */
ssize_t ask_and_wait(enum ask_worker, enum ask, const void *question, size_t len, void *answer, size_t room);

/* Gives up helpers that wait for too long, and takes late answers. To be called every second. */
void ask_second(void);

/* How many objects kept a helper waiting so long that it was given up. */
uint64_t ask_given_up(void);
/* Is called for each of them. */
extern void (*ask_on_given_up)(uint32_t pid, const char *path);

/* --- for who makes the helpers (tracer/platform/helpers.c) --- */

/* An order, sent through `control` to whoever makes and ends helpers. */
struct ask_order {
	enum { ASK_MAKE, ASK_KILL } order;
	uint32_t helper;
};

/* From here on helper i is asked through fds[i]. */
void ask_begin(int control, const int fds[ASK_HELPERS]);
/* Answers on the spot again. */
void ask_end(void);

/* A helper's life: answers what comes through fd until its other end is closed. */
void ask_work(int fd);

#endif
