// SPDX-License-Identifier: GPL-3.0-only
/* maps.bpf.c - the maps that several objects share, and no program: created first, so that the
 * objects can be loaded in parallel.
 */
#include <linux/types.h>

/* Functions of the headers are left out: looking up the kernel's types for them would cost as much
 * as for an object that uses them. */
#define __noinline __attribute__((noinline)) inline
#pragma clang diagnostic ignored "-Wstatic-in-inline"
#include "aio_times.bpf.h"
#include "bio_owner.bpf.h"
#include "btrfs_shared.bpf.h"
#include "device.bpf.h"
#include "filesum.bpf.h"
#include "journal.bpf.h"
#include "net.bpf.h"
#include "io_parts.bpf.h"
#include "journal_credit.bpf.h"
#include "thread.bpf.h"
#include "readahead.bpf.h"
#include "stacking_stripe.bpf.h"
#include "program_copies.bpf.h"
#include "uring_op.bpf.h"
