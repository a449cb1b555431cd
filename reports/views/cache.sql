-- SPDX-License-Identifier: GPL-3.0-only
-- cache.sql: The page cache of a run that traced it whole.

-- Was layer cache traced whole? one_in: its events are those of one span of pages in so many. major, minor: 1 where the
-- kernel has the tracepoints of such faults, else NULL. files: 1 where events say what each file had, else NULL.
CREATE TEMP TABLE v_cache_run AS
SELECT NULLIF(listed('cache', COALESCE(r.whole, '')), 0) AS whole, COALESCE(r.cache_sample, 1) AS one_in,
       NULLIF(EXISTS (SELECT 1 FROM probe p WHERE p.run = r.run AND p.name = 'pagecache__fault' AND p.chosen), 0)
           AS major,
       NULLIF((SELECT COUNT(*) FROM probe p WHERE p.run = r.run AND p.chosen
               AND p.name IN ('pagecache__fault', 'pagecache__map', 'pagecache__trap_user')) = 3, 0) AS minor,
       CASE WHEN v.events = 0 THEN NULL
            WHEN EXISTS (SELECT 1 FROM v_lost l WHERE l.layer IN ('cache', 'all') AND l.effect = 'events') THEN NULL
            ELSE 1 END AS files
FROM ask JOIN run r ON r.run = ask.run JOIN v_run v;

-- Bytes of cached pages by line: hits and misses of calls, where the latter waited for a device; what was read ahead
-- for calls; why pages left the cache; faults.
CREATE TEMP TABLE v_cache AS
SELECT c.gid, sum_if(c.bytes, c.kind = 'hit') AS hits,
       sum_if(c.bytes, c.kind = 'miss' AND c.sub NOT IN ('for_fault', 'for_write')) AS missed,
       sum_if(c.bytes, c.kind = 'readahead' AND c.sub NOT IN ('for_fault', 'for_write')) AS ahead,
       sum_if(c.bytes, c.kind = 'readahead_used') AS used, sum_if(c.bytes, c.kind = 'readahead_wasted') AS wasted,
       sum_if(c.bytes, c.kind = 'evict') AS evicted, sum_if(c.bytes, c.kind = 'invalidate') AS invalidated,
       sum_if(c.bytes, c.kind = 'drop') AS dropped, sum_if(c.bytes, c.kind = 'reclaim') AS reclaimed,
       sum_if(c.ops, c.kind = 'dirty') AS dirtied,
       sum_if(c.bytes, c.kind = 'fs_write' AND c.cause = 'data') AS written_back,
       sum_if(c.ops, c.kind = 'fault_major') * r.major AS major,
       sum_if(c.ops, c.kind = 'fault_minor') * r.minor AS minor
FROM v_cache_run r JOIN v_cell c
WHERE r.whole AND (c.layer = 'cache' OR c.kind = 'fs_write')
GROUP BY c.gid;

-- By file, from events: of the sampled pages alone, where they were sampled.
CREATE TEMP TABLE v_cache_file AS
SELECT COALESCE(f.path, '(name not known)') AS path, o.gid, sum_if(e.bytes, k.kind = 'hit') AS hits,
       sum_if(e.bytes, k.kind = 'miss' AND s.name NOT IN ('for_fault', 'for_write')) AS missed,
       sum_if(e.bytes, k.kind = 'readahead' AND s.name NOT IN ('for_fault', 'for_write')) AS ahead,
       sum_if(e.bytes, k.kind = 'readahead_used') AS used, sum_if(e.bytes, k.kind = 'readahead_wasted') AS wasted,
       sum_if(e.bytes, k.kind = 'evict') AS evicted, sum_if(e.bytes, k.kind = 'invalidate') AS invalidated,
       sum_if(e.bytes, k.kind = 'drop') AS dropped, sum_if(e.bytes, k.kind = 'reclaim') AS reclaimed,
       sum_if(1, k.kind = 'fault_major') * r.major AS major, sum_if(1, k.kind = 'fault_minor') * r.minor AS minor,
       MAX(e.arg) * 4096 AS size
FROM v_cache_run r JOIN ask JOIN v_kind k ON k.layer = 'cache' CROSS JOIN event e ON e.run = ask.run AND e.kind = k.id
LEFT JOIN sub s ON s.id = e.sub JOIN v_owner o ON o.owner = COALESCE(e.owner, 0)
LEFT JOIN v_file_name f ON f.id = e.file
WHERE r.whole AND r.files AND k.kind NOT IN ('dirty', 'dirty_mmap', 'writeback_begin', 'writeback_end')
GROUP BY e.file, o.gid;
