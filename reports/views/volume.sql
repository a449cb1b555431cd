-- SPDX-License-Identifier: GPL-3.0-only
-- volume.sql: Aggregates in words, and the volumes of METRICS section 1.

-- The words of kinds.
CREATE TEMP TABLE v_kind AS
SELECT k.id, k.name AS kind, k.dir, l.id AS layer_id, l.name AS layer, l.name IN ('syscall', 'uring') AS app
FROM kind k JOIN layer l ON l.id = k.layer;

-- Every aggregate of the run in words. of_load: of the system and on a device that the ledger of the load names, or of
-- any, where it names none; what has no owner may be the system's. no_file: calls on what is no file.
CREATE TEMP TABLE v_cell AS
SELECT t.owner, t.gid, t.dev, d.device, COALESCE(d.leaf, 1) AS leaf, k.*, t.cause AS cause_id, t.sub AS sub_id,
       t.flags, c.name AS cause,
       h.name AS how, s.name AS sub, t.ops, t.errors, t.bytes, t.touched, t.timed, t.lat_ns, t.max_ns,
       s.name IN ('socket', 'pipe', 'chardev', 'pseudo', 'other') AS no_file, k.app
           AND s.name IN ('regular', 'blockdev') AS on_file,
       (l.devices IS NULL OR COALESCE(instr(',' || l.devices || ',', ',' || (t.dev >> 20) || ':' || (t.dev & 1048575)
           || ','), 0) > 0)
       AND (l.owner_system IS NULL OR t.owner = 0 OR COALESCE(t.system = l.owner_system, 0)) AS of_load
FROM v_load l JOIN (
       SELECT o.owner, o.gid, o.system, v.value ->> 1 AS kind, v.value ->> 2 AS dev, v.value ->> 3 AS cause,
              v.value ->> 4 AS how,
              v.value ->> 5 AS sub, v.value ->> 6 AS flags, v.value ->> 7 AS ops, v.value ->> 8 AS errors,
              v.value ->> 9 AS bytes,
              v.value ->> 10 AS touched, v.value ->> 11 AS timed, v.value ->> 12 AS lat_ns, v.value ->> 13 AS max_ns
       FROM json_each((SELECT fold(7, o.stand, t.kind, t.dev, t.cause, t.how, t.sub, t.flags,
                                   t.ops, t.errors, t.bytes, t.touched, t.timed, t.lat_ns, t.max_ns)
                       FROM ask JOIN agg_total t ON t.run = ask.run CROSS JOIN v_owner o ON o.owner = t.owner)) v
       JOIN v_owner o ON o.owner = v.value ->> 0) t
JOIN v_kind k ON k.id = t.kind
JOIN cause c ON c.id = t.cause
JOIN how h ON h.id = t.how
JOIN sub s ON s.id = t.sub
LEFT JOIN v_device d ON d.dev = t.dev;

-- What counts as which volume: the rows of stream/volumes.def (the query runner makes them table `volume`), those that
-- count in this run; and what of three of them is of the load, by the symbol with _load behind it.
CREATE TEMP TABLE v_counts AS
SELECT v.row, v.sym, v.kind, v.measure, 0 AS load
FROM volume v JOIN v_measured m
WHERE NOT (v.unless_vfs AND m.vfs IS NOT NULL);
INSERT INTO temp.v_counts
SELECT row, sym || '_load', kind, measure, 1 FROM v_counts WHERE sym IN ('S', 'B', 'B_r');
CREATE INDEX temp.v_counts_kind ON v_counts(kind);

-- Each aggregate once for each volume that it is part of, and how much of it that is.
CREATE TEMP VIEW v_piece AS
SELECT c.*, v.sym, CASE v.measure WHEN 0 THEN c.bytes WHEN 1 THEN c.ops WHEN 2 THEN c.ops - c.errors
           ELSE c.touched END AS amount
FROM v_cell c CROSS JOIN v_counts v ON v.kind = c.id AND volume_has(v.row, c.cause_id, c.sub_id, c.flags, c.leaf)
     AND (NOT v.load OR c.of_load);

CREATE TEMP TABLE v_amount AS
SELECT gid, dev, sym, SUM(amount) AS amount
FROM v_piece
GROUP BY gid, dev, sym;

