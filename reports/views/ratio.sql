-- SPDX-License-Identifier: GPL-3.0-only
-- ratio.sql: Ratios, with what makes them bounds.

-- What of a volume has no known owner: the share that has none on each device, weighted with the line's own bytes there, so
-- that work of others on a device that the line hardly used does not spoil its ratios.
CREATE TEMP TABLE v_residual AS
WITH place AS MATERIALIZED (
       SELECT gid, dev,
              SUM(CASE WHEN fs_write AND file_data THEN bytes ELSE 0 END) AS W,
              SUM(CASE WHEN fs_write AND NOT loopback THEN bytes ELSE 0 END) AS F,
              SUM(CASE WHEN block_write AND on_leaf THEN bytes ELSE 0 END) AS B,
              SUM(CASE WHEN miss AND for_call THEN bytes ELSE 0 END) AS missed,
              SUM(CASE WHEN miss THEN bytes ELSE 0 END) AS missed_all,
              SUM(CASE WHEN block_read AND on_leaf AND NOT for_fault THEN bytes ELSE 0 END) AS B_r_call,
              SUM(CASE WHEN block_read AND on_leaf AND cause <> 'direct' THEN bytes ELSE 0 END) AS B_r_cached,
              SUM(CASE WHEN block_read AND on_leaf AND for_write THEN bytes ELSE 0 END) AS B_r_for_write,
              SUM(CASE WHEN block_write AND on_leaf AND of_load THEN bytes ELSE 0 END) AS B_load,
              SUM(CASE WHEN block_read AND on_leaf AND of_load THEN bytes ELSE 0 END) AS B_r_load
       FROM v_cell
       WHERE fs_write OR block_write OR block_read OR miss
       GROUP BY gid, dev),
     part AS MATERIALIZED (
       SELECT gid, dev, 'W' AS sym, W AS bytes FROM place
       UNION ALL SELECT gid, dev, 'F', F FROM place
       UNION ALL SELECT gid, dev, 'B', B FROM place
       UNION ALL SELECT gid, dev, 'missed', missed FROM place
       UNION ALL SELECT gid, dev, 'missed_all', missed_all FROM place
       UNION ALL SELECT gid, dev, 'B_r_call', B_r_call FROM place
       UNION ALL SELECT gid, dev, 'B_r_cached', B_r_cached FROM place
       UNION ALL SELECT gid, dev, 'B_r_for_write', B_r_for_write FROM place
       UNION ALL SELECT gid, dev, 'B_load', B_load FROM place
       UNION ALL SELECT gid, dev, 'B_r_load', B_r_load FROM place),
     device AS MATERIALIZED (
       SELECT p.dev, p.sym, SUM(CASE WHEN g.what = 'unattributed' THEN p.bytes ELSE 0 END) AS residual, SUM(p.bytes) AS whole
       FROM part p JOIN v_group g ON g.gid = p.gid
       GROUP BY p.dev, p.sym),
     own AS (
       SELECT gid, dev, sym, bytes FROM part WHERE bytes > 0
       UNION ALL
       SELECT 'all:', p.dev, p.sym, SUM(p.bytes) FROM part p JOIN v_group g ON g.gid = p.gid WHERE p.bytes > 0 AND g.rank < 4 GROUP BY p.dev, p.sym)
SELECT o.gid, o.sym, CAST(round(SUM(o.bytes * (d.residual * 1.0 / d.whole))) AS INTEGER) AS residual, SUM(o.bytes) AS whole
FROM own o JOIN device d ON d.dev IS o.dev AND d.sym = o.sym
GROUP BY o.gid, o.sym;

