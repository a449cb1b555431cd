-- SPDX-License-Identifier: GPL-3.0-only
-- check.sql: What `verify` compares.

-- Counters of the kernel, but those of disks that the run was not about: by --dev, which takes a name, a path or
-- major:minor. only: it was about one.
CREATE TEMP VIEW v_only_disk AS
WITH asked AS (SELECT substr(' ' || filters || ' ', instr(' ' || filters || ' ', ' dev=') + 5) AS rest
               FROM v_run WHERE ' ' || filters LIKE '% dev=%')
SELECT d.dev
FROM asked a JOIN v_device d
     ON substr(a.rest, 1, instr(a.rest, ' ') - 1) IN (d.device, '/dev/' || d.device, devno(d.dev));

CREATE TEMP VIEW v_truth AS
SELECT t.source, t.what, t.dev, t.pid, t.begin_value, t.end_value - t.begin_value AS delta,
       COALESCE(t.outside, 0) AS outside, COALESCE(t.outside_max - t.outside, 0) AS outside_slack, t.under_way,
       t.unseen, t.traced, t.uncounted
FROM ask JOIN truth t ON t.run = ask.run JOIN (SELECT COUNT(*) > 0 AS only FROM v_only_disk) o
WHERE NOT o.only OR t.pid IS NOT NULL OR t.dev IN (SELECT dev FROM v_only_disk);

