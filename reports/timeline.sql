-- SPDX-License-Identifier: GPL-3.0-only
-- title: Timeline: bytes a second, as applications and devices saw them
-- caption: Without the bytes of the tracer and of other processes. B is on leaf devices. In the picture file data is split by component, in
-- caption: the second in which the file system submitted it (unclassified: when the device had written it); without complete events it is one part.

-- table: timeline
SELECT sec, S, S_r, B_data, B_journal, B_metadata, B_rest, B_r, flushes
FROM v_timeline
ORDER BY sec;

-- plot: seconds
SELECT sec, S, S_r, B_r
FROM v_timeline
ORDER BY sec;

-- plot: areas
WITH part AS MATERIALIZED (
       SELECT p.sec, p.part, SUM(p.bytes) AS bytes, COALESCE(c.colour, 17) AS colour, COALESCE(c.colour, 17) BETWEEN 14 AND 17 AS late
       FROM v_second_part p LEFT JOIN v_colour c ON c.part = p.part
       WHERE p.bytes > 0
       GROUP BY p.sec, p.part)
SELECT sec, SUM(bytes) OVER w - bytes AS "from", SUM(bytes) OVER w AS upto, colour, part
FROM part
WINDOW w AS (PARTITION BY sec ORDER BY late, colour, part)
ORDER BY sec, "from";

-- plot: legend
SELECT CASE COUNT(*) WHEN 1 THEN MIN(part) ELSE COUNT(*) || ' others' END AS part, colour
FROM (SELECT p.part, COALESCE(c.colour, 17) AS colour
      FROM v_second_part p LEFT JOIN v_colour c ON c.part = p.part
      WHERE p.bytes > 0
      GROUP BY p.part
      ORDER BY 1)
GROUP BY colour
ORDER BY colour BETWEEN 14 AND 17, colour;

-- plot: note
SELECT CASE WHEN (SELECT whole FROM v_events) AND EXISTS (SELECT 1 FROM v_component c JOIN v_group g ON g.gid = c.gid WHERE g.shown AND c.part = 'component' AND c.written > 0)
            THEN 'file data of a component is in the second in which the file system submitted it'
            ELSE 'no components: ' || CASE WHEN (SELECT whole FROM v_events) THEN 'no file has one' ELSE 'they need complete events of layer fs' END END AS note
FROM ask
WHERE EXISTS (SELECT 1 FROM v_timeline);
