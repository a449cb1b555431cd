-- SPDX-License-Identifier: GPL-3.0-only
-- ratio.sql: Ratios, and the reasons why they are bounds.

-- Parts of volumes without a known owner, by device. contents: of files; else structures of a file system, or of
-- unknown type. Bytes that were queued before the run are no work of the run; bytes that ext4lazyinit zeroes belong to
-- nobody.
CREATE TEMP TABLE v_unowned AS
SELECT sym, dev, cause NOT IN ('journal', 'metadata', 'flush', 'unknown') AS contents, SUM(amount) AS amount
FROM v_piece
WHERE gid IN (SELECT gid FROM v_group WHERE what = 'unattributed') AND cause <> 'before_run'
  AND COALESCE(carrier NOT IN (SELECT id FROM carrier WHERE name = 'lazyinit'), 1) -- of older stores none is
  AND sym IN (SELECT sym FROM v_sym WHERE rest = 'device')
GROUP BY sym, dev, contents HAVING SUM(amount) > 0;

-- Devices with bytes without an owner that each line used: a line uses a device where it moved some of the volume; of
-- written volumes also the devices of the files that it wrote, and the disk of their partition. Contents of files may
-- be of a line that had some there.
CREATE TEMP TABLE v_used AS
WITH place AS MATERIALIZED (
       SELECT DISTINCT dev FROM v_unowned UNION SELECT d.dev FROM v_unowned n JOIN v_device d ON d.parent = n.dev),
     here AS MATERIALIZED (
       SELECT DISTINCT gid, sym, dev, cause NOT IN ('journal', 'metadata', 'flush', 'unknown') AS contents
       FROM v_piece
       WHERE amount > 0 AND dev IN (SELECT dev FROM place)
         AND (sym IN (SELECT sym FROM v_unowned) OR sym IN ('S', 'mapped'))),
     wrote AS (
       SELECT h.gid, p.value AS dev FROM here h LEFT JOIN v_device d ON d.dev = h.dev AND d.type = 'partition'
       JOIN json_each(json_array(h.dev, d.parent)) p
       WHERE h.sym IN ('S', 'mapped')),
     used AS (
       SELECT gid, sym, dev, contents FROM here
       UNION
       SELECT w.gid, s.value, w.dev, 1 FROM wrote w JOIN json_each('["W", "F", "B", "B_load", "P"]') s)
SELECT DISTINCT t.line, u.sym, u.dev, u.contents FROM used u JOIN v_sums_to t ON t.gid = u.gid;

-- Contents of files without an owner that may be a line's: of the files that it wrote, and of those that are not known.
-- A line that stores through mappings may have changed any. Without sums by file, and where this is little: no row.
CREATE TEMP TABLE v_unowned_file AS
WITH much AS (
       SELECT 1 FROM v_unowned n WHERE n.contents AND n.sym IN ('W', 'B') GROUP BY n.sym HAVING SUM(n.amount) > 65536),
     lone AS MATERIALIZED (
       SELECT i.file, SUM(i.fs_write_bytes) AS submitted, SUM(i.dev_write_bytes) AS written
       FROM ask JOIN file_io i ON i.run = ask.run
       WHERE i.owner = 0 AND i.fs_write_bytes + i.dev_write_bytes > 0 AND EXISTS (SELECT 1 FROM much)
       GROUP BY i.file),
     theirs AS (
       SELECT DISTINCT t.line, l.file
       FROM lone l CROSS JOIN ask CROSS JOIN file_io i ON i.run = ask.run AND i.file = l.file
       JOIN v_owner o ON o.owner = i.owner JOIN v_sums_to t ON t.gid = o.gid
       WHERE i.owner > 0 AND i.write_bytes + i.fs_write_bytes > 0
       UNION
       SELECT g.gid, 0 FROM v_group g
       UNION
       SELECT 'all:', 0)
