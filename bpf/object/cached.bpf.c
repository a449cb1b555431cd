// SPDX-License-Identifier: GPL-3.0-only
/* cached.bpf.c - one object with the programs of the page cache that only a run has in which layer
 * cache is traced whole.
 */
#include "page_cache.bpf.c"
