-- SPDX-License-Identifier: GPL-3.0-only
-- title: Files before the run, and their changes
-- no picture: it is a list of files
-- caption: Of the folders that iot-trace --snapshot-fs walked before it recorded, and with --snapshot-every again. \
-- caption: second: of the run; n/a: before it. cut: the reason why entries are missing. unread: folders that could \
-- caption: not be read, n/a where the walk did not end. size: bytes of contents; allocated: bytes on the disk. A \
-- caption: change is one since the walk before; new names are n/a where that walk was not whole, and those that are \
-- caption: gone where this one was not. replaced: a name of another inode; changed: of another time alone. Without \
-- caption: these options there are none.

-- table: snapshots
SELECT host, ts_ns / 1e9 AS second, path, depth, entries, unread, COALESCE(cut, '') AS cut
FROM v_fs_snapshot ORDER BY host, path, walk;

-- table: types: Entries by type
SELECT host, type, COUNT(*) AS entries, SUM(size) AS size, SUM(allocated) AS allocated
FROM v_fs_entry GROUP BY host, type ORDER BY host, SUM(allocated) DESC, type;

-- table: walks: Changes from walk to walk
SELECT w.host, w.ts_ns / 1e9 AS second, w.folder AS path, w.entries,
       iif(w.whole_before, COUNT(iif(c.change = 'new', 1, NULL)), NULL) AS new,
       iif(w.whole, COUNT(iif(c.change = 'gone', 1, NULL)), NULL) AS gone,
       COUNT(iif(c.change = 'grown', 1, NULL)) AS grown, COUNT(iif(c.change = 'shrunk', 1, NULL)) AS shrunk,
       COUNT(iif(c.change = 'replaced', 1, NULL)) AS replaced, COUNT(iif(c.change = 'changed', 1, NULL)) AS changed,
       iif(w.whole_before AND w.whole, COALESCE(SUM(COALESCE(c.size, 0) - COALESCE(c.size_before, 0)), 0), NULL)
           AS size_change,
       iif(w.whole_before AND w.whole, COALESCE(SUM(c.allocated_change), 0), NULL) AS allocated_change
FROM v_fs_walk w LEFT JOIN v_fs_change c ON c.host = w.host AND c.folder = w.folder AND c.no = w.no
WHERE w.no > 1
GROUP BY w.host, w.folder, w.no
ORDER BY w.host, w.folder, w.no;

-- table: changes
SELECT c.host, w.ts_ns / 1e9 AS second, c.path, c.change, c.type, c.size_before, c.size, c.allocated_change
FROM v_fs_change c JOIN v_fs_walk w ON w.host = c.host AND w.folder = c.folder AND w.no = c.no
ORDER BY c.host, w.ts_ns, ABS(c.allocated_change) DESC, c.path;

-- table: entries: Entries before the run
SELECT host, path, type, depth, size, allocated, modified, ino, links
FROM v_fs_entry ORDER BY host, path;
