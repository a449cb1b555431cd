/* SPDX-License-Identifier: GPL-3.0-only */
/* kernel_uring.h - the kernel types of io_uring that are read; as kernel.h.
 */
#ifndef IOT_KERNEL_URING_H
#define IOT_KERNEL_URING_H

#include "kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct io_rw {
	struct kiocb kiocb;
	u32 len;
	int flags;
};

struct io_splice {
	long long off_out, off_in;
	u64 len;
	int splice_fd_in;
	unsigned int flags;
};

struct io_cqe {
	u64 user_data;
	s32 res;
	int fd;
};

struct io_wq_work_node {
	struct io_wq_work_node *next;
};

struct io_wq_work {
	struct io_wq_work_node list;
};

struct io_worker {
	struct io_wq_work *cur_work;
};

struct io_submit_state {
	struct io_wq_work_node free_list;
};

struct io_rsrc_node {
	unsigned long file_ptr; /* the low bits are flags */
};

struct io_rsrc_data {
	unsigned int nr;
	struct io_rsrc_node **nodes;
};

struct io_file_table {
	struct io_rsrc_data data;
};

struct io_ring_ctx {
	unsigned int flags;
	struct io_file_table file_table;
	struct io_submit_state submit_state;
	struct work_struct exit_work;
	u32 *sq_array;         /* indexes of entries, in the order of submission */
	struct io_uring_sqe *sq_sqes;
	unsigned int cached_sq_head, sq_entries;
};

/* Until 6.12 (nodes came in 6.13) registered files are an array of pointers with flags; until 6.5
 * requests that workers freed have a list of their own. */
struct io_fixed_file {
	unsigned long file_ptr;
};

struct io_file_table___array {
	struct io_fixed_file *files;
};

struct io_ring_ctx___array {
	struct io_file_table___array file_table;
	unsigned int nr_user_files;
	struct io_wq_work_node locked_free_list;
};

struct io_cmd_data {
	u8 data[56];
};

struct io_kiocb {
	struct file *file;
	struct io_cmd_data cmd;
	u8 opcode;
	unsigned int flags;    /* u64 since 6.9: the bits that are read are in the lower half */
	struct io_cqe cqe;
	struct io_ring_ctx *ctx;
	struct io_wq_work_node comp_list;
	struct io_wq_work work;
};

struct io_sr_msg {
	unsigned int msg_flags;
};

/* Requests on paths: the names are in memory of the kernel from submission to the end. Since 7.0
 * the address of a name is in a structure of its own. */
struct filename {
	const char *name;
};

struct delayed_filename {
	struct filename *__incomplete_filename;
};

struct io_open {
	int dfd;
	struct filename *filename;
};

struct io_open___delayed {
	struct delayed_filename filename;
};

struct io_statx {
	int dfd;
	struct filename *filename;
};

struct io_statx___delayed {
	struct delayed_filename filename;
};

struct io_unlink {
	int dfd;
	struct filename *filename;
};

struct io_unlink___delayed {
	struct delayed_filename filename;
};

struct io_mkdir {
	int dfd;
	struct filename *filename;
};

struct io_mkdir___delayed {
	struct delayed_filename filename;
};

struct io_rename {
	int old_dfd, new_dfd;
	struct filename *oldpath, *newpath;
};

struct io_rename___delayed {
	struct delayed_filename oldpath, newpath;
};

struct io_link {               /* of symbolic links, too */
	int old_dfd, new_dfd;
	struct filename *oldpath, *newpath;
};

struct io_link___delayed {
	struct delayed_filename oldpath, newpath;
};

struct xattr_name {
	char name[256];
};

struct xattr_ctx {             /* struct kernel_xattr_ctx since 6.13 */
	struct xattr_name *kname;
};

struct io_xattr {              /* 5.19 */
	struct xattr_ctx ctx;
	struct filename *filename;
};

struct io_xattr___delayed {
	struct delayed_filename filename;
};

#pragma clang attribute pop

#endif
