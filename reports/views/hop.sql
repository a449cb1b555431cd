-- SPDX-License-Identifier: GPL-3.0-only
-- hop.sql: Bytes that each step on the path of a byte added or saved, and the cost of one operation.

-- Bytes that the file system adds to file data, one row a line, `all traced` too: written (as submitted), and read
-- (from devices).
CREATE TEMP TABLE v_fs_part AS
WITH part AS MATERIALIZED (
       SELECT gid, sym, cause, SUM(amount) AS bytes FROM v_piece
       WHERE sym IN ('F', 'B', 'B_r') AND cause NOT IN ('data', 'direct', 'readahead')
       GROUP BY gid, sym, cause
       UNION ALL SELECT gid, 'zeroed', cause, SUM(amount) FROM v_piece
       WHERE sym = 'W' AND cause = 'direct' AND sub = 'zeroed'
       GROUP BY gid, cause)
SELECT t.line AS gid, sum_if(p.bytes, p.sym = 'F' AND p.cause = 'journal') AS journal,
       sum_if(p.bytes, p.sym = 'F' AND p.cause = 'metadata') AS metadata,
       sum_if(p.bytes, p.sym = 'B' AND p.cause = 'journal') AS journal_dev,
       sum_if(p.bytes, p.sym = 'B_r') AS structures_r, sum_if(p.bytes, p.sym = 'zeroed') AS zeros
FROM part p JOIN v_sums_to t ON t.gid = p.gid
GROUP BY t.line;

-- The path of written bytes, one row a line and step: S (or L, where it is given), the bytes that each step added
-- (absorbed: less than 0), B. The steps sum to B exactly. Between two volumes of which one is not known there is one
-- step. residue, the last step: the part of W that the dirty ledger does not explain. reach: the sum of the steps so
-- far.
CREATE TEMP VIEW v_hop AS
WITH v AS MATERIALIZED (
       SELECT v.*, COALESCE(f.journal, 0) AS journal, COALESCE(f.metadata, 0) AS metadata,
              COALESCE(f.zeros, 0) AS zeros
       FROM v_volume v LEFT JOIN v_fs_part f ON f.gid = v.gid
       WHERE v.shown AND v.rank <= 4),
     volume AS (
       SELECT v.gid, o.key + 1 AS ord, o.value AS sym,
              json_array(iif(S > 0, L, NULL), S, T, iif(m.ledger, D, NULL), W, F, B) ->> o.key AS bytes
       FROM v JOIN v_measured m JOIN json_each('["L", "S", "T", "D", "W", "F", "B"]') o),
     pair AS MATERIALIZED (
       SELECT gid, ord, sym, bytes, LAG(sym) OVER way AS "from", bytes - LAG(bytes) OVER way AS change
       FROM volume
       WHERE bytes IS NOT NULL
       WINDOW way AS (PARTITION BY gid ORDER BY ord)),
     split(n, "from", sym, ord, step) AS (VALUES (0, 'T', 'D', 0.1, 'overwritten in the cache'),
       (1, 'D', 'W', 0.1, 'deleted before writeback'), (2, 'D', 'W', 0.2, 'still dirty at the end'),
       (3, 'W', 'F', 0.1, 'fs journal'), (4, 'W', 'F', 0.2, 'fs metadata'),
       (5, 'T', 'D', 0.2, 'zeroed by the kernel')),
     told AS MATERIALIZED (
       SELECT v.gid, s."from", s.sym, p.ord + s.ord AS ord, s.step,
              json_array(-absorbed, -cancelled, -dirty_end, journal, metadata, zeros) ->> s.n AS bytes
       FROM v JOIN pair p ON p.gid = v.gid JOIN split s ON s."from" = p."from" AND s.sym = p.sym),
     whole("from", sym, step) AS (VALUES ('L', 'S', 'application'), ('S', 'T', 'rounded up to blocks'),
       ('T', 'D', 'dirtied through mappings'), ('D', 'W', 'residue'), ('W', 'F', 'other of the fs'),
       ('F', 'B', 'below the file system')),
     step(gid, ord, hop, step, bytes, start) AS (
       SELECT gid, ord, sym, CASE sym WHEN 'L' THEN 'L payload' WHEN 'S' THEN 'S calls' ELSE sym END, bytes, 1
       FROM pair WHERE "from" IS NULL
       UNION ALL
       SELECT gid, ord, "from" || ' to ' || sym, step, bytes, 0 FROM told
       UNION ALL
       SELECT p.gid, iif(w.step = 'residue', 98, p.ord + 0.9), p."from" || ' to ' || p.sym,
              COALESCE(w.step, p."from" || ' to ' || p.sym || ', not told apart'),
              p.change - COALESCE((SELECT SUM(t.bytes) FROM told t
                                   WHERE t.gid = p.gid AND t."from" = p."from" AND t.sym = p.sym), 0), 0
       FROM pair p LEFT JOIN whole w ON w."from" = p."from" AND w.sym = p.sym
       WHERE p."from" IS NOT NULL)
