-- SPDX-License-Identifier: GPL-3.0-only
-- title: Files: what was written to each, and what of it reached the device
-- caption: The 100 for which devices moved most bytes (B + B_r), one row a path, or what --by names (directory; \
-- caption: pattern: # stands for what numbers files). Files of the command, or of what filters name, come first.
-- caption: files: how many inodes had that path. S, W, B and syncs are the kernel's sums, exact without events too; \
-- caption: T, D, absorbed, cancelled and
-- caption: dirty_end are the dirty ledger's, which needs complete events.
-- caption: rewrite: T / D, how often each byte was written before it went out once; n/a where nothing was written so, \
-- caption: or more became dirty than calls touched
-- caption: (stores through mappings). rewrite_dev: W of the whole file, whoever wrote
-- caption: it / the part of the file that it went to, how often each of its bytes was written to devices. journal: \
-- caption: the file's share of its lines' journal
-- caption: bytes, by the blocks that calls on it put there (report journal). What could not be named is one row, and \
-- caption: so is what no file is known of.

-- table: files
-- first: path B rewrite journal S syncs files who
-- the ledger is by file and line: where several components write a file, theirs is not known
WITH does AS MATERIALIZED (
       SELECT s.file, s.line, MIN(COALESCE(s.component, f.component)) AS component,
              COUNT(DISTINCT COALESCE(s.component, f.component, '')) > 1 AS several
       FROM v_file_sum s JOIN v_file_label f ON f.file = s.file
       WHERE :by = 'component' AND s.S + s.ops_w + s.W > 0
       GROUP BY s.file, s.line),
     part AS (
       SELECT n.file, s.line, s.component, S, ops_w, syncs, W, B, S_r, ops_r, B_r, NULL AS T, NULL AS D,
              NULL AS absorbed, NULL AS cancelled,
              NULL AS dirty_end, NULL AS submitted, NULL AS covered, NULL AS journal, NULL AS blocks, 0 AS put,
              s.S + s.ops_w + s.W > 0 AND d.several AS several
       FROM v_file_sum s CROSS JOIN v_file_shown n ON n.file = s.file
           LEFT JOIN does d ON d.file = s.file AND d.line = s.line
       UNION ALL
       SELECT l.file, l.line, d.component, 0, 0, 0, 0, 0, 0, 0, 0, touched, dirtied + direct, absorbed, cancelled,
              dirty_end,
              iif(l.written + l.submitted > 0, c.submitted * 1.0 / SUM(l.written + l.submitted > 0) OVER f, NULL),
              iif(l.written + l.submitted > 0, c.covered * 1.0 / SUM(l.written + l.submitted > 0) OVER f, NULL), NULL,
              NULL, 0, d.several
       FROM v_file_ledger l CROSS JOIN v_file_shown n ON n.file = l.file LEFT JOIN v_file_covered c ON c.file = l.file
       LEFT JOIN does d ON d.file = l.file AND d.line = l.line
       WINDOW f AS (PARTITION BY l.file)
       UNION ALL
       SELECT n.file, line, NULL, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, bytes, blocks, 1, 0
       FROM v_file_put p CROSS JOIN v_file_shown n ON n.file = p.file),
     named AS (
       SELECT p.*, f.key, f.label, f.device, f.ino, COALESCE(p.component, f.component) AS part
       FROM part p JOIN v_file_label f ON f.file = p.file),
     -- disks whose file systems said what they put into a journal
     told AS MATERIALIZED (SELECT DISTINCT f.device FROM v_file_put p JOIN v_file_label f ON f.file = p.file),
     line AS (
       SELECT CASE WHEN :by = 'component' THEN COALESCE(part, 'unclassified') WHEN typeof(key) = 'integer' THEN label
              ELSE key END AS path,
              iif(COUNT(DISTINCT device) = 1, MIN(device), NULL) AS device,
              iif(COUNT(DISTINCT file) = 1, MIN(ino), NULL) AS ino,
              group_concat(DISTINCT part) AS component,
              typeof(key) = 'integer' AND key <= 0 AND :by IS NOT 'component' AS nameless,
              COALESCE(group_concat(DISTINCT iif(S + ops_w + syncs + W + B + S_r + ops_r + B_r + COALESCE(T,
                  0) + COALESCE(D, 0) > 0, line, NULL)), group_concat(DISTINCT line)) AS lines,
              COUNT(DISTINCT file) AS files, MIN(file) AS file, MAX(line IN (SELECT line FROM v_asked)) AS asked,
              SUM(S) AS S, SUM(ops_w) AS ops_w, SUM(syncs) AS syncs, COALESCE(SUM(T), 0) AS T, COALESCE(SUM(D), 0) AS D,
              COALESCE(SUM(absorbed), 0) AS absorbed, COALESCE(SUM(cancelled), 0) AS cancelled,
              COALESCE(SUM(dirty_end), 0) AS dirty_end,
              iif(MAX(several) = 1, NULL, 1) AS told,
              SUM(W) AS W, SUM(B) AS B, SUM(S_r) AS S_r, SUM(ops_r) AS ops_r, SUM(B_r) AS B_r,
              COALESCE(SUM(journal), 0) AS journal,
              iif(COUNT(submitted) = COUNT(covered), SUM(submitted) * 1.0 / NULLIF(SUM(covered), 0),
                  NULL) AS rewrite_dev,
              iif(COUNT(blocks) = SUM(put), COALESCE(SUM(blocks), 0), NULL) AS blocks, SUM(put) AS puts
       FROM named
       GROUP BY iif(:by = 'component', COALESCE(part, 'unclassified'), key),
           iif(:by IS NOT 'component' AND key <= 0, line, NULL)),
     -- bytes with neither a name nor an owner stand last, whatever their size, and are never left out
     placed AS (
       SELECT p.*, p.nameless AND p.lines IN (SELECT CAST(rowid AS TEXT) FROM v_group
                                              WHERE what = 'unattributed') AS nobody
       FROM line p)
SELECT p.path, p.device, iif(p.ino IS NULL, NULL, printf('%u', p.ino)) AS ino, p.component,
       (SELECT group_concat(who, ' + ') FROM (SELECT g.who FROM v_group g
                                              WHERE listed(g.rowid, p.lines) ORDER BY g.who)) AS who,
                                                  p.S * k.syscall AS S, p.ops_w * k.syscall AS ops_w,
       p.syncs * k.syscall AS syncs, p.T * k.ledger * p.told AS T, p.D * k.ledger * p.told AS D,
       p.absorbed * k.ledger * p.told AS absorbed, p.cancelled * k.ledger * p.told AS cancelled,
       p.dirty_end * k.ledger * p.told AS dirty_end, p.W * k.fs AS W, p.B * k.block AS B, p.S_r * k.syscall AS S_r,
       p.ops_r * k.syscall AS ops_r,
       p.B_r * k.block AS B_r, p.files, p.T * k.ledger * p.told * 1.0 / NULLIF(iif(p.T > 0 AND p.T >= p.D, p.D, 0),
           0) AS rewrite,
       CAST(ROUND(p.journal) AS INTEGER) * j.known AS journal, p.blocks * j.known AS journal_blocks,
       p.rewrite_dev * k.ledger * p.told AS rewrite_dev
FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY nobody DESC, asked DESC, B + B_r DESC, W + S + S_r + T DESC, path,
                                   file) AS place
      FROM placed
      WHERE S + ops_w + syncs + W + B + S_r + ops_r + B_r + T + D + cancelled + dirty_end + journal > 0) p
          JOIN v_measured k
