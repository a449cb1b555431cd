-- SPDX-License-Identifier: GPL-3.0-only
-- sweep.sql: Object-size sweeps: all runs of the store.

-- The runs of object-size sweeps, of the whole store: workloads/sweep.sh labels them "sweep SYSTEM [idle] OPERATION
-- SIZE REPEAT". Of several runs with one label the newest complete one stands. system: as systems.json calls what the
-- ledger, else the label, names.
CREATE TEMP VIEW v_sweep_run AS
WITH word AS (
       SELECT r.run, r.label, r.layers, '["' || replace(r.label, ' ', '","') || '"]' AS words
       FROM run r JOIN run_end e ON e.run = r.run
       WHERE r.label GLOB 'sweep [a-z]* [a-z]* [0-9]* [0-9]*' AND r.label NOT GLOB '*[^a-z0-9 ]*'),
     part AS (
       SELECT run, label, layers, json_array_length(words) AS n, json_extract(words, '$[1]') AS system,
              json_extract(words, '$[2]') = 'idle' AS idle,
              json_extract(words, '$[#-3]') AS operation, json_extract(words, '$[#-2]') AS size,
              json_extract(words, '$[#-1]') AS repeat
       FROM word),
     newest AS (
       SELECT MAX(run) AS run, label, layers, system, idle, operation, CAST(size AS INTEGER) AS size,
              CAST(repeat AS INTEGER) AS repeat
       FROM part
       WHERE n = 5 + idle AND size NOT GLOB '*[^0-9]*' AND repeat NOT GLOB '*[^0-9]*'
       GROUP BY label)
SELECT n.run, n.label, n.layers, COALESCE(a.name, l.system, b.name, n.system) AS system, n.idle, n.operation, n.size,
       n.repeat
FROM newest n LEFT JOIN load l ON l.run = n.run
LEFT JOIN alias a ON a.alias = l.system
LEFT JOIN alias b ON b.alias = n.system;

-- What each of them did to the devices that its ledger names, whoever did it: they are the system's own.
CREATE TEMP VIEW v_sweep_bytes AS
WITH place AS MATERIALIZED (
       SELECT r.run, d.dev
       FROM v_sweep_run r JOIN load l ON l.run = r.run JOIN device d ON d.run = r.run
       WHERE instr(',' || l.devices || ',', ',' || (d.dev >> 20) || ':' || (d.dev & 1048575) || ',') > 0),
     cell AS MATERIALIZED (
       SELECT t.run, v.sym, c.name AS cause, CASE v.measure WHEN 0 THEN t.bytes ELSE t.touched END AS amount
       FROM place p JOIN agg_total t ON t.run = p.run AND t.dev = p.dev
       JOIN volume v ON v.kind = t.kind AND v.sym IN ('S', 'S_r', 'T', 'W', 'F', 'missed_all', 'readahead_all', 'B',
           'B_r')
            AND volume_has(v.row, t.cause, t.sub, t.flags, 1)
       JOIN cause c ON c.id = t.cause),
     total AS MATERIALIZED (
       SELECT run, SUM(CASE sym WHEN 'S' THEN amount ELSE 0 END) AS S,
              SUM(CASE sym WHEN 'S_r' THEN amount ELSE 0 END) AS S_r,
              SUM(CASE sym WHEN 'T' THEN amount ELSE 0 END) AS T, SUM(CASE sym WHEN 'W' THEN amount ELSE 0 END) AS W,
              SUM(CASE sym WHEN 'F' THEN amount ELSE 0 END) AS F,
              SUM(CASE WHEN sym = 'F' AND cause = 'journal' THEN amount ELSE 0 END) AS journal,
              SUM(CASE WHEN sym = 'F' AND cause = 'metadata' THEN amount ELSE 0 END) AS metadata,
              SUM(CASE sym WHEN 'missed_all' THEN amount ELSE 0 END) AS missed,
              SUM(CASE sym WHEN 'readahead_all' THEN amount ELSE 0 END) AS readahead,
              SUM(CASE sym WHEN 'B' THEN amount ELSE 0 END) AS B, SUM(CASE sym WHEN 'B_r' THEN amount ELSE 0 END) AS B_r
       FROM cell
       GROUP BY run),
     dirty AS MATERIALIZED (
       SELECT g.run, SUM(g.dirtied + g.direct) AS D
       FROM place p CROSS JOIN ledger g ON g.run = p.run CROSS JOIN file f ON f.run = g.run AND f.id = g.file
           AND f.dev = p.dev
       GROUP BY g.run),
     known AS MATERIALIZED (
       SELECT run, CASE WHEN ',' || layers || ',' LIKE '%,syscall,%' THEN 1 END AS app, CASE WHEN ',' || layers
                  || ',' LIKE '%,cache,%' THEN 1 END AS cache,
              CASE WHEN ',' || layers || ',' LIKE '%,fs,%' THEN 1 END AS fs, CASE WHEN ',' || layers
                  || ',' LIKE '%,block,%' THEN 1 END AS block,
              CASE WHEN EXISTS (SELECT 1 FROM ledger g WHERE g.run = r.run)
                         AND NOT EXISTS (SELECT 1 FROM lost x WHERE x.run = r.run AND x.n > 0
                             AND x.effect IN ('events', 'bytes')
                                         AND x.layer IN ('syscall', 'uring', 'cache', 'fs', 'all'))
                                             THEN 1 END AS ledger,
              EXISTS (SELECT 1 FROM lost x WHERE x.run = r.run AND x.n > 0 AND x.effect = 'bytes'
                  AND x.layer IN ('cache', 'fs', 'block', 'all')) AS short
       FROM v_sweep_run r)
