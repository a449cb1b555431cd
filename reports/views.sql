-- SPDX-License-Identifier: GPL-3.0-only
-- views.sql: what reports read: temporary views of one run of a store, some of them computed once (tables). METRICS defines every number.
--
-- The query runner makes three tables first: `ask`, one row: run, per (system, instance, comm, pid or all), system (NULL: all), plot (1: a
-- picture is asked for; what only pictures need may cost); `alias`: alias, name of systems that have other names too; and `given`, at most
-- one row, as table `load` of the store: what clients had acknowledged. A report may also use the parameters :run, :per, :system and :plot.
-- To add a number: a column in v_sum, and a line in v_symbol when ratios use it. To add a ratio: a row in v_ratio's def.

-- The run itself. A layer that was not measured is NULL: what is multiplied with it becomes NULL, which prints as n/a.
CREATE TEMP TABLE v_run AS
SELECT r.run, r.label, r.host, r.kernel, r.machine, r.cpus, r.tool, r.command, r.filters, r.layers, r.tier, r.events,
       r.settle, r.latency, r.wall_ns, strftime('%Y-%m-%dT%H:%M:%SZ', r.wall_ns / 1000000000, 'unixepoch') AS started,
       e.dur_ns, e.status, e.dirty_bytes, e.self_cpu_ns, e.probe_cpu_ns, e.rss_bytes, r.map_bytes,
       e.run IS NOT NULL AS complete,
       COALESCE(e.horizon, 'unknown: the run is incomplete') AS horizon
FROM ask JOIN run r ON r.run = ask.run LEFT JOIN run_end e ON e.run = r.run;

-- Layers that --layers left out: their probes are there, and nothing is wrong with them. What is absent because of that is no fault.
CREATE TEMP TABLE v_left_out AS
SELECT l.name AS layer
FROM ask JOIN run r ON r.run = ask.run JOIN layer l
WHERE ',' || r.layers || ',' NOT LIKE '%,' || l.name || ',%'
  AND EXISTS (SELECT 1 FROM probe p WHERE p.run = r.run AND p.layer = l.name AND (p.chosen OR p.reason = 'layer not asked for'));

CREATE TEMP TABLE v_measured AS
SELECT CASE WHEN ',' || r.layers || ',' LIKE '%,syscall,%' THEN 1 END AS syscall,
       CASE WHEN ',' || r.layers || ',' LIKE '%,uring,%' THEN 1 END AS uring,
       CASE WHEN ',' || r.layers || ',' LIKE '%,cache,%' THEN 1 END AS cache,
       CASE WHEN ',' || r.layers || ',' LIKE '%,fs,%' THEN 1 END AS fs,
       CASE WHEN ',' || r.layers || ',' LIKE '%,block,%' THEN 1 END AS block,
       CASE WHEN ',' || r.layers || ',' LIKE '%,net,%' THEN 1 END AS net,
       CASE WHEN EXISTS (SELECT 1 FROM agg_total t JOIN kind k ON k.id = t.kind JOIN layer l ON l.id = k.layer
                         WHERE t.run = ask.run AND l.name = 'vfs') THEN 1 END AS vfs,
       CASE WHEN EXISTS (SELECT 1 FROM ledger g WHERE g.run = ask.run) THEN 1 END AS ledger
FROM ask JOIN run r ON r.run = ask.run;

-- What clients had acknowledged, always one row. owner_system: the system that the ledger names, where the run knows it: its processes
-- alone are divided by the payload. Else everybody is, or whom --system names. N: payload on client links, in either direction. intended: L times the
-- redundancy R that was asked for. note: in words, for ratios. formula_N: how the ratios of the network are written.
CREATE TEMP TABLE v_load AS
SELECT g.system, (SELECT p.system FROM process p
                  WHERE p.run = ask.run AND p.system IN (g.system, (SELECT a.name FROM alias a WHERE a.alias = g.system)) LIMIT 1) AS owner_system,
       g.logical_write_bytes AS L, g.logical_read_bytes AS L_r, g.devices,
       COALESCE(g.logical_write_bytes, 0) + COALESCE(g.logical_read_bytes, 0) AS N, g.copies * 1.0 / NULLIF(g.shares, 0) AS R,
       CASE WHEN g.logical_write_bytes * g.copies % NULLIF(g.shares, 0) = 0 THEN g.logical_write_bytes * g.copies / g.shares
            ELSE g.logical_write_bytes * 1.0 * g.copies / NULLIF(g.shares, 0) END AS intended,
       CASE WHEN COALESCE(g.logical_read_bytes, 0) = 0 THEN 'L' WHEN COALESCE(g.logical_write_bytes, 0) = 0 THEN 'L_r' ELSE '(L + L_r)' END AS formula_N,
       g.system IS NOT NULL AS has_ledger,
       CASE WHEN g.devices IS NOT NULL THEN 'devices ' || g.devices ELSE '' END || CASE WHEN g.errors > 0 THEN CASE WHEN g.devices IS NOT NULL THEN '; ' ELSE '' END ||
            'the load had errors' || COALESCE(': ' || g.error, '') ELSE '' END AS note
FROM ask LEFT JOIN given g;

CREATE TEMP VIEW v_lost AS
SELECT l.layer, l.what, l.effect, l.n
FROM ask JOIN lost l ON l.run = ask.run
WHERE l.n > 0;

CREATE TEMP VIEW v_lost_text AS
SELECT COALESCE(group_concat(n || ' x ' || layer || ': ' || what || ' (' || effect || ')', '; '), 'nothing') AS lost
FROM v_lost;

-- Whether every event is there that says what file systems moved.
CREATE TEMP VIEW v_events AS
SELECT r.events <> 0 AND ',' || r.layers || ',' LIKE '%,fs,%' AND NOT EXISTS (
       SELECT 1 FROM v_lost WHERE effect IN ('events', 'bytes') AND layer IN ('fs', 'block', 'all')) AS whole
FROM v_run r;

CREATE TEMP TABLE v_device AS
SELECT d.dev, MIN(d.name) AS device, MIN(d.type) AS type, MAX(d.leaf) AS leaf, MIN(d.parent) AS parent,
       MIN(d.rotational) AS rotational, MAX(d.size) AS size_bytes, MIN(d.fs) AS fs, MIN(d.options) AS options, MIN(d.mount) AS mount
FROM ask JOIN device d ON d.run = ask.run
GROUP BY d.dev;

CREATE TEMP TABLE v_process AS
SELECT p.id, p.pid, p.start_ns, p.ppid, p.comm, p.exe, p.cmdline, p.cgroup, p.container, p.kthread, p.system, p.role, p.matched, p.instance, p.rchar, p.wchar, p.folded, p.fold
FROM ask JOIN process p ON p.run = ask.run;
CREATE INDEX temp.v_process_id ON v_process(id);

-- Each owner and the line it is shown on: owner 0, 1 and 2 and kernel threads have lines of their own, always; of others the 500 lines
-- with the most bytes, the rest is one. stand: the owner whose cells are this one's too. A process that was folded is on the line of
-- the row that stands for it.
CREATE TEMP TABLE v_named AS
WITH seen AS MATERIALIZED (
       SELECT owner, TOTAL(bytes) AS bytes
       FROM (SELECT t.owner, t.bytes FROM ask JOIN agg_total t ON t.run = ask.run
             UNION ALL
             SELECT DISTINCT g.owner, 0 FROM ask JOIN ledger g ON g.run = ask.run
             UNION ALL
             SELECT DISTINCT i.owner, 0 FROM ask JOIN file_io i ON i.run = ask.run
             UNION ALL
             SELECT DISTINCT f.owner, 0 FROM ask JOIN flow f ON f.run = ask.run)
       GROUP BY owner)
SELECT s.owner, s.bytes, p.pid, p.start_ns, p.comm, p.system, CASE WHEN p.fold IS NULL THEN COALESCE(p.folded, 1) ELSE 0 END AS procs,
       CASE WHEN s.owner = 0 THEN 'unattributed'
            WHEN s.owner = 1 THEN 'self'
            WHEN s.owner = 2 THEN 'other'
            WHEN p.kthread THEN 'kthread'
            WHEN ask.per = 'all' THEN 'run'
            WHEN ask.per IN ('system', 'instance') AND p.system IS NOT NULL THEN 'system'
            ELSE 'process' END AS what,
       CASE WHEN s.owner = 0 THEN 'unattributed'
            WHEN s.owner = 1 THEN 'iot-trace itself'
            WHEN s.owner = 2 THEN 'other processes'
            WHEN ask.per = 'all' AND NOT p.kthread THEN 'all processes'
            WHEN ask.per = 'system' AND p.system IS NOT NULL THEN p.system
            WHEN ask.per = 'instance' AND p.system IS NOT NULL THEN p.system || ' ' || COALESCE(p.instance, '(instance unknown)')
            ELSE COALESCE(p.comm, 'process ' || s.owner || ', name lost') END AS who,
       CASE WHEN ask.per = 'pid' THEN COALESCE(p.fold, s.owner) ELSE 0 END AS part,
       s.owner > 2 AND (ask.system IS NULL OR p.system = ask.system) AS wanted,
       ask.system IS NULL AS unfiltered
FROM ask JOIN seen s LEFT JOIN v_process p ON p.id = s.owner;

CREATE TEMP TABLE v_small AS
SELECT part, who, MIN(first) OVER () AS stand
FROM (SELECT part, who, MIN(owner) AS first, ROW_NUMBER() OVER (ORDER BY TOTAL(bytes) DESC, who, part) AS place
      FROM v_named
      WHERE what = 'process' AND (wanted OR unfiltered)
      GROUP BY part, who)
WHERE place > 500;
CREATE UNIQUE INDEX temp.v_small_line ON v_small(part, who);

CREATE TEMP TABLE v_owner AS
SELECT n.owner, COALESCE(s.stand, n.owner) AS stand, n.pid, n.start_ns, n.procs, n.comm, n.system, n.what, CASE WHEN s.stand THEN '(the rest)' ELSE n.who END AS who,
       n.wanted, n.wanted OR (n.unfiltered AND n.owner <= 2) AS shown,
       CASE WHEN s.stand THEN 'process:rest:' ELSE n.what || ':' || n.part || ':' || n.who END AS gid
FROM v_named n LEFT JOIN v_small s ON n.what = 'process' AND s.part = n.part AND s.who = n.who;
CREATE UNIQUE INDEX temp.v_owner_owner ON v_owner(owner);

CREATE TEMP TABLE v_group AS
SELECT gid, what, who, MAX(shown) AS shown,
       CASE WHEN what IN ('unattributed', 'self', 'other') THEN ''
            WHEN MAX(procs) <= 1 AND COUNT(DISTINCT pid || '/' || start_ns) = 1 THEN CAST(MIN(pid) AS TEXT)
            WHEN COUNT(DISTINCT pid || '/' || start_ns) = 0 THEN ''
            ELSE (COUNT(DISTINCT CASE WHEN procs > 0 THEN pid || '/' || start_ns END) + SUM(CASE WHEN procs > 1 THEN procs - 1 ELSE 0 END)) || ' procs' END AS pid,
       CASE what WHEN 'run' THEN 1 WHEN 'system' THEN 1 WHEN 'process' THEN 2 WHEN 'kthread' THEN 3
                 WHEN 'unattributed' THEN 5 WHEN 'other' THEN 6 ELSE 7 END AS rank
