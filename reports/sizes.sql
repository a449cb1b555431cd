-- SPDX-License-Identifier: GPL-3.0-only
-- title: Sizes: amplification against the size of objects
-- none: The store holds no run of a sweep: workloads/sweep.sh makes them.
-- caption: From the runs of workloads/sweep.sh that the store holds. payload: bytes that clients had acknowledged; \
-- caption: device: bytes of the
-- caption: system's devices, written for writes, read for reads; counted: the same by the workload's own reading of \
-- caption: /sys/block; idle: of an
-- caption: idle control as long as the load. All are sums over the repeats. Small objects have huge ratios: look at \
-- caption: per_op and marginal first.
-- scope: store
-- systems: v_sweep_run

-- table: sizes: Amplification by size (waf_e2e = B/L, raf_e2e = B_r/L_r: median and range of the repeats; net, per_op, marginal: idle subtracted)
-- hide: horizon
WITH step AS MATERIALIZED (
       SELECT *, CASE WHEN good THEN device * 1.0 / NULLIF(payload, 0) END AS amp,
              CASE WHEN good THEN (device - idle) * 1.0 / NULLIF(payload, 0) END AS net
       FROM v_sweep_step),
     ranked AS (
       SELECT system, operation, size, amp, net, ROW_NUMBER() OVER (PARTITION BY system, operation, size
                                                                    ORDER BY amp) AS at_amp,
              ROW_NUMBER() OVER (PARTITION BY system, operation, size ORDER BY net) AS at_net,
              COUNT(*) OVER (PARTITION BY system, operation, size) AS n
       FROM step
       WHERE amp IS NOT NULL),
     middle AS (
       SELECT system, operation, size, AVG(CASE WHEN 2 * at_amp IN (n, n + 1, n + 2) THEN amp END) AS median,
              MIN(amp) AS least, MAX(amp) AS most,
              CASE WHEN COUNT(net) = COUNT(*) THEN AVG(CASE WHEN 2 * at_net IN (n, n + 1, n + 2) THEN net END)
                  END AS net
       FROM ranked
       GROUP BY system, operation, size),
     cell AS (
       SELECT system, operation, size, COUNT(*) AS repeats, SUM(NOT good) AS failed, MAX(short) AS short,
              MIN(horizon) AS horizon, MIN(CASE WHEN NOT good THEN error END) AS error,
              SUM(ops) AS ops, SUM(payload) AS payload,
              CASE WHEN COUNT(device) = COUNT(*) THEN SUM(device) END AS device,
              CASE WHEN COUNT(counted) = COUNT(*) THEN SUM(counted) END AS counted,
              CASE WHEN COUNT(idle) = COUNT(*) THEN SUM(idle) END AS idle,
              CASE WHEN SUM(good) = COUNT(*) AND COUNT(idle) = COUNT(*)
                  THEN SUM(device - idle) * 1.0 / NULLIF(SUM(ops), 0) END AS per_op,
              CASE WHEN SUM(good) = COUNT(*) THEN SUM(payload) * 1.0 / NULLIF(SUM(ops), 0) END AS x
       FROM step
       GROUP BY system, operation, size)
SELECT c.system, c.operation, c.size, c.repeats, c.failed, c.ops, c.payload, c.device, c.counted, c.idle,
       CASE c.operation WHEN 'read' THEN 'raf_e2e' ELSE 'waf_e2e' END AS ratio,
       CASE WHEN m.median IS NULL THEN 'n/a' WHEN c.short THEN '>=' ELSE 'exact' END AS bound, m.median, m.least,
       m.most, m.net, c.per_op,
       (c.per_op - LAG(c.per_op) OVER w) / NULLIF(c.x - LAG(c.x) OVER w, 0) AS marginal, c.horizon,
       CASE WHEN c.failed = c.repeats THEN 'refused: ' || COALESCE(c.error, 'no reason was given')
            WHEN c.failed THEN c.failed || ' of ' || c.repeats || ' failed: '
                || COALESCE(c.error, 'no reason was given') ELSE '' END AS note
