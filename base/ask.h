/* SPDX-License-Identifier: GPL-3.0-only */
/* ask.h - questions about other processes, files and mounts.
 *
 * Looking at them may block for as long as somebody else likes: on a page of a FUSE file system, or
 * on a process's mmap_lock. So this is done in processes of our own, the helpers, and the program
 * waits for each answer only for a short time. An answer that does not come in time is unknown;
 * when the same question is asked again, an answer that has come since is returned.
 *
 * Before ask_begin() questions are answered in the program itself. Not thread-safe.
 */
#ifndef IOT_BASE_ASK_H
#define IOT_BASE_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* To add a question: a row, and a call of ask_serve() in the file that answers it. */
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
	ASK_SAMPLE,             /* samples.c */
	ASK_WALK,               /* snapshot_again.c */
	ASK_KINDS
};

#define ASK_ROOM (160u << 10)   /* bytes of one question or answer */

/* Answers a question, in a helper: writes at most `room` bytes and returns how many, or a negative
 * errno. Question and answer may be hostile to the process that reads them. */
typedef ssize_t ask_answer(void *arg, const void *question, size_t len, void *answer, size_t room);

/* Sets the function that answers. Before helpers_start(). */
void ask_serve(enum ask, ask_answer *, void *arg);

/* The object of a question. Further questions about an object that keeps a helper waiting are not
 * answered. */
struct ask_about {
	uint32_t pid;           /* a process; 0: none, see path */
	const char *path;       /* the file system of a path; NULL: no particular object */
};

/* Returns the length of the answer, the errno that the answer gives, or silently -EBUSY: not known
 * now, or ever. */
ssize_t ask(enum ask, struct ask_about, const void *question, size_t len, void *answer,
	    size_t room);

/* Limits for the time to wait for an answer. */
enum ask_patience {
	ASK_IN_PASSING,         /* while recording: a part of each second for all its answers */
	ASK_AT_EASE,            /* half a second */
	ASK_IN_TURN,            /* as long as a helper may take; then it is killed at once */
};
void ask_patience(enum ask_patience);

/* Helpers for one kind of work each. */
enum ask_worker {
	ASK_LOOKERS = 7,        /* those with lower numbers answer ask() */
	ASK_SETTLER = ASK_LOOKERS,
	ASK_WALKER,             /* walks folders (--snapshot-every) */
	ASK_ERRANDS,            /* keeps the tracer's privileges, for the few tasks that need them */
	ASK_HELPERS
};

/* A question to such a helper may take long: begin it, look for its answer (-EAGAIN: not yet;
 * -EPIPE: there will be none), and end it, which kills the helper if it has not answered. */
int ask_job(enum ask_worker, enum ask, const void *question, size_t len);
ssize_t ask_job_answer(enum ask_worker, void *answer, size_t room);
void ask_job_end(enum ask_worker);
/* Does all three, and waits for a few seconds at most. */
ssize_t ask_and_wait(enum ask_worker, enum ask, const void *question, size_t len, void *answer,
		     size_t room);

/* Kills helpers that wait for too long, and receives late answers. To be called every second. */
void ask_second(void);

/* Returns how many objects kept a helper waiting until it was killed. */
uint64_t ask_given_up(void);
/* Called for each such object. */
extern void (*ask_on_given_up)(uint32_t pid, const char *path);

/* --- for the process that makes the helpers (tracer/platform/helpers.c) --- */

/* An order, sent through `control` to that process. */
struct ask_order {
	enum { ASK_MAKE, ASK_KILL } order;
	uint32_t helper;
};

/* Makes helper i answer through fds[i] from now on. */
void ask_begin(int control, const int fds[ASK_HELPERS]);
/* Makes questions be answered in the program itself again. */
void ask_end(void);

/* Runs a helper: answers what comes through fd until its other end is closed. */
void ask_work(int fd);

#endif
