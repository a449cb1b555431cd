// SPDX-License-Identifier: GPL-3.0-only
/* calls.bpf.c - one object with the programs of calls and processes: libbpf reads the kernel's
 * types once for each object.
 */
#include "core.bpf.c"
#include "net.bpf.c"
#include "syscall.bpf.c"
#include "uring.bpf.c"