FROM cell c LEFT JOIN middle m ON m.system = c.system AND m.operation = c.operation AND m.size = c.size
WHERE :system IS NULL OR c.system = :system
WINDOW w AS (PARTITION BY c.system, c.operation ORDER BY c.size)
ORDER BY c.system, c.operation DESC, c.size;

-- table: marginal: What one more byte costs across all sizes (slope of device bytes over payload, both of one operation, by least squares, idle subtracted; fixed: bytes of an operation whatever its size)
SELECT system, operation, ratio, 'slope of (device - idle)/ops over payload/ops' AS formula, value, fixed, points,
       smallest, largest
FROM v_sweep_marginal
WHERE :system IS NULL OR system = :system
ORDER BY system, operation DESC;

-- table: layers: Bytes written a layer (S calls, T their blocks, D made dirty, W file data, F the file system, B devices)
SELECT system, operation, size, COUNT(*) AS repeats, SUM(payload) AS L,
       CASE WHEN COUNT(S) = COUNT(*) THEN SUM(S) END AS S, CASE WHEN COUNT(T) = COUNT(*) THEN SUM(T) END AS T,
       CASE WHEN COUNT(D) = COUNT(*) THEN SUM(D) END AS D, CASE WHEN COUNT(W) = COUNT(*) THEN SUM(W) END AS W,
       CASE WHEN COUNT(journal) = COUNT(*) THEN SUM(journal) END AS journal,
       CASE WHEN COUNT(metadata) = COUNT(*) THEN SUM(metadata) END AS metadata,
       CASE WHEN COUNT(F) = COUNT(*) THEN SUM(F) END AS F, CASE WHEN COUNT(B) = COUNT(*) THEN SUM(B) END AS B
FROM v_sweep_step
WHERE good AND operation <> 'read' AND (:system IS NULL OR system = :system)
GROUP BY system, operation, size
ORDER BY system, operation DESC, size;

-- table: reads: Bytes read a layer (S_r calls, missed in the page cache, readahead, B_r devices)
SELECT system, operation, size, COUNT(*) AS repeats, SUM(payload) AS L_r,
       CASE WHEN COUNT(S_r) = COUNT(*) THEN SUM(S_r) END AS S_r,
       CASE WHEN COUNT(missed) = COUNT(*) THEN SUM(missed) END AS missed,
       CASE WHEN COUNT(readahead) = COUNT(*) THEN SUM(readahead) END AS readahead,
       CASE WHEN COUNT(B_r) = COUNT(*) THEN SUM(B_r) END AS B_r
FROM v_sweep_step
WHERE good AND operation = 'read' AND (:system IS NULL OR system = :system)
GROUP BY system, operation, size
ORDER BY system, operation DESC, size;

-- table: shares: What the device bytes are: components of the system, file data of no known one, what the file system adds (they sum to device)
SELECT system, operation, size, part, SUM(bytes) AS bytes,
       SUM(bytes) * 1.0 / NULLIF(SUM(SUM(bytes)) OVER (PARTITION BY system, operation, size), 0) AS share
FROM v_sweep_part
WHERE :system IS NULL OR system = :system
GROUP BY system, operation, size, part
HAVING SUM(bytes) <> 0
ORDER BY system, operation DESC, size, rank, SUM(bytes) DESC, part;

-- plot: amplification
-- chart: lines
-- heading: Device bytes/payload: waf_e2e = B/L written, raf_e2e = B_r/L_r read (median and range of the repeats)
-- axis: device bytes/payload
-- unit: ratio
-- across: payload of one object
-- across unit: bytes
-- log: values across
-- rule: 1
WITH step AS (
       SELECT system, operation, size, device * 1.0 / payload AS amp,
              ROW_NUMBER() OVER (PARTITION BY system, operation, size ORDER BY device * 1.0 / payload) AS at,
              COUNT(*) OVER (PARTITION BY system, operation, size) AS n
       FROM v_sweep_step
       WHERE good AND device > 0 AND payload > 0 AND (:system IS NULL OR system = :system))
SELECT system || ' ' || operation AS part, size AS x, AVG(CASE WHEN 2 * at IN (n, n + 1, n + 2) THEN amp END) AS value,
       MIN(amp) AS low, MAX(amp) AS high
