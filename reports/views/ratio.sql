-- SPDX-License-Identifier: GPL-3.0-only
-- ratio.sql: Ratios, with what makes them bounds.

-- What of a volume has no known owner: the share that has none on each device, weighted with the line's own bytes
-- there, so that work of others on a device that the line hardly used does not spoil its ratios.
CREATE TEMP TABLE v_residual AS
WITH part AS MATERIALIZED (
       SELECT a.gid, a.dev, a.sym, a.amount, g.what, g.rank
       FROM v_amount a JOIN v_group g ON g.gid = a.gid
       WHERE a.sym IN (SELECT sym FROM v_sym WHERE rest = 'device')),
     device AS MATERIALIZED (
       SELECT dev, sym, SUM(CASE what WHEN 'unattributed' THEN amount ELSE 0 END) AS residual, SUM(amount) AS whole
                  FROM part GROUP BY dev, sym),
     own AS (
       SELECT gid, dev, sym, amount FROM part WHERE amount > 0
       UNION ALL
       SELECT 'all:', dev, sym, SUM(amount) FROM part WHERE amount > 0 AND rank < 4 GROUP BY dev, sym)
SELECT o.gid, o.sym, CAST(round(SUM(o.amount * (d.residual * 1.0 / d.whole))) AS INTEGER) AS residual,
       SUM(o.amount) AS whole
FROM own o JOIN device d ON d.dev IS o.dev AND d.sym = o.sym
GROUP BY o.gid, o.sym;
CREATE INDEX temp.v_residual_gid ON v_residual(gid, sym);

-- What lost records spoil, by the class of volumes: a layer that lost, and what that did (table lost).
CREATE TEMP VIEW v_bad AS
WITH spoils(layer, class) AS (VALUES
       ('syscall', 'app'), ('uring', 'app'), ('all', 'app'), ('cache', 'miss'), ('all', 'miss'), ('cache', 'fs'),
       ('fs', 'fs'), ('all', 'fs'),
       ('fs', 'commit'), ('all', 'commit'), ('cache', 'block'), ('fs', 'block'), ('block', 'block'), ('all', 'block'))
SELECT DISTINCT s.class FROM v_lost l JOIN spoils s ON s.layer = l.layer WHERE l.effect IN ('bytes', 'owner')
UNION
SELECT 'ledger' FROM v_lost WHERE effect IN ('bytes', 'owner', 'events')
           AND layer IN ('syscall', 'uring', 'cache', 'fs', 'all')
UNION
SELECT 'use' FROM v_lost WHERE what = 'use of readahead not followed';

-- Every ratio of METRICS section 2 that one node's run can give. complement: 1 - numerator / denominator.
-- needs: r and w rows appear where a line has reads or writes at all; an L row where L is given.
CREATE TEMP TABLE v_ratio_def AS
WITH def(ord, ratio, num, den, formula, needs, complement) AS (VALUES
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
       (18, 'seed_op_amp_w', 'backend_ops_w', 'ops_S_w', '(VFS ops + block ops)/syscall ops', 'w', 0))
SELECT * FROM def;

-- The symbols of ratios as rows. Derived ones have no row in stream/volumes.def: given, sums and differences of others.
CREATE TEMP TABLE v_ratio_sym AS
SELECT sym, name, class, rest, needs FROM v_sym
UNION ALL
VALUES ('L', 'L', 'given', NULL, NULL), ('L_r', 'L_r', 'given', NULL, NULL), ('L x R', 'L x R', 'given', NULL, NULL),
('syncs', 'syncs', 'app', NULL, NULL),
       ('backend_ops_w', 'VFS + block ops (w)', 'block', NULL, NULL),
       ('backend_ops_r', 'VFS + block ops (r)', 'block', NULL, NULL),
       ('ra_unused', 'readahead unused', 'miss', 'use', NULL);

CREATE TEMP VIEW v_value_sql AS
SELECT 'CREATE TEMP VIEW v_value AS ' || group_concat(printf('SELECT gid, %Q AS sym, "%w" AS value FROM v_volume',
           sym, sym), ' UNION ALL ')
