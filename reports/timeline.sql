-- SPDX-License-Identifier: GPL-3.0-only
-- title: Timeline: bytes a second, as applications and devices saw them
-- caption: Without the bytes of the tracer and of other processes. B is on leaf devices.

-- table: timeline
WITH RECURSIVE t AS MATERIALIZED (SELECT * FROM v_second),
     sec(sec) AS (SELECT 0 UNION ALL SELECT sec + 1 FROM sec WHERE sec < (SELECT MAX(sec) FROM t) LIMIT 1000000)
SELECT s.sec, COALESCE(t.S, 0) * m.syscall AS S, COALESCE(t.S_r, 0) * m.syscall AS S_r, COALESCE(t.B_data, 0) * m.block AS B_data,
       COALESCE(t.B_journal, 0) * m.block AS B_journal, COALESCE(t.B_metadata, 0) * m.block AS B_metadata, COALESCE(t.B_rest, 0) * m.block AS B_rest,
       COALESCE(t.B_r, 0) * m.block AS B_r, COALESCE(t.flushes, 0) * m.block AS flushes
FROM sec s JOIN v_measured m LEFT JOIN t ON t.sec = s.sec
WHERE EXISTS (SELECT 1 FROM t)
ORDER BY s.sec;
