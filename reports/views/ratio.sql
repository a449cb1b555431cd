-- SPDX-License-Identifier: GPL-3.0-only
-- ratio.sql: Ratios, with what makes them bounds.

-- What of a volume has no known owner: the share that has none on each device, weighted with the line's own bytes
-- there, so that work of others on a device that the line hardly used does not spoil its ratios.
CREATE TEMP TABLE v_residual AS
WITH part AS MATERIALIZED (
       SELECT a.gid, a.dev, a.sym, a.amount, g.what FROM v_amount a JOIN v_group g ON g.gid = a.gid
       WHERE a.sym IN (SELECT sym FROM v_sym WHERE rest = 'device')),
     device AS MATERIALIZED (
       SELECT dev, sym, sum_if(amount, what = 'unattributed') AS residual, SUM(amount) AS whole
       FROM part GROUP BY dev, sym),
     own AS (
       SELECT t.line AS gid, p.dev, p.sym, SUM(p.amount) AS amount
       FROM part p JOIN v_sums_to t ON t.gid = p.gid
       WHERE p.amount > 0 GROUP BY t.line, p.dev, p.sym)
SELECT o.gid, o.sym, CAST(round(SUM(o.amount * (d.residual * 1.0 / d.whole))) AS INTEGER) AS residual,
       SUM(o.amount) AS whole
FROM own o JOIN device d ON d.dev IS o.dev AND d.sym = o.sym GROUP BY o.gid, o.sym;
CREATE INDEX temp.v_residual_gid ON v_residual(gid, sym);

-- The same of what devices wrote for all lines of the report, for words: in none where it is less than a hundredth.
-- Devices that wrote for nobody who is known have no shares: all that they wrote.
CREATE TEMP TABLE v_nobody AS
WITH line AS (SELECT gid FROM v_group WHERE shown AND rank <= 3),
     used AS (SELECT SUM(residual) AS residual, SUM(whole) AS whole FROM v_residual
              WHERE sym = 'B' AND gid IN (SELECT gid FROM line)),
     any AS (SELECT MAX(B) FILTER (WHERE what = 'unattributed') AS residual,
                    MAX(B) FILTER (WHERE what = 'total') AS whole FROM v_volume)
SELECT COALESCE(u.residual, a.residual) AS residual, COALESCE(u.whole, a.whole) AS whole,
       CASE WHEN u.whole IS NULL
            THEN printf('%s of the %s that devices wrote (%.1f %%)', size(a.residual), size(a.whole),
                        a.residual * 100.0 / a.whole)
            ELSE printf('%s for the %s that devices wrote for them (%.1f %%), by the shares of the devices ' ||
                        'that were used', size(u.residual), size(u.whole), u.residual * 100.0 / u.whole) END AS text
FROM used u JOIN any a
WHERE COALESCE(u.residual, a.residual) > 0.01 * COALESCE(u.whole, a.whole);

-- Every ratio of METRICS section 2 that one node's run can give. complement: 1 - numerator / denominator.
-- needs: r and w rows appear where a line has reads or writes at all; an L row where L is given.
CREATE TEMP TABLE v_ratio_def(ord, ratio, num, den, formula, needs, complement);
INSERT INTO temp.v_ratio_def VALUES
       (1, 'waf_sys', 'B', 'S', 'B/S', 'w', 0),
       (2, 'waf_e2e', 'B_load', 'L', 'B/L', 'L', 0),
       (2.1, 'waf_norm', 'B_load', 'L x R', 'B/(L x R)', 'R', 0),
       (3, 'hop_app', 'S_load', 'L', 'S/L', 'L', 0),
       (3.1, 'raf_e2e', 'B_r_load', 'L_r', 'B_r/L_r', 'L_r', 0),
       (4, 'hop_page', 'T', 'S', 'T/S', 'w', 0),
       (5, 'hop_coalesce', 'D', 'T', 'D/T', 'w', 0),
       (6, 'hop_flush', 'W', 'D', 'W/D', 'w', 0),
       (7, 'hop_coalesce x hop_flush', 'W', 'T', 'W/T', 'no D', 0),
       (8, 'hop_fs', 'F', 'W', 'F/W', 'w', 0),
       (9, 'hop_blk', 'B', 'F', 'B/F', 'w', 0),
       (10, 'raf_dev', 'B_r_call', 'S_r', 'B_r/S_r, without faults', 'r', 0),
       (11, 'raf_miss', 'B_r_cached', 'missed_all', 'B_r/missed, without direct I/O', 'r', 0),
       (12, 'hit_ratio', 'missed', 'S_r_cached', '1 - missed by calls/S_r, without direct I/O', 'r', 1),
       (13, 'ra_waste', 'ra_unused', 'readahead', 'unused/readahead', 'r', 0),
       (14, 'wra', 'B_r_for_write', 'S', 'B_r for writes/S', 'w', 0),
       (15, 'flush_amp', 'flushes', 'syncs', 'flushes/syncs', 's', 0),
       (16, 'commits_per_fsync', 'commits', 'syncs', 'commits/syncs', 's', 0),
       (17, 'seed_op_amp_r', 'backend_ops_r', 'ops_S_r', '(VFS ops + block ops)/syscall ops', 'r', 0),
       (18, 'seed_op_amp_w', 'backend_ops_w', 'ops_S_w', '(VFS ops + block ops)/syscall ops', 'w', 0);

