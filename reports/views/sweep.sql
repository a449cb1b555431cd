-- SPDX-License-Identifier: GPL-3.0-only
-- sweep.sql: Object-size sweeps: all runs of the store.

-- The runs of object-size sweeps, of the whole store: workloads/sweep.sh labels them "sweep SYSTEM [idle] OPERATION
-- SIZE REPEAT". Of several runs with one label the newest complete one stands. system: as systems.json calls what the
-- ledger, else the label, names.
CREATE TEMP TABLE v_sweep_run AS
WITH word AS (
       SELECT r.run, r.label, r.layers, '["' || replace(r.label, ' ', '","') || '"]' AS words
       FROM run r JOIN run_end e ON e.run = r.run
       WHERE r.label GLOB 'sweep [a-z]* [a-z]* [0-9]* [0-9]*' AND r.label NOT GLOB '*[^a-z0-9 ]*'),
     part AS (
       SELECT run, label, layers, json_array_length(words) AS n, words ->> 1 AS system, words ->> 2 = 'idle' AS idle,
              words ->> '$[#-3]' AS operation, words ->> '$[#-2]' AS size, words ->> '$[#-1]' AS repeat
       FROM word),
     newest AS (
       SELECT MAX(run) AS run, label, layers, system, idle, operation, CAST(size AS INTEGER) AS size,
              CAST(repeat AS INTEGER) AS repeat
       FROM part WHERE n = 5 + idle AND size NOT GLOB '*[^0-9]*' AND repeat NOT GLOB '*[^0-9]*'
       GROUP BY label)
SELECT n.run, n.label, n.layers, COALESCE(a.name, l.system, b.name, n.system) AS system, n.idle, n.operation,
       n.operation = 'read' AS reads, n.size, n.repeat
FROM newest n LEFT JOIN load l ON l.run = n.run LEFT JOIN alias a ON a.alias = l.system
LEFT JOIN alias b ON b.alias = n.system;

-- The devices that its ledger names, and the bytes on each, whoever moved them: these devices are the system's own.
CREATE TEMP VIEW v_sweep_place AS
SELECT r.*, d.dev FROM v_sweep_run r JOIN load l ON l.run = r.run JOIN device d ON d.run = r.run
WHERE listed(devno(d.dev), l.devices);

CREATE TEMP TABLE v_sweep_amount AS
SELECT p.run, v.sym, c.name AS cause, SUM(iif(v.measure = 0, t.bytes, t.touched)) AS amount
FROM v_sweep_place p JOIN agg_total t ON t.run = p.run AND t.dev = p.dev
JOIN volume v ON v.kind = t.kind AND volume_has(v.row, t.cause, t.sub, t.flags, 1) JOIN cause c ON c.id = t.cause
WHERE v.sym IN ('S', 'S_r', 'T', 'W', 'F', 'missed_all', 'readahead_all', 'B', 'B_r')
GROUP BY p.run, v.sym, c.name
UNION ALL
SELECT p.run, 'D', NULL, SUM(g.dirtied + g.direct)
FROM v_sweep_place p CROSS JOIN ledger g ON g.run = p.run
CROSS JOIN file f ON f.run = g.run AND f.id = g.file AND f.dev = p.dev
GROUP BY p.run;

CREATE TEMP TABLE v_sweep_bytes AS
WITH known AS MATERIALIZED (
       SELECT m.*, EXISTS (SELECT 1 FROM v_run_spoilt s
                           WHERE s.run = m.run AND s.class = 'block' AND s.effect = 'bytes') AS short
       FROM v_sweep_run r JOIN v_run_measured m ON m.run = r.run)
SELECT m.run, sum_if(amount, sym = 'S') * m.syscall AS S, sum_if(amount, sym = 'S_r') * m.syscall AS S_r,
       sum_if(amount, sym = 'T') * m.syscall AS T, sum_if(amount, sym = 'D') * m.ledger AS D,
       sum_if(amount, sym = 'W') * m.fs AS W, sum_if(amount, sym = 'F' AND cause = 'journal') * m.fs AS journal,
       sum_if(amount, sym = 'F' AND cause = 'metadata') * m.fs AS metadata, sum_if(amount, sym = 'F') * m.fs AS F,
       sum_if(amount, sym = 'missed_all') * m.cache AS missed,
       sum_if(amount, sym = 'readahead_all') * m.cache AS readahead,
       sum_if(amount, sym = 'B') * m.block AS B, sum_if(amount, sym = 'B_r') * m.block AS B_r, m.short
FROM known m LEFT JOIN v_sweep_amount a ON a.run = m.run GROUP BY m.run;

