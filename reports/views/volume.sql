-- SPDX-License-Identifier: GPL-3.0-only
-- volume.sql: Aggregates in words, and the volumes of METRICS section 1.

-- The words of kinds and causes, with what sums ask of them as numbers: comparing text for every aggregate and sum costs.
CREATE TEMP TABLE v_kind AS
SELECT k.id, k.name AS kind, k.dir, l.id AS layer_id, l.name AS layer, l.name IN ('syscall', 'uring') AS app, l.name = 'block' AS block,
       k.dir = 'r' AS r, k.dir = 'w' AS w, l.name = 'vfs' AND k.dir = 'r' AS vfs_r, l.name = 'vfs' AND k.dir = 'w' AS vfs_w,
       k.name IN ('copy_in', 'copy_out') AS copy, k.name = 'miss' AS miss, k.name = 'readahead' AS readahead,
       k.name = 'readahead_used' AS ra_used, k.name = 'readahead_unknown' AS ra_unknown,
       k.name = 'fs_write' AS fs_write, k.name = 'block_write' AS block_write, k.name = 'block_read' AS block_read,
       k.name = 'block_flush' AS flush, k.name = 'commit' AS is_commit,
       k.name IN ('fsync', 'fdatasync', 'sync', 'syncfs', 'msync', 'aio_fsync', 'uring_fsync') AS fsync
FROM kind k JOIN layer l ON l.id = k.layer;

-- Every aggregate of the run in words. on_file: file I/O in the sense of S (METRICS section 1). on_leaf: device bytes
-- that belong into totals: leaf devices, without a loop device's bytes again on the device below. of_load: of the system and on a
-- device that the ledger of the load names, or of any, where it names none; what has no owner may be the system's. no_file: calls on what is no
-- file. for_call, for_write, for_fault: why device bytes were read.
CREATE TEMP TABLE v_cell AS
SELECT t.owner, t.gid, t.dev, d.device, COALESCE(d.leaf, 1) AS leaf, k.*, c.name AS cause, h.name AS how, s.name AS sub, t.flags & 1 AS direct,
       t.flags & 6 AS sync, t.ops, t.errors, t.bytes, t.touched, t.timed, t.lat_ns, t.max_ns,
       s.name IN ('socket', 'pipe', 'chardev', 'pseudo', 'other') AS no_file,
       s.name NOT IN ('for_write', 'for_fault') AS for_call, s.name = 'for_write' AS for_write, s.name = 'for_fault' AS for_fault,
       k.app AND s.name IN ('regular', 'blockdev') AS on_file,
       k.block AND COALESCE(d.leaf, 1) AND c.name <> 'loopback' AS on_leaf,
       (l.devices IS NULL OR COALESCE(instr(',' || l.devices || ',', ',' || (t.dev >> 20) || ':' || (t.dev & 1048575) || ','), 0) > 0)
       AND (l.owner_system IS NULL OR t.owner = 0 OR COALESCE(t.system = l.owner_system, 0)) AS of_load,
       c.name = 'loopback' AS loopback, c.name IN ('data', 'direct') AS file_data
FROM v_load l JOIN (
       SELECT o.owner, o.gid, o.system, v.value ->> 1 AS kind, v.value ->> 2 AS dev, v.value ->> 3 AS cause, v.value ->> 4 AS how, v.value ->> 5 AS sub,
              v.value ->> 6 AS flags, v.value ->> 7 AS ops, v.value ->> 8 AS errors, v.value ->> 9 AS bytes, v.value ->> 10 AS touched, v.value ->> 11 AS timed,
              v.value ->> 12 AS lat_ns, v.value ->> 13 AS max_ns
       FROM json_each((SELECT fold(7, o.stand, t.kind, t.dev, t.cause, t.how, t.sub, t.flags, t.ops, t.errors, t.bytes, t.touched, t.timed, t.lat_ns, t.max_ns)
                       FROM ask JOIN agg_total t ON t.run = ask.run CROSS JOIN v_owner o ON o.owner = t.owner)) v JOIN v_owner o ON o.owner = v.value ->> 0) t
JOIN v_kind k ON k.id = t.kind
JOIN cause c ON c.id = t.cause
JOIN how h ON h.id = t.how
JOIN sub s ON s.id = t.sub
LEFT JOIN v_device d ON d.dev = t.dev;

