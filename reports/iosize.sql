-- SPDX-License-Identifier: GPL-3.0-only
-- title: Sizes of accesses, by layer
-- caption: Of calls what they returned, of fs the ranges that file systems submitted, of block the requests that leaf \
-- caption: devices completed; from events. Each
-- caption: row has the accesses from `from_bytes` up to twice as many; upto: share of the accesses below its end. \
-- caption: Those that moved no byte are none. In
-- caption: a run of some processes they are theirs: what has no known owner is left out.

-- table: sizes: By powers of two
SELECT layer, way, part, from_bytes, below_bytes, accesses, share, upto, bytes, share_bytes, note
FROM (SELECT place, layer, way, part, low AS from_bytes, 2 * low AS below_bytes, accesses,
      accesses * 1.0 / all_accesses AS share,
             upto * 1.0 / all_accesses AS upto, bytes, bytes * 1.0 / all_bytes AS share_bytes, note
      FROM v_size_line
      UNION ALL
      SELECT place, layer, '', '', NULL, NULL, NULL, NULL, NULL, NULL, NULL, why
      FROM v_place
      WHERE place <> 4 AND place NOT IN (SELECT place FROM v_size_line))
ORDER BY place = 3, place, way, part, from_bytes;

-- table: means: Mean, from sums, calls that moved no byte included; and largest
SELECT m.layer, m.way, m.accesses, m.bytes, m.bytes * 1.0 / NULLIF(m.accesses, 0) AS mean_bytes,
       l.largest AS largest_bytes
FROM v_size_mean m
LEFT JOIN (SELECT layer, way, MAX(largest) AS largest FROM v_size_line GROUP BY layer, way) l ON l.layer = m.layer
    AND l.way = m.way
ORDER BY m.ord;

-- plot: sizes
-- chart: bars
-- heading: Accesses by size: from so many bytes up to twice as many
-- unit: count
-- own: yes
-- fold: no
-- rows: 64
SELECT layer || ' ' || way || iif(derived, ' (derived from calls)', '') AS panel, size(low) AS "row",
       iif(part = '', IIF(layer = 'vfs', 'V through the VFS', 'calls'), part) AS part,
       accesses AS value
FROM v_size_line
ORDER BY iif(layer = 'fs', 2.5, place), way, low, class;
