/* SPDX-License-Identifier: GPL-3.0-only */
/* kernel.h - the kernel types and fields that are read, and only those. CO-RE finds them in the running kernel,
 * so order and offsets mean nothing here. Where a field moved between kernels a second type with a ___suffix
 * ("flavour") describes the other shape, with the change that made the difference.
 */
#ifndef IOT_KERNEL_H
#define IOT_KERNEL_H

#include <linux/types.h>
#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

typedef __u64 u64;
typedef __u32 u32;
typedef __u16 u16;
typedef __u8 u8;
typedef __s64 s64;
typedef __s32 s32;
typedef __s16 s16;

#ifndef NULL
#define NULL ((void *)0)
#endif

/* Constants of the user interface, which never change. */
#define S_IFMT 0170000
#define S_IFSOCK 0140000
#define S_IFREG 0100000
#define S_IFBLK 0060000
#define S_IFDIR 0040000
#define S_IFCHR 0020000
#define S_IFIFO 0010000
#define O_APPEND 02000
#define O_DIRECT 040000
#define O_DSYNC 010000
#define __O_SYNC 04000000
#define PAGE_SHIFT 12
#define PAGE_SIZE 4096UL
#define EXT4_SUPER_MAGIC 0xEF53

/* Task flags; unchanged since 2.6. PF_USER_WORKER marks io_uring's threads since 6.4, PF_IO_WORKER since 5.3. */
#define PF_KTHREAD 0x00200000
#define PF_IO_WORKER 0x00000010
#define PF_USER_WORKER 0x00004000

/* Request operations and flags; the low byte of cmd_flags is the operation since 4.10. */
#define REQ_OP_READ 0
#define REQ_OP_WRITE 1
#define REQ_OP_FLUSH 2
#define REQ_OP_DISCARD 3
#define REQ_OP_SECURE_ERASE 5
#define REQ_OP_WRITE_ZEROES 9

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_io_accounting {
	u64 rchar, wchar;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live;
};

struct task_struct {
	unsigned int flags;
	int pid, tgid;
	struct task_struct *real_parent, *group_leader;
	u64 start_boottime;
	u64 self_exec_id;
	struct files_struct *files;
	struct signal_struct *signal;
	struct task_io_accounting ioac;
	char comm[16];
};

/* self_exec_id was u32 before 5.7 (d1e7fd6462ca): reading it as u64 is right on every kernel with our probes. */

struct super_block {
	u32 s_dev;
	unsigned char s_blocksize_bits;
	unsigned long s_magic;
	struct block_device *s_bdev;
	void *s_fs_info;
};

struct xarray {
	unsigned int xa_flags;
};

struct address_space {
	struct inode *host;
	struct xarray i_pages;
};

struct inode {
	unsigned short i_mode;
	struct super_block *i_sb;
	struct address_space *i_mapping;
	unsigned long i_ino; /* u64 since 7.2: the same on 64 bits */
	unsigned int i_nlink;
	u32 i_rdev;
	long long i_size;
	u8 i_blkbits;
	u32 i_generation;
};

struct qstr {
	u32 hash;
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	struct address_space *f_mapping;
	void *private_data;
	struct inode *f_inode;
	unsigned int f_flags;
	struct path f_path;
	long long f_pos;
};

struct gendisk {
	int major, first_minor;
	struct block_device *part0;
	void *private_data;
};

struct block_device {
	struct gendisk *bd_disk;
	u32 bd_dev;
	u64 bd_start_sect;
};

struct request_queue {
	struct gendisk *disk;
};

struct bio_vec {
	struct page *bv_page;
	unsigned int bv_len;
	unsigned int bv_offset;
};

struct bvec_iter {
	u64 bi_sector;
	unsigned int bi_size;
	unsigned int bi_idx;
	unsigned int bi_bvec_done;
} __attribute__((packed));

