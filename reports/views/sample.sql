-- SPDX-License-Identifier: GPL-3.0-only
-- sample.sql: Samples of processes at intervals (iot-trace --sample-processes).

CREATE TEMP VIEW v_sample AS
SELECT s.owner, p.comm, p.pid, p.system, s.ts_ns, s.state, s.threads, s.rss_bytes, s.user_ns, s.system_ns,
       s.read_bytes, s.write_bytes,
       LAG(s.ts_ns) OVER w AS before_ns, LAG(s.user_ns + s.system_ns) OVER w AS cpu_before_ns
FROM ask JOIN process_sample s ON s.run = ask.run LEFT JOIN process p ON p.run = s.run AND p.id = s.owner
WINDOW w AS (PARTITION BY s.owner ORDER BY s.ts_ns, s.rowid);