FROM step
GROUP BY system, operation, size
ORDER BY system, operation DESC, size;

-- plot: slopes
-- chart: note
SELECT group_concat(m.ratio || ' of ' || p.system || ' ' || p.operation || ' '
                    || COALESCE(printf('%.3f', m.value), 'n/a'), '; ')
       || ' (slope over all sizes, idle control subtracted)' AS slope
FROM (SELECT DISTINCT system, operation FROM v_sweep_step
      WHERE good AND device > 0 AND payload > 0 AND (:system IS NULL OR system = :system) ORDER BY system,
      operation DESC) p
JOIN v_sweep_marginal m ON m.system = p.system AND m.operation = p.operation
HAVING COUNT(*) > 0;

-- plot: layers
-- chart: lines
-- heading: Bytes of one operation, layer by layer
-- axis: bytes of one operation
-- unit: bytes
-- across: payload of one object
-- across unit: bytes
-- log: values across
WITH step AS MATERIALIZED (
       SELECT system, operation, size, ops, payload, CASE operation WHEN 'read' THEN S_r ELSE S END AS calls,
              CASE operation WHEN 'read' THEN missed ELSE D END AS cache,
              CASE operation WHEN 'read' THEN NULL ELSE F END AS fs, device
       FROM v_sweep_step
       WHERE good AND device > 0 AND payload > 0 AND (:system IS NULL OR system = :system)),
     -- A repeat in which a layer is not known leaves its size without that point.
     cell AS MATERIALIZED (
       SELECT system, operation, size, SUM(payload) * 1.0 / SUM(ops) AS L,
              CASE WHEN COUNT(calls) = COUNT(*) THEN SUM(calls) * 1.0 / SUM(ops) END AS calls,
              CASE WHEN COUNT(cache) = COUNT(*) THEN SUM(cache) * 1.0 / SUM(ops) END AS cache,
              CASE WHEN COUNT(fs) = COUNT(*) THEN SUM(fs) * 1.0 / SUM(ops) END AS fs,
              SUM(device) * 1.0 / SUM(ops) AS device
       FROM step
       GROUP BY system, operation, size),
     layer(ord, name) AS (VALUES (1, 'L payload'), (2, 'S calls'), (3, 'D dirtied'), (4, 'F file system'),
                          (5, 'B devices'), (6, 'S_r calls'), (7, 'missed in the cache'),
       (8, 'B_r devices')),
     point AS (
       SELECT c.system || ' ' || c.operation AS panel, l.ord, l.name AS part, c.size AS x, c.system, c.operation,
              CASE l.ord WHEN 1 THEN c.L WHEN 2 THEN c.calls WHEN 6 THEN c.calls WHEN 3 THEN c.cache WHEN 7 THEN c.cache
                  WHEN 4 THEN c.fs ELSE c.device END AS value
       FROM cell c JOIN layer l ON l.ord = 1 OR (c.operation = 'read') = (l.ord > 5))
SELECT panel, part, x, value
FROM point
WHERE value > 0
ORDER BY system, operation DESC, ord, x;

-- plot: shares
-- chart: bars
-- heading: What the device bytes are
-- axis: share of the device bytes
-- unit: percent
WITH part AS MATERIALIZED (SELECT system, operation, size, part, rank, SUM(bytes) AS bytes
                           FROM v_sweep_part GROUP BY system, operation, size, part HAVING SUM(bytes) > 0)
SELECT p.system || ' ' || p.operation AS panel, replace(size(a.size), ' bytes', ' B') AS "row", a.part,
       a.bytes * 100.0 / SUM(a.bytes) OVER (PARTITION BY a.system, a.operation, a.size) AS value,
       replace(size(SUM(a.bytes) OVER (PARTITION BY a.system, a.operation, a.size)), ' bytes', ' B') AS label
FROM (SELECT DISTINCT system, operation FROM v_sweep_step
      WHERE good AND device > 0 AND payload > 0 AND (:system IS NULL OR system = :system)) p
          JOIN part a ON a.system = p.system AND a.operation = p.operation
ORDER BY p.system, p.operation DESC, a.size, a.rank, a.part;
