-- SPDX-License-Identifier: GPL-3.0-only
-- title: Journal: what file systems put into their journals, on whose behalf, and what one commit holds
-- caption: journal: bytes of journals on devices, for XFS of its log, for btrfs of its log trees; wal: file data of \
-- caption: write-ahead logs of storage
-- caption: systems. Shares are of B.
-- caption: A commit is charged to who has the largest share of it. syncs: as in commits_per_fsync. block_bytes: size \
-- caption: of a commit record;
-- caption: n/a where a journal has no blocks of one size, as the log of XFS. txns: handles (ext4, btrfs) or \
-- caption: transactions (XFS); blocks:
-- caption: those that they were the first to put into their commit, of which ext4 does not tell the structure. bytes \
-- caption: of a call: of its line's journal
-- caption: bytes (btrfs: of all trees, those of the log apart), divided over the run by what each call put in: \
-- caption: blocks, one at least for each handle
-- caption: (ext4, btrfs); bytes in the log (XFS: logged).

-- table: lines: Journals and write-ahead logs
-- hide: what
WITH part AS MATERIALIZED (
       SELECT gid, sum_if(amount, cause = 'journal') AS journal, sum_if(amount, cause = 'metadata') AS metadata
       FROM v_piece
       WHERE sym = 'B'
       GROUP BY gid),
     wal AS MATERIALIZED (
       SELECT gid, SUM(written) AS wal FROM v_component WHERE part = 'component' AND component = 'wal' GROUP BY gid)
SELECT what, who, pid, journal, journal / NULLIF(B * 1.0, 0) AS share_journal, wal,
       wal / NULLIF(B * 1.0, 0) AS share_wal,
       metadata, metadata / NULLIF(B * 1.0, 0) AS share_metadata, B, commits, syncs,
       commits * 1.0 / NULLIF(syncs, 0) AS commits_per_fsync,
       journal * 1.0 / NULLIF(syncs, 0) AS journal_per_fsync
FROM (SELECT v.rank, v.gid, v.what, v.who, v.pid, COALESCE(p.journal, 0) * m.block AS journal,
      COALESCE(w.wal, 0) * k.known AS wal,
             COALESCE(p.metadata, 0) * m.block AS metadata, v.B, v.commits, v.syncs
      FROM v_volume v JOIN v_measured m
      JOIN (SELECT NULLIF(EXISTS (SELECT 1 FROM v_file_io), 0) * m.block AS known FROM v_measured m) k
      LEFT JOIN part p ON p.gid = v.gid
      LEFT JOIN wal w ON w.gid = v.gid
      WHERE v.shown AND v.what NOT IN ('all', 'total'))
WHERE COALESCE(journal, 0) + COALESCE(wal, 0) + COALESCE(metadata, 0) + COALESCE(commits, 0) + COALESCE(syncs, 0) > 0
ORDER BY rank, journal DESC, gid;

-- table: owners: Whose the journal's bytes are, by structure
-- hide: what
WITH part AS MATERIALIZED (
       SELECT COALESCE(c.device, '(unknown)') AS device, g.rank, g.gid, g.what, g.who, g.pid, c.sub AS structure, c.how,
              sum_if(c.amount, c.sym = 'B') AS bytes, sum_if(c.amount, c.sym = 'commits') AS commits
       FROM v_piece c JOIN v_group g ON g.gid = c.gid
       WHERE g.shown AND (c.sym = 'commits' OR (c.sym = 'B' AND c.cause = 'journal'))
       GROUP BY c.device, c.gid, c.sub, c.how),
     owner AS MATERIALIZED (SELECT device, gid, SUM(commits) AS commits, SUM(bytes) AS bytes
                            FROM part GROUP BY device, gid),
     whole AS MATERIALIZED (SELECT device, SUM(bytes) AS bytes FROM part GROUP BY device)
SELECT p.device, p.what, p.who, p.pid, p.structure, p.how, p.bytes, p.bytes * 1.0 / NULLIF(w.bytes, 0) AS share,
       p.bytes * 1.0 / b.block_bytes AS blocks, o.commits
FROM part p JOIN owner o ON o.device = p.device AND o.gid = p.gid JOIN whole w ON w.device = p.device
LEFT JOIN v_journal_block b ON b.device = p.device
WHERE p.bytes > 0
ORDER BY w.bytes DESC, p.device, o.bytes DESC, p.gid, p.bytes DESC, p.structure, p.how;

-- table: forces: Who asks for the log of XFS to be written, and why
-- hide: what
SELECT c.device, g.what, g.who, g.pid, c.sub AS reason, c.how, SUM(c.ops) AS forces,
       SUM(c.ops) * 1.0 / SUM(SUM(c.ops)) OVER (PARTITION BY c.device) AS share, v.commits, v.syncs,
       SUM(c.ops) * 1.0 / NULLIF(v.syncs, 0) AS forces_per_fsync
FROM v_cell c JOIN v_group g ON g.gid = c.gid JOIN v_volume v ON v.gid = c.gid
WHERE c.kind = 'log_force' AND g.shown
GROUP BY c.device, c.gid, c.sub, c.how
ORDER BY c.device, forces DESC, c.gid, reason, c.how;

