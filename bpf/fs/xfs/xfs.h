/* SPDX-License-Identifier: GPL-3.0-only */
/* xfs.h - the types of XFS and iomap that are read, and the numbers of the log's format. Used by
 * fs_xfs.bpf.c.
 */
#ifndef IOT_XFS_H
#define IOT_XFS_H

#include <linux/aio_abi.h>
#include "kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct xlog_ticket {
	u32 t_tid;
};

struct xfs_cil;

struct xfs_cil_ctx {
	struct xfs_cil *cil;
	s64 sequence;
	struct xlog_ticket *ticket;
	struct list_head iclog_entry;
	struct work_struct push_work;
};

struct xlog;

struct xfs_cil {
	struct xlog *xc_log;
	struct xfs_cil_ctx *xc_ctx;
};

struct xfs_mount {
	struct super_block *m_super;
	struct xlog *m_log;
};

struct xlog {
	struct xfs_mount *l_mp;
	struct xfs_cil *l_cilp;
	int l_iclog_hsize;
	u32 l_iclog_roundoff;
};

struct xlog_in_core {
	struct xlog *ic_log;
	u32 ic_offset;
	void *ic_datap;
	struct list_head ic_callbacks;
};

struct xfs_trans {
	struct xfs_mount *t_mountp;
	struct list_head t_items;
};

struct xfs_log_vec {
	int lv_bytes;
};

struct xfs_log_item {
	struct list_head li_trans;
	u32 li_type;
	unsigned long li_flags;
	struct list_head li_bio_list;
	struct xfs_log_vec *li_lv;
	s64 li_seq;
};

struct xfs_buf_log_format {
	unsigned short blf_flags;
};

struct xfs_buf_log_item {
	struct xfs_log_item bli_item;
	struct xfs_buf_log_format __bli_format;
};

struct xfs_buf {
	u32 b_flags;
	int b_length;          /* sectors */
	struct xfs_mount *b_mount;
	struct xfs_buf_log_item *b_log_item;
	struct list_head b_li_list;
};

struct xfs_inode {
	struct inode i_vnode;
	struct work_struct i_ioend_work;
};

/* A field that the type in kernel.h lacks. */
struct kiocb___flags {
	int ki_flags;
};

struct aio_kiocb { /* begins with a struct kiocb */
	struct io_event ki_res;
};

struct iomap {
	u64 length;
	u16 type;
};

struct iomap_iter {
	struct inode *inode;
	long long pos, iter_start_pos; /* the second since 6.15 */
	u64 len;
	u32 flags;
	struct iomap iomap, srcmap;
};

struct iomap_iter___processed {
	s64 processed;
};

/* Exists on kernels with this tracepoint; only its name is checked. */
typedef void (*btf_trace_iomap_zero_iter)(void *, struct inode *, long long, unsigned long long);

struct xfs_inode_log_item {
	struct xfs_log_item ili_item;
	struct xfs_inode *ili_inode;
	u32 ili_last_fields;
};

#pragma clang attribute pop

/* Constants of the on-disk format, which does not change. */
#define OP_START 1
#define OP_COMMIT 2
#define OP_CONTINUED 4         /* its region continues in the next record */
#define OP_CONTINUES 8
#define OP_UNMOUNT 32
#define TRANSACTION_MAGIC 0x5452414e
#define ITEM_IUNLINK 0x1238
#define ITEM_EFI 0x1236
#define ITEM_EFD 0x1237
#define ITEM_INODE 0x123b
#define ITEM_BUFFER 0x123c
#define ITEM_DQUOT 0x123d
#define ITEM_QUOTAOFF 0x123e
#define ITEM_ICREATE 0x123f
#define ITEM_LAST 0x124f       /* all from RUI, 0x1240, on are intents */
#define BUFFER_TYPE_SHIFT 11   /* of blf_flags */

/* Constants that are not of the on-disk format, unchanged since 4.18 (li_flags) and 2.6
 * (b_flags). */
#define ITEM_DIRTY 3           /* bit of li_flags */
#define BUFFER_WRITE 2         /* in b_flags */

#define MAX_ITEMS 1024         /* items of one transaction that are walked */
#define MAX_ATTACHED 128       /* items attached to one buffer: inodes of a cluster */

#endif
