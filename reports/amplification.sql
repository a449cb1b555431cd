-- SPDX-License-Identifier: GPL-3.0-only
-- title: Amplification: what each byte became on its way to the device
-- caption: Written bytes: S returned by calls on files; V through the VFS; T touched, in whole blocks; D made dirty, \
-- caption: or direct; W file
-- caption: data submitted; F all that the file system submits; B completed by the devices below file systems; P by \
-- caption: the disks at the
-- caption: bottom, through volumes and loop devices, with what the file systems below those add. Read bytes end in \
-- caption: _r. `all traced` is every
-- caption: process and kernel thread; `total` is every device byte. Every ratio stands with what it was computed \
-- caption: from; >= and <= are
-- caption: bounds, where losses or bytes without an owner allow no more.
-- main: ratios

-- table: summary: Summary (bytes; waf_sys = B/S, raf_dev = B_r without faults/S_r; none for bytes that are not of a traced process)
-- hide: what horizon lost residual residual_r
SELECT v.what, v.who, v.pid, v.S, v.B, v.P, w.bound AS bound_w, w.value AS waf_sys, v.S_r, v.B_r, d.bound AS bound_r,
       d.value AS raf_dev,
       r.horizon, l.lost, w.numerator_residual AS residual, d.numerator_residual AS residual_r
FROM v_volume v JOIN v_run r JOIN v_lost_text l
LEFT JOIN v_ratio w ON w.gid = v.gid AND w.ratio = 'waf_sys'
LEFT JOIN v_ratio d ON d.gid = v.gid AND d.ratio = 'raf_dev'
WHERE v.shown AND (v.rank >= 4 OR COALESCE(v.S, 0) + COALESCE(v.S_r, 0) + COALESCE(v.B, 0) + COALESCE(v.B_r, 0) > 0)
ORDER BY v.rank, v.B + v.B_r DESC, v.gid;

-- table: ratios: Ratios (bytes, or operations where the formula says so; programs that only read a few cached bytes are in the summary)
-- hide: what rank weight ord gid horizon lost numerator_residual denominator_residual
SELECT v.what, v.who, v.pid, v.ratio, v.formula, v.bound, v.value, v.numerator, v.denominator, v.note,
       r.horizon, l.lost, v.numerator_residual, v.denominator_residual
FROM v_ratio v JOIN v_run r JOIN v_lost_text l
WHERE CASE v.rank WHEN 4 THEN EXISTS (SELECT 1 FROM v_load WHERE L IS NOT NULL OR L_r IS NOT NULL)
    OR 1 < (SELECT COUNT(DISTINCT gid) FROM v_ratio WHERE rank < 4)
           ELSE :per = 'pid' OR v.what NOT IN ('process', 'group') OR v.gid IN (SELECT gid FROM v_volume
                WHERE S > 0 OR B > 0 OR B_r > 0 OR S_r >= 0.01 * (SELECT SUM(S_r) FROM v_volume WHERE rank < 4)) END
ORDER BY v.rank, v.weight DESC, v.gid, v.ord;

-- table: volumes: Bytes written (mapped: pages that became dirty by stores through mappings, in no S)
-- hide: what L copied
SELECT what, who, pid, L, S, mapped, V, T, D, W, F, B, absorbed, cancelled, dirty_end, copied
FROM v_volume
WHERE shown AND (rank >= 4 OR COALESCE(mapped, 0) + COALESCE(S, 0) + COALESCE(T, 0) + COALESCE(D, 0) + COALESCE(F,
    0) + COALESCE(B, 0) > 0)
ORDER BY rank, B + B_r DESC, gid;

-- table: reads: Bytes read (missed, readahead: for calls that read; unused: read ahead, and no call had returned a byte of the page; _fault: for mapped memory and programs; _write: for calls that write)
-- hide: what
SELECT what, who, pid, S_r, V_r, missed, readahead, ra_unused AS unused, missed_fault, readahead_fault, missed_write,
       B_r
