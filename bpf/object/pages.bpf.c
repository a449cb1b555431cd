// SPDX-License-Identifier: GPL-3.0-only
/* pages.bpf.c - one object with the programs of the page cache and of block devices, as
 * calls.bpf.c.
 */
#include "cache.bpf.c"
#include "file_owner.bpf.c"
#include "block.bpf.c"