FROM v_owner
GROUP BY gid;
CREATE UNIQUE INDEX temp.v_group_gid ON v_group(gid);

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
       SELECT o.stand AS owner, o.gid, o.system, t.dev, t.kind, t.cause, t.how, t.sub, t.flags, SUM(t.ops) AS ops, SUM(t.errors) AS errors, SUM(t.bytes) AS bytes,
              SUM(t.touched) AS touched, SUM(t.timed) AS timed, SUM(t.lat_ns) AS lat_ns, MAX(t.max_ns) AS max_ns
       FROM ask JOIN agg_total t ON t.run = ask.run JOIN v_owner o ON o.owner = t.owner
       GROUP BY o.stand, o.system, t.kind, t.dev, t.cause, t.how, t.sub, t.flags) t
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
FROM ask JOIN ledger g ON g.run = ask.run JOIN v_run r JOIN v_owner o ON o.owner = g.owner
GROUP BY o.gid;

-- The volumes of METRICS section 1, in bytes unless the name says ops. Line `all` is every process and kernel thread that
-- was traced; `total` is every device byte, so it also holds what no owner is known for, other processes and the tracer.
CREATE TEMP TABLE v_volume AS
WITH part AS MATERIALIZED (
       SELECT g.gid, g.what, g.who, g.pid, g.rank, g.shown, s.*, l.d_w, l.absorbed, l.cancelled, l.dirty_end, l.unexpected, l.slack
       FROM v_group g LEFT JOIN v_sum s ON s.gid = g.gid LEFT JOIN v_ledger l ON l.gid = g.gid),
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
       COALESCE(p.d_w, 0) * m.ledger AS D,
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

-- What of a volume has no known owner: the share that has none on each device, weighted with the line's own bytes there, so
-- that work of others on a device that the line hardly used does not spoil its ratios.
CREATE TEMP TABLE v_residual AS
WITH place AS MATERIALIZED (
       SELECT gid, dev,
              SUM(CASE WHEN fs_write AND file_data THEN bytes ELSE 0 END) AS W,
              SUM(CASE WHEN fs_write AND NOT loopback THEN bytes ELSE 0 END) AS F,
              SUM(CASE WHEN block_write AND on_leaf THEN bytes ELSE 0 END) AS B,
              SUM(CASE WHEN miss AND for_call THEN bytes ELSE 0 END) AS missed,
              SUM(CASE WHEN miss THEN bytes ELSE 0 END) AS missed_all,
              SUM(CASE WHEN block_read AND on_leaf AND NOT for_fault THEN bytes ELSE 0 END) AS B_r_call,
              SUM(CASE WHEN block_read AND on_leaf AND cause <> 'direct' THEN bytes ELSE 0 END) AS B_r_cached,
              SUM(CASE WHEN block_read AND on_leaf AND for_write THEN bytes ELSE 0 END) AS B_r_for_write,
              SUM(CASE WHEN block_write AND on_leaf AND of_load THEN bytes ELSE 0 END) AS B_load,
              SUM(CASE WHEN block_read AND on_leaf AND of_load THEN bytes ELSE 0 END) AS B_r_load
       FROM v_cell
       WHERE fs_write OR block_write OR block_read OR miss
       GROUP BY gid, dev),
     part AS MATERIALIZED (
       SELECT gid, dev, 'W' AS sym, W AS bytes FROM place
       UNION ALL SELECT gid, dev, 'F', F FROM place
       UNION ALL SELECT gid, dev, 'B', B FROM place
       UNION ALL SELECT gid, dev, 'missed', missed FROM place
       UNION ALL SELECT gid, dev, 'missed_all', missed_all FROM place
       UNION ALL SELECT gid, dev, 'B_r_call', B_r_call FROM place
       UNION ALL SELECT gid, dev, 'B_r_cached', B_r_cached FROM place
       UNION ALL SELECT gid, dev, 'B_r_for_write', B_r_for_write FROM place
       UNION ALL SELECT gid, dev, 'B_load', B_load FROM place
       UNION ALL SELECT gid, dev, 'B_r_load', B_r_load FROM place),
     device AS MATERIALIZED (
       SELECT p.dev, p.sym, SUM(CASE WHEN g.what = 'unattributed' THEN p.bytes ELSE 0 END) AS residual, SUM(p.bytes) AS whole
       FROM part p JOIN v_group g ON g.gid = p.gid
       GROUP BY p.dev, p.sym),
     own AS (
       SELECT gid, dev, sym, bytes FROM part WHERE bytes > 0
       UNION ALL
       SELECT 'all:', p.dev, p.sym, SUM(p.bytes) FROM part p JOIN v_group g ON g.gid = p.gid WHERE p.bytes > 0 AND g.rank < 4 GROUP BY p.dev, p.sym)
SELECT o.gid, o.sym, CAST(round(SUM(o.bytes * (d.residual * 1.0 / d.whole))) AS INTEGER) AS residual, SUM(o.bytes) AS whole
FROM own o JOIN device d ON d.dev IS o.dev AND d.sym = o.sym
GROUP BY o.gid, o.sym;

-- One row a line and symbol: value, why it is absent, residual (bytes of it that nobody is known to own, see v_residual; for
-- D what the ledger cannot explain), and short: 1 when the value may be too small, by the rule of METRICS section 3.
CREATE TEMP TABLE v_symbol AS
WITH v AS MATERIALIZED (SELECT * FROM v_volume),
     none AS MATERIALIZED (SELECT * FROM v WHERE what = 'unattributed'),
     total AS MATERIALIZED (SELECT * FROM v WHERE what = 'total'),
     feeds(layer, class) AS (VALUES
       ('syscall', 'app'), ('uring', 'app'), ('all', 'app'),
       ('cache', 'miss'), ('all', 'miss'),
       ('cache', 'fs'), ('fs', 'fs'), ('all', 'fs'),
       ('fs', 'commit'), ('all', 'commit'),
       ('cache', 'block'), ('fs', 'block'), ('block', 'block'), ('all', 'block')),
     bad AS MATERIALIZED (
       SELECT DISTINCT f.class FROM v_lost l JOIN feeds f ON f.layer = l.layer WHERE l.effect IN ('bytes', 'owner')
       UNION
       SELECT 'ledger' FROM v_lost l WHERE l.effect IN ('bytes', 'owner', 'events') AND l.layer IN ('syscall', 'uring', 'cache', 'fs', 'all')
       UNION
       SELECT 'use' FROM v_lost l WHERE l.what = 'use of readahead not followed'),
     flat(gid, sym, class, value, residual, whole) AS (
       SELECT gid, 'L' AS sym, 'given' AS class, L AS value, 0 AS residual, NULL AS whole FROM v
       UNION ALL SELECT v.gid, 'L x R', 'given', CASE WHEN v.L IS NOT NULL THEN a.intended END, 0, NULL FROM v JOIN v_load a
       UNION ALL SELECT gid, 'L_r', 'given', L_r, 0, NULL FROM v
       UNION ALL SELECT v.gid, 'S_load', 'app', v.S_load, none.S_load, total.S_load FROM v JOIN total LEFT JOIN none
       UNION ALL SELECT v.gid, 'B_load', 'block', v.B_load, x.residual, x.whole FROM v LEFT JOIN v_residual x ON x.gid = v.gid AND x.sym = 'B_load'
       UNION ALL SELECT v.gid, 'B_r_load', 'block', v.B_r_load, x.residual, x.whole FROM v LEFT JOIN v_residual x ON x.gid = v.gid AND x.sym = 'B_r_load'
       UNION ALL SELECT v.gid, 'S', 'app', v.S, none.S, total.S FROM v JOIN total LEFT JOIN none
       UNION ALL SELECT v.gid, 'V', 'app', v.V, none.V, total.V FROM v JOIN total LEFT JOIN none
       UNION ALL SELECT v.gid, 'T', 'app', v.T, none.T, total.T FROM v JOIN total LEFT JOIN none
       UNION ALL SELECT v.gid, 'D', 'ledger', v.D, v.slack, v.D FROM v
       UNION ALL SELECT v.gid, 'W', 'fs', v.W, x.residual, x.whole FROM v LEFT JOIN v_residual x ON x.gid = v.gid AND x.sym = 'W'
       UNION ALL SELECT v.gid, 'F', 'fs', v.F, x.residual, x.whole FROM v LEFT JOIN v_residual x ON x.gid = v.gid AND x.sym = 'F'
       UNION ALL SELECT v.gid, 'B', 'block', v.B, x.residual, x.whole FROM v LEFT JOIN v_residual x ON x.gid = v.gid AND x.sym = 'B'
       UNION ALL SELECT v.gid, 'S_r', 'app', v.S_r, none.S_r, total.S_r FROM v JOIN total LEFT JOIN none
       UNION ALL SELECT v.gid, 'S_r_cached', 'app', v.S_r_cached, none.S_r_cached, total.S_r_cached FROM v JOIN total LEFT JOIN none
       UNION ALL SELECT v.gid, 'missed', 'miss', v.missed, x.residual, x.whole FROM v LEFT JOIN v_residual x ON x.gid = v.gid AND x.sym = 'missed'
       UNION ALL SELECT v.gid, 'missed_all', 'miss', v.missed_all, x.residual, x.whole FROM v LEFT JOIN v_residual x ON x.gid = v.gid AND x.sym = 'missed_all'
       UNION ALL SELECT v.gid, 'B_r_call', 'block', v.B_r_call, x.residual, x.whole FROM v LEFT JOIN v_residual x ON x.gid = v.gid AND x.sym = 'B_r_call'
       UNION ALL SELECT v.gid, 'B_r_cached', 'block', v.B_r_cached, x.residual, x.whole FROM v LEFT JOIN v_residual x ON x.gid = v.gid AND x.sym = 'B_r_cached'
       UNION ALL SELECT v.gid, 'B_r_for_write', 'block', v.B_r_for_write, x.residual, x.whole FROM v LEFT JOIN v_residual x ON x.gid = v.gid AND x.sym = 'B_r_for_write'
       UNION ALL SELECT gid, 'flushes', 'block', flushes, 0, NULL FROM v
       UNION ALL SELECT gid, 'syncs', 'app', syncs, 0, NULL FROM v
       UNION ALL SELECT gid, 'commits', 'commit', commits, 0, NULL FROM v
       UNION ALL SELECT gid, 'syscall ops (w)', 'app', ops_S_w, 0, NULL FROM v
       UNION ALL SELECT gid, 'syscall ops (r)', 'app', ops_S_r, 0, NULL FROM v
       UNION ALL SELECT gid, 'VFS + block ops (w)', 'block', ops_V_w + ops_B_w, 0, NULL FROM v
       UNION ALL SELECT gid, 'VFS + block ops (r)', 'block', ops_V_r + ops_B_r, 0, NULL FROM v
       -- what of it was not followed may be unused too; whose use has no owner may be less
       UNION ALL SELECT gid, 'readahead unused', 'miss', ra_unused, ra_unknown, readahead FROM v
       UNION ALL SELECT v.gid, 'readahead', 'use', v.readahead, COALESCE(none.ra_used + none.ra_unknown, 0), v.readahead FROM v LEFT JOIN none)
