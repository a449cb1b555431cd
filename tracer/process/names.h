/* SPDX-License-Identifier: GPL-3.0-only */
/* names.h - who a process is and what a file is called: ring records and /proc made into records. */
#ifndef IOT_NAMES_H
#define IOT_NAMES_H

#include "detect.h"
#include "probe.h"
#include "stream.h"

struct names;

/* Says who answers what is asked about processes (ask.h). */
void names_serve(void);

/* The detection fills what it knows into the records; it stays the caller's. Returns 0 or a negative errno after a message. */
int names_new(struct names **out, struct detect *);
void names_free(struct names *);

/* Makes the record of a process that was seen for the first time, or that ended (then with its accounting), or NULL when
 * there is nothing new to say. What /proc no longer shows, or shows of another program, is absent. The record and its
 * strings live until the next call. */
const struct rec_process *names_process(struct names *, const struct iot_proc *);

/* The same record again, with what the detection knows by now; NULL when the process ended, or its names were not kept. */
const struct rec_process *names_again(struct names *, const struct iot_proc *);

/* The next process of which the names could not be had at first and can by now; NULL when there is none. To be called every second. */
const struct iot_proc *names_retry(struct names *);

/* Can that be had? */
bool names_kept(const struct names *, u32 id);
/* Nothing more is asked of a process. */
void names_forget(struct names *, u32 id);

/* Makes the record of a file; likewise. mount: where its file system is mounted, NULL not known. */
const struct rec_file *names_file(struct names *, const struct iot_path *, const char *mount);

/* The same for a path that was found otherwise, which stays the caller's. */
const struct rec_file *names_file_at(struct names *, const struct iot_path *, const char *path);

#endif