-- One row a line and symbol: value, why it is absent, residual (bytes of it that nobody is known to own, see v_residual; for
-- D what the ledger cannot explain), and short: 1 when the value may be too small, by the rule of METRICS section 3.
CREATE TEMP TABLE v_symbol AS
WITH v AS MATERIALIZED (SELECT * FROM v_volume),
     none AS MATERIALIZED (SELECT * FROM v WHERE what = 'unattributed'),
     total AS MATERIALIZED (SELECT * FROM v WHERE what = 'total'),
     feeds(layer, class) AS (VALUES
       ('syscall', 'app'), ('uring', 'app'), ('all', 'app'),
       ('cache', 'miss'), ('all', 'miss'),
       ('cache', 'fs'), ('fs', 'fs'), ('all', 'fs'),
       ('fs', 'commit'), ('all', 'commit'),
       ('cache', 'block'), ('fs', 'block'), ('block', 'block'), ('all', 'block')),
     bad AS MATERIALIZED (
       SELECT DISTINCT f.class FROM v_lost l JOIN feeds f ON f.layer = l.layer WHERE l.effect IN ('bytes', 'owner')
       UNION
       SELECT 'ledger' FROM v_lost l WHERE l.effect IN ('bytes', 'owner', 'events') AND l.layer IN ('syscall', 'uring', 'cache', 'fs', 'all')
       UNION
       SELECT 'use' FROM v_lost l WHERE l.what = 'use of readahead not followed'),
     flat(gid, sym, class, value, residual, whole) AS (
       SELECT gid, 'L' AS sym, 'given' AS class, L AS value, 0 AS residual, NULL AS whole FROM v
       UNION ALL SELECT v.gid, 'L x R', 'given', CASE WHEN v.L IS NOT NULL THEN a.intended END, 0, NULL FROM v JOIN v_load a
       UNION ALL SELECT gid, 'L_r', 'given', L_r, 0, NULL FROM v
       UNION ALL SELECT v.gid, 'S_load', 'app', v.S_load, none.S_load, total.S_load FROM v JOIN total LEFT JOIN none
       UNION ALL SELECT v.gid, 'B_load', 'block', v.B_load, x.residual, x.whole FROM v LEFT JOIN v_residual x ON x.gid = v.gid AND x.sym = 'B_load'
       UNION ALL SELECT v.gid, 'B_r_load', 'block', v.B_r_load, x.residual, x.whole FROM v LEFT JOIN v_residual x ON x.gid = v.gid AND x.sym = 'B_r_load'
       UNION ALL SELECT v.gid, 'S', 'app', v.S, none.S, total.S FROM v JOIN total LEFT JOIN none
       UNION ALL SELECT v.gid, 'V', 'app', v.V, none.V, total.V FROM v JOIN total LEFT JOIN none
       UNION ALL SELECT v.gid, 'T', 'app', v.T, none.T, total.T FROM v JOIN total LEFT JOIN none
       UNION ALL SELECT v.gid, 'D', 'ledger', v.D, v.slack, v.D FROM v
       UNION ALL SELECT v.gid, 'W', 'fs', v.W, x.residual, x.whole FROM v LEFT JOIN v_residual x ON x.gid = v.gid AND x.sym = 'W'
       UNION ALL SELECT v.gid, 'F', 'fs', v.F, x.residual, x.whole FROM v LEFT JOIN v_residual x ON x.gid = v.gid AND x.sym = 'F'
       UNION ALL SELECT v.gid, 'B', 'block', v.B, x.residual, x.whole FROM v LEFT JOIN v_residual x ON x.gid = v.gid AND x.sym = 'B'
       UNION ALL SELECT v.gid, 'S_r', 'app', v.S_r, none.S_r, total.S_r FROM v JOIN total LEFT JOIN none
       UNION ALL SELECT v.gid, 'S_r_cached', 'app', v.S_r_cached, none.S_r_cached, total.S_r_cached FROM v JOIN total LEFT JOIN none
       UNION ALL SELECT v.gid, 'missed', 'miss', v.missed, x.residual, x.whole FROM v LEFT JOIN v_residual x ON x.gid = v.gid AND x.sym = 'missed'
       UNION ALL SELECT v.gid, 'missed_all', 'miss', v.missed_all, x.residual, x.whole FROM v LEFT JOIN v_residual x ON x.gid = v.gid AND x.sym = 'missed_all'
       UNION ALL SELECT v.gid, 'B_r_call', 'block', v.B_r_call, x.residual, x.whole FROM v LEFT JOIN v_residual x ON x.gid = v.gid AND x.sym = 'B_r_call'
       UNION ALL SELECT v.gid, 'B_r_cached', 'block', v.B_r_cached, x.residual, x.whole FROM v LEFT JOIN v_residual x ON x.gid = v.gid AND x.sym = 'B_r_cached'
       UNION ALL SELECT v.gid, 'B_r_for_write', 'block', v.B_r_for_write, x.residual, x.whole FROM v LEFT JOIN v_residual x ON x.gid = v.gid AND x.sym = 'B_r_for_write'
       UNION ALL SELECT gid, 'flushes', 'block', flushes, 0, NULL FROM v
       UNION ALL SELECT gid, 'syncs', 'app', syncs, 0, NULL FROM v
       UNION ALL SELECT gid, 'commits', 'commit', commits, 0, NULL FROM v
       UNION ALL SELECT gid, 'syscall ops (w)', 'app', ops_S_w, 0, NULL FROM v
       UNION ALL SELECT gid, 'syscall ops (r)', 'app', ops_S_r, 0, NULL FROM v
       UNION ALL SELECT gid, 'VFS + block ops (w)', 'block', ops_V_w + ops_B_w, 0, NULL FROM v
       UNION ALL SELECT gid, 'VFS + block ops (r)', 'block', ops_V_r + ops_B_r, 0, NULL FROM v
       -- what of it was not followed may be unused too; whose use has no owner may be less
       UNION ALL SELECT gid, 'readahead unused', 'miss', ra_unused, ra_unknown, readahead FROM v
       UNION ALL SELECT v.gid, 'readahead', 'use', v.readahead, COALESCE(none.ra_used + none.ra_unknown, 0), v.readahead FROM v LEFT JOIN none)
