-- SPDX-License-Identifier: GPL-3.0-only
-- title: Files: what was written to each, and what of it reached the device
-- caption: From events; a run with --no-events, or one that lost some, has none. The 100 files with most bytes. files: from the dirty
-- caption: ledger. io: what calls returned (S), and what of the file's data the file system wrote and read.

-- table: files
SELECT f.path, f.device, printf('%u', f.ino) AS ino, f.component, o.who, f.touched, f.dirtied, f.absorbed, f.written, f.direct, f.cancelled, f.dirty_end, f.dirty_start, f.unexpected
FROM v_file f JOIN v_owner o ON o.owner = f.owner
WHERE o.shown
ORDER BY f.written + f.direct + f.touched DESC, f.path, f.id, f.owner
LIMIT 100;

-- table: io: Calls on each file, and its data on the devices
SELECT f.path, f.device, printf('%u', f.ino) AS ino, f.component, o.who, SUM(f.S) AS S, SUM(f.ops_w) AS ops_w, SUM(f.S_r) AS S_r,
       SUM(f.ops_r) AS ops_r, SUM(f.syncs) AS syncs, SUM(f.written) AS written, SUM(f.read) AS read
FROM v_file_io f JOIN v_owner o ON o.owner = f.owner
WHERE o.shown AND f.S + f.ops_w + f.S_r + f.ops_r + f.syncs + f.written + f.read > 0
GROUP BY f.file, o.gid, f.component
ORDER BY SUM(f.written + f.read + f.S + f.S_r) DESC, f.path, f.file, o.gid, f.component
LIMIT 100;
