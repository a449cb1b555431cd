-- SPDX-License-Identifier: GPL-3.0-only
-- title: Page cache: what was found in it, and why pages left it
-- none: Layer cache was not traced whole: iot-trace --layers default,cache
-- caption: Bytes of pages. hits: found by calls that read; missed: calls waited for a device; used: read ahead, and \
-- caption: then returned by a call. hit_ratio is the share of hits in these three: what came from the disk is no hit \
-- caption: the first time.
-- caption: Pages left: evicted, with their file, or its inode; invalidated, no longer in the file or written past \
-- caption: them; dropped, somebody asked; reclaimed, memory was needed. These are of who asked; of reclaim, of who \
-- caption: had brought the pages in. wasted: read ahead, and gone before any call returned a byte.
-- caption: major, minor: faults of mapped files. By file from events: of one span of 64 pages in `one_in`.

-- table: owners: By process
-- hide: what
SELECT g.what, g.who, g.pid, c.hits, c.missed, c.used,
       c.hits * 1.0 / NULLIF(c.hits + c.missed + c.used, 0) AS hit_ratio,
       c.ahead, c.wasted, c.evicted, c.invalidated, c.dropped, c.reclaimed, c.major, c.minor, c.dirtied, c.written_back
FROM v_cache c JOIN v_group g ON g.gid = c.gid
WHERE g.shown
ORDER BY g.rank, c.hits + c.missed + c.used DESC, c.gid;

-- table: files: By file
-- hide: what
SELECT f.path, g.what, g.who, g.pid, f.size, f.hits, f.missed, f.used,
       f.hits * 1.0 / NULLIF(f.hits + f.missed + f.used, 0) AS hit_ratio,
       f.ahead, f.wasted, f.evicted, f.invalidated, f.dropped, f.reclaimed, f.major, f.minor, r.one_in
FROM v_cache_file f JOIN v_cache_run r JOIN v_group g ON g.gid = f.gid
WHERE g.shown
ORDER BY f.hits + f.missed + f.used + f.evicted + f.invalidated + f.dropped + f.reclaimed DESC, f.path, f.gid
LIMIT :rows;

-- plot: found
-- chart: bars
-- heading: What calls that read found in the page cache, and why pages left it
-- unit: bytes
SELECT g.who || iif(g.pid = '', '', ' [' || g.pid || ']') AS "row", b.bar, b.part,
       CASE b.part WHEN 'hit' THEN c.hits WHEN 'read ahead' THEN c.used WHEN 'missed' THEN c.missed
       WHEN 'evicted' THEN c.evicted WHEN 'invalidated' THEN c.invalidated WHEN 'dropped' THEN c.dropped
       ELSE c.reclaimed END AS value
FROM v_cache c JOIN v_group g ON g.gid = c.gid
JOIN (SELECT 1 AS ord, 'read' AS bar, 'hit' AS part UNION ALL SELECT 2, 'read', 'read ahead'
      UNION ALL SELECT 3, 'read', 'missed' UNION ALL SELECT 4, 'left', 'evicted'
      UNION ALL SELECT 5, 'left', 'invalidated' UNION ALL SELECT 6, 'left', 'dropped'
      UNION ALL SELECT 7, 'left', 'reclaimed') b
WHERE g.shown AND g.rank < 4 AND c.hits + c.used + c.missed + c.evicted + c.invalidated + c.dropped + c.reclaimed > 0
ORDER BY c.hits + c.used + c.missed DESC, c.gid, b.ord;
