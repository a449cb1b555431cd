-- SPDX-License-Identifier: GPL-3.0-only
-- run.sql: The run itself, measured layers, lost records, devices, and the payload of clients.
-- Reports read views only: temporary views of one run of a store, some of them computed once (tables). METRICS defines
-- every number.
--
-- The query runner makes tables first: `ask`, one row: run, per (system, instance, comm, pid or all), system (NULL:
-- all), plot (1: a picture is asked for, and views for pictures may cost time); `alias`: alias, name of systems that
-- have other names too; `given`, at most one row, as table `load` of the store: the payload of clients; `volume`, the
-- rows of stream/volumes.def, and `loss`, the classes of volumes that each loss of bpf/kinds.def spoils. A report may
-- also use the parameters :run, :per, :system, :plot and :store (its name). Functions: fold() and unfold()
-- (analyzer/sql/fold.c), volume_has(), and those of analyzer/sql/functions.c. To add a volume: a row in
-- stream/volumes.def; a ratio: a row in v_ratio_def. A view NAME_sql answers the text that makes NAME.

-- 0 to 999, for tables that are read piece by piece, and for words of each number.
CREATE TEMP TABLE v_number AS
WITH RECURSIVE number(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM number WHERE n < 999)
SELECT n FROM number;

-- The run. Its columns are those that JSON answers have about it.
CREATE TEMP TABLE v_run AS
SELECT r.run, r.label, r.host, r.kernel, r.machine, r.cpus, r.tool, r.command, r.filters, r.layers, r.tier,
       iif(r.events = 2, 0, r.events) AS events, r.events = 2 AS pruned, r.only,
       r.settle, r.latency, r.wall_ns, strftime('%Y-%m-%dT%H:%M:%SZ', r.wall_ns / 1000000000, 'unixepoch') AS started,
       e.dur_ns, e.status, e.dirty_bytes, e.self_cpu_ns, e.probe_cpu_ns, e.rss_bytes, r.map_bytes,
       e.run IS NOT NULL AS complete, COALESCE(e.horizon, 'unknown: the run is incomplete') AS horizon
FROM ask JOIN run r ON r.run = ask.run LEFT JOIN run_end e ON e.run = r.run;

-- Layers that --layers left out: their probes exist and could be attached. Their absence is no fault.
CREATE TEMP TABLE v_left_out AS
SELECT l.name AS layer FROM v_run r JOIN layer l
WHERE NOT listed(l.name, r.layers)
  AND EXISTS (SELECT 1 FROM probe p WHERE p.run = r.run AND p.layer = l.name
                                      AND (p.chosen OR p.reason = 'layer not asked for'))
  AND NOT EXISTS (SELECT 1 FROM probe p WHERE p.run = r.run AND p.name = 'layer__' || l.name);

-- Reasons why a layer that was asked for was not measured: the program that counts its bytes, and the kernel's error.
-- owners: the reason why no owner of device bytes is known.
CREATE TEMP TABLE v_unmeasured AS
SELECT substr(p.name, 8) AS layer, p.reason FROM ask JOIN probe p ON p.run = ask.run
WHERE p.name GLOB 'layer__*' OR p.name = 'block__owners';

-- Layers that were measured in each run. A layer that was not is NULL: a product with it becomes NULL, which prints as
-- n/a. device: bytes that devices completed are known; block: their owners too.
CREATE TEMP VIEW v_run_measured AS
WITH had AS (SELECT r.run, r.layers,
                    EXISTS (SELECT 1 FROM ledger g WHERE g.run = r.run) AND listed('syscall', r.layers)
                        AND listed('cache', r.layers) AND listed('fs', r.layers) AS some FROM run r)
