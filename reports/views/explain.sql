-- SPDX-License-Identifier: GPL-3.0-only
-- explain.sql: What device bytes are, in words.

-- How the parts of storage systems are called in sentences, and what would show what they cost. system: NULL stands for
-- every other one. To add one: a row.
CREATE TEMP TABLE v_explain_word(part, system, word, experiment);
INSERT INTO temp.v_explain_word VALUES
       ('wal', NULL, 'write-ahead log', 'the same work in larger transactions, or with fewer syncs'),
       ('wal', 'postgresql', 'write-ahead log',
        'full_page_writes=off on a scratch copy, a longer checkpoint_timeout, or wal_compression=on'),
       ('wal', 'sqlite', 'write-ahead log', 'PRAGMA journal_mode=DELETE, or the same work in larger transactions'),
       ('undo', NULL, 'undo log', 'the same work in larger transactions'),
       ('undo', 'sqlite', 'rollback journal', 'PRAGMA journal_mode=WAL'),
       ('undo', 'mariadb', 'undo log and double-write buffer', 'innodb_doublewrite=OFF on a scratch copy'),
       ('binlog', NULL, 'log for replication', 'the same work without replication'),
       ('data', NULL, 'tables and trees', 'the same work with a larger cache, or keys in their order'),
       ('index', NULL, 'indexes', 'the same work without them'),
       ('object', NULL, 'objects', 'larger objects'),
       ('inline', NULL, 'objects with their metadata', 'larger objects'),
       ('replica', NULL, 'replicas', 'one copy less'),
       ('parity', NULL, 'parity', 'a wider erasure code'),
       ('flush', NULL, 'memory written out as sorted files', 'a larger memtable'),
       ('compaction', NULL, 'compaction', 'another style of compaction, or more levels'),
       ('checkpoint', NULL, 'checkpoints', 'longer times between checkpoints'),
       ('temp', NULL, 'temporary and staging files', 'the same with the staging folder in another file system'),
       ('unclassified', NULL, 'file data of no known component', 'iot-analyze files: which files these are'),
       ('file data', NULL, 'file data', 'fewer or larger syncs, or larger writes'),
       ('direct I/O', NULL, 'direct I/O', 'larger requests'),
       ('fs metadata', NULL, 'structures of the file system, written in place',
        'fewer files, or a longer time between checkpoints of its journal (a larger one)');

-- The journals that traced processes had written, by what their blocks are. A disk has the file system of what is on
-- it: of its partitions and volumes, where they have the same.
CREATE TEMP VIEW v_explain_journal AS
SELECT c.dev, c.device,
       COALESCE(d.fs, (SELECT MIN(u.fs) FROM v_device u WHERE u.parent = c.dev AND NOT u.leaf
                       HAVING COUNT(DISTINCT u.fs) = 1), 'the file system') AS fs,
       c.sub AS structure, SUM(c.amount) AS bytes, b.block_bytes
FROM v_piece c JOIN v_group g ON g.gid = c.gid AND g.shown AND g.rank <= 3
LEFT JOIN v_device d ON d.dev = c.dev
LEFT JOIN v_journal_block b ON b.device IS c.device
WHERE c.sym = 'B' AND c.cause = 'journal'
GROUP BY c.dev, c.sub
HAVING SUM(c.amount) > 0;

CREATE TEMP VIEW v_explain_commit AS
SELECT c.dev, SUM(c.amount) AS commits
FROM v_piece c JOIN v_group g ON g.gid = c.gid AND g.shown AND g.rank <= 3
WHERE c.sym = 'commits'
GROUP BY c.dev;

-- What devices wrote for the lines of the report, and whether that may be too small; the sums that sentences need.
CREATE TEMP TABLE v_explain_all AS
WITH line AS (SELECT v.* FROM v_volume v WHERE v.shown AND v.rank <= 3)
SELECT SUM(B) AS B, SUM(F) AS F, SUM(S) AS S, SUM(T) AS T, SUM(ops_S_w) AS ops, SUM(syncs) AS syncs,
       SUM(flushes) AS flushes, SUM(readahead) AS readahead, SUM(ra_unused) AS ra_unused,
       SUM(B_r_for_write) AS for_write, SUM(absorbed) AS absorbed, SUM(cancelled) AS cancelled,
       (SELECT write_ops FROM given) AS acknowledged,
       EXISTS (SELECT 1 FROM v_spoilt WHERE class = 'block')
           OR EXISTS (SELECT 1 FROM v_nobody) AS short,
       EXISTS (SELECT 1 FROM v_spoilt WHERE class = 'app') AS short_S,
       EXISTS (SELECT 1 FROM v_spoilt WHERE class = 'commit') AS short_commits,
       EXISTS (SELECT 1 FROM v_spoilt WHERE class IN ('miss', 'use')) AS short_use
FROM line;
