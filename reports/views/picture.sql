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
