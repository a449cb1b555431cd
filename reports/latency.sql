-- SPDX-License-Identifier: GPL-3.0-only
-- title: Latency by layer and operation
-- caption: Microseconds, of the processes that were traced. ops is exact; sum, mean and max stand on all that were \
-- caption: timed (sum estimated: not all
-- caption: were, and sum is their mean for all); timed: how many the percentiles stand on, which leave out what a \
-- caption: system did before it was
-- caption: recognised: that is in (none). error_us: the mean of all calls is within so much of mean_us, and the sum \
-- caption: within ops times as much (95 %;
-- caption: 0: all were timed; n/a: fewer than ten were). p99 of all calls lies between p99_from_us and p99_to_us (95 \
-- caption: %; n/a: too few were timed).
-- caption: Percentiles are the middle of their bucket, at most 6.25 % off. Calls on sockets, pipes and devices wait for
-- caption: others: they stand below as `not files`. block_read and block_write: from issue to completion in the \
-- caption: device; queue_read and queue_write:
-- caption: from insert to issue. (none): processes outside any storage system.

-- table: latency
WITH h AS MATERIALIZED (SELECT * FROM v_hist),
     p AS (SELECT kind, system, no_file, MAX(total) AS held,
                  MIN(CASE WHEN upto >= total * 0.50 THEN middle_ns END) AS p50,
                  MIN(CASE WHEN upto >= total * 0.95 THEN middle_ns END) AS p95,
                  MIN(CASE WHEN upto >= total * 0.99 THEN middle_ns END) AS p99,
                  MIN(CASE WHEN upto >= total * 0.999 THEN middle_ns END) AS p999
           FROM h
           GROUP BY kind, system, no_file)
SELECT COALESCE(d.system, '(none)') AS system, d.layer || CASE WHEN d.no_file THEN ', not files' ELSE '' END AS layer,
       d.kind AS operation,
       CASE WHEN d.estimate AND d.timed > 0 THEN 'sum estimated' WHEN d.kind LIKE 'queue_%' THEN 'queue'
           WHEN d.kind LIKE 'block_%' THEN 'device' WHEN d.kind LIKE 'fs_sync%' THEN 'fsync' ELSE '' END AS part,
       d.ops, COALESCE(p.held, d.told) AS timed, d.sum_ns / 1000.0 AS sum_us, d.mean_ns / 1000.0 AS mean_us,
       e.error_ns / 1000.0 AS error_us,
       min(p.p50, d.max_ns) / 1000.0 AS p50_us, min(p.p95, d.max_ns) / 1000.0 AS p95_us,
       min(p.p99, d.max_ns) / 1000.0 AS p99_us,
       e.p99_from_ns / 1000.0 AS p99_from_us, e.p99_to_ns / 1000.0 AS p99_to_us,
       min(p.p999, d.max_ns) / 1000.0 AS p999_us, d.max_ns / 1000.0 AS max_us
FROM v_duration d LEFT JOIN p ON p.kind = d.kind AND p.system IS d.system AND p.no_file = d.no_file
LEFT JOIN v_sampling e ON e.kind = d.kind AND e.system IS d.system AND e.no_file = d.no_file
    JOIN layer l ON l.name = d.layer JOIN kind k ON k.name = d.kind
JOIN v_run r
WHERE d.timed > 0 OR p.held > 0 OR (r.latency IN ('none', 'syncs', 'sampled') AND l.name IN ('syscall', 'uring'))
ORDER BY d.system IS NULL, d.system, d.no_file, l.id, k.id;

-- table: fsync: Where fsync waited
WITH d AS MATERIALIZED (SELECT * FROM v_duration WHERE kind LIKE 'fs_sync%'),
     whole AS (SELECT system, sum_ns, ops FROM d WHERE kind = 'fs_sync')
SELECT COALESCE(d.system, '(none)') AS system,
       CASE d.kind WHEN 'fs_sync_data' THEN 'data writeback' WHEN 'fs_sync_commit' THEN 'journal commit'
           WHEN 'fs_sync_flush' THEN 'device flush'
                   ELSE 'whole fsync' END AS part,
       d.ops, d.sum_ns / 1000.0 AS sum_us, d.sum_ns * 1.0 / NULLIF(w.sum_ns, 0) AS share
FROM d LEFT JOIN whole w ON w.system IS d.system JOIN kind k ON k.name = d.kind
ORDER BY d.system IS NULL, d.system, k.id;

-- table: cdf: Operations that took at most so long (us: middle of the bucket)
SELECT CASE WHEN h.kind LIKE 'fs_sync%' THEN 'fsync in the file system'
       WHEN h.layer = 'block' THEN 'requests of devices'
            WHEN h.layer IN ('syscall', 'uring') THEN 'calls on files' ELSE 'in the kernel' END AS place,
       COALESCE(h.system || ' ', '') || w.words AS operation, h.middle_ns / 1000.0 AS us, h.upto AS ops,
       h.upto * 100.0 / h.total AS percent
FROM v_hist h JOIN v_kind_words w ON w.kind = h.kind
WHERE :cdf AND NOT h.no_file
ORDER BY place, operation, h.bucket;

-- plot: curves
-- chart: lines
-- heading: Share of operations that took at least so long
-- unit: percent
-- across: duration (points at bucket bounds: exact)
-- across unit: us
-- log: values across
WITH h AS MATERIALIZED (
       SELECT h.*, CASE WHEN h.kind LIKE 'fs_sync%' THEN 3 WHEN h.layer = 'block' THEN 2
              WHEN h.layer IN ('syscall', 'uring') THEN 1 ELSE 4 END AS ord
       FROM v_hist h JOIN v_kind k ON k.kind = h.kind
       WHERE NOT h.no_file AND (k.dir IN ('r', 'w', 's') OR h.kind LIKE 'queue_%')),
     best AS MATERIALIZED (
       SELECT kind, ord, ROW_NUMBER() OVER (PARTITION BY ord ORDER BY SUM(n) DESC, kind) AS place
       FROM h GROUP BY kind, ord)
SELECT w.words AS panel, iif((SELECT MAX(system) FROM h) IS NULL, '', COALESCE(h.system, '(none)')) AS part,
       h.low_ns / 1000.0 AS x, (h.total - h.upto + h.n) * 100.0 / h.total AS value
FROM h JOIN best b ON b.kind = h.kind AND b.place <= CASE h.ord WHEN 1 THEN 4 WHEN 3 THEN 1 WHEN 4 THEN 1 ELSE 3 END
JOIN v_kind_words w ON w.kind = h.kind
ORDER BY h.ord, b.place, h.system IS NULL, h.system, h.bucket;

-- plot: left
-- chart: note
WITH h AS (SELECT DISTINCT h.kind, CASE WHEN h.kind LIKE 'fs_sync%' THEN 3 WHEN h.layer = 'block' THEN 2
           WHEN h.layer IN ('syscall', 'uring') THEN 1 ELSE 4 END AS ord
           FROM v_hist h JOIN v_kind k ON k.kind = h.kind
           WHERE NOT h.no_file AND (k.dir IN ('r', 'w', 's') OR h.kind LIKE 'queue_%')),
     n AS (SELECT COUNT(*) - CASE ord WHEN 1 THEN 4 WHEN 3 THEN 1 WHEN 4 THEN 1 ELSE 3 END AS n FROM h GROUP BY ord)
SELECT 'not drawn: ' || SUM(n) || ' operations that were fewer, or parts of others (table latency has all)' AS note
FROM n WHERE n > 0 HAVING SUM(n) > 0;