SELECT run, measured('syscall', layers) AS syscall, measured('uring', layers) AS uring,
       measured('cache', layers) AS cache, measured('fs', layers) AS fs, measured('block', layers) AS device,
       iif(EXISTS (SELECT 1 FROM probe p WHERE p.run = had.run AND p.name = 'block__owners'), NULL,
           measured('block', layers)) AS block,
       measured('net', layers) AS net, NULLIF(EXISTS (SELECT 1 FROM v_kind k CROSS JOIN agg_total t
           ON t.run = had.run AND t.kind = k.id WHERE k.layer = 'vfs'), 0) AS vfs, NULLIF(some, 0) AS some_ledger,
       NULLIF(some AND NOT EXISTS (SELECT 1 FROM v_run_spoilt s
                                   WHERE s.run = had.run AND s.class = 'ledger' AND s.effect <> 'owner'), 0) AS ledger
FROM had;

CREATE TEMP TABLE v_measured AS
SELECT m.* FROM ask JOIN v_run_measured m ON m.run = ask.run;

-- Payload that clients had acknowledged, always one row. owner_system: the system that the ledger names, where the run
-- knows it: only its processes are divided by the payload. Else all processes are, or those of --system. N: payload on
-- client links, in either direction. intended: L times the redundancy R that was asked for. note: in words, for ratios.
-- formula_N: the formula of the network's ratios.
CREATE TEMP TABLE v_load AS
WITH g AS (SELECT given.*, logical_write_bytes AS L, logical_read_bytes AS L_r, NULLIF(shares, 0) AS k
           FROM ask LEFT JOIN given)
SELECT g.system,
       (SELECT p.system FROM ask JOIN process p ON p.run = ask.run
        WHERE g.system IS NOT NULL AND p.system IN (g.system, (SELECT a.name FROM alias a WHERE a.alias = g.system))
        LIMIT 1) AS owner_system,
       L, L_r, devices, COALESCE(L, 0) + COALESCE(L_r, 0) AS N, copies * 1.0 / k AS R,
       iif(L * copies % k = 0, L * copies / k, L * 1.0 * copies / k) AS intended,
       CASE WHEN COALESCE(L_r, 0) = 0 THEN 'L' WHEN COALESCE(L, 0) = 0 THEN 'L_r' ELSE '(L + L_r)' END AS formula_N,
       g.system IS NOT NULL OR g.copies IS NOT NULL AS has_ledger,
       COALESCE('devices ' || devices, '') || iif(errors > 0 AND devices IS NOT NULL, '; ', '')
           || iif(errors > 0, 'the load had errors' || COALESCE(': ' || error, ''), '') AS note
FROM g;

CREATE TEMP VIEW v_lost AS
SELECT l.layer, l.what, l.effect, l.n FROM ask JOIN lost l ON l.run = ask.run WHERE l.n > 0;

CREATE TEMP VIEW v_lost_text AS
SELECT COALESCE(group_concat(n || ' x ' || layer || ': ' || what || ' (' || effect || ')', '; '), 'nothing') AS lost
FROM v_lost;

-- Sentences on lost records, where the list of them is printed elsewhere. Events that had all waited in the ring take
-- no more than 128 bytes each there. A ring is a power of two, and 1 GiB at most.
CREATE TEMP VIEW v_lost_words AS
WITH n AS (SELECT SUM(n) AS n, COUNT(DISTINCT layer) AS layers, group_concat(DISTINCT layer) AS layer,
                  SUM(n) FILTER (WHERE effect = 'events') AS events FROM v_lost),
     ring AS (SELECT CAST(pow(2, ceil(log2(16777216 + 128.0 * events))) AS INTEGER) AS bytes FROM n)
SELECT printf('%d record%s of %s that were lost', n.n, iif(n.n = 1, '', 's'),
              iif(n.layers = 1, 'layer ' || n.layer, 'layers ' || replace(n.layer, ',', ', ')))
       || iif(n.events > 0, iif(r.bytes <= 1073741824, printf(' (--ring %dM had held the events', r.bytes / 1048576),
                                ' (no --ring holds so many events') || '; sums need none: --no-events)', '') AS text