SELECT h.line, COALESCE(SUM(l.submitted), 0) AS submitted, COALESCE(SUM(l.written), 0) AS written
FROM theirs h LEFT JOIN lone l ON l.file = h.file
WHERE EXISTS (SELECT 1 FROM lone)
  AND NOT EXISTS (SELECT 1 FROM v_piece p JOIN v_sums_to t ON t.gid = p.gid
                  WHERE t.line = h.line AND p.sym = 'mapped' AND p.amount > 0)
GROUP BY h.line;

-- The part of a volume that may be a line's and has no known owner, on the devices that the line used. Where sums lost
-- their owner because a table was full, the line may have used any device.
CREATE TEMP TABLE v_residual AS
WITH able AS (SELECT line, sym, dev, MAX(contents) AS contents
              FROM (SELECT line, sym, dev, contents FROM v_used
                    UNION ALL
                    SELECT u.line, n.sym, n.dev, 1 FROM (SELECT DISTINCT line FROM v_used) u CROSS JOIN v_unowned n
                    WHERE EXISTS (SELECT 1 FROM v_lost WHERE effect = 'owner' AND layer = 'all'))
              GROUP BY line, sym, dev)
SELECT u.line AS gid, u.sym,
       sum_if(n.amount, NOT n.contents) +
           min(sum_if(n.amount, n.contents),
               COALESCE(CASE WHEN u.sym IN ('W', 'F') THEN f.submitted WHEN u.sym IN ('B', 'B_load') THEN f.written END,
                        sum_if(n.amount, n.contents))) AS residual
FROM able u JOIN v_unowned n ON n.sym = u.sym AND n.dev IS u.dev AND n.contents <= u.contents
LEFT JOIN v_unowned_file f ON f.line = u.line
GROUP BY u.line, u.sym;
DELETE FROM temp.v_residual WHERE residual = 0;
CREATE INDEX temp.v_residual_gid ON v_residual(gid, sym);

-- Bytes without a known owner among those that devices wrote for all lines of the report, in words. whole: the bytes
-- that they wrote for those lines. much: more than a hundredth, which makes bounds. On devices that wrote for no known
-- owner it is all that they wrote.
CREATE TEMP TABLE v_nobody_all AS
WITH line AS (SELECT gid FROM v_group WHERE shown AND rank <= 3),
     part AS (SELECT sum_if(n.amount, NOT n.contents) AS structures, sum_if(n.amount, n.contents) AS contents
              FROM v_unowned n
              WHERE n.sym = 'B' AND EXISTS (SELECT 1 FROM v_used u JOIN line l ON l.gid = u.line
                                            WHERE u.sym = 'B' AND u.dev IS n.dev AND u.contents >= n.contents)),
     used AS (SELECT structures + min(contents, COALESCE((SELECT written FROM v_unowned_file WHERE line = 'all:'),
                                                         contents)) AS residual FROM part),
     own AS (SELECT SUM(B) AS whole, COALESCE(SUM(S), 0) + COALESCE(SUM(B), 0) > 0 AS known FROM v_volume
             WHERE gid IN (SELECT gid FROM line)),
     any AS (SELECT MAX(B) FILTER (WHERE what = 'unattributed') AS residual,
                    MAX(B) FILTER (WHERE what = 'total') AS whole FROM v_volume),
     n AS (SELECT o.known, iif(o.known, u.residual, a.residual) AS residual, iif(o.known, o.whole, a.whole) AS whole
           FROM used u JOIN own o JOIN any a)
SELECT known AS used, residual, whole, residual > 0.01 * whole AS much,
       iif(known, printf('%s on the devices that wrote %s for them', size(residual), size(whole)),
           printf('%s of the %s that devices wrote (%.1f %%)', size(residual), size(whole),
                  residual * 100.0 / whole)) AS text
FROM n WHERE residual > 0;

-- One note a report on what is less: figures stand for all but that. In the head of reports that look for it.
CREATE TEMP VIEW v_nobody_head AS
SELECT 3.1 AS ord, printf('no owner: %s of %s that devices wrote (%.2f %%): it makes no bound', size(residual),
                          size(residual + whole), residual * 100.0 / (residual + whole)) AS line
