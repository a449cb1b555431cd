// SPDX-License-Identifier: GPL-3.0-only
/* maps.bpf.c - the tables that several objects share, and no program: made first, so that the objects can be loaded side by side. */
#include <linux/types.h>

/* What the headers define for other objects is left out: looking up the kernel's types for it would cost as much as for them. */
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
