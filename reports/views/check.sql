-- SPDX-License-Identifier: GPL-3.0-only
-- check.sql: What `verify` compares.

CREATE TEMP VIEW v_truth AS
SELECT t.source, t.what, t.dev, t.pid, t.begin_value, t.end_value, t.end_value - t.begin_value AS delta,
       COALESCE(t.outside, 0) AS outside, COALESCE(t.outside_max - t.outside, 0) AS outside_slack, t.under_way,
       t.unseen, t.traced, t.uncounted
FROM ask JOIN truth t ON t.run = ask.run;

-- The one disk that the run was about, by --dev, which takes a name, a path or major:minor; NULL: all.
CREATE TEMP VIEW v_only_disk AS
SELECT d.dev
FROM (SELECT substr(' ' || filters || ' ', instr(' ' || filters || ' ', ' dev=') + 5) AS rest FROM v_run WHERE ' '
    || filters LIKE '% dev=%') f
JOIN v_device d ON substr(f.rest, 1, instr(f.rest, ' ') - 1) IN (d.device, '/dev/' || d.device, (d.dev >> 20) || ':'
    || (d.dev & 1048575));

-- Every check of `verify`, one row each. traced: what the aggregates or the ledger say; kernel: what they must equal.
CREATE TEMP VIEW v_check AS
WITH t AS MATERIALIZED (SELECT * FROM v_truth),
     device AS (
       SELECT c.dev, c.kind, SUM(c.bytes) AS bytes, SUM(CASE WHEN c.cause = 'before_run' THEN c.bytes
                  ELSE 0 END) AS early
       FROM v_cell c
       WHERE c.kind IN ('block_read', 'block_write')
       GROUP BY c.dev, c.kind),
     -- the kernel counts the ranges of write-zeroes and of secure erases as written; they are no bytes here
     zeroed AS (
       SELECT c.dev, SUM(c.touched) AS bytes
       FROM v_cell c
       WHERE c.kind = 'block_zeroes' OR (c.kind = 'block_other' AND c.cause = 'discard')
       GROUP BY c.dev),
     disk AS (
       SELECT 1 AS ord, w.what, COALESCE(d.device, t.source) AS subject,
              (COALESCE(a.bytes, 0) + CASE t.what WHEN 'write_bytes' THEN COALESCE(z.bytes, 0)
                  ELSE 0 END + t.outside) * m.block AS traced, t.delta AS kernel,
              t.outside_slack AS slack,
              CASE WHEN m.block IS NULL THEN 'layer block was not measured'
                   WHEN d.leaf = 0 THEN 'no leaf: the devices below it count its bytes'
                   WHEN t.uncounted THEN 'the kernel was told not to count: iostats is 0' END AS absent,
                   t.source AS note,
              a.early, t.outside, t.under_way, t.unseen
       FROM t JOIN (SELECT 'read_bytes' AS name, 'device bytes read' AS what UNION ALL SELECT 'write_bytes',
           'device bytes written') w ON w.name = t.what
       JOIN v_measured m LEFT JOIN v_device d ON d.dev = t.dev LEFT JOIN zeroed z ON z.dev = t.dev
       LEFT JOIN device a ON a.dev = t.dev AND a.kind = CASE t.what WHEN 'read_bytes' THEN 'block_read'
           ELSE 'block_write' END
       WHERE t.pid IS NULL AND (t.delta <> 0 OR a.bytes > 0) AND (NOT EXISTS (SELECT 1 FROM v_only_disk)
           OR t.dev IN (SELECT dev FROM v_only_disk))),
     -- what the edges of the run cut through: no request of a server that is never idle waits for the gate
     edge AS (
       SELECT 1, what || ', begun before the run', subject, early, NULL, 0,
              'queued before it, completed inside it: owner not known', '' FROM disk WHERE early > 0
       UNION ALL
       SELECT 1, what || ', outside the run', subject, outside, NULL, 0,
              'completed between a reading of the counter and the run', '' FROM disk WHERE outside > 0
       UNION ALL
       SELECT 1, what || ', under way at its end', subject, under_way, NULL, 0,
              'of requests that began inside it and had not completed', '' FROM disk WHERE under_way > 0
       UNION ALL
       SELECT 1, what || ', completion not told', subject, unseen, NULL, 0,
              'the kernel called no program; known by the requests', '' FROM disk WHERE unseen > 0),
     life AS MATERIALIZED (
       SELECT p.pid, p.start_ns, MAX(p.id), p.comm || CASE WHEN p.folded > 1 THEN ' and ' || (p.folded - 1)
                  || ' like it' ELSE '' END AS comm,
              SUM(p.rchar) AS rchar, SUM(p.wchar) AS wchar
       FROM v_process p
       WHERE p.id > 2
       GROUP BY p.pid, p.start_ns
       -- what it was before an exec ends there, and may be all that has ended
       HAVING (SUM(p.rchar) IS NOT NULL OR SUM(p.wchar) IS NOT NULL)
          AND SUM(p.rchar IS NULL AND p.wchar IS NULL AND p.fold IS NULL) = 0),
     calls AS MATERIALIZED (
       SELECT p.pid, p.start_ns, SUM(CASE k.dir WHEN 'r' THEN t.bytes ELSE 0 END) AS r,
              SUM(CASE k.dir WHEN 'w' THEN t.bytes ELSE 0 END) AS w
       FROM ask JOIN agg_total t ON t.run = ask.run JOIN v_kind k ON k.id = t.kind JOIN v_process p ON p.id = t.owner
       WHERE k.layer = 'syscall' AND k.kind NOT LIKE 'aio%' AND k.kind NOT LIKE 'splice%'
       GROUP BY p.pid, p.start_ns),
     task AS (
       SELECT 2, 'process bytes written', l.comm || ' [' || l.pid || ']', COALESCE(c.w, 0) * m.syscall, l.wchar, 0,
              CASE WHEN m.syscall IS NULL THEN 'layer syscall was not measured' END, 'wchar'
       FROM life l JOIN v_measured m LEFT JOIN calls c ON c.pid = l.pid AND c.start_ns = l.start_ns
       WHERE l.wchar IS NOT NULL
       UNION ALL
       SELECT 2, 'process bytes read', l.comm || ' [' || l.pid || ']', COALESCE(c.r, 0) * m.syscall, l.rchar, 0,
              CASE WHEN m.syscall IS NULL THEN 'layer syscall was not measured' END, 'rchar'
       FROM life l JOIN v_measured m LEFT JOIN calls c ON c.pid = l.pid AND c.start_ns = l.start_ns
       WHERE l.rchar IS NOT NULL
       UNION ALL
       SELECT 3, CASE t.what WHEN 'wchar' THEN 'process bytes written' ELSE 'process bytes read' END, MAX(p.comm)
                  || ' [' || t.pid || ']',
              COALESCE(c.bytes, 0) * m.syscall, t.delta, 0,
              CASE WHEN m.syscall IS NULL THEN 'layer syscall was not measured'
                   WHEN COALESCE(c.bytes, 0) < t.delta
                     THEN printf('it ran while tracing began or ended: %d of %d bytes traced', COALESCE(c.bytes, 0),
                         t.delta) END, t.what
       FROM t JOIN v_measured m JOIN v_process p ON p.pid = t.pid
       LEFT JOIN (SELECT pid, 'rchar' AS what, SUM(r) AS bytes FROM calls GROUP BY pid UNION ALL SELECT pid, 'wchar',
           SUM(w) FROM calls GROUP BY pid) c
         ON c.pid = t.pid AND c.what = t.what
       WHERE t.what IN ('rchar', 'wchar') AND t.pid IS NOT NULL AND p.id > 2
       GROUP BY t.pid, t.what
       UNION ALL
       SELECT 3, 'process bytes', n || ' processes', NULL, NULL, 0,
              'neither born and ended inside the run, nor there from its start to its end', ''
       FROM (SELECT COUNT(DISTINCT p.pid || ' ' || p.start_ns) AS n
             FROM v_process p LEFT JOIN life l ON l.pid = p.pid AND l.start_ns = p.start_ns
             WHERE p.id > 2 AND NOT p.kthread AND p.fold IS NULL AND l.pid IS NULL
                 AND p.pid NOT IN (SELECT t.pid FROM t WHERE t.pid IS NOT NULL))
       WHERE n > 0),
     -- calls return no bytes of requests that failed
     failed AS (SELECT COALESCE(SUM(c.touched), 0) AS failed FROM v_cell c WHERE c.kind = 'block_write'
         AND c.errors > 0 AND c.cause IN ('data', 'direct')),
     sums AS (
       SELECT SUM(g.dirtied) AS dirtied, SUM(g.written) AS written, SUM(g.cancelled) AS cancelled,
              SUM(g.dirty_end) AS dirty_end, SUM(g.dirty_start) AS dirty_start, SUM(g.unexpected) AS unexpected,
              SUM(g.slack) AS slack, SUM(g.d_w) AS d_w
       FROM v_ledger g),
     ledger AS (
       SELECT 4, 'ledger: dirtied = written + cancelled + still dirty', 'run',
              s.dirty_start + s.dirtied + s.unexpected, s.written + s.cancelled + s.dirty_end, 0,
              CASE WHEN EXISTS (SELECT 1 FROM v_only_disk) THEN 'the run is about one disk, calls are about all'
                   WHEN m.ledger IS NULL AND r.events = 0 THEN 'needs events, and the run recorded none'
                   WHEN m.ledger IS NULL AND EXISTS (SELECT 1 FROM v_lost WHERE effect = 'events')
                       THEN 'needs all events, and some were lost'
                   WHEN m.ledger IS NULL THEN 'the store has no ledger for this run' END,
                   'dirty before the run + dirtied + unexpected'
       FROM v_measured m JOIN v_run r JOIN sums s
       UNION ALL
       SELECT 5, 'ledger: unexplained (at most 1 % of D)', 'run', s.slack, 0, CAST(s.d_w / 100 AS INTEGER) + x.failed,
              CASE WHEN EXISTS (SELECT 1 FROM v_only_disk) THEN 'the run is about one disk, calls are about all'
                                                                      WHEN m.ledger IS NULL THEN 'no ledger' END,
                                                                      'unexpected, and still dirty after a settle'
       FROM v_measured m JOIN sums s JOIN failed x
       UNION ALL
       SELECT 6, 'ledger: file data submitted', 'run', s.written + s.submitted, a.f_data, x.failed,
              CASE WHEN m.ledger IS NULL THEN 'no ledger' WHEN m.fs IS NULL THEN 'layer fs was not measured'
                   WHEN EXISTS (SELECT 1 FROM v_lost WHERE effect = 'events' AND layer = 'fs')
                       THEN 'events of layer fs were lost' END,
              'events against aggregates, of traced processes'
       FROM v_measured m
       JOIN failed x
       JOIN (SELECT COALESCE(SUM(l.written), 0) AS written, COALESCE(SUM(l.submitted), 0) AS submitted FROM v_ledger l
           JOIN v_group g ON g.gid = l.gid WHERE g.rank < 4 OR g.what = 'unattributed') s
       JOIN (SELECT COALESCE(SUM(v.amount), 0) AS f_data FROM v_amount v JOIN v_group g ON g.gid = v.gid
             WHERE v.sym = 'W' AND (g.rank < 4 OR g.what = 'unattributed')) a),
     ext4 AS (
       SELECT 7, 'ext4 session_write_bytes', COALESCE(d.device, t.source),
              (COALESCE(t.traced, COALESCE(a.bytes, 0) + COALESCE(z.bytes, 0)) + t.outside) * m.block, t.delta,
              1023 + t.outside_slack,
              CASE WHEN m.block IS NULL THEN 'layer block was not measured'
                   WHEN t.uncounted THEN 'the kernel was told not to count: iostats is 0'
                   WHEN d.type = 'md' THEN 'md does not count each of its bytes once'
                   WHEN t.begin_value = 0
                       AND COALESCE(t.traced, COALESCE(a.bytes, 0) + COALESCE(z.bytes, 0)) + t.outside > t.delta
                       THEN 'mounted inside the run: it counts from then on' END, t.source
       FROM t JOIN v_measured m LEFT JOIN v_device d ON d.dev = t.dev LEFT JOIN device a ON a.dev = t.dev
           AND a.kind = 'block_write'
       LEFT JOIN zeroed z ON z.dev = t.dev
       WHERE t.what = 'session_write_bytes' AND (NOT EXISTS (SELECT 1 FROM v_only_disk)
           OR t.dev IN (SELECT dev FROM v_only_disk))),
     lines AS (SELECT ord, what, subject, traced, kernel, slack, absent, note FROM disk UNION ALL SELECT * FROM edge
         UNION ALL SELECT * FROM task UNION ALL SELECT * FROM ledger UNION ALL SELECT * FROM ext4),
     lossy AS (SELECT COALESCE(MAX(effect = 'bytes'), 0) AS bytes, COALESCE(MAX(effect = 'owner'), 0) AS owner
         FROM v_lost)
SELECT l.ord, l.what, l.subject, l.traced, l.kernel, l.traced - l.kernel AS difference,
       CASE WHEN l.absent IS NOT NULL OR l.traced IS NULL OR l.kernel IS NULL THEN 'n/a'
            WHEN abs(l.traced - l.kernel) <= l.slack THEN 'OK'
            WHEN lossy.bytes OR (lossy.owner AND l.ord IN (2, 3, 6)) THEN 'n/a' ELSE 'MISMATCH' END AS result,
       COALESCE(l.absent, l.note) || CASE WHEN (lossy.bytes OR lossy.owner) AND l.absent IS NULL
           THEN '; the run lost records' ELSE '' END AS note
FROM lines l JOIN lossy;
