-- SPDX-License-Identifier: GPL-3.0-only
-- slow.sql: The slowest calls, and the requests under way on their disks.

-- The slowest calls on files, and as many syncs, of the lines that the report is about. disk: the disk whose requests
-- they wait for; NULL: not known.
CREATE TEMP TABLE v_slow_call(place INTEGER PRIMARY KEY, kind INTEGER, sync INTEGER, owner INTEGER, tid INTEGER,
       file INTEGER, dev INTEGER,
                              disk INTEGER, ts INTEGER, until INTEGER, bytes INTEGER);
INSERT INTO temp.v_slow_call
WITH mask AS MATERIALIZED (SELECT COALESCE(SUM(id), 0) AS bits FROM flag WHERE name IN ('SYNC', 'DSYNC')),
     called AS (SELECT * FROM v_kind WHERE app AND dir IN ('r', 'w', 's', 'm') AND kind NOT IN ('close', 'mmap')),
     -- rows only, by their time: the other columns are read when few rows are left
     longest AS (
       SELECT id FROM (SELECT e.rowid AS id FROM ask CROSS JOIN event e ON e.run = ask.run
                       WHERE e.dur_ns > 0 AND e.kind IN (SELECT id FROM called) AND e.owner > 2
                         AND e.sub NOT IN (SELECT id FROM sub WHERE name IN ('socket', 'net_unix', 'pipe', 'chardev',
                                'pseudo', 'other'))
                         AND (ask.system IS NULL OR e.owner IN (SELECT owner FROM v_owner WHERE shown))
                       ORDER BY e.dur_ns DESC, e.ts_ns LIMIT iif(:rows > 1000, 200, 20))
       UNION
       SELECT id FROM (SELECT e.rowid AS id FROM ask CROSS JOIN event e ON e.run = ask.run
                       WHERE e.dur_ns > 0 AND e.owner > 2
                         AND (e.kind IN (SELECT id FROM called WHERE dir = 's')
                              OR e.kind IN (SELECT id FROM called WHERE dir = 'w') AND e.flags & (SELECT bits
                                     FROM mask))
                         AND (ask.system IS NULL OR e.owner IN (SELECT owner FROM v_owner WHERE shown))
                       ORDER BY e.dur_ns DESC, e.ts_ns LIMIT iif(:rows > 1000, 200, 20))),
     most AS (
       SELECT e.kind, k.dir = 's' OR COALESCE(e.flags & m.bits, 0) > 0 AND k.dir = 'w' AS sync, e.owner, e.tid, e.file,
              COALESCE(e.dev, f.dev) AS dev,
              e.ts_ns AS ts, e.ts_ns + e.dur_ns AS until, e.bytes
       FROM mask m JOIN longest l CROSS JOIN event e ON e.rowid = l.id JOIN v_kind k ON k.id = e.kind
       LEFT JOIN file f ON f.run = e.run AND f.id = e.file)
SELECT ROW_NUMBER() OVER (ORDER BY until - ts DESC, ts), kind, sync, owner, tid, file, m.dev,
       (SELECT iif(d.leaf, d.dev, d.parent) FROM v_device d WHERE d.dev = m.dev), ts, until, bytes
FROM most m;

-- Requests, flushes and commits while any of these calls lasted. class: 1 flush, 2 journal, 3 data and structures. at:
-- begin, with the time in the queue.
CREATE TEMP TABLE v_slow_done AS
WITH kinds AS MATERIALIZED (
       SELECT k.id, CASE k.kind WHEN 'block_flush' THEN 1 WHEN 'commit' THEN 2 ELSE 3 END AS class FROM v_kind k
       WHERE k.kind IN ('block_flush', 'commit', 'block_read', 'block_write')),
     journal AS MATERIALIZED (SELECT id FROM cause WHERE name = 'journal'),
     span AS MATERIALIZED (SELECT MIN(ts) AS ts, MAX(until) AS until FROM v_slow_call)