FROM n JOIN ring r WHERE n.n > 0;

-- Classes of volumes that lost records spoilt in each run, and how. way: only of lines that used io_uring (uring) or
-- libaio (aio). A loss that no row knows may have spoilt any class.
CREATE TEMP VIEW v_run_spoilt AS
SELECT DISTINCT l.run, x.class, l.effect, CASE WHEN x.what <> l.what THEN NULL WHEN l.layer = 'uring' THEN 'uring'
                                               WHEN l.what LIKE 'libaio%' THEN 'aio' END AS way
FROM lost l JOIN loss x ON x.layer = l.layer AND x.what = l.what
     OR NOT EXISTS (SELECT 1 FROM loss k WHERE k.layer = l.layer AND k.what = l.what)
WHERE l.n > 0 AND x.class IS NOT NULL;

CREATE TEMP TABLE v_spoilt AS
SELECT s.class, s.effect, s.way FROM ask JOIN v_run_spoilt s ON s.run = ask.run;

-- Why the run has no events, where it has none.
CREATE TEMP VIEW v_no_events AS
SELECT 'needs ' || iif(only IS NOT NULL, 'all ', '') || 'events, and '
       || CASE WHEN only IS NOT NULL THEN 'the run recorded only those with ' || only
               WHEN pruned THEN 'those of the run were pruned'
               WHEN tier = 'light' THEN 'the run was recorded with --light'
               ELSE 'the run recorded none' END AS text
FROM v_run WHERE events = 0;

-- Why the run has no dirty ledger, where that is not because the store has none.
CREATE TEMP VIEW v_no_ledger AS
SELECT CASE WHEN events = 0 THEN (SELECT text FROM v_no_events)
            WHEN NOT (listed('syscall', layers) AND listed('cache', layers) AND listed('fs', layers))
            THEN 'needs layers syscall, cache and fs'
            WHEN EXISTS (SELECT 1 FROM v_spoilt WHERE class = 'ledger' AND effect = 'events')
            THEN 'needs all events, and some were lost' END AS text
FROM v_run;

-- Is every event there that counts bytes of file systems?
CREATE TEMP VIEW v_events AS
SELECT events <> 0 AND listed('fs', layers) AND NOT EXISTS (SELECT 1 FROM v_spoilt WHERE class = 'parts') AS whole
FROM v_run;

CREATE TEMP TABLE v_device AS
SELECT d.*, d.name AS device, d.size AS size_bytes FROM ask JOIN device d ON d.run = ask.run;

-- Lines of the head for some reports only: a view that such a report names adds one.
CREATE TEMP TABLE v_head_more(ord REAL PRIMARY KEY, line TEXT);

-- The lines printed above every text report.
CREATE TEMP VIEW v_head AS
SELECT 1 AS ord, printf('run %d%s on %s, Linux %s, %s%s%s', run, COALESCE(' (' || label || ')', ''), host, kernel,
                        started, COALESCE(printf(', %.3f s', dur_ns / 1e9), ''), COALESCE(': ' || command, '')) AS line
FROM v_run
UNION ALL
SELECT 2, CASE r.horizon WHEN 'after_sync' THEN 'counted until all was written back ('
                         WHEN 'at_ack' THEN 'counted until calls had returned ('
                         WHEN 'after_checkpoint' THEN 'counted until the journal, too, was written to its places ('
                         ELSE ''
               END || 'horizon ' || r.horizon || iif(r.complete, ')', '') || '; lost: ' || l.lost
           || COALESCE('; tier ' || NULLIF(r.tier, 'full'), '') || COALESCE('; only ' || r.filters, '')
FROM v_run r JOIN v_lost_text l
UNION ALL
SELECT 2.5, 'recorded with --light: owners are known by file; n/a are D, the page cache, readahead, queue times and '
            || 'what each call put into journals'
