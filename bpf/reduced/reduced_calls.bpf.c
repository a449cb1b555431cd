// SPDX-License-Identifier: GPL-3.0-only
/* reduced_calls.bpf.c - processes and their system calls on files, for kernels before 5.17
 * (reduced.bpf.h).
 */
#define IOT_REDUCED
#include "core.bpf.c"
#include "syscall.bpf.c"
