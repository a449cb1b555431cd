-- SPDX-License-Identifier: GPL-3.0-only
-- finding.sql: The finding of the first screen: the line whose bytes grew most, and the causes of the growth.

-- The lines of the report that wrote, with the bytes that devices wrote beyond those of calls: the run is about the
-- first line. An excess of less than a hundredth of all is none; then the line with most bytes is first. A line that
-- wrote no file data, but made or removed a file, comes behind those that did, unless it has most of all.
CREATE TEMP TABLE v_grew AS
WITH writer AS (
       SELECT v.gid, v.who, v.pid, v.S, v.B, v.P,
              -- a page that is stored to again while it is dirty is no more of it
              iif(v.mapped > 0.01 * COALESCE(v.D, max(COALESCE(v.S, 0) + v.mapped, COALESCE(v.W, 0))),
                  min(v.mapped, COALESCE(NULLIF(v.D, 0), v.mapped)), 0) AS mapped,
              max(v.B - COALESCE(v.S, 0), 0) AS excess, SUM(v.B) OVER () AS whole,
              COALESCE(v.S, 0) + COALESCE(v.W, 0) + COALESCE(v.mapped, 0) > 0 AS wrote,
              w.value, COALESCE(w.bound, 'n/a') AS bound, COALESCE(w.note, '') AS note
       FROM v_volume v LEFT JOIN v_ratio w ON w.gid = v.gid AND w.ratio = 'waf_sys'
       WHERE v.shown AND v.rank <= 3 AND (v.S > 0 OR v.B > 0 OR v.mapped > 0))
SELECT w.*, g.rowid AS line,
       ROW_NUMBER() OVER (ORDER BY w.wrote OR COALESCE(w.B, 0) * 2 > w.whole DESC,
                                   iif(w.excess * 100 > w.whole, w.excess, 0) DESC, w.B DESC, w.S DESC, w.gid) AS place
FROM writer w JOIN v_group g ON g.gid = w.gid;

-- Parts of that line's device bytes, the largest first, zeros that no call wrote apart; device, fs: of the
-- journal, where it is one.
CREATE TEMP TABLE v_grew_cause AS
WITH part AS (
       SELECT iif(c.sub = 'zeroed', c.sub, c.cause) AS cause, SUM(c.amount) AS bytes,
              COUNT(DISTINCT c.device) AS devices, MIN(c.device) AS device
       FROM v_piece c JOIN v_grew g ON g.gid = c.gid AND g.place = 1
       WHERE c.sym = 'B' AND c.amount > 0 GROUP BY 1)
SELECT p.cause, p.bytes, SUM(p.bytes) OVER () AS whole, iif(p.devices = 1, p.device, NULL) AS device,
       iif(p.devices = 1, d.fs, NULL) AS fs, ROW_NUMBER() OVER (ORDER BY p.bytes DESC, p.cause) AS place
FROM part p LEFT JOIN v_explain_fs d ON d.device = p.device;