FROM v_ratio_sym
WHERE sym IN (SELECT num FROM v_ratio_def UNION SELECT den FROM v_ratio_def);

-- One row a line and symbol: value, why it is absent, residual (bytes of it that nobody is known to own, see
-- v_residual; for D what the ledger cannot explain), and short: 1 when the value may be too small, by the rule of
-- METRICS section 3.
CREATE TEMP TABLE v_symbol AS
WITH value AS MATERIALIZED (SELECT v.*, l.what FROM v_value v JOIN v_line l ON l.gid = v.gid),
     none AS MATERIALIZED (SELECT sym, value FROM value WHERE what = 'unattributed'),
     total AS MATERIALIZED (SELECT sym, value FROM value WHERE what = 'total'),
     nobody AS (SELECT readahead, ra_used + ra_unknown AS used FROM v_volume WHERE what = 'unattributed'),
     flat AS (
       SELECT v.gid, v.sym, s.name, s.rest, v.value, CASE v.sym WHEN 'readahead' THEN 'use' ELSE s.class END AS class,
              COALESCE(CASE WHEN v.sym = 'readahead' THEN (SELECT used FROM nobody)
                            WHEN s.rest = 'line' THEN n.value WHEN s.rest = 'device' THEN x.residual
                                WHEN s.rest = 'ledger' THEN w.slack
                            WHEN s.rest = 'use' THEN w.ra_unknown END, 0) AS residual,
              CASE WHEN v.sym = 'readahead' THEN v.value WHEN s.rest = 'line' THEN t.value WHEN s.rest = 'device'
                  THEN x.whole
                   WHEN s.rest = 'ledger' THEN v.value WHEN s.rest = 'use' THEN w.readahead END AS whole
       FROM value v JOIN v_ratio_sym s ON s.sym = v.sym JOIN v_volume w ON w.gid = v.gid
       LEFT JOIN none n ON s.rest = 'line' AND n.sym = v.sym
       LEFT JOIN total t ON s.rest = 'line' AND t.sym = v.sym
       LEFT JOIN v_residual x ON s.rest = 'device' AND x.gid = v.gid AND x.sym = v.sym)
SELECT f.gid, f.sym, f.name, f.value, f.residual, f.whole, COALESCE(b.class IS NOT NULL
           OR f.residual > 0.01 * f.whole, 0) AS short,
       CASE WHEN b.class = 'use' THEN 'some use of readahead was not followed'
            WHEN b.class IS NOT NULL THEN f.name || ' lost records'
            WHEN NOT f.residual > 0.01 * f.whole OR f.whole IS NULL THEN NULL
            WHEN f.rest = 'use' THEN printf('use of %d of %d bytes of readahead is not known: mapped files',
                f.residual, f.whole)
            WHEN f.rest = 'ledger' THEN printf('the ledger leaves %d of %d bytes of D unexplained', f.residual, f.whole)
            ELSE printf('%.1f %% of %s%s has no owner', f.residual * 100.0 / f.whole, f.name, CASE f.class WHEN 'app'
                THEN '' ELSE ' on its devices' END)
            END AS short_why,
       CASE WHEN f.value IS NOT NULL THEN NULL
            WHEN f.sym IN ('L', 'L_r') THEN f.sym || ' is not given (--ledger, --logical-bytes)'
            WHEN f.sym = 'L x R' THEN 'the ledger says neither replicas nor k and m'
            WHEN f.class = 'ledger' AND r.events = 0 THEN 'D needs events, and the run recorded none'
            WHEN f.class = 'ledger' AND EXISTS (SELECT 1 FROM v_lost WHERE effect = 'events')
                THEN 'D needs all events, and some were lost'
            WHEN f.class = 'ledger' THEN 'D needs the dirty ledger, and the store has none for this run'
            ELSE COALESCE((SELECT group_concat('layer ' || l.layer
                || CASE WHEN l.layer IN (SELECT layer FROM v_left_out) THEN ' not recorded'
                ELSE ' was not measured' END, ', ')
                  FROM (SELECT 'syscall' AS layer, syscall AS there FROM v_measured
                      WHERE f.class IN ('app', 'miss', 'use') OR f.sym = 'B_r_for_write'
                        UNION ALL SELECT 'cache', cache FROM v_measured WHERE f.class IN ('miss', 'use')
                        UNION ALL SELECT 'fs', fs FROM v_measured WHERE f.class IN ('fs', 'commit')
                        UNION ALL SELECT 'block', block FROM v_measured WHERE f.class = 'block') l
                  WHERE l.there IS NULL), 'layer uring not recorded, and io_uring was used') END AS why
