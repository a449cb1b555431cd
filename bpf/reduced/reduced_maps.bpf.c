// SPDX-License-Identifier: GPL-3.0-only
/* reduced_maps.bpf.c - legacy object (reduced.bpf.h), for kernels before 5.17: the maps that the
 * others share.
 */
#define IOT_REDUCED
#define __by_numbers static
#include "maps.bpf.c"