SELECT e.ts_ns - iif(k.class = 3, COALESCE(e.queue_ns, 0), 0) AS at, e.kind, iif(k.class = 3 AND e.cause = (SELECT id
       FROM journal), 2, k.class) AS class,
       e.dev, e.owner, e.tid, e.file, e.cause, e.bytes, e.ts_ns AS ts, e.ts_ns + COALESCE(e.dur_ns, 0) AS until
FROM ask JOIN span CROSS JOIN event e ON e.run = ask.run AND e.kind IN (SELECT id FROM kinds)
       JOIN kinds k ON k.id = e.kind
WHERE e.ts_ns <= span.until AND e.ts_ns + COALESCE(e.dur_ns, 0) >= span.ts;
CREATE INDEX temp.v_slow_done_at ON v_slow_done(at);

-- The requests and commits that a call may have waited for: those of its disk, or, where that is not known, of any.
CREATE TEMP TABLE v_slow_deed AS
SELECT c.place, d.class, d.kind, d.owner, d.cause, d.bytes, d.ts, d.until, d.ts - d.at AS queue
FROM (SELECT MAX(until - at) AS longest FROM v_slow_done) l CROSS JOIN v_slow_call c
CROSS JOIN v_slow_done d ON d.at BETWEEN c.ts - l.longest AND c.until
WHERE d.until > c.ts AND (c.disk IS NULL OR d.dev IS NULL OR d.dev = c.disk)
  AND (c.sync OR d.tid = c.tid OR d.owner = c.owner AND d.file = c.file AND d.class = 3);

-- Parts of each call's time: every instant counts for the first class under way; parts begin and end where one of these
-- does.
CREATE TEMP TABLE v_slow_part AS
WITH piece AS (
       SELECT d.place, d.class, max(d.ts, c.ts) AS ts, min(d.until, c.until) AS until FROM v_slow_deed d
              JOIN v_slow_call c ON c.place = d.place
       WHERE d.until > d.ts AND d.until > c.ts AND d.ts < c.until
       UNION ALL
       SELECT d.place, 4, max(d.ts - d.queue, c.ts), min(d.ts, c.until) FROM v_slow_deed d
              JOIN v_slow_call c ON c.place = d.place
       WHERE d.queue > 0 AND d.ts > c.ts AND d.ts - d.queue < c.until),
     step AS (
       SELECT place, ts AS at, (class = 1) AS a, (class = 2) AS b, (class = 3) AS c, (class = 4) AS d FROM piece
       UNION ALL SELECT place, until, -(class = 1), -(class = 2), -(class = 3), -(class = 4) FROM piece
       UNION ALL SELECT place, ts, 0, 0, 0, 0 FROM v_slow_call
       UNION ALL SELECT place, until, 0, 0, 0, 0 FROM v_slow_call),
     moment AS (SELECT place, at, SUM(a) AS a, SUM(b) AS b, SUM(c) AS c, SUM(d) AS d FROM step GROUP BY place, at),
     level AS (
       SELECT place, at, LEAD(at) OVER w - at AS len, SUM(a) OVER w AS a, SUM(b) OVER w AS b, SUM(c) OVER w AS c,
              SUM(d) OVER w AS d
       FROM moment WINDOW w AS (PARTITION BY place ORDER BY at)),
     class AS (
       SELECT place, at, len, CASE WHEN a > 0 THEN 1 WHEN b > 0 THEN 2 WHEN c > 0 THEN 3 WHEN d > 0 THEN 4
              ELSE 5 END AS class
       FROM level WHERE len > 0)
SELECT place, iif(class = 5 AND at < COALESCE((SELECT MIN(p.ts) FROM piece p WHERE p.place = class.place), 1 << 62), 0,
       class) AS class, SUM(len) AS ns
FROM class GROUP BY 1, 2;