-- The symbols of ratios as rows. Derived ones have no row in stream/volumes.def: given, sums and differences of others.
CREATE TEMP TABLE v_ratio_sym AS
SELECT sym, name, class, rest FROM v_sym
UNION ALL VALUES ('L', 'L', 'given', NULL), ('L_r', 'L_r', 'given', NULL), ('L x R', 'L x R', 'given', NULL),
       ('syncs', 'syncs', 'app', NULL), ('ra_unused', 'readahead unused', 'miss', 'use'),
       ('backend_ops_w', 'VFS + block ops (w)', 'block', NULL), ('backend_ops_r', 'VFS + block ops (r)', 'block', NULL);

-- v_value: each line's volumes as rows.
CREATE TEMP VIEW v_value_sql AS
SELECT 'CREATE TEMP VIEW v_value AS ' ||
       group_concat(printf('SELECT gid, what, %Q AS sym, "%w" AS value FROM v_volume', sym, sym), ' UNION ALL ')
FROM v_ratio_sym;

-- One row a line and symbol: value, why it is absent, residual (bytes of it that nobody is known to own, see
-- v_residual; for D what the ledger cannot explain), whole, of which that is a part, and short: 1 when the value may be
-- too small, by the rule of METRICS section 3, short_why. What was read ahead is short by what of it nobody used.
CREATE TEMP TABLE v_symbol AS
WITH value AS MATERIALIZED (
       SELECT * FROM v_value WHERE sym IN (SELECT num FROM v_ratio_def UNION SELECT den FROM v_ratio_def)),
     sums AS MATERIALIZED (
       SELECT sym, MAX(value) FILTER (WHERE what = 'unattributed') AS nobody,
              MAX(value) FILTER (WHERE what = 'total') AS total
       FROM value GROUP BY sym),
     nobody AS (SELECT ra_used + ra_unknown AS used FROM v_volume WHERE what = 'unattributed'),
     need(class, layer) AS (VALUES ('app', 'syscall'), ('miss', 'syscall'), ('use', 'syscall'), ('miss', 'cache'),
       ('use', 'cache'), ('fs', 'fs'), ('commit', 'fs'), ('block', 'block')),
     missing AS MATERIALIZED (
       SELECT n.class, printf('layer %s%s', n.layer, iif(n.layer IN (SELECT layer FROM v_left_out), ' not recorded',
                                                         ' was not measured' || COALESCE(' (' || u.reason || ')', '')))
                  AS text
       FROM need n JOIN v_run r LEFT JOIN v_unmeasured u ON u.layer = n.layer WHERE NOT listed(n.layer, r.layers)
       UNION ALL SELECT 'block', reason FROM v_unmeasured WHERE layer = 'owners'),
     flat AS (
       SELECT v.gid, v.sym, s.name, s.rest, v.value, iif(v.sym = 'readahead', 'use', s.class) AS class,
              COALESCE(CASE WHEN v.sym = 'readahead' THEN (SELECT used FROM nobody) WHEN s.rest = 'line' THEN n.nobody
                            WHEN s.rest = 'device' THEN x.residual WHEN s.rest = 'ledger' THEN w.slack
                            WHEN s.rest = 'use' THEN w.ra_unknown END, 0) AS residual,
              CASE WHEN v.sym = 'readahead' OR s.rest = 'ledger' THEN v.value WHEN s.rest = 'line' THEN n.total
                   WHEN s.rest = 'device' THEN x.whole WHEN s.rest = 'use' THEN w.readahead END AS whole
       FROM value v JOIN v_ratio_sym s ON s.sym = v.sym JOIN v_volume w ON w.gid = v.gid JOIN sums n ON n.sym = v.sym
       LEFT JOIN v_residual x ON s.rest = 'device' AND x.gid = v.gid AND x.sym = v.sym),
     judged AS (
       SELECT f.*, b.class IS NOT NULL AS spoilt, COALESCE(f.residual > 0.01 * f.whole, 0) AS rests
       FROM flat f LEFT JOIN (SELECT DISTINCT class FROM v_spoilt) b ON b.class = f.class)