-- The dirty ledger, one row a line of the report. slack: bytes that the ledger cannot explain (METRICS section 3):
-- carried by a request but not held by the simulation, and, after a settle, still held by it, but for what was dirtied
-- after that began; direct I/O beyond the blocks that calls touched.
CREATE TEMP TABLE v_ledger AS
SELECT o.gid, SUM(g.dirtied + g.direct) AS d_w, SUM(g.dirtied) AS dirtied, SUM(g.direct) AS direct,
       SUM(g.submitted) AS submitted, SUM(g.absorbed) AS absorbed,
       SUM(g.written) AS written, SUM(g.cancelled) AS cancelled, SUM(g.dirty_end) AS dirty_end,
       SUM(g.dirty_start) AS dirty_start, SUM(g.unexpected) AS unexpected,
       SUM(g.unexpected + CASE WHEN r.horizon = 'at_ack' THEN 0
           ELSE g.dirty_end - g.dirty_late END) + max(SUM(g.submitted) - SUM(g.direct), 0) AS slack
FROM ask JOIN v_measured m ON m.ledger JOIN ledger g ON g.run = ask.run JOIN v_run r JOIN v_owner o ON o.owner = g.owner
GROUP BY o.gid;

-- D of a line where events were lost: at least this. Of several that wrote a file nobody knows who made a block dirty,
-- if that is what was lost: so only files count that nobody else is known to have written, by the kernel's sums.
CREATE TEMP TABLE v_dirtied AS
WITH wrote AS (
       SELECT i.file, o.gid FROM ask JOIN file_io i ON i.run = ask.run JOIN v_owner o ON o.owner = i.owner
                  WHERE i.write_bytes + i.fs_write_bytes > 0
       UNION
       SELECT g.file, o.gid FROM ask JOIN ledger g ON g.run = ask.run JOIN v_owner o ON o.owner = g.owner
                  WHERE g.dirtied > 0),
     inode AS (
       SELECT COALESCE(f.dev || '/' || f.ino || '/' || f.gen, w.file) AS inode, w.gid
       FROM ask JOIN wrote w LEFT JOIN file f ON f.run = ask.run AND f.id = w.file
       WHERE w.file <> 0),
     single AS MATERIALIZED (SELECT inode, MIN(gid) AS gid FROM inode GROUP BY inode HAVING MIN(gid) = MAX(gid)),
     nameless AS MATERIALIZED (SELECT gid FROM wrote WHERE file = 0)
SELECT o.gid, SUM(g.direct + CASE WHEN s.gid IS NULL OR EXISTS (SELECT 1 FROM nameless n WHERE n.gid <> o.gid) THEN 0
           ELSE g.dirtied END) AS d_w
FROM ask JOIN v_measured m ON m.some_ledger AND m.ledger IS NULL
JOIN ledger g ON g.run = ask.run
JOIN v_owner o ON o.owner = g.owner
LEFT JOIN file f ON f.run = ask.run AND f.id = g.file
LEFT JOIN single s ON s.inode = COALESCE(f.dev || '/' || f.ino || '/' || f.gen, g.file) AND s.gid = o.gid
WHERE EXISTS (SELECT 1 FROM file_io i WHERE i.run = ask.run)
GROUP BY o.gid
UNION ALL
SELECT gid, d_w FROM v_ledger;

-- The symbols: of volumes that aggregates sum up to, and of the dirty ledger. needs, class, rest: stream/volumes.def
-- says what they are.
CREATE TEMP TABLE v_sym AS
SELECT DISTINCT sym, name, needs, class, rest FROM volume
UNION ALL
SELECT DISTINCT sym || '_load', name, needs, class, rest FROM volume WHERE sym IN ('S', 'B', 'B_r')
UNION ALL
SELECT 'D', 'D', '(SELECT 1 FROM v_dirtied)', 'ledger', 'ledger'
UNION ALL
SELECT value, value, 'ledger', NULL, NULL
           FROM json_each('["absorbed", "cancelled", "dirty_end", "unexpected", "slack"]');