SELECT k.run, COALESCE(t.S, 0) * k.app AS S, COALESCE(t.S_r, 0) * k.app AS S_r, COALESCE(t.T, 0) * k.app AS T,
       COALESCE(d.D, 0) * k.ledger AS D,
       COALESCE(t.W, 0) * k.fs AS W, COALESCE(t.journal, 0) * k.fs AS journal,
       COALESCE(t.metadata, 0) * k.fs AS metadata, COALESCE(t.F, 0) * k.fs AS F,
       COALESCE(t.missed, 0) * k.cache AS missed, COALESCE(t.readahead, 0) * k.cache AS readahead,
       COALESCE(t.B, 0) * k.block AS B, COALESCE(t.B_r, 0) * k.block AS B_r, k.short
FROM known k LEFT JOIN total t ON t.run = k.run LEFT JOIN dirty d ON d.run = k.run;

-- One row a step of a sweep: what a load cost beside its idle control. payload: L, or L_r where the operation reads;
-- device and idle: B or B_r likewise. good: 1 when every object was acknowledged.
CREATE TEMP VIEW v_sweep_step AS
WITH moved AS MATERIALIZED (SELECT * FROM v_sweep_bytes),
     sweep AS MATERIALIZED (SELECT * FROM v_sweep_run)
SELECT r.run, r.system, r.operation, r.size, r.repeat, l.horizon, COALESCE(l.errors, 0) = 0 AS good, l.error, b.short,
       CASE r.operation WHEN 'read' THEN l.logical_read_bytes ELSE l.logical_write_bytes END AS payload,
       CASE r.operation WHEN 'read' THEN l.read_ops ELSE l.write_ops END AS ops,
       CASE r.operation WHEN 'read' THEN b.B_r ELSE b.B END AS device,
       CASE r.operation WHEN 'read' THEN l.device_read_bytes ELSE l.device_write_bytes END AS counted,
       CASE r.operation WHEN 'read' THEN i.B_r ELSE i.B END AS idle,
       b.S, b.S_r, b.T, b.D, b.W, b.journal, b.metadata, b.F, b.missed, b.readahead, b.B, b.B_r
FROM sweep r JOIN load l ON l.run = r.run
JOIN moved b ON b.run = r.run
LEFT JOIN (SELECT c.system, c.operation, c.size, c.repeat, b.B, b.B_r FROM sweep c JOIN moved b ON b.run = c.run
           WHERE c.idle AND EXISTS (SELECT 1 FROM load l WHERE l.run = c.run AND l.devices IS NOT NULL)) i
       ON i.system = r.system AND i.operation = r.operation AND i.size = r.size AND i.repeat = r.repeat
