-- SPDX-License-Identifier: GPL-3.0-only
-- explain.sql: Causes of device bytes, in words.

-- Names of the parts of storage systems in sentences, and experiments that would show their cost. system: NULL stands
-- for every other one. To add one: a row.
CREATE TEMP TABLE v_explain_word(part, system, word, experiment);
INSERT INTO temp.v_explain_word VALUES
       ('wal', NULL, 'write-ahead log', 'the same work in larger transactions, or with fewer syncs'),
       ('wal', 'postgresql', 'write-ahead log',
        'full_page_writes=off on a scratch copy, a longer checkpoint_timeout, or wal_compression=on'),
       ('wal', 'sqlite', 'write-ahead log', 'PRAGMA synchronous=NORMAL, or the same work in larger transactions'),
       ('undo', NULL, 'undo log', 'the same work in larger transactions'),
       ('undo', 'sqlite', 'rollback journal', 'PRAGMA journal_mode=WAL'),
       ('undo', 'mariadb', 'undo log and double-write buffer', 'innodb_doublewrite=OFF on a scratch copy'),
       ('binlog', NULL, 'log for replication', 'the same work without replication'),
       ('data', NULL, 'tables and trees', 'the same work with a larger cache, or keys in their order'),
       ('data', 'sqlite', 'tables and trees', 'the same work in larger transactions'),
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