FROM v_nobody_all WHERE NOT much;

CREATE TEMP VIEW v_nobody AS SELECT used, residual, whole, text FROM v_nobody_all WHERE much;
INSERT OR IGNORE INTO temp.v_head_more SELECT * FROM v_nobody_head;

-- Bytes that went to the last of several writers (how: file, with --light), by line and volume, on devices that others
-- wrote to as well. over: of the line, and may be others'; under: of others, and may be the line's.
CREATE TEMP TABLE v_last AS
WITH last AS MATERIALIZED (
       SELECT sym, dev, gid, SUM(amount) AS amount FROM v_piece
       WHERE how = 'file' AND amount > 0 AND sym IN (SELECT sym FROM v_sym WHERE rest = 'device')
       GROUP BY sym, dev, gid),
     mover AS MATERIALIZED (
       SELECT DISTINCT dev, gid FROM v_piece
       WHERE amount > 0 AND sym IN ('F', 'B', 'P') AND EXISTS (SELECT 1 FROM last)),
     line AS MATERIALIZED (SELECT DISTINCT t.line, m.dev FROM mover m JOIN v_sums_to t ON t.gid = m.gid),
     shared AS MATERIALIZED (
       SELECT l.line, l.dev FROM line l
       WHERE EXISTS (SELECT 1 FROM mover m WHERE m.dev = l.dev
                     AND NOT EXISTS (SELECT 1 FROM v_sums_to t WHERE t.line = l.line AND t.gid = m.gid)))
SELECT s.line AS gid, p.sym, SUM(iif(t.gid IS NULL, 0, p.amount)) AS over, SUM(iif(t.gid IS NULL, p.amount, 0)) AS under
FROM shared s JOIN last p ON p.dev = s.dev LEFT JOIN v_sums_to t ON t.line = s.line AND t.gid = p.gid
GROUP BY s.line, p.sym;
CREATE INDEX temp.v_last_gid ON v_last(gid, sym);

-- Their share of all that devices wrote, in the head of reports that look for it.
CREATE TEMP VIEW v_last_head AS
SELECT 3.2 AS ord, printf('last writer: %s of %s that devices wrote (%.2f %%) are of files, or of structures, that '
                          || 'several wrote to', size(last), size(whole), last * 100.0 / whole) AS line
FROM (SELECT SUM(iif(how = 'file', amount, 0)) AS last, SUM(amount) AS whole FROM v_piece WHERE sym = 'B')
WHERE last > 0;

-- Every ratio of METRICS section 2 that one node's run can give. complement: 1 - numerator / denominator.
-- needs: r and w rows appear where a line has reads or writes at all; an L row where L is given. over_S: says nothing
-- of a line that also stores through mappings.
CREATE TEMP TABLE v_ratio_def(ord, ratio, num, den, formula, needs, complement, over_S);
INSERT INTO temp.v_ratio_def VALUES
       (1, 'waf_sys', 'B', 'S', 'B/S', 'w', 0, 1),
       (2, 'waf_e2e', 'B_load', 'L', 'B/L', 'L', 0, 0),
       (2.1, 'waf_norm', 'B_load', 'L x R', 'B/(L x R)', 'R', 0, 0),
       (3, 'hop_app', 'S_load', 'L', 'S/L', 'L', 0, 1),
       (3.1, 'raf_e2e', 'B_r_load', 'L_r', 'B_r/L_r', 'L_r', 0, 0),
       (4, 'hop_page', 'T', 'S', 'T/S', 'w', 0, 1),
       (5, 'hop_coalesce', 'D', 'T', 'D/T', 'w', 0, 1),
       (6, 'hop_flush', 'W', 'D', 'W/D', 'w', 0, 0),
       (7, 'hop_coalesce x hop_flush', 'W', 'T', 'W/T', 'no D', 0, 1),
       (8, 'hop_fs', 'F', 'W', 'F/W', 'w', 0, 0),
       (9, 'hop_blk', 'B', 'F', 'B/F', 'w', 0, 0),
       (9.1, 'hop_stack', 'P', 'B', 'P/B', 'stack', 0, 0),
       (10, 'raf_dev', 'B_r_call', 'S_r', 'B_r/S_r, without faults', 'r', 0, 0),
       (11, 'raf_miss', 'B_r_cached', 'missed_all', 'B_r/missed, without direct I/O', 'r', 0, 0),
       (12, 'hit_ratio', 'from_disk', 'S_r_cached',
        '1 - (missed by calls + read ahead and used)/S_r, without direct I/O', 'r', 1, 0),
       (13, 'ra_waste', 'ra_unused', 'readahead', 'unused/readahead', 'r', 0, 0),
       (14, 'wra', 'B_r_for_write', 'S', 'B_r for writes/S', 'w', 0, 1),
       (15, 'flush_amp', 'flushes', 'syncs', 'flushes/syncs', 's', 0, 0),
       (16, 'commits_per_fsync', 'commits', 'syncs', 'commits/syncs', 's', 0, 0),
       (17, 'seed_op_amp_r', 'backend_ops_r', 'ops_S_r', '(VFS ops + block ops)/syscall ops', 'r', 0, 0),
       (18, 'seed_op_amp_w', 'backend_ops_w', 'ops_S_w', '(VFS ops + block ops)/syscall ops', 'w', 0, 1);

