-- SPDX-License-Identifier: GPL-3.0-only
-- title: Control groups: what iot counts for each, beside the kernel's io.stat
-- caption: A row a control group, with all below it. io_stat: what the kernel charged to it on the disks at the \
-- caption: bottom between the start and the end of
-- caption: the run; difference: io_stat less P. They differ because io.stat counts a request when it is submitted and \
-- caption: iot when the device has completed
-- caption: it; because writeback is charged to the group that dirtied most of an inode lately, and to the root where \
-- caption: the file system cannot tell groups
-- caption: apart (ext4, XFS and btrfs can, FUSE and NFS cannot); and because journals and structures that threads of \
-- caption: the kernel write are the root's
-- caption: there (journal: how much of P all of them are). Loop devices, dm and md are charged once more, above their \
-- caption: disks: table devices.
-- by: cgroup
-- no picture: it compares; breakdown --by container draws whose the bytes are

-- table: groups: Written and read by control group
SELECT cgroup, COALESCE(container, '') AS container, S, D, B, P, journal, charged AS io_stat, charged - P AS difference,
       P_r,
       charged_r AS io_stat_r, charged_r - P_r AS difference_r, note
FROM v_group_io
WHERE COALESCE(S, 0) + B + COALESCE(P, 0) + COALESCE(S_r, 0) + B_r + COALESCE(charged, 0) + COALESCE(charged_r, 0) > 0
ORDER BY COALESCE(P, B) + COALESCE(P_r, B_r) DESC, depth, cgroup;

-- table: devices: The same by device (bottom: its bytes are in P)
SELECT cgroup, COALESCE(device, '(unknown)') AS device, bottom, COALESCE(written, 0) AS written, charged AS io_stat,
       charged - COALESCE(written, 0) AS difference, COALESCE(read, 0) AS read, charged_r AS io_stat_r,
       charged_r - COALESCE(read, 0) AS difference_r, discarded AS io_stat_discarded
FROM v_group_device
WHERE COALESCE(written, 0) + COALESCE(read, 0) + COALESCE(charged, 0) + COALESCE(charged_r, 0) + COALESCE(discarded,
    0) > 0
ORDER BY cgroup, COALESCE(written, 0) + COALESCE(read, 0) DESC, device;