struct bio {
	struct bio *bi_next;
	struct block_device *bi_bdev;
	unsigned int bi_opf;
	struct bvec_iter bi_iter;
	void *bi_end_io; /* a function; only its address is compared */
	void *bi_private;
	struct bio_vec *bi_io_vec;
};

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	u64 __sector;
	struct bio *bio;
	u64 start_time_ns;  /* of this use; requests are used again and again */
	atomic_t ref;       /* 0: it has completed and waits for its next use */
};

struct page {
	unsigned long compound_head; /* bit 0: the rest is the head page */
};

/* 7.1 renamed compound_head; for power-of-two struct page it holds a mask instead of a pointer. */
struct page___info {
	unsigned long compound_info;
};

struct folio {
	struct address_space *mapping;
	unsigned long index;
	unsigned int _nr_pages; /* large folios only; 6.6 (b8a1d9f5ad) renamed _folio_nr_pages */
};

struct folio___old_nr {
	unsigned int _folio_nr_pages;
};

struct buffer_head {
	unsigned long b_state;
	struct folio *b_folio; /* 5.17 (d685c668b069) gave b_page a second name */
	u64 b_blocknr;
	unsigned long b_size;
	char *b_data;
};

/* The file below an open file of overlayfs: since 6.13 (18e48d0e2c7b) in a struct of its own, before private_data was it. */
struct ovl_file {
	struct file *realfile, *upperfile;
};

struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_flags, vm_pgoff;
	struct file *vm_file;
};

struct loop_device {
	long long lo_offset;
	struct file *lo_backing_file;
};

struct work_struct {
	void *func; /* a function; only its address is compared */
};

struct kiocb {
	long long ki_pos;
};

struct io_rw {
	struct kiocb kiocb;
	u32 len;
};

struct io_cqe {
	s32 res;
	int fd;
};

struct io_ring_ctx {
	unsigned int flags;
};

struct io_cmd_data {
	u8 data[56];
};

struct io_kiocb {
	struct file *file;
	struct io_cmd_data cmd;
	u8 opcode;
	struct io_cqe cqe;
	struct io_ring_ctx *ctx;
};

struct io_uring_cqe {
	s32 res;
	u32 flags;
};

struct linux_binprm {
	const char *filename;
};

struct in6_addr {
	u8 bytes[16]; /* called otherwise there: only where it lies is asked for */
};

struct sock_common {
	u32 skc_daddr, skc_rcv_saddr;
	u16 skc_dport, skc_num; /* the first as on the wire, the second as the host writes it */
	u16 skc_family;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
};

struct net_device {
	unsigned int flags;
};

struct dst_entry {
	struct net_device *dev;
};

struct sock {
	struct sock_common __sk_common;
	u16 sk_protocol;
	struct dst_entry *sk_dst_cache;
};

struct proto_ops {
	void *splice_read; /* a function; only whether there is one */
};

struct socket {
	struct sock *sk;
	const struct proto_ops *ops;
};

struct inet_bind_bucket {
	signed char fastreuse;
};

struct inet_connection_sock {
	struct inet_bind_bucket *icsk_bind_hash;
};

struct io_sr_msg {
	unsigned int msg_flags;
};

#pragma clang attribute pop

/* Turns an address into a typed pointer that can be followed without a helper call. Since 6.2 (a35b9af4ec2c); the tracer
 * says in cfg.cast whether it is there. */
extern void *bpf_rdonly_cast(void *address, u32 type) __ksym __weak;

/* Page flag that marks the head of a large folio: 16 until 6.10, then 6. Read by value, never by number. */
enum pageflags___iot { PG_head___iot = 6 };

/* Bits of cmd_flags move between kernels; __REQ_SWAP exists since 5.19. */
enum req_flag_bits___iot {
	__REQ_SYNC___iot = 11,
	__REQ_META___iot = 12,
	__REQ_FUA___iot = 17,
	__REQ_PREFLUSH___iot = 18,
	__REQ_RAHEAD___iot = 19,
	__REQ_SWAP___iot = 24,
};

#endif