SELECT f.gid, f.sym, f.value, COALESCE(f.residual, 0) AS residual, f.whole,
       COALESCE(b.class IS NOT NULL OR COALESCE(f.residual, 0) > 0.01 * f.whole, 0) AS short,
       CASE WHEN b.class = 'use' THEN 'some use of readahead was not followed'
            WHEN b.class IS NOT NULL THEN replace(replace(replace(f.sym, '_load', ''), '_call', ''), '_all', '') || ' lost records'
            WHEN COALESCE(f.residual, 0) > 0.01 * f.whole AND f.sym = 'readahead unused'
              THEN printf('use of %d of %d bytes of readahead is not known: mapped files', f.residual, f.whole)
            WHEN COALESCE(f.residual, 0) > 0.01 * f.whole AND f.class = 'ledger'
              THEN printf('the ledger leaves %d of %d bytes of D unexplained', f.residual, f.whole)
            WHEN COALESCE(f.residual, 0) > 0.01 * f.whole
              THEN printf('%.1f %% of %s%s has no owner', f.residual * 100.0 / f.whole, replace(replace(replace(f.sym, '_load', ''), '_call', ''), '_all', ''), CASE f.class WHEN 'app' THEN '' ELSE ' on its devices' END)
            END AS short_why,
       CASE WHEN f.value IS NOT NULL THEN NULL
            WHEN f.sym IN ('L', 'L_r') THEN f.sym || ' is not given (--ledger, --logical-bytes)'
            WHEN f.sym = 'L x R' THEN 'the ledger says neither replicas nor k and m'
            WHEN f.class = 'ledger' AND r.events = 0 THEN 'D needs events, and the run recorded none'
            WHEN f.class = 'ledger' AND EXISTS (SELECT 1 FROM v_lost WHERE effect = 'events') THEN 'D needs all events, and some were lost'
            WHEN f.class = 'ledger' THEN 'D needs the dirty ledger, and the store has none for this run'
            ELSE COALESCE((SELECT group_concat('layer ' || l.layer || CASE WHEN l.layer IN (SELECT layer FROM v_left_out) THEN ' not recorded' ELSE ' was not measured' END, ', ')
                  FROM (SELECT 'syscall' AS layer, syscall AS there FROM v_measured WHERE f.class IN ('app', 'miss', 'use') OR f.sym = 'B_r_for_write'
                        UNION ALL SELECT 'cache', cache FROM v_measured WHERE f.class IN ('miss', 'use')
                        UNION ALL SELECT 'fs', fs FROM v_measured WHERE f.class IN ('fs', 'commit')
                        UNION ALL SELECT 'block', block FROM v_measured WHERE f.class = 'block') l
                  WHERE l.there IS NULL), 'layer uring not recorded, and io_uring was used') END AS why
