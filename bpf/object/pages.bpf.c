// SPDX-License-Identifier: GPL-3.0-only
/* pages.bpf.c - what becomes of it in the page cache and on disks, in one object, as calls.bpf.c says. */
#include "cache.bpf.c"
#include "block.bpf.c"