-- Its file that cost devices most: file data, and its share of the line's journal bytes (v_file_put). Of all inodes
-- that had the name; or the family of names, where that cost twice as much. Of more than twenty thousand files the most
-- costly are looked at, for a name alone.
CREATE TEMP TABLE v_grew_file AS
WITH sums AS MATERIALIZED (
       SELECT s.file, SUM(s.S) AS S, SUM(s.ops_w) AS ops, SUM(s.syncs) AS syncs, SUM(s.B) AS B
       FROM v_file_sum s JOIN v_grew g ON g.line = s.line AND g.place = 1 GROUP BY s.file),
     put AS MATERIALIZED (
       SELECT p.file, SUM(p.bytes) AS journal FROM v_file_put p JOIN v_grew g ON g.line = p.line AND g.place = 1
       GROUP BY p.file),
     cost AS MATERIALIZED (
       SELECT file, SUM(bytes) AS bytes FROM (SELECT file, B AS bytes FROM sums
                                              UNION ALL SELECT file, COALESCE(journal, 0) FROM put)
       GROUP BY file HAVING SUM(bytes) > 0 ORDER BY 2 DESC, file LIMIT 20001),
     named AS MATERIALIZED (
       SELECT n.path, name_pattern(n.path) AS family, c.bytes FROM cost c JOIN v_file_name n ON n.id = c.file
       WHERE n.path IS NOT NULL),
     one AS MATERIALIZED (SELECT path, SUM(bytes) AS bytes FROM named GROUP BY path ORDER BY 2 DESC, path LIMIT 1),
     kin AS MATERIALIZED (
       SELECT family, SUM(bytes) AS bytes FROM named WHERE (SELECT COUNT(*) FROM cost) <= 20000
       GROUP BY family ORDER BY 2 DESC, family LIMIT 1),
     best AS MATERIALIZED (
       SELECT o.path, iif(k.bytes > 2 * o.bytes, k.family, NULL) AS family FROM one o LEFT JOIN kin k),
     inode AS MATERIALIZED (
       SELECT n.id, n.path FROM best b JOIN v_file_name n
       ON iif(b.family IS NULL, n.path = b.path, name_pattern(n.path) = b.family))
SELECT name_family(MIN(i.path), MAX(i.path)) AS path, COUNT(*) AS inodes, COUNT(DISTINCT i.path) AS names,
       SUM(s.S) AS S, SUM(s.ops) AS ops, SUM(s.syncs) AS syncs, COALESCE(SUM(s.B), 0) AS B,
       CAST(ROUND(SUM(p.journal)) AS INTEGER) AS journal
FROM inode i LEFT JOIN sums s ON s.file = i.id LEFT JOIN put p ON p.file = i.id
WHERE s.file IS NOT NULL OR p.file IS NOT NULL
HAVING COUNT(*) > 0;

-- The call that put most into the journal on behalf of that line, by weight (stream/records.def), its share, and the
-- number of its files.
CREATE TEMP TABLE v_grew_call AS
SELECT p.call, COUNT(DISTINCT p.file) AS files, SUM(p.weight) AS weight, SUM(SUM(p.weight)) OVER () AS whole
FROM ask JOIN put p ON p.run = ask.run JOIN v_owner o ON o.owner = p.owner
JOIN v_grew g ON g.gid = o.gid AND g.place = 1
GROUP BY p.call ORDER BY 2 DESC, p.call LIMIT 1;

-- Carriers of that line's bytes to devices (carrier.sql). Stores before format 5 do not know them.
CREATE TEMP TABLE v_grew_carrier AS
SELECT c.carrier, SUM(c.written) AS bytes, SUM(SUM(c.written)) OVER () AS whole,
       ROW_NUMBER() OVER (ORDER BY SUM(c.written) DESC, c.carrier) AS place
FROM v_carried c JOIN v_grew g ON g.gid = c.gid AND g.place = 1
WHERE c.carrier IS NOT NULL AND c.carrier NOT IN ('none', '(not known)') AND c.written > 0
GROUP BY c.carrier;

-- Inode tables that ext4lazyinit zeroes after the mount, because mkfs did not: they have no owner, and are no bytes of
-- unknown owner either. Written as zeros, or as ranges (write-zeroes), on devices that a line of the report used.
CREATE TEMP VIEW v_lazy AS
SELECT sum_if(p.amount, p.sym = 'B') AS written, sum_if(p.amount, p.sym = 'zeroed') AS zeroed
FROM v_piece p JOIN carrier r ON r.id = p.carrier JOIN v_run u
WHERE r.name = 'lazyinit' AND p.sym IN ('B', 'zeroed')
  AND (u.command IS NULL OR p.dev IN (SELECT o.dev FROM v_piece o JOIN v_group g ON g.gid = o.gid
                                      WHERE g.shown AND g.rank <= 3));
