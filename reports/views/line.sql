-- SPDX-License-Identifier: GPL-3.0-only
-- line.sql: Processes, and the line of a report on which each owner is shown.

CREATE TEMP TABLE v_process(id INTEGER PRIMARY KEY, pid INTEGER, start_ns INTEGER, ppid INTEGER, comm TEXT, exe TEXT,
    cmdline TEXT, cgroup TEXT,
       container TEXT, kthread INTEGER, system TEXT, role TEXT, matched TEXT, instance TEXT, rchar INTEGER,
       wchar INTEGER, folded INTEGER, fold INTEGER);
INSERT INTO temp.v_process
SELECT p.id, p.pid, p.start_ns, p.ppid, p.comm, p.exe, p.cmdline, p.cgroup, p.container, p.kthread, p.system, p.role,
       p.matched, p.instance, p.rchar, p.wchar, p.folded, p.fold
FROM ask JOIN process p ON p.run = ask.run;

-- Every owner of anything, and the bytes of its aggregates: not what it moved, but a measure of how much there is to
-- say about it.
CREATE TEMP TABLE v_seen(owner INTEGER PRIMARY KEY, bytes REAL);
INSERT INTO temp.v_seen
SELECT t.owner, TOTAL(t.bytes) FROM ask JOIN agg_total t ON t.run = ask.run GROUP BY t.owner;
INSERT OR IGNORE INTO temp.v_seen
SELECT g.owner, 0 FROM ask JOIN ledger g ON g.run = ask.run
UNION ALL
SELECT i.owner, 0 FROM ask JOIN file_io i ON i.run = ask.run
UNION ALL
SELECT f.owner, 0 FROM ask JOIN flow f ON f.run = ask.run;

-- Each owner and the line it is shown on: owner 0, 1 and 2 and kernel threads have lines of their own, always; of
-- others the 500 lines with the most bytes, the rest is one. stand: the owner whose cells are this one's too. A process
-- that was folded is on the line of the row that stands for it.
CREATE TEMP TABLE v_named AS
SELECT s.owner, s.bytes, p.pid, p.start_ns, p.comm, p.system, CASE WHEN p.fold IS NULL THEN COALESCE(p.folded, 1)
           ELSE 0 END AS procs,
       CASE WHEN s.owner = 0 THEN 'unattributed'
            WHEN s.owner = 1 THEN 'self'
            WHEN s.owner = 2 THEN 'other'
            WHEN p.kthread THEN 'kthread'
            WHEN ask.per = 'all' THEN 'run'
            WHEN ask.per IN ('system', 'instance') AND p.system IS NOT NULL THEN 'system'
            ELSE 'process' END AS what,
       CASE WHEN s.owner = 0 THEN 'unattributed'
            WHEN s.owner = 1 THEN 'iot-trace itself'
            WHEN s.owner = 2 THEN 'other processes'
            WHEN ask.per = 'all' AND NOT p.kthread THEN 'all processes'
            WHEN ask.per = 'system' AND p.system IS NOT NULL THEN p.system
            WHEN ask.per = 'instance' AND p.system IS NOT NULL THEN p.system || ' '
                || COALESCE(p.instance, '(instance unknown)')
            ELSE COALESCE(p.comm, 'process ' || s.owner || ', name lost') END AS who,
       CASE WHEN ask.per = 'pid' THEN COALESCE(p.fold, s.owner) ELSE 0 END AS part,
       s.owner > 2 AND (ask.system IS NULL OR p.system = ask.system) AS wanted,
       ask.system IS NULL AS unfiltered
FROM ask JOIN v_seen s LEFT JOIN v_process p ON p.id = s.owner;

CREATE TEMP TABLE v_large AS
SELECT part, who
FROM v_named
WHERE what = 'process' AND (wanted OR unfiltered)
GROUP BY part, who
ORDER BY TOTAL(bytes) DESC, who, part
LIMIT 500;
CREATE UNIQUE INDEX temp.v_large_line ON v_large(part, who);

-- By its number, which is looked up for every aggregate.
CREATE TEMP TABLE v_owner(owner INTEGER PRIMARY KEY, stand INTEGER, pid INTEGER, start_ns INTEGER, procs INTEGER,
    comm TEXT, system TEXT, what TEXT, who TEXT,
       wanted INTEGER, shown INTEGER, gid TEXT);
WITH line AS (
       SELECT n.*, n.what = 'process' AND (n.wanted OR n.unfiltered) AND l.who IS NULL AS small
       FROM v_named n LEFT JOIN v_large l ON n.what = 'process' AND l.part = n.part AND l.who = n.who)
INSERT INTO temp.v_owner
SELECT owner, CASE WHEN small THEN (SELECT MIN(owner) FROM line WHERE small) ELSE owner END, pid, start_ns, procs,
       comm, system, what, CASE WHEN small THEN '(the rest)' ELSE who END,
       wanted, wanted OR (unfiltered AND owner <= 2), CASE WHEN small THEN 'process:rest:' ELSE what || ':' || part
           || ':' || who END
FROM line;

CREATE TEMP TABLE v_group AS
SELECT gid, what, who, MAX(shown) AS shown,
       CASE WHEN what IN ('unattributed', 'self', 'other') THEN ''
            WHEN MAX(procs) <= 1 AND MIN(pid) = MAX(pid) AND MIN(start_ns) = MAX(start_ns) THEN CAST(MIN(pid) AS TEXT)
            WHEN COUNT(pid) = 0 THEN ''
            ELSE (COUNT(DISTINCT CASE WHEN procs > 0 THEN pid || '/' || start_ns END) + SUM(CASE WHEN procs > 1
                THEN procs - 1 ELSE 0 END)) || ' procs' END AS pid,
       CASE what WHEN 'run' THEN 1 WHEN 'system' THEN 1 WHEN 'process' THEN 2 WHEN 'kthread' THEN 3
                 WHEN 'unattributed' THEN 5 WHEN 'other' THEN 6 ELSE 7 END AS rank
FROM v_owner
GROUP BY gid;
CREATE UNIQUE INDEX temp.v_group_gid ON v_group(gid);
