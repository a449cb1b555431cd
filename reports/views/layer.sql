-- SPDX-License-Identifier: GPL-3.0-only
-- layer.sql: Operations and bytes by layer, cause and structure.

-- Operations and bytes a layer. Kinds that never carry bytes have none (NULL), not 0.
CREATE TEMP VIEW v_layer AS
WITH c AS MATERIALIZED (
       SELECT gid, layer_id, layer, dir, on_file, app AND (r OR w) AND NOT on_file AS elsewhere, block AND NOT leaf AS stacked, block AND loopback AS again,
              SUM(ops) AS ops, SUM(errors) AS errors, SUM(bytes) AS bytes
       FROM v_cell
       WHERE kind NOT IN ('queue_read', 'queue_write')
       GROUP BY gid, layer_id, dir, on_file, elsewhere, stacked, again)
SELECT gid, layer_id, layer || CASE WHEN elsewhere THEN ', not files' WHEN stacked THEN ', stacked' WHEN again THEN ', loop again' ELSE '' END AS layer,
       CASE dir WHEN 'r' THEN 'read' WHEN 'w' THEN 'write' WHEN 's' THEN 'sync' WHEN 'm' THEN 'name' ELSE 'other' END AS op,
       SUM(ops) AS ops, SUM(errors) AS errors, CASE WHEN dir IN ('r', 'w') THEN SUM(bytes) END AS bytes, 'measured' AS source
FROM c
GROUP BY gid, layer_id, elsewhere, stacked, again, dir
UNION ALL
SELECT c.gid, l.id, 'vfs', CASE c.dir WHEN 'r' THEN 'read' ELSE 'write' END, SUM(c.ops), SUM(c.errors), SUM(c.bytes), 'derived'
FROM c JOIN v_measured m JOIN layer l ON l.name = 'vfs'
WHERE m.vfs IS NULL AND c.on_file AND c.dir IN ('r', 'w')
GROUP BY c.gid, c.dir;

-- Device bytes by cause. share_* of METRICS section 2.
CREATE TEMP VIEW v_cause AS
SELECT c.gid, c.cause, c.how, c.device,
       SUM(CASE WHEN c.block_write AND c.on_leaf THEN c.bytes ELSE 0 END) AS written,
       SUM(CASE WHEN c.block_read AND c.on_leaf THEN c.bytes ELSE 0 END) AS read,
       SUM(CASE WHEN c.block_write AND NOT c.on_leaf THEN c.bytes ELSE 0 END) AS written_again,
       SUM(CASE WHEN c.block_read AND NOT c.on_leaf THEN c.bytes ELSE 0 END) AS read_again
FROM v_cell c
WHERE c.block
GROUP BY c.gid, c.cause, c.how, c.device;

-- Operations a storage system (NULL: processes outside any), whatever the lines of other reports stand for. Bytes that
-- nobody is known to own, other processes and the tracer are in none.
CREATE TEMP VIEW v_system AS
WITH part AS (
       SELECT p.system,
              SUM(CASE WHEN c.on_file AND c.dir = 'r' THEN c.bytes ELSE 0 END) AS s_r,
              SUM(CASE WHEN c.on_file AND c.dir = 'w' THEN c.bytes ELSE 0 END) AS s_w,
              SUM(CASE WHEN c.on_file AND c.dir = 'r' THEN c.ops ELSE 0 END) AS s_ops_r,
              SUM(CASE WHEN c.on_file AND c.dir = 'w' THEN c.ops ELSE 0 END) AS s_ops_w,
              SUM(CASE WHEN c.on_file AND c.dir = 'r' THEN c.lat_ns ELSE 0 END) AS s_lat_r,
              SUM(CASE WHEN c.on_file AND c.dir = 'w' THEN c.lat_ns ELSE 0 END) AS s_lat_w,
              SUM(CASE WHEN c.on_file AND c.dir = 'r' AND c.lat_ns > 0 THEN COALESCE(c.timed, c.ops) END) AS s_timed_r,
              SUM(CASE WHEN c.on_file AND c.dir = 'w' AND c.lat_ns > 0 THEN COALESCE(c.timed, c.ops) END) AS s_timed_w,
              SUM(CASE WHEN c.layer = 'vfs' AND c.dir = 'r' THEN c.ops ELSE 0 END) AS v_ops_r,
              SUM(CASE WHEN c.layer = 'vfs' AND c.dir = 'w' THEN c.ops ELSE 0 END) AS v_ops_w,
              SUM(CASE WHEN c.kind = 'block_read' AND c.on_leaf THEN c.ops ELSE 0 END) AS b_ops_r,
              SUM(CASE WHEN c.kind = 'block_write' AND c.on_leaf THEN c.ops ELSE 0 END) AS b_ops_w
       FROM ask JOIN v_cell c JOIN v_process p ON p.id = c.owner
       WHERE c.owner > 2 AND (ask.system IS NULL OR p.system = ask.system)
       GROUP BY p.system)
SELECT p.system, p.s_r * m.syscall AS S_r, p.s_w * m.syscall AS S, p.s_ops_r * m.syscall AS ops_S_r, p.s_ops_w * m.syscall AS ops_S_w,
       p.s_lat_r * m.syscall AS lat_S_r, p.s_lat_w * m.syscall AS lat_S_w, p.s_timed_r AS timed_S_r, p.s_timed_w AS timed_S_w,
       CASE WHEN m.vfs THEN p.v_ops_r ELSE p.s_ops_r * m.syscall END AS ops_V_r,
       CASE WHEN m.vfs THEN p.v_ops_w ELSE p.s_ops_w * m.syscall END AS ops_V_w,
       p.b_ops_r * m.block AS ops_B_r, p.b_ops_w * m.block AS ops_B_w
FROM part p JOIN v_measured m;

-- Journal bytes on devices by the structure that each block is, and the commits that wrote them.
CREATE TEMP VIEW v_journal AS
SELECT c.device, c.sub AS structure, SUM(c.bytes) AS bytes
FROM ask JOIN v_cell c JOIN v_owner o ON o.owner = c.owner
WHERE c.kind = 'block_write' AND c.on_leaf AND c.cause = 'journal' AND o.shown
GROUP BY c.device, c.sub;

CREATE TEMP VIEW v_commit AS
SELECT c.device, SUM(c.ops) AS commits
FROM v_cell c JOIN v_owner o ON o.owner = c.owner
WHERE c.is_commit AND o.shown
GROUP BY c.device;

-- The block size of a journal: a commit record is one block and one request of its own. NULL when that does not come out even.
CREATE TEMP VIEW v_journal_block AS
SELECT device, CASE WHEN ops > 0 AND bytes % ops = 0 AND bytes / ops IN (512, 1024, 2048, 4096, 8192, 16384, 32768, 65536) THEN bytes / ops END AS block_bytes
FROM (SELECT c.device, SUM(c.ops) AS ops, SUM(c.bytes) AS bytes
      FROM v_cell c
      WHERE c.block_write AND c.on_leaf AND c.cause = 'journal' AND c.sub = 'commit'
      GROUP BY c.device);
