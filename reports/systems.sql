-- SPDX-License-Identifier: GPL-3.0-only
-- title: Operations by storage system, the way earlier tools counted them
-- no picture: report pictures draws these numbers
-- caption: Operations, not bytes. R_AMP and W_AMP are seed_op_amp_r and seed_op_amp_w: (VFS + block operations) / \
-- caption: system calls, 2.000 for a
-- caption: stack that passes everything through. Byte ratios: iot-analyze amplification.

-- table: systems
SELECT COALESCE(x.system, '(none)') AS SYSTEM, x.ops_S_r AS SYS_R, x.ops_S_w AS SYS_W, x.ops_V_r AS VFS_R,
       x.ops_V_w AS VFS_W,
       x.ops_B_r AS BLK_R, x.ops_B_w AS BLK_W,
       (x.ops_V_r + x.ops_B_r) * 1.0 / NULLIF(x.ops_S_r, 0) AS R_AMP,
       (x.ops_V_w + x.ops_B_w) * 1.0 / NULLIF(x.ops_S_w, 0) AS W_AMP
FROM v_system x
ORDER BY x.system IS NULL, x.system;
