-- SPDX-License-Identifier: GPL-3.0-only
-- second.sql: Time.

-- The rows that a timeline sums, by second: the sums that were kept when the run ended, where they exist and sum to the
-- whole; else every aggregate, which may be a million. Only aggregates have carriers.
CREATE TEMP VIEW v_by_second_sql AS
WITH kept AS (SELECT COUNT(*) AS n, TOTAL(s.ops) AS ops, TOTAL(s.bytes) AS bytes
              FROM ask JOIN agg_second s ON s.run = ask.run),
     whole AS (
       SELECT TOTAL(ops) AS ops, TOTAL(bytes) AS bytes FROM v_run_total
       WHERE owner NOT IN (1, 2)
         AND kind IN (SELECT kind FROM volume WHERE sym IN ('S', 'S_r', 'B', 'B_r', 'flushes')))
SELECT 'CREATE TEMP VIEW v_by_second AS
SELECT rowid AS place, run, sec, kind, owner, dev, cause, sub, flags, ops, bytes, ' || a.carrier || ' AS carrier FROM '
       || iif(k.n > 0 AND k.ops = w.ops AND k.bytes = w.bytes AND a.carrier = 'NULL', 'agg_second', 'agg')
FROM kept k JOIN whole w JOIN (SELECT iif(per = 'carrier', 'carrier', 'NULL') AS carrier FROM ask) a;

-- Pieces of tables of millions of rows, at most a thousand, from rowid `low` to `high`: each is folded by itself, so
-- that no answer of fold() is long.
CREATE TEMP TABLE v_agg_range AS
WITH whole(low, last) AS (SELECT (SELECT MIN(place) FROM v_by_second), (SELECT MAX(place) FROM v_by_second)),
     cut AS (SELECT low, last, max((last - low) / 1000 + 1, 10000) AS size FROM whole)
SELECT low + n * size AS low, low + (n + 1) * size - 1 AS high FROM cut JOIN v_number ON low + n * size <= last;

-- Pieces of the table of events, only where events are asked for.
CREATE TEMP TABLE v_event_range AS
WITH whole(low, last) AS (
       SELECT (SELECT MIN(rowid) FROM event), (SELECT MAX(rowid) FROM event) FROM ask
       WHERE plot OR :step IS NOT NULL OR :by = 'component'),
     cut AS (SELECT low, last, max((last - low) / 1000 + 1, 10000) AS size FROM whole)
SELECT low + n * size AS low, low + (n + 1) * size - 1 AS high FROM cut JOIN v_number ON low + n * size <= last;

-- Owners that --system names.
CREATE TEMP TABLE v_wanted_owner(owner INTEGER PRIMARY KEY);
INSERT INTO temp.v_wanted_owner SELECT p.id FROM ask JOIN v_process p ON p.system = ask.system;

-- Bytes a second, only what timelines need, for every second of the run.
CREATE TEMP TABLE v_second AS
WITH RECURSIVE folded AS MATERIALIZED (
       SELECT (SELECT fold(6, a.sec, a.kind, a.dev, a.cause, a.sub, a.flags, a.ops, a.bytes, NULL)
               FROM v_by_second a WHERE a.place BETWEEN p.low AND p.high AND a.run = ask.run
                 AND a.owner NOT IN (1, 2)
                 AND (ask.system IS NULL OR a.owner IN (SELECT owner FROM v_wanted_owner))) AS rows
       FROM ask JOIN v_agg_range p),
     a AS MATERIALIZED (
       SELECT c0 AS sec, c1 AS kind, c2 AS dev, c3 AS cause, c4 AS sub, c5 AS flags, c6 AS ops, c7 AS bytes
       FROM folded, unfold(rows)),
     piece AS MATERIALIZED (
       SELECT a.sec, a.ops, a.bytes, n.sym,
              iif(n.sym = 'B', CASE c.name WHEN 'direct' THEN 'data' ELSE c.name END, NULL) AS cause
       FROM a JOIN cause c ON c.id = a.cause LEFT JOIN v_device d ON d.dev = a.dev
       LEFT JOIN v_counts n ON n.kind = a.kind AND n.sym IN ('S', 'S_r', 'B', 'B_r', 'flushes')
            AND volume_has(n.row, a.cause, a.sub, a.flags, COALESCE(d.leaf, 1))),
     sec(sec) AS (
       SELECT 0 WHERE EXISTS (SELECT 1 FROM piece)
       UNION ALL SELECT sec + 1 FROM sec WHERE sec < (SELECT MAX(sec) FROM piece) LIMIT 1000000)
