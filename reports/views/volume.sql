-- SPDX-License-Identifier: GPL-3.0-only
-- volume.sql: Aggregates in words, and the volumes of METRICS section 1.

-- The words of kinds.
CREATE TEMP TABLE v_kind AS
SELECT k.id, k.name AS kind, k.dir, l.id AS layer_id, l.name AS layer, l.name IN ('syscall', 'uring') AS app
FROM kind k JOIN layer l ON l.id = k.layer;

-- The devices that the ledger of the load names, and the partitions and logical devices (dm, md) on them: I/O of file
-- systems there is the load's. Loop devices are left out, since their bytes are counted on the disk below.
CREATE TEMP TABLE v_load_device AS
WITH RECURSIVE lies AS MATERIALIZED (
       SELECT l.dev, l.below FROM ask JOIN level l ON l.run = ask.run WHERE l.how <> 'loop'),
     named(dev) AS (SELECT d.dev FROM v_load l JOIN v_device d ON listed(devno(d.dev), l.devices)
                    UNION SELECT l.dev FROM named n JOIN lies l ON l.below = n.dev)
SELECT dev FROM named;

-- Every aggregate of the run in words. With --by carrier, bytes that a carrier moved are on its line, whoever owns
-- them. of_load: of the system and on a device that the ledger of the load names, or on any, where it names none; bytes
-- without an owner may be the system's. no_file: calls on something that is no file.
CREATE TEMP TABLE v_cell AS
WITH folded AS (
       SELECT fold(8, o.stand, t.kind, t.dev, t.cause, t.how, t.sub, t.flags, t.carrier,
                   t.ops, t.errors, t.bytes, t.touched, t.timed, t.lat_ns, t.max_ns) AS rows
       FROM v_run_total t CROSS JOIN v_owner o ON o.owner = t.owner),
     t AS (
       SELECT c0 AS stand, c1 AS kind, c2 AS dev, c3 AS cause, c4 AS how,
              c5 AS sub, c6 AS flags, c7 AS carrier, c8 AS ops, c9 AS errors, c10 AS bytes,
              c11 AS touched, c12 AS timed, c13 AS lat_ns, c14 AS max_ns
       FROM folded, unfold(rows))
SELECT t.stand, iif(r.name IS NOT NULL AND o.shown AND t.stand > 2, 'carrier:' || r.name, o.gid) AS gid, t.dev,
       d.device, COALESCE(d.leaf, 1) AS leaf,
       COALESCE(d.leaf, 1) + 2 * COALESCE(d.bottom, d.leaf, 1) AS place, k.*, t.cause AS cause_id, t.sub AS sub_id,
       t.flags, t.carrier, c.name AS cause, h.name AS how, s.name AS sub, t.ops, t.errors, t.bytes, t.touched, t.timed,
       t.lat_ns, t.max_ns,
       s.name IN ('socket', 'net_unix', 'pipe', 'chardev', 'pseudo', 'other') AS no_file,
       k.app AND s.name IN ('regular', 'blockdev') AS on_file,
       (l.devices IS NULL OR listed(devno(t.dev), l.devices) OR t.dev IN (SELECT dev FROM v_load_device))
           AND (l.owner_system IS NULL OR t.stand = 0 OR o.system IS l.owner_system) AS of_load
FROM v_load l JOIN t JOIN v_owner o ON o.owner = t.stand JOIN v_kind k ON k.id = t.kind JOIN cause c ON c.id = t.cause
JOIN how h ON h.id = t.how JOIN sub s ON s.id = t.sub LEFT JOIN v_device d ON d.dev = t.dev
LEFT JOIN (SELECT ask.per, c.id, c.name FROM ask JOIN carrier c ON ask.per = 'carrier') r ON r.id = t.carrier;

-- The rows of stream/volumes.def that count in this run.
CREATE TEMP TABLE v_counts AS
SELECT v.row, v.sym, v.kind, v.measure, v.of_load FROM volume v JOIN v_measured m
WHERE NOT (v.unless_vfs AND m.vfs IS NOT NULL)
  AND NOT (v.of_logical AND NOT (EXISTS (SELECT 1 FROM v_device WHERE NOT leaf AND type <> 'partition')
                                 AND EXISTS (SELECT 1 FROM flag f JOIN v_run_total t ON t.flags & f.id
                                             WHERE f.name = 'PASSED')));
CREATE INDEX temp.v_counts_kind ON v_counts(kind);

-- Each aggregate once for each volume that it is part of, with the amount that counts there.
CREATE TEMP TABLE v_counted AS
SELECT v.sym, c.rowid AS cell, CASE v.measure WHEN 0 THEN c.bytes WHEN 1 THEN c.ops WHEN 2 THEN c.ops - c.errors
                                              ELSE c.touched END AS amount
