// SPDX-License-Identifier: GPL-3.0-only
/* vfs.bpf.c - one object with the programs of the VFS: loaded only where its layer is traced whole.
 */
#include "function.bpf.c"
