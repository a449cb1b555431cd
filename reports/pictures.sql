-- SPDX-License-Identifier: GPL-3.0-only
-- title: The five pictures of earlier tools, by storage system
-- caption: Amplification is seed_op_amp here: backend operations (VFS + block) / system calls, 2.000 for a stack that \
-- caption: passes everything
-- caption: through. Bytes are S, V (derived from the calls where no probe measures the VFS) and B. Latencies are \
-- caption: means of the calls that were
-- caption: timed; where those were some of all, iot-analyze latency has the error of that. (none): processes outside \
-- caption: any system. Byte ratios: iot-analyze amplification.

-- table: pictures
SELECT COALESCE(x.system, '(none)') AS system, (x.ops_V_r + x.ops_B_r) * 1.0 / NULLIF(x.ops_S_r, 0) AS seed_op_amp_r,
       (x.ops_V_w + x.ops_B_w) * 1.0 / NULLIF(x.ops_S_w, 0) AS seed_op_amp_w, x.ops_S_r, x.ops_S_w, x.ops_V_r,
       x.ops_V_w, x.ops_B_r, x.ops_B_w,
       x.S_r, x.S, x.V_r, x.V, x.B_r, x.B, x.lat_S_r / 1000.0 / NULLIF(x.timed_S_r, 0) AS mean_us_r,
       x.lat_S_w / 1000.0 / NULLIF(x.timed_S_w, 0) AS mean_us_w
FROM v_system x
ORDER BY x.system IS NULL, x.system;

-- plot: amplification
-- chart: bars
-- heading: Amplification in operations: (VFS + block)/system calls
-- unit: ratio
-- rule: 2
-- fold: no
-- key: no
SELECT d.panel, COALESCE(x.system, '(none)') AS "row", COALESCE(x.system, '(none)') AS part,
       CASE d.panel WHEN 'read' THEN (x.ops_V_r + x.ops_B_r) * 1.0 / NULLIF(x.ops_S_r, 0)
           ELSE (x.ops_V_w + x.ops_B_w) * 1.0 / NULLIF(x.ops_S_w, 0) END AS value
FROM v_system x JOIN (SELECT 'read' AS panel UNION ALL SELECT 'write') d
ORDER BY d.panel, x.system IS NULL, x.system;

-- plot: operations
-- chart: bars
-- heading: Operations: system calls beside backend (VFS + block)
-- unit: count
-- log: values
SELECT d.panel, COALESCE(x.system, '(none)') AS "row", iif(d.bar = 'calls', 'S calls', 'backend') AS bar,
       iif(d.bar = 'calls', 'S calls', 'backend') AS part,
       CASE WHEN d.panel = 'read' AND d.bar = 'calls' THEN x.ops_S_r WHEN d.panel = 'read' THEN x.ops_V_r + x.ops_B_r
           WHEN d.bar = 'calls' THEN x.ops_S_w ELSE x.ops_V_w + x.ops_B_w END AS value
FROM v_system x JOIN (SELECT 'read' AS panel, 'calls' AS bar UNION ALL SELECT 'read', 'backend'
                      UNION ALL SELECT 'write', 'calls' UNION ALL SELECT 'write', 'backend') d
ORDER BY d.panel, x.system IS NULL, x.system, d.bar DESC;

-- plot: latency
-- chart: bars
-- heading: Mean latency of calls
-- unit: us
-- fold: no
SELECT COALESCE(x.system, '(none)') AS "row", d.bar, d.bar AS part,
       CASE d.bar WHEN 'read' THEN x.lat_S_r / 1000.0 / NULLIF(x.timed_S_r, 0)
           ELSE x.lat_S_w / 1000.0 / NULLIF(x.timed_S_w, 0) END AS value
FROM v_system x JOIN (SELECT 'read' AS bar UNION ALL SELECT 'written') d
ORDER BY x.system IS NULL, x.system, d.bar;

-- plot: scatter
-- chart: points
-- heading: Operations against amplification, a point a system
-- axis: (VFS + block)/system calls
-- unit: ratio
-- across: system calls
-- across unit: count
-- log: across
-- rule: 2
SELECT d.panel, COALESCE(x.system, '(none)') AS part, CASE d.panel WHEN 'read' THEN x.ops_S_r ELSE x.ops_S_w END AS x,
       CASE d.panel WHEN 'read' THEN (x.ops_V_r + x.ops_B_r) * 1.0 / NULLIF(x.ops_S_r, 0)
           ELSE (x.ops_V_w + x.ops_B_w) * 1.0 / NULLIF(x.ops_S_w, 0) END AS value
FROM v_system x JOIN (SELECT 'read' AS panel UNION ALL SELECT 'write') d
WHERE CASE d.panel WHEN 'read' THEN x.ops_S_r ELSE x.ops_S_w END > 0
ORDER BY d.panel, x.system IS NULL, x.system;

-- plot: transfer
-- chart: bars
-- heading: Data transfer by layer
-- unit: bytes
SELECT d.panel, COALESCE(b.system, '(none)') AS "row", d.part AS bar, d.part,
       CASE d.panel || d.bar WHEN 'readS' THEN b.S_r WHEN 'readV' THEN b.V_r WHEN 'readB' THEN b.B_r
       WHEN 'writeS' THEN b.S WHEN 'writeV' THEN b.V ELSE b.B END AS value
FROM v_system b JOIN (SELECT p.panel, l.* FROM (SELECT 'read' AS panel UNION ALL SELECT 'write') p
     JOIN (SELECT 1 AS ord, 'S' AS bar, 'S calls' AS part UNION ALL SELECT 2, 'V', 'V VFS'
           UNION ALL SELECT 3, 'B', 'B devices') l) d
ORDER BY d.panel, b.system IS NULL, b.system, d.ord;
