-- SPDX-License-Identifier: GPL-3.0-only
-- title: Carriers: who ran what devices wrote and read, and whose it is
-- caption: carrier: itself is the process in a call or fault of its own; writeback and kworker are workers of the \
-- caption: kernel, jbd2, xfs and btrfs
-- caption: threads of file systems, loop those of loop devices, iou-wrk workers of io_uring, reclaim who frees \
-- caption: memory, volume md and dm. The owner is
-- caption: on whose behalf, as everywhere. Bytes on leaf devices, once; below: written on
-- caption: devices below loop devices, with what the file systems there add, which is in no B. Which files: what file \
-- caption: systems submitted of their contents.
-- by carrier: always

-- table: carriers: Device bytes by carrier, owner and cause
-- hide: what
WITH part AS MATERIALIZED (
       SELECT c.carrier, g.rank, g.what, g.who, g.pid, c.gid, c.cause, SUM(c.written) AS written, SUM(c.read) AS read,
              SUM(c.below) AS below
       FROM v_carried c JOIN v_group g ON g.gid = c.gid
       WHERE g.shown
       GROUP BY c.carrier, c.gid, c.cause),
     whole AS (SELECT SUM(written) AS written, SUM(read) AS read, SUM(below) AS below FROM part)
SELECT carrier, what, who, pid, cause, written, share, below, read, share_r
FROM (SELECT 1 AS ord, SUM(part.written + part.read + part.below) OVER (PARTITION BY carrier) AS first, carrier, rank,
      gid, what, who, pid, cause,
             part.written, part.written * 1.0 / NULLIF(whole.written, 0) AS share, part.below, part.read,
             part.read * 1.0 / NULLIF(whole.read, 0) AS share_r
      FROM part JOIN whole
      UNION ALL
      SELECT 2, 0, 'total', 8, '', 'total', '', '', '', written, written * 1.0 / NULLIF(written, 0), below, read,
             read * 1.0 / NULLIF(read, 0)
      FROM whole WHERE EXISTS (SELECT 1 FROM part))
ORDER BY ord, first DESC, carrier, SUM(written + read + below) OVER (PARTITION BY carrier, gid) DESC, rank, gid,
    written + read + below DESC, cause;

-- table: whole: The same, a row a carrier
SELECT COALESCE(carrier, 'n/a') AS carrier, written, written * 1.0 / NULLIF(SUM(written) OVER (), 0) AS share, below,
       read,
       read * 1.0 / NULLIF(SUM(read) OVER (), 0) AS share_r, owners, COALESCE(doc, '') AS what_it_is
FROM (SELECT c.carrier, SUM(c.written) AS written, SUM(c.read) AS read, SUM(c.below) AS below,
      COUNT(DISTINCT c.gid) AS owners
      FROM v_carried c JOIN v_group g ON g.gid = c.gid
      WHERE g.shown
      GROUP BY c.carrier) c
LEFT JOIN carrier k ON k.name = c.carrier
ORDER BY written + read + below DESC, c.carrier;

-- table: families: Which files: contents that file systems submitted, by carrier ('#' stands for what numbers files)
-- hide: what
SELECT f.carrier, g.what, g.who, g.pid, f.cause, f.family, f.files, f.submitted,
       iif(f.by_events, 'events', 'sums by file, which do not say who carried it') AS source
FROM v_carried_file f JOIN v_group g ON g.gid = f.gid
WHERE g.shown
ORDER BY SUM(f.submitted) OVER (PARTITION BY f.carrier) DESC, f.carrier, f.submitted DESC, g.gid, f.family
LIMIT :rows;

-- table: journals: Who makes jbd2, XFS and btrfs write: calls and files behind journal bytes, as they were submitted
-- hide: what
SELECT COALESCE(j.carriers, 'n/a') AS carriers, g.what, g.who, g.pid, p.device, p.call, p.name AS family,
       MAX(p.files) AS files,
       SUM(p.txns) AS txns, iif(COUNT(p.blocks) = COUNT(*), SUM(p.blocks), NULL) AS blocks,
       CAST(ROUND(SUM(p.bytes)) AS INTEGER) AS journal,
       SUM(p.bytes) / NULLIF(SUM(SUM(p.bytes)) OVER (), 0) AS share
FROM v_put p JOIN v_group g ON g.gid = p.gid LEFT JOIN v_journal_carrier j ON j.gid = p.gid AND j.dev = p.dev
WHERE g.shown
GROUP BY p.gid, p.dev, p.call, p.name
ORDER BY journal DESC, txns DESC, g.gid, p.device, p.call, p.name
LIMIT :rows;

-- plot: flow
-- chart: flow
-- heading: From whose bytes they are, by who carried them, to the device they were written to
-- unit: bytes
SELECT g.who AS part, s.carrier AS "row", COALESCE(s.device, '(unknown)') AS bar, SUM(s.written) AS value
FROM v_carried s JOIN v_group g ON g.gid = s.gid
WHERE g.shown AND g.rank <= 5 AND s.written > 0 AND s.carrier IS NOT NULL
GROUP BY g.who, s.carrier, s.device
ORDER BY SUM(SUM(s.written)) OVER (PARTITION BY g.who) DESC, part,
    SUM(SUM(s.written)) OVER (PARTITION BY s.carrier) DESC, "row",
    SUM(SUM(s.written)) OVER (PARTITION BY s.device) DESC, bar;

-- plot: bars
-- chart: bars
-- heading: Who carried it (bars), and whose it is (parts)
-- axis: bytes at the device
-- unit: bytes
WITH side AS (
       SELECT carrier, gid, 'written' AS bar, written AS bytes FROM v_carried
       UNION ALL
       SELECT carrier, gid, 'read', read FROM v_carried
       UNION ALL
       SELECT carrier, gid, 'below', below FROM v_carried)
SELECT s.carrier AS "row", s.bar, g.who AS part, SUM(s.bytes) AS value
FROM side s JOIN v_group g ON g.gid = s.gid
WHERE g.shown AND g.rank <= 5 AND s.bytes > 0 AND s.carrier IS NOT NULL
GROUP BY s.carrier, s.bar, g.who
ORDER BY SUM(SUM(s.bytes)) OVER (PARTITION BY s.carrier) DESC, s.carrier, s.bar DESC, value DESC, part;
