-- SPDX-License-Identifier: GPL-3.0-only
-- network.sql: Sockets and flows.

-- Bytes on sockets by line of the report, exact whether or not every flow had a row.
CREATE TEMP VIEW v_net AS
SELECT gid, sum_if(amount, sym = 'sent') AS sent, sum_if(amount, sym = 'received') AS received,
       sum_if(amount, sym = 'sent' AND sub = 'net_loopback') AS sent_loopback,
       sum_if(amount, sym = 'received' AND sub = 'net_loopback') AS received_loopback,
       sum_if(amount, sym = 'received' AND sub = 'net_unknown') AS received_unknown,
       sum_if(ops, sym = 'sent') AS sends, sum_if(ops, sym = 'received') AS receives
FROM v_piece WHERE sym IN ('sent', 'received') GROUP BY gid;

-- Bytes that clients wrote to and read from files that are served through FUSE: calls of anybody but the daemon, or the
-- storage system behind the mount. Next to them the bytes that the daemon moved, for whatever purpose: NULL where it is
-- not known, or is in the sums of several processes that ended.
CREATE TEMP VIEW v_fuse AS
WITH client AS MATERIALIZED (
       SELECT d.dev, d.fs, COALESCE(d.mount, '(mount point not known)') AS mount, d.server,
              sum_if(c.amount, c.sym = 'S') AS client_fuse_in, sum_if(c.amount, c.sym = 'S_r') AS client_fuse_out
       FROM v_piece c JOIN v_device d ON d.dev = c.dev LEFT JOIN v_process p ON p.id = c.stand
       WHERE c.sym IN ('S', 'S_r') AND c.stand <> 1 AND d.fs LIKE 'fuse%' AND c.stand IS NOT d.server
           AND (p.system IS NULL OR d.fs NOT LIKE 'fuse.' || p.system || '%')
       GROUP BY c.dev HAVING SUM(c.amount) > 0)
SELECT f.fs, f.mount, f.client_fuse_in, f.client_fuse_out, p.comm AS daemon, p.pid AS daemon_pid,
       iif(p.alone, sum_if(c.amount, c.sym = 'S'), NULL) AS daemon_S,
       iif(p.alone, sum_if(c.amount, c.sym = 'B'), NULL) AS daemon_B,
       iif(p.alone, sum_if(c.amount, c.sym = 'S_r'), NULL) AS daemon_S_r,
       iif(p.alone, sum_if(c.amount, c.sym = 'B_r'), NULL) AS daemon_B_r
FROM client f
LEFT JOIN (SELECT id, comm, pid, fold IS NULL AND COALESCE(folded, 1) = 1 AS alone FROM v_process) p ON p.id = f.server
LEFT JOIN v_piece c ON c.stand = p.id
GROUP BY f.dev;

-- The owner of each end of a flow: the smallest, where several processes use one socket. place: the host, of a merged
-- run, whose loopback device it goes through.
CREATE TEMP VIEW v_end AS
SELECT protocol, local, local_port, remote, remote_port, iif(f.loopback, p.host, NULL) AS place, MIN(owner) AS owner
FROM ask JOIN flow f ON f.run = ask.run LEFT JOIN v_process p ON p.id = f.owner WHERE remote IS NOT NULL
GROUP BY protocol, local, local_port, remote, remote_port, place;

-- Flows, each with the process at its other end when that was traced too. link, seen from the owner: internal, both
-- ends are of one storage system; client, it accepted a peer that is traced and of another, or that --system left out;
-- accepted, a peer that is not traced: a client or another node; connected, it is itself the client; other, not known
-- which.
CREATE TEMP VIEW v_flow AS
WITH peer AS MATERIALIZED (
       SELECT f.rowid AS flow, MIN(e.owner) AS owner
       FROM ask JOIN flow f ON f.run = ask.run LEFT JOIN v_process p ON p.id = f.owner
       JOIN v_end e ON e.protocol = f.protocol AND e.local_port = f.remote_port AND e.remote_port = f.local_port
            AND (e.local = f.remote OR e.local IN ('0.0.0.0', '::'))
            AND (e.remote = f.local OR f.local IN ('0.0.0.0', '::'))
            AND e.place IS iif(f.loopback, p.host, NULL)
       GROUP BY f.rowid)
