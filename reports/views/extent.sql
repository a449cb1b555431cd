-- SPDX-License-Identifier: GPL-3.0-only
-- extent.sql: Places of requests on devices, and sizes of accesses.

-- Requests by place and time, each event read once (analyzer/sql/sizes.c explains the cells).
CREATE TEMP TABLE v_cells AS
SELECT access_cells((SELECT map FROM v_access_map), e.kind, e.dev, e.owner, e.ts_ns, e.offset, e.bytes) AS map
FROM event e WHERE e.run = (SELECT run FROM ask)
  AND e.kind IN (SELECT kind FROM v_access_kind WHERE letter IN ('e', 'f'));

CREATE TEMP TABLE v_cut AS
SELECT d.value ->> 0 AS dev, COALESCE(v.device, '(unknown)') AS device, d.value ->> 1 AS low, d.value ->> 2 AS high,
       d.value ->> 3 AS step, m.map ->> 'step_ns' AS step_ns
FROM v_cells m JOIN json_each(m.map, '$.devices') d LEFT JOIN v_device v ON v.dev = d.value ->> 0;

CREATE TEMP TABLE v_heat AS
SELECT c.device, c.dev, iif(r.value ->> 1 = 1, 'read', 'written') AS way, r.value ->> 2 AS col, r.value ->> 3 AS offset,
       c.low / c.step * c.step AS low, c.step, c.step_ns, r.value ->> 4 AS ops, r.value ->> 5 AS bytes
FROM v_cells m JOIN json_each(m.map, '$.cells') r JOIN v_cut c ON c.dev = r.value ->> 0;

-- Sizes of accesses by powers of two, by layer, direction and class: from low up to twice as many bytes.
CREATE TEMP TABLE v_size AS
WITH sized AS MATERIALIZED (
       SELECT access_sizes((SELECT map FROM v_access_map), e.kind, e.dev, e.owner, e.bytes, e.sub, e.cause) AS rows
       FROM event e WHERE e.run = (SELECT run FROM ask))
SELECT value ->> 0 AS place, value ->> 1 AS way, value ->> 2 AS class, value ->> 3 AS low, value ->> 4 AS accesses,
       value ->> 5 AS bytes, value ->> 6 AS largest
FROM sized, json_each(rows);

-- Sizes in words, with the accesses that are in no event: where the VFS was not measured, calls stand for it.
CREATE TEMP VIEW v_size_line AS
SELECT p.place, p.layer, iif(s.way = 1, 'read', 'written') AS way, s.class, w.word AS part, s.low, s.accesses, s.bytes,
       s.largest, p.derived, SUM(s.accesses) OVER line AS all_accesses, SUM(s.bytes) OVER line AS all_bytes,
       SUM(s.accesses) OVER (line ORDER BY s.low) AS upto,
       iif(p.derived, 'derived from calls', '')
           || iif(p.lost, printf('%s%d records were lost', iif(p.derived, '; ', ''), p.lost), '') AS note
FROM v_size s JOIN v_place p ON p.place = s.place OR p.derived AND s.place = 1
JOIN v_class w ON w.class = s.class AND w.word IS NOT NULL
WINDOW line AS (PARTITION BY p.place, s.way, s.class);

-- The devices of the map; where there is none, why.
CREATE TEMP VIEW v_heat_device AS
SELECT c.device, c.low AS touched_from, c.high AS touched_to, c.step AS cell_bytes, c.step_ns / 1e9 AS cell_s,
       iif(p.lost, printf('%d records were lost: a cell may hold more', p.lost), '') AS note
FROM v_place p JOIN v_cut c WHERE p.place = 3
UNION ALL
SELECT '', NULL, NULL, NULL, NULL, why FROM v_place WHERE place = 3 AND NOT EXISTS (SELECT 1 FROM v_cut);

-- Mean sizes from sums, exact without events too; of calls also those that moved no byte, such as the end of a file.
CREATE TEMP VIEW v_size_mean AS
WITH sum AS (
       SELECT SUM(S_r) AS S_r, SUM(ops_S_r) AS ops_S_r, SUM(S) AS S, SUM(ops_S_w) AS ops_S_w, SUM(V_r) AS V_r,
              SUM(ops_V_r) AS ops_V_r, SUM(V) AS V, SUM(ops_V_w) AS ops_V_w, SUM(B_r) AS B_r, SUM(ops_B_r) AS ops_B_r,
              SUM(B) AS B, SUM(ops_B_w) AS ops_B_w
       FROM v_volume JOIN v_about_some s WHERE shown AND what NOT IN ('all', 'total', 'other', 'self')
         AND (what <> 'unattributed' OR s.yes IS NOT 1))
SELECT 1 AS ord, 'calls' AS layer, 'read' AS way, ops_S_r AS accesses, S_r AS bytes FROM sum
UNION ALL SELECT 2, 'calls', 'written', ops_S_w, S FROM sum
UNION ALL SELECT 3, 'vfs', 'read', ops_V_r, V_r FROM sum
UNION ALL SELECT 4, 'vfs', 'written', ops_V_w, V FROM sum
UNION ALL SELECT 5, 'block', 'read', ops_B_r, B_r FROM sum
UNION ALL SELECT 6, 'block', 'written', ops_B_w, B FROM sum;