-- Owners of the bytes that the disk moved during the call: the three with most bytes.
CREATE TEMP TABLE v_slow_owner AS
WITH sums AS (
       SELECT d.place, o.gid, k.dir, x.name AS cause, SUM(d.bytes) AS bytes
       FROM v_slow_deed d JOIN v_kind k ON k.id = d.kind AND k.dir IN ('r', 'w') AND k.kind LIKE 'block%'
       LEFT JOIN v_owner o ON o.owner = COALESCE(d.owner, 0) LEFT JOIN cause x ON x.id = d.cause
       WHERE d.bytes > 0 GROUP BY d.place, o.gid, k.dir, d.cause),
     placed AS (SELECT s.*, ROW_NUMBER() OVER (PARTITION BY place ORDER BY bytes DESC, cause, gid) AS n FROM sums s)
SELECT p.place, group_concat(printf('%s %s of %s%s', size(p.bytes), p.cause, COALESCE(g.who, 'nobody known'),
       iif(p.dir = 'r', ' read', '')), ', ') AS text
FROM (SELECT * FROM placed WHERE n <= 3 ORDER BY place, n) p LEFT JOIN v_group g ON g.gid = p.gid
GROUP BY p.place;

-- One row a call; where there is none, why.
CREATE TEMP TABLE v_slow AS
WITH part AS (
       SELECT place, sum_if(ns, class = 0) / 1000.0 AS before_us, sum_if(ns, class = 1) / 1000.0 AS flush_us,
              sum_if(ns, class = 2) / 1000.0 AS commit_us,
              sum_if(ns, class = 3) / 1000.0 AS data_us, sum_if(ns, class = 4) / 1000.0 AS queue_us, sum_if(ns,
                     class = 5) / 1000.0 AS rest_us
       FROM v_slow_part GROUP BY place),
     lost AS (SELECT COALESCE(SUM(n), 0) AS n FROM v_lost WHERE effect IN ('events', 'bytes') AND layer IN ('syscall',
            'uring', 'fs', 'block', 'all'))
SELECT c.place, c.sync, k.kind AS call, g.who, CAST(o.pid AS TEXT) AS pid, COALESCE(f.path, iif(c.file > 0,
       '(name not known)', '')) AS path, d.device, c.ts / 1e9 AS at_s, c.bytes,
       (c.until - c.ts) / 1000.0 AS took_us, p.before_us * m.block AS before_us, p.queue_us * m.block AS queue_us,
              p.data_us * m.block AS data_us, p.commit_us * m.block AS commit_us,
       p.flush_us * m.block AS flush_us, p.rest_us * m.block AS rest_us,
       CASE max(p.before_us, p.queue_us, p.data_us, p.commit_us, p.flush_us, p.rest_us) * m.block
            WHEN p.before_us THEN 'entering, locks, pages' WHEN p.commit_us THEN 'commit of the journal' WHEN p.data_us
                   THEN 'data' WHEN p.flush_us THEN 'flush'
            WHEN p.queue_us THEN 'queue of the device' WHEN p.rest_us
                   THEN 'locks, and what followed the disk' END AS waited_for,
       COALESCE(w.text, '') AS meanwhile, iif(l.n > 0, printf('%d records were lost', l.n), '') AS note
FROM v_slow_call c JOIN v_measured m JOIN lost l JOIN v_kind k ON k.id = c.kind LEFT JOIN part p ON p.place = c.place
       LEFT JOIN v_owner o ON o.owner = COALESCE(c.owner, 0)
LEFT JOIN v_group g ON g.gid = o.gid LEFT JOIN v_file_name f ON f.id = c.file LEFT JOIN v_device d ON d.dev = c.disk
       LEFT JOIN v_slow_owner w ON w.place = c.place
UNION ALL
SELECT 1, NULL, '', '', '', '', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '',
       CASE WHEN r.events = 0 THEN 'it ' || (SELECT text FROM v_no_events) WHEN m.syscall IS NULL
              THEN 'layer syscall was not measured'
            WHEN r.latency = 'none' THEN 'no call was timed (--latency none)' ELSE 'no call on a file was timed' END
FROM v_run r JOIN v_measured m WHERE NOT EXISTS (SELECT 1 FROM v_slow_call);
