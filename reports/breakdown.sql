-- SPDX-License-Identifier: GPL-3.0-only
-- title: Breakdown: whose device bytes these are, and why they were moved
-- caption: Every byte has one owner, one cause, and a way in which the owner is known. block_bytes: size of a journal
-- caption: block, which is the size of a commit record.
-- by carrier: yes

-- table: owners: Device bytes by owner and cause
-- hide: what
WITH part AS MATERIALIZED (
       SELECT g.rank, g.what, g.who, g.pid, c.gid, c.cause, c.how, SUM(c.written) AS written, SUM(c.read) AS read
       FROM v_cause c JOIN v_group g ON g.gid = c.gid JOIN v_here h ON h.gid = c.gid AND h.device IS c.device
       GROUP BY c.gid, c.cause, c.how),
     whole AS (SELECT SUM(written) AS written, SUM(read) AS read FROM part)
SELECT what, who, pid, cause, how, written, share, read, share_r
FROM (SELECT rank, gid, what, who, pid, cause, how, part.written,
      part.written * 1.0 / NULLIF(whole.written, 0) AS share,
             part.read, part.read * 1.0 / NULLIF(whole.read, 0) AS share_r
      FROM part JOIN whole
      WHERE part.written + part.read > 0
      UNION ALL
      SELECT 8, '', 'total', 'total', '', '', '', written, written * 1.0 / NULLIF(written, 0), read,
             read * 1.0 / NULLIF(read, 0)
      FROM whole)
ORDER BY rank, SUM(written + read) OVER (PARTITION BY gid) DESC, gid, written + read DESC;

-- table: causes: Device bytes by cause
WITH part AS MATERIALIZED (
       SELECT c.cause, SUM(c.written) AS written, SUM(c.read) AS read
       FROM v_cause c JOIN v_here h ON h.gid = c.gid AND h.device IS c.device
       GROUP BY c.cause),
     whole AS (SELECT SUM(written) AS written, SUM(read) AS read FROM part)
SELECT cause, written, share, read, share_r
FROM (SELECT 1 AS ord, cause, part.written, part.written * 1.0 / NULLIF(whole.written, 0) AS share,
             part.read, part.read * 1.0 / NULLIF(whole.read, 0) AS share_r
      FROM part JOIN whole
      WHERE part.written + part.read > 0
      UNION ALL
      SELECT 2, 'total', written, written * 1.0 / NULLIF(written, 0), read, read * 1.0 / NULLIF(read, 0) FROM whole)
ORDER BY ord, written + read DESC;

-- table: components: Device bytes by component, of storage systems and of programs with files of their kinds (fs: what the file system adds; unclassified: file data of no known component)
-- hide: what
WITH part AS MATERIALIZED (
       SELECT l.rank, l.gid, l.what, l.who, l.pid, c.part, COALESCE(c.component, '(not measured)') AS component,
              c.written, c.read,
              SUM(c.written) OVER (PARTITION BY l.gid) AS B, SUM(c.read) OVER (PARTITION BY l.gid) AS B_r
       FROM v_component_line l JOIN v_component c ON c.gid = l.gid)
SELECT what, who, pid, component, written, share, read, share_r
FROM (SELECT rank, gid, part = 'fs' AS fs, part = 'rest' AS rest, 0 AS sum, what, who, pid, component, written,
      written * 1.0 / NULLIF(B, 0) AS share,
             read, read * 1.0 / NULLIF(B_r, 0) AS share_r, B, B_r
      FROM part
      WHERE written <> 0 OR read <> 0
      UNION ALL
      SELECT DISTINCT rank, gid, 1, 1, 1, what, who, pid, 'total', B, B * 1.0 / NULLIF(B, 0), B_r,
                      B_r * 1.0 / NULLIF(B_r, 0), B, B_r
      FROM part
      WHERE B + B_r > 0)
ORDER BY rank, B + B_r DESC, gid, sum, fs, rest, written + read DESC, component;

-- table: devices: By device (again: the bytes of a stacked or loop device on the device below, in no total)
SELECT COALESCE(c.device, '(unknown)') AS device, SUM(c.written) AS written, SUM(c.read) AS read,
       SUM(c.written_again) AS written_again, SUM(c.read_again) AS read_again
FROM v_cause c JOIN v_here h ON h.gid = c.gid AND h.device IS c.device
GROUP BY c.device
HAVING SUM(c.written + c.read + c.written_again + c.read_again) > 0
ORDER BY SUM(c.written + c.read) DESC, SUM(c.written_again + c.read_again) DESC, device;

-- table: zeroes: Ranges that devices zeroed or discarded, by whom (failed: the device did not do it; no bytes of B: of /sys/block those of write-zeroes and secure erases are)
-- hide: what
SELECT COALESCE(c.device, '(unknown)') AS device, g.what, g.who, g.pid, c.kind AS request, SUM(c.ops) AS requests,
       SUM(c.errors) AS failed,
       SUM(iif(c.sub = 'failed', 0, c.touched)) AS range, SUM(iif(c.sub = 'failed', c.touched, 0)) AS failed_range
