-- SPDX-License-Identifier: GPL-3.0-only
-- title: Components: which part of each storage system moved the bytes
-- caption: A component is what a file is to its system: its log, its tables, its objects. S: bytes that calls \
-- caption: returned; B: of file data on
-- caption: the devices. fs journal, fs metadata: what the file system adds. unclassified: file data of no known \
-- caption: component. shared: written back
-- caption: from files that several components write, which only complete events tell apart. (name not known): of \
-- caption: files whose name was lost.

-- table: components
-- hide: what
SELECT l.what, l.who, l.pid, COALESCE(c.component, '(not measured)') AS component, c.S, c.ops_w, c.syncs,
       c.written AS B,
       c.written * 1.0 / NULLIF(SUM(c.written) OVER (PARTITION BY l.gid), 0) AS share, c.S_r, c.ops_r, c.read AS B_r,
       c.read * 1.0 / NULLIF(SUM(c.read) OVER (PARTITION BY l.gid), 0) AS share_r
FROM v_component_line l JOIN v_component c ON c.gid = l.gid
ORDER BY l.rank, SUM(c.written + c.read) OVER (PARTITION BY l.gid) DESC, l.gid, c.part = 'fs', c.part = 'rest',
    c.written + c.read DESC, c.component;

-- table: instances: Servers of each system (instance: data root, or what the arguments say; container: name or id)
SELECT p.system, COALESCE(p.instance, '(unknown)') AS instance, COALESCE(p.role, '') AS role,
       COALESCE(p.container, '') AS container, COUNT(DISTINCT p.pid || '/' || p.start_ns) AS processes,
       SUM(c.S) AS S, SUM(c.S_r) AS S_r, SUM(c.B) AS B, SUM(c.B_r) AS B_r, MIN(p.matched) AS matched
FROM v_process p JOIN v_measured m
LEFT JOIN (SELECT owner, SUM(CASE sym WHEN 'S' THEN amount ELSE 0 END) AS S,
           SUM(CASE sym WHEN 'S_r' THEN amount ELSE 0 END) AS S_r,
                  SUM(CASE sym WHEN 'B' THEN amount ELSE 0 END) AS B,
                  SUM(CASE sym WHEN 'B_r' THEN amount ELSE 0 END) AS B_r
           FROM (SELECT stand AS owner, sym, amount FROM v_piece UNION ALL SELECT stand, NULL, 0 FROM v_cell)
           GROUP BY owner) c ON c.owner = p.id
JOIN ask ON ask.system IS NULL OR p.system = ask.system
WHERE p.system IS NOT NULL
GROUP BY p.system, p.instance, p.role, p.container
ORDER BY p.system, p.instance, B DESC, p.role, p.container;

-- plot: bars
-- chart: bars
-- heading: Device bytes by component
-- axis: bytes at the device
-- unit: bytes
WITH side AS (
       SELECT gid, 'written' AS bar, component, part, written AS bytes FROM v_component
       UNION ALL
       SELECT gid, 'read', component, part, read FROM v_component)
SELECT g.who || iif(g.pid = '', '', ' [' || g.pid || ']') AS "row", s.bar,
       COALESCE(s.component, '(not measured)') AS part, s.bytes AS value
FROM v_component_line g JOIN side s ON s.gid = g.gid LEFT JOIN component k ON k.name = s.component
WHERE s.bytes > 0
ORDER BY SUM(s.bytes) OVER (PARTITION BY s.gid) DESC, s.gid, s.bar DESC, s.part = 'fs', s.part = 'rest', k.id,
    s.component;
