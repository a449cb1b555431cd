/* SPDX-License-Identifier: GPL-3.0-only */
/* command.h - the command that is traced: found before anything else happens, started behind a gate, waited for. */
#ifndef IOT_COMMAND_H
#define IOT_COMMAND_H

#include <signal.h>
#include <sys/types.h>
#include "tracer.h"

struct command {
	pid_t pid;              /* 0: none, or over */
	int gate;               /* writing end of the pipe that it waits on; -1 none */
	int status;             /* exit status, 128 + signal when it was killed; -1 not known */
};

/* What is made from here on is read and entered by us again, and there are as many descriptors as we need, whatever umask and limit we
 * were given; the command gets those back. */
void command_given(void);

/* Can `name` be run? 0, STATUS_NOT_FOUND or STATUS_NOT_RUN after a message. */
int command_check(const char *name);

/* Forks; the child waits until command_go(). `mask`: the signal mask that it gets back. to_stderr: its standard
 * output becomes standard error, because data goes to ours. Returns 0 or a negative errno after a message. */
int command_start(struct command *c, char **argv, const sigset_t *mask, bool to_stderr);

/* Lets it run. Returns 0, or STATUS_NOT_FOUND or STATUS_NOT_RUN after a message when it could not be started. */
int command_go(struct command *c, const char *name);

/* Has it ended? Fills c->status then. Never blocks. */
bool command_ended(struct command *c);

/* Ends a command that was never let go. */
void command_cancel(struct command *c);

#endif