SELECT o.gid, o.owner, o.system, f.family, f.protocol, f.local, f.local_port, f.remote, f.remote_port, f.role,
       iif(f.remote IS NULL, NULLIF(f.loopback, 0), f.loopback) AS loopback,
       f.sent_bytes AS sent, f.recv_bytes AS received, f.sends, f.recvs AS receives,
       p.owner AS peer, q.comm AS peer_comm, q.pid AS peer_pid, q.system AS peer_system,
       CASE WHEN o.system = q.system THEN 'internal'
            WHEN f.role = 'client' THEN 'connected'
            WHEN COALESCE(f.role, '') <> 'server' THEN 'other'
            WHEN p.owner > 2 OR p.owner = 2 AND ' ' || r.filters LIKE '% system=%' THEN 'client'
            ELSE 'accepted' END AS link
FROM v_run r JOIN flow f ON f.run = r.run JOIN v_owner o ON o.owner = f.owner
LEFT JOIN peer p ON p.flow = f.rowid LEFT JOIN v_process q ON q.id = p.owner;

-- Calls on sockets and waits by line of the report, where layer net was traced whole.
CREATE TEMP VIEW v_net_call AS
SELECT o.gid, k.name AS call, SUM(t.ops) AS calls, SUM(t.errors) AS errors, SUM(t.bytes) AS bytes,
       SUM(t.lat_ns) / 1e3 / NULLIF(SUM(t.timed), 0) AS mean_us, MAX(t.max_ns) / 1e3 AS max_us
FROM v_run r JOIN agg_total t ON t.run = r.run JOIN kind k ON k.id = t.kind JOIN layer y ON y.id = k.layer
JOIN v_owner o ON o.owner = t.owner
WHERE y.name = 'net' AND k.dir = 'o' GROUP BY o.gid, k.id;

-- The kernel's reasons of drops, and of segments that TCP sent again: of these 0 is that no drop of an earlier copy was
-- seen. Stores of before have no names: the number is one then. 255: a reason of a subsystem with a list of its own.
CREATE TEMP VIEW v_drop_reason AS
WITH known AS (
       SELECT EXISTS (SELECT 1 FROM ask JOIN probe p ON p.run = ask.run
                      WHERE p.name IN ('net__drop', 'net__drop_three') AND p.chosen) AS drops),
     number AS (SELECT 0 AS op UNION ALL SELECT op + 1 FROM number WHERE op < 255)
SELECT k.id AS kind, k.name = 'retransmit' AS again, n.op,
       CASE WHEN k.name = 'net_drop' OR n.op > 0
            THEN COALESCE((SELECT MIN(o.name) FROM ask JOIN op_name o ON o.run = ask.run
                           WHERE o.scope = 'drop' AND o.op = n.op),
                          iif(n.op = 255, 'reason of a subsystem', CAST(n.op AS TEXT)))
            WHEN known.drops THEN 'no drop seen here: lost elsewhere, late, or its answer was lost'
            ELSE 'not known: this kernel reports no drops' END AS reason
FROM kind k JOIN number n JOIN known WHERE k.name IN ('net_drop', 'retransmit');

-- Packets dropped and segments sent again by line and reason: sums, exact without events.
CREATE TEMP VIEW v_drop AS
SELECT o.gid, iif(d.again, 'sent again', 'dropped') AS packets, d.reason, SUM(t.ops) AS n, SUM(t.bytes) AS bytes
FROM v_run_total t JOIN v_drop_reason d ON d.kind = t.kind AND d.op = COALESCE(t.op, 0)
JOIN v_owner o ON o.owner = t.owner
GROUP BY o.gid, d.again, d.reason;