SELECT f.gid, f.sym, f.value, COALESCE(f.residual, 0) AS residual, f.whole,
       COALESCE(b.class IS NOT NULL OR COALESCE(f.residual, 0) > 0.01 * f.whole, 0) AS short,
       CASE WHEN b.class = 'use' THEN 'some use of readahead was not followed'
            WHEN b.class IS NOT NULL THEN replace(replace(replace(f.sym, '_load', ''), '_call', ''), '_all', '') || ' lost records'
            WHEN COALESCE(f.residual, 0) > 0.01 * f.whole AND f.sym = 'readahead unused'
              THEN printf('use of %d of %d bytes of readahead is not known: mapped files', f.residual, f.whole)
            WHEN COALESCE(f.residual, 0) > 0.01 * f.whole AND f.class = 'ledger'
              THEN printf('the ledger leaves %d of %d bytes of D unexplained', f.residual, f.whole)
            WHEN COALESCE(f.residual, 0) > 0.01 * f.whole
              THEN printf('%.1f %% of %s%s has no owner', f.residual * 100.0 / f.whole, replace(replace(replace(f.sym, '_load', ''), '_call', ''), '_all', ''), CASE f.class WHEN 'app' THEN '' ELSE ' on its devices' END)
            END AS short_why,
       CASE WHEN f.value IS NOT NULL THEN NULL
            WHEN f.sym IN ('L', 'L_r') THEN f.sym || ' is not given (--ledger, --logical-bytes)'
            WHEN f.sym = 'L x R' THEN 'the ledger says neither replicas nor k and m'
            WHEN f.class = 'ledger' AND r.events = 0 THEN 'D needs events, and the run recorded none'
            WHEN f.class = 'ledger' AND EXISTS (SELECT 1 FROM v_lost WHERE effect = 'events') THEN 'D needs all events, and some were lost'
            WHEN f.class = 'ledger' THEN 'D needs the dirty ledger, and the store has none for this run'
            ELSE COALESCE((SELECT group_concat('layer ' || l.layer || CASE WHEN l.layer IN (SELECT layer FROM v_left_out) THEN ' not recorded' ELSE ' was not measured' END, ', ')
                  FROM (SELECT 'syscall' AS layer, syscall AS there FROM v_measured WHERE f.class IN ('app', 'miss', 'use') OR f.sym = 'B_r_for_write'
                        UNION ALL SELECT 'cache', cache FROM v_measured WHERE f.class IN ('miss', 'use')
                        UNION ALL SELECT 'fs', fs FROM v_measured WHERE f.class IN ('fs', 'commit')
                        UNION ALL SELECT 'block', block FROM v_measured WHERE f.class = 'block') l
                  WHERE l.there IS NULL), 'layer uring not recorded, and io_uring was used') END AS why
FROM v_run r JOIN flat f LEFT JOIN bad b ON b.class = f.class;

-- Every ratio of METRICS section 2 that one node's run can give. complement: 1 - numerator / denominator.
-- needs: r and w rows appear where a line has reads or writes at all; an L row where L is given.
CREATE TEMP TABLE v_ratio AS
WITH def(ord, ratio, num, den, formula, needs, complement) AS (VALUES
       (1, 'waf_sys', 'B', 'S', 'B/S', 'w', 0),
       (2, 'waf_e2e', 'B_load', 'L', 'B/L', 'L', 0),
       (2.1, 'waf_norm', 'B_load', 'L x R', 'B/(L x R)', 'R', 0),
       (3, 'hop_app', 'S_load', 'L', 'S/L', 'L', 0),
       (3.1, 'raf_e2e', 'B_r_load', 'L_r', 'B_r/L_r', 'L_r', 0),
       (4, 'hop_page', 'T', 'S', 'T/S', 'w', 0),
       (5, 'hop_coalesce', 'D', 'T', 'D/T', 'w', 0),
       (6, 'hop_flush', 'W', 'D', 'W/D', 'w', 0),
       (7, 'hop_coalesce x hop_flush', 'W', 'T', 'W/T', 'no D', 0),
       (8, 'hop_fs', 'F', 'W', 'F/W', 'w', 0),
       (9, 'hop_blk', 'B', 'F', 'B/F', 'w', 0),
       (10, 'raf_dev', 'B_r_call', 'S_r', 'B_r/S_r, without faults', 'r', 0),
       (11, 'raf_miss', 'B_r_cached', 'missed_all', 'B_r/missed, without direct I/O', 'r', 0),
       (12, 'hit_ratio', 'missed', 'S_r_cached', '1 - missed by calls/S_r, without direct I/O', 'r', 1),
       (13, 'ra_waste', 'readahead unused', 'readahead', 'unused/readahead', 'r', 0),
       (14, 'wra', 'B_r_for_write', 'S', 'B_r for writes/S', 'w', 0),
       (15, 'flush_amp', 'flushes', 'syncs', 'flushes/syncs', 's', 0),
       (16, 'commits_per_fsync', 'commits', 'syncs', 'commits/syncs', 's', 0),
       (17, 'seed_op_amp_r', 'VFS + block ops (r)', 'syscall ops (r)', '(VFS ops + block ops)/syscall ops', 'r', 0),
       (18, 'seed_op_amp_w', 'VFS + block ops (w)', 'syscall ops (w)', '(VFS ops + block ops)/syscall ops', 'w', 0)),
     v AS MATERIALIZED (SELECT gid, what, who, pid, rank, L, L_r, S, D, B, S_r, B_r, flushes, fsyncs, sync_writes, syncs, commits FROM v_volume
                        WHERE shown AND rank <= 4),
     sym AS MATERIALIZED (SELECT * FROM v_symbol),
     pair AS (
       SELECT v.gid, v.what, v.who, v.pid, v.rank, v.B + v.B_r AS weight, d.ord, d.ratio, d.formula, d.num, d.den, d.complement,
              n.value AS numerator, m.value AS denominator,
              n.residual AS numerator_residual, m.residual AS denominator_residual,
              CASE d.complement WHEN 0 THEN n.short ELSE m.short END AS up,
              CASE d.complement WHEN 0 THEN m.short ELSE n.short END AS down,
              COALESCE(n.why, m.why, CASE WHEN m.value = 0 THEN replace(replace(d.den, '_load', ''), '_all', '') || ' is 0' END,
                       CASE WHEN d.complement AND n.value > m.value THEN 'more was missed than calls returned' END,
                       CASE WHEN n.short AND m.short THEN n.short_why || ', and ' || m.short_why END) AS absent,
              COALESCE(n.short_why, m.short_why) AS short, CASE WHEN d.needs IN ('L', 'L_r', 'R') THEN NULLIF(CASE WHEN v.what = 'all' AND a.owner_system IS NOT NULL THEN a.owner_system || CASE a.note WHEN '' THEN '' ELSE ', ' END ELSE '' END || a.note, '')
                                                              WHEN d.needs = 's' AND v.sync_writes > 0 THEN printf('syncs: %d calls, %d synchronous writes', v.fsyncs, v.sync_writes) END AS about
       FROM v JOIN v_load a JOIN def d
       JOIN sym n ON n.gid = v.gid AND n.sym = d.num
       JOIN sym m ON m.gid = v.gid AND m.sym = d.den
       WHERE (d.needs = 'w' AND (COALESCE(v.S, 0) > 0 OR COALESCE(v.B, 0) > 0))
          OR (d.needs = 'r' AND (COALESCE(v.S_r, 0) > 0 OR COALESCE(v.B_r, 0) > 0))
          OR (d.needs = 's' AND (v.syncs > 0 OR v.flushes > 0 OR v.commits > 0))
          OR (d.needs = 'L' AND v.L IS NOT NULL)
          OR (d.needs = 'R' AND v.L IS NOT NULL AND a.has_ledger)
          OR (d.needs = 'L_r' AND v.L_r IS NOT NULL AND (v.L_r > 0 OR COALESCE(v.L, 0) = 0))
          OR (d.needs = 'no D' AND v.D IS NULL AND COALESCE(v.S, 0) > 0))
SELECT gid, what, who, pid, rank, weight, ord, ratio, formula, num, numerator, den, denominator,
       CASE WHEN absent IS NOT NULL THEN 'n/a' WHEN up THEN '>=' WHEN down THEN '<=' ELSE 'exact' END AS bound,
       CASE WHEN absent IS NOT NULL THEN NULL
            WHEN complement THEN (denominator - numerator) * 1.0 / denominator
            ELSE numerator * 1.0 / denominator END AS value,
       COALESCE(absent, short || COALESCE('; ' || about, ''), about, '') AS note, numerator_residual, denominator_residual
FROM pair;

-- Operations and bytes a layer. Kinds that never carry bytes have none (NULL), not 0.
CREATE TEMP VIEW v_layer AS
WITH c AS MATERIALIZED (
       SELECT gid, layer_id, layer, dir, on_file, app AND (r OR w) AND NOT on_file AS elsewhere, block AND NOT leaf AS stacked, block AND loopback AS again,
              SUM(ops) AS ops, SUM(errors) AS errors, SUM(bytes) AS bytes
       FROM v_cell
       WHERE kind NOT IN ('queue_read', 'queue_write')
       GROUP BY gid, layer_id, dir, on_file, elsewhere, stacked, again)
SELECT gid, layer_id, layer || CASE WHEN elsewhere THEN ', not files' WHEN stacked THEN ', stacked' WHEN again THEN ', loop again' ELSE '' END AS layer,
       CASE dir WHEN 'r' THEN 'read' WHEN 'w' THEN 'write' WHEN 's' THEN 'sync' WHEN 'm' THEN 'name' ELSE 'other' END AS op,
       SUM(ops) AS ops, SUM(errors) AS errors, CASE WHEN dir IN ('r', 'w') THEN SUM(bytes) END AS bytes, 'measured' AS source
FROM c
GROUP BY gid, layer_id, elsewhere, stacked, again, dir
UNION ALL
SELECT c.gid, l.id, 'vfs', CASE c.dir WHEN 'r' THEN 'read' ELSE 'write' END, SUM(c.ops), SUM(c.errors), SUM(c.bytes), 'derived'
FROM c JOIN v_measured m JOIN layer l ON l.name = 'vfs'
WHERE m.vfs IS NULL AND c.on_file AND c.dir IN ('r', 'w')
GROUP BY c.gid, c.dir;