-- All sums of METRICS that come from aggregates, one row a line of the report. `w` written, `r` read.
CREATE TEMP TABLE v_sum AS
SELECT c.gid,
       SUM(CASE WHEN c.on_file AND c.w THEN c.bytes ELSE 0 END) AS s_w,
       SUM(CASE WHEN c.on_file AND c.r THEN c.bytes ELSE 0 END) AS s_r,
       SUM(CASE WHEN c.on_file AND c.w THEN c.ops ELSE 0 END) AS s_ops_w,
       SUM(CASE WHEN c.on_file AND c.r THEN c.ops ELSE 0 END) AS s_ops_r,
       SUM(CASE WHEN c.on_file AND c.r AND c.direct THEN c.bytes ELSE 0 END) AS s_direct_r,
       SUM(CASE WHEN c.on_file AND c.w THEN c.touched ELSE 0 END) AS t_w,
       SUM(CASE WHEN c.on_file AND c.copy THEN c.bytes ELSE 0 END) AS copied,
       SUM(CASE WHEN c.vfs_w THEN c.bytes ELSE 0 END) AS v_w,
       SUM(CASE WHEN c.vfs_r THEN c.bytes ELSE 0 END) AS v_r,
       SUM(CASE WHEN c.vfs_w THEN c.ops ELSE 0 END) AS v_ops_w,
       SUM(CASE WHEN c.vfs_r THEN c.ops ELSE 0 END) AS v_ops_r,
       SUM(CASE WHEN c.miss AND c.for_call THEN c.bytes ELSE 0 END) AS missed,
       SUM(CASE WHEN c.miss AND c.for_fault THEN c.bytes ELSE 0 END) AS missed_fault,
       SUM(CASE WHEN c.miss AND c.for_write THEN c.bytes ELSE 0 END) AS missed_write,
       SUM(CASE WHEN c.readahead AND c.for_call THEN c.bytes ELSE 0 END) AS readahead,
       SUM(CASE WHEN c.readahead AND NOT c.for_call THEN c.bytes ELSE 0 END) AS readahead_fault,
       SUM(CASE WHEN c.ra_used THEN c.bytes ELSE 0 END) AS ra_used,
       SUM(CASE WHEN c.ra_unknown THEN c.bytes ELSE 0 END) AS ra_unknown,
       SUM(CASE WHEN c.fs_write AND c.file_data THEN c.bytes ELSE 0 END) AS f_data,
       SUM(CASE WHEN c.fs_write AND NOT c.loopback THEN c.bytes ELSE 0 END) AS f_w,
       SUM(CASE WHEN c.block_write AND c.on_leaf THEN c.bytes ELSE 0 END) AS b_w,
       SUM(CASE WHEN c.block_read AND c.on_leaf THEN c.bytes ELSE 0 END) AS b_r,
       SUM(CASE WHEN c.block_write AND c.on_leaf THEN c.ops ELSE 0 END) AS b_ops_w,
       SUM(CASE WHEN c.block_read AND c.on_leaf THEN c.ops ELSE 0 END) AS b_ops_r,
       SUM(CASE WHEN c.block_read AND c.on_leaf AND c.cause = 'direct' THEN c.bytes ELSE 0 END) AS b_direct_r,
       SUM(CASE WHEN c.block_read AND c.on_leaf AND c.for_write THEN c.bytes ELSE 0 END) AS b_for_write,
       SUM(CASE WHEN c.block_read AND c.on_leaf AND c.for_fault THEN c.bytes ELSE 0 END) AS b_for_fault,
       SUM(CASE WHEN c.block_write AND c.leaf AND c.loopback THEN c.bytes ELSE 0 END) AS loop_w,
       SUM(CASE WHEN c.block_read AND c.leaf AND c.loopback THEN c.bytes ELSE 0 END) AS loop_r,
       SUM(CASE WHEN c.block_write AND NOT c.leaf THEN c.bytes ELSE 0 END) AS stacked_w,
       SUM(CASE WHEN c.block_read AND NOT c.leaf THEN c.bytes ELSE 0 END) AS stacked_r,
       SUM(CASE WHEN c.on_file AND c.w AND c.of_load THEN c.bytes ELSE 0 END) AS s_w_load,
       SUM(CASE WHEN c.block_write AND c.on_leaf AND c.of_load THEN c.bytes ELSE 0 END) AS b_w_load,
       SUM(CASE WHEN c.block_read AND c.on_leaf AND c.of_load THEN c.bytes ELSE 0 END) AS b_r_load,
       SUM(CASE WHEN c.flush AND c.on_leaf THEN c.ops ELSE 0 END) AS flushes,
       SUM(CASE WHEN c.fsync THEN c.ops ELSE 0 END) AS fsyncs,
       SUM(CASE WHEN c.on_file AND c.w AND c.sync THEN c.ops - c.errors ELSE 0 END) AS sync_writes,
       SUM(CASE WHEN c.kind = 'uring_other' THEN c.ops ELSE 0 END) AS uring_calls,
       SUM(CASE WHEN c.is_commit THEN c.ops ELSE 0 END) AS commits