FROM v_cell c CROSS JOIN v_counts v ON v.kind = c.id AND volume_has(v.row, c.cause_id, c.sub_id, c.flags, c.place)
     AND (NOT v.of_load OR c.of_load);

CREATE TEMP VIEW v_piece AS
SELECT c.*, p.sym, p.amount FROM v_counted p CROSS JOIN v_cell c ON c.rowid = p.cell;

CREATE TEMP TABLE v_amount AS
SELECT gid, dev, sym, SUM(amount) AS amount FROM v_piece GROUP BY gid, dev, sym;

-- The dirty ledger, one row a line of the report. slack: bytes that the ledger cannot explain (METRICS section 3):
-- carried by a request but not held by the simulation, and, after a settle, still held by it, but for what was dirtied
-- after that began; direct I/O beyond the blocks that calls touched.
CREATE TEMP TABLE v_ledger AS
WITH folded AS (
       SELECT fold(1, g.owner, dirtied, direct, submitted, absorbed, written, cancelled, dirty_end, dirty_start,
                   unexpected, dirty_late, 0) AS rows
       FROM v_measured m CROSS JOIN v_run r CROSS JOIN ledger g ON m.ledger AND g.run = r.run),
     g AS (
       SELECT c0 AS owner, c1 AS dirtied, c2 AS direct, c3 AS submitted, c4 AS absorbed, c5 AS written, c6 AS cancelled,
              c7 AS dirty_end, c8 AS dirty_start, c9 AS unexpected, c10 AS dirty_late FROM folded, unfold(rows))
SELECT o.gid, SUM(dirtied + direct) AS d_w, SUM(dirtied) AS dirtied, SUM(direct) AS direct,
       SUM(submitted) AS submitted, SUM(absorbed) AS absorbed, SUM(written) AS written, SUM(cancelled) AS cancelled,
       SUM(dirty_end) AS dirty_end, SUM(dirty_start) AS dirty_start, SUM(unexpected) AS unexpected,
       SUM(unexpected + iif(r.horizon = 'at_ack', 0, dirty_end - dirty_late)) + max(SUM(submitted) - SUM(direct), 0)
           AS slack
FROM v_run r JOIN g JOIN v_owner o ON o.owner = g.owner
GROUP BY o.gid;

-- D of a line where events were lost: at least this. If a lost event made a block dirty of a file that several lines
-- wrote, its owner is not known: so only files count that no other line is known to have written, by the kernel's sums.
CREATE TEMP TABLE v_dirtied AS
WITH lossy AS MATERIALIZED (SELECT ask.run FROM ask JOIN v_measured m ON m.some_ledger AND m.ledger IS NULL),
     inode AS (
       SELECT id AS file, dev || '/' || ino || '/' || gen AS inode
       FROM lossy CROSS JOIN file f ON f.run = lossy.run),
     wrote AS (
       SELECT i.file, i.owner FROM lossy CROSS JOIN file_io i ON i.run = lossy.run
       WHERE i.write_bytes + i.fs_write_bytes > 0
       UNION
       SELECT g.file, g.owner FROM lossy CROSS JOIN ledger g ON g.run = lossy.run WHERE g.dirtied > 0),
     writer AS MATERIALIZED (
       SELECT DISTINCT iif(w.file = 0, NULL, COALESCE(i.inode, w.file)) AS inode, o.gid
       FROM wrote w JOIN v_owner o ON o.owner = w.owner LEFT JOIN inode i ON i.file = w.file),
     single AS MATERIALIZED (
       SELECT inode, MIN(gid) AS gid FROM writer WHERE inode IS NOT NULL GROUP BY inode HAVING COUNT(*) = 1)
SELECT o.gid, SUM(g.direct + iif(s.gid IS NULL OR EXISTS (SELECT 1 FROM writer n
                                                        WHERE n.inode IS NULL AND n.gid <> o.gid), 0, g.dirtied)) AS d_w
FROM lossy CROSS JOIN ledger g ON g.run = lossy.run
JOIN v_owner o ON o.owner = g.owner LEFT JOIN inode i ON i.file = g.file
LEFT JOIN single s ON s.inode = COALESCE(i.inode, g.file) AND s.gid = o.gid
WHERE EXISTS (SELECT 1 FROM file_io i WHERE i.run = lossy.run) GROUP BY o.gid
UNION ALL SELECT gid, d_w FROM v_ledger;

-- The symbols of volumes that aggregates sum up to, and of the dirty ledger. stream/volumes.def explains needs, class
-- and rest.
CREATE TEMP TABLE v_sym AS
SELECT DISTINCT sym, name, needs, class, rest FROM volume
UNION ALL VALUES ('D', 'D', '(SELECT 1 FROM v_dirtied)', 'ledger', 'ledger')
UNION ALL SELECT value, value, 'ledger', NULL, NULL
FROM json_each('["absorbed", "cancelled", "dirty_end", "unexpected", "slack"]');

