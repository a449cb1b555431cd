/* SPDX-License-Identifier: GPL-3.0-only */
/* detect.h - the rules of systems.h applied to the processes and files of a run. */
#ifndef IOT_DETECT_H
#define IOT_DETECT_H

#include "probe.h"
#include "stream.h"

struct detect;

/* Reads the rules. Returns 0 or a negative errno after a message. */
int detect_new(struct detect **out);
void detect_free(struct detect *);

/* Fills system, role and reason of a process that was seen for the first time, from what /proc says now and what its parent
 * is. The strings live until detect_forget(). */
void detect_process(struct detect *, const struct iot_proc *, struct rec_process *);

/* Fills them again as they were found. */
void detect_again(const struct detect *, struct rec_process *);

/* The process ended. */
void detect_forget(struct detect *, u32 id);

/* Fills the component of a file whose path is known. */
void detect_file(struct detect *, struct rec_file *);

/* The histogram group of a system, 0 for none and when there are no more groups; and back: NULL for group 0. */
u32 detect_group(struct detect *, const char *system);
const char *detect_group_name(const struct detect *, u32 group);

#endif
