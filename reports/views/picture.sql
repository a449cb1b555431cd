-- SPDX-License-Identifier: GPL-3.0-only
-- picture.sql: Texts and colours of pictures.

-- The lines above every picture, without names of the machine, the command or a file.
CREATE TEMP VIEW v_picture_head AS
SELECT 1 AS ord, printf('run %d%s, Linux %s%s, horizon %s', run, COALESCE(' (' || label || ')', ''), kernel,
                        COALESCE(printf(', %.1f s', dur_ns / 1e9), ''), r.horizon)
                 || iif(l.lost = 'nothing', '', '; lost: ' || l.lost) AS line
FROM v_run r JOIN v_lost_text l;

-- Colours of the steps of a waterfall (analyzer/chart/palette.def); a step without a row has its own name there.
CREATE TEMP VIEW v_step_paint(step, paint) AS
VALUES ('rounded up to blocks', 'rounded up'), ('rounded up to pages', 'rounded up'),
       ('overwritten in the cache', 'saved'), ('deleted before writeback', 'saved'),
       ('still dirty at the end', 'saved'),
       ('from the page cache', 'saved'), ('dirtied through mappings', 'through mappings'),
       ('zeroed by the kernel', 'zeroed'),
       ('read ahead, not used', 'not used'), ('below the file system', 'below the fs'), ('W', 'W file data'),
       ('T', 'T blocks');

-- Operations in words.
CREATE TEMP VIEW v_kind_words AS
SELECT kind, COALESCE('{"block_read": "read in the device", "block_write": "write in the device",
                        "queue_read": "read in the queue", "queue_write": "write in the queue",
                        "fs_sync": "fsync whole", "fs_sync_data": "fsync writes data",
                        "fs_sync_commit": "fsync waits for journal", "fs_sync_flush": "fsync flushes device",
                        "block_flush": "flush in the device", "commit": "journal commit"}' ->> kind, kind) AS words
FROM v_kind;

-- Reasons why a section of the page (iot-analyze report) may be empty.
CREATE TEMP VIEW v_absent AS
WITH section(report, needs, missing, empty) AS (
       VALUES ('waterfall', 'block', 'layer block was not recorded', 'nobody wrote or read a file'),
              ('amplification', 'calls or block', 'neither calls nor devices were recorded',
               'nobody wrote or read a file'),
              ('breakdown', 'block', 'layer block was not recorded', 'devices moved nothing'),
              ('carriers', 'block', 'layer block was not recorded', 'devices moved nothing'),
              ('components', 'block', 'layer block was not recorded',
               'no process of a known storage system and no file of one was seen'),
              ('perop', 'calls', 'layer syscall was not recorded', 'nobody wrote a file'),
              ('explain', 'block', 'layer block was not recorded', 'devices wrote nothing'),
              ('journal', 'fs and block', 'layers fs and block were not both recorded',
               'no journal of a file system was written'),
              ('pictures', NULL, NULL, 'no operation of a traced process was seen'),
              ('timeline', NULL, NULL, 'the run has no sums by second'),
              ('latency', 'times', 'no call was timed (--latency none), and no request completed', 'nothing was timed'),
              ('files', 'calls or fs', 'layers syscall and fs were not recorded', 'no file was written or read'),
              ('network', 'net', 'layer net was not recorded',
               'no traced process sent or received anything on sockets')),
     had AS MATERIALIZED (
       SELECT json_object('block', block, 'calls', syscall, 'net', net, 'calls or block', COALESCE(syscall, block),
                          'calls or fs', COALESCE(syscall, fs), 'fs and block', fs * block,
                          'times', NULLIF(COALESCE(latency, ''), 'none')) AS had
       FROM v_measured JOIN v_run)
SELECT report, iif(needs IS NOT NULL AND had ->> needs IS NULL, missing, empty) AS why FROM section JOIN had
UNION ALL
SELECT p.report, l.why
FROM (SELECT 'pattern' AS report, 1 AS place UNION ALL SELECT 'iosize', 1 UNION ALL SELECT 'heatmap', 3) p
JOIN v_place l ON l.place = p.place
UNION ALL
SELECT 'fsync', COALESCE(why, 'nobody synced a file') FROM v_overlap_why;
