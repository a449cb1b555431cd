-- SPDX-License-Identifier: GPL-3.0-only
-- line.sql: Processes, and the line of a report on which each owner is shown.

CREATE TEMP VIEW v_process AS
SELECT * FROM process WHERE run = (SELECT run FROM ask);

-- The sums of the run, read in the order of the table: looking for each row by the index is expensive. Where there are
-- other runs, the index gives the first and the last row of this one.
CREATE TEMP TABLE v_range AS
SELECT run, iif(one, (SELECT MIN(rowid) FROM agg_total), (SELECT MIN(rowid) FROM agg_total WHERE run = ask.run)) AS low,
       iif(one, (SELECT MAX(rowid) FROM agg_total), (SELECT MAX(rowid) FROM agg_total WHERE run = ask.run)) AS high
FROM ask JOIN (SELECT COUNT(*) = 1 AS one FROM run);
CREATE TEMP VIEW v_run_total AS
SELECT t.* FROM v_range r CROSS JOIN agg_total t NOT INDEXED ON t.rowid BETWEEN r.low AND r.high AND t.run = r.run;

-- Every owner of anything, and the bytes of its aggregates: not the bytes that it moved, but a measure of how much
-- there is to report about it.
CREATE TEMP TABLE v_seen(owner INTEGER PRIMARY KEY, bytes INTEGER);
INSERT INTO temp.v_seen
SELECT c0, c1 FROM (SELECT fold(1, owner, bytes, 0) AS rows FROM v_run_total), unfold(rows);
INSERT OR IGNORE INTO temp.v_seen
SELECT c0, 0 FROM (SELECT fold(1, g.owner, 0) AS rows FROM ask JOIN ledger g ON g.run = ask.run
                   UNION ALL SELECT fold(1, i.owner, 0) FROM ask JOIN file_io i ON i.run = ask.run
                   UNION ALL SELECT fold(1, f.owner, 0) FROM ask JOIN flow f ON f.run = ask.run), unfold(rows);

-- Types of lines, their order, and the names of those of which there is one.
CREATE TEMP TABLE v_what(what TEXT PRIMARY KEY, rank INTEGER, who TEXT) WITHOUT ROWID;
INSERT INTO temp.v_what VALUES
       ('run', 1, 'all processes'), ('system', 1, NULL), ('host', 1, NULL), ('group', 1, NULL), ('carrier', 2, NULL),
       ('process', 2, NULL), ('kthread', 3, NULL),
       ('all', 4, 'all traced'), ('unattributed', 5, 'unattributed'), ('other', 6, 'other processes'),
       ('self', 7, 'iot-trace itself'), ('total', 8, 'total');

-- Each owner and the line on which it is shown: owners 0, 1 and 2 and kernel threads have lines of their own, always;
-- of the others the 500 lines with the most bytes have, the rest share one. A process that was folded is on the line of
-- the row that stands for it. Lines are looked up by their number for every aggregate. stand: the first of the owners
-- on its line that no report separates from it (a FUSE daemon is separated from all), whose cells are those of all: a
-- line of many processes has no more cells than a line of one.
CREATE TEMP TABLE v_owner(owner INTEGER PRIMARY KEY, stand INTEGER, pid INTEGER, start_ns INTEGER, procs INTEGER,
                          comm TEXT, system TEXT, what TEXT, who TEXT, wanted INTEGER, shown INTEGER, gid TEXT);
