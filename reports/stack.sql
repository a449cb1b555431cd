-- SPDX-License-Identifier: GPL-3.0-only
-- title: Stack: what each level was given, and what it made of that
-- caption: A row a level, from the top down: a file system (given: file data that it submitted, W; gave on: all that \
-- caption: it submitted, F), a
-- caption: partition, a dm volume, an md array, a loop device, a disk. gave on: what the devices below it completed; \
-- caption: of a loop device what
-- caption: was done for its file: contents, and the journal and the structures of the file system that holds it. \
-- caption: factor: gave on / given. us: mean time of a
-- caption: write from its issue to its end; added_us: less that of the device below; below 0 where the cache there \
-- caption: answers. All processes.
-- no picture: its rows are levels; waterfall draws what each adds for a process
-- by carrier: yes

-- table: levels: Levels, from the top down
SELECT depth AS level, level AS device, COALESCE(lies_on, '') AS lies_on, COALESCE(name, '') AS name, written AS given,
       below AS gave_on,
       below * 1.0 / NULLIF(written, 0) AS factor, us, us - below_us AS added_us, read AS given_r, below_r AS gave_on_r,
       iif(shares > 1, 'shared: others lie on the same device',
           iif(part = 1 AND below IS NULL AND lies_on <> '', 'bytes of partitions are counted with their disk', ''))
           AS note
FROM v_stack
ORDER BY top, depth, dev, part;

-- table: owners: The disks at the bottom, by whose bytes they are: P, beside B
-- hide: what
SELECT v.what, v.who, v.pid, v.B, v.P, v.P * 1.0 / NULLIF(v.B, 0) AS hop_stack, v.B_r, v.P_r
FROM v_volume v
WHERE v.shown AND COALESCE(v.B, 0) + COALESCE(v.P, 0) + COALESCE(v.B_r, 0) + COALESCE(v.P_r, 0) > 0
ORDER BY v.rank, v.P DESC, v.B DESC, v.gid;

-- table: below: What was done below loop devices for who uses them, by what it is
SELECT g.who, g.pid, c.device, CASE c.cause WHEN 'loopback' THEN 'contents of the file'
       WHEN 'loop_journal' THEN 'journal of its file system'
                                            ELSE 'structures of its file system' END AS part,
       SUM(c.bytes) AS written
FROM v_cell c JOIN v_group g ON g.gid = c.gid
WHERE g.shown AND c.kind = 'block_write' AND c.cause IN ('loopback', 'loop_journal', 'loop_metadata') AND c.bytes > 0
GROUP BY c.gid, c.device, c.cause
ORDER BY g.rank, SUM(SUM(c.bytes)) OVER (PARTITION BY c.gid) DESC, c.gid, c.device, written DESC;
