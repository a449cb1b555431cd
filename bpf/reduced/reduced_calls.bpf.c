// SPDX-License-Identifier: GPL-3.0-only
/* reduced_calls.bpf.c - legacy object (reduced.bpf.h), for kernels before 5.17: processes and their
 * system calls on files.
 */
#define IOT_REDUCED
#include "core.bpf.c"
#include "syscall.bpf.c"