-- The symbols of ratios as rows. Derived ones have no row in stream/volumes.def: given, sums and differences of others.
CREATE TEMP TABLE v_ratio_sym AS
SELECT sym, name, class, rest FROM v_sym
UNION ALL VALUES ('L', 'L', 'given', NULL), ('L_r', 'L_r', 'given', NULL), ('L x R', 'L x R', 'given', NULL),
       ('syncs', 'syncs', 'app', 'line'), ('ra_unused', 'readahead unused', 'miss', 'use'),
       ('from_disk', 'missed or read ahead', 'hit', 'hit'),
       ('backend_ops_w', 'VFS + block ops (w)', 'block', NULL), ('backend_ops_r', 'VFS + block ops (r)', 'block', NULL);

-- v_value: each line's volumes as rows.
CREATE TEMP VIEW v_value_sql AS
SELECT 'CREATE TEMP VIEW v_value AS ' ||
       group_concat(printf('SELECT gid, what, %Q AS sym, "%w" AS value FROM v_volume', sym, sym), ' UNION ALL ')
FROM v_ratio_sym;

-- Classes of volumes that lost records spoilt, by line: lost requests of io_uring and libaio are those of lines that
-- made some.
CREATE TEMP TABLE v_spoilt_line AS
WITH way AS MATERIALIZED (
       SELECT DISTINCT t.line, iif(c.layer = 'uring', 'uring', 'aio') AS way
       FROM v_cell c JOIN v_sums_to t ON t.gid = c.gid
       WHERE c.layer = 'uring' OR c.kind IN ('aio_read', 'aio_write', 'aio_fsync', 'io_submit'))
SELECT DISTINCT l.gid, s.class FROM v_spoilt s JOIN v_line l
WHERE s.way IS NULL OR l.gid IN (SELECT line FROM way WHERE way = s.way) OR l.what IN ('total', 'unattributed')
   OR NOT EXISTS (SELECT 1 FROM way WHERE way = s.way);
CREATE INDEX temp.v_spoilt_line_gid ON v_spoilt_line(gid, class);

