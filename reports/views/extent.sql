-- SPDX-License-Identifier: GPL-3.0-only
-- extent.sql: Where on devices, and how large.

-- Owners whose events are left out: the tracer, what is not traced, and who is not of the system that is asked for.
CREATE TEMP TABLE v_unwanted(owner INTEGER PRIMARY KEY);
INSERT INTO temp.v_unwanted
SELECT 1 UNION SELECT 2
UNION SELECT o.owner FROM ask JOIN v_owner o ON o.system IS NOT ask.system WHERE ask.system <> '';

-- What requests of each device touched, and when the last one began.
CREATE TEMP TABLE v_extent AS
WITH most AS MATERIALIZED (
       SELECT fold(1, e.dev, ifnull(e.offset, 0) + e.bytes) AS high, fold(1, e.dev, -ifnull(e.offset, 0)) AS low,
              fold(1, e.dev, e.bytes) AS large, fold(1, e.dev, e.ts_ns) AS late
       FROM ask CROSS JOIN event e CROSS JOIN v_access a ON a.kind = e.kind AND a.place = 3
       WHERE e.run = ask.run AND e.bytes > 0 AND ifnull(e.owner, 0) NOT IN (SELECT owner FROM v_unwanted))
SELECT h.value ->> 0 AS dev, -(l.value ->> 1) AS low, h.value ->> 1 AS high, b.value ->> 1 AS large, t.value ->> 1 AS ts
FROM most JOIN json_each(most.high) h JOIN json_each(most.low) l ON l.key = h.key
JOIN json_each(most.large) b ON b.key = h.key JOIN json_each(most.late) t ON t.key = h.key;

-- How a device is cut: rows of step bytes from low on, columns of step_ns from the start of the run on. A request is in
-- the cell in which it begins, so that a row is as high as the largest one.
CREATE TEMP TABLE v_cut(dev INTEGER PRIMARY KEY, device TEXT, low INTEGER, step INTEGER, step_ns INTEGER);
INSERT INTO temp.v_cut
SELECT x.dev, COALESCE(d.device, '(unknown)'), x.low, max((x.high - x.low + 47) / 48, x.large, 1),
       max((SELECT MAX(ts) FROM v_extent) / 96 + 1, 1)
FROM v_extent x LEFT JOIN v_device d ON d.dev = x.dev
WHERE COALESCE(d.leaf, 1) AND x.dev IS NOT NULL;

CREATE TEMP TABLE v_heat AS
WITH cut AS MATERIALIZED (
       SELECT fold(4, e.dev, a.way, e.ts_ns / c.step_ns, (ifnull(e.offset, 0) - c.low) / c.step, 1, e.bytes, 0) AS rows
       FROM ask CROSS JOIN event e CROSS JOIN v_access a ON a.kind = e.kind AND a.place = 3
       CROSS JOIN v_cut c ON c.dev = e.dev
       WHERE e.run = ask.run AND e.bytes > 0 AND ifnull(e.owner, 0) NOT IN (SELECT owner FROM v_unwanted))
SELECT c.device, c.dev, iif(r.value ->> 1 = 1, 'read', 'written') AS way, r.value ->> 2 AS col, r.value ->> 3 AS line,
       c.low + (r.value ->> 3) * c.step AS offset, c.low, c.step, c.step_ns,
       r.value ->> 4 AS ops, r.value ->> 5 AS bytes
FROM cut JOIN json_each(cut.rows) r JOIN v_cut c ON c.dev = r.value ->> 0;

-- Shades of a map: five steps of factors, from the fewest bytes in a cell to the most.
CREATE TEMP VIEW v_shade AS
WITH most AS (SELECT MAX(bytes) * 1.0 AS high, MIN(bytes) * 1.0 AS low FROM v_heat)
SELECT h.*, min(CAST(5 * ln(h.bytes / m.low) / NULLIF(ln(m.high / m.low), 0) AS INTEGER), 4) AS shade,
       m.low AS least, m.high AS most
FROM v_heat h JOIN most m;