FROM v_volume
WHERE shown AND (rank >= 4 OR COALESCE(S_r, 0) + COALESCE(missed, 0) + COALESCE(B_r, 0) > 0)
ORDER BY rank, B + B_r DESC, gid;

-- table: syncs: Syncs (calls of the fsync family, and writes with O_SYNC, O_DSYNC, RWF_SYNC, RWF_DSYNC), beside what they cost
-- hide: what
SELECT what, who, pid, fsyncs AS calls, sync_writes AS writes, syncs, commits, flushes
FROM v_volume
WHERE shown AND COALESCE(syncs, fsyncs, 0) + COALESCE(commits, 0) + COALESCE(flushes, 0) > 0
ORDER BY rank, B + B_r DESC, gid;

-- table: zeroes: Ranges that devices zeroed or discarded, and such requests that failed: no bytes of B (/sys/block counts those of write-zeroes and secure erases as written)
-- hide: what
SELECT what, who, pid, zeroed, zero_failed, discarded, discard_failed
FROM v_volume
WHERE shown AND zeroed + zero_failed + discarded + discard_failed > 0
ORDER BY rank, zeroed + zero_failed + discarded + discard_failed DESC, gid;

-- table: again: The same bytes again, on other devices of the stack, with what file systems below loop devices add: not in B
SELECT t.who, t.written, t.read
FROM (SELECT 1 AS ord, 'loop devices, on the device below' AS who, loop_w AS written, loop_r AS read FROM v_volume
      WHERE what = 'total'
      UNION ALL
      SELECT 2, 'partitions, device mapper, md', stacked_w, stacked_r FROM v_volume WHERE what = 'total') t
      JOIN v_measured m
WHERE :system IS NULL AND t.written + t.read > 0
ORDER BY ord;

-- table: layers: Operations and bytes a layer
-- hide: what
SELECT g.what, g.who, g.pid, l.layer, l.op, l.ops, l.errors, l.bytes, l.source
FROM v_layer l JOIN v_group g ON g.gid = l.gid
WHERE g.shown AND l.ops > 0
ORDER BY g.rank, g.who, g.gid, l.layer_id, l.layer, l.op;

-- table: clients: Bytes on client sockets: what connections that a process had accepted brought and took (iot-analyze network says more)
-- hide: what
SELECT g.what, g.who, g.pid, SUM(f.received) AS client_socket_in, SUM(f.sent) AS client_socket_out
FROM v_flow f JOIN v_group g ON g.gid = f.gid
WHERE g.shown AND f.link IN ('client', 'accepted')
GROUP BY f.gid
ORDER BY g.rank, SUM(f.received + f.sent) DESC, f.gid;

-- table: fuse: Bytes on FUSE mounts, by processes other than those behind the mount; and those of the daemon, for whatever it moved them
SELECT fs, mount, client_fuse_in, client_fuse_out, daemon, daemon_pid, daemon_S, daemon_B, daemon_S_r, daemon_B_r
FROM v_fuse
WHERE :system IS NULL OR fs LIKE 'fuse.' || :system || '%'
ORDER BY client_fuse_in + client_fuse_out DESC, mount;

-- table: causes: Device bytes by cause (share: of B, of B_r)
-- hide: what
SELECT v.what, v.who, v.pid, c.cause, SUM(c.written) AS written,
       SUM(c.written) * 1.0 / NULLIF(v.B, 0) AS share, SUM(c.read) AS read,
       SUM(c.read) * 1.0 / NULLIF(v.B_r, 0) AS share_r
FROM v_cause c JOIN v_volume v ON v.gid = c.gid
WHERE v.shown AND c.written + c.read > 0
GROUP BY c.gid, c.cause
ORDER BY v.rank, v.B + v.B_r DESC, c.gid, SUM(c.written + c.read) DESC, c.cause;