-- Bytes on sockets by line of the report, exact whether or not every flow had a row.
CREATE TEMP VIEW v_net AS
SELECT c.gid, SUM(CASE WHEN c.w THEN c.bytes ELSE 0 END) AS sent, SUM(CASE WHEN c.r THEN c.bytes ELSE 0 END) AS received,
       SUM(CASE WHEN c.w AND c.sub = 'net_loopback' THEN c.bytes ELSE 0 END) AS sent_loopback,
       SUM(CASE WHEN c.r AND c.sub = 'net_loopback' THEN c.bytes ELSE 0 END) AS received_loopback,
       SUM(CASE WHEN c.w THEN c.ops ELSE 0 END) AS sends, SUM(CASE WHEN c.r THEN c.ops ELSE 0 END) AS receives
FROM v_cell c
WHERE c.layer = 'net'
GROUP BY c.gid;

-- What clients wrote to and read from files that a storage system serves through FUSE: calls of anybody but the system itself.
CREATE TEMP VIEW v_fuse AS
SELECT d.fs, COALESCE(d.mount, '(mount point not known)') AS mount, SUM(CASE WHEN c.w THEN c.bytes ELSE 0 END) AS client_fuse_in,
       SUM(CASE WHEN c.r THEN c.bytes ELSE 0 END) AS client_fuse_out
FROM v_cell c JOIN v_device d ON d.dev = c.dev
LEFT JOIN v_process p ON p.id = c.owner
WHERE c.on_file AND c.owner <> 1 AND d.fs LIKE 'fuse%' AND (p.system IS NULL OR d.fs NOT LIKE 'fuse.' || p.system || '%')
GROUP BY c.dev
HAVING SUM(c.bytes) > 0;

-- The owner of each end of a flow: the smallest, where several processes use one socket.
CREATE TEMP VIEW v_end AS
SELECT f.protocol, f.local, f.local_port, f.remote, f.remote_port, MIN(f.owner) AS owner
FROM ask JOIN flow f ON f.run = ask.run
WHERE f.remote IS NOT NULL
GROUP BY f.protocol, f.local, f.local_port, f.remote, f.remote_port;

-- Flows, each with the process at its other end when that was traced too. link, seen from the owner: internal, both ends are
-- of one storage system; client, it accepted a peer that is traced and of another, or that
-- --system left out; accepted, a peer that is not traced: a
-- client or another node; connected, it is itself the client; other, not known which.
CREATE TEMP VIEW v_flow AS
WITH peer AS MATERIALIZED (
       SELECT f.rowid AS flow, MIN(e.owner) AS owner
       FROM ask JOIN flow f ON f.run = ask.run
       JOIN v_end e ON e.protocol = f.protocol AND e.local_port = f.remote_port AND e.remote_port = f.local_port
            AND (e.local = f.remote OR e.local IN ('0.0.0.0', '::')) AND (e.remote = f.local OR f.local IN ('0.0.0.0', '::'))
       GROUP BY f.rowid)
SELECT o.gid, o.owner, o.system, f.family, f.protocol, f.local, f.local_port, f.remote, f.remote_port, f.role, f.loopback,
       f.sent_bytes AS sent, f.recv_bytes AS received, f.sends, f.recvs AS receives, p.owner AS peer, q.comm AS peer_comm,
       q.pid AS peer_pid, q.system AS peer_system,
       CASE WHEN o.system = q.system THEN 'internal'
            WHEN f.role = 'server' AND (p.owner > 2 OR p.owner = 2 AND r.apart) THEN 'client'
            WHEN f.role = 'server' THEN 'accepted'
            WHEN f.role = 'client' THEN 'connected'
            ELSE 'other' END AS link
FROM ask JOIN flow f ON f.run = ask.run
JOIN (SELECT ' ' || COALESCE(filters, '') || ' ' LIKE '% system=%' AS apart FROM v_run) r
JOIN v_owner o ON o.owner = f.owner
LEFT JOIN peer p ON p.flow = f.rowid
LEFT JOIN v_process q ON q.id = p.owner;

-- Network amplification (METRICS N), for a run or system whose payload L is given: for the ledger's system, where the run knows it. A byte between two traced ends is counted
-- once: on client links at the server's end, on internal links where it was sent. Peers that are not traced may be clients or
-- other nodes, and flows without a row were not classified: both numbers are then lower bounds.
CREATE TEMP VIEW v_naf AS
WITH n AS (SELECT COALESCE(SUM(CASE WHEN f.link = 'client' THEN f.sent + f.received END), 0) AS client,
                  COALESCE(SUM(CASE WHEN f.link = 'internal' THEN f.sent END), CASE WHEN COUNT(f.system) > 0 THEN 0 END) AS internal,
                  COALESCE(SUM(CASE WHEN f.link IN ('accepted', 'other') THEN f.sent + f.received END), 0) AS open
           FROM ask JOIN v_flow f
           JOIN v_load a
           WHERE f.owner > 2 AND (COALESCE(a.owner_system, ask.system) IS NULL OR f.system = COALESCE(a.owner_system, ask.system))
             AND (a.owner_system IS NULL OR ask.system IS NULL OR a.owner_system = ask.system)),
     d(ord, ratio, formula, numerator) AS (
           SELECT 1, 'naf_cli', 'N_cli/', client FROM n
           UNION ALL
           SELECT 2, 'naf_int', 'N_int/', internal FROM n),
     lossy AS (SELECT COUNT(*) AS n FROM v_lost WHERE what = 'flow table full' OR layer IN ('net', 'all') AND effect = 'bytes')
SELECT d.ord, d.ratio, d.formula || a.formula_N AS formula,
       CASE WHEN m.net IS NULL OR d.numerator IS NULL OR a.N = 0 THEN '' WHEN n.open + lossy.n > 0 THEN '>=' ELSE 'exact' END AS bound,
       d.numerator * m.net * 1.0 / NULLIF(a.N, 0) AS value, d.numerator * m.net AS numerator, a.N AS denominator,
       CASE WHEN m.net IS NULL THEN 'layer net was not measured' WHEN d.numerator IS NULL THEN 'no storage system was recognised'
            WHEN n.open > 0 THEN n.open || ' bytes with peers that are not traced'
            WHEN lossy.n > 0 THEN 'the run lost flows' END AS note
FROM v_load a JOIN v_measured m JOIN n JOIN d JOIN lossy
WHERE a.L IS NOT NULL OR a.L_r IS NOT NULL;

-- Device bytes by cause. share_* of METRICS section 2.
CREATE TEMP VIEW v_cause AS
SELECT c.gid, c.cause, c.how, c.device,
       SUM(CASE WHEN c.block_write AND c.on_leaf THEN c.bytes ELSE 0 END) AS written,
       SUM(CASE WHEN c.block_read AND c.on_leaf THEN c.bytes ELSE 0 END) AS read,
       SUM(CASE WHEN c.block_write AND NOT c.on_leaf THEN c.bytes ELSE 0 END) AS written_again,
       SUM(CASE WHEN c.block_read AND NOT c.on_leaf THEN c.bytes ELSE 0 END) AS read_again
FROM v_cell c
WHERE c.block
GROUP BY c.gid, c.cause, c.how, c.device;

-- Latency buckets. system NULL: processes outside any system. middle: within 6.25 % of every value of the bucket.
CREATE TEMP VIEW v_hist AS
SELECT l.name AS layer, k.name AS kind, h.system, COALESCE(h.other, 0) AS no_file, h.bucket, h.low_ns, h.high_ns, (h.low_ns + h.high_ns) / 2 AS middle_ns, h.n,
       SUM(h.n) OVER (PARTITION BY h.kind, h.system, COALESCE(h.other, 0) ORDER BY h.bucket) AS upto,
       SUM(h.n) OVER (PARTITION BY h.kind, h.system, COALESCE(h.other, 0)) AS total
FROM ask JOIN hist h ON h.run = ask.run
JOIN kind k ON k.id = h.kind
JOIN layer l ON l.id = k.layer
WHERE ask.system IS NULL OR h.system = ask.system;

-- Count, sum and maximum of durations of wanted processes, by kind, system, and whether it is about files. Where not every operation was
-- timed, the sum is an estimate: the mean of those that were, for all. NULL: none was timed.
CREATE TEMP VIEW v_duration AS
SELECT layer, kind, system, no_file, ops, errors, timed, told, CASE WHEN timed >= ops THEN lat_ns ELSE lat_ns * 1.0 / NULLIF(timed, 0) * ops END AS sum_ns,
       timed < ops AS estimate, lat_ns * 1.0 / NULLIF(timed, 0) AS mean_ns, CASE WHEN timed > 0 THEN max_ns END AS max_ns
FROM (SELECT c.layer, c.kind, o.system, c.app AND c.no_file AS no_file, SUM(c.ops) AS ops, SUM(c.errors) AS errors,
             SUM(c.timed) AS told, COALESCE(SUM(c.timed), SUM(CASE WHEN c.lat_ns > 0 THEN c.ops END), 0) AS timed, SUM(c.lat_ns) AS lat_ns, MAX(c.max_ns) AS max_ns
      FROM ask JOIN v_run r JOIN v_cell c JOIN v_owner o ON o.owner = c.owner
      WHERE o.owner NOT IN (1, 2) AND (o.owner <> 0 OR r.filters IS NULL) AND (ask.system IS NULL OR o.system = ask.system)
      GROUP BY c.layer, c.kind, o.system, c.app AND c.no_file);

-- Aggregates a second, only what timelines need.
CREATE TEMP VIEW v_second AS
SELECT a.sec,
       SUM(CASE WHEN k.dir = 'w' AND l.name IN ('syscall', 'uring') AND s.name IN ('regular', 'blockdev') THEN a.bytes ELSE 0 END) AS S,
       SUM(CASE WHEN k.dir = 'r' AND l.name IN ('syscall', 'uring') AND s.name IN ('regular', 'blockdev') THEN a.bytes ELSE 0 END) AS S_r,
       SUM(CASE WHEN k.name = 'block_write' AND COALESCE(d.leaf, 1) AND c.name IN ('data', 'direct') THEN a.bytes ELSE 0 END) AS B_data,
       SUM(CASE WHEN k.name = 'block_write' AND COALESCE(d.leaf, 1) AND c.name = 'journal' THEN a.bytes ELSE 0 END) AS B_journal,
       SUM(CASE WHEN k.name = 'block_write' AND COALESCE(d.leaf, 1) AND c.name = 'metadata' THEN a.bytes ELSE 0 END) AS B_metadata,
       SUM(CASE WHEN k.name = 'block_write' AND COALESCE(d.leaf, 1) AND c.name NOT IN ('data', 'direct', 'journal', 'metadata', 'loopback')
                THEN a.bytes ELSE 0 END) AS B_rest,
       SUM(CASE WHEN k.name = 'block_read' AND COALESCE(d.leaf, 1) AND c.name <> 'loopback' THEN a.bytes ELSE 0 END) AS B_r,
       SUM(CASE WHEN k.name = 'block_flush' THEN a.ops ELSE 0 END) AS flushes