-- Every check of `verify`, one row each. traced: what the aggregates or the ledger say; kernel: what they must equal.
CREATE TEMP VIEW v_check AS
WITH t AS MATERIALIZED (SELECT * FROM v_truth),
     m AS MATERIALIZED (
       SELECT block, syscall, ledger, fs,
              EXISTS (SELECT 1 FROM v_spoilt WHERE class = 'ledger' AND effect = 'events') AS some_events,
              iif(block IS NULL, 'layer block was not measured', NULL) AS no_block,
              iif(syscall IS NULL, 'layer syscall was not measured', NULL) AS no_syscall,
              CASE WHEN EXISTS (SELECT 1 FROM v_only_disk) THEN 'the run is about one disk, calls are about all' END
                  AS one_disk
       FROM v_measured),
     -- the kernel counts the ranges of write-zeroes and of secure erases as written; they are no bytes here
     device AS MATERIALIZED (
       SELECT dev, sum_if(bytes, kind = 'block_read') AS read, sum_if(bytes, kind = 'block_write') AS written,
              sum_if(touched, kind = 'block_zeroes' OR (kind = 'block_other' AND cause = 'discard')) AS zeroed,
              sum_if(bytes, kind = 'block_read' AND cause = 'before_run') AS early_r,
              sum_if(bytes, kind = 'block_write' AND cause = 'before_run') AS early_w
       FROM v_cell
       GROUP BY dev),
     disk AS (
       SELECT w.what, COALESCE(d.device, t.source) AS subject, t.source, t.delta, t.outside, t.outside_slack,
              t.under_way, t.unseen, iif(w.reads, a.early_r, a.early_w) AS early,
              COALESCE(iif(w.reads, a.read, a.written + a.zeroed), 0) + t.outside AS traced,
              CASE WHEN m.block IS NULL THEN m.no_block
                   WHEN d.leaf = 0 THEN 'no leaf: the devices below it count its bytes'
                   WHEN t.uncounted THEN 'the kernel was told not to count: iostats is 0' END AS absent
       FROM t JOIN (SELECT 'read_bytes' AS name, 'device bytes read' AS what, 1 AS reads
                    UNION ALL SELECT 'write_bytes', 'device bytes written', 0) w ON w.name = t.what
       JOIN m LEFT JOIN v_device d ON d.dev = t.dev LEFT JOIN device a ON a.dev = t.dev
       WHERE t.pid IS NULL AND (t.delta <> 0 OR iif(w.reads, a.read, a.written) > 0)),
     -- what the edges of the run cut through: no request of a server that is never idle waits for the gate
     edge(what, subject, bytes, note) AS (
       SELECT what || ', begun before the run', subject, early,
              'queued before it, completed inside it: owner not known' FROM disk
       UNION ALL
       SELECT what || ', outside the run', subject, outside,
              'completed between a reading of the counter and the run' FROM disk
       UNION ALL
       SELECT what || ', under way at its end', subject, under_way,
              'of requests that began inside it and had not completed' FROM disk
       UNION ALL
       SELECT what || ', completion not told', subject, unseen,
              'the kernel called no program; known by the requests' FROM disk),
     way(source, what, dir) AS (VALUES ('wchar', 'process bytes written', 'w'), ('rchar', 'process bytes read', 'r')),
     life AS MATERIALIZED (
       SELECT pid, start_ns, MAX(id), comm || iif(folded > 1, ' and ' || (folded - 1) || ' like it', '') AS comm,
              SUM(rchar) AS rchar, SUM(wchar) AS wchar
       FROM v_process
       WHERE id > 2
       GROUP BY pid, start_ns
       -- what it was before an exec ends there, and may be all that has ended
       HAVING (SUM(rchar) IS NOT NULL OR SUM(wchar) IS NOT NULL)
          AND SUM(rchar IS NULL AND wchar IS NULL AND fold IS NULL) = 0),
     calls AS MATERIALIZED (
       SELECT p.pid, p.start_ns, k.dir, SUM(t.bytes) AS bytes
       FROM v_run_total t JOIN v_kind k ON k.id = t.kind JOIN v_process p ON p.id = t.owner
       WHERE k.layer = 'syscall' AND k.kind NOT LIKE 'aio%' AND k.kind NOT LIKE 'splice%'
       GROUP BY p.pid, p.start_ns, k.dir),
     of_pid AS MATERIALIZED (SELECT pid, dir, SUM(bytes) AS bytes FROM calls GROUP BY pid, dir),
     -- calls return no bytes of requests that failed
     failed AS (
       SELECT sum_if(touched, errors > 0 AND cause IN ('data', 'direct')) AS failed
       FROM v_cell
       WHERE kind = 'block_write'),
     sums AS (
       SELECT SUM(dirty_start + dirtied + unexpected) AS came, SUM(written + cancelled + dirty_end) AS went,
              SUM(slack) AS slack, CAST(SUM(d_w) / 100 AS INTEGER) AS hundredth
       FROM v_ledger),
     submitted AS (
       SELECT COALESCE(SUM(l.written + l.submitted), 0) AS by_events, COALESCE(SUM(v.amount), 0) AS by_sums
       FROM v_group g LEFT JOIN v_ledger l ON l.gid = g.gid
       LEFT JOIN (SELECT gid, SUM(amount) AS amount FROM v_amount WHERE sym = 'W' GROUP BY gid) v ON v.gid = g.gid
       WHERE g.rank < 4 OR g.what = 'unattributed'),
     lines(ord, what, subject, traced, kernel, slack, absent, note) AS (
       SELECT 1, what, subject, traced * m.block, delta, outside_slack, absent, source FROM disk JOIN m
       UNION ALL
       SELECT 1, what, subject, bytes, NULL, 0, note, '' FROM edge WHERE bytes > 0
       UNION ALL
       SELECT 2, w.what, l.comm || ' [' || l.pid || ']', COALESCE(c.bytes, 0) * m.syscall,
              iif(w.dir = 'w', l.wchar, l.rchar), 0, m.no_syscall, w.source
       FROM life l JOIN way w JOIN m LEFT JOIN calls c ON c.pid = l.pid AND c.start_ns = l.start_ns AND c.dir = w.dir
       WHERE iif(w.dir = 'w', l.wchar, l.rchar) IS NOT NULL
       UNION ALL
       SELECT 3, w.what, MAX(p.comm) || ' [' || t.pid || ']', COALESCE(c.bytes, 0) * m.syscall, t.delta, 0,
              CASE WHEN m.syscall IS NULL THEN m.no_syscall
                   WHEN COALESCE(c.bytes, 0) < t.delta
                   THEN printf('it ran while tracing began or ended: %d of %d bytes traced', c.bytes, t.delta) END,
              w.source
       FROM t JOIN m JOIN way w ON w.source = t.what JOIN v_process p ON p.pid = t.pid AND p.id > 2
       LEFT JOIN of_pid c ON c.pid = t.pid AND c.dir = w.dir
       GROUP BY t.pid, t.what
       UNION ALL
       SELECT 3, 'process bytes', n || ' processes', NULL, NULL, 0,
              'neither born and ended inside the run, nor there from its start to its end', ''
       FROM (SELECT COUNT(DISTINCT p.pid || ' ' || p.start_ns) AS n
             FROM v_process p
             WHERE p.id > 2 AND NOT p.kthread AND p.fold IS NULL
                 AND (p.pid, p.start_ns) NOT IN (SELECT pid, start_ns FROM life)
                 AND p.pid NOT IN (SELECT pid FROM t WHERE pid IS NOT NULL))
       WHERE n > 0
       UNION ALL
       SELECT 4, 'ledger: dirtied = written + cancelled + still dirty', 'run', s.came, s.went, 0,
              CASE WHEN m.one_disk IS NOT NULL THEN m.one_disk
                   WHEN m.ledger IS NULL AND r.events = 0 THEN 'needs events, and the run recorded none'
                   WHEN m.ledger IS NULL AND m.some_events THEN 'needs all events, and some were lost'
                   WHEN m.ledger IS NULL THEN 'the store has no ledger for this run' END,
              'dirty before the run + dirtied + unexpected'
       FROM m JOIN v_run r JOIN sums s
       UNION ALL
       SELECT 5, 'ledger: unexplained (at most 1 % of D)', 'run', s.slack, 0, s.hundredth + x.failed,
              COALESCE(m.one_disk, iif(m.ledger IS NULL, 'no ledger', NULL)),
              'unexpected, and still dirty after a settle'
       FROM m JOIN sums s JOIN failed x
       UNION ALL
       SELECT 6, 'ledger: file data submitted', 'run', s.by_events, s.by_sums, x.failed,
              CASE WHEN m.ledger IS NULL THEN 'no ledger' WHEN m.fs IS NULL THEN 'layer fs was not measured' END,
              'events against aggregates, of traced processes'
       FROM m JOIN failed x JOIN submitted s
       UNION ALL
       SELECT 7, 'ext4 session_write_bytes', COALESCE(d.device, t.source),
              (COALESCE(t.traced, a.written + a.zeroed, 0) + t.outside) * m.block, t.delta,
              1023 + t.outside_slack,
              CASE WHEN m.block IS NULL THEN m.no_block
                   WHEN t.uncounted THEN 'the kernel was told not to count: iostats is 0'
                   WHEN d.type = 'md' THEN 'md does not count each of its bytes once'
                   WHEN t.begin_value = 0 AND COALESCE(t.traced, a.written + a.zeroed, 0) + t.outside > t.delta
                   THEN 'mounted inside the run: it counts from then on' END, t.source
       FROM t JOIN m LEFT JOIN v_device d ON d.dev = t.dev LEFT JOIN device a ON a.dev = t.dev
       WHERE t.what = 'session_write_bytes'),
     lossy AS (
       SELECT COALESCE(MAX(effect = 'bytes'), 0) AS bytes, COALESCE(MAX(effect = 'owner'), 0) AS owner FROM v_lost)
SELECT l.ord, l.what, l.subject, l.traced, l.kernel, l.traced - l.kernel AS difference,
       CASE WHEN l.absent IS NOT NULL OR l.traced IS NULL OR l.kernel IS NULL THEN 'n/a'
            WHEN abs(l.traced - l.kernel) <= l.slack THEN 'OK'
            WHEN lossy.bytes OR (lossy.owner AND l.ord IN (2, 3, 6)) THEN 'n/a' ELSE 'MISMATCH' END AS result,
       COALESCE(l.absent, l.note || iif(lossy.bytes OR lossy.owner, '; the run lost records', '')) AS note
FROM lines l JOIN lossy;