-- One row a line and symbol: value, why it is absent, residual (bytes that may be of it and have no owner, see
-- v_residual; for D those that the ledger cannot explain), whole, and short: 1 when the value may be too small by more
-- than a hundredth of that, by the rule of METRICS section 3, short_why; long, long_why: too large, by v_last. Bytes
-- that were read ahead are short by those of them that nobody used.
CREATE TEMP TABLE v_symbol AS
WITH value AS MATERIALIZED (
       SELECT * FROM v_value WHERE sym IN (SELECT num FROM v_ratio_def UNION SELECT den FROM v_ratio_def)),
     sums AS MATERIALIZED (
       SELECT sym, MAX(value) FILTER (WHERE what = 'unattributed') AS nobody FROM value GROUP BY sym),
     nobody AS (SELECT ra_used + ra_unknown AS used FROM v_volume WHERE what = 'unattributed'),
     need(class, layer) AS (VALUES ('app', 'syscall'), ('miss', 'syscall'), ('use', 'syscall'), ('miss', 'cache'),
       ('use', 'cache'), ('hit', 'syscall'), ('hit', 'cache'), ('fs', 'fs'), ('commit', 'fs'), ('block', 'block')),
     missing AS MATERIALIZED (
       SELECT n.class, printf('layer %s%s', n.layer, iif(n.layer IN (SELECT layer FROM v_left_out),
                                                         ' not recorded' || iif(r.tier = 'light', ' (--light)', ''),
                                                         ' was not measured' || COALESCE(' (' || u.reason || ')', '')))
                  AS text
       FROM need n JOIN v_run r LEFT JOIN v_unmeasured u ON u.layer = n.layer WHERE NOT listed(n.layer, r.layers)
       UNION ALL SELECT 'block', reason FROM v_unmeasured WHERE layer = 'owners'),
     flat AS (
       SELECT v.gid, v.sym, s.name, s.rest, v.value, iif(v.sym = 'readahead', 'use', s.class) AS class,
              COALESCE(CASE WHEN v.sym = 'readahead' THEN (SELECT used FROM nobody) WHEN s.rest = 'line' THEN n.nobody
                            WHEN s.rest = 'device' THEN x.residual
                            WHEN s.rest = 'ledger' THEN w.slack
                            WHEN s.rest = 'use' THEN w.ra_unknown
                            WHEN s.rest = 'hit' THEN w.ra_unknown + (SELECT used FROM nobody) + COALESCE(x.residual, 0)
                            END, 0) AS residual,
              CASE s.rest WHEN 'use' THEN w.readahead WHEN 'hit' THEN w.S_r_cached ELSE v.value END AS whole,
              COALESCE(l.over, 0) AS over, COALESCE(l.under, 0) AS under
       FROM value v JOIN v_ratio_sym s ON s.sym = v.sym JOIN v_volume w ON w.gid = v.gid JOIN sums n ON n.sym = v.sym
       LEFT JOIN v_residual x ON s.rest IN ('device', 'hit') AND x.gid = v.gid
           AND x.sym = iif(s.rest = 'hit', 'missed', v.sym)
       LEFT JOIN v_last l ON s.rest = 'device' AND l.gid = v.gid AND l.sym = v.sym),
     judged AS (
       SELECT f.*, COALESCE(f.residual > 0.01 * f.whole, 0) AS rests, COALESCE(f.under > 0.01 * f.whole, 0) AS lacks,
              COALESCE(f.over > 0.01 * f.whole, 0) AS long,
              EXISTS (SELECT 1 FROM v_spoilt_line b
                      WHERE b.gid = f.gid
                        AND (b.class = f.class OR f.class = 'hit' AND b.class IN ('miss', 'use'))) AS spoilt
       FROM flat f)
