-- SPDX-License-Identifier: GPL-3.0-only
-- stack.sql: Stacked devices, and the bytes that each level received and passed on.

-- Pairs of devices, one on the other. Stores before format 5 know the disk of a partition and the device below a loop
-- device.
CREATE TEMP VIEW v_level AS
SELECT l.dev, l.below, l.how, l.name FROM ask JOIN level l ON l.run = ask.run
UNION ALL
SELECT d.dev, d.parent, d.type, NULL FROM v_device d
WHERE d.parent IS NOT NULL AND NOT EXISTS (SELECT 1 FROM ask JOIN level l ON l.run = ask.run);

-- Bytes that each device completed. For devices without requests of their own (partitions, dm, md) they are the
-- tracer's count, else the kernel's. us: mean time of a request from its issue to its end. below: for loop devices on
-- it, by type.
CREATE TEMP TABLE v_moved AS
WITH cell AS MATERIALIZED (
       SELECT dev, sum_if(bytes, kind = 'block_write') AS written, sum_if(bytes, kind = 'block_read') AS read,
              sum_if(bytes, kind = 'block_write' AND cause = 'loopback') AS data,
              sum_if(bytes, kind = 'block_write' AND cause = 'loop_journal') AS journal,
              sum_if(bytes, kind = 'block_write' AND cause = 'loop_metadata') AS metadata,
              sum_if(bytes, kind = 'block_read' AND cause IN ('loopback', 'loop_journal', 'loop_metadata')) AS data_r,
              SUM(lat_ns) FILTER (WHERE kind = 'block_write') / 1000.0
              / NULLIF(SUM(COALESCE(timed, ops)) FILTER (WHERE kind = 'block_write'), 0) AS us,
              sum_if(bytes, kind = 'fs_write' AND cause IN ('data', 'direct')) AS W,
              sum_if(bytes, kind = 'fs_write' AND cause NOT IN ('loopback', 'loop_journal', 'loop_metadata')) AS F
       FROM v_cell WHERE dev >> 20 > 0 GROUP BY dev),
     counted AS MATERIALIZED (
       SELECT dev, COALESCE(SUM(bytes) FILTER (WHERE what = 'write_bytes'),
                            -- for partitions the tracer has a count, which is checked against ext4's counter
                            MAX(bytes) FILTER (WHERE what = 'session_write_bytes')) AS written,
              SUM(bytes) FILTER (WHERE what = 'read_bytes') AS read
       FROM (SELECT t.dev, t.what,
                    COALESCE(NULLIF(t.traced, 0), t.end_value - t.begin_value - COALESCE(t.outside, 0)) AS bytes
             FROM ask JOIN truth t ON t.run = ask.run WHERE t.dev >> 20 > 0)
       GROUP BY dev)
SELECT d.dev, d.device, d.type, d.fs, d.mount, d.leaf,
       -- bytes of a partition are in the sums of its disk, and those of most partitions have no other count
       iif(d.leaf, COALESCE(c.written, 0), iif(d.type = 'partition', n.written, COALESCE(n.written, 0))) AS written,
       iif(d.leaf, COALESCE(c.read, 0), iif(d.type = 'partition', n.read, COALESCE(n.read, 0))) AS read,
       COALESCE(c.data, 0) AS data, COALESCE(c.journal, 0) AS journal, COALESCE(c.metadata, 0) AS metadata,
       COALESCE(c.data_r, 0) AS data_r, iif(d.leaf, c.us, NULL) AS us, COALESCE(c.W, 0) AS W, COALESCE(c.F, 0) AS F
FROM v_device d LEFT JOIN cell c ON c.dev = d.dev LEFT JOIN counted n ON n.dev = d.dev
-- of devices that --dev left out nothing is known
WHERE d.dev >> 20 > 0 AND (d.dev IN (SELECT dev FROM v_only_disk) OR NOT EXISTS (SELECT 1 FROM v_only_disk));

-- A row a level from the top down: a file system on a device, then the device. top: the first device above; depth: the
-- number of devices above. below: bytes that the devices under it completed for it; of a loop device those completed
-- for it on the device of its file, which are those of all loop devices there.
CREATE TEMP TABLE v_stack AS
WITH RECURSIVE used(dev) AS (SELECT dev FROM v_moved WHERE COALESCE(written, 0) + COALESCE(read, 0) + W + F > 0
                             UNION SELECT l.below FROM used u JOIN v_level l ON l.dev = u.dev
                             JOIN v_moved m ON m.dev = l.below),
     link AS MATERIALIZED (
       SELECT DISTINCT l.dev, l.below, l.how, l.name FROM v_level l JOIN used u ON u.dev = l.dev
       JOIN v_moved b ON b.dev = l.below),
     place(top, dev, depth) AS (
       SELECT dev, dev, 0 FROM used WHERE dev NOT IN (SELECT below FROM link)
       UNION
       SELECT p.top, l.below, p.depth + 1 FROM place p JOIN link l ON l.dev = p.dev WHERE p.depth < 16),
     deep AS MATERIALIZED (SELECT dev, MIN(top) AS top, MAX(depth) AS depth FROM place GROUP BY dev),
     under AS MATERIALIZED (
       SELECT l.dev, MIN(l.how) AS how, group_concat(b.device, ', ') AS lies_on,
              -- n/a where one of them is
              iif(COUNT(*) = COUNT(b.written) OR l.how = 'loop',
                  SUM(iif(l.how = 'loop', b.data + b.journal + b.metadata, b.written)), NULL) AS written,
              iif(COUNT(*) = COUNT(b.read) OR l.how = 'loop',
                  SUM(iif(l.how = 'loop', b.data_r, b.read)), NULL) AS read, iif(COUNT(*) = 1, MIN(b.us), NULL) AS us,
              MAX((SELECT COUNT(*) FROM link o WHERE o.below = l.below)) AS shares
       FROM link l JOIN v_moved b ON b.dev = l.below GROUP BY l.dev)
SELECT d.top, d.depth, 0 AS part, m.dev, COALESCE(m.fs, 'file system') || ' on ' || m.device AS level,
       m.device AS lies_on, m.mount AS name, m.W AS written, m.F AS below, NULL AS read, NULL AS below_r, NULL AS us,
       NULL AS below_us, 1 AS shares
FROM deep d JOIN v_moved m ON m.dev = d.dev WHERE m.F > 0
UNION ALL
SELECT d.top, d.depth, 1, m.dev,
       m.device || ' (' || COALESCE((SELECT MIN(l.how) FROM v_level l WHERE l.dev = m.dev), m.type) || ')', u.lies_on,
       (SELECT MIN(l.name) FROM v_level l WHERE l.dev = m.dev), m.written, u.written, m.read, u.read, m.us, u.us,
       COALESCE(u.shares, 1)
FROM deep d JOIN v_moved m ON m.dev = d.dev LEFT JOIN under u ON u.dev = m.dev;