FROM ask JOIN agg a ON a.run = ask.run
JOIN kind k ON k.id = a.kind
JOIN layer l ON l.id = k.layer
JOIN cause c ON c.id = a.cause
JOIN sub s ON s.id = a.sub
LEFT JOIN v_device d ON d.dev = a.dev
LEFT JOIN v_process p ON p.id = a.owner
WHERE a.owner NOT IN (1, 2) AND (ask.system IS NULL OR p.system = ask.system)
GROUP BY a.sec;

CREATE TEMP VIEW v_file AS
SELECT CASE WHEN f.path IS NULL AND g.file <> 0 THEN -1 ELSE g.file END AS file, CASE WHEN f.path IS NOT NULL THEN d.device END AS device,
       CASE WHEN f.path IS NOT NULL THEN f.ino END AS ino,
       COALESCE(f.path, CASE g.file WHEN 0 THEN '(file not known)' ELSE '(name not known)' END) AS path, f.component, g.owner, g.touched, g.dirtied, g.absorbed, g.written, g.direct, g.submitted, g.cancelled, g.dirty_end, g.dirty_late, g.dirty_start, g.unexpected
FROM ask JOIN ledger g ON g.run = ask.run
LEFT JOIN file f ON f.run = g.run AND f.id = g.file
LEFT JOIN v_device d ON d.dev = f.dev;

CREATE TEMP VIEW v_truth AS
SELECT t.source, t.what, t.dev, t.pid, t.begin_value, t.end_value, t.end_value - t.begin_value AS delta,
       COALESCE(t.outside, 0) AS outside, COALESCE(t.outside_max - t.outside, 0) AS outside_slack, t.under_way, t.unseen, t.traced, t.uncounted
FROM ask JOIN truth t ON t.run = ask.run;

-- The lines printed above every text report.
CREATE TEMP VIEW v_head AS
SELECT 1 AS ord, 'run ' || run || CASE WHEN label IS NULL THEN '' ELSE ' (' || label || ')' END || ' on ' || host || ', Linux ' || kernel ||
       ', ' || started || COALESCE(printf(', %.3f s', dur_ns / 1e9), '') || COALESCE(': ' || command, '') AS line
FROM v_run
UNION ALL
SELECT 2, 'horizon ' || r.horizon || '; lost: ' || l.lost || CASE r.tier WHEN 'full' THEN '' ELSE '; tier ' || r.tier END || CASE WHEN r.filters IS NULL THEN '' ELSE '; only ' || r.filters END
FROM v_run r JOIN v_lost_text l
UNION ALL
SELECT 3, CASE WHEN horizon = 'at_ack' THEN 'nothing was settled: ' || COALESCE(dirty_bytes || ' bytes were', 'an unknown number of bytes was') ||
       ' still dirty in the whole machine' ELSE 'the run is incomplete: what follows ends at its last whole second' END
FROM v_run
WHERE horizon NOT IN ('after_sync', 'after_checkpoint');

-- Operations a storage system (NULL: processes outside any), whatever the lines of other reports stand for. Bytes that
-- nobody is known to own, other processes and the tracer are in none.
CREATE TEMP VIEW v_system AS
WITH part AS (
       SELECT p.system,
              SUM(CASE WHEN c.on_file AND c.dir = 'r' THEN c.bytes ELSE 0 END) AS s_r,
              SUM(CASE WHEN c.on_file AND c.dir = 'w' THEN c.bytes ELSE 0 END) AS s_w,
              SUM(CASE WHEN c.on_file AND c.dir = 'r' THEN c.ops ELSE 0 END) AS s_ops_r,
              SUM(CASE WHEN c.on_file AND c.dir = 'w' THEN c.ops ELSE 0 END) AS s_ops_w,
              SUM(CASE WHEN c.on_file AND c.dir = 'r' THEN c.lat_ns ELSE 0 END) AS s_lat_r,
              SUM(CASE WHEN c.on_file AND c.dir = 'w' THEN c.lat_ns ELSE 0 END) AS s_lat_w,
              SUM(CASE WHEN c.on_file AND c.dir = 'r' AND c.lat_ns > 0 THEN COALESCE(c.timed, c.ops) END) AS s_timed_r,
              SUM(CASE WHEN c.on_file AND c.dir = 'w' AND c.lat_ns > 0 THEN COALESCE(c.timed, c.ops) END) AS s_timed_w,
              SUM(CASE WHEN c.layer = 'vfs' AND c.dir = 'r' THEN c.ops ELSE 0 END) AS v_ops_r,
              SUM(CASE WHEN c.layer = 'vfs' AND c.dir = 'w' THEN c.ops ELSE 0 END) AS v_ops_w,
              SUM(CASE WHEN c.kind = 'block_read' AND c.on_leaf THEN c.ops ELSE 0 END) AS b_ops_r,
              SUM(CASE WHEN c.kind = 'block_write' AND c.on_leaf THEN c.ops ELSE 0 END) AS b_ops_w
       FROM ask JOIN v_cell c JOIN v_process p ON p.id = c.owner
       WHERE c.owner > 2 AND (ask.system IS NULL OR p.system = ask.system)
       GROUP BY p.system)
SELECT p.system, p.s_r * m.syscall AS S_r, p.s_w * m.syscall AS S, p.s_ops_r * m.syscall AS ops_S_r, p.s_ops_w * m.syscall AS ops_S_w,
       p.s_lat_r * m.syscall AS lat_S_r, p.s_lat_w * m.syscall AS lat_S_w, p.s_timed_r AS timed_S_r, p.s_timed_w AS timed_S_w,
       CASE WHEN m.vfs THEN p.v_ops_r ELSE p.s_ops_r * m.syscall END AS ops_V_r,
       CASE WHEN m.vfs THEN p.v_ops_w ELSE p.s_ops_w * m.syscall END AS ops_V_w,
       p.b_ops_r * m.block AS ops_B_r, p.b_ops_w * m.block AS ops_B_w
FROM part p JOIN v_measured m;

-- All runs of the store.
CREATE TEMP VIEW v_runs AS
SELECT r.run, r.label, r.host, r.kernel, strftime('%Y-%m-%dT%H:%M:%SZ', r.wall_ns / 1000000000, 'unixepoch') AS started,
       e.dur_ns / 1e9 AS seconds, e.horizon, e.status, COALESCE(e.events, 0) AS events,
       (SELECT COALESCE(SUM(l.n), 0) FROM lost l WHERE l.run = r.run) AS lost,
       CASE WHEN e.run IS NULL THEN 'incomplete' ELSE 'complete' END AS state, r.command
FROM run r LEFT JOIN run_end e ON e.run = r.run;

-- Journal bytes on devices by the structure that each block is, and the commits that wrote them.
CREATE TEMP VIEW v_journal AS
SELECT c.device, c.sub AS structure, SUM(c.bytes) AS bytes
FROM ask JOIN v_cell c JOIN v_owner o ON o.owner = c.owner
WHERE c.kind = 'block_write' AND c.on_leaf AND c.cause = 'journal' AND o.shown
GROUP BY c.device, c.sub;

CREATE TEMP VIEW v_commit AS
SELECT c.device, SUM(c.ops) AS commits
FROM v_cell c JOIN v_owner o ON o.owner = c.owner
WHERE c.is_commit AND o.shown
GROUP BY c.device;

-- The block size of a journal: a commit record is one block and one request of its own. NULL when that does not come out even.
CREATE TEMP VIEW v_journal_block AS
SELECT device, CASE WHEN ops > 0 AND bytes % ops = 0 AND bytes / ops IN (512, 1024, 2048, 4096, 8192, 16384, 32768, 65536) THEN bytes / ops END AS block_bytes
FROM (SELECT c.device, SUM(c.ops) AS ops, SUM(c.bytes) AS bytes
      FROM v_cell c
      WHERE c.block_write AND c.on_leaf AND c.cause = 'journal' AND c.sub = 'commit'
      GROUP BY c.device);

-- The one disk that the run was about, by --dev, which takes a name, a path or major:minor; NULL: all.
CREATE TEMP VIEW v_only_disk AS
SELECT d.dev
FROM (SELECT substr(' ' || filters || ' ', instr(' ' || filters || ' ', ' dev=') + 5) AS rest FROM v_run WHERE ' ' || filters LIKE '% dev=%') f
JOIN v_device d ON substr(f.rest, 1, instr(f.rest, ' ') - 1) IN (d.device, '/dev/' || d.device, (d.dev >> 20) || ':' || (d.dev & 1048575));

