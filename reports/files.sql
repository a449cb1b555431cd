-- SPDX-License-Identifier: GPL-3.0-only
-- title: Files: what was written to each, and what of it reached the device
-- caption: The 100 files with most bytes. S, W, B and syncs are the kernel's sums, exact without events too; T, D, absorbed, cancelled and dirty_end
-- caption: are the dirty ledger's, which needs complete events. What could not be named is one row, and so is what no file is known of.

-- table: files
WITH part AS (
       SELECT file, path, device, ino, component, owner, S, ops_w, syncs, W, B, S_r, ops_r, B_r, NULL AS T, NULL AS D, NULL AS absorbed, NULL AS cancelled, NULL AS dirty_end
       FROM v_file_io
       UNION ALL
       SELECT file, path, device, ino, component, owner, 0, 0, 0, 0, 0, 0, 0, 0, touched, dirtied + direct, absorbed, cancelled, dirty_end
       FROM v_file)
SELECT p.path, p.device, printf('%u', p.ino) AS ino, group_concat(DISTINCT p.component) AS component, o.who, SUM(p.S) * k.syscall AS S, SUM(p.ops_w) * k.syscall AS ops_w,
       SUM(p.syncs) * k.syscall AS syncs, COALESCE(SUM(p.T), 0) * k.ledger AS T, COALESCE(SUM(p.D), 0) * k.ledger AS D, COALESCE(SUM(p.absorbed), 0) * k.ledger AS absorbed,
       COALESCE(SUM(p.cancelled), 0) * k.ledger AS cancelled, COALESCE(SUM(p.dirty_end), 0) * k.ledger AS dirty_end, SUM(p.W) * k.fs AS W, SUM(p.B) * k.block AS B,
       SUM(p.S_r) * k.syscall AS S_r, SUM(p.ops_r) * k.syscall AS ops_r, SUM(p.B_r) * k.block AS B_r
FROM part p JOIN v_owner o ON o.owner = p.owner JOIN v_measured k
WHERE o.shown
GROUP BY p.file, o.gid
HAVING SUM(p.S + p.ops_w + p.syncs + p.W + p.B + p.S_r + p.ops_r + p.B_r) + COALESCE(SUM(p.T + p.D + p.cancelled + p.dirty_end), 0) > 0
ORDER BY SUM(p.W + p.B + p.S + p.S_r + p.B_r) + COALESCE(SUM(p.T), 0) DESC, p.path, p.file, o.gid
LIMIT 100;

-- table: io: The same by component, and what file systems asked their devices for (W_r)
SELECT f.path, f.device, printf('%u', f.ino) AS ino, f.component, o.who, SUM(f.S) * k.syscall AS S, SUM(f.ops_w) * k.syscall AS ops_w,
       SUM(f.S_r) * k.syscall AS S_r, SUM(f.ops_r) * k.syscall AS ops_r, SUM(f.syncs) * k.syscall AS syncs, SUM(f.W) * k.fs AS W, SUM(f.B) * k.block AS B,
       SUM(f.W_r) * k.fs AS W_r, SUM(f.B_r) * k.block AS B_r
FROM v_file_io f JOIN v_owner o ON o.owner = f.owner JOIN v_measured k
WHERE o.shown AND f.S + f.ops_w + f.S_r + f.ops_r + f.syncs + f.W + f.W_r + f.B + f.B_r > 0
GROUP BY f.file, o.gid, f.component
ORDER BY SUM(f.W + f.W_r + f.S + f.S_r) DESC, f.path, f.file, o.gid, f.component
LIMIT 100;

-- table: ledger: The dirty ledger of each file (METRICS section 3)
SELECT f.path, f.device, printf('%u', f.ino) AS ino, MIN(f.component) AS component, o.who, SUM(f.touched) AS touched, SUM(f.dirtied) AS dirtied, SUM(f.absorbed) AS absorbed,
       SUM(f.written) AS written, SUM(f.direct) AS direct, SUM(f.cancelled) AS cancelled, SUM(f.dirty_end) AS dirty_end, SUM(f.dirty_start) AS dirty_start,
       SUM(f.unexpected) AS unexpected
FROM v_file f JOIN v_owner o ON o.owner = f.owner
WHERE o.shown
GROUP BY f.file, o.gid
ORDER BY SUM(f.written + f.direct + f.touched) DESC, f.path, f.file, o.gid
LIMIT 100;

-- plot: top
-- chart: bars
-- heading: Files whose writing and reading cost devices most, by component
-- axis: bytes at the device
-- unit: bytes
WITH cost AS MATERIALIZED (
       SELECT f.file, f.path, COALESCE(f.component, iif(f.file <= 0, f.path, 'unclassified')) AS part, SUM(f.B) AS written, SUM(f.B_r) AS read
       FROM v_file_io f JOIN v_owner o ON o.owner = f.owner JOIN v_measured m ON m.block
       WHERE o.shown
       GROUP BY f.file, part
       HAVING SUM(f.B + f.B_r) > 0),
     best AS MATERIALIZED (
       SELECT file, ROW_NUMBER() OVER (ORDER BY SUM(written + read) DESC, file) AS place FROM cost GROUP BY file),
     side AS (
       SELECT file, path, part, 'written' AS bar, written AS bytes FROM cost
       UNION ALL SELECT file, path, part, 'read', read FROM cost),
     n AS (SELECT COUNT(*) AS n FROM best),
     named AS (
       SELECT iif(b.place <= 9 OR n.n = 10, s.path || iif(s.file <= 0 OR COUNT(*) OVER (PARTITION BY s.path, s.bar, s.part) = 1, '', ' #' || s.file),
                  (n.n - 9) || ' others') AS name, s.bar, s.part, s.bytes, min(b.place, 10) AS place
       FROM side s JOIN best b ON b.file = s.file JOIN n
       WHERE s.bytes > 0)
SELECT name AS "row", bar, part, SUM(bytes) AS value
FROM named
GROUP BY place, name, bar, part
ORDER BY place, bar DESC, part;
