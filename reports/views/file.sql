-- SPDX-License-Identifier: GPL-3.0-only
-- file.sql: Files, and the components of storage systems.

-- Names and components of files: a file whose name is not known has its component only.
CREATE TEMP VIEW v_file_name AS
SELECT id, path, component, iif(path IS NULL, NULL, ino) AS ino,
       iif(path IS NULL, NULL, (SELECT d.device FROM v_device d WHERE d.dev = file.dev)) AS device
FROM file WHERE run = (SELECT run FROM ask);

-- Sums of I/O by file, whatever the dirty ledger knows. Files without a known name are one, and so are bytes without a
-- known file.
CREATE TEMP VIEW v_file_io AS
SELECT iif(f.path IS NULL AND i.file <> 0, -1, i.file) AS file, f.device, f.ino,
       COALESCE(f.path, iif(i.file = 0, '(file not known)', '(name not known)')) AS path,
       COALESCE(n.name, f.component) AS component, i.owner, i.write_bytes AS S, i.read_bytes AS S_r,
       i.write_ops AS ops_w, i.read_ops AS ops_r, i.sync_ops AS syncs, i.fs_write_bytes AS W, i.fs_read_bytes AS W_r,
       i.dev_write_bytes AS B, i.dev_read_bytes AS B_r
FROM ask JOIN file_io i ON i.run = ask.run LEFT JOIN v_file_name f ON f.id = i.file
LEFT JOIN component n ON n.id = i.component AND n.id > 0;

-- Pieces of the sums by file, at most a thousand, from number `low` to `high`: each is folded by itself, so that no
-- answer of fold() is long.
CREATE TEMP TABLE v_file_range AS
WITH whole AS (
       SELECT MIN(file) AS low, MAX(file) AS last
       FROM (SELECT (SELECT MIN(file) FROM file_io i WHERE i.run = ask.run) AS file FROM ask
             UNION ALL SELECT (SELECT MAX(file) FROM file_io i WHERE i.run = ask.run) FROM ask
             UNION ALL SELECT (SELECT MIN(file) FROM ledger g WHERE g.run = ask.run) FROM ask
             UNION ALL SELECT (SELECT MAX(file) FROM ledger g WHERE g.run = ask.run) FROM ask)),
     cut AS (SELECT low, last, max((last - low) / 1000 + 1, 1000) AS size FROM whole)
SELECT low + n * size AS low, low + (n + 1) * size - 1 AS high FROM cut JOIN v_number ON low + n * size <= last;

-- The lines that are shown, by owner: numbers are cheaper than names where each row is looked at.
CREATE TEMP TABLE v_line_of(owner INTEGER PRIMARY KEY, line INTEGER);
INSERT INTO temp.v_line_of SELECT o.owner, g.rowid FROM v_owner o JOIN v_group g ON g.gid = o.gid WHERE o.shown;

-- The sums by file, one row a file, line and component of what the threads did there; and the dirty ledger, one row a
-- file and line.
CREATE TEMP TABLE v_file_sum AS
WITH folded AS MATERIALIZED (
       SELECT (SELECT fold(3, i.file, l.line, i.component, i.write_bytes, i.write_ops, i.sync_ops, i.fs_write_bytes,
                           i.dev_write_bytes, i.read_bytes, i.read_ops, i.fs_read_bytes, i.dev_read_bytes, 0)
               FROM file_io i CROSS JOIN v_line_of l ON l.owner = i.owner
               WHERE i.run = ask.run AND i.file BETWEEN r.low AND r.high) AS rows
       FROM ask JOIN v_file_range r)
SELECT c0 AS file, c1 AS line, n.name AS component, c3 AS S, c4 AS ops_w, c5 AS syncs, c6 AS W, c7 AS B, c8 AS S_r,
       c9 AS ops_r, c10 AS W_r, c11 AS B_r
FROM folded JOIN unfold(rows) LEFT JOIN component n ON n.id = c2 AND n.id > 0;

CREATE TEMP TABLE v_file_ledger AS
WITH folded AS MATERIALIZED (
       SELECT (SELECT fold(2, g.file, l.line, g.touched, g.dirtied, g.absorbed, g.written, g.direct, g.cancelled,
                           g.dirty_end, g.dirty_start, g.unexpected, g.submitted, 0)
               FROM ledger g CROSS JOIN v_line_of l ON l.owner = g.owner
               WHERE g.run = ask.run AND g.file BETWEEN r.low AND r.high) AS rows
       FROM ask JOIN v_measured m ON m.ledger JOIN v_file_range r)
