/* SPDX-License-Identifier: GPL-3.0-only */
/* direct.bpf.h - the file of direct I/O: its bios point to the kiocb of their call or request,
 * whatever thread submits them.
 */
#ifndef IOT_DIRECT_BPF_H
#define IOT_DIRECT_BPF_H

#include "owner.bpf.h"

/* blkdev_dio.flags (block/fops.c): a thread waits, and its task is in the union with the kiocb */
#define DIO_IS_SYNC 2

static __always_inline bool ends_direct(u32 function)
{
	return 1ULL << (function & 63) &
	       (1ULL << FN_END_DIRECT | 1ULL << FN_END_DEVICE | 1ULL << FN_END_DEVICE_ASYNC);
}

/* The open file of a bio of direct I/O, or NULL. `end`: the function of its bi_end_io. */
static __always_inline struct file *direct_file(struct bio *b, u32 end)
{
	u64 dio = POINTER_AT(b, struct bio, bi_private), kiocb = 0;

	if (end == FN_END_DIRECT && HAS_IOMAP_DIO) {
		if (dio)
			kiocb = POINTER_AT(dio, struct iomap_dio, iocb);
	} else if (HAS_BLKDEV_DIO) {
		if (end == FN_END_DEVICE_ASYNC)
			dio = (u64)b - bpf_core_field_offset(struct blkdev_dio, bio);
		else if (end != FN_END_DEVICE || !dio ||
			 NUMBER_AT(dio, struct blkdev_dio, flags) & DIO_IS_SYNC)
			return NULL;
		kiocb = POINTER_AT(dio, struct blkdev_dio, iocb);
	}
	return kiocb ? (struct file *)POINTER_AT(kiocb, struct kiocb, ki_filp) : NULL;
}

#endif
