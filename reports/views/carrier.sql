-- SPDX-License-Identifier: GPL-3.0-only
-- carrier.sql: Carriers of device bytes: the threads that submitted them, next to their owners.

-- Device bytes by carrier, line and cause, on leaf devices and counted once, as in B; below: written below loop
-- devices, which is in no B. In stores before format 5 the carrier is not known.
CREATE TEMP TABLE v_carried AS
SELECT c.gid, CASE WHEN r.name IS NOT NULL THEN r.name WHEN w.schema < 5 THEN NULL ELSE '(not known)' END AS carrier,
       c.cause, c.device, sum_if(c.amount, c.sym = 'B') AS written, sum_if(c.amount, c.sym = 'B_r') AS read,
       sum_if(c.amount, c.sym = 'loop_w') AS below
FROM ask CROSS JOIN run w ON w.run = ask.run CROSS JOIN v_piece c LEFT JOIN carrier r ON r.id = c.carrier
WHERE c.sym IN ('B', 'B_r', 'loop_w')
GROUP BY c.gid, 2, c.cause, c.device
HAVING SUM(c.amount) > 0;

-- File bytes that file systems submitted, by carrier, line and family of files ('#' in place of numbers): from events,
-- where all are there and not too many to be read for it; else from the sums by file, which do not know the carrier.
CREATE TEMP TABLE v_carried_file AS
WITH m AS MATERIALIZED (
       SELECT r.run, e.whole AND r.schema >= 5 AND COALESCE(x.events, 0) <= 5000000 AS by_events
       FROM ask JOIN run r ON r.run = ask.run JOIN v_events e LEFT JOIN run_end x ON x.run = r.run),
     folded AS (
       SELECT fold(4, e.carrier, o.stand, e.cause, e.file, e.bytes, 0) AS rows
       FROM m CROSS JOIN event e ON m.by_events AND e.run = m.run
       CROSS JOIN v_owner o ON o.owner = COALESCE(e.owner, 0)
       WHERE e.kind = (SELECT id FROM kind WHERE name = 'fs_write')
         AND e.cause IN (SELECT id FROM cause WHERE name IN ('data', 'direct'))
         AND COALESCE(e.sub, 0) NOT IN (SELECT id FROM sub WHERE name IN ('copy', 'compressed_copy'))),
     part AS (
       SELECT c0 AS carrier, c1 AS owner, c2 AS cause, c3 AS file, c4 AS bytes FROM folded, unfold(rows)),
     named AS (
       SELECT o.gid, r.name AS carrier, c.name AS cause, p.file, p.bytes, 1 AS by_events
       FROM part p JOIN v_owner o ON o.owner = p.owner JOIN cause c ON c.id = p.cause
       LEFT JOIN carrier r ON r.id = p.carrier
       UNION ALL
       SELECT o.gid, NULL, 'data', i.file, i.fs_write_bytes, 0
       FROM m CROSS JOIN file_io i ON NOT m.by_events AND i.run = m.run JOIN v_owner o ON o.owner = i.owner
       WHERE i.fs_write_bytes > 0)
SELECT n.gid, n.carrier, n.cause, n.by_events,
       CASE WHEN COALESCE(n.file, 0) = 0 THEN '(file not known)' WHEN f.path IS NULL THEN '(name not known)'
            ELSE name_pattern(f.path) END AS family,
       COUNT(DISTINCT n.file) AS files, SUM(n.bytes) AS submitted
FROM named n LEFT JOIN v_file_name f ON f.id = n.file
GROUP BY n.gid, n.carrier, n.cause, n.by_events, family;

-- Carriers of a line's journal on a disk, most bytes first; of btrfs, of its trees.
CREATE TEMP VIEW v_journal_carrier AS
SELECT gid, dev, group_concat(name, ', ') AS carriers
FROM (SELECT c.gid, c.dev, r.name FROM v_cell c JOIN carrier r ON r.id = c.carrier
      WHERE c.kind = 'fs_write' AND c.bytes > 0
        AND (c.cause = 'journal' OR c.cause = 'metadata' AND c.sub LIKE '%\_tree' ESCAPE '\')
      GROUP BY c.gid, c.dev, r.name ORDER BY SUM(c.bytes) DESC)
GROUP BY gid, dev;
