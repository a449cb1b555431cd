-- SPDX-License-Identifier: GPL-3.0-only
-- uring.sql: Requests of io_uring by opcode.

-- Names of opcodes, by the kernel that ran them; of a merged run, by any of its kernels: numbers never change.
CREATE TEMP TABLE v_uring_name(op INTEGER PRIMARY KEY, name TEXT);
INSERT INTO temp.v_uring_name
SELECT n.op, MAX(n.name) FROM ask JOIN op_name n ON n.run = ask.run WHERE n.scope = 'uring' GROUP BY n.op;

-- Is the layer recorded whole in this run? NULL: no.
CREATE TEMP VIEW v_uring_whole AS
SELECT NULLIF(listed('uring', COALESCE(r.whole, '')), 0) AS whole FROM ask JOIN run r ON r.run = ask.run;

-- Kinds of requests; those of layer uring by number.
CREATE TEMP VIEW v_uring_kind AS SELECT id, kind FROM v_kind WHERE layer = 'uring';

-- One row a completion. source: the source side of a splice, whose target is the request. more: others of the same
-- request follow. ran: cancelled, also as a member of a chain that broke; worker: by a worker of io_uring; poll: it
-- waited for its file; sqpoll: by a polling thread; inline: by the thread that submitted it.
CREATE TEMP TABLE v_uring AS
WITH bit AS MATERIALIZED (
       SELECT sum_if(id, name = 'WORKER') AS worker, sum_if(id, name = 'SQPOLL') AS sqpoll,
              sum_if(id, name = 'POLLED') AS polled, sum_if(id, name = 'ASYNC') AS async,
              sum_if(id, name = 'BLOCKS') AS blocks, sum_if(id, name = 'LINK') AS link,
              sum_if(id, name = 'MORE') AS more
       FROM flag)
SELECT o.gid, COALESCE(e.op, 0) AS op, k.kind = 'uring_read' AND COALESCE(n.name, '') = 'SPLICE' AS source, e.file,
       CASE WHEN e.err = 125 THEN 'cancelled' WHEN e.flags & b.worker THEN 'worker' WHEN e.flags & b.polled THEN 'poll'
            WHEN e.flags & b.sqpoll THEN 'sqpoll' ELSE 'inline' END AS ran,
       CASE WHEN NOT COALESCE(e.flags & b.worker, 0) OR COALESCE(e.err, 0) = 125 THEN ''
            WHEN w.whole IS NULL THEN NULL
            WHEN e.flags & b.async THEN 'asked for (IOSQE_ASYNC)'
            WHEN e.flags & b.blocks THEN 'the operation always needs one, or a request drained'
            WHEN e.flags & b.link THEN 'would have blocked, or followed one in a worker'
            ELSE 'would have blocked' END AS why,
       COALESCE(e.flags & b.more, 0) > 0 AS more, COALESCE(e.err, 0) > 0 AS failed, COALESCE(e.bytes, 0) AS bytes,
       NULLIF(e.dur_ns, 0) AS dur_ns
FROM ask CROSS JOIN event e ON e.run = ask.run AND e.kind IN (SELECT id FROM v_uring_kind)
JOIN v_uring_kind k ON k.id = e.kind JOIN bit b JOIN v_uring_whole w JOIN v_owner o ON o.owner = COALESCE(e.owner, 0)
LEFT JOIN v_uring_name n ON n.op = COALESCE(e.op, 0)
WHERE o.shown;

-- Medians and 99th percentiles, by nearest rank, of requests that were timed: until the last completion.
CREATE TEMP TABLE v_uring_part AS
WITH placed AS (
       SELECT *, iif(dur_ns IS NULL OR more, NULL,
                     ROW_NUMBER() OVER (PARTITION BY gid, op, source, file, ran, why, dur_ns IS NULL OR more
                                        ORDER BY dur_ns)) AS place,
              COUNT(iif(more, NULL, dur_ns)) OVER (PARTITION BY gid, op, source, file, ran, why) AS timed
       FROM v_uring)
SELECT gid, op, source, file, ran, why, SUM(NOT more AND NOT source) AS requests, SUM(NOT source) AS completions,
       SUM(bytes) AS bytes, SUM(failed AND NOT source) AS errors,
       MIN(dur_ns) FILTER (WHERE place * 2 >= timed) AS p50_ns, MIN(dur_ns) FILTER (WHERE place * 100 >= timed * 99)
           AS p99_ns, MAX(dur_ns) FILTER (WHERE NOT more) AS max_ns
FROM placed GROUP BY gid, op, source, file, ran, why;

-- Sums by opcode, exact whether or not there were events.
CREATE TEMP VIEW v_uring_sum AS
SELECT o.gid, COALESCE(a.op, 0) AS op, SUM(iif(k.kind = 'uring_read' AND COALESCE(n.name, '') = 'SPLICE', 0, a.ops))
           AS completions,
       SUM(iif(k.kind = 'uring_read' AND COALESCE(n.name, '') = 'SPLICE', 0, a.errors)) AS errors,
       SUM(iif(k.kind = 'uring_read' AND COALESCE(n.name, '') = 'SPLICE', 0, a.bytes)) AS bytes,
       SUM(a.lat_ns) * 1.0 / NULLIF(SUM(a.timed), 0) AS mean_ns, NULLIF(MAX(a.max_ns), 0) AS max_ns,
       sum_if(a.ops, a.flags & (SELECT id FROM flag WHERE name = 'WORKER')) * w.whole AS worker,
       sum_if(a.ops, a.flags & (SELECT id FROM flag WHERE name = 'SQPOLL')) * w.whole AS sqpoll
FROM ask CROSS JOIN agg_total a ON a.run = ask.run AND a.kind IN (SELECT id FROM v_uring_kind)
JOIN v_uring_kind k ON k.id = a.kind JOIN v_uring_whole w JOIN v_owner o ON o.owner = a.owner
LEFT JOIN v_uring_name n ON n.op = COALESCE(a.op, 0)
WHERE o.shown AND (SELECT uring FROM v_measured)
GROUP BY o.gid, COALESCE(a.op, 0);