-- Every check of `verify`, one row each. traced: what the aggregates or the ledger say; kernel: what they must equal.
CREATE TEMP VIEW v_check AS
WITH t AS MATERIALIZED (SELECT * FROM v_truth),
     device AS (
       SELECT c.dev, c.kind, SUM(c.bytes) AS bytes, SUM(CASE WHEN c.cause = 'before_run' THEN c.bytes ELSE 0 END) AS early
       FROM v_cell c
       WHERE c.kind IN ('block_read', 'block_write')
       GROUP BY c.dev, c.kind),
     -- the kernel counts the ranges of write-zeroes and of secure erases as written; they are no bytes here
     zeroed AS (
       SELECT c.dev, SUM(c.touched) AS bytes
       FROM v_cell c
       WHERE c.kind = 'block_zeroes' OR (c.kind = 'block_other' AND c.cause = 'discard')
       GROUP BY c.dev),
     disk AS (
       SELECT 1 AS ord, w.what, COALESCE(d.device, t.source) AS subject,
              (COALESCE(a.bytes, 0) + CASE t.what WHEN 'write_bytes' THEN COALESCE(z.bytes, 0) ELSE 0 END + t.outside) * m.block AS traced, t.delta AS kernel,
              t.outside_slack AS slack,
              CASE WHEN m.block IS NULL THEN 'layer block was not measured'
                   WHEN d.leaf = 0 THEN 'no leaf: the devices below it count its bytes'
                   WHEN t.uncounted THEN 'the kernel was told not to count: iostats is 0' END AS absent, t.source AS note,
              a.early, t.outside, t.under_way, t.unseen
       FROM t JOIN (SELECT 'read_bytes' AS name, 'device bytes read' AS what UNION ALL SELECT 'write_bytes', 'device bytes written') w ON w.name = t.what
       JOIN v_measured m LEFT JOIN v_device d ON d.dev = t.dev LEFT JOIN zeroed z ON z.dev = t.dev
       LEFT JOIN device a ON a.dev = t.dev AND a.kind = CASE t.what WHEN 'read_bytes' THEN 'block_read' ELSE 'block_write' END
       WHERE t.pid IS NULL AND (t.delta <> 0 OR a.bytes > 0) AND (NOT EXISTS (SELECT 1 FROM v_only_disk) OR t.dev IN (SELECT dev FROM v_only_disk))),
     -- what the edges of the run cut through: no request of a server that is never idle waits for the gate
     edge AS (
       SELECT 1, what || ', begun before the run', subject, early, NULL, 0, 'queued before it, completed inside it: owner not known', '' FROM disk WHERE early > 0
       UNION ALL
       SELECT 1, what || ', outside the run', subject, outside, NULL, 0, 'completed between a reading of the counter and the run', '' FROM disk WHERE outside > 0
       UNION ALL
       SELECT 1, what || ', under way at its end', subject, under_way, NULL, 0, 'of requests that began inside it and had not completed', '' FROM disk WHERE under_way > 0
       UNION ALL
       SELECT 1, what || ', completion not told', subject, unseen, NULL, 0, 'the kernel called no program; known by the requests', '' FROM disk WHERE unseen > 0),
     life AS MATERIALIZED (
       SELECT p.pid, p.start_ns, MAX(p.id), p.comm || CASE WHEN p.folded > 1 THEN ' and ' || (p.folded - 1) || ' like it' ELSE '' END AS comm,
              SUM(p.rchar) AS rchar, SUM(p.wchar) AS wchar
       FROM v_process p
       WHERE p.id > 2
       GROUP BY p.pid, p.start_ns
       -- what it was before an exec ends there, and may be all that has ended
       HAVING (SUM(p.rchar) IS NOT NULL OR SUM(p.wchar) IS NOT NULL) AND SUM(p.rchar IS NULL AND p.wchar IS NULL AND p.fold IS NULL) = 0),
     calls AS MATERIALIZED (
       SELECT p.pid, p.start_ns, SUM(CASE WHEN k.r THEN t.bytes ELSE 0 END) AS r, SUM(CASE WHEN k.w THEN t.bytes ELSE 0 END) AS w
       FROM ask JOIN agg_total t ON t.run = ask.run JOIN v_kind k ON k.id = t.kind JOIN v_process p ON p.id = t.owner
       WHERE k.layer = 'syscall' AND k.kind NOT LIKE 'aio%' AND k.kind NOT LIKE 'splice%'
       GROUP BY p.pid, p.start_ns),
     task AS (
       SELECT 2, 'process bytes written', l.comm || ' [' || l.pid || ']', COALESCE(c.w, 0) * m.syscall, l.wchar, 0,
              CASE WHEN m.syscall IS NULL THEN 'layer syscall was not measured' END, 'wchar'
       FROM life l JOIN v_measured m LEFT JOIN calls c ON c.pid = l.pid AND c.start_ns = l.start_ns
       WHERE l.wchar IS NOT NULL
       UNION ALL
       SELECT 2, 'process bytes read', l.comm || ' [' || l.pid || ']', COALESCE(c.r, 0) * m.syscall, l.rchar, 0,
              CASE WHEN m.syscall IS NULL THEN 'layer syscall was not measured' END, 'rchar'
       FROM life l JOIN v_measured m LEFT JOIN calls c ON c.pid = l.pid AND c.start_ns = l.start_ns
       WHERE l.rchar IS NOT NULL
       UNION ALL
       SELECT 3, CASE t.what WHEN 'wchar' THEN 'process bytes written' ELSE 'process bytes read' END, MAX(p.comm) || ' [' || t.pid || ']',
              COALESCE(c.bytes, 0) * m.syscall, t.delta, 0,
              CASE WHEN m.syscall IS NULL THEN 'layer syscall was not measured'
                   WHEN COALESCE(c.bytes, 0) < t.delta
                     THEN printf('it ran while tracing began or ended: %d of %d bytes traced', COALESCE(c.bytes, 0), t.delta) END, t.what
       FROM t JOIN v_measured m JOIN v_process p ON p.pid = t.pid
       LEFT JOIN (SELECT pid, 'rchar' AS what, SUM(r) AS bytes FROM calls GROUP BY pid UNION ALL SELECT pid, 'wchar', SUM(w) FROM calls GROUP BY pid) c
         ON c.pid = t.pid AND c.what = t.what
       WHERE t.what IN ('rchar', 'wchar') AND t.pid IS NOT NULL AND p.id > 2
       GROUP BY t.pid, t.what
       UNION ALL
       SELECT 3, 'process bytes', n || ' processes', NULL, NULL, 0, 'neither born and ended inside the run, nor there from its start to its end', ''
       FROM (SELECT COUNT(DISTINCT p.pid || ' ' || p.start_ns) AS n
             FROM v_process p LEFT JOIN life l ON l.pid = p.pid AND l.start_ns = p.start_ns
             WHERE p.id > 2 AND NOT p.kthread AND p.fold IS NULL AND l.pid IS NULL AND p.pid NOT IN (SELECT t.pid FROM t WHERE t.pid IS NOT NULL))
       WHERE n > 0),
     -- calls return no bytes of requests that failed
     failed AS (SELECT COALESCE(SUM(c.touched), 0) AS failed FROM v_cell c WHERE c.block_write AND c.errors > 0 AND c.file_data),
     sums AS (
       SELECT SUM(g.dirtied) AS dirtied, SUM(g.written) AS written, SUM(g.cancelled) AS cancelled,
              SUM(g.dirty_end) AS dirty_end, SUM(g.dirty_start) AS dirty_start, SUM(g.unexpected) AS unexpected, SUM(g.slack) AS slack, SUM(g.d_w) AS d_w
       FROM v_ledger g),
     ledger AS (
       SELECT 4, 'ledger: dirtied = written + cancelled + still dirty', 'run',
              s.dirty_start + s.dirtied + s.unexpected, s.written + s.cancelled + s.dirty_end, 0,
              CASE WHEN EXISTS (SELECT 1 FROM v_only_disk) THEN 'the run is about one disk, calls are about all'
                   WHEN m.ledger IS NULL AND r.events = 0 THEN 'needs events, and the run recorded none'
                   WHEN m.ledger IS NULL AND EXISTS (SELECT 1 FROM v_lost WHERE effect = 'events') THEN 'needs all events, and some were lost'
                   WHEN m.ledger IS NULL THEN 'the store has no ledger for this run' END, 'dirty before the run + dirtied + unexpected'
       FROM v_measured m JOIN v_run r JOIN sums s
       UNION ALL
       SELECT 5, 'ledger: unexplained (at most 1 % of D)', 'run', s.slack, 0, CAST(s.d_w / 100 AS INTEGER) + x.failed,
              CASE WHEN EXISTS (SELECT 1 FROM v_only_disk) THEN 'the run is about one disk, calls are about all'
                                                                      WHEN m.ledger IS NULL THEN 'no ledger' END, 'unexpected, and still dirty after a settle'
       FROM v_measured m JOIN sums s JOIN failed x
       UNION ALL
       SELECT 6, 'ledger: file data submitted', 'run', s.written + s.submitted, a.f_data, x.failed,
              CASE WHEN m.ledger IS NULL THEN 'no ledger' WHEN m.fs IS NULL THEN 'layer fs was not measured'
                   WHEN EXISTS (SELECT 1 FROM v_lost WHERE effect = 'events' AND layer = 'fs') THEN 'events of layer fs were lost' END,
              'events against aggregates, of traced processes'
       FROM v_measured m
       JOIN failed x
       JOIN (SELECT COALESCE(SUM(l.written), 0) AS written, COALESCE(SUM(l.submitted), 0) AS submitted FROM v_ledger l JOIN v_group g ON g.gid = l.gid WHERE g.rank < 4 OR g.what = 'unattributed') s
       JOIN (SELECT COALESCE(SUM(v.f_data), 0) AS f_data FROM v_sum v JOIN v_group g ON g.gid = v.gid WHERE g.rank < 4 OR g.what = 'unattributed') a),
     ext4 AS (
       SELECT 7, 'ext4 session_write_bytes', COALESCE(d.device, t.source), (COALESCE(t.traced, COALESCE(a.bytes, 0) + COALESCE(z.bytes, 0)) + t.outside) * m.block, t.delta,
              1023 + t.outside_slack,
              CASE WHEN m.block IS NULL THEN 'layer block was not measured'
                   WHEN t.uncounted THEN 'the kernel was told not to count: iostats is 0'
                   WHEN d.type = 'md' THEN 'md does not count each of its bytes once'
                   WHEN t.begin_value = 0 AND COALESCE(t.traced, a.bytes) > t.delta THEN 'mounted inside the run: it counts from then on' END, t.source
       FROM t JOIN v_measured m LEFT JOIN v_device d ON d.dev = t.dev LEFT JOIN device a ON a.dev = t.dev AND a.kind = 'block_write'
       LEFT JOIN zeroed z ON z.dev = t.dev
       WHERE t.what = 'session_write_bytes' AND (NOT EXISTS (SELECT 1 FROM v_only_disk) OR t.dev IN (SELECT dev FROM v_only_disk))),
     lines AS (SELECT ord, what, subject, traced, kernel, slack, absent, note FROM disk UNION ALL SELECT * FROM edge UNION ALL SELECT * FROM task UNION ALL SELECT * FROM ledger UNION ALL SELECT * FROM ext4),
     lossy AS (SELECT COALESCE(MAX(effect = 'bytes'), 0) AS bytes, COALESCE(MAX(effect = 'owner'), 0) AS owner FROM v_lost)
SELECT l.ord, l.what, l.subject, l.traced, l.kernel, l.traced - l.kernel AS difference,
       CASE WHEN l.absent IS NOT NULL OR l.traced IS NULL OR l.kernel IS NULL THEN 'n/a'
            WHEN abs(l.traced - l.kernel) <= l.slack THEN 'OK'
            WHEN lossy.bytes OR (lossy.owner AND l.ord IN (2, 3, 6)) THEN 'n/a' ELSE 'MISMATCH' END AS result,
       COALESCE(l.absent, l.note) || CASE WHEN (lossy.bytes OR lossy.owner) AND l.absent IS NULL THEN '; the run lost records' ELSE '' END AS note
FROM lines l JOIN lossy;

