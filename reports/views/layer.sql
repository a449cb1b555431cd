-- SPDX-License-Identifier: GPL-3.0-only
-- layer.sql: Operations and bytes by layer, cause and structure.

-- Operations and bytes a layer. Kinds that never carry bytes have none (NULL), not 0.
CREATE TEMP VIEW v_layer AS
WITH c AS MATERIALIZED (
       SELECT gid, layer_id, layer, dir, on_file, app AND dir IN ('r', 'w') AND NOT on_file AS elsewhere,
              layer = 'block' AND NOT leaf AS stacked, layer = 'block' AND cause = 'loopback' AS again,
              SUM(ops) AS ops, SUM(errors) AS errors, SUM(bytes) AS bytes
       FROM v_cell
       WHERE kind NOT IN ('queue_read', 'queue_write')
       GROUP BY gid, layer_id, dir, on_file, elsewhere, stacked, again)
SELECT gid, layer_id, layer || CASE WHEN elsewhere THEN ', not files' WHEN stacked THEN ', stacked' WHEN again
           THEN ', loop again' ELSE '' END AS layer,
       CASE dir WHEN 'r' THEN 'read' WHEN 'w' THEN 'write' WHEN 's' THEN 'sync' WHEN 'm' THEN 'name'
           ELSE 'other' END AS op,
       SUM(ops) AS ops, SUM(errors) AS errors, CASE WHEN dir IN ('r', 'w') THEN SUM(bytes) END AS bytes,
       'measured' AS source
FROM c
GROUP BY gid, layer_id, elsewhere, stacked, again, dir
UNION ALL
SELECT c.gid, l.id, 'vfs', CASE c.dir WHEN 'r' THEN 'read' ELSE 'write' END, SUM(c.ops), SUM(c.errors), SUM(c.bytes),
       'derived'
FROM c JOIN v_measured m JOIN layer l ON l.name = 'vfs'
WHERE m.vfs IS NULL AND c.on_file AND c.dir IN ('r', 'w')
GROUP BY c.gid, c.dir;

-- Device bytes by cause. share_* of METRICS section 2. Operations and flushes are in it so that who has nothing but
-- these has a row.
CREATE TEMP VIEW v_cause AS
SELECT gid, cause, how, device, SUM(CASE sym WHEN 'B' THEN amount ELSE 0 END) AS written,
       SUM(CASE sym WHEN 'B_r' THEN amount ELSE 0 END) AS read,
       SUM(CASE WHEN sym IN ('loop_w', 'stacked_w') THEN amount ELSE 0 END) AS written_again,
       SUM(CASE WHEN sym IN ('loop_r', 'stacked_r') THEN amount ELSE 0 END) AS read_again
FROM v_piece
WHERE sym IN ('B', 'B_r', 'loop_w', 'loop_r', 'stacked_w', 'stacked_r', 'ops_B_w', 'ops_B_r', 'flushes')
GROUP BY gid, cause, how, device;

-- Operations a storage system (NULL: processes outside any), whatever the lines of other reports stand for. Bytes that
-- nobody is known to own, other processes and the tracer are in none.
CREATE TEMP VIEW v_system AS
WITH part AS (
       SELECT p.system, c.sym, SUM(c.bytes) AS bytes, SUM(c.ops) AS ops, SUM(c.lat_ns) AS lat_ns,
              SUM(CASE WHEN c.lat_ns > 0 THEN COALESCE(c.timed, c.ops) END) AS timed
       FROM ask JOIN v_piece c JOIN v_process p ON p.id = c.owner
       WHERE c.owner > 2 AND (ask.system IS NULL OR p.system = ask.system)
       GROUP BY p.system, c.sym),
     seen AS (SELECT DISTINCT p.system FROM ask JOIN v_cell c JOIN v_process p ON p.id = c.owner
              WHERE c.owner > 2 AND (ask.system IS NULL OR p.system = ask.system)),
     side AS (
       SELECT system, COALESCE(MAX(bytes) FILTER (WHERE sym = 'S_r'), 0) AS s_r,
              COALESCE(MAX(bytes) FILTER (WHERE sym = 'S'), 0) AS s_w,
              COALESCE(MAX(ops) FILTER (WHERE sym = 'S_r'), 0) AS s_ops_r,
              COALESCE(MAX(ops) FILTER (WHERE sym = 'S'), 0) AS s_ops_w,
              COALESCE(MAX(lat_ns) FILTER (WHERE sym = 'S_r'), 0) AS s_lat_r,
              COALESCE(MAX(lat_ns) FILTER (WHERE sym = 'S'), 0) AS s_lat_w,
              MAX(timed) FILTER (WHERE sym = 'S_r') AS s_timed_r, MAX(timed) FILTER (WHERE sym = 'S') AS s_timed_w,
              COALESCE(MAX(ops) FILTER (WHERE sym = 'V_r'), 0) AS v_ops_r,
              COALESCE(MAX(ops) FILTER (WHERE sym = 'V'), 0) AS v_ops_w,
              COALESCE(MAX(ops) FILTER (WHERE sym = 'B_r'), 0) AS b_ops_r,
              COALESCE(MAX(ops) FILTER (WHERE sym = 'B'), 0) AS b_ops_w
       FROM (SELECT * FROM part UNION ALL SELECT system, NULL, 0, 0, 0, NULL FROM seen)
       GROUP BY system)
SELECT p.system, p.s_r * m.syscall AS S_r, p.s_w * m.syscall AS S, p.s_ops_r * m.syscall AS ops_S_r,
       p.s_ops_w * m.syscall AS ops_S_w,
       p.s_lat_r * m.syscall AS lat_S_r, p.s_lat_w * m.syscall AS lat_S_w, p.s_timed_r AS timed_S_r,
       p.s_timed_w AS timed_S_w,
       p.v_ops_r * COALESCE(m.vfs, m.syscall) AS ops_V_r, p.v_ops_w * COALESCE(m.vfs, m.syscall) AS ops_V_w,
       p.b_ops_r * m.block AS ops_B_r, p.b_ops_w * m.block AS ops_B_w
FROM side p JOIN v_measured m;

-- Journal bytes on devices by the structure that each block is, and the commits that wrote them.
CREATE TEMP VIEW v_journal AS
SELECT c.device, c.sub AS structure, SUM(c.amount) AS bytes
FROM v_piece c JOIN v_owner o ON o.owner = c.owner
WHERE c.sym = 'B' AND c.cause = 'journal' AND o.shown
GROUP BY c.device, c.sub;

CREATE TEMP VIEW v_commit AS
SELECT c.device, SUM(c.amount) AS commits
FROM v_piece c JOIN v_owner o ON o.owner = c.owner
WHERE c.sym = 'commits' AND o.shown
GROUP BY c.device;

-- The block size of a journal: a commit record is one block and one request of its own. NULL when that does not come
-- out even.
CREATE TEMP VIEW v_journal_block AS
SELECT device, CASE WHEN ops > 0 AND bytes % ops = 0 AND bytes / ops IN (512, 1024, 2048, 4096, 8192, 16384, 32768,
           65536)
                      THEN bytes / ops END AS block_bytes
FROM (SELECT device, SUM(ops) AS ops, SUM(bytes) AS bytes
      FROM v_piece
      WHERE sym = 'B' AND cause = 'journal' AND sub = 'commit'
      GROUP BY device);
