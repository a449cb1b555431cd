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
       SELECT o.vfs, k.name AS operation, MAX(o.file = 1) AS file,
              CASE WHEN r.syscall IS NULL THEN 'calls were not recorded'
                   WHEN NOT r.whole AND MIN(iif(c.name LIKE 'uring%', NULL, c.id)) >= first.id
                   THEN 'recorded with --layers vfs' END AS not_derived,
              CASE WHEN r.vfs THEN p.reason
                   ELSE COALESCE((SELECT d.reason FROM probe d WHERE d.run = r.run AND d.name = 'vfs__derived'
                                                                 AND r.whole), 'recorded with --layers vfs')
              END AS not_measured
       FROM vfs_of o JOIN kind k ON k.id = o.vfs JOIN kind c ON c.id = o.kind JOIN r JOIN first
       LEFT JOIN probe p ON p.run = r.run AND p.name = 'operation__' || k.name GROUP BY o.vfs)
SELECT vfs, operation, file,
       operation IN ('vfs_read', 'vfs_write', 'vfs_sendfile', 'vfs_splice', 'vfs_vmsplice', 'vfs_dio_read',
                     'vfs_dio_write') AS moves,
       not_derived IS NULL AS derived, not_measured IS NULL AS measured, not_measured,
       CASE WHEN not_measured IS NULL THEN 'measured' WHEN not_derived IS NULL THEN 'derived' ELSE 'n/a' END AS how,
       iif(not_measured IS NULL, '', COALESCE(not_derived, '')) AS why
FROM o;

-- Requests of io_uring a line, by opcode.
CREATE TEMP VIEW v_operation_request AS
SELECT iif(r.name IS NOT NULL AND o.shown AND t.owner > 2, 'carrier:' || r.name, o.gid) AS gid, t.kind,
       COALESCE(t.op, 0) AS op, t.flags, s.name IN ('socket', 'pipe', 'chardev', 'pseudo', 'other') AS no_file,
       s.name = 'dir' AS folder, t.ops, t.errors, t.bytes, t.timed, t.lat_ns, t.max_ns
FROM v_run_total t JOIN v_kind k ON k.id = t.kind AND k.layer = 'uring' JOIN v_owner o ON o.owner = t.owner
JOIN sub s ON s.id = t.sub
LEFT JOIN (SELECT c.id, c.name FROM ask JOIN carrier c ON ask.per = 'carrier') r ON r.id = t.carrier;

-- Operations a line, by either way. Derived: those of the calls and requests that imply one (stream/operations.def).
-- Those of the kernel itself are apart: no call implies them.
CREATE TEMP VIEW v_operation_by AS
WITH c AS MATERIALIZED (SELECT gid, id AS kind, flags, no_file, ops, errors, bytes, timed, lat_ns, max_ns FROM v_cell
                        WHERE layer IN ('syscall', 'vfs') AND sub <> 'kernel'),
     u AS MATERIALIZED (
       SELECT q.*, EXISTS (SELECT 1 FROM vfs_of o WHERE o.kind = q.kind AND o.op = q.op) AS named
       FROM v_operation_request q),
     x AS (SELECT c.gid, n.vfs, 'derived' AS how, c.ops, c.errors, c.bytes, c.timed, c.lat_ns, c.max_ns,
                  0 AS requests
           FROM v_operation_known n JOIN vfs_of o ON o.vfs = n.vfs JOIN c ON c.kind = o.kind
           WHERE n.derived AND (c.flags & o.flag) = o.flag AND NOT (o.file AND c.no_file)
           UNION ALL
           SELECT u.gid, n.vfs, 'derived', u.ops, u.errors, u.bytes, u.timed, u.lat_ns, u.max_ns, u.ops
           FROM v_operation_known n JOIN vfs_of o ON o.vfs = n.vfs
           JOIN u ON u.kind = o.kind AND o.op = iif(u.named, u.op, -1)
           WHERE n.derived AND (u.flags & o.flag) = o.flag
             AND CASE o.file WHEN 1 THEN NOT u.no_file WHEN 2 THEN u.folder WHEN 3 THEN NOT u.folder ELSE 1 END
           UNION ALL
           SELECT c.gid, n.vfs, 'measured', c.ops, c.errors, c.bytes, c.timed, c.lat_ns, c.max_ns, 0
           FROM v_operation_known n JOIN c ON c.kind = n.vfs
           WHERE n.measured AND NOT (n.file AND c.no_file))
SELECT x.gid, x.vfs, x.how, SUM(x.ops) AS ops, SUM(x.errors) AS errors, SUM(x.bytes) AS bytes, SUM(x.timed) AS timed,
       SUM(x.lat_ns) AS lat_ns, MAX(x.max_ns) AS max_ns, SUM(x.requests) AS requests
FROM x GROUP BY x.gid, x.vfs, x.how;

-- Operations a line, by the better way that there is.
CREATE TEMP VIEW v_operation AS
SELECT o.* FROM v_operation_by o JOIN v_operation_known n ON n.vfs = o.vfs AND n.how = o.how;
