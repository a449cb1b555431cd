// SPDX-License-Identifier: GPL-3.0-only
/* calls.bpf.c - what processes do, in one object: libbpf reads the kernel's types once for each. */
#include "core.bpf.c"
#include "net.bpf.c"
#include "syscall.bpf.c"
#include "uring.bpf.c"
