/* SPDX-License-Identifier: GPL-3.0-only */
/* detect.h - storage systems of a run: the system of each process, the component of each file. The
 * rules are those of systems.h.
 */
#ifndef IOT_DETECT_H
#define IOT_DETECT_H

#include "state.h"
#include "stream.h"

struct detect;

/* Opens the rules: built-in ones, those of the machine, then `files`. Returns 0 or a negative errno
 * after a message. */
int detect_new(struct detect **out, const char *const *files, size_t n);
void detect_free(struct detect *);

/* Restricts the wanted processes to one system. Returns 0, or -ENOENT silently when no system has
 * this name or alias. */
int detect_only(struct detect *, const char *system);

/* Decides what a process is, from its record in the ring: when it is first seen, and after each
 * exec, which starts a new process record. Fills system, role, matched, instance and container of
 * *r; their strings live until the next call. */
void detect_process(struct detect *, const struct iot_proc *, struct rec_process *r);

/* Decides which component a file is. Fills component of *r, which must have a path, and learns from
 * the file about its user. */
void detect_file(struct detect *, const struct iot_path *, struct rec_file *r);

/* Next file whose component became known after its record was given; NULL: none. Call it every
 * second: files are examined again for some seconds, because a server writes before its data root
 * can be recognised. The record lives until the next call. */
const struct rec_file *detect_late(struct detect *);

/* The database that the file of the last detect_file() stands next to, if its component became
 * known by that: the events that follow are then of a known component. NULL: none. The record
 * lives until the next call of this or of detect_late(). */
const struct rec_file *detect_told(struct detect *);

/* Learns from an event, and fills in its component. A write to a file that only one system has
 * identifies the process; the thread's name can identify the component. */
void detect_event(struct detect *, struct iot_event *);

/* For sums by file, which have no events: notes that a process used a file, and learns from it. */
void detect_used(struct detect *, u32 file, u32 proc, bool write);
/* True when thread names of a process tell components at all, and for this file. */
bool detect_has_threads(struct detect *, u32 proc);
bool detect_threads_tell(struct detect *, u32 file, u32 proc);
/* Component.id of what a thread named `comm` does there; 0: the component of the file. Ask about
 * buffered I/O of a process before its direct I/O. */
u8 detect_component(struct detect *, u32 file, u32 proc, const char *comm, bool read, bool direct);

/* Forgets a process about which nothing more is asked. */
void detect_forget(struct detect *, u32 id);

/* Examines processes again that may have set their title since their fork. Call it many times a
 * second. */
void detect_again(struct detect *);

/* Next process about which more is known than its record says; NULL: none. */
const struct iot_proc *detect_changed(struct detect *);

/* False for a process that detect_only() excludes. Kernel threads and ids below PROC_FIRST are
 * always wanted. */
bool detect_wanted(const struct detect *, u32 id);
bool detect_wanted_system(const struct detect *, const char *system);

/* True for a kernel thread that was seen. */
bool detect_is_kthread(const struct detect *, u32 id);

/* Histogram group of a process: one for each of the first seven systems of a run, else 0. The name
 * of group 0 is NULL. */
u32 detect_group(const struct detect *, u32 id);
const char *detect_group_name(const struct detect *, u32 group);

#endif
