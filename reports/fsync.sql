-- SPDX-License-Identifier: GPL-3.0-only
-- title: What one fsync costs, and what group commit hides
-- caption: By file: of one path, however many inodes had it; or what --by names. bytes: data, and the journal's part. \
-- caption: syncs: calls of the fsync family and synchronous writes. By line: sums of the run, divided by its syncs. \
-- caption: By concurrency: syncs are sorted by
-- caption: how many were under way while they lasted, themselves included (on average, rounded); what devices wrote, \
-- caption: flushed and journals
-- caption: committed is divided equally among the syncs under way when the request was issued, or the commit ended: \
-- caption: what all got, and what was
-- caption: done while nobody waited, sum to the whole. Parts of a wait: as the file system tells them. Bytes on leaf \
-- caption: devices. note: what was lost,
-- caption: or is nobody's.

-- table: lines: One sync, by line
-- hide: what
SELECT v.what, v.who, v.pid, v.syncs, v.B * 1.0 / NULLIF(v.syncs, 0) AS bytes,
       j.journal * 1.0 / NULLIF(v.syncs, 0) AS journal,
       v.commits * 1.0 / NULLIF(v.syncs, 0) AS commits, v.flushes * 1.0 / NULLIF(v.syncs, 0) AS flushes,
       t.mean_ns / 1000.0 AS mean_us, t.max_ns / 1000.0 AS max_us,
       COALESCE((SELECT group_concat(y.short_why, ', ') FROM v_symbol y
                 WHERE y.gid = v.gid AND y.short AND y.sym IN ('B', 'syncs', 'commits', 'flushes')), '') AS note
FROM v_volume v LEFT JOIN v_sync_time t ON t.gid = v.gid
LEFT JOIN (SELECT c.gid, SUM(iif(c.cause = 'journal', c.written, 0)) AS journal FROM v_cause c GROUP BY c.gid) j
    ON j.gid = v.gid
WHERE v.shown AND v.rank < 4 AND v.syncs > 0
ORDER BY v.rank, v.syncs DESC, v.gid;

-- table: files: Syncs by file, by what devices wrote for it and the journal (the journal's part: by the blocks that calls on it put there)
SELECT f.path, f.syncs * k.syscall AS syncs, f.B * k.block + COALESCE(CAST(ROUND(f.journal) AS INTEGER), 0) AS bytes,
       f.B * k.block AS data, CAST(ROUND(f.journal) AS INTEGER) AS journal,
       f.sum_ns / 1000.0 / f.timed AS mean_us, f.max_ns / 1000.0 AS max_us,
       f.sum_ns * 1.0 / SUM(f.sum_ns) OVER () AS share_time,
       f.S * k.syscall AS S, f.S * k.syscall * 1.0 / f.syncs AS S_per_sync, f.files,
       (SELECT group_concat(g.who, ' + ') FROM v_group g WHERE listed(g.rowid, f.lines)) AS who,
       iif(f.timed IS NULL, COALESCE((SELECT 'times: ' || text FROM v_no_events), 'not timed'),
           iif(f.timed < f.syncs, printf('%d timed', f.timed), '')) AS note
FROM v_sync_file f JOIN v_measured k
ORDER BY bytes DESC, f.syncs DESC, f.path
LIMIT :rows;

-- table: concurrency: One sync, by how many were under way
SELECT under_way, syncs, bytes / syncs AS bytes, data / syncs AS data, journal / syncs AS journal,
       metadata / syncs AS metadata, commits / syncs AS commits,
       flushes / syncs AS flushes, sum_ns / 1000.0 / syncs AS mean_us, p50_ns / 1000.0 AS p50_us,
       p99_ns / 1000.0 AS p99_us, max_ns / 1000.0 AS max_us,
       iif(lost, printf('%d records were lost: shares may be larger or smaller', lost), '') AS note
FROM v_concurrency
WHERE low > 0
UNION ALL
SELECT '', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, why FROM v_overlap_why
WHERE why IS NOT NULL;

-- table: whole: The same, not divided by the number of syncs
SELECT under_way, syncs, bytes, data, journal, metadata, other, commits, flushes
FROM v_concurrency
ORDER BY low = 0, low;

-- table: split: Where fsync waited in the file system
SELECT COALESCE(system, '(none)') AS system, part, ops, sum_ns / 1000.0 AS sum_us,
       sum_ns * 1.0 / NULLIF(SUM(sum_ns) OVER (PARTITION BY system), 0) AS share
FROM v_sync_part
ORDER BY system IS NULL, system, ord;

-- plot: split
-- chart: bars
-- heading: Where fsync waited in the file system, on average
-- unit: us
-- own: yes
-- fold: no
SELECT COALESCE(system, '(none)') AS "row", part, max(sum_ns, 0) / 1000.0 / NULLIF(MAX(ops) OVER (PARTITION BY system),
       0) AS value
FROM v_sync_part
WHERE sum_ns > 0
ORDER BY system IS NULL, system, ord;

-- plot: bytes
-- chart: bars
-- heading: Device bytes of one sync, by how many were under way
-- unit: bytes
-- fold: no
SELECT under_way || ' under way' AS "row", part, value / syncs AS value
FROM (SELECT low, under_way, syncs, 1 AS ord, 'file data' AS part, data AS value FROM v_concurrency WHERE low > 0
      UNION ALL SELECT low, under_way, syncs, 2, 'fs journal', journal FROM v_concurrency WHERE low > 0
      UNION ALL SELECT low, under_way, syncs, 3, 'fs metadata', metadata FROM v_concurrency WHERE low > 0
      UNION ALL SELECT low, under_way, syncs, 4, 'other', other FROM v_concurrency WHERE low > 0)
ORDER BY low, ord;

-- plot: shared
-- chart: bars
-- heading: Commits and flushes of one sync; less than 1: several shared one
-- unit: ratio
-- rule: 1
-- fold: no
SELECT under_way || ' under way' AS "row", part AS bar, part, value / syncs AS value
FROM (SELECT low, under_way, syncs, 1 AS ord, 'commits' AS part, commits AS value FROM v_concurrency WHERE low > 0
      UNION ALL SELECT low, under_way, syncs, 2, 'flushes', flushes FROM v_concurrency WHERE low > 0)
ORDER BY low, ord;

-- plot: waits
-- chart: bars
-- heading: How long a sync took, by how many were under way
-- unit: us
-- fold: no
-- key: no
SELECT under_way || ' under way' AS "row", bar, 'whole fsync' AS part, us AS value
FROM (SELECT low, under_way, 1 AS ord, 'half' AS bar, p50_ns / 1000.0 AS us FROM v_concurrency WHERE low > 0
      UNION ALL SELECT low, under_way, 2, '99 %', p99_ns / 1000.0 FROM v_concurrency WHERE low > 0)
ORDER BY low, ord;

-- plot: note
-- chart: note
SELECT why AS note FROM v_overlap_why WHERE why IS NOT NULL
UNION ALL SELECT printf('%d records were lost: shares may be larger or smaller', lost) FROM v_overlap_why
    WHERE lost AND why IS NULL;