-- The journals that traced processes had written, and on btrfs its trees, by the type of their blocks. A disk has the
-- file system of the partitions and logical devices on it, where all have the same.
CREATE TEMP TABLE v_explain_fs AS
SELECT d.dev, d.device,
       COALESCE(d.fs, (SELECT MIN(u.fs) FROM v_device u WHERE u.parent = d.dev AND NOT u.leaf
                       HAVING COUNT(DISTINCT u.fs) = 1),
                (SELECT 'btrfs' FROM v_cell c WHERE c.dev = d.dev AND c.kind = 'fs_write'
                       AND c.sub LIKE '%\_tree' ESCAPE '\' LIMIT 1)) AS fs
FROM v_device d WHERE d.device IS NOT NULL;

CREATE TEMP VIEW v_explain_journal AS
SELECT c.dev, c.device, COALESCE(d.fs, 'the file system') AS fs, c.sub AS structure, SUM(c.amount) AS bytes,
       b.block_bytes
FROM v_piece c JOIN v_group g ON g.gid = c.gid AND g.shown AND g.rank <= 3
LEFT JOIN v_explain_fs d ON d.dev = c.dev
LEFT JOIN v_journal_block b ON b.device IS c.device
WHERE c.sym = 'B' AND c.cause = 'journal'
GROUP BY c.dev, c.sub
HAVING SUM(c.amount) > 0;

CREATE TEMP VIEW v_explain_commit AS
SELECT c.dev, SUM(c.amount) AS commits
FROM v_piece c JOIN v_group g ON g.gid = c.gid AND g.shown AND g.rank <= 3
WHERE c.sym = 'commits'
GROUP BY c.dev;

-- Bytes that the cache saved: of files that have a device below them, which files in memory do not have.
CREATE TEMP TABLE v_explain_saved AS
SELECT SUM(l.absorbed) AS absorbed, SUM(l.cancelled) AS cancelled
FROM v_file_ledger l JOIN v_group g ON g.rowid = l.line AND g.shown AND g.rank <= 3
LEFT JOIN v_explain_memory m ON m.file = l.file
WHERE l.absorbed + l.cancelled > 0 AND m.file IS NULL;

CREATE TEMP TABLE v_explain_memory(file INTEGER PRIMARY KEY);
INSERT INTO temp.v_explain_memory
SELECT f.id FROM ask JOIN v_device d ON d.fs IN ('tmpfs', 'ramfs', 'devtmpfs', 'hugetlbfs', 'proc', 'sysfs')
JOIN file f ON f.run = ask.run AND f.dev = d.dev;

-- Of each file that devices wrote, by line: B as known by file; once: the part of the file that it went to, where the
-- dirty ledger knows it: what no other had written before in the run; mapped: no call wrote it, or more became dirty
-- than calls touched, by stores through mappings.
CREATE TEMP TABLE v_explain_once(file INTEGER, line INTEGER, share REAL, PRIMARY KEY(file, line)) WITHOUT ROWID;
INSERT INTO temp.v_explain_once
SELECT g.file, l.line, min(1.0, SUM(g.covered) * 1.0 / SUM(g.written + g.submitted))
FROM ask JOIN v_measured m ON m.ledger CROSS JOIN ledger g ON g.run = ask.run
CROSS JOIN v_line_of l ON l.owner = g.owner
WHERE g.written + g.submitted > 0
GROUP BY g.file, l.line HAVING COUNT(g.covered) = COUNT(*);

CREATE TEMP TABLE v_explain_file AS
WITH io AS (
       SELECT file, line, MIN(component) AS component, SUM(S) AS S, SUM(ops_w) AS ops, SUM(syncs) AS syncs,
              SUM(B) AS B, min(SUM(B), SUM(W)) AS W, SUM(S_r) AS S_r,
              SUM(B_r) AS B_r
       FROM v_file_sum GROUP BY file, line HAVING SUM(B) + SUM(B_r) + SUM(syncs) > 0)
SELECT io.file, g.gid, g.who, COALESCE(io.component, n.component) AS component, io.S, io.ops, io.syncs, io.B, io.W,
       io.S_r, io.B_r,
       CASE WHEN io.file = 0 THEN '(file not known)' WHEN n.path IS NULL THEN '(name not known)'
              ELSE name_pattern(n.path) END AS name,
       n.path, f.dev, f.block, o.share,
       COALESCE(v.mapped, 1) > 0 AND (io.S = 0 OR l.dirtied + l.direct > l.touched) AS mapped,
       l.direct > 0 AND l.direct >= l.dirtied AS direct
FROM io JOIN v_group g ON g.rowid = io.line AND g.shown AND g.rank <= 3 LEFT JOIN v_volume v ON v.gid = g.gid
LEFT JOIN v_file_name n ON n.id = io.file LEFT JOIN v_explain_once o ON o.file = io.file AND o.line = io.line
LEFT JOIN ask LEFT JOIN file f ON f.run = ask.run AND f.id = io.file
LEFT JOIN (SELECT file, line, SUM(touched) AS touched, SUM(dirtied) AS dirtied, SUM(direct) AS direct FROM v_file_ledger
           GROUP BY file, line) l ON l.file = io.file AND l.line = io.line;

-- By family of names: own: bytes that had to be written once, which are those of calls, or those that stores through
-- mappings made dirty; again: blocks that were written more than once; rounding: blocks of which calls wrote a part.
-- rest: either, where nothing separates them.
CREATE TEMP TABLE v_explain_family AS
WITH file AS (
       SELECT *, CASE WHEN once IS NULL THEN iif(S > 0, min(S, W), W) WHEN mapped OR S = 0 THEN once
                      ELSE min(S, once) END AS own
       FROM (SELECT *, CAST(ROUND(W * share) AS INTEGER) AS once FROM v_explain_file))
SELECT gid, who, name, COALESCE(name_family(MIN(path), MAX(path)), name) AS label,
       component, COUNT(*) AS files, MIN(dev) AS dev, SUM(S) AS S,
       SUM(ops) AS ops, SUM(syncs) AS syncs, SUM(W) AS W, SUM(B) AS B, SUM(S_r) AS S_r, SUM(B_r) AS B_r,
              SUM(own) AS own, SUM(COALESCE(block, 4096)) AS tails,
       SUM(iif(once IS NULL, 0, W - once)) AS again,
       SUM(iif(once IS NULL OR mapped OR S = 0, 0, once - own)) AS rounding,
       SUM(iif(once IS NULL, W - own, 0)) AS rest, MAX(mapped) AS mapped, MIN(direct) AS direct, MAX(once IS NULL
              AND S = 0) AS own_unknown
FROM file GROUP BY gid, name, component;

-- Bytes that each line wrote, and the part of them that had to be written once. Without sums by file that is at most
-- the bytes of calls.
CREATE TEMP TABLE v_explain_line AS
SELECT v.gid, v.who, v.B,
       COALESCE((SELECT SUM(own) FROM v_explain_family f WHERE f.gid = v.gid),
                min(v.S, (SELECT SUM(written) FROM v_cause c WHERE c.gid = v.gid AND c.cause IN ('data',
                       'direct')))) AS own
FROM v_volume v WHERE v.shown AND v.rank <= 3;

-- The calls that put something into a journal, or changed structures, as a cause: access: times of access.
-- To add one: a row.
CREATE TEMP TABLE v_explain_call(call TEXT PRIMARY KEY, kind TEXT) WITHOUT ROWID;
INSERT INTO temp.v_explain_call
SELECT value, 'access'
       FROM json_each('["read", "pread64", "readv", "preadv", "preadv2", "getdents", "getdents64", "readlink",
                "readlinkat", "execve", "execveat", "mmap", "sendfile", "splice", "copy_file_range"]')
UNION ALL SELECT value, 'rename' FROM json_each('["rename", "renameat", "renameat2"]')
UNION ALL SELECT value, 'unlink' FROM json_each('["unlink", "unlinkat", "rmdir"]')
UNION ALL SELECT value, 'truncate' FROM json_each('["truncate", "ftruncate"]')
UNION ALL SELECT value, 'create'
       FROM json_each('["open", "openat", "openat2", "creat", "mkdir", "mkdirat", "link", "linkat",
                "symlink", "symlinkat", "mknod", "mknodat"]')
UNION ALL VALUES ('fault', 'store');

-- By disk: the calls, of all lines of the report. bytes: their share of the journal's bytes (btrfs: of its trees').
CREATE TEMP TABLE v_explain_put AS
WITH part AS (
       SELECT p.dev, p.call, p.name, MAX(p.files) AS files, name_family(MIN(p.first), MAX(p.last)) AS path,
              SUM(p.weight) AS weight, SUM(p.bytes) AS bytes, SUM(SUM(p.weight)) OVER (PARTITION BY p.dev) AS whole
       FROM v_put p JOIN v_group g ON g.gid = p.gid AND g.shown AND g.rank <= 3
       GROUP BY p.dev, p.call, p.name)
SELECT p.dev, p.call, COALESCE(p.path, p.name) AS name, p.files, p.weight, p.bytes, p.whole,
       COALESCE(c.kind, 'write') AS kind
FROM part p LEFT JOIN v_explain_call c ON c.call = p.call;

CREATE TEMP TABLE v_explain_calls AS
SELECT dev, group_concat(call || iif(name LIKE '(%', '', printf(' of %s%s', name,
       iif(files > 1, printf(' (%d files)', files), ''))) || printf(' (%.0f %%)', weight * 100.0 / whole), ', ') AS text
FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY dev ORDER BY weight DESC, call, name) AS place FROM v_explain_put)
WHERE place <= 3 AND weight >= 0.05 * whole
GROUP BY dev;

