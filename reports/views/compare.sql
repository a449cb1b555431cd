-- SPDX-License-Identifier: GPL-3.0-only
-- compare.sql: Quantities and facts of a run for `compare`.

-- The volumes that are compared. first: 1 for the volume of writes that a change is about, 2 for that of reads.
CREATE TEMP TABLE v_compare_sym(ord, sym, word, unit, first);
INSERT INTO temp.v_compare_sym VALUES
       (1, 'B', 'device bytes', 'bytes', 1), (2, 'B_r', 'device bytes read', 'bytes', 2),
       (3, 'L', 'payload (L)', 'bytes', 0),
       (4, 'S', 'bytes written by calls (S)', 'bytes', 0), (5, 'V', 'bytes written through the VFS (V)', 'bytes', 0),
       (6, 'T', 'whole blocks touched (T)', 'bytes', 0), (7, 'D', 'bytes made dirty (D)', 'bytes', 0),
       (8, 'W', 'file data submitted (W)', 'bytes', 0), (9, 'F', 'submitted by the file system (F)', 'bytes', 0),
       (10, 'L_r', 'payload read (L_r)', 'bytes', 0), (11, 'S_r', 'bytes read by calls (S_r)', 'bytes', 0),
       (12, 'missed', 'bytes missed in the cache', 'bytes', 0), (13, 'readahead', 'bytes read ahead', 'bytes', 0),
       (14, 'syncs', 'syncs', 'ops', 0), (15, 'commits', 'journal commits', 'ops', 0),
       (16, 'flushes', 'device flushes', 'ops', 0),
       (17, 'ops_S_w', 'calls that write', 'ops', 0), (18, 'ops_S_r', 'calls that read', 'ops', 0),
       (19, 'ops_B_w', 'device writes', 'ops', 0), (20, 'ops_B_r', 'device reads', 'ops', 0);

-- One row a line and quantity: volumes, device bytes by cause, ratios. bound: exact, >=, <= or n/a; note: why.
CREATE TEMP VIEW v_compare AS
WITH line AS MATERIALIZED (SELECT gid, what, who, pid, rank FROM v_volume WHERE shown AND rank <= 4),
     short AS MATERIALIZED (
       SELECT l.gid, c.sym, y.why,
              COALESCE(y.short, x.class IS NOT NULL OR COALESCE(r.residual > 0.01 * w.value, 0)) AS short,
              COALESCE(y.short_why, c.sym || iif(x.class IS NOT NULL, ' lost records', ' has bytes without an owner'))
                  AS short_why
       FROM line l JOIN v_compare_sym c
       LEFT JOIN v_symbol y ON y.gid = l.gid AND y.sym = c.sym
       LEFT JOIN v_sym s ON s.sym = c.sym
       LEFT JOIN v_spoilt_line x ON x.gid = l.gid AND x.class = s.class
       LEFT JOIN v_residual r ON r.gid = l.gid AND r.sym = c.sym
       LEFT JOIN v_value w ON w.gid = l.gid AND w.sym = c.sym),
     cause(ord, cause, word) AS (
       VALUES (1, 'data', 'device bytes, file data'), (2, 'direct', 'device bytes, direct I/O'),
              (3, 'journal', 'device bytes, fs journal'),
              (4, 'metadata', 'device bytes, fs metadata')),
     moved AS MATERIALIZED (
       SELECT t.line AS gid, c.cause, SUM(c.written) AS written
       FROM v_cause c JOIN v_sums_to t ON t.gid = c.gid GROUP BY t.line, c.cause)
SELECT l.what, l.who, l.rank, c.ord, c.sym AS name, c.word, c.unit, c.first,
       CASE WHEN v.value IS NULL THEN 'n/a' WHEN s.short THEN '>=' ELSE 'exact' END AS bound, v.value,
       CASE WHEN v.value IS NULL THEN COALESCE(s.why, 'not measured') WHEN s.short THEN s.short_why END AS note