-- table: components: Storage systems by component (amp: B/S of the component; of_waf: B of the component/S of the line, which sum to waf_sys)
-- hide: what
SELECT l.what, l.who, l.pid, COALESCE(c.component, '(not measured)') AS component, c.S, c.written AS B,
       c.written * 1.0 / NULLIF(c.S, 0) AS amp,
       c.written * 1.0 / NULLIF(v.S, 0) AS of_waf, c.S_r, c.read AS B_r, c.read * 1.0 / NULLIF(c.S_r, 0) AS amp_r,
       c.ops_w, c.ops_r, c.syncs
FROM v_component_line l JOIN v_component c ON c.gid = l.gid JOIN v_volume v ON v.gid = l.gid
WHERE c.part <> 'rest' OR c.S IS NULL OR c.S + c.S_r + c.syncs <> 0 OR c.written <> 0 OR c.read <> 0
ORDER BY l.rank, v.B + v.B_r DESC, l.gid, c.part = 'fs', c.part = 'rest', c.written + c.read DESC, c.component;

-- plot: volumes
-- chart: bars
-- heading: Bytes written, a bar a layer
-- rows: 6
-- unit: bytes
WITH line AS (SELECT * FROM v_volume WHERE shown AND rank < 4 AND COALESCE(S, 0) + COALESCE(F, 0) + COALESCE(B, 0) > 0),
     layer(ord, bar, part) AS (VALUES (1, 'S', 'S calls'), (2, 'T', 'T blocks'), (3, 'D', 'D dirtied'),
                               (4, 'W', 'W file data'),
       (5, 'F', 'F file system'), (6, 'B', 'B devices'))
SELECT g.who || iif(g.pid = '', '', ' [' || g.pid || ']') AS "row", l.part AS bar, l.part,
       CASE l.bar WHEN 'S' THEN g.S WHEN 'T' THEN g.T WHEN 'D' THEN g.D WHEN 'W' THEN g.W WHEN 'F' THEN g.F
           ELSE g.B END AS value
FROM line g JOIN layer l
ORDER BY g.B DESC, g.S DESC, g.gid, l.ord;

-- plot: ratios
-- chart: bars
-- heading: What the kernel stack adds: waf_sys = B/S, and what reads cost: raf_dev = B_r without faults/S_r
-- unit: ratio
-- rule: 1
-- fold: no
-- own: yes
-- key: no
SELECT CASE r.ratio WHEN 'waf_sys' THEN 'written: waf_sys' ELSE 'read: raf_dev' END AS panel, g.who
       || iif(g.pid = '', '', ' [' || g.pid || ']') AS "row",
       CASE r.ratio WHEN 'waf_sys' THEN 'written' ELSE 'read' END AS part, r.value,
       iif(r.bound IN ('>=', '<='), r.bound || ' ', '') || COALESCE(printf('%.3f', r.value), 'n/a') AS label
FROM v_ratio r JOIN v_group g ON g.gid = r.gid
JOIN v_ratio_drawn d ON d.ratio = r.ratio AND d.gid = r.gid AND d.drawn
ORDER BY r.ratio DESC, r.weight DESC, r.gid;

-- plot: small
-- chart: note
SELECT COUNT(*) || iif(COUNT(*) = 1, ' ratio', ' ratios') || ' of less than ' || size(MAX("limit"))
       || iif(COUNT(*) = 1, ' is', ' are') || ' not drawn: '
       || group_concat(who, ', ') AS note
FROM (SELECT g.who || iif(g.pid = '', '', ' [' || g.pid || ']') || iif(d.ratio = 'waf_sys', ' written', ' read') AS who,
      d."limit"
      FROM v_ratio_drawn d JOIN v_group g ON g.gid = d.gid
      WHERE NOT d.drawn
      ORDER BY d.ratio DESC, d.denominator DESC, d.gid)
HAVING COUNT(*) > 0;