SELECT f.gid, f.sym, f.name, f.value, iif(f.value IS NULL, NULL, f.residual) AS residual, f.whole,
       f.spoilt OR f.rests OR f.lacks AS short, f.long,
       iif(f.long, printf('%s of %s may be of others that wrote the same files (--light)', size(f.over), f.name), NULL)
           AS long_why,
       CASE WHEN f.spoilt THEN iif(f.class = 'use', 'some use of readahead was not followed', f.name || ' lost records')
            WHEN NOT f.rests AND f.lacks
            THEN printf('%s of %s went to others that wrote the same files last (--light)', size(f.under), f.name)
            WHEN NOT f.rests THEN NULL
            WHEN f.rest = 'use'
            THEN printf('use of %d of %d bytes of readahead is not known: mapped files', f.residual, f.whole)
            WHEN f.rest = 'hit'
            THEN printf('%d more bytes may have come from devices for it', f.residual)
            WHEN f.rest = 'ledger' THEN printf('the ledger leaves %d of %d bytes of D unexplained', f.residual, f.whole)
            ELSE printf('%s of %s%s have no owner',
                        iif(f.sym IN (SELECT sym FROM volume WHERE measure <> 0) OR f.sym = 'syncs',
                            CAST(f.residual AS TEXT), size(f.residual)), f.name,
                        iif(f.class = 'app', '', ' on its devices')) END AS short_why,
       CASE WHEN f.value IS NOT NULL THEN NULL
            WHEN f.sym IN ('L', 'L_r') THEN f.sym || ' is not given (--ledger, --logical-bytes)'
            WHEN f.sym = 'L x R' THEN 'the ledger says neither replicas nor k and m'
            WHEN f.class = 'ledger'
            THEN COALESCE((SELECT 'D ' || text FROM v_no_ledger),
                          'D needs the dirty ledger, and the store has none for this run')
            ELSE COALESCE((SELECT group_concat(m.text, ', ') FROM missing m
                           WHERE m.class = f.class OR f.sym = 'B_r_for_write' AND m.class = 'app'),
                          'layer uring not recorded, and io_uring was used') END AS why
FROM judged f;
CREATE INDEX temp.v_symbol_gid ON v_symbol(gid, sym);
INSERT OR IGNORE INTO temp.v_head_more SELECT * FROM v_nobody_head;
INSERT OR IGNORE INTO temp.v_head_more SELECT * FROM v_last_head;

-- Bytes that calls moved on files behind FUSE for a line that has the daemon, too: what that moved for them is in S
-- once more. Where the kernel does not say who the daemon is, it is one of `all`, if everybody was traced.
CREATE TEMP TABLE v_twice AS
SELECT t.line AS gid, p.sym, SUM(p.amount) AS bytes
FROM v_run r CROSS JOIN v_device d CROSS JOIN v_piece p ON p.dev = d.dev -- without FUSE no piece is looked at
JOIN v_sums_to t ON t.gid = p.gid
LEFT JOIN v_owner o ON o.owner = d.server LEFT JOIN v_sums_to u ON u.gid = o.gid AND u.line = t.line
WHERE d.fs LIKE 'fuse%' AND p.sym IN ('S', 'S_r') AND p.amount > 0 AND p.stand IS NOT d.server
  AND (u.line IS NOT NULL
       OR d.server IS NULL AND t.line = 'all:' AND r.command IS NULL AND COALESCE(r.filters, '') = '')
GROUP BY t.line, p.sym;

