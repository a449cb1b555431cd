-- SPDX-License-Identifier: GPL-3.0-only
-- title: Amplification in operations, with the columns of earlier tools
-- no picture: report pictures draws these numbers
-- caption: Amplification here is seed_op_amp: backend operations (VFS + block) / system calls; 2.000 for a stack that \
-- caption: passes everything
-- caption: through. Bytes and latencies are those of the system calls: of those that were timed, where that was some \
-- caption: (iot-analyze latency has the
-- caption: error of that). Byte ratios: iot-analyze amplification without --seed.

-- table: seed
SELECT COALESCE(x.system, '(none)') AS System,
       (x.ops_V_r + x.ops_B_r) * 1.0 / NULLIF(x.ops_S_r, 0) AS Read_Amplification,
       (x.ops_V_w + x.ops_B_w) * 1.0 / NULLIF(x.ops_S_w, 0) AS Write_Amplification,
       x.ops_S_r AS Syscall_Reads, x.ops_S_w AS Syscall_Writes,
       x.ops_V_r + x.ops_B_r AS Backend_Reads, x.ops_V_w + x.ops_B_w AS Backend_Writes,
       x.S_r AS Read_Bytes, x.S AS Write_Bytes,
       x.lat_S_r / 1000.0 / NULLIF(x.timed_S_r, 0) AS Avg_Read_Latency_us,
       x.lat_S_w / 1000.0 / NULLIF(x.timed_S_w, 0) AS Avg_Write_Latency_us,
       x.ops_S_r + x.ops_S_w + x.ops_V_r + x.ops_V_w + x.ops_B_r + x.ops_B_w AS Total_Operations
FROM v_system x
ORDER BY x.system IS NULL, x.system;