JOIN (SELECT 0 AS any_put, NULL AS known UNION ALL SELECT 1, 1) j
     ON j.any_put = COALESCE(p.puts > 0 OR p.device IN (SELECT device FROM told), 0)
WHERE p.place <= :rows
ORDER BY p.nobody, p.place;

-- table: io: The same by component, and what file systems asked their devices for (W_r)
SELECT f.label AS path, f.device, iif(f.ino IS NULL OR COUNT(DISTINCT s.file) > 1, NULL, printf('%u', f.ino)) AS ino,
       COALESCE(s.component, f.component) AS component, g.who, SUM(s.S) * k.syscall AS S,
       SUM(s.ops_w) * k.syscall AS ops_w, SUM(s.S_r) * k.syscall AS S_r, SUM(s.ops_r) * k.syscall AS ops_r,
       SUM(s.syncs) * k.syscall AS syncs,
       SUM(s.W) * k.fs AS W, SUM(s.B) * k.block AS B, SUM(s.W_r) * k.fs AS W_r, SUM(s.B_r) * k.block AS B_r
FROM v_file_sum s CROSS JOIN v_file_io_shown n ON n.file = s.file CROSS JOIN v_file_label f ON f.file = s.file
JOIN v_group g ON g.rowid = s.line JOIN v_measured k
WHERE COALESCE(:by, 'file') = 'file' AND s.S + s.ops_w + s.S_r + s.ops_r + s.syncs + s.W + s.W_r + s.B + s.B_r > 0
GROUP BY f.key, s.line, COALESCE(s.component, f.component)
ORDER BY s.line IN (SELECT line FROM v_asked) DESC, SUM(s.B + s.B_r) DESC, SUM(s.W + s.W_r + s.S + s.S_r) DESC, f.label,
    f.key, g.gid, 4
