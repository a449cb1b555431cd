-- SPDX-License-Identifier: GPL-3.0-only
-- second.sql: Time.

-- Bytes a second, only what timelines need, for every second of the run.
CREATE TEMP VIEW v_timeline AS
WITH RECURSIVE piece AS MATERIALIZED (
       SELECT a.sec, a.ops, a.bytes, n.sym,
              iif(n.sym = 'B', CASE c.name WHEN 'direct' THEN 'data' ELSE c.name END, NULL) AS cause
       FROM ask JOIN agg a ON a.run = ask.run JOIN cause c ON c.id = a.cause
       LEFT JOIN v_device d ON d.dev = a.dev LEFT JOIN v_process p ON p.id = a.owner
       LEFT JOIN v_counts n ON n.kind = a.kind AND n.sym IN ('S', 'S_r', 'B', 'B_r', 'flushes')
            AND volume_has(n.row, a.cause, a.sub, a.flags, COALESCE(d.leaf, 1))
       WHERE a.owner NOT IN (1, 2) AND (ask.system IS NULL OR p.system = ask.system)),
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

-- What devices wrote by second and part, for pictures. File data of known components is in the second in which the file
-- system submitted it: requests of the block layer may hold several files. B_data without it is the rest. A second's
-- difference of the two may be negative, while submitted bytes are under way or because aggregates are read a little
-- after the second: the rest up to a second is then what is left of it at every later one, so that all parts sum to the
-- B of the run. Without complete events all is the rest.
CREATE TEMP VIEW v_second_part AS
WITH line AS MATERIALIZED (SELECT * FROM v_second),
     io AS MATERIALIZED (
       SELECT min(e.ts_ns / 1000000000, (SELECT MAX(sec) FROM line)) AS sec, COALESCE(n.name, f.component) AS part,
              SUM(e.bytes) AS bytes
       FROM ask CROSS JOIN event e ON e.run = ask.run
       LEFT JOIN v_process p ON p.id = e.owner
       LEFT JOIN v_file_name f ON f.id = e.file
       LEFT JOIN component n ON n.id = e.component
       WHERE ask.plot AND (SELECT whole FROM v_events) AND e.kind = (SELECT id FROM kind WHERE name = 'fs_write')
         AND e.cause IN (SELECT id FROM cause WHERE name IN ('data', 'direct')) AND COALESCE(e.owner, 0) NOT IN (1, 2)
         AND (ask.system IS NULL OR p.system = ask.system) AND COALESCE(n.name, f.component) IS NOT NULL
       GROUP BY 1, 2),
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
