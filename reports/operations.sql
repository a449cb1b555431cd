-- SPDX-License-Identifier: GPL-3.0-only
-- title: Operations of the virtual file system
-- no picture: counts of unlike operations have no common scale
-- caption: Each operation of the VFS, by all traced processes and by each of them. how: measured by probes in the \
-- caption: VFS; derived from the calls
-- caption: and requests that imply it; n/a: not recorded, why says the reason. bytes: what the calls returned; \
-- caption: only of operations that
-- caption: move some. vfs_dio_read and vfs_dio_write are among vfs_read and vfs_write, too. mean: of the timed ones.

-- table: operations
SELECT n.operation, iif(n.how = 'n/a', NULL, COALESCE(x.ops, 0)) AS ops,
       iif(n.how = 'n/a', NULL, COALESCE(x.errors, 0)) AS errors,
       iif(n.moves AND n.how <> 'n/a', COALESCE(x.bytes, 0), NULL) AS bytes,
       x.lat_ns / 1000.0 / NULLIF(x.timed, 0) AS mean_us, iif(x.timed > 0, x.max_ns / 1000.0, NULL) AS max_us,
       n.how, n.why
FROM v_operation_known n
LEFT JOIN (SELECT o.vfs, SUM(o.ops) AS ops, SUM(o.errors) AS errors, SUM(o.bytes) AS bytes, SUM(o.timed) AS timed,
                  SUM(o.lat_ns) AS lat_ns, MAX(o.max_ns) AS max_ns
           FROM v_operation o JOIN v_group g ON g.gid = o.gid WHERE g.rank < 4 GROUP BY o.vfs) x ON x.vfs = n.vfs
ORDER BY n.vfs;

-- table: lines: The same by process, or by what --by names
SELECT g.who, g.pid, n.operation, o.ops, o.errors, iif(n.moves, o.bytes, NULL) AS bytes,
       o.lat_ns / 1000.0 / NULLIF(o.timed, 0) AS mean_us,
       iif(o.timed > 0, o.max_ns / 1000.0, NULL) AS max_us, n.how
FROM v_operation o JOIN v_operation_known n ON n.vfs = o.vfs JOIN v_group g ON g.gid = o.gid
WHERE g.rank < 4 AND g.shown AND o.ops > 0
ORDER BY g.rank, g.who, g.gid, o.vfs;
