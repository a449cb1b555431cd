-- SPDX-License-Identifier: GPL-3.0-only
-- layer.sql: Operations and bytes by layer, cause and structure.

-- Operations and bytes a layer. Kinds that never carry bytes have none (NULL), not 0. Layer storage is derived from the
-- sums by file: its rows are the calls of storage systems on files of a known component again, and failed calls are not
-- told apart there. A write with O_SYNC is a sync, too.
CREATE TEMP VIEW v_layer AS
WITH c AS MATERIALIZED (
       SELECT gid, layer_id, layer, dir, on_file,
              CASE WHEN app AND dir IN ('r', 'w') AND NOT on_file THEN ', not files'
                   WHEN layer = 'block' AND NOT leaf THEN ', stacked'
                   WHEN layer = 'block' AND cause IN ('loopback', 'loop_journal', 'loop_metadata')
                   THEN ', loop again' ELSE '' END AS apart,
              SUM(ops) AS ops, SUM(errors) AS errors, SUM(bytes) AS bytes
       FROM v_cell WHERE kind NOT IN ('queue_read', 'queue_write')
       GROUP BY gid, layer_id, dir, on_file, apart)
SELECT gid, layer_id, layer || apart AS layer,
       COALESCE('{"r": "read", "w": "write", "s": "sync", "m": "name"}' ->> dir, 'other') AS op,
       SUM(ops) AS ops, SUM(errors) AS errors, iif(dir IN ('r', 'w'), SUM(bytes), NULL) AS bytes, 'measured' AS source
FROM c GROUP BY gid, layer_id, apart, dir
UNION ALL
SELECT c.gid, l.id, 'vfs', iif(c.dir = 'r', 'read', 'write'), SUM(c.ops), SUM(c.errors), SUM(c.bytes), 'derived'
FROM c JOIN v_measured m JOIN layer l ON l.name = 'vfs'
WHERE m.vfs IS NULL AND c.on_file AND c.dir IN ('r', 'w') GROUP BY c.gid, c.dir
UNION ALL
SELECT s.gid, l.id, 'storage', o.op, SUM(CASE o.op WHEN 'read' THEN s.ops_r WHEN 'write' THEN s.ops_w ELSE s.syncs END),
       NULL, SUM(CASE o.op WHEN 'read' THEN s.S_r WHEN 'write' THEN s.S END), 'derived'
FROM v_storage_line s JOIN layer l ON l.name = 'storage'
JOIN (SELECT 'read' AS op UNION ALL SELECT 'write' UNION ALL SELECT 'sync') o GROUP BY s.gid, o.op;

-- Device bytes by cause: share_* of METRICS section 2. Operations and flushes are in it so that lines with nothing else
-- have a row.
CREATE TEMP TABLE v_cause AS
SELECT gid, cause, how, device, sum_if(amount, sym = 'B') AS written, sum_if(amount, sym = 'B_r') AS read,
       sum_if(amount, sym IN ('loop_w', 'stacked_w')) AS written_again,
       sum_if(amount, sym IN ('loop_r', 'stacked_r')) AS read_again
FROM v_piece
WHERE sym IN ('B', 'B_r', 'loop_w', 'loop_r', 'stacked_w', 'stacked_r', 'ops_B_w', 'ops_B_r', 'flushes')
GROUP BY gid, cause, how, device;

-- Operations and bytes a storage system (NULL: processes outside any), whatever the lines of other reports stand for.
-- Bytes without a known owner, of other processes and of the tracer are in none.
CREATE TEMP TABLE v_system AS
WITH c AS (
       SELECT stand AS owner, sym, amount, ops, lat_ns, iif(lat_ns > 0, COALESCE(timed, ops), NULL) AS timed
       FROM v_piece WHERE sym IN ('S', 'S_r', 'V', 'V_r', 'B', 'B_r')
       UNION ALL SELECT DISTINCT stand, NULL, 0, 0, 0, NULL FROM v_cell)
SELECT p.system, sum_if(amount, sym = 'S_r') * m.syscall AS S_r, sum_if(amount, sym = 'S') * m.syscall AS S,
       sum_if(amount, sym = 'V_r') * COALESCE(m.vfs, m.syscall) AS V_r,
       sum_if(amount, sym = 'V') * COALESCE(m.vfs, m.syscall) AS V,
       sum_if(amount, sym = 'B_r') * m.block AS B_r, sum_if(amount, sym = 'B') * m.block AS B,
       sum_if(ops, sym = 'S_r') * m.syscall AS ops_S_r, sum_if(ops, sym = 'S') * m.syscall AS ops_S_w,
       sum_if(lat_ns, sym = 'S_r') * m.syscall AS lat_S_r, sum_if(lat_ns, sym = 'S') * m.syscall AS lat_S_w,
       SUM(timed) FILTER (WHERE sym = 'S_r') AS timed_S_r, SUM(timed) FILTER (WHERE sym = 'S') AS timed_S_w,
       sum_if(ops, sym = 'V_r') * COALESCE(m.vfs, m.syscall) AS ops_V_r,
       sum_if(ops, sym = 'V') * COALESCE(m.vfs, m.syscall) AS ops_V_w,
       sum_if(ops, sym = 'B_r') * m.block AS ops_B_r, sum_if(ops, sym = 'B') * m.block AS ops_B_w
FROM ask JOIN v_measured m JOIN c JOIN v_process p ON p.id = c.owner
WHERE c.owner > 2 AND (ask.system IS NULL OR p.system = ask.system) GROUP BY p.system;

-- Journal bytes on devices by the structure that each block is, and the commits that wrote them.
CREATE TEMP VIEW v_journal AS
SELECT c.device, c.sub AS structure, SUM(c.amount) AS bytes FROM v_piece c JOIN v_owner o ON o.owner = c.stand
WHERE c.sym = 'B' AND c.cause = 'journal' AND o.shown GROUP BY c.device, c.sub;

CREATE TEMP VIEW v_commit AS
SELECT c.device, SUM(c.amount) AS commits FROM v_piece c JOIN v_owner o ON o.owner = c.stand
WHERE c.sym = 'commits' AND o.shown GROUP BY c.device;

-- The block size of a journal: a commit record is one block and one request of its own. NULL when that does not come
-- out even.
CREATE TEMP VIEW v_journal_block AS
SELECT device, iif(SUM(bytes) % SUM(ops) = 0 AND SUM(bytes) / SUM(ops) IN (512, 1024, 2048, 4096, 8192, 16384, 32768,
                   65536), SUM(bytes) / SUM(ops), NULL) AS block_bytes
FROM v_piece WHERE sym = 'B' AND cause = 'journal' AND sub = 'commit' GROUP BY device;

-- The lines and disks that a breakdown is of: all; but where only one command was traced, neither other processes and
-- the tracer, nor bytes without an owner on disks that no traced process used.
CREATE TEMP TABLE v_here AS
WITH one AS MATERIALIZED (SELECT EXISTS (SELECT 1 FROM v_run WHERE ', ' || filters || ',' LIKE '%, command,%') AS yes),
     moved AS MATERIALIZED (
       SELECT DISTINCT c.gid, c.device, g.rank FROM v_cause c JOIN v_group g ON g.gid = c.gid WHERE g.shown)
SELECT m.gid, m.device FROM moved m JOIN one
WHERE NOT one.yes OR m.rank <= 4
   OR m.rank = 5 AND EXISTS (SELECT 1 FROM moved u WHERE u.rank <= 4 AND u.device IS m.device);