LIMIT :rows;

-- table: ledger: The dirty ledger of each file (METRICS section 3)
SELECT f.label AS path, f.device, iif(f.ino IS NULL OR COUNT(DISTINCT s.file) > 1, NULL, printf('%u', f.ino)) AS ino,
       MIN(f.component) AS component, g.who, SUM(s.touched) AS touched,
       SUM(s.dirtied) AS dirtied, SUM(s.absorbed) AS absorbed, SUM(s.written) AS written, SUM(s.direct) AS direct,
       SUM(s.cancelled) AS cancelled,
       SUM(s.dirty_end) AS dirty_end, SUM(s.dirty_start) AS dirty_start, SUM(s.unexpected) AS unexpected
FROM v_file_ledger s CROSS JOIN v_file_ledger_shown n ON n.file = s.file CROSS JOIN v_file_label f ON f.file = s.file
JOIN v_group g ON g.rowid = s.line
WHERE COALESCE(:by, 'file') = 'file'
GROUP BY f.key, s.line
ORDER BY s.line IN (SELECT line FROM v_asked) DESC, SUM(s.written + s.direct + s.touched) DESC, f.label, f.key, g.gid
LIMIT :rows;

-- plot: top
-- chart: bars
-- heading: Files whose writing and reading cost devices most, by component
-- axis: bytes at the device
-- unit: bytes
WITH cost AS MATERIALIZED (
       SELECT iif(:by = 'component', COALESCE(s.component, f.component, 'unclassified'), f.key) AS key,
              MIN(f.label) AS label, MIN(f.file) AS file,
              COALESCE(s.component, f.component, iif(f.key IN (-1, 0), f.label, 'unclassified')) AS part,
              SUM(s.B) AS written, SUM(s.B_r) AS read, MAX(s.line IN (SELECT line FROM v_asked)) AS asked
       FROM v_file_sum s JOIN v_file_label f ON f.file = s.file JOIN v_measured m ON m.block
       GROUP BY 1, part
       HAVING SUM(s.B + s.B_r) > 0),
     best AS MATERIALIZED (
       SELECT key, ROW_NUMBER() OVER (ORDER BY MAX(asked) DESC, SUM(written + read) DESC, MIN(file)) AS place
       FROM cost GROUP BY key),
     side AS (
       SELECT key, iif(typeof(key) = 'integer', label, key) AS path, part, 'written' AS bar, written AS bytes FROM cost
       UNION ALL SELECT key, iif(typeof(key) = 'integer', label, key), part, 'read', read FROM cost),
     n AS (SELECT COUNT(*) AS n FROM best),
     named AS (
       SELECT iif(b.place <= 9 OR n.n = 10,
                  s.path || iif(typeof(s.key) <> 'integer' OR s.key <= 0
                                OR COUNT(*) OVER (PARTITION BY s.path, s.bar, s.part) = 1, '', ' #' || s.key),
                  (n.n - 9) || ' others') AS name, s.bar, s.part, s.bytes, min(b.place, 10) AS place
       FROM side s JOIN best b ON b.key = s.key JOIN n
       WHERE s.bytes > 0)
SELECT name AS "row", bar, part, SUM(bytes) AS value
FROM named
GROUP BY place, name, bar, part
ORDER BY place, bar DESC, part;