FROM line l JOIN v_compare_sym c JOIN v_value v ON v.gid = l.gid AND v.sym = c.sym
JOIN short s ON s.gid = l.gid AND s.sym = c.sym
WHERE (c.sym NOT IN ('L', 'L_r') OR v.value IS NOT NULL)
  AND (c.sym <> 'V' OR (SELECT vfs FROM v_measured)) -- derived from S it says nothing else
UNION ALL
SELECT l.what, l.who, l.rank, 30 + c.ord, 'B ' || c.cause, c.word, 'bytes', 0,
       CASE WHEN m.block IS NULL THEN 'n/a' WHEN s.short THEN '>=' ELSE 'exact' END, COALESCE(d.written, 0) * m.block,
       CASE WHEN m.block IS NULL THEN s.why WHEN s.short THEN s.short_why END
FROM line l JOIN v_measured m JOIN cause c JOIN short s ON s.gid = l.gid AND s.sym = 'B'
LEFT JOIN moved d ON d.gid = l.gid AND d.cause = c.cause
UNION ALL
SELECT r.what, r.who, r.rank, 40 + r.ord, r.ratio, r.ratio || ' (' || r.formula || ')', 'ratio',
       (r.ratio = 'waf_sys') + 2 * (r.ratio = 'raf_dev'), r.bound, r.value, r.note
FROM v_ratio r;

-- Facts that must be alike in runs that are compared, as text. Devices and file systems are those to which at least a
-- twentieth of the bytes was written; one that was only read counts when it has half of all bytes: programs are loaded
-- from disks when they are not in memory. They are named by type and size, because new devices have new names.
CREATE TEMP VIEW v_compare_run AS
WITH part AS MATERIALIZED (
       SELECT a.sym, a.dev, SUM(a.amount) AS amount
       FROM v_amount a JOIN v_group g ON g.gid = a.gid
       WHERE a.sym IN ('B', 'B_r_call', 'F') AND g.rank < 4 AND g.shown
       GROUP BY a.sym, a.dev
       HAVING SUM(a.amount) > 0),
     whole AS (
       SELECT sum_if(amount, sym = 'F') AS F, sum_if(amount, sym = 'B') AS B, sum_if(amount, sym <> 'F') AS moved
       FROM part),
     large AS (
       SELECT DISTINCT iif(p.sym = 'F', 'fs', 'device') AS about, p.dev
       FROM part p JOIN whole w
       WHERE p.amount >= CASE p.sym WHEN 'F' THEN 0.05 * w.F WHEN 'B' THEN 0.05 * w.B ELSE 0.5 * w.moved END),
     kind AS (
       SELECT DISTINCT l.about,
              iif(l.about = 'fs', d.fs,
                  printf('%s%s%s', COALESCE(d.type, '(unknown)'), iif(d.rotational, ', rotational', ''),
                         COALESCE(', ' || size(d.size_bytes), ''))) AS text
       FROM large l JOIN v_device d ON d.dev = l.dev),
     lines AS (
       SELECT about, group_concat(text, '; ') AS text
       FROM (SELECT about, text FROM kind ORDER BY text)
       GROUP BY about)
SELECT r.kernel, r.machine || ', ' || r.cpus || ' CPUs' AS machine,
       COALESCE((SELECT text FROM lines WHERE about = 'device'), 'none') AS device,
       COALESCE((SELECT text FROM lines WHERE about = 'fs'), 'none') AS fs,
       CASE WHEN r.filters IS NULL THEN 'none' ELSE r.filters END AS filters, r.layers, r.tier,
       iif(r.events <> 0 OR r.pruned, 'recorded', 'not recorded') AS events, r.horizon,
       iif(r.complete, 'complete', 'incomplete') AS state, COALESCE(CAST(r.status AS TEXT), 'unknown') AS status,
       l.lost, r.label, r.dur_ns / 1e9 AS seconds, r.command
FROM v_run r JOIN v_lost_text l;
