-- SPDX-License-Identifier: GPL-3.0-only
-- run.sql: The run itself, what was measured and lost, devices, and what clients had acknowledged.
-- Views are what reports read: temporary views of one run of a store, some of them computed once (tables). METRICS
-- defines every number.
--
-- The query runner makes three tables first: `ask`, one row: run, per (system, instance, comm, pid or all), system
-- (NULL: all), plot (1: a picture is asked for; what only pictures need may cost); `alias`: alias, name of systems that
-- have other names too; and `given`, at most one row, as table `load` of the store: what clients had acknowledged. A
-- report may also use the parameters :run, :per, :system and :plot. To add a volume: a row in
-- stream/volumes.def; a ratio: a row in v_ratio_def. A view NAME_sql answers the text
-- that makes NAME.

-- The run itself. A layer that was not measured is NULL: what is multiplied with it becomes NULL, which prints as n/a.
CREATE TEMP TABLE v_run AS
SELECT r.run, r.label, r.host, r.kernel, r.machine, r.cpus, r.tool, r.command, r.filters, r.layers, r.tier, r.events,
       r.settle, r.latency, r.wall_ns, strftime('%Y-%m-%dT%H:%M:%SZ', r.wall_ns / 1000000000, 'unixepoch') AS started,
       e.dur_ns, e.status, e.dirty_bytes, e.self_cpu_ns, e.probe_cpu_ns, e.rss_bytes, r.map_bytes,
       e.run IS NOT NULL AS complete,
       COALESCE(e.horizon, 'unknown: the run is incomplete') AS horizon
FROM ask JOIN run r ON r.run = ask.run LEFT JOIN run_end e ON e.run = r.run;

-- Layers that --layers left out: their probes are there, and nothing is wrong with them. What is absent because of that
-- is no fault.
CREATE TEMP TABLE v_left_out AS
SELECT l.name AS layer
FROM ask JOIN run r ON r.run = ask.run JOIN layer l
WHERE ',' || r.layers || ',' NOT LIKE '%,' || l.name || ',%'
  AND EXISTS (SELECT 1 FROM probe p WHERE p.run = r.run AND p.layer = l.name
      AND (p.chosen OR p.reason = 'layer not asked for'));

CREATE TEMP TABLE v_measured AS
SELECT CASE WHEN ',' || r.layers || ',' LIKE '%,syscall,%' THEN 1 END AS syscall,
       CASE WHEN ',' || r.layers || ',' LIKE '%,uring,%' THEN 1 END AS uring,
       CASE WHEN ',' || r.layers || ',' LIKE '%,cache,%' THEN 1 END AS cache,
       CASE WHEN ',' || r.layers || ',' LIKE '%,fs,%' THEN 1 END AS fs,
       CASE WHEN ',' || r.layers || ',' LIKE '%,block,%' THEN 1 END AS block,
       CASE WHEN ',' || r.layers || ',' LIKE '%,net,%' THEN 1 END AS net,
       CASE WHEN EXISTS (SELECT 1 FROM layer l CROSS JOIN kind k ON k.layer = l.id CROSS
           JOIN agg_total t ON t.run = ask.run AND t.kind = k.id
                         WHERE l.name = 'vfs') THEN 1 END AS vfs,
       CASE WHEN EXISTS (SELECT 1 FROM ledger g WHERE g.run = ask.run) THEN 1 END AS some_ledger,
       CASE WHEN EXISTS (SELECT 1 FROM ledger g WHERE g.run = ask.run)
             AND NOT EXISTS (SELECT 1 FROM lost x WHERE x.run = ask.run AND x.n > 0 AND x.effect IN ('events', 'bytes')
                             AND x.layer IN ('syscall', 'uring', 'cache', 'fs', 'all')) THEN 1 END AS ledger
FROM ask JOIN run r ON r.run = ask.run;