SELECT sec, sum_if(bytes, sym = 'S') * m.syscall AS S, sum_if(bytes, sym = 'S_r') * m.syscall AS S_r,
       sum_if(bytes, cause = 'data') * m.block AS B_data, sum_if(bytes, cause = 'journal') * m.block AS B_journal,
       sum_if(bytes, cause = 'metadata') * m.block AS B_metadata,
       sum_if(bytes, cause NOT IN ('data', 'journal', 'metadata')) * m.block AS B_rest,
       sum_if(bytes, sym = 'B_r') * m.block AS B_r, sum_if(ops, sym = 'flushes') * m.block AS flushes
FROM (SELECT * FROM piece UNION ALL SELECT sec, 0, 0, NULL, NULL FROM sec) JOIN v_measured m
GROUP BY sec;

-- Components of files as numbers: text costs too much where each event is read.
CREATE TEMP TABLE v_file_part(file INTEGER PRIMARY KEY, part INTEGER);
INSERT INTO temp.v_file_part
SELECT f.id, c.number FROM v_file_name f JOIN v_file_component c ON c.name = f.component;

-- Bytes that devices wrote by second and part, for pictures. File data of known components is in the second in which
-- the file system submitted it: requests of the block layer may hold several files. B_data without it is the rest. A
-- second's difference of the two may be negative, while submitted bytes are under way, or because aggregates are read a
-- little after the second: the rest up to a second is then the least rest at any later second, so that all parts sum to
-- the B of the run. Without complete events all is the rest.
CREATE TEMP VIEW v_second_part AS
WITH line AS MATERIALIZED (SELECT * FROM v_second),
     last AS MATERIALIZED (SELECT MAX(sec) AS sec FROM line),
     folded AS MATERIALIZED (
       SELECT (SELECT fold(3, min(e.ts_ns / 1000000000, (SELECT sec FROM last)), e.component, f.part, e.bytes, NULL)
               FROM event e LEFT JOIN v_file_part f ON f.file = e.file
               WHERE e.rowid BETWEEN p.low AND p.high AND e.run = ask.run
                 AND e.kind = (SELECT id FROM kind WHERE name = 'fs_write')
                 AND e.cause IN (SELECT id FROM cause WHERE name IN ('data', 'direct'))
                 AND COALESCE(e.owner, 0) NOT IN (1, 2)
                 AND (ask.system IS NULL OR e.owner IN (SELECT owner FROM v_wanted_owner))) AS rows
       FROM ask JOIN v_event_range p WHERE ask.plot AND (SELECT whole FROM v_events)),
     io AS MATERIALIZED (
       SELECT e.c0 AS sec, COALESCE(n.name, f.name) AS part, SUM(e.c3) AS bytes
       FROM folded JOIN unfold(rows) e LEFT JOIN component n ON n.id = e.c1
       LEFT JOIN v_file_component f ON f.number = e.c2
       WHERE COALESCE(n.name, f.name) IS NOT NULL GROUP BY 1, 2),
     rest AS MATERIALIZED (
       SELECT sec, MIN(upto) OVER (ORDER BY sec DESC) AS upto
       FROM (SELECT l.sec, SUM(l.B_data - COALESCE(i.bytes, 0)) OVER (ORDER BY l.sec) AS upto
             FROM line l LEFT JOIN (SELECT sec, SUM(bytes) AS bytes FROM io GROUP BY sec) i ON i.sec = l.sec))
SELECT sec, part, bytes FROM io
UNION ALL
SELECT sec, iif(EXISTS (SELECT 1 FROM io), 'unclassified', 'file data'),
       max(upto, 0) - COALESCE(max(LAG(upto) OVER (ORDER BY sec), 0), 0)
FROM rest
UNION ALL SELECT sec, 'fs journal', B_journal FROM line
UNION ALL SELECT sec, 'fs metadata', B_metadata FROM line
UNION ALL SELECT sec, 'other', B_rest FROM line;
