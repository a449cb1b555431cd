// SPDX-License-Identifier: GPL-3.0-only
/* reduced_maps.bpf.c - the maps that several objects share, for kernels before 5.17
 * (reduced.bpf.h).
 */
#define IOT_REDUCED
#define __by_numbers static
#include "maps.bpf.c"
