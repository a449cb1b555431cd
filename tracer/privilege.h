/* SPDX-License-Identifier: GPL-3.0-only */
/* privilege.h - what the tracer needs from the kernel before it starts, and what it keeps afterwards. */
#ifndef IOT_PRIVILEGE_H
#define IOT_PRIVILEGE_H

#include "tracer.h"

/* Are the capabilities and the kernel's types there? 0, or a negative errno after a message that names what is missing. */
int privilege_check(void);

/* Gives up every capability but those that reading the run needs, for good. The calling process only. */
int privilege_drop(void);

#endif