-- The kind of most of it, and its share. A file that is made, renamed over another, and that one removed, is one kind.
CREATE TEMP TABLE v_explain_kind AS
SELECT dev, kind, MAX(weight * 1.0 / whole) AS share
FROM (SELECT dev, iif(kind IN ('create', 'unlink') AND renames, 'rename', kind) AS kind, SUM(weight) AS weight,
       MAX(whole) AS whole
      FROM (SELECT *, MAX(kind = 'rename') OVER (PARTITION BY dev) AS renames FROM v_explain_put) GROUP BY 1, 2)
GROUP BY dev;

-- Kind of most syncs, by line and device of the files: `write` are those that writing calls are themselves
-- (O_SYNC, O_DSYNC). msyncs: those of mapped memory, which are in no sum by file.
CREATE TEMP TABLE v_explain_how AS
WITH part AS (
       SELECT p.gid, p.dev, CASE WHEN p.sym = 'sync_writes' THEN 'write' WHEN p.kind IN ('fdatasync', 'msync')
              THEN p.kind ELSE 'fsync' END AS how, SUM(p.amount) AS n
       FROM v_piece p WHERE p.sym IN ('fsyncs', 'sync_writes') AND p.dev IS NOT NULL GROUP BY 1, 2, 3)
SELECT gid, dev, how, MAX(iif(how = 'msync', 0, n)) AS n, sum_if(n, how = 'msync') AS msyncs
FROM part GROUP BY gid, dev;