FROM v_run r JOIN flat f LEFT JOIN v_bad b ON b.class = f.class;
CREATE INDEX temp.v_symbol_gid ON v_symbol(gid, sym);

CREATE TEMP TABLE v_ratio AS
WITH v AS MATERIALIZED (SELECT gid, what, who, pid, rank, L, L_r, S, D, B, S_r, B_r, flushes, fsyncs, sync_writes,
    syncs, commits FROM v_volume
                        WHERE shown AND rank <= 4),
     pair AS (
       SELECT v.gid, v.what, v.who, v.pid, v.rank, v.B + v.B_r AS weight, d.ord, d.ratio, d.formula, d.num, d.den,
              d.complement,
              n.value AS numerator, m.value AS denominator,
              n.residual AS numerator_residual, m.residual AS denominator_residual,
              CASE d.complement WHEN 0 THEN n.short ELSE m.short END AS up,
              CASE d.complement WHEN 0 THEN m.short ELSE n.short END AS down,
              COALESCE(n.why, m.why, CASE WHEN m.value = 0 THEN m.name || ' is 0' END,
                       CASE WHEN d.complement AND n.value > m.value THEN 'more was missed than calls returned' END,
                       CASE WHEN n.short AND m.short THEN n.short_why || ', and ' || m.short_why END) AS absent,
              COALESCE(n.short_why, m.short_why) AS short,
              CASE WHEN d.needs IN ('L', 'L_r', 'R') AND v.what = 'all' AND a.owner_system IS NOT NULL
                     THEN a.owner_system || CASE a.note WHEN '' THEN '' ELSE ', ' END || a.note
                   WHEN d.needs IN ('L', 'L_r', 'R') THEN NULLIF(a.note, '')
                   WHEN d.needs = 's' AND v.sync_writes > 0
                     THEN printf('syncs: %d calls, %d synchronous writes', v.fsyncs, v.sync_writes) END AS about
       FROM v CROSS JOIN v_load a CROSS JOIN v_ratio_def d
       CROSS JOIN v_symbol n ON n.gid = v.gid AND n.sym = d.num
       CROSS JOIN v_symbol m ON m.gid = v.gid AND m.sym = d.den
       WHERE (d.needs = 'w' AND (COALESCE(v.S, 0) > 0 OR COALESCE(v.B, 0) > 0))
          OR (d.needs = 'r' AND (COALESCE(v.S_r, 0) > 0 OR COALESCE(v.B_r, 0) > 0))
          OR (d.needs = 's' AND (v.syncs > 0 OR v.flushes > 0 OR v.commits > 0))
          OR (d.needs = 'L' AND v.L IS NOT NULL)
          OR (d.needs = 'R' AND v.L IS NOT NULL AND a.has_ledger)
          OR (d.needs = 'L_r' AND v.L_r IS NOT NULL AND (v.L_r > 0 OR COALESCE(v.L, 0) = 0))
          OR (d.needs = 'no D' AND (v.D IS NULL OR (SELECT ledger IS NULL FROM v_measured)) AND COALESCE(v.S, 0) > 0))
SELECT gid, what, who, pid, rank, weight, ord, ratio, formula, num, numerator, den, denominator,
       CASE WHEN absent IS NOT NULL THEN 'n/a' WHEN up THEN '>=' WHEN down THEN '<=' ELSE 'exact' END AS bound,
       CASE WHEN absent IS NOT NULL THEN NULL
            WHEN complement THEN (denominator - numerator) * 1.0 / denominator
            ELSE numerator * 1.0 / denominator END AS value,
       COALESCE(absent, short || COALESCE('; ' || about, ''), about, '') AS note, numerator_residual,
       denominator_residual
FROM pair;