-- Flows as connections, where layer net was traced whole. dropped: the kernel's reasons, of events; again_after: those
-- of the drops of earlier copies of segments that TCP sent again.
CREATE TEMP VIEW v_connection AS
WITH e AS MATERIALIZED (
       SELECT e.offset >> 32 AS id, d.again, d.reason, COUNT(*) AS n
       FROM v_run r JOIN event e ON e.run = r.run JOIN v_drop_reason d ON d.kind = e.kind AND d.op = COALESCE(e.op, 0)
       GROUP BY 1, 2, 3 ORDER BY 1, 2, 3),
     d AS MATERIALIZED (
       SELECT id, group_concat(reason || ': ' || n, ', ') FILTER (WHERE NOT again) AS dropped,
              group_concat(reason || ': ' || n, ', ') FILTER (WHERE again) AS again_after
       FROM e WHERE id > 0 GROUP BY id)
SELECT o.gid, f.protocol, f.local, f.local_port, f.remote, f.remote_port, f.role, f.setup_ns / 1e3 AS setup_us,
       f.sent_bytes AS sent, f.sends, f.recv_bytes AS received, f.recvs AS receives, f.errors, f.polls, f.retransmits,
       d.again_after, f.drops, d.dropped
FROM v_run r JOIN flow f ON f.run = r.run JOIN v_owner o ON o.owner = f.owner LEFT JOIN d ON d.id = f.id
WHERE f.errors IS NOT NULL;

-- Flows by who is at either end. peer: the storage system or the program that was traced there, else its address.
CREATE TEMP VIEW v_peer AS
SELECT f.gid, COALESCE(f.peer_system, f.peer_comm, iif(f.peer = 2, 'other processes', NULL), f.remote, '(not known)')
           AS peer, f.link, f.loopback, COUNT(*) AS flows, SUM(f.sent) AS sent, SUM(f.received) AS received
FROM v_flow f GROUP BY f.gid, 2, f.link, f.loopback;

-- Bytes that lines moved on sockets and on devices: NULL where either was not measured.
CREATE TEMP VIEW v_wire AS
SELECT gid, what, who, pid, rank, received, sent, S, S_r, B, B_r FROM v_volume
WHERE shown AND rank <= 4 AND COALESCE(received, 0) + COALESCE(sent, 0) > 0;

-- Network amplification (METRICS N), for a run or system whose payload L is given: for the ledger's system, where the
-- run knows it. A byte between two traced ends is counted once: on client links at the server's end, on internal links
-- where it was sent. Peers that are not traced may be clients or other nodes, and flows without a row were not
-- classified: both numbers are then lower bounds.
CREATE TEMP VIEW v_naf AS
WITH n AS (
       SELECT sum_if(f.sent + f.received, f.link = 'client') AS client,
              COALESCE(SUM(f.sent) FILTER (WHERE f.link = 'internal'), iif(COUNT(f.system) > 0, 0, NULL)) AS internal,
              sum_if(f.sent + f.received, f.link IN ('accepted', 'other')) AS open,
              EXISTS (SELECT 1 FROM v_spoilt WHERE class = 'flow') AS lossy
       FROM ask JOIN v_flow f JOIN v_load a
       WHERE f.owner > 2 AND COALESCE(a.owner_system = ask.system, 1)
         AND COALESCE(f.system = COALESCE(a.owner_system, ask.system), COALESCE(a.owner_system, ask.system) IS NULL)),
     d(ord, ratio, formula, numerator) AS (
       SELECT 1, 'naf_cli', 'N_cli/', client FROM n UNION ALL SELECT 2, 'naf_int', 'N_int/', internal FROM n)
SELECT d.ord, d.ratio, d.formula || a.formula_N AS formula,
       CASE WHEN m.net IS NULL OR d.numerator IS NULL OR a.N = 0 THEN ''
            ELSE iif(n.open OR n.lossy, '>=', 'exact') END AS bound,
       d.numerator * m.net * 1.0 / NULLIF(a.N, 0) AS value, d.numerator * m.net AS numerator, a.N AS denominator,
       CASE WHEN m.net IS NULL THEN 'layer net was not measured'
            WHEN d.numerator IS NULL THEN 'no connection of a storage system was seen'
            WHEN n.open > 0 THEN n.open || ' bytes with peers that are not traced'
            WHEN n.lossy THEN 'the run lost flows' ELSE '' END AS note
FROM v_load a JOIN v_measured m JOIN n JOIN d WHERE a.L IS NOT NULL OR a.L_r IS NOT NULL;