-- Syncs of files, by disk of the file system: how many, and the family with most of them. A subvolume has a device of
-- its own, whose file
-- system is on the only disk of that kind, if there is one.
CREATE TEMP TABLE v_explain_sync AS
WITH part AS MATERIALIZED (
       SELECT COALESCE((SELECT CASE WHEN d.fs = 'btrfs' AND d.type = 'fs'
                                    THEN (SELECT MIN(b.dev) FROM v_explain_fs b
                                           WHERE b.fs = 'btrfs' HAVING COUNT(*) = 1)
                                    WHEN NOT d.leaf THEN d.parent END
                        FROM v_device d WHERE d.dev = f.dev), f.dev) AS dev,
              f.label, SUM(f.syncs) AS syncs, MAX(h.how) AS how
       FROM v_explain_family f LEFT JOIN v_explain_how h ON h.gid = f.gid AND h.dev = f.dev
       WHERE f.syncs > 0 GROUP BY 1, f.label),
     placed AS (SELECT *, ROW_NUMBER() OVER (PARTITION BY dev ORDER BY syncs DESC, label) AS place FROM part)
SELECT dev, SUM(syncs) AS syncs, MAX(iif(place = 1, label, NULL)) AS label, MAX(syncs) AS most,
       MAX(iif(place = 1, how, NULL)) AS how
FROM placed GROUP BY dev;

-- Experiments that would confirm a cause: by cause, the calls behind it and the file system (LIKE). %s is the file. The
-- longest pattern of a file system that fits is taken. To add one: a row. `once`: also where a single commit holds all
-- of it.
CREATE TEMP TABLE v_explain_try(cause, kind, fs, once, experiment);
INSERT INTO temp.v_explain_try VALUES
       ('journal', 'access', '%', 1, 'the same on a file system mounted with -o noatime, or with -o lazytime'),
       ('journal', 'access', 'btrfs', 1, 'the same on a file system mounted with -o noatime'),
       ('journal', 'sync', '%', 0, 'fewer syncs of %s, or fdatasync of space that was written before'),
       ('journal', 'sync', 'ext%', 0,
              'fewer syncs of %s, fdatasync of space that was written before, or mkfs.ext4 -O fast_commit'),
       ('journal', 'sync', 'btrfs', 0, 'fewer syncs of %s'),
       ('journal', 'fdatasync', '%', 0, 'fewer syncs of %s, or writes to space that was written before'),
       ('journal', 'fdatasync', 'ext%', 0,
              'fewer syncs of %s, writes to space that was written before, or mkfs.ext4 -O fast_commit'),
       ('journal', 'fdatasync', 'btrfs', 0, 'fewer syncs of %s'),
       ('journal', 'sync write', '%', 0,
              'larger writes to %s, each of which is a sync (O_DSYNC, O_SYNC), or to space that was written before'),
       ('journal', 'sync write', 'ext%', 0,
              'larger writes to %s, each of which is a sync (O_DSYNC, O_SYNC), writes to space that was written '
              || 'before, or mkfs.ext4 -O fast_commit'),
       ('journal', 'sync write', 'btrfs', 0, 'larger writes to %s, each of which is a sync (O_DSYNC, O_SYNC)'),
       ('journal', 'rollback', '%', 0,
              'PRAGMA journal_mode=WAL, or PERSIST, so that no file is made and removed for a transaction'),
       ('journal', 'rename', '%', 0, 'writing only what has changed, in place of a new file that is renamed'),
       ('journal', 'unlink', '%', 0, 'keeping the file and writing it again, in place of removing it'),
       ('journal', 'truncate', '%', 0, 'no ftruncate where the length stays, or one that allocates more at a time'),
       ('journal', 'write', 'ext%', 0, 'a longer time between commits (-o commit=60)'),
       ('journal', 'write', 'btrfs', 0, 'a longer time between commits (-o commit=120)'),
       ('journal', 'store', '%', 0, 'fewer pages stored to between two commits');

