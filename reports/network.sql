-- SPDX-License-Identifier: GPL-3.0-only
-- title: Network: payload bytes on sockets, by process and by flow
-- none: No payload moved on sockets, or layer net was not measured.
-- caption: Payload of TCP and UDP as the socket layer took and gave it; no headers, no retransmissions. A connection \
-- caption: whose two ends are both
-- caption: traced is seen from either end: what one sent the other received, so received bytes are never added to \
-- caption: sent bytes. link: internal,
-- caption: both ends are of one storage system; client, accepted from a traced process outside; accepted, from a peer \
-- caption: that is not traced;
-- caption: connected, by this process; other, not known. loopback: the peer is on this host, reached by the loopback \
-- caption: device; unknown: datagrams
-- caption: that were read without the address of their sender.
-- caption: A peer is its storage system or program where it was traced, else its address. Wire against disk: beside \
-- caption: what was received, what calls and
-- caption: devices wrote; beside what was sent, what they read.

-- table: owners: By process
-- hide: what lost
SELECT g.what, g.who, g.pid, n.sent, n.sent_loopback, n.sends, n.received, n.received_loopback, n.received_unknown,
       n.receives, l.lost
FROM v_net n JOIN v_group g ON g.gid = n.gid JOIN v_lost_text l
WHERE g.shown
ORDER BY g.rank, n.sent + n.received DESC, n.gid;

-- table: links: By link
-- hide: what
SELECT g.what, g.who, g.pid, f.link, f.loopback, COUNT(*) AS flows, SUM(f.sent) AS sent, SUM(f.received) AS received
FROM v_flow f JOIN v_group g ON g.gid = f.gid
WHERE g.shown
GROUP BY f.gid, f.link, f.loopback
ORDER BY g.rank, SUM(f.sent + f.received) DESC, f.gid, f.link, f.loopback;

-- table: peers: By peer (its system or program where it was traced, else its address)
-- hide: what
SELECT g.what, g.who, g.pid, p.peer, p.link, p.loopback, p.flows, p.sent, p.received
FROM v_peer p JOIN v_group g ON g.gid = p.gid
WHERE g.shown
ORDER BY g.rank, p.sent + p.received DESC, p.gid, p.peer, p.link, p.loopback
LIMIT :rows * 10;

-- table: wire: Wire against disk: what was received beside what was written, what was read beside what was sent
-- hide: what
SELECT what, who, pid, received, S, B, B * 1.0 / NULLIF(received, 0) AS B_per_received, S_r, B_r, sent,
       B_r * 1.0 / NULLIF(sent, 0) AS B_r_per_sent
FROM v_wire
ORDER BY rank, received + sent DESC, gid;

-- table: ratios: Network amplification (N_cli: both directions on client links; N_int: sent on internal links; L: payload)
SELECT ratio, formula, bound, value, numerator, denominator, note
FROM v_naf
ORDER BY ord;

-- table: rest: Bytes whose flow has no row, because the table of flows was full
WITH rows AS (SELECT gid, SUM(sent) AS sent, SUM(received) AS received FROM v_flow GROUP BY gid)
SELECT g.who, g.pid, n.sent - COALESCE(r.sent, 0) AS sent, n.received - COALESCE(r.received, 0) AS received
FROM v_net n JOIN v_group g ON g.gid = n.gid LEFT JOIN rows r ON r.gid = n.gid
WHERE g.shown AND g.rank < 4 AND (n.sent > COALESCE(r.sent, 0) OR n.received > COALESCE(r.received, 0))
ORDER BY g.rank, n.gid;

-- table: flows: The 100 flows with most bytes
SELECT g.who, g.pid, f.protocol, CASE WHEN instr(f.local, ':') THEN '[' || f.local || ']' ELSE f.local END || ':'
       || f.local_port AS local,
       CASE WHEN instr(f.remote, ':') THEN '[' || f.remote || ']' ELSE f.remote END || ':' || f.remote_port AS remote,
       f.role, f.link, f.loopback, f.sent, f.sends, f.received, f.receives,
       CASE WHEN f.peer > 2 THEN COALESCE(f.peer_comm || ' ' || f.peer_pid, 'process ' || f.peer) END AS peer
FROM v_flow f JOIN v_group g ON g.gid = f.gid
WHERE g.shown
ORDER BY f.sent + f.received DESC, f.gid, f.protocol, f.local, f.local_port, f.remote, f.remote_port
LIMIT :rows;