-- What each line sums up to. Line `all` is every process and kernel thread that was traced; `total` is every device
-- byte, so it also holds what no owner is known for, other processes and the tracer.
CREATE TEMP TABLE v_line AS
SELECT gid, what, who, pid, rank, shown FROM v_group
UNION ALL
SELECT 'all:', 'all', 'all traced', '', 4, ask.system IS NULL FROM ask
UNION ALL
SELECT 'total:', 'total', 'total', '', 8, ask.system IS NULL FROM ask;

CREATE TEMP TABLE v_line_amount AS
WITH part AS MATERIALIZED (
       SELECT gid, sym, SUM(amount) AS amount FROM v_amount GROUP BY gid, sym
       UNION ALL SELECT gid, 'D', d_w FROM v_dirtied
       UNION ALL SELECT gid, 'absorbed', absorbed FROM v_ledger
       UNION ALL SELECT gid, 'cancelled', cancelled FROM v_ledger
       UNION ALL SELECT gid, 'dirty_end', dirty_end FROM v_ledger
       UNION ALL SELECT gid, 'unexpected', unexpected FROM v_ledger
       UNION ALL SELECT gid, 'slack', slack FROM v_ledger)
SELECT gid, sym, amount FROM part
UNION ALL
SELECT 'all:', p.sym, SUM(p.amount) FROM part p JOIN v_group g ON g.gid = p.gid WHERE g.rank < 4 GROUP BY p.sym
UNION ALL
SELECT 'total:', sym, SUM(amount) FROM part GROUP BY sym;

-- v_sum: a column a symbol, NULL where what it needs was not measured.
CREATE TEMP VIEW v_sum_sql AS
SELECT 'CREATE TEMP TABLE v_sum AS
WITH s AS MATERIALIZED (
       SELECT gid, ' ||
       group_concat(printf('SUM(CASE sym WHEN %Q THEN amount ELSE 0 END) AS "sum %w"', sym, sym), ', ') || '
       FROM v_line_amount GROUP BY gid),
     have AS (
       SELECT l.*, s.*, m.*, CASE WHEN m.uring OR COALESCE(s."sum uring_calls", 0) = 0 THEN m.syscall END AS calls
       FROM v_line l JOIN v_measured m LEFT JOIN s ON s.gid = l.gid)
SELECT gid, what, who, pid, rank, shown, vfs AS vfs_measured, calls AS calls_measured, ' ||
       group_concat(printf('COALESCE("sum %w", 0) * %s AS "%w"', sym, needs, sym), ', ') || ' FROM have'
FROM v_sym;

-- The volumes of METRICS section 1, in bytes unless the name says ops.
CREATE TEMP TABLE v_volume AS
WITH payer AS MATERIALIZED ( -- whom the payload is divided by: the ledger's system, or --system, or all
       SELECT l.gid
       FROM ask JOIN v_load a JOIN v_line l
       WHERE l.shown AND CASE WHEN a.owner_system IS NOT NULL AND (ask.system IS NOT NULL OR EXISTS (
                                    SELECT 1 FROM v_line x
                                    WHERE x.shown AND x.what = 'system' AND x.who = a.owner_system))
                                THEN l.what = 'system' AND l.who = a.owner_system
                              WHEN ask.system IS NOT NULL THEN l.what = 'system' AND l.who = ask.system
                              ELSE l.what = 'all' END)
SELECT s.*, CASE WHEN s.gid IN (SELECT gid FROM payer) THEN a.L END AS L,
       CASE WHEN s.gid IN (SELECT gid FROM payer) THEN a.L_r END AS L_r,
       CASE WHEN a.L IS NOT NULL AND s.gid IN (SELECT gid FROM payer) THEN a.intended END AS "L x R",
       s.fsyncs + s.sync_writes AS syncs, s.readahead - s.ra_used - s.ra_unknown AS ra_unused,
       s.ops_V_w + s.ops_B_w AS backend_ops_w, s.ops_V_r + s.ops_B_r AS backend_ops_r,
       CASE WHEN s.vfs_measured THEN 'measured' ELSE 'derived from syscall and uring' END AS vfs_source
FROM v_load a JOIN v_sum s;
CREATE UNIQUE INDEX temp.v_volume_gid ON v_volume(gid);
