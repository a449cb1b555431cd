-- SPDX-License-Identifier: GPL-3.0-only
-- title: io_uring: requests by opcode, by file, and by how they ran
-- none: No request of io_uring completed, or layer uring was not recorded.
-- no picture: latency has the durations of requests that read, write and sync
-- caption: ran: inline by the thread that submitted the request, sqpoll by the polling thread of the ring, poll \
-- caption: after it waited for its file, worker by a worker of io_uring, cancelled not at all. why: the reason \
-- caption: for a worker, known where the run was recorded with --layers uring, or all. A request has several \
-- caption: completions where it is multishot; its latency, from submission to the last completion, is then how \
-- caption: long it was armed. Bytes of sends and receives are those of layer net again. Opcodes have the names \
-- caption: of the kernel that ran them.
-- main: requests

-- table: requests: By opcode, file and how it ran (from events; the 100 parts with most requests)
-- first: opcode path ran why requests completions bytes errors p50_us p99_us who
SELECT COALESCE(n.name, CAST(p.op AS TEXT)) || iif(p.source, ' (source)', '') AS opcode,
       COALESCE(f.path, iif(p.file > 0, '(name not known)', '')) AS path, p.ran, p.why, p.requests, p.completions,
       p.bytes, p.errors, p.p50_ns / 1000.0 AS p50_us, p.p99_ns / 1000.0 AS p99_us, p.max_ns / 1000.0 AS max_us,
       g.who, g.pid
FROM v_uring_part p JOIN v_group g ON g.gid = p.gid LEFT JOIN v_uring_name n ON n.op = p.op
LEFT JOIN v_file_name f ON f.id = p.file
ORDER BY p.requests DESC, p.completions DESC, p.op, p.source, path, p.ran, p.why, p.gid
LIMIT :rows;

-- table: workers: Requests that went to a worker, and why
SELECT COALESCE(n.name, CAST(p.op AS TEXT)) AS opcode, p.why, SUM(p.requests) AS requests,
       SUM(p.requests) * 1.0 / NULLIF(a.requests, 0) AS share_of_opcode, COUNT(DISTINCT p.file) AS files,
       MAX(p.p99_ns) / 1000.0 AS largest_p99_us
FROM v_uring_part p LEFT JOIN v_uring_name n ON n.op = p.op
JOIN (SELECT op, SUM(requests) AS requests FROM v_uring_part GROUP BY op) a ON a.op = p.op
WHERE p.ran = 'worker' AND NOT p.source
GROUP BY p.op, p.why ORDER BY SUM(p.requests) DESC, p.op, p.why;

-- table: opcodes: By opcode, from sums: exact without events too
-- hide: what
SELECT COALESCE(n.name, CAST(s.op AS TEXT)) AS opcode, g.what, g.who, g.pid, s.completions, s.bytes, s.errors,
       s.mean_ns / 1000.0 AS mean_us, s.max_ns / 1000.0 AS max_us, s.worker, s.sqpoll
FROM v_uring_sum s JOIN v_group g ON g.gid = s.gid LEFT JOIN v_uring_name n ON n.op = s.op
ORDER BY g.rank, s.completions DESC, s.op, s.gid;
