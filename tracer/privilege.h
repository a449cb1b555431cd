/* SPDX-License-Identifier: GPL-3.0-only */
/* privilege.h - what the tracer keeps once everything is attached. */
#ifndef IOT_PRIVILEGE_H
#define IOT_PRIVILEGE_H

#include <stdbool.h>
#include "sandbox.h"

/* Gives up every capability but those that the rest of the run needs, and every system call (sandbox.h), for good. Children that
 * were made before keep theirs. */
int privilege_drop(const struct sandbox_opts *);

/* What the keeper of helpers has left (helpers.h): what they need, and to make and end them. checkpoint: one may freeze file systems.
 * Each returns 0 or a negative errno after a message. */
int privilege_keep_helping(bool checkpoint);
/* What a helper has left: to look, for good. A helper of root's is another user than root, whom no other process belongs to. checkpoint:
 * it may freeze file systems. */
int privilege_keep_looking(bool checkpoint);

/* The same for a process that loads programs later: it keeps what that takes and nothing else, for good. modules: also programs that
 * need a module's types. */
int privilege_keep_loading(bool modules);

#endif
