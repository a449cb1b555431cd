// SPDX-License-Identifier: GPL-3.0-only
/* reduced_syscall.bpf.c - system calls on files, for kernels before 5.17 (reduced.bpf.h). */
#define IOT_REDUCED
#include "syscall.bpf.c"