-- table: commit: Anatomy of a commit
WITH part AS MATERIALIZED (SELECT COALESCE(device, '(unknown)') AS device, structure, bytes FROM v_journal),
     whole AS MATERIALIZED (
       SELECT p.device, SUM(p.bytes) AS bytes, MAX(c.commits) AS commits, MAX(b.block_bytes) AS block_bytes,
              (SELECT group_concat(DISTINCT d.fs) FROM v_device d
               WHERE d.fs IS NOT NULL AND (d.device = p.device
                                           OR d.parent = (SELECT dev FROM v_device WHERE device = p.device))) AS fs
       FROM part p LEFT JOIN v_commit c ON c.device IS p.device LEFT JOIN v_journal_block b ON b.device IS p.device
       GROUP BY p.device)
SELECT device, fs, structure, bytes, share, bytes_per_commit, blocks_per_commit, commits, block_bytes
FROM (SELECT 1 AS ord, p.device, w.fs, p.structure, p.bytes, p.bytes * 1.0 / NULLIF(w.bytes, 0) AS share,
             p.bytes * 1.0 / NULLIF(w.commits, 0) AS bytes_per_commit,
             p.bytes * 1.0 / w.block_bytes / NULLIF(w.commits, 0) AS blocks_per_commit,
             w.commits, w.block_bytes
      FROM part p JOIN whole w ON w.device = p.device
      UNION ALL
      SELECT 2, device, fs, 'total', bytes, bytes * 1.0 / NULLIF(bytes, 0), bytes * 1.0 / NULLIF(commits, 0),
             bytes * 1.0 / block_bytes / NULLIF(commits, 0), commits, block_bytes
      FROM whole)
ORDER BY device, ord, bytes DESC, structure;

-- table: operations: Which calls put how much into journals, on which files (# stands for what numbers them)
-- hide: what
SELECT device, what, who, pid, call, name, files, txns, blocks, bytes, share, per_txn, per_fsync
FROM (SELECT p.device, g.what, g.who, g.pid, p.call, p.name, MAX(p.files) AS files, SUM(p.txns) AS txns,
      iif(COUNT(p.blocks) = COUNT(*), SUM(p.blocks), NULL) AS blocks,
             CAST(ROUND(SUM(p.bytes)) AS INTEGER) AS bytes,
             SUM(p.bytes) / NULLIF(SUM(SUM(p.bytes)) OVER (PARTITION BY p.device), 0) AS share,
             SUM(p.bytes) / NULLIF(SUM(p.txns), 0) AS per_txn, SUM(p.bytes) / NULLIF(v.syncs, 0) AS per_fsync,
             SUM(p.weight) AS weight, p.gid
      FROM v_put p JOIN v_group g ON g.gid = p.gid JOIN v_volume v ON v.gid = p.gid
      WHERE g.shown
      GROUP BY p.dev, p.gid, p.call, p.name
      UNION ALL -- a run of an older version has journals, but does not know who put blocks into them
      SELECT COALESCE(c.device, '(unknown)'), g.what, g.who, g.pid, NULL, NULL, NULL, NULL, NULL, SUM(c.amount), NULL,
             NULL, NULL, 0, c.gid
      FROM v_piece c JOIN v_group g ON g.gid = c.gid
      WHERE g.shown AND g.rank <= 3 AND c.sym = 'B' AND c.cause = 'journal' AND NOT EXISTS (SELECT 1 FROM v_put)
      GROUP BY c.device, c.gid)
ORDER BY SUM(bytes) OVER (PARTITION BY device) DESC, device, bytes DESC, weight DESC, gid, call, name
LIMIT :rows;

-- table: structures: The same by structure, where the file system tells (XFS, btrfs)
-- hide: what
SELECT p.device, g.what, g.who, g.pid, p.call, p.name, p.structure, CAST(ROUND(p.bytes) AS INTEGER) AS bytes,
       p.bytes / NULLIF(SUM(p.bytes) OVER (PARTITION BY p.device), 0) AS share, p.weight AS logged
FROM v_put p JOIN v_group g ON g.gid = p.gid
WHERE g.shown AND p.structure <> 'none'
ORDER BY SUM(p.bytes) OVER (PARTITION BY p.device) DESC, p.device, p.bytes DESC, p.weight DESC, p.gid, p.call, p.name,
    p.structure
LIMIT :rows;

-- plot: anatomy
-- chart: bars
-- heading: What journals hold, a bar a device
-- axis: bytes on the device
-- unit: bytes
SELECT COALESCE(j.device, '(unknown)') || COALESCE(' (' || c.commits || ' commits)', '') AS "row",
       j.structure AS part, j.bytes AS value
FROM v_journal j LEFT JOIN v_commit c ON c.device IS j.device
WHERE j.bytes > 0
ORDER BY SUM(j.bytes) OVER (PARTITION BY j.device) DESC, j.device, j.bytes DESC, j.structure;