SELECT gid, ord, hop, step, bytes, SUM(bytes) OVER (PARTITION BY gid ORDER BY ord) AS reach, start
FROM step
UNION ALL
SELECT gid, 99, sym, CASE sym WHEN 'B' THEN 'B devices' ELSE sym END, bytes, bytes, 1
FROM (SELECT *, MAX(ord) OVER (PARTITION BY gid) AS last FROM pair WHERE "from" IS NOT NULL)
WHERE ord = last;

-- The path of read bytes, from S_r to B_r. From the cache: bytes that calls returned without direct I/O, and that were
-- neither missed nor read ahead and used. Readahead stands at the step that read it; the part of it that no call
-- returned is `read ahead, not used`.
CREATE TEMP VIEW v_hop_r AS
WITH v AS MATERIALIZED (
       SELECT v.*, COALESCE(f.structures_r, 0) AS structures
       FROM v_volume v LEFT JOIN v_fs_part f ON f.gid = v.gid
       WHERE v.shown AND v.rank <= 4 AND COALESCE(v.S_r, 0) + COALESCE(v.B_r, 0) > 0),
     change(gid, ord, step, bytes) AS (
       SELECT gid, 2, iif(S_r_cached < missed + readahead - ra_unused, 'rounded up to pages', 'from the page cache'),
              missed + readahead - ra_unused - S_r_cached FROM v
       UNION ALL SELECT gid, 3, 'read ahead, not used', ra_unused FROM v
       UNION ALL SELECT gid, 4, 'for faults', missed_fault + readahead_fault FROM v
       UNION ALL SELECT gid, 5, 'read to be written', missed_write FROM v
       UNION ALL SELECT gid, 6, 'fs structures', structures FROM v WHERE B_r IS NOT NULL),
     known AS MATERIALIZED (SELECT gid, ord, step, bytes FROM change WHERE bytes IS NOT NULL),
     step(gid, ord, hop, step, bytes, start) AS (
       SELECT gid, 1, 'S_r', 'S_r calls', S_r, 1 FROM v
       UNION ALL
       SELECT gid, ord, 'S_r to B_r', step, bytes, 0 FROM known
       UNION ALL
       SELECT v.gid, 98, 'S_r to B_r', iif(v.missed IS NULL, 'S_r to B_r, not told apart', 'residue'),
              v.B_r - v.S_r - COALESCE((SELECT SUM(k.bytes) FROM known k WHERE k.gid = v.gid), 0), 0
       FROM v)
SELECT gid, ord, hop, step, bytes, SUM(bytes) OVER (PARTITION BY gid ORDER BY ord) AS reach, start
FROM step
UNION ALL
SELECT gid, 99, 'B_r', 'B_r devices', B_r, B_r, 1 FROM v;

-- Blocks of journals, a row a line: NULL where the block size of one that it wrote to is not known.
CREATE TEMP VIEW v_journal_line AS
WITH part AS MATERIALIZED (
       SELECT gid, device, SUM(amount) AS bytes FROM v_piece
       WHERE sym = 'B' AND cause = 'journal'
       GROUP BY gid, device)
SELECT t.line AS gid, iif(COUNT(b.block_bytes) = COUNT(*), SUM(p.bytes * 1.0 / b.block_bytes), NULL) AS blocks
FROM part p JOIN v_sums_to t ON t.gid = p.gid LEFT JOIN v_journal_block b ON b.device IS p.device
WHERE p.bytes > 0
GROUP BY t.line;

-- Operations of a line: those that clients had acknowledged, by the ledger or --ops, of the line that the payload is
-- of; else its own calls that write, or read.
CREATE TEMP TABLE v_op AS
SELECT v.gid, iif(v.pays, COALESCE(:ops, g.write_ops), NULL) AS given_w,
       iif(v.pays AND :ops IS NULL, g.read_ops, NULL) AS given_r,
       v.ops_S_w AS calls_w, v.ops_S_r AS calls_r
FROM v_volume v LEFT JOIN given g
WHERE v.shown AND v.rank <= 4;
