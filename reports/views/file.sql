-- SPDX-License-Identifier: GPL-3.0-only
-- file.sql: Files, and the components of storage systems.

CREATE TEMP VIEW v_file AS
SELECT CASE WHEN f.path IS NULL AND g.file <> 0 THEN -1 ELSE g.file END AS file, CASE WHEN f.path IS NOT NULL
           THEN d.device END AS device,
       CASE WHEN f.path IS NOT NULL THEN f.ino END AS ino,
       COALESCE(f.path, CASE g.file WHEN 0 THEN '(file not known)' ELSE '(name not known)' END) AS path, f.component,
       g.owner, g.touched, g.dirtied, g.absorbed, g.written, g.direct, g.submitted, g.cancelled, g.dirty_end,
       g.dirty_late, g.dirty_start, g.unexpected
FROM ask JOIN v_measured m ON m.ledger JOIN ledger g ON g.run = ask.run
LEFT JOIN file f ON f.run = g.run AND f.id = g.file
LEFT JOIN v_device d ON d.dev = f.dev;

-- What calls moved from and to each file, whatever the dirty ledger knows. Files of which no name is known are one, and
-- so is what no file is known of.
CREATE TEMP VIEW v_file_io AS
SELECT CASE WHEN f.path IS NULL AND i.file <> 0 THEN -1 ELSE i.file END AS file, CASE WHEN f.path IS NOT NULL
           THEN d.device END AS device,
       CASE WHEN f.path IS NOT NULL THEN f.ino END AS ino,
       COALESCE(f.path, CASE i.file WHEN 0 THEN '(file not known)' ELSE '(name not known)' END) AS path,
       COALESCE(n.name, f.component) AS component, i.owner,
       i.write_bytes AS S, i.read_bytes AS S_r, i.write_ops AS ops_w, i.read_ops AS ops_r, i.sync_ops AS syncs,
       i.fs_write_bytes AS W, i.fs_read_bytes AS W_r,
       i.dev_write_bytes AS B, i.dev_read_bytes AS B_r
FROM ask JOIN file_io i ON i.run = ask.run
LEFT JOIN file f ON f.run = i.run AND f.id = i.file
LEFT JOIN component n ON n.id = i.component AND n.id > 0
LEFT JOIN v_device d ON d.dev = f.dev;