SELECT c0 AS file, c1 AS line, c2 AS touched, c3 AS dirtied, c4 AS absorbed, c5 AS written, c6 AS direct,
       c7 AS cancelled, c8 AS dirty_end, c9 AS dirty_start, c10 AS unexpected, c11 AS submitted
FROM folded JOIN unfold(rows);

-- The files of each path, where several inodes had it one after the other, or on several file systems of one disk: the
-- first stands for all.
CREATE TEMP TABLE v_file_first(file INTEGER PRIMARY KEY, first INTEGER);
INSERT INTO temp.v_file_first
WITH named AS (
       SELECT f.id, f.path, f.dev FROM ask CROSS JOIN file f ON f.run = ask.run
       WHERE f.path IS NOT NULL AND COALESCE(:by, 'file') = 'file'),
     several AS MATERIALIZED (SELECT path, dev, MIN(id) AS first FROM named GROUP BY path, dev HAVING COUNT(*) > 1)
SELECT n.id, s.first FROM several s JOIN named n ON n.path = s.path AND n.dev = s.dev WHERE n.id <> s.first;

-- Names of files in the report, and what --by groups them by: the number of the first file of its path, or a name.
-- Files without a known name are one, and so are bytes without a known file.
CREATE TEMP TABLE v_file_label(file INTEGER PRIMARY KEY, key, label TEXT, device TEXT, ino INTEGER, component TEXT);
INSERT INTO temp.v_file_label
SELECT s.file, CASE WHEN f.path IS NULL THEN iif(s.file = 0, 0, -1)
                    WHEN :by = 'directory'
                    THEN COALESCE(NULLIF(rtrim(rtrim(f.path, replace(f.path, '/', '')), '/'), ''), '/')
                    WHEN :by = 'pattern' THEN name_pattern(f.path)
                    WHEN :by = 'component' THEN ''
                    ELSE COALESCE(o.first, s.file) END,
       COALESCE(f.path, iif(s.file = 0, '(file not known)', '(name not known)')), f.device, f.ino, f.component
FROM (SELECT file FROM v_file_sum UNION SELECT file FROM v_file_ledger UNION SELECT file FROM v_file_put) s
LEFT JOIN v_file_name f ON f.id = s.file LEFT JOIN v_file_first o ON o.file = s.file;

-- Keys of files that are shown in the row of another file.
CREATE TEMP TABLE v_file_key(file INTEGER PRIMARY KEY, key);
INSERT INTO temp.v_file_key SELECT file, key FROM v_file_label WHERE key IS NOT file;

-- The lines of what a run was to record: their files come first. Of a run of the whole machine none is.
CREATE TEMP TABLE v_asked(line INTEGER PRIMARY KEY);
INSERT INTO temp.v_asked
SELECT g.rowid FROM v_run r JOIN v_group g ON g.rank < 4 WHERE COALESCE(r.filters, '') <> '';

-- The files of the rows that tables show: joining names is expensive with a million other files. Rows are ordered by
-- whether they are of what was to be recorded, by the bytes that devices moved, then by those of calls and of the file
-- system.
CREATE TEMP TABLE v_file_shown(file INTEGER PRIMARY KEY);
INSERT INTO temp.v_file_shown
WITH part AS (
       SELECT file, line, B + B_r AS cost, W + S + S_r AS work, S + ops_w + syncs + W + B + S_r + ops_r + B_r AS some
       FROM v_file_sum
       UNION ALL
       SELECT file, line, 0, touched, touched + dirtied + direct + cancelled + dirty_end FROM v_file_ledger
       UNION ALL SELECT file, line, 0, 0, COALESCE(bytes, 0) FROM v_file_put),
     line AS (
       SELECT COALESCE(k.key, p.file) AS key, MIN(p.file) AS file, MAX(p.line IN (SELECT line FROM v_asked)) AS asked,
              SUM(p.cost) AS cost, SUM(p.work) AS work
       FROM part p LEFT JOIN v_file_key k ON k.file = p.file
       WHERE :by IS NOT 'component' AND :rows < 1000
       GROUP BY 1
       HAVING SUM(p.some) > 0),
     best AS MATERIALIZED (
       SELECT l.key FROM line l JOIN v_file_label f ON f.file = l.file
       ORDER BY l.asked DESC, l.cost DESC, l.work DESC, iif(typeof(l.key) = 'integer', f.label, l.key), l.file
       LIMIT :rows)
SELECT file FROM v_file_label WHERE :by IS 'component' OR :rows >= 1000 OR key IN (SELECT key FROM best);