-- One row a step of a sweep: the cost of a load next to that of its idle control. payload: L, or L_r where the
-- operation reads; device and idle: B, or B_r where it reads. good: 1 when every object was acknowledged.
CREATE TEMP TABLE v_sweep_step AS
WITH control AS MATERIALIZED (
       SELECT c.system, c.operation, c.size, c.repeat, b.B, b.B_r
       FROM v_sweep_run c JOIN v_sweep_bytes b ON b.run = c.run JOIN load l ON l.run = c.run
       WHERE c.idle AND l.devices IS NOT NULL)
SELECT r.run, r.system, r.operation, r.size, r.repeat, l.horizon, COALESCE(l.errors, 0) = 0 AS good, l.error, b.short,
       iif(reads, l.logical_read_bytes, l.logical_write_bytes) AS payload, iif(reads, l.read_ops, l.write_ops) AS ops,
       iif(reads, l.device_read_bytes, l.device_write_bytes) AS counted, iif(reads, b.B_r, b.B) AS device,
       iif(reads, i.B_r, i.B) AS idle,
       b.S, b.S_r, b.T, b.D, b.W, b.journal, b.metadata, b.F, b.missed, b.readahead, b.B, b.B_r
FROM v_sweep_run r JOIN load l ON l.run = r.run JOIN v_sweep_bytes b ON b.run = r.run
LEFT JOIN control i ON i.system = r.system AND i.operation = r.operation AND i.size = r.size AND i.repeat = r.repeat
WHERE NOT r.idle AND l.devices IS NOT NULL;

-- marginal_waf (METRICS section 2): the slope of B over L across sizes, idle control subtracted; marginal_raf is the
-- same for reads. Least squares of the device bytes of one operation over its payload bytes, one point a step, so that
-- the number of objects of a size does not matter: slope = sum((x - mean x) (y - mean y)) / sum((x - mean x)^2), fixed
-- = mean y - slope mean x, the cost of an operation whatever its size.
CREATE TEMP VIEW v_sweep_marginal AS
WITH point AS MATERIALIZED (
       SELECT system, operation, size, payload * 1.0 / ops AS x, (device - idle) * 1.0 / ops AS y
       FROM v_sweep_step
       WHERE good AND ops > 0 AND payload IS NOT NULL AND device IS NOT NULL AND idle IS NOT NULL),
     middle AS (
       SELECT system, operation, size, x, y, AVG(x) OVER sweep AS mx, AVG(y) OVER sweep AS my
       FROM point WINDOW sweep AS (PARTITION BY system, operation)),
     slope AS (
       SELECT system, operation, COUNT(*) AS points, MIN(size) AS smallest, MAX(size) AS largest, mx, my,
              SUM((x - mx) * (y - my)) / NULLIF(SUM((x - mx) * (x - mx)), 0) AS value
       FROM middle GROUP BY system, operation)
SELECT system, operation, iif(operation = 'read', 'marginal_raf', 'marginal_waf') AS ratio, value,
       my - value * mx AS fixed, points, smallest, largest
FROM slope;

-- Device bytes of the steps by what they are: file data by component, journal, metadata. They sum to the step's device
-- bytes.
CREATE TEMP VIEW v_sweep_part AS
WITH step AS MATERIALIZED (
       SELECT r.* FROM v_sweep_run r JOIN load l ON l.run = r.run
       WHERE NOT r.idle AND COALESCE(l.errors, 0) = 0 AND listed('block', r.layers)),
     moved AS MATERIALIZED (
       SELECT s.*, a.cause, a.amount AS bytes
       FROM step s JOIN v_sweep_amount a ON a.run = s.run AND a.sym = iif(s.reads, 'B_r', 'B')),
     file_data AS MATERIALIZED (
       SELECT s.*, f.component, SUM(iif(s.reads, i.dev_read_bytes, i.dev_write_bytes)) AS bytes
       FROM step s JOIN v_sweep_place p ON p.run = s.run JOIN file f ON f.run = s.run AND f.dev = p.dev
       JOIN file_io i ON i.run = f.run AND i.file = f.id
       WHERE f.component IS NOT NULL GROUP BY s.run, f.component)
SELECT run, system, operation, size, component AS part, 1 AS rank, bytes FROM file_data WHERE bytes > 0
UNION ALL
SELECT run, system, operation, size, iif(run IN (SELECT run FROM file_io), 'unclassified', '(not measured)'), 2,
       SUM(bytes) - COALESCE((SELECT SUM(f.bytes) FROM file_data f WHERE f.run = c.run), 0)
FROM moved c WHERE cause IN ('data', 'direct', 'readahead') GROUP BY run
UNION ALL
SELECT run, system, operation, size, 'fs ' || cause, 3, bytes FROM moved
WHERE cause NOT IN ('data', 'direct', 'readahead') AND bytes > 0;
