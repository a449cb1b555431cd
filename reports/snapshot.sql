-- SPDX-License-Identifier: GPL-3.0-only
-- title: Files before the run
-- no picture: it is a list of files
-- caption: Of the folders that iot-trace --snapshot-fs walked before it recorded. cut: the reason why entries are \
-- caption: missing. unread: folders that could not be read, n/a where the walk did not end. size: bytes of contents; \
-- caption: allocated: bytes on the disk. Without that option there are none.

-- table: snapshots
SELECT host, path, depth, entries, unread, COALESCE(cut, '') AS cut FROM v_fs_snapshot ORDER BY host, path;

-- table: types: Entries by type
SELECT host, type, COUNT(*) AS entries, SUM(size) AS size, SUM(allocated) AS allocated
FROM v_fs_entry GROUP BY host, type ORDER BY host, SUM(allocated) DESC, type;

-- table: entries
SELECT host, path, type, depth, size, allocated, modified, ino, links
FROM v_fs_entry ORDER BY host, path;