FROM v_cell c
GROUP BY c.gid;

-- The dirty ledger, one row a line of the report. slack: bytes that the ledger cannot explain (METRICS section 3): carried
-- by a request but not held by the simulation, and, after a settle, still held by it, but for what was dirtied after that began; direct I/O
-- beyond the blocks that calls touched.
CREATE TEMP TABLE v_ledger AS
SELECT o.gid, SUM(g.dirtied + g.direct) AS d_w, SUM(g.dirtied) AS dirtied, SUM(g.direct) AS direct, SUM(g.submitted) AS submitted, SUM(g.absorbed) AS absorbed,
       SUM(g.written) AS written, SUM(g.cancelled) AS cancelled, SUM(g.dirty_end) AS dirty_end, SUM(g.dirty_start) AS dirty_start, SUM(g.unexpected) AS unexpected,
       SUM(g.unexpected + CASE WHEN r.horizon = 'at_ack' THEN 0 ELSE g.dirty_end - g.dirty_late END) + max(SUM(g.submitted) - SUM(g.direct), 0) AS slack
FROM ask JOIN v_measured m ON m.ledger JOIN ledger g ON g.run = ask.run JOIN v_run r JOIN v_owner o ON o.owner = g.owner
GROUP BY o.gid;

-- D of a line where events were lost: at least this. Of several that wrote a file nobody knows who made a block dirty, if that
-- is what was lost: so only files count that nobody else is known to have written, by the kernel's sums.
CREATE TEMP TABLE v_dirtied AS
WITH wrote AS (
       SELECT i.file, o.gid FROM ask JOIN file_io i ON i.run = ask.run JOIN v_owner o ON o.owner = i.owner WHERE i.write_bytes + i.fs_write_bytes > 0
       UNION
       SELECT g.file, o.gid FROM ask JOIN ledger g ON g.run = ask.run JOIN v_owner o ON o.owner = g.owner WHERE g.dirtied > 0),
     inode AS (
       SELECT COALESCE(f.dev || '/' || f.ino || '/' || f.gen, w.file) AS inode, w.gid
       FROM ask JOIN wrote w LEFT JOIN file f ON f.run = ask.run AND f.id = w.file
       WHERE w.file <> 0),
     single AS MATERIALIZED (SELECT inode, MIN(gid) AS gid FROM inode GROUP BY inode HAVING MIN(gid) = MAX(gid)),
     nameless AS MATERIALIZED (SELECT gid FROM wrote WHERE file = 0)
SELECT o.gid, SUM(g.direct + CASE WHEN s.gid IS NULL OR EXISTS (SELECT 1 FROM nameless n WHERE n.gid <> o.gid) THEN 0 ELSE g.dirtied END) AS d_w
FROM ask JOIN v_measured m ON m.some_ledger AND m.ledger IS NULL
JOIN ledger g ON g.run = ask.run
JOIN v_owner o ON o.owner = g.owner
LEFT JOIN file f ON f.run = ask.run AND f.id = g.file
LEFT JOIN single s ON s.inode = COALESCE(f.dev || '/' || f.ino || '/' || f.gen, g.file) AND s.gid = o.gid
WHERE EXISTS (SELECT 1 FROM file_io i WHERE i.run = ask.run)
GROUP BY o.gid
UNION ALL
SELECT gid, d_w FROM v_ledger;

