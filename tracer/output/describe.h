/* SPDX-License-Identifier: GPL-3.0-only */
/* describe.h - records that describe a run as a whole: its head, its probes, its losses, its end.
 */
#ifndef IOT_DESCRIBE_H
#define IOT_DESCRIBE_H

#include "options.h"
#include "probe.h"
#include "stream.h"

/* Facts about the finished run, for the end record. */
struct run_end {
	u64 dur_ns, events;
	int status;             /* of the command; -1: not known */
	const char *horizon;
	u64 settle_ns;          /* 0: nothing was synced */
};

/* Each writes its records. Returns 0 or a negative errno after a message. */
int describe_run(struct sink *, const struct options *, const struct probes *, u64 start_ns,
	u64 attach_ns);
int describe_probes(struct sink *, const struct probes *, const struct options *);
/* Writes the name of a number; nothing where the kernel has none. */
int describe_op(struct sink *, const struct probes *, enum probe_ops, u32 op);
/* Writes the names of all opcodes where layer uring is traced whole, and of all reasons of drops
 * where layer net is. */
int describe_ops(struct sink *, const struct probes *, const struct options *);
/* Writes a probe record late__NAME for a file system that was mounted during the run. `denied`: the
 * first of its programs that the kernel refused. */
int describe_late(struct sink *, const struct probe_info *denied);
int describe_losses(struct sink *, struct probes *);
int describe_end(struct sink *, struct probes *, const struct run_end *);

/* Prints the probes for people, on standard output. */
void print_probes(const struct probes *, const struct options *, u64 attach_ns);

/* Says that events were lost because the ring was full, and which --ring had held them. Returns
 * false when there were none, or standard error takes nothing now: the ring fills up meanwhile.
 * n: as probes_losses() fills it in; progress: a line of progress is on the terminal. */
bool note_first_loss(struct probes *, const u64 n[LOSS_MAX], bool progress);

/* Prints one line on stderr about losses that leave gaps in the recording; nothing when there are
 * none. */
void note_losses(struct probes *);

#endif