-- Two tables in which a row is one path's and line's, except for files whose names are not known.
CREATE TEMP TABLE v_file_io_shown(file INTEGER PRIMARY KEY);
INSERT INTO temp.v_file_io_shown
WITH best AS MATERIALIZED (
       SELECT DISTINCT key FROM (SELECT f.key
                                 FROM v_file_sum s JOIN v_file_label f ON f.file = s.file
                                        JOIN v_group g ON g.rowid = s.line
                                 WHERE :rows < 1000 AND COALESCE(:by, 'file') = 'file' AND f.key > 0
                                   AND s.S + s.ops_w + s.S_r + s.ops_r + s.syncs + s.W + s.W_r + s.B + s.B_r > 0
                                 GROUP BY f.key, s.line, COALESCE(s.component, f.component)
                                 ORDER BY s.line IN (SELECT line FROM v_asked) DESC, SUM(s.B + s.B_r) DESC,
                                        SUM(s.W + s.W_r + s.S + s.S_r) DESC, f.label, f.key, g.gid,
                                          COALESCE(s.component, f.component) LIMIT :rows))
SELECT file FROM v_file_label WHERE :rows >= 1000 OR key <= 0 OR key IN (SELECT key FROM best);

CREATE TEMP TABLE v_file_ledger_shown(file INTEGER PRIMARY KEY);
INSERT INTO temp.v_file_ledger_shown
WITH best AS MATERIALIZED (
       SELECT DISTINCT key FROM (SELECT f.key
                                 FROM v_file_ledger s JOIN v_file_label f ON f.file = s.file
                                        JOIN v_group g ON g.rowid = s.line
                                 WHERE :rows < 1000 AND COALESCE(:by, 'file') = 'file' AND f.key > 0
                                 GROUP BY f.key, s.line
                                 ORDER BY s.line IN (SELECT line FROM v_asked) DESC,
                                        SUM(s.written + s.direct + s.touched) DESC, f.label, f.key, g.gid LIMIT :rows))
SELECT file FROM v_file_label WHERE :rows >= 1000 OR key <= 0 OR key IN (SELECT key FROM best);

-- Bytes of each file that went to devices, whoever wrote them, and the part of the file that they cover; NULL: not
-- known.
CREATE TEMP TABLE v_file_covered(file INTEGER PRIMARY KEY, submitted INTEGER, covered INTEGER);
INSERT INTO temp.v_file_covered
SELECT n.file, SUM(g.written + g.submitted), iif(COUNT(g.covered) = COUNT(*), SUM(g.covered), NULL)
FROM ask JOIN v_measured m ON m.ledger CROSS JOIN v_file_shown n
CROSS JOIN ledger g ON g.run = ask.run AND g.file = n.file
WHERE g.written + g.submitted > 0
GROUP BY n.file;

-- Types of files as numbers, so that sums by file can be folded by them: twice the number of its component (0: none),
-- plus 1 where its name is not known.
CREATE TEMP TABLE v_file_component(number INTEGER PRIMARY KEY, name TEXT UNIQUE);
INSERT INTO temp.v_file_component(name)
SELECT DISTINCT component FROM ask JOIN file f ON f.run = ask.run WHERE component IS NOT NULL;

CREATE TEMP TABLE v_file_class(file INTEGER PRIMARY KEY, class INTEGER);
INSERT INTO temp.v_file_class
SELECT f.id, 2 * COALESCE(c.number, 0) + (f.path IS NULL OR f.id <= 0)
FROM ask CROSS JOIN file f ON f.run = ask.run LEFT JOIN v_file_component c ON c.name = f.component;