-- The volumes of METRICS section 1, in bytes unless the name says ops. Line `all` is every process and kernel thread that
-- was traced; `total` is every device byte, so it also holds what no owner is known for, other processes and the tracer.
CREATE TEMP TABLE v_volume AS
WITH part AS MATERIALIZED (
       SELECT g.gid, g.what, g.who, g.pid, g.rank, g.shown, s.*, d.d_w, l.absorbed, l.cancelled, l.dirty_end, l.unexpected, l.slack
       FROM v_group g LEFT JOIN v_sum s ON s.gid = g.gid LEFT JOIN v_ledger l ON l.gid = g.gid LEFT JOIN v_dirtied d ON d.gid = g.gid),
     line AS MATERIALIZED (
       SELECT gid, what, who, pid, rank, shown, s_w, s_r, s_ops_w, s_ops_r, s_direct_r, t_w, copied, v_w, v_r, v_ops_w, v_ops_r, missed, missed_fault, missed_write,
              readahead, readahead_fault, ra_used, ra_unknown, f_data, f_w, b_w, b_r, b_ops_w, b_ops_r, b_direct_r, b_for_write,
              b_for_fault, s_w_load, b_w_load, b_r_load, loop_w, loop_r, stacked_w, stacked_r, flushes, fsyncs, sync_writes,
              uring_calls, commits, d_w, absorbed, cancelled, dirty_end, unexpected, slack
       FROM part
       UNION ALL
       SELECT 'all:', 'all', 'all traced', '', 4, ask.system IS NULL, SUM(s_w), SUM(s_r), SUM(s_ops_w), SUM(s_ops_r), SUM(s_direct_r), SUM(t_w), SUM(copied), SUM(v_w), SUM(v_r),
              SUM(v_ops_w), SUM(v_ops_r), SUM(missed), SUM(missed_fault), SUM(missed_write), SUM(readahead), SUM(readahead_fault),
              SUM(ra_used), SUM(ra_unknown), SUM(f_data), SUM(f_w), SUM(b_w), SUM(b_r), SUM(b_ops_w), SUM(b_ops_r), SUM(b_direct_r),
              SUM(b_for_write), SUM(b_for_fault), SUM(s_w_load), SUM(b_w_load), SUM(b_r_load), SUM(loop_w), SUM(loop_r),
              SUM(stacked_w), SUM(stacked_r), SUM(flushes), SUM(fsyncs), SUM(sync_writes), SUM(uring_calls), SUM(commits), SUM(d_w),
              SUM(absorbed), SUM(cancelled), SUM(dirty_end), SUM(unexpected), SUM(slack)
       FROM ask JOIN part WHERE rank < 4
       UNION ALL
       SELECT 'total:', 'total', 'total', '', 8, ask.system IS NULL, SUM(s_w), SUM(s_r), SUM(s_ops_w), SUM(s_ops_r), SUM(s_direct_r), SUM(t_w), SUM(copied), SUM(v_w), SUM(v_r),
              SUM(v_ops_w), SUM(v_ops_r), SUM(missed), SUM(missed_fault), SUM(missed_write), SUM(readahead), SUM(readahead_fault),
              SUM(ra_used), SUM(ra_unknown), SUM(f_data), SUM(f_w), SUM(b_w), SUM(b_r), SUM(b_ops_w), SUM(b_ops_r), SUM(b_direct_r),
              SUM(b_for_write), SUM(b_for_fault), SUM(s_w_load), SUM(b_w_load), SUM(b_r_load), SUM(loop_w), SUM(loop_r),
              SUM(stacked_w), SUM(stacked_r), SUM(flushes), SUM(fsyncs), SUM(sync_writes), SUM(uring_calls), SUM(commits), SUM(d_w),
              SUM(absorbed), SUM(cancelled), SUM(dirty_end), SUM(unexpected), SUM(slack)
       FROM ask JOIN part),
     -- the line that stands for whom the payload is divided by: the ledger's system, or --system, or all
     payer AS MATERIALIZED (
       SELECT l.gid
       FROM ask JOIN v_load a JOIN line l
       WHERE l.shown AND CASE WHEN a.owner_system IS NOT NULL AND (ask.system IS NOT NULL OR EXISTS (SELECT 1 FROM line x WHERE x.shown AND x.what = 'system' AND x.who = a.owner_system))
                                THEN l.what = 'system' AND l.who = a.owner_system
                              WHEN ask.system IS NOT NULL THEN l.what = 'system' AND l.who = ask.system
                              ELSE l.what = 'all' END)
