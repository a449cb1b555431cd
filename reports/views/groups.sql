-- SPDX-License-Identifier: GPL-3.0-only
-- groups.sql: Control groups: bytes that iot counts for each and all below it, next to those that the kernel charged.

-- Bytes of io.stat of a group and all below it, by device, at the end less the begin; absent: why there are none.
CREATE TEMP TABLE v_charged AS
SELECT t.cgroup, t.dev, MAX(t.absent) AS absent, sum_if(t.end_value - t.begin_value, t.what = 'wbytes') AS written,
       sum_if(t.end_value - t.begin_value, t.what = 'rbytes') AS read,
       sum_if(t.end_value - t.begin_value, t.what = 'dbytes') AS discarded
FROM ask JOIN truth t ON t.run = ask.run WHERE t.cgroup IS NOT NULL GROUP BY t.cgroup, t.dev;

-- Groups that processes of the run were in, and those above of which there are counters, with all lines that are in
-- each: lines are of --by cgroup. depth: how many groups lie above.
CREATE TEMP TABLE v_group_line AS
WITH line AS MATERIALIZED (SELECT gid, who AS cgroup FROM v_group WHERE what = 'group' AND shown),
     name AS MATERIALIZED (
       SELECT cgroup FROM line UNION SELECT c.cgroup FROM v_charged c)
SELECT n.cgroup, l.gid, length(n.cgroup) - length(replace(n.cgroup, '/', '')) AS depth
FROM name n JOIN line l ON l.cgroup = n.cgroup OR substr(l.cgroup, 1, length(n.cgroup) + 1) = n.cgroup || '/';

-- The container that all processes of a group are in.
CREATE TEMP VIEW v_group_container AS
SELECT l.cgroup, iif(COUNT(DISTINCT COALESCE(p.container, '')) = 1, MAX(p.container), NULL) AS container
FROM v_group_line l JOIN v_owner o ON o.gid = l.gid JOIN v_process p ON p.id = o.owner GROUP BY l.cgroup;

-- A row a group and device, at the bottom of the stack or above: bytes that iot counts there, and those charged to the
-- group.
CREATE TEMP TABLE v_group_device AS
WITH moved AS (
       SELECT l.cgroup, p.dev, sum_if(p.amount, p.sym = 'P') AS P, sum_if(p.amount, p.sym = 'P_r') AS P_r,
              sum_if(p.amount, p.sym = 'B') AS B, sum_if(p.amount, p.sym = 'B_r') AS B_r,
              sum_if(p.amount, p.sym = 'stacked_w') AS stacked, sum_if(p.amount, p.sym = 'stacked_r') AS stacked_r
       FROM v_amount p JOIN v_group_line l ON l.gid = p.gid
       WHERE p.sym IN ('P', 'P_r', 'B', 'B_r', 'stacked_w', 'stacked_r') AND p.dev IS NOT NULL
       GROUP BY l.cgroup, p.dev),
     place AS (
       SELECT cgroup, dev FROM moved UNION SELECT cgroup, dev FROM v_charged WHERE dev IS NOT NULL),
     known AS (
       SELECT cgroup, MAX(absent) AS absent FROM v_charged GROUP BY cgroup)
SELECT p.cgroup, p.dev, d.device, COALESCE(d.bottom, d.leaf, 1) AS bottom, k.absent,
       CASE WHEN COALESCE(d.bottom, d.leaf, 1) THEN m.P WHEN d.leaf THEN m.B ELSE m.stacked END AS written,
       CASE WHEN COALESCE(d.bottom, d.leaf, 1) THEN m.P_r WHEN d.leaf THEN m.B_r ELSE m.stacked_r END AS read,
       iif(k.cgroup IS NULL OR k.absent IS NOT NULL, NULL, COALESCE(c.written, 0)) AS charged,
       iif(k.cgroup IS NULL OR k.absent IS NOT NULL, NULL, COALESCE(c.read, 0)) AS charged_r,
       iif(k.cgroup IS NULL OR k.absent IS NOT NULL, NULL, COALESCE(c.discarded, 0)) AS discarded
FROM place p LEFT JOIN moved m ON m.cgroup = p.cgroup AND m.dev = p.dev
LEFT JOIN v_charged c ON c.cgroup = p.cgroup AND c.dev = p.dev LEFT JOIN known k ON k.cgroup = p.cgroup
LEFT JOIN v_device d ON d.dev = p.dev;

-- A row a group. journal: the part of P that is no contents of files. charged: on the disks at the bottom, as P.
CREATE TEMP TABLE v_group_io AS
WITH volume AS MATERIALIZED (
       SELECT l.cgroup, MIN(l.depth) AS depth, SUM(v.S) AS S, SUM(v.D) AS D, SUM(v.B) AS B, SUM(v.P) AS P,
              SUM(v.S_r) AS S_r, SUM(v.B_r) AS B_r, SUM(v.P_r) AS P_r, COUNT(*) = COUNT(v.P) AS has_P,
              COUNT(*) = COUNT(v.D) AS has_D, COUNT(*) = COUNT(v.S) AS has_S
       FROM v_group_line l JOIN v_volume v ON v.gid = l.gid GROUP BY l.cgroup),
     journal AS MATERIALIZED (
       SELECT l.cgroup, SUM(p.amount) AS bytes FROM v_piece p JOIN v_group_line l ON l.gid = p.gid
       WHERE p.sym = 'P' AND p.cause IN ('journal', 'metadata', 'loop_journal', 'loop_metadata') GROUP BY l.cgroup),
     charged AS MATERIALIZED (
       SELECT c.cgroup, MAX(c.absent) AS absent, sum_if(c.written, COALESCE(d.bottom, d.leaf, 1)) AS written,
              sum_if(c.read, COALESCE(d.bottom, d.leaf, 1)) AS read
       FROM v_charged c LEFT JOIN v_device d ON d.dev = c.dev GROUP BY c.cgroup)
SELECT v.cgroup, v.depth, k.container, iif(v.has_S, v.S, NULL) AS S, iif(v.has_D, v.D, NULL) AS D, v.B,
       iif(v.has_P, v.P, NULL) AS P, v.S_r, v.B_r, iif(v.has_P, v.P_r, NULL) AS P_r, COALESCE(j.bytes, 0) AS journal,
       iif(c.absent IS NULL, c.written, NULL) AS charged, iif(c.absent IS NULL, c.read, NULL) AS charged_r,
       CASE WHEN c.absent IS NOT NULL THEN c.absent
            WHEN NOT EXISTS (SELECT 1 FROM v_charged)
            THEN 'the run has no counters of control groups: it was recorded by an older version, or merged'
            WHEN v.cgroup = '/' THEN 'the root group: its io.stat is that of whole disks, for all groups'
            WHEN c.cgroup IS NULL THEN 'no counters of it were read'
            ELSE '' END AS note
FROM volume v LEFT JOIN v_group_container k ON k.cgroup = v.cgroup LEFT JOIN journal j ON j.cgroup = v.cgroup
LEFT JOIN charged c ON c.cgroup = v.cgroup;
