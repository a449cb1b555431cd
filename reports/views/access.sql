-- SPDX-License-Identifier: GPL-3.0-only
-- access.sql: Single accesses, from events: their order, their sizes, their places.

-- Classes of causes by which streams of requests are separated, and their words; 4: a loop device's bytes again, which
-- are not reported.
CREATE TEMP TABLE v_class(class INTEGER PRIMARY KEY, word, causes);
INSERT INTO temp.v_class VALUES (0, '', ''), (1, 'file data', 'data,direct,readahead'), (2, 'fs journal', 'journal'),
       (3, 'fs metadata', 'metadata'), (4, NULL, 'loopback,loop_journal,loop_metadata'), (5, 'other', '');

-- Was the run about some processes? Then accesses without a known owner may be anybody's, and most of them are in no
-- event.
CREATE TEMP VIEW v_about_some AS
SELECT filters <> '' AND filters NOT GLOB 'dev=*' AS yes FROM v_run;

-- Owners whose events are left out: the tracer, processes that are not traced, nobody in a run about some processes,
-- and those outside the system that is asked for.
CREATE TEMP TABLE v_unwanted(owner INTEGER PRIMARY KEY);
INSERT INTO temp.v_unwanted
SELECT 1 UNION SELECT 2 UNION SELECT 0 FROM v_about_some WHERE yes
UNION SELECT o.owner FROM ask JOIN v_owner o ON o.system IS NOT ask.system WHERE ask.system <> '';

-- Classes of events, for functions that read each of them (analyzer/sql/access_map.h explains the format): calls, VFS,
-- requests and ranges of file systems that move bytes, by their layer, and syncs, commits and flushes.
CREATE TEMP TABLE v_access_kind AS
SELECT k.id AS kind, CASE WHEN k.dir IN ('r', 'w') AND k.layer <> 'cache'
                          THEN substr('{"syscall": "ab", "uring": "ab", "vfs": "cd", "block": "ef", "fs": "ij"}'
                                      ->> k.layer, 1 + (k.dir = 'w'), 1)
                          ELSE (SELECT '{"fsyncs": "s", "commits": "t", "flushes": "u"}' ->> c.sym FROM v_counts c
                                WHERE c.kind = k.id AND c.sym IN ('fsyncs', 'commits', 'flushes')) END AS letter
FROM v_kind k;

CREATE TEMP TABLE v_access_map AS
WITH number AS (SELECT n FROM v_number WHERE n < 255)
SELECT (SELECT group_concat(COALESCE(letter, '.'), '') FROM (SELECT l.letter FROM number LEFT JOIN v_access_kind l
                                                             ON l.kind = n ORDER BY n))
       || '/' || (SELECT group_concat(COALESCE(class, 5), '')
                  FROM (SELECT k.class FROM number LEFT JOIN cause c ON c.id = n
                        LEFT JOIN v_class k ON listed(c.name, k.causes) ORDER BY n))
       || '/' || (SELECT group_concat(on_file, '')
                  FROM (SELECT COALESCE(s.name IN ('regular', 'blockdev'), 0) AS on_file
                        FROM number LEFT JOIN sub s ON s.id = n ORDER BY n))
       || '/' || COALESCE((SELECT group_concat(owner) FROM v_unwanted), '')
       || '/' || COALESCE((SELECT group_concat(dev) FROM v_device WHERE NOT leaf), '')
       || '/' || COALESCE((SELECT SUM(id) FROM flag WHERE name IN ('SYNC', 'DSYNC')), 0) AS map;

-- Words for each layer: its name, its objects, and the number of its lost records, so that a share of those that are
-- there is a bound. source: 1 where the VFS was not measured and calls stand for it.
CREATE TEMP TABLE v_place AS
WITH p(place, layer, needs, of) AS (
       VALUES (1, 'calls', 'syscall', '["syscall", "uring", "all"]'), (2, 'vfs', 'syscall', '["vfs", "all"]'),
              (3, 'block', 'block', '["block", "all"]'), (4, 'device', 'block', '["block", "all"]'),
              (5, 'fs', 'fs', '["fs", "all"]'))
SELECT p.place, p.layer, p.place = 2 AND m.vfs IS NULL AS derived,
       COALESCE((SELECT SUM(l.n) FROM v_lost l WHERE l.effect IN ('events', 'bytes') AND l.layer IN (
                 SELECT value
                 FROM json_each(iif(p.place = 2 AND m.vfs IS NULL, '["syscall", "uring", "all"]', p.of)))), 0) AS lost,
       CASE WHEN r.events = 0 THEN 'it ' || (SELECT text FROM v_no_events)
            WHEN iif(p.place < 3, m.syscall, iif(p.place = 5, m.fs, m.block)) IS NULL
            THEN COALESCE((SELECT reason FROM v_unmeasured WHERE layer = 'owners' AND p.needs = 'block'),
                          printf('layer %s was not %s', p.needs, iif(o.layer IS NULL, 'measured', 'asked for')))
            WHEN p.place < 3 THEN 'no call moved bytes of a file; loads and stores through mappings are no calls'
            ELSE 'nothing was moved there' END AS why
FROM p JOIN v_run r JOIN v_measured m
LEFT JOIN v_left_out o ON o.layer = p.needs;

-- Accesses and how many of them begin where one before them ended (analyzer/sql/order.c defines a stream), by layer,
-- direction, class, device, owner and file. Each event is read once, and nothing is sorted.
CREATE TEMP TABLE v_order AS
WITH judged AS MATERIALIZED (
       SELECT access_order((SELECT map FROM v_access_map), e.kind, e.dev, e.owner, e.file, e.tid, e.ts_ns, e.offset,
                           e.bytes, e.sub, e.cause) AS rows
       FROM event e WHERE e.run = (SELECT run FROM ask)
         AND e.kind IN (SELECT kind FROM v_access_kind WHERE letter IN ('a', 'b', 'c', 'd', 'e', 'f')))
SELECT value ->> 0 AS place, value ->> 1 AS way, value ->> 2 AS class, value ->> 3 AS dev, value ->> 4 AS owner,
       value ->> 5 AS file, value ->> 6 AS accesses, value ->> 7 AS bytes, value ->> 8 AS sequential,
       value ->> 9 AS sequential_bytes, value ->> 10 AS unjudged
FROM judged, json_each(rows);

-- Accesses in sequence of all lines that the report is about, and of devices as a whole. Where the VFS was not
-- measured, calls stand for it. broken: the number of accesses that look sequential and may not be, because a lost one
-- came in between: in the stream, and among those of the same thread.
CREATE TEMP VIEW v_order_line AS
SELECT p.place, p.layer, iif(r.way = 1, 'read', 'written') AS way, r.class, w.word AS part, r.dev, d.device,
       r.owner, o.gid, r.file, p.derived, p.lost, p.lost * iif(p.place < 3, 2, 1) AS broken, r.accesses, r.bytes,
       r.sequential, r.unjudged
FROM ask JOIN v_order r JOIN v_place p ON p.place = r.place OR p.derived AND r.place = 1
JOIN v_class w ON w.class = r.class AND w.word IS NOT NULL
LEFT JOIN v_device d ON d.dev = r.dev LEFT JOIN v_owner o ON o.owner = r.owner
WHERE iif(r.place = 4, ask.system IS NULL, r.owner NOT IN (1, 2) AND (ask.system IS NULL OR o.system = ask.system))
  AND (r.place <> 3 OR COALESCE(d.leaf, 1));
