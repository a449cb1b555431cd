-- SPDX-License-Identifier: GPL-3.0-only
-- snapshot.sql: Files before the run (iot-trace --snapshot-fs), and their changes (--snapshot-every).

CREATE TEMP VIEW v_fs_snapshot AS
SELECT COALESCE(s.host, r.host) AS host, s.path, s.depth, s.entries, s.unread, s.cut, COALESCE(s.walk, 0) AS walk,
       s.ts_ns
FROM v_run r JOIN fs_snapshot s ON s.run = r.run;

-- Those of the first walk of each folder.
CREATE TEMP VIEW v_fs_entry AS
SELECT COALESCE(e.host, r.host) AS host, e.path, e.type, e.depth, e.size, e.allocated,
       strftime('%Y-%m-%dT%H:%M:%SZ', e.mtime_ns / 1000000000, 'unixepoch') AS modified, e.ino, e.links
FROM v_run r JOIN fs_entry e ON e.run = r.run
WHERE COALESCE(e.walk, 0) NOT IN (SELECT walk FROM v_fs_snapshot WHERE ts_ns IS NOT NULL);

-- Walks of one folder, in their order. whole: no name can be missing. A host of a merged run counts its own walks.
CREATE TEMP TABLE v_fs_walk AS
SELECT host, path AS folder, walk, ts_ns, entries, cut IS NULL AND COALESCE(unread, 1) = 0 AS whole,
       ROW_NUMBER() OVER w AS no, LAG(cut IS NULL AND COALESCE(unread, 1) = 0) OVER w AS whole_before,
       LEAD(cut IS NULL AND COALESCE(unread, 1) = 0) OVER w AS whole_after
FROM v_fs_snapshot
WINDOW w AS (PARTITION BY host, path ORDER BY walk);

-- Each name in each walk, beside itself in the walks before and after.
CREATE TEMP TABLE v_fs_state AS
SELECT w.host, w.folder, w.no, w.whole_before, w.whole_after, e.path, e.type, e.size, e.allocated, e.mtime_ns, e.ino,
       LAG(w.no) OVER x IS w.no - 1 AS was, LEAD(w.no) OVER x IS w.no + 1 AS stays,
       LAG(e.type) OVER x AS type_before, LAG(e.size) OVER x AS size_before,
       LAG(e.allocated) OVER x AS allocated_before, LAG(e.mtime_ns) OVER x AS mtime_before,
       LAG(e.ino) OVER x AS ino_before
FROM v_run r JOIN fs_entry e ON e.run = r.run
JOIN v_fs_walk w ON w.host = COALESCE(e.host, r.host) AND w.walk = e.walk
WHERE (SELECT MAX(no) FROM v_fs_walk) > 1
WINDOW x AS (PARTITION BY w.host, w.folder, e.path ORDER BY w.no);

-- Differences between a walk (no) and the one before it. A name that is missing in a walk which was not whole is no
-- change.
CREATE TEMP TABLE v_fs_change AS
SELECT * FROM (
    SELECT host, folder, no, path, type,
           CASE WHEN NOT was THEN 'new'
                WHEN ino <> ino_before OR type <> type_before THEN 'replaced'
                WHEN type = 'folder' THEN NULL
                WHEN size > size_before THEN 'grown'
                WHEN size < size_before THEN 'shrunk'
                WHEN mtime_ns <> mtime_before THEN 'changed' END AS change,
           iif(was, size_before, NULL) AS size_before, size,
           allocated - iif(was, allocated_before, 0) AS allocated_change
    FROM v_fs_state
    WHERE no > 1 AND (was OR whole_before))
WHERE change IS NOT NULL
UNION ALL
SELECT host, folder, no + 1, path, type, 'gone', size, NULL, -allocated
FROM v_fs_state WHERE NOT stays AND whole_after;
