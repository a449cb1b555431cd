/* SPDX-License-Identifier: GPL-3.0-only */
/* compat.bpf.h - what differs between kernels, as predicates. CO-RE resolves each when a program is
 * loaded, and the verifier drops the branches that this kernel does not need. A predicate names the
 * first or last kernel version and, where a commit is known, that. A type may belong to a header of
 * a file system: it is needed only where the predicate is used. To add one: its row, and the
 * flavour of the type in kernel.h.
 */
#ifndef IOT_COMPAT_BPF_H
#define IOT_COMPAT_BPF_H

/* until 7.0: struct page points to the head of its folio; 7.1 renamed the field */
#define HAS_COMPOUND_HEAD bpf_core_field_exists(struct page, compound_head)
/* since 6.6 (b8a1d9f5ad): before, the field is _folio_nr_pages */
#define HAS_FOLIO_NR_PAGES bpf_core_field_exists(struct folio, _nr_pages)
/* since 6.2 (d685c668b069): struct buffer_head has b_folio */
#define HAS_BUFFER_FOLIO bpf_core_field_exists(struct buffer_head, b_folio)
/* since 6.6: iomap keeps a dirty bit for each block of a folio */
#define HAS_IOMAP_FOLIO_STATE bpf_core_type_exists(struct iomap_folio_state)
/* since 6.18: tracepoint iomap_zero_iter */
#define HAS_IOMAP_ZERO_ITER bpf_core_type_exists(btf_trace_iomap_zero_iter)
/* since 6.15: struct iomap_iter keeps the begin of a step; before, the processed bytes */
#define HAS_ITER_START_POS bpf_core_field_exists(struct iomap_iter, iter_start_pos)
/* since 6.1: memory areas are in a maple tree */
#define HAS_MAPLE_TREE bpf_core_field_exists(struct mm_struct, mm_mt)
/* since 6.18: every namespace has an id */
#define HAS_MNT_NS_ID bpf_core_field_exists(struct ns_common, ns_id)
/* until 6.17: mount namespaces have a number */
#define HAS_MNT_SEQ bpf_core_field_exists(struct mnt_namespace___until_617, seq)
/* CONFIG_MEMCG */
#define HAS_MEMORY_CGROUP \
	bpf_core_enum_value_exists(enum cgroup_subsys_id___iot, memory_cgrp_id___iot)
/* CONFIG_MEMCG: struct mm_struct points to its process */
#define HAS_MM_OWNER bpf_core_field_exists(struct mm_struct___owner, owner)
/* since 5.17: the field of io-wq workers serves kernel threads, too */
#define HAS_WORKER_PRIVATE bpf_core_field_exists(struct task_struct, worker_private)
/* struct worker has the queue of its current work */
#define HAS_CURRENT_PWQ bpf_core_field_exists(struct worker, current_pwq)
/* CONFIG_IO_URING: io-wq workers */
#define HAS_IO_WORKER bpf_core_type_exists(struct io_worker)
/* since 5.19: REQ_SWAP */
#define HAS_SWAP_FLAG bpf_core_enum_value_exists(enum req_flag_bits___iot, __REQ_SWAP___iot)
/* since 6.0: enum req_op; before, it is called req_opf */
#define HAS_ZONE_OPS bpf_core_enum_value_exists(enum req_op___iot, REQ_OP_ZONE_RESET_ALL___iot)
#define HAS_ZONE_APPEND bpf_core_enum_value_exists(enum req_op___iot, REQ_OP_ZONE_APPEND___iot)
/* struct request has the time of its allocation */
#define HAS_REQUEST_START bpf_core_field_exists(struct request, start_time_ns)
/* CONFIG_IPV6 */
#define HAS_IPV6 bpf_core_field_exists(struct sock_common, skc_v6_daddr)
/* the loop driver is built in, or its module is loaded */
#define HAS_LOOP bpf_core_type_exists(struct loop_device)
/* the same, and its workers are work items */
#define HAS_LOOP_WORKERS bpf_core_field_exists(struct loop_device, rootcg_work)
/* direct I/O by iomap */
#define HAS_IOMAP_DIO bpf_core_type_exists(struct iomap_dio)
/* direct I/O on block devices */
#define HAS_BLKDEV_DIO bpf_core_type_exists(struct blkdev_dio)
/* since 6.13: registered files are nodes */
#define HAS_URING_NODES bpf_core_field_exists(struct io_file_table, data)
/* until 6.12: registered files are an array */
#define HAS_URING_FILES bpf_core_field_exists(struct io_file_table___array, files)
/* struct io_submit_state has a list of free requests */
#define HAS_URING_EXIT bpf_core_field_exists(struct io_ring_ctx, exit_work)
#define HAS_URING_FREE_LIST bpf_core_field_exists(struct io_submit_state, free_list)
/* until 6.5: requests that workers freed have a list of their own */
#define HAS_URING_LOCKED_LIST bpf_core_field_exists(struct io_ring_ctx___array, locked_free_list)
/* ext4 is built in, or its module is loaded */
#define HAS_EXT4_INODE bpf_core_type_exists(struct ext4_inode_info___flags)
/* since 6.4 (690834e47cf7): struct btrfs_bio has the inode */
#define HAS_BTRFS_BIO_INODE bpf_core_field_exists(((struct btrfs_bio___inode *)0)->inode)
/* since 6.17: folios of several blocks; before, struct btrfs_subpage */
#define HAS_BTRFS_FOLIO_STATE bpf_core_type_exists(struct btrfs_folio_state)
/* since 6.8: struct extent_buffer has folios; before, pages */
#define HAS_EXTENT_FOLIOS bpf_core_field_exists(struct extent_buffer, folios)
/* since 6.8: struct extent_buffer has an address */
#define HAS_EXTENT_ADDR bpf_core_field_exists(struct extent_buffer, addr)
/* since 7.2: the aliases of a dentry are in an anonymous union */
#define HAS_ALIAS bpf_core_field_exists(((struct dentry___alias *)0)->d_alias)
/* until 7.1: they are in union d_u */
#define HAS_ALIAS_IN_D_U bpf_core_field_exists(((struct dentry___alias_in_union *)0)->d_u.d_alias)
/* until 5.16 (f3fa33acca9f): a request points to its disk */
#define HAS_RQ_DISK bpf_core_field_exists(struct request___disk, rq_disk)
/* until 5.10 (cb8432d650fc): partitions are struct hd_struct */
#define HAS_HD_STRUCT bpf_core_type_exists(struct hd_struct)

#endif
