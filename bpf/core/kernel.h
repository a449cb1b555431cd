/* SPDX-License-Identifier: GPL-3.0-only */
/* kernel.h - the kernel types and fields that are read, and only those. CO-RE finds their offsets
 * in the running kernel, so order and offsets have no meaning here. Where a field moved between
 * kernels a second type with a ___suffix ("flavour") describes the other shape, with the commit
 * that made the difference.
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
#ifdef __TARGET_ARCH_arm64
#define O_DIRECT 0200000       /* 040000 is O_DIRECTORY on arm64 */
#else
#define O_DIRECT 040000
#endif
#define O_DSYNC 010000
#define __O_SYNC 04000000
#define PAGE_SHIFT 12
#define PAGE_SIZE 4096UL
#define EXT4_SUPER_MAGIC 0xEF53
#define XFS_SUPER_MAGIC 0x58465342
#define BTRFS_MAGIC 0x9123683EUL
#define PROC_SUPER_MAGIC 0x9fa0UL
#define TMPFS_MAGIC 0x01021994UL
#define BTRFS_TREES_INODE 1    /* number of the inode that holds the blocks of all trees */

/* Task flags; unchanged since 2.6. PF_USER_WORKER marks io_uring's threads since 6.4, PF_IO_WORKER
 * since 5.3. */
#define PF_KTHREAD 0x00200000
#define PF_WQ_WORKER 0x00000020
#define PF_EXITING 0x00000004
#define PF_IO_WORKER 0x00000010
#define PF_USER_WORKER 0x00004000
#define PF_DUMPCORE 0x00000200
#define PF_MEMALLOC 0x00000800

/* Request operations and flags; the low byte of cmd_flags is the operation since 4.10. */
#define REQ_OP_READ 0
#define REQ_OP_WRITE 1
#define REQ_OP_FLUSH 2
#define REQ_OP_DISCARD 3
#define REQ_OP_SECURE_ERASE 5
#define REQ_OP_WRITE_ZEROES 9

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_io_accounting {
	u64 rchar, wchar, syscw;
};

struct timespec64 {
	s64 tv_sec; /* first */
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

struct list_head {
	struct list_head *next;
};

struct xarray___head {
	void *xa_head;
};

struct idr {
	struct xarray___head idr_rt;
};

struct pid_namespace {
	struct idr idr;        /* struct pid by number, from 0 */
};

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

/* One number of a process, which has one in each namespace from the initial one down to its own. */
struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct hlist_head tasks[1]; /* by enum pid_type: first PIDTYPE_PID */
	struct upid numbers[1]; /* by level: level + 1 of them */
};

struct ns_common {
	u64 ns_id; /* 6.18 */
};
struct mnt_namespace {
	struct ns_common ns;
};
struct mnt_namespace___until_617 {
	u64 seq;
};

struct nsproxy {
	struct mnt_namespace *mnt_ns;
};

/* libaio: from a process to its rings of events. */
struct kioctx {
	unsigned long user_id;
	atomic_t dead;
	unsigned int nr_events, tail;
};

struct kioctx_table {
	unsigned int nr;
	struct kioctx *table[];
};

/* The maple tree of a process's memory areas (6.1). */
struct maple_metadata {
	unsigned char end;     /* index of the last branch */
};

struct maple_range_64 {
	unsigned long pivot[15]; /* last address below each branch */
	void *slot[16];
	struct maple_metadata meta; /* in the last slot, where that is free */
};

struct maple_arange_64 {
	unsigned long pivot[9];
	void *slot[10];
	struct maple_metadata meta;
};

struct maple_tree {
	void *ma_root;
};

struct mm_struct {
	struct file *exe_file;
	struct kioctx_table *ioctx_table;
	struct maple_tree mm_mt;
};

struct task_struct {
	unsigned int flags;
	int exit_state;        /* 0 until it is a zombie, or gone */
	int pid, tgid;
	struct task_struct *real_parent, *group_leader;
	struct pid *thread_pid;
	struct hlist_node pid_links[1]; /* as pid.tasks */
	struct nsproxy *nsproxy;
	struct fs_struct *fs;
	struct mm_struct *mm;
	u64 start_boottime;
	u64 self_exec_id;
	struct files_struct *files;
	struct signal_struct *signal;
	struct css_set *cgroups;
	struct list_head thread_node;
	struct task_io_accounting ioac;
	/* of an io-wq worker: its struct io_worker; of a kernel thread: its struct kthread
	 * (5.17) */
	void *worker_private;
	char comm[16];
};

/* self_exec_id was u32 before 5.7 (d1e7fd6462ca): reading it as u64 is right on every kernel with
 * our programs. */

struct super_block {
	u32 s_dev;
	unsigned char s_blocksize_bits;
	unsigned long s_magic;
	struct block_device *s_bdev;
	struct dentry *s_root; /* NULL from when it is being unmounted */
	void *s_fs_info;
};

struct rb_node;

struct rb_root {
	struct rb_node *rb_node;
};

struct rb_root_cached {
	struct rb_root rb_root;
};

struct xarray {
	unsigned int xa_flags;
};

struct xa_node {
	unsigned char shift;
	void *slots[64];
};

