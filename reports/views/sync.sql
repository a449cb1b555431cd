-- SPDX-License-Identifier: GPL-3.0-only
-- sync.sql: The cost of syncs, and the number of syncs that shared it.

-- Syncs by the number of syncs under way while they lasted; bytes that devices wrote and commits of journals during
-- that time are divided among those under way (analyzer/sql/overlap.c). Each event is read once, and only syncs are
-- sorted.
CREATE TEMP TABLE v_overlap AS
WITH divided AS MATERIALIZED (
       SELECT overlap((SELECT map FROM v_access_map), e.kind, e.dev, e.owner, e.ts_ns, e.dur_ns, e.bytes, e.flags,
                      e.cause, e.err) AS rows
       FROM event e WHERE e.run = (SELECT run FROM ask)
         AND e.kind IN (SELECT kind FROM v_access_kind WHERE letter IN ('b', 'f', 's', 't', 'u')))
SELECT value ->> 0 AS low, value ->> 1 AS high, value ->> 2 AS syncs, value ->> 3 AS sum_ns, value ->> 4 AS p50_ns,
       value ->> 5 AS p99_ns, value ->> 6 AS max_ns, (value ->> 7) * 1.0 AS data, (value ->> 8) * 1.0 AS journal,
       (value ->> 9) * 1.0 AS metadata, (value ->> 10) * 1.0 AS other, (value ->> 11) * 1.0 AS commits,
       (value ->> 12) * 1.0 AS flushes
FROM divided, json_each(rows);

-- Reasons why events cannot tell this, where they cannot; and the reason why it is a bound.
CREATE TEMP TABLE v_overlap_why AS
SELECT CASE WHEN r.events = 0 THEN 'it ' || (SELECT text FROM v_no_events)
            WHEN m.syscall IS NULL THEN 'layer syscall was not measured'
            WHEN m.block IS NULL
            THEN COALESCE((SELECT reason FROM v_unmeasured WHERE layer = 'owners'), 'layer block was not measured')
            WHEN r.latency = 'none' THEN 'no call was timed (--latency none)'
            WHEN (SELECT SUM(syncs) FROM v_overlap) IS NULL OR (SELECT SUM(syncs) FROM v_overlap) = 0
            THEN 'nobody synced a file' END AS why,
       COALESCE((SELECT SUM(n) FROM v_lost WHERE effect IN ('events', 'bytes')
                 AND layer IN ('syscall', 'uring', 'fs', 'block', 'all')), 0) AS lost,
       m.fs
FROM v_run r JOIN v_measured m;

CREATE TEMP VIEW v_concurrency AS
SELECT o.low, o.high, CASE WHEN o.low = 0 THEN 'nobody waited' WHEN o.low = o.high THEN o.low
                           ELSE printf('%d-%d', o.low, o.high) END AS under_way,
       NULLIF(o.syncs, 0) AS syncs, o.sum_ns, o.p50_ns, o.p99_ns, o.max_ns, o.data, o.journal, o.metadata, o.other,
       o.data + o.journal + o.metadata + o.other AS bytes, o.commits * w.fs AS commits, o.flushes, w.lost
FROM v_overlap o JOIN v_overlap_why w
WHERE w.why IS NULL AND (o.low > 0 OR o.data + o.journal + o.metadata + o.other + o.commits + o.flushes > 0);

-- Calls of the fsync family by line of the report, as far as they were timed.
CREATE TEMP VIEW v_sync_time AS
SELECT c.gid, SUM(c.lat_ns) * 1.0 / NULLIF(SUM(COALESCE(c.timed, iif(c.lat_ns > 0, c.ops, 0))), 0) AS mean_ns,
       iif(SUM(COALESCE(c.timed, c.lat_ns)) > 0, MAX(c.max_ns), NULL) AS max_ns
FROM v_cell c JOIN v_counts v ON v.kind = c.id AND v.sym = 'fsyncs' GROUP BY c.gid;

-- Syncs by file, where there are events: their durations. Syncs that were not timed are in none.
CREATE TEMP TABLE v_sync_event AS
WITH mask AS (SELECT COALESCE(SUM(id), 0) AS bits FROM flag WHERE name IN ('SYNC', 'DSYNC')),
     folded AS (
       SELECT fold(1, e.file, 1, e.dur_ns, e.dur_ns) AS rows
       FROM mask JOIN ask JOIN event e ON e.run = ask.run
       WHERE e.dur_ns > 0 AND e.owner NOT IN (1, 2)
         AND (e.kind IN (SELECT kind FROM v_counts WHERE sym = 'fsyncs')
              OR e.flags & mask.bits AND e.kind IN (SELECT id FROM v_kind WHERE app AND dir = 'w'))
         AND (ask.system IS NULL OR e.owner IN (SELECT owner FROM v_owner WHERE shown)))
SELECT c0 AS file, c1 AS timed, c2 AS sum_ns, c3 AS max_ns FROM folded, unfold(rows);

-- The syncs of each path: the first file of a path stands for all (v_file_label). B: bytes that devices wrote of its
-- data; journal: its share of its lines' journal bytes, by the blocks that calls on it put there.
CREATE TEMP TABLE v_sync_file AS
WITH part AS (
       SELECT file, line, syncs, S, B, NULL AS journal, NULL AS timed, NULL AS sum_ns, NULL AS max_ns FROM v_file_sum
       UNION ALL SELECT file, line, 0, 0, 0, bytes, NULL, NULL, NULL FROM v_file_put
       UNION ALL SELECT file, NULL, 0, 0, 0, NULL, timed, sum_ns, max_ns FROM v_sync_event WHERE file > 0)
SELECT CASE WHEN typeof(f.key) = 'integer' THEN MIN(f.label) ELSE f.key END AS path, COUNT(DISTINCT f.file) AS files,
       group_concat(DISTINCT iif(p.syncs > 0, p.line, NULL)) AS lines,
       SUM(p.syncs) AS syncs, SUM(p.S) AS S, SUM(p.B) AS B, SUM(p.journal) AS journal, SUM(p.timed) AS timed,
              SUM(p.sum_ns) AS sum_ns, MAX(p.max_ns) AS max_ns
FROM part p JOIN v_file_label f ON f.file = p.file
GROUP BY f.key HAVING SUM(p.syncs) > 0;

-- Times that fsync waited, by system: parts that the file system reports, and the rest of the whole.
CREATE TEMP VIEW v_sync_part AS
WITH d AS MATERIALIZED (SELECT * FROM v_duration WHERE kind LIKE 'fs_sync%' AND sum_ns IS NOT NULL),
     part(kind, ord, part) AS (
       VALUES ('fs_sync_data', 1, 'data writeback'), ('fs_sync_commit', 2, 'journal commit'),
              ('fs_sync_flush', 3, 'device flush'))
SELECT d.system, p.ord, p.part, d.ops, d.sum_ns FROM d JOIN part p ON p.kind = d.kind
UNION ALL
SELECT w.system, 4, 'not in these', w.ops, w.sum_ns - COALESCE((SELECT SUM(d.sum_ns) FROM d
       WHERE d.system IS w.system AND d.kind <> 'fs_sync'), 0)
FROM d w WHERE w.kind = 'fs_sync';