WHERE NOT r.idle AND l.devices IS NOT NULL;

-- marginal_waf (METRICS section 2): the slope of B over L across sizes, idle control subtracted; marginal_raf likewise
-- for reads. Least squares of the device bytes of one operation over its payload bytes, one point a step, so that the
-- number of objects of a size does not matter: slope = sum((x - mean x) (y - mean y)) / sum((x - mean x)^2), fixed =
-- mean y - slope mean x, what an operation costs whatever its size.
CREATE TEMP VIEW v_sweep_marginal AS
WITH point AS MATERIALIZED (
       SELECT system, operation, size, payload * 1.0 / ops AS x, (device - idle) * 1.0 / ops AS y
       FROM v_sweep_step
       WHERE good AND ops > 0 AND payload IS NOT NULL AND device IS NOT NULL AND idle IS NOT NULL),
     middle AS (SELECT system, operation, COUNT(*) AS points, MIN(size) AS smallest, MAX(size) AS largest,
         AVG(x) AS x, AVG(y) AS y FROM point GROUP BY system, operation),
     slope AS (
       SELECT m.system, m.operation, m.points, m.smallest, m.largest, m.x, m.y,
              SUM((p.x - m.x) * (p.y - m.y)) / NULLIF(SUM((p.x - m.x) * (p.x - m.x)), 0) AS value
       FROM middle m JOIN point p ON p.system = m.system AND p.operation = m.operation
       GROUP BY m.system, m.operation)
SELECT system, operation, CASE operation WHEN 'read' THEN 'marginal_raf' ELSE 'marginal_waf' END AS ratio, value,
       y - value * x AS fixed, points, smallest, largest
FROM slope;

-- Device bytes of the steps by what they are: file data by component, journal, metadata. They sum to the step's device
-- bytes.
CREATE TEMP VIEW v_sweep_part AS
WITH step AS MATERIALIZED (
       SELECT r.run, r.system, r.operation, r.size, r.operation = 'read' AS reads, d.dev
       FROM v_sweep_run r JOIN load l ON l.run = r.run JOIN device d ON d.run = r.run
       WHERE NOT r.idle AND COALESCE(l.errors, 0) = 0 AND ',' || r.layers || ',' LIKE '%,block,%'
         AND instr(',' || l.devices || ',', ',' || (d.dev >> 20) || ':' || (d.dev & 1048575) || ',') > 0),
     moved AS MATERIALIZED (
       SELECT s.run, s.system, s.operation, s.size, c.name AS cause, SUM(t.bytes) AS bytes
       FROM step s JOIN agg_total t ON t.run = s.run AND t.dev = s.dev
       JOIN volume v ON v.kind = t.kind AND v.sym = CASE WHEN s.reads THEN 'B_r' ELSE 'B' END
           AND volume_has(v.row, t.cause, t.sub, t.flags, 1)
       JOIN cause c ON c.id = t.cause
       GROUP BY s.run, c.name),
     file_data AS MATERIALIZED (
       SELECT s.run, s.system, s.operation, s.size, f.component,
              SUM(CASE WHEN s.reads THEN i.dev_read_bytes ELSE i.dev_write_bytes END) AS bytes
       FROM step s JOIN file f ON f.run = s.run AND f.dev = s.dev JOIN file_io i ON i.run = f.run AND i.file = f.id
       WHERE f.component IS NOT NULL
       GROUP BY s.run, f.component)
SELECT run, system, operation, size, component AS part, 1 AS rank, bytes FROM file_data WHERE bytes > 0
UNION ALL
SELECT c.run, c.system, c.operation, c.size, CASE WHEN EXISTS (SELECT 1 FROM file_io i WHERE i.run = c.run)
           THEN 'unclassified' ELSE '(not measured)' END, 2,
       SUM(c.bytes) - COALESCE((SELECT SUM(f.bytes) FROM file_data f WHERE f.run = c.run), 0)
FROM moved c
WHERE c.cause IN ('data', 'direct', 'readahead')
GROUP BY c.run
UNION ALL
SELECT run, system, operation, size, 'fs ' || cause, 3, bytes FROM moved
           WHERE cause NOT IN ('data', 'direct', 'readahead') AND bytes > 0;