-- Bytes of a component of a storage system, one row a line of the report and component. part: 'component', from the
-- sums by file (METRICS: S, S_r, and the file's part of B, B_r; of calls NULL where records of them are missing);
-- 'rest', file data of no known component, what the components leave of the line's device bytes, with a row of its own
-- for files of which no name is known; 'fs', what the file system adds: its journal, its structures. written and read
-- of a line sum to its B and B_r. Without sums by file there is one row 'rest', whose component is NULL.
CREATE TEMP TABLE v_component AS
WITH known AS MATERIALIZED (
       SELECT i.yes, iif(i.yes AND NOT EXISTS (SELECT 1 FROM v_spoilt WHERE class = 'calls'), m.syscall, NULL) AS calls,
              m.block, iif(i.yes, 'unclassified', NULL) AS rest
       FROM v_measured m JOIN (SELECT EXISTS (SELECT 1 FROM ask JOIN file_io i ON i.run = ask.run) AS yes) i),
     folded AS (
       SELECT fold(3, i.owner, i.component, f.class, i.write_bytes, i.read_bytes, i.write_ops, i.read_ops, i.sync_ops,
                   i.dev_write_bytes, i.dev_read_bytes, 0) AS rows
       FROM ask CROSS JOIN file_io i ON i.run = ask.run LEFT JOIN v_file_class f ON f.file = i.file),
     part AS (
       SELECT c0 AS owner, c1 AS id, COALESCE(c2, 1) AS class, c3 AS S, c4 AS S_r, c5 AS ops_w, c6 AS ops_r,
              c7 AS syncs, c8 AS written, c9 AS read FROM folded, unfold(rows)),
     io AS MATERIALIZED (
       SELECT o.gid, COALESCE(n.name, c.name) AS component,
              COALESCE(n.name, c.name) IS NOT NULL OR p.class & 1 AS own, SUM(S) AS S, SUM(S_r) AS S_r,
              SUM(ops_w) AS ops_w, SUM(ops_r) AS ops_r, SUM(syncs) AS syncs, SUM(written) AS written, SUM(read) AS read
       FROM part p JOIN v_owner o ON o.owner = p.owner LEFT JOIN component n ON n.id = p.id AND n.id > 0
       LEFT JOIN v_file_component c ON c.number = p.class >> 1 GROUP BY 1, 2, 3),
     cause AS MATERIALIZED (
       SELECT gid, cause, SUM(written) AS written, SUM(read) AS read,
              cause IN ('data', 'direct', 'readahead') AS of_files
       FROM v_cause GROUP BY gid, cause),
     -- bytes with a row of their own are subtracted from those of files, which leaves the rest
     piece(gid, part, component, S, S_r, ops_w, ops_r, syncs, written, read) AS (
       SELECT gid, iif(component IS NULL, 'rest', 'component'), COALESCE(component, '(name not known)'), S, S_r, ops_w,
              ops_r, syncs, written, read
       FROM io WHERE own
       UNION ALL
       SELECT gid, 'rest', k.rest, iif(own, 0, S), iif(own, 0, S_r), iif(own, 0, ops_w), iif(own, 0, ops_r),
              iif(own, 0, syncs), -own * written * k.block, -own * read * k.block FROM io JOIN known k
       UNION ALL
       SELECT gid, 'rest', k.rest, 0, 0, 0, 0, 0, of_files * written * k.block, of_files * read * k.block
       FROM cause JOIN known k
       UNION ALL
       SELECT gid, 'fs', 'fs ' || cause, NULL, NULL, NULL, NULL, NULL, written, read FROM cause WHERE NOT of_files)
SELECT gid, part, component, SUM(S) * k.calls AS S, SUM(S_r) * k.calls AS S_r, SUM(ops_w) * k.calls AS ops_w,
       SUM(ops_r) * k.calls AS ops_r, SUM(syncs) * k.calls AS syncs, SUM(written) AS written, SUM(read) AS read
FROM piece JOIN known k JOIN ask ON ask.per <> 'carrier' GROUP BY gid, part, component
HAVING part = 'component' OR component IS k.rest
    OR TOTAL(S + S_r + ops_w + ops_r + syncs) + SUM(written + read) > 0;

-- Layer storage by line of the report: calls of storage systems on files of a known component. NULL where sums of calls
-- by file are not whole.
CREATE TEMP VIEW v_storage_line AS
WITH known AS (
       SELECT iif(EXISTS (SELECT 1 FROM v_spoilt WHERE class = 'calls'), NULL, m.syscall) AS calls FROM v_measured m),
     folded AS (
       SELECT fold(1, i.owner, i.write_bytes, i.read_bytes, i.write_ops, i.read_ops, i.sync_ops, 0) AS rows
       FROM ask CROSS JOIN file_io i ON i.run = ask.run LEFT JOIN v_file_class f ON f.file = i.file
       WHERE i.owner IN (SELECT owner FROM v_owner WHERE system IS NOT NULL) AND (i.component > 0 OR f.class > 1))
SELECT o.gid, SUM(c1) * k.calls AS S, SUM(c2) * k.calls AS S_r, SUM(c3) * k.calls AS ops_w, SUM(c4) * k.calls AS ops_r,
       SUM(c5) * k.calls AS syncs
FROM folded, unfold(rows) JOIN v_owner o ON o.owner = c0 JOIN known k GROUP BY o.gid;

-- The lines that have components at all: those of storage systems, and of others that use their files.
CREATE TEMP VIEW v_component_line AS
SELECT gid, what, who, pid, rank FROM v_group
WHERE shown AND rank <= 4 AND (what = 'system' OR gid IN (SELECT gid FROM v_component WHERE part = 'component'));

-- Device bytes of a line of the report by part, for pictures: its components, where it has some, else bytes of calls
-- and of readahead on its files, by cause; then the bytes that the file system adds. They sum to the line's B and B_r.
CREATE TEMP VIEW v_part AS
WITH known AS MATERIALIZED (
       SELECT gid FROM v_component WHERE part = 'component'
       UNION SELECT l.gid FROM v_component_line l JOIN v_component c ON c.gid = l.gid AND c.component = 'unclassified')
SELECT c.gid, c.component AS part, c.written, c.read FROM v_component c JOIN known k ON k.gid = c.gid
UNION ALL
SELECT gid, COALESCE('{"data": "file data", "direct": "direct I/O", "readahead": "readahead"}' ->> cause,
                     'fs ' || cause), SUM(written), SUM(read)
FROM v_cause WHERE gid NOT IN (SELECT gid FROM known) GROUP BY gid, cause;

-- Journal bytes as file systems submitted them, by line and disk. btrfs has no other place than its trees; those of the
-- log are divided by themselves.
CREATE TEMP TABLE v_put_bytes AS
SELECT gid, dev, sub = 'log_tree' AS log, SUM(bytes) AS bytes FROM v_cell
WHERE kind = 'fs_write' AND (cause = 'journal' OR cause = 'metadata' AND sub LIKE '%\_tree' ESCAPE '\')
GROUP BY gid, dev, log;

-- Blocks that calls put into journals, by the name of the file with '#' in place of numbers. bytes: its line's journal
-- bytes on that disk, as its file system submitted them, divided by the weight of each call's blocks; NULL: it has none
-- there, as with an external journal.
CREATE TEMP TABLE v_put AS
WITH called AS MATERIALIZED (
       SELECT p.owner, p.dev, p.call, p.sub, p.file, f.path, p.txns, p.blocks, p.weight,
              CASE WHEN p.file = 0 THEN '(file not known)' WHEN f.path IS NULL THEN '(name not known)'
                   ELSE name_pattern(f.path) END AS name
       FROM ask JOIN put p ON p.run = ask.run LEFT JOIN v_file_name f ON f.id = p.file),
     mine AS MATERIALIZED (
       SELECT o.gid, p.dev, p.call, p.name, s.name AS structure, s.name = 'log_tree' AS log,
              COUNT(DISTINCT p.file) AS files, iif(MIN(p.path) = MAX(p.path), MIN(p.path), NULL) AS path,
              MIN(p.path) AS first, MAX(p.path) AS last,
                     SUM(p.txns) AS txns, SUM(p.weight) AS weight,
              SUM(SUM(p.weight)) OVER (PARTITION BY o.gid, p.dev, s.name = 'log_tree') AS whole,
              iif(COUNT(p.blocks) = COUNT(*), SUM(p.blocks), NULL) AS blocks
       FROM called p JOIN v_owner o ON o.owner = p.owner JOIN sub s ON s.id = p.sub
       GROUP BY o.gid, p.dev, p.call, p.name, p.sub)
SELECT m.*, COALESCE(d.device, devno(m.dev)) AS device, j.bytes * 1.0 * m.weight / NULLIF(m.whole, 0) AS bytes
FROM mine m LEFT JOIN v_put_bytes j ON j.gid = m.gid AND j.dev = m.dev AND j.log = m.log
LEFT JOIN v_device d ON d.dev = m.dev;

-- Blocks that were put into journals for each file, by line: blocks as the kernel counted them, and, of the journal
-- bytes of its line on that disk, the share of its weight.
CREATE TEMP TABLE v_file_put AS
WITH mine AS MATERIALIZED (
       SELECT p.file, o.gid, l.line, p.dev, s.name = 'log_tree' AS log, SUM(p.weight) AS weight,
              SUM(SUM(p.weight)) OVER (PARTITION BY o.gid, p.dev, s.name = 'log_tree') AS whole,
              iif(COUNT(p.blocks) = COUNT(*), SUM(p.blocks), NULL) AS blocks
       FROM ask JOIN put p ON p.run = ask.run JOIN v_owner o ON o.owner = p.owner JOIN v_line_of l ON l.owner = p.owner
       JOIN sub s ON s.id = p.sub
       GROUP BY p.file, o.gid, p.dev, log)
SELECT m.file, m.line, SUM(j.bytes * 1.0 * m.weight / NULLIF(m.whole, 0)) AS bytes,
       iif(COUNT(m.blocks) = COUNT(*), SUM(m.blocks), NULL) AS blocks
FROM mine m LEFT JOIN v_put_bytes j ON j.gid = m.gid AND j.dev = m.dev AND j.log = m.log
GROUP BY m.file, m.line;
