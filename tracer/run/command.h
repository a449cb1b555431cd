/* SPDX-License-Identifier: GPL-3.0-only */
/* command.h - the traced command: found before anything else happens, started behind a gate, waited
 * for.
 */
#ifndef IOT_COMMAND_H
#define IOT_COMMAND_H

#include <signal.h>
#include <sys/types.h>
#include "tracer.h"

struct command {
	pid_t pid;              /* 0: none, or ended */
	int gate;               /* writing end of the pipe that it waits on; -1: none */
	int status;             /* exit status, 128 + signal when it was killed; -1: not known */
};

/* Sets a umask under which iot-trace can use its own files, and raises the limit of open files,
 * whatever it was started with. The command gets the original values back. */
void command_given(void);

/* Checks that `name` can be executed. Returns 0, or STATUS_NOT_FOUND or STATUS_NOT_RUN after a
 * message. */
int command_check(const char *name);

/* Forks; the child waits for command_go(). `mask`: the signal mask that it gets. to_stderr: its
 * standard output becomes standard error, because iot-trace writes data to its own. Returns 0 or a
 * negative errno after a message. */
int command_start(struct command *c, char **argv, const sigset_t *mask, bool to_stderr);

/* Releases it. Returns 0, or STATUS_NOT_FOUND or STATUS_NOT_RUN after a message when it could not
 * be executed. */
int command_go(struct command *c, const char *name);

/* True when it has ended; fills c->status then. Never blocks. */
bool command_ended(struct command *c);

/* Ends a command that was not released. */
void command_cancel(struct command *c);

#endif