SELECT p.gid, p.what, p.who, p.pid, p.rank, p.shown,
       CASE WHEN p.gid IN (SELECT gid FROM payer) THEN a.L END AS L,
       CASE WHEN p.gid IN (SELECT gid FROM payer) THEN a.L_r END AS L_r,
       COALESCE(p.s_w_load, 0) * u.calls AS S_load, COALESCE(p.b_w_load, 0) * m.block AS B_load, COALESCE(p.b_r_load, 0) * m.block AS B_r_load,
       COALESCE(p.s_w, 0) * u.calls AS S,
       COALESCE(CASE WHEN m.vfs THEN p.v_w ELSE p.s_w END, 0) * COALESCE(m.vfs, u.calls) AS V,
       COALESCE(p.t_w, 0) * u.calls AS T,
       COALESCE(p.d_w, 0) * (SELECT 1 FROM v_dirtied) AS D,
       COALESCE(p.f_data, 0) * m.fs AS W,
       COALESCE(p.f_w, 0) * m.fs AS F,
       COALESCE(p.b_w, 0) * m.block AS B,
       COALESCE(p.s_r, 0) * u.calls AS S_r,
       COALESCE(CASE WHEN m.vfs THEN p.v_r ELSE p.s_r END, 0) * COALESCE(m.vfs, u.calls) AS V_r,
       COALESCE(p.missed, 0) * m.cache * m.syscall AS missed,
       COALESCE(p.missed_fault, 0) * m.cache * m.syscall AS missed_fault,
       COALESCE(p.missed_write, 0) * m.cache * m.syscall AS missed_write,
       (COALESCE(p.missed, 0) + COALESCE(p.missed_fault, 0) + COALESCE(p.missed_write, 0)) * m.cache AS missed_all,
       COALESCE(p.readahead, 0) * m.cache * m.syscall AS readahead,
       (COALESCE(p.readahead, 0) - COALESCE(p.ra_used, 0) - COALESCE(p.ra_unknown, 0)) * m.cache * u.calls AS ra_unused,
       COALESCE(p.ra_unknown, 0) * m.cache AS ra_unknown,
       COALESCE(p.ra_used, 0) * m.cache * u.calls AS ra_used,
       COALESCE(p.readahead_fault, 0) * m.cache * m.syscall AS readahead_fault,
       COALESCE(p.b_r, 0) * m.block AS B_r,
       (COALESCE(p.s_r, 0) - COALESCE(p.s_direct_r, 0)) * u.calls AS S_r_cached,
       (COALESCE(p.b_r, 0) - COALESCE(p.b_direct_r, 0)) * m.block AS B_r_cached,
       COALESCE(p.b_for_write, 0) * m.block * m.syscall AS B_r_for_write,
       (COALESCE(p.b_r, 0) - COALESCE(p.b_for_fault, 0)) * m.block AS B_r_call,
       COALESCE(p.s_ops_w, 0) * u.calls AS ops_S_w, COALESCE(p.s_ops_r, 0) * u.calls AS ops_S_r,
       COALESCE(CASE WHEN m.vfs THEN p.v_ops_w ELSE p.s_ops_w END, 0) * COALESCE(m.vfs, u.calls) AS ops_V_w,
       COALESCE(CASE WHEN m.vfs THEN p.v_ops_r ELSE p.s_ops_r END, 0) * COALESCE(m.vfs, u.calls) AS ops_V_r,
       COALESCE(p.b_ops_w, 0) * m.block AS ops_B_w, COALESCE(p.b_ops_r, 0) * m.block AS ops_B_r,
       COALESCE(p.flushes, 0) * m.block AS flushes, COALESCE(p.fsyncs, 0) * u.calls AS fsyncs, COALESCE(p.sync_writes, 0) * u.calls AS sync_writes,
       (COALESCE(p.fsyncs, 0) + COALESCE(p.sync_writes, 0)) * u.calls AS syncs,
       COALESCE(p.commits, 0) * m.fs AS commits,
       COALESCE(p.copied, 0) * u.calls AS copied,
       COALESCE(p.loop_w, 0) * m.block AS loop_w, COALESCE(p.loop_r, 0) * m.block AS loop_r,
       COALESCE(p.stacked_w, 0) * m.block AS stacked_w, COALESCE(p.stacked_r, 0) * m.block AS stacked_r,
       COALESCE(p.absorbed, 0) * m.ledger AS absorbed, COALESCE(p.cancelled, 0) * m.ledger AS cancelled,
       COALESCE(p.dirty_end, 0) * m.ledger AS dirty_end, COALESCE(p.unexpected, 0) * m.ledger AS unexpected,
       COALESCE(p.slack, 0) * m.ledger AS slack,
       CASE WHEN m.vfs THEN 'measured' ELSE 'derived from syscall and uring' END AS vfs_source
FROM v_load a JOIN v_measured m JOIN line p
JOIN (SELECT gid, CASE WHEN m.uring OR COALESCE(uring_calls, 0) = 0 THEN m.syscall END AS calls FROM v_measured m JOIN line) u ON u.gid = p.gid;
CREATE UNIQUE INDEX temp.v_volume_gid ON v_volume(gid);
