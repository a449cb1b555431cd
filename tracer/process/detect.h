/* SPDX-License-Identifier: GPL-3.0-only */
/* detect.h - the storage systems of a run: whose process, which component of a file. The rules are systems.h's. */
#ifndef IOT_DETECT_H
#define IOT_DETECT_H

#include "state.h"
#include "stream.h"

struct detect;

/* Opens the rules: built in, those of the machine, then `files`. Returns 0 or a negative errno after a message. */
int detect_new(struct detect **out, const char *const *files, size_t n);
void detect_free(struct detect *);

/* Only the processes of this system are wanted. Returns 0, or -ENOENT silently when no system has this name or alias. */
int detect_only(struct detect *, const char *system);

/* Decides what a process is, by its record from the ring: at its first sight, and after each exec, which makes another
 * process. Fills system, role, matched, instance and container of *r; their strings live until the next call. */
void detect_process(struct detect *, const struct iot_proc *, struct rec_process *r);

/* Which component a file is; fills component of *r, whose path must be there, and learns from who uses it. */
void detect_file(struct detect *, const struct iot_path *, struct rec_file *r);

/* The next file of which the component is known since its record was given; NULL when there is none. To be called every
 * second: files are looked at again for some seconds, because a server writes before its data root can be told. The record
 * lives until the next call. */
const struct rec_file *detect_late(struct detect *);

/* A write to a file that only one system has tells who its process is; the thread tells the component, which is filled in. */
void detect_event(struct detect *, struct iot_event *);

/* The same of sums by file, which know no events. That a file was used, and what tells of its user: */
void detect_used(struct detect *, u32 file, u32 proc, bool write);
/* Do the threads of a process tell anything at all, and of this file? */
bool detect_has_threads(struct detect *, u32 proc);
bool detect_threads_tell(struct detect *, u32 file, u32 proc);
/* What a thread named `comm` does there: component.id; 0: it is what the file is. Buffered I/O of a process must be asked for before its
 * direct I/O. */
u8 detect_component(struct detect *, u32 file, u32 proc, const char *comm, bool read, bool direct);

/* Nothing more is asked of a process. */
void detect_forget(struct detect *, u32 id);

/* Looks again at processes that may have set their title since they were forked. To be called many times a second. */
void detect_again(struct detect *);

/* The next process of which something else is known since its record was given; NULL when there is none. */
const struct iot_proc *detect_changed(struct detect *);

/* False for a process that detect_only() excludes. Kernel threads and ids below PROC_FIRST are always wanted. */
bool detect_wanted(const struct detect *, u32 id);
bool detect_wanted_system(const struct detect *, const char *system);

/* True for a thread of the kernel that was seen. */
bool detect_is_kthread(const struct detect *, u32 id);

/* Histogram group of a process: one for each of the first seven systems of a run, else 0. Name of a group; NULL for 0. */
u32 detect_group(const struct detect *, u32 id);
const char *detect_group_name(const struct detect *, u32 group);

#endif