-- Bytes of a component of a storage system, one row a line of the report and component. part: 'component', from the sums by file
-- (METRICS: S, S_r, and the file's part of B, B_r; of calls NULL where records of them are missing); 'rest', file data of no known component, what the
-- components leave of the line's device bytes, with a row of its own for files of which no name is known; 'fs', what the file system adds: its
-- journal, its structures. written and read of a line sum to its B and B_r. Without sums by file there is one row 'rest', whose component is NULL.
CREATE TEMP TABLE v_component AS
WITH known AS (
       SELECT EXISTS (SELECT 1 FROM ask JOIN file_io i ON i.run = ask.run) AS yes,
              CASE WHEN m.syscall AND NOT EXISTS (SELECT 1 FROM v_lost WHERE layer IN ('syscall', 'uring') AND effect = 'bytes') THEN 1 END AS calls
       FROM v_measured m),
     io AS MATERIALIZED (
       SELECT o.gid, COALESCE(n.name, f.component) AS component, f.path IS NULL AS nameless,
              SUM(i.write_bytes) AS S, SUM(i.read_bytes) AS S_r, SUM(i.write_ops) AS ops_w, SUM(i.read_ops) AS ops_r,
              SUM(i.sync_ops) AS syncs, SUM(i.dev_write_bytes) AS written, SUM(i.dev_read_bytes) AS read
       FROM ask JOIN file_io i ON i.run = ask.run
       JOIN v_owner o ON o.owner = i.owner
       LEFT JOIN file f ON f.run = i.run AND f.id = i.file
       LEFT JOIN component n ON n.id = i.component AND n.id > 0
       GROUP BY 1, 2, 3),
     cause AS MATERIALIZED (
       SELECT gid, cause, SUM(written) AS written, SUM(read) AS read, cause IN ('data', 'direct', 'readahead') AS of_files
       FROM v_cause
       GROUP BY gid, cause),
     line AS (SELECT gid FROM io UNION SELECT gid FROM cause),
     -- what has a row of its own
     named AS (SELECT gid, SUM(written) AS written, SUM(read) AS read FROM io WHERE component IS NOT NULL OR nameless GROUP BY gid),
     whole AS (SELECT gid, SUM(written) AS written, SUM(read) AS read FROM cause WHERE of_files GROUP BY gid)
SELECT gid, 'component' AS part, component, SUM(S) * k.calls AS S, SUM(S_r) * k.calls AS S_r, SUM(ops_w) * k.calls AS ops_w, SUM(ops_r) * k.calls AS ops_r,
       SUM(syncs) * k.calls AS syncs, SUM(written) AS written, SUM(read) AS read
FROM known k JOIN io
WHERE component IS NOT NULL
GROUP BY gid, component
UNION ALL
SELECT gid, 'rest', '(name not known)', S * k.calls, S_r * k.calls, ops_w * k.calls, ops_r * k.calls, syncs * k.calls, written, read
FROM known k JOIN io
WHERE component IS NULL AND nameless AND S + S_r + ops_w + ops_r + syncs + written + read > 0
UNION ALL
SELECT l.gid, 'rest', CASE WHEN k.yes THEN 'unclassified' END, CASE WHEN k.yes THEN COALESCE(i.S, 0) * k.calls END, CASE WHEN k.yes THEN COALESCE(i.S_r, 0) * k.calls END,
       CASE WHEN k.yes THEN COALESCE(i.ops_w, 0) * k.calls END, CASE WHEN k.yes THEN COALESCE(i.ops_r, 0) * k.calls END,
       CASE WHEN k.yes THEN COALESCE(i.syncs, 0) * k.calls END,
       (COALESCE(w.written, 0) - COALESCE(n.written, 0)) * m.block, (COALESCE(w.read, 0) - COALESCE(n.read, 0)) * m.block
FROM known k JOIN v_measured m JOIN line l
LEFT JOIN io i ON i.gid = l.gid AND i.component IS NULL AND NOT i.nameless
LEFT JOIN named n ON n.gid = l.gid
LEFT JOIN whole w ON w.gid = l.gid
UNION ALL
SELECT gid, 'fs', 'fs ' || cause, NULL, NULL, NULL, NULL, NULL, written, read
FROM cause
WHERE NOT of_files AND written + read > 0;

-- The lines that have components at all: those of storage systems, and of others that use their files.
CREATE TEMP VIEW v_component_line AS
SELECT g.gid, g.what, g.who, g.pid, g.rank
FROM v_group g
WHERE g.shown AND g.rank <= 4 AND (g.what = 'system' OR EXISTS (SELECT 1 FROM v_component c WHERE c.gid = g.gid AND c.part = 'component'));

-- What the device bytes of a line of the report are, for pictures: its components, where it has some, else what calls and readahead made of
-- its files, by cause; then what the file system adds. They sum to the line's B and B_r.
CREATE TEMP VIEW v_part AS
WITH known AS MATERIALIZED (
       SELECT gid FROM v_component WHERE part = 'component'
       UNION
       SELECT l.gid FROM v_component_line l JOIN v_component c ON c.gid = l.gid AND c.component = 'unclassified')
SELECT c.gid, c.component AS part, c.written, c.read
FROM v_component c JOIN known k ON k.gid = c.gid
UNION ALL
SELECT c.gid, CASE c.cause WHEN 'data' THEN 'file data' WHEN 'direct' THEN 'direct I/O' WHEN 'readahead' THEN 'readahead' ELSE 'fs ' || c.cause END,
       SUM(c.written), SUM(c.read)
FROM v_cause c
WHERE c.gid NOT IN (SELECT gid FROM known)
GROUP BY c.gid, c.cause;

-- The colour of a part in every picture: its place in the palette of style.gp, the same in all. More than 13 components in one run cannot be
-- told apart: then the places are those of the run, and the smallest share the last. What is in none of these rows has colour 17.
CREATE TEMP TABLE v_colour AS
WITH used AS MATERIALIZED (
       SELECT c.component AS part, min(ROW_NUMBER() OVER (ORDER BY SUM(c.written + c.read) DESC, c.component), 13) AS place, COUNT(*) OVER () AS n
       FROM v_component c JOIN v_group g ON g.gid = c.gid
       WHERE g.shown AND g.rank <= 5 AND c.part = 'component'
       GROUP BY c.component
       HAVING SUM(c.written + c.read) > 0)
SELECT part, place AS colour FROM used WHERE n > 13
UNION ALL
SELECT name, CASE WHEN id <= 13 THEN id ELSE id + 7 END FROM component WHERE id BETWEEN 1 AND 21 AND NOT EXISTS (SELECT 1 FROM used WHERE n > 13)
UNION ALL
VALUES ('fs journal', 14), ('fs metadata', 15), ('unclassified', 16), ('(name not known)', 16), ('file data', 18), ('direct I/O', 19), ('readahead', 20);

-- Bytes a second for every second of the run.
CREATE TEMP VIEW v_timeline AS
WITH RECURSIVE t AS MATERIALIZED (SELECT * FROM v_second),
     sec(sec) AS (SELECT 0 UNION ALL SELECT sec + 1 FROM sec WHERE sec < (SELECT MAX(sec) FROM t) LIMIT 1000000)
SELECT s.sec, COALESCE(t.S, 0) * m.syscall AS S, COALESCE(t.S_r, 0) * m.syscall AS S_r, COALESCE(t.B_data, 0) * m.block AS B_data,
       COALESCE(t.B_journal, 0) * m.block AS B_journal, COALESCE(t.B_metadata, 0) * m.block AS B_metadata, COALESCE(t.B_rest, 0) * m.block AS B_rest,
       COALESCE(t.B_r, 0) * m.block AS B_r, COALESCE(t.flushes, 0) * m.block AS flushes
FROM sec s JOIN v_measured m LEFT JOIN t ON t.sec = s.sec
WHERE EXISTS (SELECT 1 FROM t);

-- What devices wrote by second and part, for pictures. File data of known components is in the second in which the file system submitted
-- it: requests of the block layer may hold several files. B_data without it is the rest. A second's difference of the two
-- may be negative, while submitted bytes are under way or because aggregates are read a little after the second: the rest up to a second is
-- then what is left of it at every later one, so that all parts sum to the B of the run. Without complete events all is the rest.
CREATE TEMP VIEW v_second_part AS
WITH line AS MATERIALIZED (SELECT * FROM v_timeline),
     io AS MATERIALIZED (
       SELECT min(e.ts_ns / 1000000000, (SELECT MAX(sec) FROM line)) AS sec, COALESCE(n.name, f.component) AS part, SUM(e.bytes) AS bytes
       FROM ask CROSS JOIN event e ON e.run = ask.run
       LEFT JOIN v_process p ON p.id = e.owner
       LEFT JOIN file f ON f.run = e.run AND f.id = e.file
       LEFT JOIN component n ON n.id = e.component
       WHERE ask.plot AND (SELECT whole FROM v_events) AND e.kind = (SELECT id FROM kind WHERE name = 'fs_write')
         AND e.cause IN (SELECT id FROM cause WHERE name IN ('data', 'direct')) AND COALESCE(e.owner, 0) NOT IN (1, 2)
         AND (ask.system IS NULL OR p.system = ask.system) AND COALESCE(n.name, f.component) IS NOT NULL
       GROUP BY 1, 2),
     rest AS MATERIALIZED (
       SELECT sec, MIN(upto) OVER (ORDER BY sec DESC) AS upto
       FROM (SELECT l.sec, SUM(l.B_data - COALESCE(i.bytes, 0)) OVER (ORDER BY l.sec) AS upto
             FROM line l LEFT JOIN (SELECT sec, SUM(bytes) AS bytes FROM io GROUP BY sec) i ON i.sec = l.sec))
SELECT sec, part, bytes FROM io
UNION ALL
SELECT sec, CASE WHEN EXISTS (SELECT 1 FROM io) THEN 'unclassified' ELSE 'file data' END,
       max(upto, 0) - COALESCE(max(LAG(upto) OVER (ORDER BY sec), 0), 0)
FROM rest
UNION ALL
SELECT sec, 'fs journal', B_journal FROM line
UNION ALL
SELECT sec, 'fs metadata', B_metadata FROM line
UNION ALL
SELECT sec, 'other', B_rest FROM line;

-- What calls moved from and to each file, whatever the dirty ledger knows. Files of which no name is known are one, and so is what no file is known of.
CREATE TEMP VIEW v_file_io AS
SELECT CASE WHEN f.path IS NULL AND i.file <> 0 THEN -1 ELSE i.file END AS file, CASE WHEN f.path IS NOT NULL THEN d.device END AS device,
       CASE WHEN f.path IS NOT NULL THEN f.ino END AS ino,
       COALESCE(f.path, CASE i.file WHEN 0 THEN '(file not known)' ELSE '(name not known)' END) AS path, COALESCE(n.name, f.component) AS component, i.owner,
       i.write_bytes AS S, i.read_bytes AS S_r, i.write_ops AS ops_w, i.read_ops AS ops_r, i.sync_ops AS syncs, i.fs_write_bytes AS W, i.fs_read_bytes AS W_r,
       i.dev_write_bytes AS B, i.dev_read_bytes AS B_r
FROM ask JOIN file_io i ON i.run = ask.run
LEFT JOIN file f ON f.run = i.run AND f.id = i.file
LEFT JOIN component n ON n.id = i.component AND n.id > 0
LEFT JOIN v_device d ON d.dev = f.dev;

-- The runs of object-size sweeps, of the whole store: workloads/sweep.sh labels them "sweep SYSTEM [idle] OPERATION SIZE REPEAT".
-- Of several runs with one label the newest complete one stands. system: as systems.json calls what the ledger, else the label, names.
CREATE TEMP VIEW v_sweep_run AS
WITH word AS (
       SELECT r.run, r.label, r.layers, '["' || replace(r.label, ' ', '","') || '"]' AS words
       FROM run r JOIN run_end e ON e.run = r.run
       WHERE r.label GLOB 'sweep [a-z]* [a-z]* [0-9]* [0-9]*' AND r.label NOT GLOB '*[^a-z0-9 ]*'),
     part AS (
       SELECT run, label, layers, json_array_length(words) AS n, json_extract(words, '$[1]') AS system, json_extract(words, '$[2]') = 'idle' AS idle,
              json_extract(words, '$[#-3]') AS operation, json_extract(words, '$[#-2]') AS size, json_extract(words, '$[#-1]') AS repeat
       FROM word),
     newest AS (
       SELECT MAX(run) AS run, label, layers, system, idle, operation, CAST(size AS INTEGER) AS size, CAST(repeat AS INTEGER) AS repeat
       FROM part
       WHERE n = 5 + idle AND size NOT GLOB '*[^0-9]*' AND repeat NOT GLOB '*[^0-9]*'
       GROUP BY label)
SELECT n.run, n.label, n.layers, COALESCE(a.name, l.system, b.name, n.system) AS system, n.idle, n.operation, n.size, n.repeat
FROM newest n LEFT JOIN load l ON l.run = n.run
LEFT JOIN alias a ON a.alias = l.system
LEFT JOIN alias b ON b.alias = n.system;

-- What each of them did to the devices that its ledger names, whoever did it: they are the system's own.
CREATE TEMP VIEW v_sweep_bytes AS
WITH place AS MATERIALIZED (
       SELECT r.run, d.dev
       FROM v_sweep_run r JOIN load l ON l.run = r.run JOIN device d ON d.run = r.run
       WHERE instr(',' || l.devices || ',', ',' || (d.dev >> 20) || ':' || (d.dev & 1048575) || ',') > 0),
     cell AS (
       SELECT t.run, k.*, c.name AS cause, s.name IN ('regular', 'blockdev') AS on_file, t.bytes, t.touched
       FROM place p JOIN agg_total t ON t.run = p.run AND t.dev = p.dev
       JOIN v_kind k ON k.id = t.kind
       JOIN cause c ON c.id = t.cause
       JOIN sub s ON s.id = t.sub
       WHERE c.name <> 'loopback'),
     total AS MATERIALIZED (
       SELECT run, SUM(CASE WHEN app AND on_file AND w THEN bytes ELSE 0 END) AS S, SUM(CASE WHEN app AND on_file AND r THEN bytes ELSE 0 END) AS S_r,
              SUM(CASE WHEN app AND on_file AND w THEN touched ELSE 0 END) AS T,
              SUM(CASE WHEN fs_write AND cause IN ('data', 'direct') THEN bytes ELSE 0 END) AS W, SUM(CASE WHEN fs_write THEN bytes ELSE 0 END) AS F,
              SUM(CASE WHEN fs_write AND cause = 'journal' THEN bytes ELSE 0 END) AS journal, SUM(CASE WHEN fs_write AND cause = 'metadata' THEN bytes ELSE 0 END) AS metadata,
              SUM(CASE WHEN miss THEN bytes ELSE 0 END) AS missed, SUM(CASE WHEN readahead THEN bytes ELSE 0 END) AS readahead,
              SUM(CASE WHEN block_write THEN bytes ELSE 0 END) AS B, SUM(CASE WHEN block_read THEN bytes ELSE 0 END) AS B_r
       FROM cell
       GROUP BY run),
     dirty AS MATERIALIZED (
       SELECT g.run, SUM(g.dirtied + g.direct) AS D
       FROM place p CROSS JOIN ledger g ON g.run = p.run CROSS JOIN file f ON f.run = g.run AND f.id = g.file AND f.dev = p.dev
       GROUP BY g.run),
     known AS MATERIALIZED (
       SELECT run, CASE WHEN ',' || layers || ',' LIKE '%,syscall,%' THEN 1 END AS app, CASE WHEN ',' || layers || ',' LIKE '%,cache,%' THEN 1 END AS cache,
              CASE WHEN ',' || layers || ',' LIKE '%,fs,%' THEN 1 END AS fs, CASE WHEN ',' || layers || ',' LIKE '%,block,%' THEN 1 END AS block,
              CASE WHEN EXISTS (SELECT 1 FROM ledger g WHERE g.run = r.run) THEN 1 END AS ledger,
              EXISTS (SELECT 1 FROM lost x WHERE x.run = r.run AND x.n > 0 AND x.effect = 'bytes' AND x.layer IN ('cache', 'fs', 'block', 'all')) AS short
       FROM v_sweep_run r)
SELECT k.run, COALESCE(t.S, 0) * k.app AS S, COALESCE(t.S_r, 0) * k.app AS S_r, COALESCE(t.T, 0) * k.app AS T, COALESCE(d.D, 0) * k.ledger AS D,
       COALESCE(t.W, 0) * k.fs AS W, COALESCE(t.journal, 0) * k.fs AS journal, COALESCE(t.metadata, 0) * k.fs AS metadata, COALESCE(t.F, 0) * k.fs AS F,
       COALESCE(t.missed, 0) * k.cache AS missed, COALESCE(t.readahead, 0) * k.cache AS readahead, COALESCE(t.B, 0) * k.block AS B, COALESCE(t.B_r, 0) * k.block AS B_r, k.short
FROM known k LEFT JOIN total t ON t.run = k.run LEFT JOIN dirty d ON d.run = k.run;

-- One row a step of a sweep: what a load cost beside its idle control. payload: L, or L_r where the operation reads; device and
-- idle: B or B_r likewise. good: 1 when every object was acknowledged.
CREATE TEMP VIEW v_sweep_step AS
WITH moved AS MATERIALIZED (SELECT * FROM v_sweep_bytes),
     sweep AS MATERIALIZED (SELECT * FROM v_sweep_run)
SELECT r.run, r.system, r.operation, r.size, r.repeat, l.horizon, COALESCE(l.errors, 0) = 0 AS good, l.error, b.short,
       CASE r.operation WHEN 'read' THEN l.logical_read_bytes ELSE l.logical_write_bytes END AS payload,
       CASE r.operation WHEN 'read' THEN l.read_ops ELSE l.write_ops END AS ops,
       CASE r.operation WHEN 'read' THEN b.B_r ELSE b.B END AS device,
       CASE r.operation WHEN 'read' THEN l.device_read_bytes ELSE l.device_write_bytes END AS counted,
       CASE r.operation WHEN 'read' THEN i.B_r ELSE i.B END AS idle,
       b.S, b.S_r, b.T, b.D, b.W, b.journal, b.metadata, b.F, b.missed, b.readahead, b.B, b.B_r
FROM sweep r JOIN load l ON l.run = r.run
JOIN moved b ON b.run = r.run
LEFT JOIN (SELECT c.system, c.operation, c.size, c.repeat, b.B, b.B_r FROM sweep c JOIN moved b ON b.run = c.run
           WHERE c.idle AND EXISTS (SELECT 1 FROM load l WHERE l.run = c.run AND l.devices IS NOT NULL)) i
       ON i.system = r.system AND i.operation = r.operation AND i.size = r.size AND i.repeat = r.repeat
WHERE NOT r.idle AND l.devices IS NOT NULL;

-- marginal_waf (METRICS section 2): the slope of B over L across sizes, idle control subtracted; marginal_raf likewise for reads. Least squares of
-- the device bytes of one operation over its payload bytes, one point a step, so that the number of objects of a size does not
-- matter: slope = sum((x - mean x) (y - mean y)) / sum((x - mean x)^2), fixed = mean y - slope mean x, what an operation costs whatever its size.
CREATE TEMP VIEW v_sweep_marginal AS
WITH point AS MATERIALIZED (
       SELECT system, operation, size, payload * 1.0 / ops AS x, (device - idle) * 1.0 / ops AS y
       FROM v_sweep_step
       WHERE good AND ops > 0 AND payload IS NOT NULL AND device IS NOT NULL AND idle IS NOT NULL),
     middle AS (SELECT system, operation, COUNT(*) AS points, MIN(size) AS smallest, MAX(size) AS largest, AVG(x) AS x, AVG(y) AS y FROM point GROUP BY system, operation),
     slope AS (
       SELECT m.system, m.operation, m.points, m.smallest, m.largest, m.x, m.y, SUM((p.x - m.x) * (p.y - m.y)) / NULLIF(SUM((p.x - m.x) * (p.x - m.x)), 0) AS value
       FROM middle m JOIN point p ON p.system = m.system AND p.operation = m.operation
       GROUP BY m.system, m.operation)
SELECT system, operation, CASE operation WHEN 'read' THEN 'marginal_raf' ELSE 'marginal_waf' END AS ratio, value, y - value * x AS fixed, points, smallest, largest
FROM slope;

-- Device bytes of the steps by what they are: file data by component, journal, metadata. They sum to the step's device bytes.
CREATE TEMP VIEW v_sweep_part AS
WITH step AS MATERIALIZED (
       SELECT r.run, r.system, r.operation, r.size, r.operation = 'read' AS reads, d.dev
       FROM v_sweep_run r JOIN load l ON l.run = r.run JOIN device d ON d.run = r.run
       WHERE NOT r.idle AND COALESCE(l.errors, 0) = 0 AND ',' || r.layers || ',' LIKE '%,block,%'
         AND instr(',' || l.devices || ',', ',' || (d.dev >> 20) || ':' || (d.dev & 1048575) || ',') > 0),
     moved AS MATERIALIZED (
       SELECT s.run, s.system, s.operation, s.size, c.name AS cause, SUM(t.bytes) AS bytes
       FROM step s JOIN agg_total t ON t.run = s.run AND t.dev = s.dev
       JOIN v_kind k ON k.id = t.kind AND (CASE WHEN s.reads THEN k.block_read ELSE k.block_write END)
       JOIN cause c ON c.id = t.cause
       WHERE c.name <> 'loopback'
       GROUP BY s.run, c.name),
     file_data AS MATERIALIZED (
       SELECT s.run, s.system, s.operation, s.size, f.component, SUM(CASE WHEN s.reads THEN i.dev_read_bytes ELSE i.dev_write_bytes END) AS bytes
       FROM step s JOIN file f ON f.run = s.run AND f.dev = s.dev JOIN file_io i ON i.run = f.run AND i.file = f.id
       WHERE f.component IS NOT NULL
       GROUP BY s.run, f.component)
SELECT run, system, operation, size, component AS part, 1 AS rank, bytes FROM file_data WHERE bytes > 0
UNION ALL
SELECT c.run, c.system, c.operation, c.size, CASE WHEN EXISTS (SELECT 1 FROM file_io i WHERE i.run = c.run) THEN 'unclassified' ELSE '(not measured)' END, 2,
       SUM(c.bytes) - COALESCE((SELECT SUM(f.bytes) FROM file_data f WHERE f.run = c.run), 0)
FROM moved c
WHERE c.cause IN ('data', 'direct', 'readahead')
GROUP BY c.run
UNION ALL
SELECT run, system, operation, size, 'fs ' || cause, 3, bytes FROM moved WHERE cause NOT IN ('data', 'direct', 'readahead') AND bytes > 0;
