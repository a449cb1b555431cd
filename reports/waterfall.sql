-- SPDX-License-Identifier: GPL-3.0-only
-- title: Waterfall: where the bytes grow, hop by hop
-- caption: S calls on files; T their blocks; D made dirty, or direct; W file data submitted; F all that the file \
-- caption: system submits; B devices.
-- caption: A step below 0 saved bytes: what the cache absorbed, what was deleted in time. All steps of a line sum to \
-- caption: its last row. residue:
-- caption: what the dirty ledger does not explain, or of reads no counter of the cache; 0 when all is known. L: what \
-- caption: clients had acknowledged.

-- table: written: Bytes written
-- hide: what
SELECT g.what, g.who, g.pid, h.hop, h.step, h.bytes, h.reach
FROM v_hop h JOIN v_line g ON g.gid = h.gid JOIN v_volume v ON v.gid = h.gid
WHERE COALESCE(v.S, 0) + COALESCE(v.B, 0) > 0 AND (h.start OR h.bytes <> 0
                                                   OR h.step IN ('fs journal', 'fs metadata', 'residue'))
  AND (g.rank < 4 OR v.L IS NOT NULL OR 1 < (SELECT COUNT(*) FROM v_volume n
                                             WHERE n.shown AND n.rank < 4 AND COALESCE(n.S, 0) + COALESCE(n.B, 0) > 0))
ORDER BY g.rank, v.B DESC, h.gid, h.ord;

-- table: read: Bytes read
-- hide: what
SELECT g.what, g.who, g.pid, h.hop, h.step, h.bytes, h.reach
FROM v_hop_r h JOIN v_line g ON g.gid = h.gid JOIN v_volume v ON v.gid = h.gid
WHERE (h.start OR h.bytes <> 0 OR h.step = 'residue')
  AND (g.rank < 4 OR 1 < (SELECT COUNT(*) FROM v_volume n
                          WHERE n.shown AND n.rank < 4 AND COALESCE(n.S_r, 0) + COALESCE(n.B_r, 0) > 0))
ORDER BY g.rank, v.B_r DESC, v.S_r DESC, h.gid, h.ord;

-- table: apart: Bytes of devices that are on no line's way
SELECT who, B, B_r
FROM v_volume
WHERE shown AND rank > 4 AND what <> 'total' AND B + B_r > 0
ORDER BY rank, gid;

-- plot: ways
-- chart: bars
-- heading: Bytes written, each step from S to B (steps to the left saved some)
-- unit: bytes
-- own: yes
-- fold: no
-- key: no
WITH line AS (
       SELECT g.gid, g.who || iif(g.pid = '', '', ' [' || g.pid || ']') AS who, g.rank, v.B
       FROM v_line g JOIN v_volume v ON v.gid = g.gid
       WHERE COALESCE(v.S, 0) + COALESCE(v.B, 0) > 0 AND g.shown AND g.rank < 4)
SELECT l.who AS panel, h.step AS "row", COALESCE(p.paint, h.step) AS part,
       iif(h.start, 0, min(h.reach, h.reach - h.bytes)) AS low,
       iif(h.start, h.bytes, max(h.reach, h.reach - h.bytes)) AS high, iif(h.start OR h.bytes <= 0, '', '+')
           || replace(size(h.bytes), ' bytes', ' B') AS label
FROM v_hop h JOIN line l ON l.gid = h.gid LEFT JOIN v_step_paint p ON p.step = h.step
WHERE h.start OR h.bytes <> 0 OR h.step IN ('fs journal', 'fs metadata', 'residue')
ORDER BY l.rank, l.B DESC, l.gid, h.ord;

-- plot: reads
-- chart: bars
-- heading: Bytes read, each step from S_r to B_r
-- unit: bytes
-- own: yes
-- fold: no
-- key: no
WITH line AS (
       SELECT g.gid, g.who || iif(g.pid = '', '', ' [' || g.pid || ']') AS who, g.rank, v.B_r, v.S_r
       FROM v_line g JOIN v_volume v ON v.gid = g.gid
       WHERE g.shown AND g.rank < 4)
SELECT l.who AS panel, h.step AS "row", COALESCE(p.paint, h.step) AS part,
       iif(h.start, 0, min(h.reach, h.reach - h.bytes)) AS low,
       iif(h.start, h.bytes, max(h.reach, h.reach - h.bytes)) AS high, iif(h.start OR h.bytes <= 0, '', '+')
           || replace(size(h.bytes), ' bytes', ' B') AS label
FROM v_hop_r h JOIN line l ON l.gid = h.gid LEFT JOIN v_step_paint p ON p.step = h.step
WHERE h.start OR h.bytes <> 0 OR h.step = 'residue'
ORDER BY l.rank, l.B_r DESC, l.S_r DESC, l.gid, h.ord;
