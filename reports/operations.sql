-- SPDX-License-Identifier: GPL-3.0-only
-- title: Operations of the virtual file system
-- no picture: counts of unlike operations have no common scale
-- caption: Each operation of the VFS, by all traced processes and by each of them. how: measured at functions of the \
-- caption: VFS; derived from the calls
-- caption: and requests that imply it; n/a: not recorded, why says the reason. bytes: what the operations returned; \
-- caption: only of operations that
-- caption: move some. vfs_dio_read and vfs_dio_write are among vfs_read and vfs_write, too. mean: of the timed ones. \
-- caption: by_uring: how many of them were requests of io_uring.

-- table: operations
SELECT n.operation, iif(n.how = 'n/a', NULL, COALESCE(x.ops, 0)) AS ops,
       iif(n.how = 'n/a', NULL, COALESCE(x.errors, 0)) AS errors,
       iif(n.moves AND n.how <> 'n/a', COALESCE(x.bytes, 0), NULL) AS bytes,
       x.lat_ns / 1000.0 / NULLIF(x.timed, 0) AS mean_us, iif(x.timed > 0, x.max_ns / 1000.0, NULL) AS max_us,
       n.how, n.why, iif(n.how = 'derived', COALESCE(x.requests, 0), NULL) AS by_uring
FROM v_operation_known n
LEFT JOIN (SELECT o.vfs, SUM(o.ops) AS ops, SUM(o.errors) AS errors, SUM(o.bytes) AS bytes, SUM(o.timed) AS timed,
                  SUM(o.lat_ns) AS lat_ns, MAX(o.max_ns) AS max_ns, SUM(o.requests) AS requests
           FROM v_operation o JOIN v_group g ON g.gid = o.gid WHERE g.rank < 4 GROUP BY o.vfs) x ON x.vfs = n.vfs
ORDER BY n.vfs;

-- table: lines: The same by process, or by what --by names
SELECT g.who, g.pid, n.operation, o.ops, o.errors, iif(n.moves, o.bytes, NULL) AS bytes,
       o.lat_ns / 1000.0 / NULLIF(o.timed, 0) AS mean_us,
       iif(o.timed > 0, o.max_ns / 1000.0, NULL) AS max_us, n.how,
       iif(n.how = 'derived', o.requests, NULL) AS by_uring
FROM v_operation o JOIN v_operation_known n ON n.vfs = o.vfs JOIN v_group g ON g.gid = o.gid
WHERE g.rank < 4 AND g.shown AND o.ops > 0
ORDER BY g.rank, g.who, g.gid, o.vfs;

-- table: compared: Operations that succeeded: derived from the calls, measured at functions, and the difference
WITH o AS MATERIALIZED (
       SELECT o.vfs, SUM(o.ops - o.errors) FILTER (WHERE o.how = 'derived') AS calls,
              SUM(o.bytes) FILTER (WHERE o.how = 'derived') AS call_bytes,
              SUM(o.ops - o.errors) FILTER (WHERE o.how = 'measured') AS functions,
              SUM(o.bytes) FILTER (WHERE o.how = 'measured') AS function_bytes
       FROM v_operation_by o JOIN v_group g ON g.gid = o.gid WHERE g.rank < 4 GROUP BY o.vfs),
     x AS (
       SELECT n.vfs, n.operation, iif(n.derived, COALESCE(o.calls, 0), NULL) AS derived,
              iif(n.measured, COALESCE(o.functions, 0), NULL) AS measured,
              iif(n.derived AND n.moves, COALESCE(o.call_bytes, 0), NULL) AS derived_bytes,
              iif(n.measured AND n.moves, COALESCE(o.function_bytes, 0), NULL) AS measured_bytes, n.not_measured
       FROM v_operation_known n LEFT JOIN o ON o.vfs = n.vfs)
SELECT operation, derived, measured, measured - derived AS difference, derived_bytes, measured_bytes,
       measured_bytes - derived_bytes AS difference_bytes, COALESCE(not_measured, '') AS why
FROM (SELECT x.* FROM x JOIN v_measured m WHERE m.vfs IS NOT NULL
      UNION ALL -- where none was measured, there is one reason
      SELECT 0, 'all', NULL, NULL, NULL, NULL, (SELECT not_measured FROM x WHERE operation = 'vfs_read')
      FROM v_measured m WHERE m.vfs IS NULL)
ORDER BY vfs;

-- table: kernel: Operations that no call or request asked for, and whom they served; measured alone
SELECT g.who, g.pid, c.kind AS operation, c.cause, SUM(c.ops) AS ops, SUM(c.errors) AS errors,
       iif(MAX(n.moves), SUM(c.bytes), NULL) AS bytes
FROM v_cell c JOIN v_operation_known n ON n.vfs = c.id AND n.measured JOIN v_group g ON g.gid = c.gid
WHERE c.sub = 'kernel' AND g.shown AND c.ops > 0
GROUP BY c.gid, c.id, c.cause_id ORDER BY g.rank, g.who, g.gid, c.id, c.cause_id;
