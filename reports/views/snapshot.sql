-- SPDX-License-Identifier: GPL-3.0-only
-- snapshot.sql: Files before the run (iot-trace --snapshot-fs).

CREATE TEMP VIEW v_fs_snapshot AS
SELECT COALESCE(s.host, r.host) AS host, s.path, s.depth, s.entries, s.unread, s.cut
FROM v_run r JOIN fs_snapshot s ON s.run = r.run;

CREATE TEMP VIEW v_fs_entry AS
SELECT COALESCE(e.host, r.host) AS host, e.path, e.type, e.depth, e.size, e.allocated,
       strftime('%Y-%m-%dT%H:%M:%SZ', e.mtime_ns / 1000000000, 'unixepoch') AS modified, e.ino, e.links
FROM v_run r JOIN fs_entry e ON e.run = r.run;
