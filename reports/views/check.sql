-- SPDX-License-Identifier: GPL-3.0-only
-- check.sql: Comparisons of `verify`.

-- The disk that the run was about: by --dev, which takes a name, a path or major:minor; a merged run has the counters
-- of those that it was about.
CREATE TEMP VIEW v_named_disk AS
WITH asked AS (SELECT ' ' || filters || ' ' AS words FROM v_run WHERE ' ' || filters LIKE '% dev=%')
SELECT d.dev FROM asked a JOIN v_device d
ON instr(a.words, ' dev=' || d.device || ' ') OR instr(a.words, ' dev=/dev/' || d.device || ' ')
   OR instr(a.words, ' dev=' || devno(d.dev) || ' ')
UNION SELECT t.dev FROM asked a JOIN ask JOIN node n ON n.run = ask.run JOIN truth t ON t.run = ask.run;

-- Devices on that disk: partitions, logical devices (dm, md), loop devices, file systems with numbers of their own.
-- apart: the device lies on another disk as well, whose requests the run does not have.
CREATE TEMP TABLE v_only_disk AS
WITH RECURSIVE lies AS MATERIALIZED (SELECT l.dev, l.below FROM ask JOIN level l ON l.run = ask.run),
     above(dev) AS (SELECT dev FROM v_named_disk
                    UNION SELECT l.dev FROM above a JOIN lies l ON l.below = a.dev),
     apart(dev) AS (SELECT dev FROM lies WHERE dev IN (SELECT dev FROM above EXCEPT SELECT dev FROM v_named_disk)
                                           AND below NOT IN (SELECT dev FROM above)
                    UNION SELECT l.dev FROM apart a JOIN lies l ON l.below = a.dev)
SELECT dev, dev IN (SELECT dev FROM apart) AS apart FROM above;

-- Counters of the kernel, except those of disks that the run was not about. only: it was about one.
CREATE TEMP TABLE v_truth AS
SELECT t.source, t.what, t.dev, t.pid, t.begin_value, t.end_value - t.begin_value AS delta,
       COALESCE(t.outside, 0) AS outside, COALESCE(t.outside_max - t.outside, 0) AS outside_slack, t.under_way,
       t.unseen, t.traced, CASE t.uncounted WHEN 1 THEN 'the kernel was told not to count: iostats is 0'
           WHEN 2 THEN 'md below dm may count each of its bytes twice' END AS uncounted
FROM ask JOIN truth t ON t.run = ask.run JOIN (SELECT COUNT(*) > 0 AS only FROM v_only_disk) o
WHERE NOT o.only OR t.pid IS NOT NULL OR t.dev IN (SELECT dev FROM v_only_disk);

-- Devices and files that a run with filters is about: those that its lines used. Without, it is about all.
CREATE TEMP TABLE v_about_dev AS
SELECT DISTINCT a.dev FROM v_run r JOIN v_amount a JOIN v_group g ON g.gid = a.gid
WHERE r.filters IS NOT NULL AND g.rank < 4 AND a.amount > 0;

CREATE TEMP TABLE v_about_file AS
SELECT g.file FROM v_run r CROSS JOIN ledger g ON g.run = r.run JOIN v_owner o ON o.owner = g.owner
WHERE r.filters IS NOT NULL AND o.owner > 2
UNION
SELECT i.file FROM v_run r CROSS JOIN file_io i ON i.run = r.run
WHERE r.filters IS NOT NULL AND i.owner > 2 AND i.write_bytes > 0;

-- The ledger of the files that the run is about, summed up: a file of others has no part without an owner.
CREATE TEMP VIEW v_about_ledger AS
SELECT SUM(dirty_start + dirtied + unexpected) AS came, SUM(written + cancelled + dirty_end) AS went,
       SUM(unexpected + iif(r.horizon = 'at_ack', 0, dirty_end - dirty_late)) AS unknown,
       SUM(submitted) - SUM(direct) AS padding, CAST(SUM(dirtied + direct) / 100 AS INTEGER) AS hundredth
FROM v_measured m CROSS JOIN v_run r CROSS JOIN ledger g ON m.ledger AND g.run = r.run
WHERE r.filters IS NULL OR g.file IN (SELECT file FROM v_about_file);