FROM v_cell c JOIN v_group g ON g.gid = c.gid JOIN v_measured m ON m.device
WHERE g.shown AND c.cause = 'discard' AND c.leaf
GROUP BY c.dev, c.gid, c.kind
HAVING SUM(c.touched) > 0
ORDER BY SUM(c.touched) DESC, c.device, g.gid, c.kind;

-- table: anatomy: What was written to each device: file data, the journal by structure, the rest in place
WITH part AS MATERIALIZED (
       SELECT COALESCE(c.device, '(unknown)') AS device,
              CASE WHEN c.cause = 'journal' OR (c.cause = 'metadata' AND c.sub <> 'none') THEN c.cause || ': ' || c.sub
                  ELSE c.cause END AS part, SUM(c.bytes) AS written
       FROM v_piece c JOIN v_here h ON h.gid = c.gid AND h.device IS c.device
       WHERE c.sym = 'B' AND c.bytes > 0
       GROUP BY 1, 2),
     whole AS (SELECT device, SUM(written) AS written FROM part GROUP BY device)
SELECT device, part, written, share
FROM (SELECT 1 AS ord, p.device, p.part, p.written, p.written * 1.0 / w.written AS share, w.written AS whole
      FROM part p JOIN whole w ON w.device = p.device
      UNION ALL
      SELECT 2, device, 'total', written, 1.0, written FROM whole)
ORDER BY whole DESC, device, ord, written DESC, part;

-- table: journal: Journal anatomy: what the journal's bytes are
WITH part AS MATERIALIZED (SELECT device, structure, bytes FROM v_journal),
     whole AS (SELECT j.device, SUM(j.bytes) AS bytes, MAX(c.commits) AS commits, MAX(b.block_bytes) AS block_bytes
               FROM part j LEFT JOIN v_commit c ON c.device IS j.device
                   LEFT JOIN v_journal_block b ON b.device IS j.device
               GROUP BY j.device)
SELECT device, structure, bytes, share, blocks, blocks_per_commit, commits, block_bytes
FROM (SELECT 1 AS ord, p.device, p.structure, p.bytes, p.bytes * 1.0 / NULLIF(w.bytes, 0) AS share,
      p.bytes * 1.0 / w.block_bytes AS blocks,
             p.bytes * 1.0 / w.block_bytes / NULLIF(w.commits, 0) AS blocks_per_commit, w.commits, w.block_bytes,
             w.bytes AS whole
      FROM part p JOIN whole w ON w.device IS p.device
      UNION ALL
      SELECT 2, device, 'total', bytes, bytes * 1.0 / NULLIF(bytes, 0), bytes * 1.0 / block_bytes,
             bytes * 1.0 / block_bytes / NULLIF(commits, 0),
             commits, block_bytes, bytes
      FROM whole)
ORDER BY whole DESC, device, ord, bytes DESC, structure;

-- plot: bars
-- chart: bars
-- heading: Whose device bytes, and what they are
-- axis: bytes at the device
-- unit: bytes
WITH line AS MATERIALIZED (
       SELECT c.gid, SUM(c.written + c.read) AS whole
       FROM v_cause c JOIN v_group g ON g.gid = c.gid
       WHERE g.shown AND g.rank <= 5
       GROUP BY c.gid
       HAVING whole > 0),
     side AS (
       SELECT l.gid, l.whole, 'written' AS bar, p.part, p.written AS bytes FROM line l JOIN v_part p ON p.gid = l.gid
       UNION ALL
       SELECT l.gid, l.whole, 'read', p.part, p.read FROM line l JOIN v_part p ON p.gid = l.gid)
SELECT g.who || iif(g.pid = '', '', ' [' || g.pid || ']') AS "row", s.bar, s.part, SUM(s.bytes) AS value
FROM side s JOIN v_group g ON g.gid = s.gid
LEFT JOIN component k ON k.name = s.part
WHERE s.bytes > 0
GROUP BY s.gid, s.bar, s.part
ORDER BY s.whole DESC, s.gid, s.bar DESC, s.part LIKE 'fs %', k.id IS NULL, k.id, s.part;

-- plot: apart
-- chart: note
SELECT 'not drawn: ' || group_concat(who || ' (' || size(written) || ' written, ' || size(read) || ' read)',
                                     '; ') AS apart
FROM (SELECT g.who, SUM(c.written) AS written, SUM(c.read) AS read
      FROM v_cause c JOIN v_group g ON g.gid = c.gid
      WHERE g.shown AND g.rank > 5
      GROUP BY c.gid
      HAVING SUM(c.written + c.read) > 0)
HAVING COUNT(*) > 0;