-- The lines to which owners are summed. Line `all` is every process and kernel thread that was traced; `total` is every
-- device byte, so it also holds those without a known owner, of other processes and of the tracer.
CREATE TEMP TABLE v_line AS
SELECT gid, what, who, pid, rank, shown FROM v_group
UNION ALL SELECT what || ':', what, who, '', rank, system IS NULL FROM ask JOIN v_what WHERE what IN ('all', 'total');

CREATE TEMP TABLE v_line_amount AS
WITH part AS MATERIALIZED (
       SELECT gid, sym, SUM(amount) AS amount FROM v_amount GROUP BY gid, sym
       UNION ALL SELECT gid, 'D', d_w FROM v_dirtied
       UNION ALL
       SELECT gid, key, value FROM v_ledger, json_each(json_object('absorbed', absorbed, 'cancelled', cancelled,
              'dirty_end', dirty_end, 'unexpected', unexpected, 'slack', slack)))
SELECT t.line AS gid, p.sym, SUM(p.amount) AS amount FROM part p JOIN v_sums_to t ON t.gid = p.gid
GROUP BY t.line, p.sym
UNION ALL
SELECT 'total:', sym, SUM(amount) FROM part GROUP BY sym;

-- Lines with bytes on a loop device of which it is not known whether a disk of this machine lies below, or below which
-- nothing was recorded (--dev): the bytes that disks at the bottom moved for them are not known.
CREATE TEMP TABLE v_floating AS
WITH part AS MATERIALIZED (
       SELECT DISTINCT c.gid FROM v_device d JOIN v_cell c ON c.dev = d.dev
       WHERE (d.type = 'loop' AND d.bottom IS NULL OR d.bottom = 0 AND d.dev IN (SELECT dev FROM v_named_disk))
         AND c.layer = 'block' AND c.bytes > 0)
SELECT t.line AS gid FROM part p JOIN v_sums_to t ON t.gid = p.gid
UNION SELECT 'total:' FROM part;

-- v_sum: a column a symbol, NULL where a layer that it needs was not measured.
CREATE TEMP VIEW v_sum_sql AS
SELECT 'CREATE TEMP TABLE v_sum AS
WITH s AS MATERIALIZED (
       SELECT gid, ' || group_concat(printf('sum_if(amount, sym = %Q) AS "sum %w"', sym, sym), ', ') || '
       FROM v_line_amount GROUP BY gid),
     have AS (
       SELECT l.*, s.*, m.syscall, m.uring, m.cache, m.fs, m.net, m.vfs, m.ledger, m.some_ledger,
              iif(l.gid IN (SELECT gid FROM v_floating), NULL, 1) AS bottom,
              iif(l.what IN (''total'', ''unattributed''), m.device, m.block) AS block,
              CASE WHEN m.uring OR COALESCE(s."sum uring_calls", 0) = 0 THEN m.syscall END AS calls
       FROM v_line l JOIN v_measured m LEFT JOIN s ON s.gid = l.gid)
SELECT gid, what, who, pid, rank, shown, ' ||
       group_concat(printf('COALESCE("sum %w", 0) * %s AS "%w"', sym, needs, sym), ', ') || ' FROM have'
FROM v_sym;

-- The volumes of METRICS section 1, in bytes unless the name says ops. payer: the line that the payload is of: the
-- ledger's system, or --system, or all.
CREATE TEMP TABLE v_volume AS
WITH named AS (
       SELECT CASE WHEN ask.system IS NOT NULL THEN COALESCE(a.owner_system, ask.system)
                   WHEN EXISTS (SELECT 1 FROM v_line WHERE shown AND what = 'system' AND who = a.owner_system)
                   THEN a.owner_system END AS who
       FROM ask JOIN v_load a),
     payer AS MATERIALIZED (
       SELECT l.gid FROM named n JOIN v_line l
       WHERE l.shown AND iif(n.who IS NULL, l.what = 'all', l.what = 'system' AND l.who = n.who))
SELECT s.*, iif(pays, a.L, NULL) AS L, iif(pays, a.L_r, NULL) AS L_r, iif(pays, a.intended, NULL) AS "L x R",
       s.fsyncs + s.sync_writes AS syncs, s.readahead - s.ra_used - s.ra_unknown AS ra_unused,
       s.missed + s.ra_used AS from_disk,
       s.ops_V_w + s.ops_B_w AS backend_ops_w, s.ops_V_r + s.ops_B_r AS backend_ops_r
FROM v_load a JOIN (SELECT *, gid IN (SELECT gid FROM payer) AS pays FROM v_sum) s;
CREATE UNIQUE INDEX temp.v_volume_gid ON v_volume(gid);