-- The ratios of each line: those whose needs it meets by what it has done. about: a note on the ratio, whatever its
-- value. about_fs: bytes that a file system makes of file data in addition to writing it.
CREATE TEMP TABLE v_ratio AS
WITH other AS MATERIALIZED (
       SELECT t.line AS gid, sum_if(bytes, kind = 'fs_packed' AND sub = 'none') AS plain,
              sum_if(bytes, kind = 'fs_write' AND sub = 'compressed') AS packed,
              sum_if(bytes, kind = 'fs_packed' AND sub = 'inline') AS inline,
              sum_if(bytes, kind = 'fs_write' AND sub IN ('copy', 'compressed_copy')) AS copies
       FROM v_cell c JOIN v_sums_to t ON t.gid = c.gid
       WHERE kind = 'fs_packed' OR sub IN ('compressed', 'copy', 'compressed_copy') GROUP BY t.line),
     about_fs AS MATERIALIZED (
       SELECT gid, substr(iif(plain, printf('; the file system compresses: %d bytes became %d', plain, packed), '') ||
                          iif(inline, printf('; %d bytes of W are inline in trees', inline), '') ||
                          iif(copies, printf('; %d bytes of F are other copies of W', copies), ''), 3) AS text
       FROM other),
     -- --dev takes requests of one disk, and calls on files on it; an older tracer took calls on all files. For files
     -- on other disks, or on several, not all requests are there. Where these are more than a hundredth, ratios of
     -- calls and requests say nothing.
     beside AS MATERIALIZED (
       SELECT t.line AS gid, c.dir, SUM(n) FILTER (WHERE o.dev IS NULL OR o.apart) AS n,
              MAX(COALESCE(o.apart, 0)) AS apart
       FROM (SELECT gid, dev, dir, iif(dir = 's', ops, bytes) AS n FROM v_cell
             WHERE app AND on_file AND EXISTS (SELECT 1 FROM v_only_disk)
             -- a sync of everything is one of this disk, too
             UNION ALL SELECT gid, dev, 's', ops FROM v_cell
             WHERE app AND dir = 's' AND NOT on_file AND dev > 0 AND EXISTS (SELECT 1 FROM v_only_disk)) c
       JOIN v_sums_to t ON t.gid = c.gid LEFT JOIN v_only_disk o ON o.dev = c.dev
       WHERE c.dir IN ('r', 'w', 's')
       GROUP BY t.line, c.dir
       HAVING SUM(n) FILTER (WHERE o.dev IS NULL OR o.apart) > 0.01 * SUM(n)),
     line AS MATERIALIZED (
       SELECT v.gid, v.what, v.who, v.pid, v.rank, v.B + v.B_r AS weight,
              COALESCE(v.S > 0, 0) OR COALESCE(v.B > 0, 0) AS w, COALESCE(v.S_r > 0, 0) OR COALESCE(v.B_r > 0, 0) AS r,
              v.P <> v.B AS stack,
              v.syncs > 0 OR v.flushes > 0 OR v.commits > 0 AS s, v.L IS NOT NULL AS L, a.has_ledger,
              v.L_r IS NOT NULL AND (v.L_r > 0 OR COALESCE(v.L, 0) = 0) AS L_r,
              (v.D IS NULL OR m.ledger IS NULL) AND COALESCE(v.S, 0) > 0 AS no_D,
              NULLIF(iif(v.what = 'all' AND a.owner_system IS NOT NULL,
                         a.owner_system || iif(a.note = '', '', ', '), '') || a.note, '') AS about_load,
              iif(v.sync_writes > 0,
                  printf('syncs: %d calls, %d synchronous writes', v.fsyncs, v.sync_writes), NULL) AS about_syncs
       FROM v_volume v JOIN v_load a JOIN v_measured m WHERE v.shown AND v.rank <= 4),
     -- stores through mappings, where they are more than a hundredth of the bytes dirtied, or of all written
     stored AS MATERIALIZED (
       SELECT gid, printf('%s were stored through mappings, which S does not hold', size(mapped)) AS text FROM v_volume
       WHERE mapped > 0.01 * COALESCE(D, max(COALESCE(T, 0) + mapped, COALESCE(W, 0)))),
     twice AS MATERIALIZED (
       SELECT t.gid, t.sym,
              printf('%s of %s are calls of FUSE, whose daemon moved them once more', size(t.bytes), t.sym) AS text
       FROM v_twice t JOIN v_value v ON v.gid = t.gid AND v.sym = t.sym WHERE t.bytes > 0.01 * v.value),
     pair AS (
       SELECT v.gid, v.what, v.who, v.pid, v.rank, v.weight, d.*, n.value AS numerator, m.value AS denominator,
              n.residual AS numerator_residual, m.residual AS denominator_residual,
              iif(d.complement, m.short OR n.long, n.short OR t.text IS NOT NULL OR m.long) AS up,
              iif(d.complement, n.short OR t.text IS NOT NULL OR m.long, m.short OR n.long) AS down,
              COALESCE(n.why, m.why, iif(x.apart AND c.class <> e.class AND 'block' IN (c.class, e.class),
                           printf('%d %s are on what lies on other disks than that of --dev, too',
                                  x.n, iif(x.dir = 's', 'syncs', 'bytes of calls')), NULL),
                       iif(x.n > 0 AND (c.class IN ('fs', 'commit', 'block')) <>
                                             (e.class IN ('fs', 'commit', 'block')),
                           printf('--dev leaves out requests, not calls: %d %s are on other disks or volumes',
                                  x.n, iif(x.dir = 's', 'syncs', 'bytes of calls')), NULL),
                       iif(m.value = 0, m.name || ' is 0', NULL), iif(d.over_S, o.text, NULL),
                       iif(d.complement AND n.value > m.value,
                           'more was read into the cache for calls than they returned: parts of pages', NULL),
                       iif((m.short OR n.long) AND (n.short OR t.text IS NOT NULL OR m.long),
                           COALESCE(n.short_why, t.text, m.long_why) || ', and '
                               || COALESCE(m.short_why, n.long_why), NULL),
                       -- at least nothing is no bound
                       iif(n.short AND n.value = 0 AND NOT d.complement, n.short_why, NULL)) AS absent,
              COALESCE(n.short_why, m.short_why, t.text, n.long_why, m.long_why) AS short,
              CASE WHEN d.needs = 's' THEN v.about_syncs WHEN d.needs IN ('L', 'L_r', 'R') THEN v.about_load
                   WHEN d.ratio = 'hop_fs' THEN NULLIF(a.text, '') END AS about
       FROM line v CROSS JOIN v_ratio_def d LEFT JOIN about_fs a ON a.gid = v.gid LEFT JOIN stored o ON o.gid = v.gid
       LEFT JOIN twice t ON t.gid = v.gid
           AND d.den = iif(t.sym = 'S_r' AND d.complement, 'S_r_cached', t.sym)
           AND d.num IN ('B', 'B_r_call', 'from_disk', 'B_r_for_write')
       JOIN v_ratio_sym c ON c.sym = d.num JOIN v_ratio_sym e ON e.sym = d.den
       LEFT JOIN beside x ON x.gid = v.gid
           AND x.dir = CASE d.needs WHEN 'r' THEN 'r' WHEN 'L_r' THEN 'r' WHEN 's' THEN 's' ELSE 'w' END
       CROSS JOIN v_symbol n ON n.gid = v.gid AND n.sym = d.num CROSS JOIN v_symbol m ON m.gid = v.gid AND m.sym = d.den
       WHERE CASE d.needs WHEN 'w' THEN v.w WHEN 'r' THEN v.r WHEN 's' THEN v.s WHEN 'L' THEN v.L WHEN 'L_r' THEN v.L_r
                          WHEN 'stack' THEN v.stack WHEN 'R' THEN v.L AND v.has_ledger ELSE v.no_D END)
SELECT gid, what, who, pid, rank, weight, ord, ratio, formula, num, numerator, den, denominator,
       CASE WHEN absent IS NOT NULL THEN 'n/a' WHEN up THEN '>=' WHEN down THEN '<=' ELSE 'exact' END AS bound,
       iif(absent IS NULL, iif(complement, denominator - numerator, numerator) * 1.0 / denominator, NULL) AS value,
       COALESCE(absent, short || COALESCE('; ' || about, ''), about, '') AS note, numerator_residual,
       denominator_residual
FROM pair;

-- Ratios that a picture shows: not those of few bytes, in which one block is much. The limit is 1 MiB, and in a small
-- run 1 % of the most that any line moved by calls.
CREATE TEMP VIEW v_ratio_drawn AS
WITH r AS MATERIALIZED (
       SELECT gid, ratio, numerator, denominator FROM v_ratio
       WHERE ratio IN ('waf_sys', 'raf_dev') AND rank < 4 AND value IS NOT NULL),
     most AS (SELECT min(1048576, 0.01 * MAX(denominator)) AS "limit" FROM r)
SELECT r.ratio, r.gid, r.denominator, m."limit", max(r.denominator, r.numerator) >= m."limit" AS drawn
FROM r JOIN most m;
