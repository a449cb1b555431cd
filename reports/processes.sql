-- SPDX-License-Identifier: GPL-3.0-only
-- title: Memory, processor time and I/O of processes, sampled
-- no picture: samples are few and far between; timeline draws bytes by time
-- caption: Of the samples that iot-trace --sample-processes took: first and last second, largest resident memory, \
-- caption: most threads, processor time between first and last (cpu: of one processor), and bytes that the kernel \
-- caption: charged to the process on storage (/proc/PID/io). One that ended between two samples has no last one. \
-- caption: Without that option there is none.

-- table: processes
SELECT comm, pid, system, COUNT(*) AS samples, MIN(ts_ns) / 1e9 AS first_s, MAX(ts_ns) / 1e9 AS last_s,
       MAX(rss_bytes) AS rss_most, MAX(threads) AS threads,
       (MAX(user_ns) - MIN(user_ns)) / 1e9 AS user_s, (MAX(system_ns) - MIN(system_ns)) / 1e9 AS system_s,
       (MAX(user_ns + system_ns) - MIN(user_ns + system_ns)) * 1.0 / NULLIF(MAX(ts_ns) - MIN(ts_ns), 0) AS cpu,
       MAX(read_bytes) - MIN(read_bytes) AS read, MAX(write_bytes) - MIN(write_bytes) AS written
FROM v_sample GROUP BY owner
ORDER BY MAX(rss_bytes) DESC, owner;

-- table: samples
SELECT comm, pid, ts_ns / 1e9 AS second, state, threads, rss_bytes AS rss, user_ns / 1e9 AS user_s,
       system_ns / 1e9 AS system_s,
       (user_ns + system_ns - cpu_before_ns) * 1.0 / NULLIF(ts_ns - before_ns, 0) AS cpu,
       read_bytes AS read, write_bytes AS written
FROM v_sample ORDER BY owner, ts_ns;