-- table: calls: Calls on sockets and waits for descriptors, by kind (--layers net)
-- hide: what
SELECT g.what, g.who, g.pid, c.call, c.calls, c.errors, c.bytes, c.mean_us, c.max_us
FROM v_net_call c JOIN v_group g ON g.gid = c.gid
WHERE g.shown
ORDER BY g.rank, g.gid, c.calls DESC, c.call;

-- table: connections: Flows with their setup, failed calls, retransmissions and drops (--layers net)
SELECT g.who, g.pid, c.protocol, CASE WHEN instr(c.local, ':') THEN '[' || c.local || ']' ELSE c.local END || ':'
       || c.local_port AS local,
       CASE WHEN instr(c.remote, ':') THEN '[' || c.remote || ']' ELSE c.remote END || ':' || c.remote_port AS remote,
       c.role, c.setup_us, c.sent, c.sends, c.received, c.receives, c.errors, c.polls, c.retransmits,
       c.again_after, c.drops, c.dropped
FROM v_connection c JOIN v_group g ON g.gid = c.gid
WHERE g.shown
ORDER BY COALESCE(c.retransmits, 0) + COALESCE(c.drops, 0) DESC,
         c.errors DESC, c.sent + c.received DESC, c.gid, c.protocol, c.local,
         c.local_port, c.remote, c.remote_port
LIMIT :rows;

-- table: drops: Packets dropped on this host, segments sent again, by the kernel's reason (--layers net)
-- hide: what
SELECT g.what, g.who, g.pid, d.packets, d.reason, d.n, d.bytes
FROM v_drop d JOIN v_group g ON g.gid = d.gid
WHERE g.shown
ORDER BY g.rank, g.gid, d.packets, d.n DESC, d.reason;

-- plot: bars
-- chart: bars
-- heading: Payload bytes on sockets
-- unit: bytes
SELECT g.who || iif(g.pid = '', '', ' [' || g.pid || ']') AS "row", b.bar, b.part,
       CASE b.part WHEN 'sent' THEN n.sent - n.sent_loopback WHEN 'sent, loopback' THEN n.sent_loopback
       WHEN 'received' THEN n.received - n.received_loopback - n.received_unknown
           WHEN 'received, loopback' THEN n.received_loopback
       ELSE n.received_unknown END AS value
FROM v_net n JOIN v_group g ON g.gid = n.gid
JOIN (SELECT 1 AS ord, 'sent' AS bar, 'sent' AS part UNION ALL SELECT 2, 'sent', 'sent, loopback'
      UNION ALL SELECT 3, 'received', 'received'
      UNION ALL SELECT 4, 'received', 'received, loopback'
      UNION ALL SELECT 5, 'received', 'received, sender not known') b
WHERE g.shown AND n.sent + n.received > 0
ORDER BY n.sent + n.received DESC, n.gid, b.ord;

-- plot: peers
-- chart: bars
-- heading: Flows by who is at either end
-- unit: bytes
SELECT g.who || iif(g.pid = '', '', ' [' || g.pid || ']') || ' - ' || p.peer AS "row", d.bar, d.bar
       || iif(p.loopback, ', loopback', '') AS part,
       SUM(iif(d.bar = 'sent', p.sent, p.received)) AS value
FROM v_peer p JOIN v_group g ON g.gid = p.gid JOIN (SELECT 'sent' AS bar UNION ALL SELECT 'received') d
WHERE g.shown AND p.sent + p.received > 0
GROUP BY p.gid, p.peer, d.bar, p.loopback
ORDER BY SUM(p.sent + p.received) OVER (PARTITION BY p.gid, p.peer) DESC, p.gid, p.peer, d.bar DESC, p.loopback;

-- plot: wire
-- chart: bars
-- heading: Wire against disk: received and written, read and sent
-- unit: bytes
SELECT w.who || iif(w.pid = '', '', ' [' || w.pid || ']') AS "row", d.part AS bar, d.part,
       CASE d.ord WHEN 1 THEN w.received WHEN 2 THEN w.S WHEN 3 THEN w.B WHEN 4 THEN w.S_r WHEN 5 THEN w.B_r
           ELSE w.sent END AS value
FROM v_wire w JOIN (SELECT 1 AS ord, 'received' AS part UNION ALL SELECT 2, 'S calls' UNION ALL SELECT 3, 'B devices'
                    UNION ALL SELECT 4, 'S_r calls' UNION ALL SELECT 5, 'B_r devices' UNION ALL SELECT 6, 'sent') d
WHERE w.rank < 4
ORDER BY w.received + w.sent DESC, w.gid, d.ord;