struct address_space {
	struct inode *host;
	struct rb_root_cached i_mmap;
	struct xarray i_pages;
	atomic_t i_mmap_writable;
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
	struct super_block *d_sb;
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

struct fs_struct {
	struct path root, pwd;
};

struct file {
	struct address_space *f_mapping;
	void *private_data;
	struct inode *f_inode;
	unsigned int f_flags;
	struct path f_path;
	long long f_pos;
};

struct block_device_operations {
	void *submit_bio; /* a function; only compared with NULL */
};

struct gendisk {
	int major, first_minor;
	const struct block_device_operations *fops;
	struct block_device *part0;
	void *private_data;
};

struct block_device {
	struct gendisk *bd_disk;
	u32 bd_dev;
	u64 bd_start_sect;
	void *bd_holder; /* the exclusive holder: dm, md, a file system; only compared */
};

struct bdev_inode { /* begins with its block_device */
	struct inode vfs_inode;
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
	unsigned short bi_vcnt;
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
	struct block_device *part; /* the block device whose counters it moves; NULL: none */
	u64 start_time_ns;  /* of this use: requests are reused */
	atomic_t ref;       /* 0: completed, and free for its next use */
};

struct page {
	/* bit 0 set: the other bits are the address of the head page */
	unsigned long compound_head;
};

/* 7.1 renamed compound_head; for power-of-two struct page it holds a mask instead of a pointer. */
struct page___info {
	unsigned long compound_info;
};

struct folio {
	struct address_space *mapping;
	unsigned long index;
	unsigned int _nr_pages; /* large folios only; 6.6 (b8a1d9f5ad) renamed _folio_nr_pages */
	atomic_t _refcount;     /* 0 while it is reclaimed */
};

struct folio___old_nr {
	unsigned int _folio_nr_pages;
};

struct folio___private {
	void *private;
};

/* State of a folio with several blocks on XFS: a bit for each block that is up to date, then one
 * for each that is dirty. Since 6.6: before, a folio is dirty as a whole. */
struct iomap_folio_state {
	unsigned long state[1];
};

#define BH_DIRTY 2             /* in buffer_head.b_state */

struct buffer_head {
	unsigned long b_state;
	struct buffer_head *b_this_page; /* the next one of its folio, in a ring */
	struct folio *b_folio;
	u64 b_blocknr;
	unsigned long b_size;
	char *b_data;
};

/* 6.2 (d685c668b069) put b_page into a union with b_folio. */
struct buffer_head___page {
	struct page *b_page;
};

/* The file below an open file of overlayfs: in a struct of its own since 6.13 (18e48d0e2c7b);
 * before, private_data was that file. */
struct ovl_file {
	struct file *realfile, *upperfile;
};

struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_flags, vm_pgoff;
	struct mm_struct *vm_mm;
	struct file *vm_file;
};

struct work_struct {
	void *func; /* a function; only its address is compared */
};

struct loop_device {
	long long lo_offset;
	struct file *lo_backing_file;
	struct work_struct rootcg_work;
};

struct loop_worker {
	struct work_struct work;
	struct loop_device *lo;
};

struct kiocb {
	struct file *ki_filp;
	long long ki_pos;
	void *ki_complete; /* a function; NULL: the caller waits */
	int ki_flags;
};

struct iov_iter {
	unsigned long count;
};

/* Direct I/O in flight: of file systems, and of block devices. */
struct iomap_dio {
	struct kiocb *iocb;
};

struct blkdev_dio {
	struct kiocb *iocb;    /* in a union with the task that waits, where DIO_IS_SYNC is set */
	unsigned int flags;
	struct bio bio;
};

struct linux_binprm {
	const char *filename;
};

struct in6_addr {
	u8 bytes[16]; /* another member in the kernel: only the offset is used */
};

struct sock_common {
	u32 skc_daddr, skc_rcv_saddr;
	u16 skc_dport, skc_num; /* the first in network byte order, the second in host byte order */
	u16 skc_family;
	volatile unsigned char skc_state;
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
	int sk_err;
	struct dst_entry *sk_dst_cache;
};

struct inet_sock {
	u16 inet_sport;        /* in network byte order */
};

struct request_sock {
	struct sock_common __req_common;
};

struct sk_buff {
	struct sock *sk;
	unsigned int len;
	unsigned char cb[48];
	s64 tstamp;            /* in a union with skb_mstamp_ns, when TCP sent it */
	u16 protocol;          /* in network byte order */
	u16 transport_header, network_header; /* offsets from `head` */
	unsigned char *head;
};

/* The member cb of a packet in the queue of TCP. */
struct tcp_skb_cb {
	u32 seq, end_seq;
	u16 tcp_gso_segs;
};

struct proto_ops {
	void *splice_read; /* a function; only compared with NULL */
};

#define AF_UNIX 1

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

#pragma clang attribute pop

/* Turns an address into a typed pointer that can be followed without a helper call, since 6.2
 * (a35b9af4ec2c): where it is missing the tracer loads objects with IOT_NO_CAST. Declared as in
 * libbpf 1.5. */
extern void *bpf_rdonly_cast(const void *address, u32 type) __ksym __weak;

/* Page flags. PG_head is 16 until 6.10, then 6. Read by name, never by number. */
enum pageflags___iot { PG_uptodate___iot = 2, PG_dirty___iot = 4, PG_head___iot = 6 };

/* Bits of cmd_flags differ between kernels; __REQ_SWAP exists since 5.19. */
enum req_flag_bits___iot {
	__REQ_SYNC___iot = 11,
	__REQ_META___iot = 12,
	__REQ_FUA___iot = 17,
	__REQ_PREFLUSH___iot = 18,
	__REQ_RAHEAD___iot = 19,
	__REQ_SWAP___iot = 24,
};

/* The value differs between kernels. The enum was called req_opf before 6.0: then zone appends are
 * other operations. */
enum req_op___iot { REQ_OP_ZONE_APPEND___iot = 7, REQ_OP_ZONE_OPEN___iot = 10,
	REQ_OP_ZONE_RESET_ALL___iot = 15 };

#endif