FROM v_run r JOIN flat f LEFT JOIN bad b ON b.class = f.class;

-- Every ratio of METRICS section 2 that one node's run can give. complement: 1 - numerator / denominator.
-- needs: r and w rows appear where a line has reads or writes at all; an L row where L is given.
CREATE TEMP TABLE v_ratio AS
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
       (13, 'ra_waste', 'readahead unused', 'readahead', 'unused/readahead', 'r', 0),
       (14, 'wra', 'B_r_for_write', 'S', 'B_r for writes/S', 'w', 0),
       (15, 'flush_amp', 'flushes', 'syncs', 'flushes/syncs', 's', 0),
       (16, 'commits_per_fsync', 'commits', 'syncs', 'commits/syncs', 's', 0),
       (17, 'seed_op_amp_r', 'VFS + block ops (r)', 'syscall ops (r)', '(VFS ops + block ops)/syscall ops', 'r', 0),
       (18, 'seed_op_amp_w', 'VFS + block ops (w)', 'syscall ops (w)', '(VFS ops + block ops)/syscall ops', 'w', 0)),
     v AS MATERIALIZED (SELECT gid, what, who, pid, rank, L, L_r, S, D, B, S_r, B_r, flushes, fsyncs, sync_writes, syncs, commits FROM v_volume
                        WHERE shown AND rank <= 4),
     sym AS MATERIALIZED (SELECT * FROM v_symbol),
     pair AS (
       SELECT v.gid, v.what, v.who, v.pid, v.rank, v.B + v.B_r AS weight, d.ord, d.ratio, d.formula, d.num, d.den, d.complement,
              n.value AS numerator, m.value AS denominator,
              n.residual AS numerator_residual, m.residual AS denominator_residual,
              CASE d.complement WHEN 0 THEN n.short ELSE m.short END AS up,
              CASE d.complement WHEN 0 THEN m.short ELSE n.short END AS down,
              COALESCE(n.why, m.why, CASE WHEN m.value = 0 THEN replace(replace(d.den, '_load', ''), '_all', '') || ' is 0' END,
                       CASE WHEN d.complement AND n.value > m.value THEN 'more was missed than calls returned' END,
                       CASE WHEN n.short AND m.short THEN n.short_why || ', and ' || m.short_why END) AS absent,
              COALESCE(n.short_why, m.short_why) AS short, CASE WHEN d.needs IN ('L', 'L_r', 'R') THEN NULLIF(CASE WHEN v.what = 'all' AND a.owner_system IS NOT NULL THEN a.owner_system || CASE a.note WHEN '' THEN '' ELSE ', ' END ELSE '' END || a.note, '')
                                                              WHEN d.needs = 's' AND v.sync_writes > 0 THEN printf('syncs: %d calls, %d synchronous writes', v.fsyncs, v.sync_writes) END AS about
       FROM v JOIN v_load a JOIN def d
       JOIN sym n ON n.gid = v.gid AND n.sym = d.num
       JOIN sym m ON m.gid = v.gid AND m.sym = d.den
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
       COALESCE(absent, short || COALESCE('; ' || about, ''), about, '') AS note, numerator_residual, denominator_residual
FROM pair;