INSERT INTO temp.v_owner
WITH seen AS (
       SELECT s.owner, s.bytes, p.pid, p.start_ns, p.comm, p.system, p.instance, p.role,
              p.container, p.host, p.cgroup, p.uid,
              p.user, ask.per,
              iif((SELECT COUNT(server) FROM device)
                  AND s.owner IN (SELECT d.server FROM ask JOIN device d USING (run)),
                  s.owner, p.id IS NOT NULL) AS known,
              iif(p.fold IS NULL, COALESCE(p.folded, 1), 0) AS procs,
              CASE WHEN s.owner <= 2 THEN '["unattributed", "self", "other"]' ->> s.owner
                   WHEN ask.per = 'host' AND p.id IS NOT NULL THEN 'host' WHEN p.kthread THEN 'kthread'
                   WHEN ask.per IN ('all', 'carrier') THEN 'run'
                   WHEN ask.per IN ('container', 'cgroup', 'unit', 'user') AND p.id IS NOT NULL THEN 'group'
                   WHEN ask.per IN ('system', 'instance') AND p.system IS NOT NULL THEN 'system'
                   ELSE 'process' END AS what,
              iif(ask.per = 'pid', COALESCE(p.fold, s.owner), 0) AS part,
              s.owner > 2 AND (ask.system IS NULL OR p.system = ask.system) AS wanted, ask.system IS NULL AS unfiltered
       FROM ask JOIN v_seen s LEFT JOIN v_process p ON p.id = s.owner),
     named AS MATERIALIZED (
       SELECT s.*, CASE WHEN w.who IS NOT NULL THEN w.who
                        WHEN s.what = 'system'
                        THEN s.system || iif(s.per = 'instance', ' ' || COALESCE(s.instance, '(instance unknown)'), '')
                        WHEN s.what = 'group' THEN group_name(s.per, s.cgroup, s.container, s.uid, s.user)
                        WHEN s.what = 'host' THEN COALESCE(s.host, (SELECT host FROM v_run))
                        ELSE COALESCE(s.comm, 'process ' || s.owner || ', name lost') END AS who
       FROM seen s JOIN v_what w ON w.what = s.what),
     large AS MATERIALIZED (
       SELECT part, who FROM named WHERE what IN ('process', 'group') AND (wanted OR unfiltered)
       GROUP BY part, who ORDER BY TOTAL(bytes) DESC, who, part LIMIT 500),
     line AS MATERIALIZED (
       SELECT n.*, n.what IN ('process', 'group') AND (n.wanted OR n.unfiltered) AND l.who IS NULL AS small
       FROM named n LEFT JOIN large l ON n.what IN ('process', 'group') AND l.part = n.part AND l.who = n.who),
     placed AS (SELECT *, iif(small, 'process:rest:', what || ':' || part || ':' || who) AS gid FROM line)
SELECT owner, MIN(owner) OVER (PARTITION BY gid, wanted, system, instance, role, container, host, known),
       pid, start_ns, procs, comm, system, what, iif(small, '(the rest)', who), wanted,
       wanted OR (unfiltered AND owner <= 2), gid
FROM placed;

CREATE TEMP TABLE v_group AS
SELECT o.gid, o.what, o.who, MAX(o.shown) AS shown,
       CASE WHEN w.rank >= 5 OR COUNT(pid) = 0 THEN ''
            WHEN MAX(procs) <= 1 AND MIN(pid) = MAX(pid) AND MIN(start_ns) = MAX(start_ns) THEN CAST(MIN(pid) AS TEXT)
            ELSE (COUNT(DISTINCT pid || '/' || start_ns) FILTER (WHERE procs > 0) + sum_if(procs - 1, procs > 1))
                || ' procs' END AS pid, w.rank
FROM v_owner o JOIN v_what w ON w.what = o.what GROUP BY o.gid
UNION ALL
SELECT 'carrier:' || c.name, w.what, c.name, 1, '', w.rank
FROM (SELECT DISTINCT t.carrier FROM ask CROSS JOIN v_run_total t WHERE ask.per = 'carrier') t
JOIN carrier c ON c.id = t.carrier JOIN v_what w ON w.what = 'carrier';
CREATE UNIQUE INDEX temp.v_group_gid ON v_group(gid);

-- The lines to which bytes of each line are added: its own, and `all`, which is every process and kernel thread.
CREATE TEMP TABLE v_sums_to(gid TEXT, line TEXT, PRIMARY KEY(gid, line)) WITHOUT ROWID;
INSERT INTO temp.v_sums_to
SELECT gid, gid FROM v_group UNION ALL SELECT gid, 'all:' FROM v_group WHERE rank < 4;