-- Bytes that devices wrote for the lines of the report, whether that may be too small, and the sums that sentences
-- need.
CREATE TEMP TABLE v_explain_all AS
WITH line AS (SELECT v.* FROM v_volume v WHERE v.shown AND v.rank <= 3)
SELECT SUM(B) AS B, SUM(F) AS F, SUM(S) AS S, SUM(T) AS T, SUM(ops_S_w) AS ops, SUM(syncs) AS syncs,
       SUM(flushes) AS flushes, SUM(readahead) AS readahead, SUM(ra_unused) AS ra_unused,
       SUM(B_r_for_write) AS for_write, (SELECT SUM(absorbed) FROM v_explain_saved) AS absorbed,
       (SELECT SUM(cancelled) FROM v_explain_saved) AS cancelled,
       (SELECT write_ops FROM given) AS acknowledged,
       SUM(B_r) AS B_r, SUM(B_r - B_r_call) AS for_fault,
       (SELECT COALESCE(SUM(c.read), 0) FROM v_cause c JOIN line g ON g.gid = c.gid WHERE c.cause = 'swap'
           AND c.how <> 'none') AS swap_r, SUM(S_r) AS S_r,
       EXISTS (SELECT 1 FROM v_spoilt WHERE class = 'block') OR EXISTS (SELECT 1 FROM v_nobody) AS short,
       EXISTS (SELECT 1 FROM v_spoilt WHERE class = 'app') AS short_S,
       EXISTS (SELECT 1 FROM v_spoilt WHERE class = 'commit') AS short_commits,
       EXISTS (SELECT 1 FROM v_spoilt WHERE class IN ('miss', 'use')) AS short_use
FROM line;

-- Reads of ranges of a file that its file system had read from the device before in the run, by the ranges of events;
-- direct I/O apart, whose places are those on the disk. lost: lost events may be such reads, too.
CREATE TEMP TABLE v_explain_again AS
WITH asked AS MATERIALIZED (
       SELECT e.file, e.cause = (SELECT id FROM cause WHERE name = 'direct') AS direct, COALESCE(e.offset, 0) AS low,
              COALESCE(e.offset, 0) + e.bytes AS high, e.rowid AS id
       FROM v_measured m JOIN v_explain_all a ON a.B_r >= 65536 AND a.B_r > 0.1 * (COALESCE(a.B, 0) + a.B_r) AND m.fs
       CROSS JOIN ask
       CROSS JOIN event e ON e.run = ask.run
       WHERE e.kind = (SELECT id FROM kind WHERE name = 'fs_read') AND e.file > 0 AND e.bytes > 0
         AND e.cause IN (SELECT id FROM cause WHERE name IN ('data', 'direct', 'readahead'))
         AND e.owner IN (SELECT o.owner FROM v_owner o JOIN v_group g ON g.gid = o.gid AND g.shown AND g.rank <= 3)),
     placed AS (
       SELECT file, direct, low, high,
              MAX(high) OVER (PARTITION BY file, direct ORDER BY low, high, id
                              ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
       FROM asked),
     sums AS (
       SELECT file, SUM(high - low) AS bytes, SUM(max(min(high, COALESCE(reached, 0)) - low, 0)) AS again,
              MIN(direct) AS direct
       FROM placed GROUP BY file)
SELECT COALESCE(name_family(MIN(f.path), MAX(f.path)), '(name not known)') AS label, COUNT(*) AS files,
       SUM(s.bytes) AS bytes, SUM(s.again) AS again, MIN(s.direct) AS direct,
       EXISTS (SELECT 1 FROM v_lost WHERE effect IN ('events', 'bytes') AND layer IN ('fs', 'all')) AS lost
FROM sums s LEFT JOIN v_file_name f ON f.id = s.file
WHERE s.again > 0
GROUP BY name_pattern(f.path);

-- Durations of calls of the fsync family, where they were timed.
CREATE TEMP VIEW v_explain_time AS
SELECT SUM(c.lat_ns) AS sum_ns, SUM(COALESCE(c.timed, iif(c.lat_ns > 0, c.ops, 0))) AS timed, MAX(c.max_ns) AS max_ns
FROM v_cell c JOIN v_counts v ON v.kind = c.id AND v.sym = 'fsyncs' JOIN v_group g ON g.gid = c.gid AND g.shown
       AND g.rank <= 3;
