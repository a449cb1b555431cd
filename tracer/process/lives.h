/* SPDX-License-Identifier: GPL-3.0-only */
/* lives.h - which processes live, which ended, and who stands for the small ones that ended.
 *
 * A run may see a million processes that each do next to nothing. The first ones, and everyone who moved LIVES_BYTES or was there when
 * sums were given, have a row and sums of their own. Of the others those that are alike (storage system, instance, container, name and
 * parent) share one row: that of the first of them that ended. It has the sums of all, and says how many they are.
 */
#ifndef IOT_LIVES_H
#define IOT_LIVES_H

#include "detect.h"
#include "names.h"
#include "probe.h"

#define LIVES_TOLD 4096         /* processes that have rows of their own whatever they did */
#define LIVES_BYTES (1ull << 20) /* who moved as much is itself */

struct lives;

struct lives_opts {
	struct probes *probes;
	struct names *names;
	struct detect *detect;
	u32 told;               /* 0: LIVES_TOLD */
	bool events;            /* events name their processes: each has a row, though its sums may be another's */
	/* Takes a row of a process. */
	void (*row)(void *arg, const struct iot_proc *, const struct rec_process *);
	void *arg;
};

/* Returns 0 or a negative errno after a message. */
int lives_new(struct lives **out, const struct lives_opts *);
void lives_free(struct lives *);

/* A process that was seen, or seen again. */
void lives_seen(struct lives *, const struct iot_proc *);
/* It ended; once. */
void lives_ended(struct lives *, const struct iot_proc *);
/* More is known of it by now. */
void lives_changed(struct lives *, const struct iot_proc *);

/* Is it of those that are asked for (detect_wanted()), or was it while it lived? */
bool lives_wanted(const struct lives *, u32 id);

/* A round, beside that of cells.h: bytes that were counted for a process, false when it was never seen; */
bool lives_bytes(struct lives *, u32 owner, u64 bytes);
/* decides who of those that ended is told and who is folded; */
void lives_settle(struct lives *);
/* do its sums wait, because it lives and may still be recognised as one that is asked for; */
bool lives_waits(struct lives *, u32 owner);
/* whose row the sums of an owner are given to, which is there by then; */
u32 lives_owner(struct lives *, u32 owner);
/* is this owner over, so that its aggregates can be given back; */
bool lives_over(struct lives *, u32 owner, bool quiet);
/* and forgets those that ended some seconds ago. */
void lives_forget(struct lives *);

/* An event of it is gone that would have been given, were it wanted. */
void lives_forget_event(struct lives *, u32 owner);
/* From now on no sums wait. */
void lives_last(struct lives *);
/* How many that were, and rounds whose sums are with those of others, since this was asked last. */
u64 lives_forgotten(struct lives *, u32 owner);

#endif
