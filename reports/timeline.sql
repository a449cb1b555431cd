-- SPDX-License-Identifier: GPL-3.0-only
-- title: Timeline: bytes a second, as applications and devices saw them
-- caption: Without the bytes of the tracer and of other processes. B is on leaf devices. In the picture file data is \
-- caption: split by component, in
-- caption: the second in which the file system submitted it (unclassified: when the device had written it); without \
-- caption: complete events it is one part.
-- by carrier: yes

-- table: timeline
-- most: B_data B_journal B_metadata B_rest B_r
SELECT sec, S, S_r, B_data, B_journal, B_metadata, B_rest, B_r, flushes
FROM v_second
ORDER BY sec;

-- table: by: The same by what --by names, a row a step (bytes that devices completed, of components those that the file system submitted; requests)
-- most: bytes
SELECT s.at_ms / 1000.0 AS at_s, s.way, s.part, s.bytes, s.ops
FROM v_slice s
ORDER BY s.at_ms, s.way DESC, s.bytes DESC, s.part;

-- plot: written
-- chart: areas
-- heading: Written: devices by component and cause (areas), calls (line)
-- axis: bytes a second
-- unit: bytes
-- across: time since the start of the run
-- across unit: s
SELECT sec AS x, 1 AS bin, part, SUM(bytes) AS value, 0 AS line, part LIKE 'fs %' AS late
FROM v_second_part
WHERE bytes > 0 AND :by IS NULL
GROUP BY sec, part
UNION ALL
SELECT sec, 1, 'S calls', S, 1, 0
FROM v_second
WHERE :by IS NULL AND EXISTS (SELECT 1 FROM v_second WHERE S > 0)
ORDER BY x, line, late, part;

-- plot: read
-- chart: areas
-- heading: Read: devices (area), calls (line)
-- axis: bytes a second
-- unit: bytes
-- across: time since the start of the run
-- across unit: s
SELECT sec AS x, 1 AS bin, 'B_r devices' AS part, B_r AS value, 0 AS line
FROM v_second
WHERE :by IS NULL AND EXISTS (SELECT 1 FROM v_second WHERE S_r + B_r > 0)
UNION ALL
SELECT sec, 1, 'S_r calls', S_r, 1
FROM v_second
WHERE :by IS NULL AND EXISTS (SELECT 1 FROM v_second WHERE S_r + B_r > 0)
ORDER BY x, line;

-- plot: bandwidth
-- chart: areas
-- heading: Bandwidth of devices
-- axis: bytes a second
-- unit: bytes
-- across: time since the start of the run
-- across unit: s
SELECT panel, x, bin, part, bytes AS value, line, late
FROM v_slice_chart
ORDER BY panel DESC, x, line, late, part;

-- plot: iops
-- chart: areas
-- heading: Requests of devices
-- axis: requests a second
-- unit: count
-- across: time since the start of the run
-- across unit: s
SELECT panel, x, bin, part, requests AS value, line, late
FROM v_slice_chart
ORDER BY panel DESC, x, line, late, part;

-- plot: note
-- chart: note
SELECT CASE WHEN :by IS NOT NULL AND NOT EXISTS (SELECT 1 FROM v_slice)
       THEN 'nothing moved, or steps of less than a second need complete events'
            WHEN :by IS NOT NULL THEN printf('steps of %d ms%s', v.step_ms,
                                             iif(v.by_events, ', by events: in the step in which a request began',
                                             ', by sums: in the second of its completion'))
            WHEN (SELECT whole FROM v_events) AND EXISTS (SELECT 1 FROM v_component c JOIN v_group g ON g.gid = c.gid
                                                          WHERE g.shown AND c.part = 'component' AND c.written > 0)
            THEN 'file data of a component is in the second in which the file system submitted it'
            ELSE 'no components: ' || CASE WHEN (SELECT whole FROM v_events) THEN 'no file has one'
                ELSE 'they need complete events of layer fs' END END AS note
FROM v_step v
WHERE EXISTS (SELECT 1 FROM v_second);
