/* SPDX-License-Identifier: GPL-3.0-only */
/* names.h - names of processes and files: records of the ring and /proc, made into records of the
 * run.
 */
#ifndef IOT_NAMES_H
#define IOT_NAMES_H

#include "detect.h"
#include "probe.h"
#include "stream.h"

struct names;

/* Registers the helper's answers about processes (ask.h). */
void names_serve(void);

/* The detection, which remains the caller's, fills its part of the records. Returns 0 or a negative
 * errno after a message. */
int names_new(struct names **out, struct detect *);
void names_free(struct names *);

/* Makes the record of a process that was first seen or that ended (then with its accounting); NULL:
 * nothing new. Fields that /proc no longer shows, or shows of another program, are absent. The
 * record and its strings live until the next call. */
const struct rec_process *names_process(struct names *, const struct iot_proc *);

/* Makes the record again, with what the detection knows by now; NULL: the process ended, or its
 * names were not kept. */
const struct rec_process *names_again(struct names *, const struct iot_proc *);

/* Next process whose names could not be read at first and can be by now; NULL: none. Call it every
 * second. */
const struct iot_proc *names_retry(struct names *);

/* True when names_again() has a record. */
bool names_kept(const struct names *, u32 id);
/* Forgets a process about which nothing more is asked. */
void names_forget(struct names *, u32 id);

/* Makes the record of a file. It lives until the next call. mount: mount point of its file system;
 * NULL: not known. */
const struct rec_file *names_file(struct names *, const struct iot_path *, const char *mount);

/* Joins the components of a path into `out`, which has room for 2 * sizeof(p->buf) bytes. Returns
 * false when they do not reach the root. */
bool names_join(const struct iot_path *, char *out);

/* Makes it with a path that was found otherwise, which remains the caller's. */
const struct rec_file *names_file_at(struct names *, const struct iot_path *, const char *path);

#endif
