-- SPDX-License-Identifier: GPL-3.0-only
-- title: What one operation costs
-- caption: Divided by `ops`: what clients had acknowledged (ledger), --ops N (of the line that --system names, else \
-- caption: of all), or the calls that
-- caption: write (or read). Bytes of each layer, S to B; blocks of 4096 bytes; journal_blocks in blocks of the \
-- caption: journal. Less than one commit,
-- caption: sync or flush an operation: several operations shared one. note: what was lost, or is nobody's.

-- table: writes: One write, PUT, commit or insert
-- hide: what
SELECT v.what, v.who, v.pid, COALESCE(o.given_w, o.calls_w) AS ops,
       iif(o.given_w IS NULL, 'calls', iif(:ops IS NULL, 'ledger', 'given')) AS "by",
       v.S * 1.0 / n.ops AS S, v.T * 1.0 / n.ops AS T, v.D * 1.0 / n.ops AS D, v.W * 1.0 / n.ops AS W,
       f.journal * 1.0 / n.ops AS journal,
       f.metadata * 1.0 / n.ops AS metadata, v.F * 1.0 / n.ops AS F, v.B * 1.0 / n.ops AS B,
       v.B / 4096.0 / n.ops AS blocks,
       iif(f.journal_dev > 0, j.blocks, iif(v.B IS NULL, NULL, 0)) * 1.0 / n.ops AS journal_blocks,
       v.commits * 1.0 / n.ops AS commits, v.syncs * 1.0 / n.ops AS syncs,
       v.flushes * 1.0 / n.ops AS flushes,
       COALESCE((SELECT group_concat(y.short_why, ', ') FROM v_symbol y
                 WHERE y.gid = v.gid AND y.short AND y.sym IN ('S', 'T', 'D', 'W', 'F', 'B', 'commits', 'syncs',
                                                               'flushes')), '') AS note
FROM v_volume v JOIN v_op o ON o.gid = v.gid
JOIN (SELECT gid, NULLIF(COALESCE(given_w, calls_w), 0) AS ops FROM v_op) n ON n.gid = v.gid
LEFT JOIN (SELECT x.gid, COALESCE(p.journal, 0) * m.fs AS journal, COALESCE(p.metadata, 0) * m.fs AS metadata,
           COALESCE(p.journal_dev, 0) AS journal_dev
           FROM v_op x JOIN v_measured m LEFT JOIN v_fs_part p ON p.gid = x.gid) f ON f.gid = v.gid
LEFT JOIN v_journal_line j ON j.gid = v.gid
WHERE COALESCE(v.S, 0) + COALESCE(v.B, 0) + COALESCE(o.given_w, 0) > 0
  AND (v.rank < 4 OR o.given_w IS NOT NULL OR 1 < (SELECT COUNT(*) FROM v_volume l
                                                   WHERE l.shown AND l.rank < 4
                                                       AND COALESCE(l.S, 0) + COALESCE(l.B, 0) > 0))
ORDER BY v.rank, v.B DESC, v.gid;

-- table: reads: One read or GET
-- hide: what
SELECT v.what, v.who, v.pid, COALESCE(o.given_r, o.calls_r) AS ops, iif(o.given_r IS NULL, 'calls', 'ledger') AS "by",
       v.S_r * 1.0 / n.ops AS S_r, v.missed * 1.0 / n.ops AS missed, v.readahead * 1.0 / n.ops AS readahead,
       v.B_r * 1.0 / n.ops AS B_r,
       v.B_r / 4096.0 / n.ops AS blocks, v.ops_B_r * 1.0 / n.ops AS requests,
       COALESCE((SELECT group_concat(y.short_why, ', ') FROM v_symbol y
                 WHERE y.gid = v.gid AND y.short AND y.sym IN ('S_r', 'missed', 'ra_unused', 'B_r_call')), '') AS note
FROM v_volume v JOIN v_op o ON o.gid = v.gid
JOIN (SELECT gid, NULLIF(COALESCE(given_r, calls_r), 0) AS ops FROM v_op) n ON n.gid = v.gid
WHERE COALESCE(v.S_r, 0) + COALESCE(v.B_r, 0) + COALESCE(o.given_r, 0) > 0 AND v.rank < 4
ORDER BY v.rank, v.B_r DESC, v.S_r DESC, v.gid;

-- plot: bytes
-- chart: bars
-- heading: Bytes of one operation that writes, a bar a layer
-- unit: bytes
-- own: yes
-- fold: no
WITH line AS (
       SELECT v.*, COALESCE(o.given_w, o.calls_w) AS n,
              iif(o.given_w IS NULL, 'calls', iif(:ops IS NULL, 'ledger', 'given')) AS "by"
       FROM v_volume v JOIN v_op o ON o.gid = v.gid
       WHERE COALESCE(o.given_w, o.calls_w) > 0 AND (v.rank < 4 OR o.given_w IS NOT NULL)
         AND v.S + v.B >= 0.01 * (SELECT MAX(S + B) FROM v_volume WHERE shown AND rank < 4)),
     layer(ord, bar, part) AS (VALUES (1, 'S', 'S calls'), (2, 'D', 'D dirtied'), (3, 'W', 'W file data'),
                               (4, 'F', 'F file system'), (5, 'B', 'B devices'))
SELECT g.who || iif(g.pid = '', '', ' [' || g.pid || ']') || ': ' || g.n || ' '
       || iif(g."by" = 'calls', 'calls', 'operations (' || g."by" || ')') AS panel,
       l.part AS "row", l.part, CASE l.bar WHEN 'S' THEN g.S WHEN 'D' THEN g.D WHEN 'W' THEN g.W WHEN 'F' THEN g.F
           ELSE g.B END * 1.0 / g.n AS value
FROM line g JOIN layer l
ORDER BY g.rank, g.B DESC, g.gid, l.ord;

-- plot: counts
-- chart: bars
-- heading: Commits, syncs and flushes of one operation; less than 1: several shared one
-- unit: ratio
-- rule: 1
-- fold: no
WITH line AS (
       SELECT v.*, COALESCE(o.given_w, o.calls_w) AS n
       FROM v_volume v JOIN v_op o ON o.gid = v.gid
       WHERE COALESCE(o.given_w, o.calls_w) > 0 AND (v.rank < 4 OR o.given_w IS NOT NULL)
         AND v.S + v.B >= 0.01 * (SELECT MAX(S + B) FROM v_volume WHERE shown AND rank < 4)),
     what(ord, part) AS (VALUES (1, 'commits'), (2, 'syncs'), (3, 'flushes'))
SELECT g.who || iif(g.pid = '', '', ' [' || g.pid || ']') AS "row", w.part AS bar, w.part,
       CASE w.ord WHEN 1 THEN g.commits WHEN 2 THEN g.syncs ELSE g.flushes END * 1.0 / g.n AS value
FROM line g JOIN what w
ORDER BY g.rank, g.B DESC, g.gid, w.ord;
