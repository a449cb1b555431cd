-- SPDX-License-Identifier: GPL-3.0-only
-- operation.sql: Operations of the VFS, measured or derived from calls.

-- The operations, and how each is known in this run. Calls whose kind is not recorded without --layers vfs, such as
-- stat(2), have no cells elsewhere.
CREATE TEMP TABLE v_operation_known AS
WITH whole AS (SELECT COALESCE(',' || r.whole || ',' LIKE '%,vfs,%', 0) AS yes
               FROM ask JOIN run r ON r.run = ask.run),
     seen AS MATERIALIZED (
       SELECT DISTINCT t.kind FROM v_run_total t JOIN v_kind k ON k.id = t.kind WHERE k.layer = 'vfs'),
     first AS (SELECT id FROM kind WHERE name = 'munmap')
SELECT o.vfs, k.name AS operation,
       k.name IN ('vfs_read', 'vfs_write', 'vfs_sendfile', 'vfs_splice', 'vfs_vmsplice', 'vfs_dio_read',
                  'vfs_dio_write') AS moves,
       CASE WHEN o.vfs IN (SELECT kind FROM seen) THEN 'measured' WHEN m.syscall IS NULL THEN 'n/a'
            WHEN whole.yes OR MIN(o.kind) < first.id THEN 'derived' ELSE 'n/a' END AS how,
       CASE WHEN o.vfs IN (SELECT kind FROM seen) THEN '' WHEN m.syscall IS NULL THEN 'calls were not recorded'
            WHEN whole.yes OR MIN(o.kind) < first.id THEN '' ELSE 'recorded with --layers vfs' END AS why
FROM vfs_of o JOIN kind k ON k.id = o.vfs JOIN v_measured m JOIN whole JOIN first GROUP BY o.vfs;

-- Operations a line. Derived: those of the calls and requests that imply one (stream/operations.def).
CREATE TEMP VIEW v_operation AS
WITH c AS MATERIALIZED (SELECT gid, id AS kind, flags, no_file, ops, errors, bytes, timed, lat_ns, max_ns FROM v_cell
                        WHERE layer IN ('syscall', 'uring', 'vfs')),
     x AS (SELECT c.gid, n.vfs, c.ops, c.errors, c.bytes, c.timed, c.lat_ns, c.max_ns
           FROM v_operation_known n JOIN vfs_of o ON o.vfs = n.vfs JOIN c ON c.kind = o.kind
           WHERE n.how = 'derived' AND (c.flags & o.flag) = o.flag AND NOT (o.file AND c.no_file)
           UNION ALL
           SELECT c.gid, n.vfs, c.ops, c.errors, c.bytes, c.timed, c.lat_ns, c.max_ns
           FROM v_operation_known n JOIN c ON c.kind = n.vfs WHERE n.how = 'measured')
SELECT x.gid, x.vfs, SUM(x.ops) AS ops, SUM(x.errors) AS errors, SUM(x.bytes) AS bytes, SUM(x.timed) AS timed,
       SUM(x.lat_ns) AS lat_ns, MAX(x.max_ns) AS max_ns
FROM x GROUP BY x.gid, x.vfs;
