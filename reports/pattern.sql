-- SPDX-License-Identifier: GPL-3.0-only
-- title: Pattern: what was accessed in sequence, and what at random
-- caption: An access is sequential when it begins where the previous one of its stream ended. A stream of calls is \
-- caption: what one process, or one
-- caption: of its threads, does to one file in one direction; a stream at the block layer the requests of one device \
-- caption: in one direction for
-- caption: file data, for the journal, or for structures of the file system. layer device: all requests of a device \
-- caption: in the order in
-- caption: which they were issued. share: sequential / (sequential + random); >=: some are in no event, lost or of \
-- caption: processes that are not
-- caption: traced, and may have come between two that look sequential. Not judged: the first of a stream, and
-- caption: what has no known file. Accesses that moved no byte are none. A request of several files counts for the \
-- caption: largest.

-- table: layers: By layer
SELECT layer, way, part, device, accesses, sequential, accesses - sequential - unjudged AS random,
       unjudged AS not_judged, bound,
       share, bytes, bytes * 1.0 / NULLIF(accesses, 0) AS mean_bytes, note
FROM v_pattern
ORDER BY place, device, class, way;

-- table: owners: By process
-- hide: what
SELECT g.what, g.who, g.pid, l.layer, l.way, SUM(l.accesses) AS accesses, SUM(l.sequential) AS sequential,
       SUM(l.accesses - l.sequential - l.unjudged) AS random, iif(l.lost, '>=', 'exact') AS bound,
       max(SUM(l.sequential) - l.broken, 0) * 1.0 / NULLIF(SUM(l.accesses - l.unjudged) + l.lost, 0) AS share,
       SUM(l.bytes) AS bytes
FROM v_order_line l JOIN v_group g ON g.gid = l.gid
WHERE g.shown AND l.place < 4
GROUP BY l.gid, l.place, l.way
ORDER BY g.rank, g.who, g.gid, l.place, l.way;

-- table: files: The 100 files with most accesses of calls (then of devices), by layer
SELECT f.path, f.component, l.layer, l.way, SUM(l.accesses) AS accesses, SUM(l.sequential) AS sequential,
       SUM(l.accesses - l.sequential - l.unjudged) AS random, iif(l.lost, '>=', 'exact') AS bound,
       max(SUM(l.sequential) - l.broken, 0) * 1.0 / NULLIF(SUM(l.accesses - l.unjudged) + l.lost, 0) AS share,
       SUM(l.bytes) AS bytes
FROM v_pattern_file f JOIN v_order_line l ON l.file = f.file AND l.class < 2 AND l.place < 4
GROUP BY f.file, l.place, l.way
ORDER BY f.place, l.place, l.way;

-- plot: layers
-- chart: bars
-- heading: Accesses that begin where the one before them ended, by layer
-- axis: share of the accesses that could be judged
-- unit: percent
-- fold: no
SELECT v.layer || iif(v.part = '', '', ', ' || v.part) || iif(v.device = '', '', ' of ' || v.device) AS "row",
       v.way AS bar, s.part,
       iif(s.part = 'sequential', v.share, 1 - v.share) * 100 AS value,
       printf('%s%.1f %% of %d', iif(v.bound = 'exact', '', v.bound || ' '), v.share * 100,
              v.accesses - v.unjudged) AS label
FROM v_pattern v JOIN (SELECT 'sequential' AS part UNION ALL SELECT 'random') s
WHERE v.share IS NOT NULL AND (v.bound = 'exact' OR s.part = 'sequential')
    AND v.accesses >= 0.001 * (SELECT MAX(accesses) FROM v_pattern)
ORDER BY v.place, v.device, v.class, v.way, s.part = 'random';

-- plot: files
-- chart: bars
-- heading: The files with most accesses of calls
-- axis: share of the accesses that could be judged
-- unit: percent
-- fold: no
SELECT f.path AS "row", l.way AS bar, s.part,
       iif(s.part = 'sequential', max(SUM(l.sequential) - l.broken, 0),
           SUM(l.accesses - l.sequential - l.unjudged)) * 100.0 / (SUM(l.accesses - l.unjudged) + l.lost) AS value,
       printf('%s%.1f %% of %d', iif(l.lost, '>= ', ''),
              max(SUM(l.sequential) - l.broken, 0) * 100.0 / (SUM(l.accesses - l.unjudged) + l.lost),
              SUM(l.accesses - l.unjudged)) AS label
FROM v_pattern_file f JOIN v_order_line l ON l.file = f.file AND l.place = 1
    JOIN (SELECT 'sequential' AS part UNION ALL SELECT 'random') s
WHERE f.place <= 10 AND (NOT l.lost OR s.part = 'sequential')
GROUP BY f.path, l.way, s.part
HAVING SUM(l.accesses - l.unjudged) > 0
ORDER BY MIN(f.place), l.way, s.part = 'random';