SELECT f.gid, f.sym, f.name, f.value, iif(f.value IS NULL, NULL, f.residual) AS residual, f.whole,
       f.spoilt OR f.rests AS short,
       CASE WHEN f.spoilt THEN iif(f.class = 'use', 'some use of readahead was not followed', f.name || ' lost records')
            WHEN NOT f.rests THEN NULL
            WHEN f.rest = 'use'
            THEN printf('use of %d of %d bytes of readahead is not known: mapped files', f.residual, f.whole)
            WHEN f.rest = 'ledger' THEN printf('the ledger leaves %d of %d bytes of D unexplained', f.residual, f.whole)
            ELSE printf('%.1f %% of %s%s has no owner', f.residual * 100.0 / f.whole, f.name,
                        iif(f.class = 'app', '', ' on its devices')) END AS short_why,
       CASE WHEN f.value IS NOT NULL THEN NULL
            WHEN f.sym IN ('L', 'L_r') THEN f.sym || ' is not given (--ledger, --logical-bytes)'
            WHEN f.sym = 'L x R' THEN 'the ledger says neither replicas nor k and m'
            WHEN f.class = 'ledger'
            THEN COALESCE((SELECT 'D ' || text FROM v_no_ledger),
                          'D needs the dirty ledger, and the store has none for this run')
            ELSE COALESCE((SELECT group_concat(m.text, ', ') FROM missing m
                           WHERE m.class = f.class OR f.sym = 'B_r_for_write' AND m.class = 'app'),
                          (SELECT 'runs of format 3 do not tell' FROM v_measured WHERE since4 IS NULL),
                          'layer uring not recorded, and io_uring was used') END AS why
FROM judged f;
CREATE INDEX temp.v_symbol_gid ON v_symbol(gid, sym);

-- Which of them a line has: needs, by what the line has done. about: what is said of them whatever they are.
-- about_fs: what a file system makes of file data beside writing it.
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
     line AS MATERIALIZED (
       SELECT v.gid, v.what, v.who, v.pid, v.rank, v.B + v.B_r AS weight,
              COALESCE(v.S > 0, 0) OR COALESCE(v.B > 0, 0) AS w, COALESCE(v.S_r > 0, 0) OR COALESCE(v.B_r > 0, 0) AS r,
              v.syncs > 0 OR v.flushes > 0 OR v.commits > 0 AS s, v.L IS NOT NULL AS L, a.has_ledger,
              v.L_r IS NOT NULL AND (v.L_r > 0 OR COALESCE(v.L, 0) = 0) AS L_r,
              (v.D IS NULL OR m.ledger IS NULL) AND COALESCE(v.S, 0) > 0 AS no_D,
              NULLIF(iif(v.what = 'all' AND a.owner_system IS NOT NULL,
                         a.owner_system || iif(a.note = '', '', ', '), '') || a.note, '') AS about_load,
              iif(v.sync_writes > 0,
                  printf('syncs: %d calls, %d synchronous writes', v.fsyncs, v.sync_writes), NULL) AS about_syncs
       FROM v_volume v JOIN v_load a JOIN v_measured m WHERE v.shown AND v.rank <= 4),
     pair AS (
       SELECT v.gid, v.what, v.who, v.pid, v.rank, v.weight, d.*, n.value AS numerator, m.value AS denominator,
              n.residual AS numerator_residual, m.residual AS denominator_residual,
              iif(d.complement, m.short, n.short) AS up, iif(d.complement, n.short, m.short) AS down,
              COALESCE(n.why, m.why, iif(m.value = 0, m.name || ' is 0', NULL),
                       iif(d.complement AND n.value > m.value, 'more was missed than calls returned', NULL),
                       iif(n.short AND m.short, n.short_why || ', and ' || m.short_why, NULL)) AS absent,
              COALESCE(n.short_why, m.short_why) AS short,
              CASE WHEN d.needs = 's' THEN v.about_syncs WHEN d.needs IN ('L', 'L_r', 'R') THEN v.about_load
                   WHEN d.ratio = 'hop_fs' THEN NULLIF(a.text, '') END AS about
       FROM line v CROSS JOIN v_ratio_def d LEFT JOIN about_fs a ON a.gid = v.gid
       CROSS JOIN v_symbol n ON n.gid = v.gid AND n.sym = d.num CROSS JOIN v_symbol m ON m.gid = v.gid AND m.sym = d.den
       WHERE CASE d.needs WHEN 'w' THEN v.w WHEN 'r' THEN v.r WHEN 's' THEN v.s WHEN 'L' THEN v.L WHEN 'L_r' THEN v.L_r
                          WHEN 'R' THEN v.L AND v.has_ledger ELSE v.no_D END)
SELECT gid, what, who, pid, rank, weight, ord, ratio, formula, num, numerator, den, denominator,
       CASE WHEN absent IS NOT NULL THEN 'n/a' WHEN up THEN '>=' WHEN down THEN '<=' ELSE 'exact' END AS bound,
       iif(absent IS NULL, iif(complement, denominator - numerator, numerator) * 1.0 / denominator, NULL) AS value,
       COALESCE(absent, short || COALESCE('; ' || about, ''), about, '') AS note, numerator_residual,
       denominator_residual
FROM pair;