-- Sizes of accesses by powers of two, by layer, direction and class: from low up to twice as many bytes.
CREATE TEMP TABLE v_size AS
WITH sized AS MATERIALIZED (
       SELECT fold(5, a.place, a.way, iif(a.place IN (3, 5), COALESCE(c.class, 5), 0), iif(a.place = 3, e.dev, 0),
                   CAST(log2(e.bytes) AS INTEGER), 1, e.bytes, e.bytes) AS rows
       FROM ask CROSS JOIN event e CROSS JOIN v_access a ON a.kind = e.kind LEFT JOIN v_class c ON c.cause = e.cause
       WHERE e.run = ask.run AND e.bytes > 0 AND (a.regular IS NULL OR e.sub IN (a.regular, a.blockdev))
         AND ifnull(e.owner, 0) NOT IN (SELECT owner FROM v_unwanted))
SELECT r.value ->> 0 AS place, r.value ->> 1 AS way, r.value ->> 2 AS class, 1 << (r.value ->> 4) AS low,
       SUM(r.value ->> 5) AS accesses, SUM(r.value ->> 6) AS bytes, MAX(r.value ->> 7) AS largest
FROM sized JOIN json_each(sized.rows) r LEFT JOIN v_device d ON d.dev = r.value ->> 3
WHERE r.value ->> 0 <> 3 OR COALESCE(d.leaf, 1)
GROUP BY 1, 2, 3, 4;

-- In words, with what is in no event: where the VFS was not measured it is what calls did.
CREATE TEMP VIEW v_size_line AS
SELECT p.place, p.layer, iif(s.way = 1, 'read', 'written') AS way, s.class, w.word AS part, s.low, s.accesses, s.bytes,
       s.largest, p.derived, SUM(s.accesses) OVER line AS all_accesses, SUM(s.bytes) OVER line AS all_bytes,
       SUM(s.accesses) OVER (line ORDER BY s.low) AS upto,
       iif(p.derived, 'derived from calls', '')
           || iif(p.lost, printf('%s%d records were lost', iif(p.derived, '; ', ''), p.lost), '') AS note
FROM v_size s JOIN v_place p ON p.place = s.place OR p.derived AND s.place = 1 JOIN v_class_word w ON w.class = s.class
WINDOW line AS (PARTITION BY p.place, s.way, s.class);

-- The devices of the map; where there is none, why.
CREATE TEMP VIEW v_heat_device AS
SELECT c.device, c.low AS touched_from, x.high AS touched_to, c.step AS cell_bytes, c.step_ns / 1e9 AS cell_s,
       iif(p.lost, printf('%d records were lost: a cell may hold more', p.lost), '') AS note
FROM v_place p JOIN v_cut c JOIN v_extent x ON x.dev = c.dev WHERE p.place = 3
UNION ALL
SELECT '', NULL, NULL, NULL, NULL, why FROM v_place WHERE place = 3 AND NOT EXISTS (SELECT 1 FROM v_cut);

CREATE TEMP VIEW v_size_absent AS
SELECT place, layer, why FROM v_place WHERE place <> 4 AND place NOT IN (SELECT place FROM v_size_line);

CREATE TEMP VIEW v_size_largest AS
SELECT layer, way, MAX(largest) AS largest FROM v_size_line GROUP BY layer, way;

-- Mean sizes from sums, exact without events too.
CREATE TEMP VIEW v_size_mean AS
WITH sum AS (
       SELECT SUM(S_r) AS S_r, SUM(ops_S_r) AS ops_S_r, SUM(S) AS S, SUM(ops_S_w) AS ops_S_w, SUM(V_r) AS V_r,
              SUM(ops_V_r) AS ops_V_r, SUM(V) AS V, SUM(ops_V_w) AS ops_V_w, SUM(B_r) AS B_r, SUM(ops_B_r) AS ops_B_r,
              SUM(B) AS B, SUM(ops_B_w) AS ops_B_w
       FROM v_volume WHERE shown AND what NOT IN ('all', 'total', 'other', 'self'))
SELECT 1 AS ord, 'calls' AS layer, 'read' AS way, ops_S_r AS accesses, S_r AS bytes FROM sum
UNION ALL SELECT 2, 'calls', 'written', ops_S_w, S FROM sum
UNION ALL SELECT 3, 'vfs', 'read', ops_V_r, V_r FROM sum
UNION ALL SELECT 4, 'vfs', 'written', ops_V_w, V FROM sum
UNION ALL SELECT 5, 'block', 'read', ops_B_r, B_r FROM sum
UNION ALL SELECT 6, 'block', 'written', ops_B_w, B FROM sum;
