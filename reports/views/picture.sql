-- SPDX-License-Identifier: GPL-3.0-only
-- picture.sql: What pictures need beside the numbers.

-- The lines above every picture: nothing that names the machine, the command or a file.
CREATE TEMP VIEW v_picture_head AS
SELECT 1 AS ord, printf('run %d%s, Linux %s%s, horizon %s', run, COALESCE(' (' || label || ')', ''), kernel,
                        COALESCE(printf(', %.1f s', dur_ns / 1e9), ''), r.horizon)
                 || iif(l.lost = 'nothing', '', '; lost: ' || l.lost) AS line
FROM v_run r JOIN v_lost_text l;

-- What the steps of a waterfall are painted as (analyzer/palette.def); a step without a row has its own name there.
CREATE TEMP VIEW v_step_paint(step, paint) AS
VALUES ('rounded up to blocks', 'rounded up'), ('rounded up to pages', 'rounded up'),
       ('overwritten in the cache', 'saved'), ('deleted before writeback', 'saved'),
       ('still dirty at the end', 'saved'),
       ('from the page cache', 'saved'), ('dirtied through mappings', 'through mappings'),
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

-- Why a section of the page (iot-analyze report) may be empty.
CREATE TEMP VIEW v_absent AS
WITH m AS (SELECT m.*, r.latency FROM v_measured m JOIN v_run r)
SELECT 'waterfall' AS report,
       iif(block IS NULL, 'layer block was not recorded', 'nobody wrote or read a file') AS why FROM m
UNION ALL
SELECT 'amplification', iif(syscall IS NULL AND block IS NULL, 'neither calls nor devices were recorded',
                            'nobody wrote or read a file') FROM m
UNION ALL
SELECT 'breakdown', iif(block IS NULL, 'layer block was not recorded', 'devices moved nothing') FROM m
UNION ALL
SELECT 'components', iif(block IS NULL, 'layer block was not recorded',
                         'no process of a known storage system and no file of one was seen') FROM m
UNION ALL
SELECT 'perop', iif(syscall IS NULL, 'layer syscall was not recorded', 'nobody wrote a file') FROM m
UNION ALL
SELECT 'explain', iif(block IS NULL, 'layer block was not recorded', 'devices wrote nothing') FROM m
UNION ALL
SELECT 'journal', iif(block IS NULL OR fs IS NULL, 'layers fs and block were not both recorded',
                      'no journal of a file system was written') FROM m
UNION ALL
SELECT 'pictures', 'no operation of a traced process was seen' FROM m
UNION ALL
SELECT 'timeline', 'the run has no sums by second' FROM m
UNION ALL
SELECT 'latency', iif(latency = 'none', 'no call was timed (--latency none), and no request completed',
                      'nothing was timed') FROM m
UNION ALL
SELECT 'files', iif(syscall IS NULL AND fs IS NULL, 'layers syscall and fs were not recorded',
                    'no file was written or read') FROM m
UNION ALL
SELECT p.report, l.why
FROM (SELECT 'pattern' AS report, 1 AS place UNION ALL SELECT 'iosize', 1 UNION ALL SELECT 'heatmap', 3) p
JOIN v_place l ON l.place = p.place
UNION ALL
SELECT 'fsync', COALESCE(why, 'nobody synced a file') FROM v_overlap_why
UNION ALL
SELECT 'network', iif(net IS NULL, 'layer net was not recorded',
                      'no traced process sent or received anything on sockets') FROM m;

-- Bytes a storage system (NULL: processes outside any) by layer, of the processes that v_system has.
CREATE TEMP TABLE v_system_bytes AS
WITH c AS (
       SELECT stand AS owner, sym, amount FROM v_piece WHERE sym IN ('S', 'S_r', 'V', 'V_r', 'B', 'B_r')
       UNION ALL SELECT DISTINCT stand, NULL, 0 FROM v_cell)
SELECT p.system, sum_if(amount, sym = 'S') * m.syscall AS S, sum_if(amount, sym = 'S_r') * m.syscall AS S_r,
       sum_if(amount, sym = 'V') * COALESCE(m.vfs, m.syscall) AS V,
       sum_if(amount, sym = 'V_r') * COALESCE(m.vfs, m.syscall) AS V_r,
       sum_if(amount, sym = 'B') * m.block AS B, sum_if(amount, sym = 'B_r') * m.block AS B_r
FROM ask JOIN v_measured m JOIN c JOIN v_process p ON p.id = c.owner
WHERE c.owner > 2 AND (ask.system IS NULL OR p.system = ask.system)
GROUP BY p.system;
