-- SPDX-License-Identifier: GPL-3.0-only
-- title: Hosts of a merged run
-- no picture: it lists hosts; --by host gives every report a line a host
-- caption: begin_s: since the start of the merged run, by the clock of its first host. clock_ms: how far a host's clock is ahead of that of the
-- caption: first host; its times were set back by so much. error_ms: by which that may be wrong in either direction, n/a where it is not known. Sums
-- caption: by second are moved by whole seconds. S, S_r, B, B_r: of its processes, whatever --system says.

-- table: hosts
WITH moved AS MATERIALIZED (
       SELECT p.host, sum_if(c.amount, c.sym = 'S') AS S, sum_if(c.amount, c.sym = 'S_r') AS S_r,
              sum_if(c.amount, c.sym = 'B') AS B, sum_if(c.amount, c.sym = 'B_r') AS B_r
       FROM v_piece c JOIN v_process p ON p.id = c.owner
       WHERE c.owner > 2 AND c.sym IN ('S', 'S_r', 'B', 'B_r')
       GROUP BY p.host)
SELECT n.host, n.label, n.kernel, n.filters, n.begin_ns / 1e9 AS begin_s, n.dur_ns / 1e9 AS seconds, n.clock_ns / 1e6 AS clock_ms,
       n.clock_error_ns / 1e6 AS error_ms, n.clock_from AS clock, COALESCE(m.S, 0) * v.syscall AS S, COALESCE(m.S_r, 0) * v.syscall AS S_r,
       COALESCE(m.B, 0) * v.block AS B, COALESCE(m.B_r, 0) * v.block AS B_r
FROM ask JOIN node n ON n.run = ask.run JOIN v_measured v LEFT JOIN moved m ON m.host = n.host
ORDER BY n.node;