-- Every check of `verify`, one row each. traced: the sum of the aggregates or of the ledger; kernel: the counter that
-- it must equal.
CREATE TEMP VIEW v_check AS
WITH m AS MATERIALIZED (
       SELECT device AS block, syscall, iif(device IS NULL, 'layer block was not measured', NULL) AS no_block,
              iif(syscall IS NULL, 'layer syscall was not measured', NULL) AS no_syscall,
              iif(fs IS NULL, 'layer fs was not measured', NULL) AS no_fs, iif(ledger, NULL, 'no ledger') AS no_ledger,
              (SELECT filters IS NOT NULL FROM v_run) AS filtered,
              (SELECT ' ' || filters LIKE '% system=%' FROM v_run) AS by_system,
              EXISTS (SELECT 1 FROM v_only_disk) AS by_disk,
              CASE WHEN EXISTS (SELECT 1 FROM v_only_disk WHERE apart)
                   THEN 'files are on other disks than the one that the run is about, too'
                   WHEN EXISTS (SELECT 1 FROM v_only_disk)
                    AND EXISTS (SELECT 1 FROM v_cell WHERE app AND on_file AND bytes > 0
                                                       AND dev NOT IN (SELECT dev FROM v_only_disk))
                   THEN 'the run is about one disk, calls are about all' END AS one_disk,
              iif(ledger, NULL, COALESCE((SELECT text FROM v_no_ledger),
                  'the store has no ledger for this run')) AS why_no_ledger
       FROM v_measured),
     -- the kernel counts the ranges of write-zeroes and of secure erases as written; they are no bytes here
     device AS MATERIALIZED (
       SELECT dev, sum_if(bytes, kind = 'block_read') AS read, sum_if(bytes, kind = 'block_write') AS written,
              sum_if(touched, kind = 'block_zeroes' OR (kind = 'block_other' AND cause = 'discard')) AS zeroed,
              sum_if(bytes, kind = 'block_read' AND cause = 'before_run') AS early_r,
              sum_if(bytes, kind = 'block_write' AND cause = 'before_run') AS early_w
       FROM v_cell GROUP BY dev),
     disk AS (
       SELECT w.what, w.reads, t.dev, COALESCE(d.device, t.source) AS subject, t.source, t.delta, t.outside,
              t.outside_slack,
              t.under_way, t.unseen, iif(w.reads, 0, a.zeroed) AS ranges, iif(w.reads, a.early_r, a.early_w) AS early,
              (COALESCE(iif(w.reads, a.read, a.written + a.zeroed), 0) + t.outside) * m.block AS traced,
              COALESCE(m.no_block, iif(m.filtered AND t.dev NOT IN (SELECT dev FROM v_about_dev)
                                       AND COALESCE(iif(w.reads, a.read, a.written + a.zeroed), 0) + t.outside
                                           <> t.delta,
                                       'not what the run is about: nobody who was traced used it', NULL),
                       iif(d.leaf = 0, 'no leaf: the devices below it count its bytes', t.uncounted)) AS absent
       FROM v_truth t JOIN (SELECT 'read_bytes' AS name, 'device bytes read' AS what, 1 AS reads
                            UNION ALL SELECT 'write_bytes', 'device bytes written', 0) w ON w.name = t.what
       JOIN m LEFT JOIN v_device d ON d.dev = t.dev LEFT JOIN device a ON a.dev = t.dev
       WHERE t.pid IS NULL AND (t.delta <> 0 OR iif(w.reads, a.read, a.written) > 0)),
     -- bytes that disks at the bottom moved for all devices on them, where these differ from their own B
     bottom AS (
       SELECT dev, sum_if(amount, sym = 'P') AS P, sum_if(amount, sym = 'P_r') AS P_r,
              sum_if(amount, sym = 'B') AS B, sum_if(amount, sym = 'B_r') AS B_r
       FROM v_amount WHERE sym IN ('P', 'P_r', 'B', 'B_r') GROUP BY dev),
     above AS (SELECT l.below AS dev, group_concat(DISTINCT d.device) AS devices
               FROM v_level l JOIN v_device d ON d.dev = l.dev JOIN v_amount a ON a.dev = l.dev AND a.amount > 0
               GROUP BY l.below),
     -- requests and calls that cross the begin or the end of the run: a server that is never idle does not wait
     edge(n, edge, note) AS (
       VALUES (0, ', begun before the run', 'queued before it, completed inside it: owner not known'),
              (1, ', outside the run', 'completed between a reading of the counter and the run'),
              (2, ', under way at its end', 'of requests that began inside it and had not completed'),
              (3, ', completion not told', 'the kernel called no program; known by the requests')),
     way(source, what, dir) AS (VALUES ('wchar', 'process bytes written', 'w'), ('rchar', 'process bytes read', 'r')),
     life AS MATERIALIZED (
       SELECT pid, start_ns, MAX(id), system,
              comm || iif(folded > 1, ' and ' || (folded - 1) || ' like it', '') AS comm,
              iif(TOTAL(rchar IS NULL AND fold IS NULL) = 0, SUM(rchar), NULL) AS rchar,
              iif(TOTAL(wchar IS NULL AND fold IS NULL) = 0, SUM(wchar), NULL) AS wchar
       FROM v_process WHERE id > 2 GROUP BY pid, start_ns
       -- an exec ends the process as it was before, which may be all that has ended
       HAVING COALESCE(SUM(rchar), SUM(wchar)) IS NOT NULL
          AND TOTAL(rchar IS NULL AND wchar IS NULL AND fold IS NULL) = 0),
     calls AS MATERIALIZED (
       SELECT p.pid, p.start_ns, k.dir, SUM(t.bytes) AS bytes
       FROM v_run_total t JOIN v_kind k ON k.id = t.kind JOIN v_process p ON p.id = t.owner
       WHERE k.layer = 'syscall' AND k.kind NOT LIKE 'aio%' AND k.kind NOT LIKE 'splice%'
       GROUP BY p.pid, p.start_ns, k.dir),
     of_pid AS MATERIALIZED (SELECT pid, dir, SUM(bytes) AS bytes FROM calls GROUP BY pid, dir),
     sums AS (
       SELECT came, went, unknown + max(padding, 0) AS slack, hundredth,
              -- calls return no bytes of requests that failed
              (SELECT sum_if(touched, errors > 0 AND cause IN ('data', 'direct'))
               FROM v_cell WHERE kind = 'block_write') AS failed
       FROM v_about_ledger),
     submitted AS (
       SELECT COALESCE(SUM(l.written + l.submitted), 0) AS by_events, COALESCE(SUM(v.amount), 0) AS by_sums
       FROM v_group g LEFT JOIN v_ledger l ON l.gid = g.gid
       LEFT JOIN (SELECT gid, SUM(amount) AS amount FROM v_amount WHERE sym = 'W' GROUP BY gid) v ON v.gid = g.gid
       -- of what nobody is known to own, a run with --system has events only where the system used the file
       WHERE g.rank < 4 OR g.what = 'unattributed'
           AND (SELECT COALESCE(filters, '') NOT LIKE '%system=%' FROM v_run)),
     lines(ord, what, subject, traced, kernel, slack, absent, note) AS (
       SELECT 1, what, subject, traced, delta, outside_slack, absent,
              source || iif(ranges > 0,
                            printf('; %d of them are ranges that were zeroed or erased, no bytes of B', ranges), '')
       FROM disk
       UNION ALL
       SELECT 1, what || edge, subject, json_array(early, outside, under_way, unseen) ->> n AS bytes, NULL, 0, note, ''
       FROM disk JOIN edge WHERE bytes > 0
       UNION ALL
       SELECT 1, iif(d.reads, 'P_r: bytes read from the disk at the bottom',
                     'P: bytes written to the disk at the bottom'),
              d.subject, (iif(d.reads, p.P_r, p.P) + COALESCE(d.ranges, 0) + d.outside) * m.block, d.delta,
              d.outside_slack, d.absent, COALESCE('of all that lies on it: ' || replace(a.devices, ',', ', '), '')
       FROM disk d JOIN m JOIN bottom p ON p.dev = d.dev
       JOIN v_device v ON v.dev = d.dev AND COALESCE(v.bottom, v.leaf) LEFT JOIN above a ON a.dev = d.dev
       WHERE iif(d.reads, p.P_r <> p.B_r, p.P <> p.B)
       UNION ALL
       SELECT 2, w.what, l.comm || ' [' || l.pid || ']', COALESCE(c.bytes, 0) * m.syscall,
              iif(w.dir = 'w', l.wchar, l.rchar) AS delta, 0,
              COALESCE(m.no_syscall, iif(m.by_system AND l.system IS NOT NULL
                                         AND COALESCE(c.bytes, 0) < iif(w.dir = 'w', l.wchar, l.rchar),
                  'recognised as ' || l.system || ' in its middle: counted from then on', NULL),
                       iif(m.by_disk AND COALESCE(c.bytes, 0) < iif(w.dir = 'w', l.wchar, l.rchar),
                  'the run is about one disk, the counter is about all', NULL)), w.source
       FROM life l JOIN way w JOIN m LEFT JOIN calls c ON c.pid = l.pid AND c.start_ns = l.start_ns AND c.dir = w.dir
       WHERE delta IS NOT NULL
       UNION ALL
       SELECT 3, w.what, MAX(p.comm) || ' [' || t.pid || ']', COALESCE(c.bytes, 0) * m.syscall, t.delta, 0,
              COALESCE(m.no_syscall, iif(m.by_disk, 'the run is about one disk, the counter is about all', NULL),
                       iif(COALESCE(c.bytes, 0) < t.delta,
                  printf('it ran while tracing began or ended: %d of %d bytes traced', c.bytes, t.delta), NULL)),
              w.source
       FROM v_truth t JOIN m JOIN way w ON w.source = t.what JOIN v_process p ON p.pid = t.pid AND p.id > 2
       LEFT JOIN of_pid c ON c.pid = t.pid AND c.dir = w.dir
       GROUP BY t.pid, t.what
       UNION ALL
       SELECT 3, 'process bytes', COUNT(DISTINCT p.pid || ' ' || p.start_ns) || ' processes', NULL, NULL, 0,
              iif(EXISTS (SELECT 1 FROM ask JOIN node n ON n.run = ask.run),
                  'counters of processes are not merged: see the hosts'' own runs',
                  'neither born and ended inside the run, nor there from its start to its end'), ''
       FROM v_process p WHERE p.id > 2 AND NOT p.kthread AND p.fold IS NULL
           AND (p.pid, p.start_ns) NOT IN (SELECT pid, start_ns FROM life)
           AND p.pid NOT IN (SELECT pid FROM v_truth WHERE pid IS NOT NULL)
       HAVING COUNT(*) > 0
       UNION ALL
       SELECT 4, 'ledger: dirtied = written + cancelled + still dirty', 'run', came, went, 0,
              COALESCE(one_disk, why_no_ledger), 'dirty before the run + dirtied + unexpected' FROM m JOIN sums
       UNION ALL
       SELECT 5, 'ledger: unexplained (at most 1 % of D)', 'run', slack, 0, hundredth + failed,
              COALESCE(one_disk, no_ledger), 'unexpected, and still dirty after a settle' FROM m JOIN sums
       UNION ALL
       SELECT 6, 'ledger: file data submitted', 'run', by_events, by_sums, failed, COALESCE(no_ledger, no_fs),
              'events against aggregates, of traced processes' FROM m JOIN sums JOIN submitted
       UNION ALL
       SELECT 7, 'ext4 session_write_bytes', COALESCE(d.device, t.source), (moved + t.outside) * m.block, t.delta,
              1023 + t.outside_slack,
              CASE WHEN COALESCE(m.no_block, t.uncounted) IS NOT NULL THEN COALESCE(m.no_block, t.uncounted)
                   WHEN d.type = 'md' THEN 'md does not count each of its bytes once'
                   WHEN t.begin_value = 0 AND moved + t.outside > t.delta
                   THEN 'mounted inside the run: it counts from then on' END, t.source
       FROM (SELECT t.*, COALESCE(t.traced, a.written + a.zeroed, 0) AS moved
             FROM v_truth t LEFT JOIN device a ON a.dev = t.dev WHERE t.what = 'session_write_bytes') t
       JOIN m LEFT JOIN v_device d ON d.dev = t.dev),
     lossy AS (
       SELECT COALESCE(MAX(effect = 'bytes'), 0) AS bytes, COALESCE(MAX(effect = 'owner'), 0) AS owner FROM v_lost)
SELECT l.ord, l.what, l.subject, l.traced, l.kernel, l.traced - l.kernel AS difference,
       CASE WHEN l.absent IS NOT NULL OR l.traced IS NULL OR l.kernel IS NULL THEN 'n/a'
            WHEN abs(l.traced - l.kernel) <= l.slack THEN 'OK'
            WHEN lossy.bytes OR (lossy.owner AND l.ord IN (2, 3, 6)) THEN 'n/a' ELSE 'MISMATCH' END AS result,
       COALESCE(l.absent, l.note || iif(lossy.bytes OR lossy.owner, '; the run lost records', '')) AS note
FROM lines l JOIN lossy;
