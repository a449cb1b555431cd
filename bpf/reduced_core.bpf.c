// SPDX-License-Identifier: GPL-3.0-only
/* reduced_core.bpf.c - the life of processes, for kernels before 5.17 (reduced.bpf.h). */
#define IOT_REDUCED
#include "core.bpf.c"