FROM v_run WHERE tier = 'light'
UNION ALL
SELECT 2.6, 'events were recorded only with ' || only || ': sums have every operation, what needs all events is n/a'
FROM v_run WHERE only IS NOT NULL
UNION ALL
SELECT 3, iif(horizon = 'at_ack', printf('nothing was settled: %s still dirty in the whole machine',
                                         COALESCE(dirty_bytes || ' bytes were', 'an unknown number of bytes was')),
              'the run is incomplete: what follows ends at its last whole second')
FROM v_run WHERE horizon NOT IN ('after_sync', 'after_checkpoint')
UNION ALL
SELECT ord, line FROM v_head_more
UNION ALL
SELECT 4, printf('merged: sums by second were moved by whole seconds, up to %.3f s beside their time', MAX(beside))
FROM (SELECT abs(begin_ns / 1e9 - round(begin_ns / 1e9)) AS beside FROM ask JOIN node n ON n.run = ask.run)
HAVING MAX(beside) >= 0.0005;

-- All runs of the store.
CREATE TEMP VIEW v_runs AS
SELECT r.run, r.label, r.host, r.kernel, strftime('%Y-%m-%dT%H:%M:%SZ', r.wall_ns / 1000000000, 'unixepoch') AS started,
       e.dur_ns / 1e9 AS seconds, e.horizon, e.status, iif(r.events = 1 OR r.only IS NOT NULL, e.events, 0) AS events,
       (SELECT COALESCE(SUM(l.n), 0) FROM lost l WHERE l.run = r.run) AS lost,
       iif(e.run IS NULL, 'incomplete', 'complete') AS state, r.command
FROM run r LEFT JOIN run_end e ON e.run = r.run;

-- The hosts of a merged run, and the bytes that the processes of each moved; a run of one host has one row.
CREATE TEMP VIEW v_host AS
WITH moved AS MATERIALIZED (
       SELECT p.host, sum_if(c.amount, c.sym = 'S') AS S, sum_if(c.amount, c.sym = 'S_r') AS S_r,
              sum_if(c.amount, c.sym = 'B') AS B, sum_if(c.amount, c.sym = 'B_r') AS B_r,
              sum_if(c.amount, c.sym = 'uring_calls') AS rings
       FROM v_piece c JOIN v_process p ON p.id = c.stand
       WHERE c.stand > 2 AND c.sym IN ('S', 'S_r', 'B', 'B_r', 'uring_calls') GROUP BY p.host),
     part AS MATERIALIZED (
       SELECT n.node, n.host, n.host AS name, n.label, n.kernel, n.filters, n.begin_ns, n.dur_ns, n.clock_ns,
              n.clock_error_ns, n.clock_from FROM ask JOIN node n ON n.run = ask.run)
SELECT n.node, n.host, n.label, n.kernel, n.filters, n.begin_ns / 1e9 AS begin_s, n.dur_ns / 1e9 AS seconds,
       n.clock_ns / 1e6 AS clock_ms, n.clock_error_ns / 1e6 AS error_ms, n.clock_from AS clock,
       COALESCE(m.S, 0) * c.calls AS S, COALESCE(m.S_r, 0) * c.calls AS S_r, COALESCE(m.B, 0) * c.block AS B,
       COALESCE(m.B_r, 0) * c.block AS B_r
FROM (SELECT * FROM part
      UNION ALL
      SELECT 1, r.host, NULL, r.label, r.kernel, r.filters, 0, r.dur_ns, 0, 0, 'the run is one host''s'
      FROM v_run r WHERE NOT EXISTS (SELECT 1 FROM part)) n
LEFT JOIN moved m ON m.host IS n.name
JOIN (SELECT block, CASE WHEN uring OR NOT EXISTS (SELECT 1 FROM moved WHERE rings > 0) THEN syscall END AS calls
      FROM v_measured) c;