-- What clients had acknowledged, always one row. owner_system: the system that the ledger names, where the run knows
-- it: its processes alone are divided by the payload. Else everybody is, or whom --system names. N: payload on client
-- links, in either direction. intended: L times the redundancy R that was asked for. note: in words, for ratios.
-- formula_N: how the ratios of the network are written.
CREATE TEMP TABLE v_load AS
SELECT g.system,
       (SELECT p.system FROM process p
        WHERE g.system IS NOT NULL AND p.run = ask.run
          AND p.system IN (g.system, (SELECT a.name FROM alias a WHERE a.alias = g.system)) LIMIT 1) AS owner_system,
       g.logical_write_bytes AS L, g.logical_read_bytes AS L_r, g.devices,
       COALESCE(g.logical_write_bytes, 0) + COALESCE(g.logical_read_bytes, 0) AS N,
       g.copies * 1.0 / NULLIF(g.shares, 0) AS R,
       CASE WHEN g.logical_write_bytes * g.copies % NULLIF(g.shares, 0) = 0
           THEN g.logical_write_bytes * g.copies / g.shares
            ELSE g.logical_write_bytes * 1.0 * g.copies / NULLIF(g.shares, 0) END AS intended,
       CASE WHEN COALESCE(g.logical_read_bytes, 0) = 0 THEN 'L' WHEN COALESCE(g.logical_write_bytes, 0) = 0 THEN 'L_r'
           ELSE '(L + L_r)' END AS formula_N,
       g.system IS NOT NULL AS has_ledger,
       CASE WHEN g.devices IS NOT NULL THEN 'devices ' || g.devices ELSE '' END ||
       CASE WHEN g.errors > 0 AND g.devices IS NOT NULL THEN '; ' ELSE '' END ||
       CASE WHEN g.errors > 0 THEN 'the load had errors' || COALESCE(': ' || g.error, '') ELSE '' END AS note
FROM ask LEFT JOIN given g;

CREATE TEMP VIEW v_lost AS
SELECT l.layer, l.what, l.effect, l.n
FROM ask JOIN lost l ON l.run = ask.run
WHERE l.n > 0;

CREATE TEMP VIEW v_lost_text AS
SELECT COALESCE(group_concat(n || ' x ' || layer || ': ' || what || ' (' || effect || ')', '; '), 'nothing') AS lost
FROM v_lost;

-- Whether every event is there that says what file systems moved.
CREATE TEMP VIEW v_events AS
SELECT r.events <> 0 AND ',' || r.layers || ',' LIKE '%,fs,%' AND NOT EXISTS (
       SELECT 1 FROM v_lost WHERE effect IN ('events', 'bytes') AND layer IN ('fs', 'block', 'all')) AS whole
FROM v_run r;

CREATE TEMP TABLE v_device AS
SELECT d.dev, MIN(d.name) AS device, MIN(d.type) AS type, MAX(d.leaf) AS leaf, MIN(d.parent) AS parent,
       MIN(d.rotational) AS rotational, MAX(d.size) AS size_bytes, MIN(d.fs) AS fs, MIN(d.options) AS options,
       MIN(d.mount) AS mount
FROM ask JOIN device d ON d.run = ask.run
GROUP BY d.dev;

-- The lines printed above every text report.
CREATE TEMP VIEW v_head AS
SELECT 1 AS ord, 'run ' || run || CASE WHEN label IS NULL THEN '' ELSE ' (' || label || ')' END || ' on ' || host
           || ', Linux ' || kernel ||
       ', ' || started || COALESCE(printf(', %.3f s', dur_ns / 1e9), '') || COALESCE(': ' || command, '') AS line
FROM v_run
UNION ALL
SELECT 2, 'horizon ' || r.horizon || '; lost: ' || l.lost || CASE r.tier WHEN 'full' THEN '' ELSE '; tier '
           || r.tier END || CASE WHEN r.filters IS NULL THEN '' ELSE '; only ' || r.filters END
FROM v_run r JOIN v_lost_text l
UNION ALL
SELECT 3, CASE WHEN horizon = 'at_ack' THEN 'nothing was settled: '
           || COALESCE(dirty_bytes || ' bytes were', 'an unknown number of bytes was') ||
       ' still dirty in the whole machine' ELSE 'the run is incomplete: what follows ends at its last whole second' END
FROM v_run
WHERE horizon NOT IN ('after_sync', 'after_checkpoint');

-- All runs of the store.
CREATE TEMP VIEW v_runs AS
SELECT r.run, r.label, r.host, r.kernel, strftime('%Y-%m-%dT%H:%M:%SZ', r.wall_ns / 1000000000, 'unixepoch') AS started,
       e.dur_ns / 1e9 AS seconds, e.horizon, e.status, COALESCE(e.events, 0) AS events,
       (SELECT COALESCE(SUM(l.n), 0) FROM lost l WHERE l.run = r.run) AS lost,
       CASE WHEN e.run IS NULL THEN 'incomplete' ELSE 'complete' END AS state, r.command
FROM run r LEFT JOIN run_end e ON e.run = r.run;
