-- SPDX-License-Identifier: GPL-3.0-only
-- sync.sql: What syncs cost, and how many shared it.

-- Kinds that events of syncs, requests and commits have. what: of overlap() (analyzer/overlap.c): 0 a sync, 1 a request
-- that writes, 5 a commit, 6 a flush. flags: a sync only with one of these.
CREATE TEMP TABLE v_sync_kind(kind INTEGER PRIMARY KEY, what INTEGER, flags INTEGER);
INSERT INTO temp.v_sync_kind
SELECT kind, MIN(what), MAX(flags)
FROM (SELECT c.kind, '{"fsyncs": 0, "sync_writes": 0, "B": 1, "commits": 5, "flushes": 6}' ->> c.sym AS what,
             iif(c.sym = 'sync_writes', (SELECT SUM(id) FROM flag WHERE name IN ('SYNC', 'DSYNC')), NULL) AS flags
      FROM v_counts c WHERE c.sym IN ('fsyncs', 'sync_writes', 'B', 'commits', 'flushes'))
GROUP BY kind;

-- Devices whose bytes come again below.
CREATE TEMP TABLE v_stacked(dev INTEGER PRIMARY KEY);
INSERT INTO temp.v_stacked SELECT dev FROM v_device WHERE NOT leaf;

-- Syncs by how many were under way while they lasted; what devices wrote and journals committed meanwhile is divided
-- among those under way. Each event is looked at twice, and only syncs are sorted.
CREATE TEMP TABLE v_overlap AS
WITH seen AS (
       SELECT 0 AS what, e.ts_ns AS ts, e.dur_ns AS dur, 0 AS amount
       FROM ask CROSS JOIN event e CROSS JOIN v_sync_kind k ON k.kind = e.kind AND k.what = 0
       WHERE e.run = ask.run AND e.dur_ns >= 0 AND (k.flags IS NULL OR e.flags & k.flags AND e.err IS NULL)
         AND ifnull(e.owner, 0) NOT IN (SELECT owner FROM v_unwanted)
       UNION ALL
       SELECT CASE WHEN k.what > 1 THEN k.what WHEN c.class < 4 THEN c.class ELSE 4 END,
              e.ts_ns + iif(k.what = 5, ifnull(e.dur_ns, 0), 0), 0, iif(k.what = 1, e.bytes, 1)
       FROM ask CROSS JOIN event e CROSS JOIN v_sync_kind k ON k.kind = e.kind AND k.what > 0
       LEFT JOIN v_class c ON c.cause = e.cause
       WHERE e.run = ask.run AND COALESCE(c.class, 5) <> 4 AND ifnull(e.dev, 0) NOT IN (SELECT dev FROM v_stacked)
         AND ifnull(e.owner, 0) NOT IN (SELECT owner FROM v_unwanted)),
     divided AS MATERIALIZED (SELECT overlap(what, ts, dur, amount) AS rows FROM seen)
SELECT value ->> 0 AS low, value ->> 1 AS high, value ->> 2 AS syncs, value ->> 3 AS sum_ns, value ->> 4 AS p50_ns,
       value ->> 5 AS p99_ns, value ->> 6 AS max_ns, (value ->> 7) * 1.0 AS data, (value ->> 8) * 1.0 AS journal,
       (value ->> 9) * 1.0 AS metadata, (value ->> 10) * 1.0 AS other, (value ->> 11) * 1.0 AS commits,
       (value ->> 12) * 1.0 AS flushes
FROM divided, json_each(rows);

-- Why events cannot say it, where they cannot; and what makes it a bound.
CREATE TEMP TABLE v_overlap_why AS
SELECT CASE WHEN r.events = 0 THEN 'needs events, and the run recorded none'
            WHEN m.syscall IS NULL THEN 'layer syscall was not measured'
            WHEN m.block IS NULL THEN 'layer block was not measured'
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
SELECT c.gid, SUM(c.lat_ns) * 1.0 / NULLIF(COALESCE(SUM(c.timed), sum_if(c.ops, c.lat_ns > 0)), 0) AS mean_ns,
       iif(COALESCE(SUM(c.timed), SUM(c.lat_ns)) > 0, MAX(c.max_ns), NULL) AS max_ns
FROM v_cell c JOIN v_counts v ON v.kind = c.id AND v.sym = 'fsyncs' GROUP BY c.gid;

-- Where fsync waited, by system: parts that the file system tells of, and what is left of the whole.
CREATE TEMP VIEW v_sync_part AS
WITH d AS MATERIALIZED (SELECT * FROM v_duration WHERE kind LIKE 'fs_sync%' AND sum_ns IS NOT NULL)
SELECT system, '{"fs_sync_data": 1, "fs_sync_commit": 2, "fs_sync_flush": 3}' ->> kind AS ord,
       '{"fs_sync_data": "data writeback", "fs_sync_commit": "journal commit",
         "fs_sync_flush": "device flush"}' ->> kind AS part, ops, sum_ns
FROM d WHERE kind <> 'fs_sync'
UNION ALL
SELECT w.system, 4, 'not in these', w.ops, w.sum_ns - COALESCE((SELECT SUM(d.sum_ns) FROM d
       WHERE d.system IS w.system AND d.kind <> 'fs_sync'), 0)
FROM d w WHERE w.kind = 'fs_sync';