-- Bytes of a component of a storage system, one row a line of the report and component. part: 'component', from the
-- sums by file (METRICS: S, S_r, and the file's part of B, B_r; of calls NULL where records of them are missing);
-- 'rest', file data of no known component, what the components leave of the line's device bytes, with a row of its own
-- for files of which no name is known; 'fs', what the file system adds: its journal, its structures. written and read
-- of a line sum to its B and B_r. Without sums by file there is one row 'rest', whose component is NULL.
CREATE TEMP TABLE v_component AS
WITH known AS (
       SELECT EXISTS (SELECT 1 FROM ask JOIN file_io i ON i.run = ask.run) AS yes,
              CASE WHEN m.syscall AND NOT EXISTS (SELECT 1 FROM v_lost WHERE layer IN ('syscall', 'uring')
                  AND effect = 'bytes') THEN 1 END AS calls
       FROM v_measured m),
     io AS MATERIALIZED (
       SELECT o.gid, COALESCE(n.name, f.component) AS component, f.path IS NULL AS nameless,
              SUM(i.write_bytes) AS S, SUM(i.read_bytes) AS S_r, SUM(i.write_ops) AS ops_w, SUM(i.read_ops) AS ops_r,
              SUM(i.sync_ops) AS syncs, SUM(i.dev_write_bytes) AS written, SUM(i.dev_read_bytes) AS read
       FROM ask JOIN file_io i ON i.run = ask.run
       JOIN v_owner o ON o.owner = i.owner
       LEFT JOIN file f ON f.run = i.run AND f.id = i.file
       LEFT JOIN component n ON n.id = i.component AND n.id > 0
       GROUP BY 1, 2, 3),
     cause AS MATERIALIZED (
       SELECT gid, cause, SUM(written) AS written, SUM(read) AS read,
              cause IN ('data', 'direct', 'readahead') AS of_files
       FROM v_cause
       GROUP BY gid, cause),
     line AS (SELECT gid FROM io UNION SELECT gid FROM cause),
     -- what has a row of its own
     named AS (SELECT gid, SUM(written) AS written, SUM(read) AS read FROM io WHERE component IS NOT NULL OR nameless
         GROUP BY gid),
     whole AS (SELECT gid, SUM(written) AS written, SUM(read) AS read FROM cause WHERE of_files GROUP BY gid)
SELECT gid, 'component' AS part, component, SUM(S) * k.calls AS S, SUM(S_r) * k.calls AS S_r,
       SUM(ops_w) * k.calls AS ops_w, SUM(ops_r) * k.calls AS ops_r,
       SUM(syncs) * k.calls AS syncs, SUM(written) AS written, SUM(read) AS read
FROM known k JOIN io
WHERE component IS NOT NULL
GROUP BY gid, component
UNION ALL
SELECT gid, 'rest', '(name not known)', S * k.calls, S_r * k.calls, ops_w * k.calls, ops_r * k.calls, syncs * k.calls,
       written, read
FROM known k JOIN io
WHERE component IS NULL AND nameless AND S + S_r + ops_w + ops_r + syncs + written + read > 0
UNION ALL
SELECT l.gid, 'rest', CASE WHEN k.yes THEN 'unclassified' END, CASE WHEN k.yes THEN COALESCE(i.S, 0) * k.calls END,
       CASE WHEN k.yes THEN COALESCE(i.S_r, 0) * k.calls END,
       CASE WHEN k.yes THEN COALESCE(i.ops_w, 0) * k.calls END, CASE WHEN k.yes THEN COALESCE(i.ops_r, 0) * k.calls END,
       CASE WHEN k.yes THEN COALESCE(i.syncs, 0) * k.calls END,
       (COALESCE(w.written, 0) - COALESCE(n.written, 0)) * m.block,
       (COALESCE(w.read, 0) - COALESCE(n.read, 0)) * m.block
FROM known k JOIN v_measured m JOIN line l
LEFT JOIN io i ON i.gid = l.gid AND i.component IS NULL AND NOT i.nameless
LEFT JOIN named n ON n.gid = l.gid
LEFT JOIN whole w ON w.gid = l.gid
UNION ALL
SELECT gid, 'fs', 'fs ' || cause, NULL, NULL, NULL, NULL, NULL, written, read
FROM cause
WHERE NOT of_files AND written + read > 0;

-- The lines that have components at all: those of storage systems, and of others that use their files.
CREATE TEMP VIEW v_component_line AS
SELECT g.gid, g.what, g.who, g.pid, g.rank
FROM v_group g
WHERE g.shown AND g.rank <= 4 AND (g.what = 'system' OR EXISTS (SELECT 1 FROM v_component c WHERE c.gid = g.gid
    AND c.part = 'component'));

-- What the device bytes of a line of the report are, for pictures: its components, where it has some, else what calls
-- and readahead made of its files, by cause; then what the file system adds. They sum to the line's B and B_r.
CREATE TEMP VIEW v_part AS
WITH known AS MATERIALIZED (
       SELECT gid FROM v_component WHERE part = 'component'
       UNION
       SELECT l.gid FROM v_component_line l JOIN v_component c ON c.gid = l.gid AND c.component = 'unclassified')
SELECT c.gid, c.component AS part, c.written, c.read
FROM v_component c JOIN known k ON k.gid = c.gid
UNION ALL
SELECT c.gid, CASE c.cause WHEN 'data' THEN 'file data' WHEN 'direct' THEN 'direct I/O' WHEN 'readahead'
           THEN 'readahead' ELSE 'fs ' || c.cause END,
       SUM(c.written), SUM(c.read)
FROM v_cause c
WHERE c.gid NOT IN (SELECT gid FROM known)
GROUP BY c.gid, c.cause;

-- The colour of a part in every picture: its place in the palette of style.gp, the same in all. More than 13 components
-- in one run cannot be told apart: then the places are those of the run, and the smallest share the last. What is in
-- none of these rows has colour 17.
CREATE TEMP TABLE v_colour AS
WITH used AS MATERIALIZED (
       SELECT c.component AS part, min(ROW_NUMBER() OVER (ORDER BY SUM(c.written + c.read) DESC, c.component),
                  13) AS place, COUNT(*) OVER () AS n
       FROM v_component c JOIN v_group g ON g.gid = c.gid
       WHERE g.shown AND g.rank <= 5 AND c.part = 'component'
       GROUP BY c.component
       HAVING SUM(c.written + c.read) > 0)
SELECT part, place AS colour FROM used WHERE n > 13
UNION ALL
SELECT name, CASE WHEN id <= 13 THEN id ELSE id + 7 END FROM component WHERE id BETWEEN 1 AND 21
           AND NOT EXISTS (SELECT 1 FROM used WHERE n > 13)
UNION ALL
VALUES ('fs journal', 14), ('fs metadata', 15), ('unclassified', 16), ('(name not known)', 16), ('file data', 18),
('direct I/O', 19), ('readahead', 20);
