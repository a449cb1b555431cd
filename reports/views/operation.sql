-- SPDX-License-Identifier: GPL-3.0-only
-- operation.sql: Operations of the VFS, measured at its functions, and derived from calls.

-- The operations, and how each is known in this run: measured, derived, and the reason where one is not. Calls whose
-- kind is not recorded without --layers vfs, such as stat(2), have no cells elsewhere. file: only those on files and
-- folders count, not those on pipes, sockets and the like.
CREATE TEMP TABLE v_operation_known AS
WITH r AS MATERIALIZED (
       SELECT r.run, COALESCE(',' || r.whole || ',' LIKE '%,vfs,%', 0) AS whole, m.syscall, m.vfs IS NOT NULL AS vfs
       FROM ask JOIN run r ON r.run = ask.run JOIN v_measured m),
     first AS MATERIALIZED (SELECT id FROM kind WHERE name = 'munmap'),
     o AS MATERIALIZED (
       SELECT o.vfs, k.name AS operation, MAX(o.file) AS file,
              CASE WHEN r.syscall IS NULL THEN 'calls were not recorded'
                   WHEN NOT r.whole AND MIN(o.kind) >= first.id THEN 'recorded with --layers vfs' END AS not_derived,
              CASE WHEN r.vfs THEN p.reason
                   ELSE COALESCE((SELECT d.reason FROM probe d WHERE d.run = r.run AND d.name = 'vfs__derived'
                                                                 AND r.whole), 'recorded with --layers vfs')
              END AS not_measured
       FROM vfs_of o JOIN kind k ON k.id = o.vfs JOIN r JOIN first
       LEFT JOIN probe p ON p.run = r.run AND p.name = 'operation__' || k.name GROUP BY o.vfs)
SELECT vfs, operation, file,
       operation IN ('vfs_read', 'vfs_write', 'vfs_sendfile', 'vfs_splice', 'vfs_vmsplice', 'vfs_dio_read',
                     'vfs_dio_write') AS moves,
       not_derived IS NULL AS derived, not_measured IS NULL AS measured, not_measured,
       CASE WHEN not_measured IS NULL THEN 'measured' WHEN not_derived IS NULL THEN 'derived' ELSE 'n/a' END AS how,
       iif(not_measured IS NULL, '', COALESCE(not_derived, '')) AS why
FROM o;

-- Operations a line, by either way. Derived: those of the calls and requests that imply one (stream/operations.def).
-- Those of the kernel itself are apart: no call implies them.
CREATE TEMP VIEW v_operation_by AS
WITH c AS MATERIALIZED (SELECT gid, id AS kind, flags, no_file, ops, errors, bytes, timed, lat_ns, max_ns FROM v_cell
                        WHERE layer IN ('syscall', 'uring', 'vfs') AND sub <> 'kernel'),
     x AS (SELECT c.gid, n.vfs, 'derived' AS how, c.ops, c.errors, c.bytes, c.timed, c.lat_ns, c.max_ns
           FROM v_operation_known n JOIN vfs_of o ON o.vfs = n.vfs JOIN c ON c.kind = o.kind
           WHERE n.derived AND (c.flags & o.flag) = o.flag AND NOT (o.file AND c.no_file)
           UNION ALL
           SELECT c.gid, n.vfs, 'measured', c.ops, c.errors, c.bytes, c.timed, c.lat_ns, c.max_ns
           FROM v_operation_known n JOIN c ON c.kind = n.vfs
           WHERE n.measured AND NOT (n.file AND c.no_file))
SELECT x.gid, x.vfs, x.how, SUM(x.ops) AS ops, SUM(x.errors) AS errors, SUM(x.bytes) AS bytes, SUM(x.timed) AS timed,
       SUM(x.lat_ns) AS lat_ns, MAX(x.max_ns) AS max_ns
FROM x GROUP BY x.gid, x.vfs, x.how;

-- Operations a line, by the better way that there is.
CREATE TEMP VIEW v_operation AS
SELECT o.* FROM v_operation_by o JOIN v_operation_known n ON n.vfs = o.vfs AND n.how = o.how;
