-- SPDX-License-Identifier: GPL-3.0-only
-- title: Explain: what the device bytes are, the largest first, and what would confirm it
-- no picture: it is words
-- caption: Shares are of what devices wrote for the traced processes (B). Each sentence rests on what was measured in this run alone;
-- caption: what would change the bytes is an experiment to be made: `iot-analyze compare` says what it changed. >=: a bound.

-- words: explain
-- hide: bytes share bound rests_on experiment
WITH whole AS (SELECT * FROM v_explain_all),
     journal AS MATERIALIZED (
       SELECT j.*, SUM(j.bytes) OVER w AS all_bytes, MAX(j.structure = 'fast_commit') OVER w AS fast, c.commits,
              ROW_NUMBER() OVER (w ORDER BY j.bytes DESC, j.structure) AS place, COUNT(*) OVER w AS structures,
              DENSE_RANK() OVER (ORDER BY j.dev) AS devices
       FROM v_explain_journal j LEFT JOIN v_explain_commit c ON c.dev IS j.dev
       WINDOW w AS (PARTITION BY j.dev)),
     -- what one commit is made of; with fast commits in between, what all of it is
     anatomy AS (
       SELECT dev, device, fs, all_bytes, fast, commits, block_bytes,
              group_concat(CASE WHEN block_bytes IS NULL THEN size(iif(commits > 0 AND NOT fast, bytes / commits, bytes)) || ' '
                                WHEN fast OR COALESCE(commits, 0) = 0 THEN (bytes / block_bytes) || ' '
                                ELSE printf('%.1f ', bytes * 1.0 / block_bytes / commits) END || replace(structure, '_', ' '), ', ')
                  || iif(MAX(structures) > COUNT(*), printf(', %d other%s', MAX(structures) - COUNT(*), iif(MAX(structures) - COUNT(*) > 1, 's', '')), '') AS parts
       FROM (SELECT * FROM journal WHERE place <= 8 AND bytes >= 0.02 * all_bytes ORDER BY dev, place)
       GROUP BY dev),
     part AS (
       SELECT p.gid, g.who, g.what, p.part, SUM(p.written) AS written, c.S, c.syncs, c.ops_w
       FROM v_part p JOIN v_group g ON g.gid = p.gid AND g.shown AND g.rank <= 3
       LEFT JOIN v_component c ON c.gid = p.gid AND c.component = p.part AND c.part <> 'fs'
       GROUP BY p.gid, p.part
       HAVING SUM(p.written) > 0),
     named AS (
       SELECT p.*, COALESCE(w.word, o.word, p.part) AS word,
              COALESCE(w.experiment, o.experiment, 'the same work without it') AS experiment
       FROM part p LEFT JOIN v_explain_word w ON w.part = p.part AND w.system = p.who
       LEFT JOIN v_explain_word o ON o.part = p.part AND o.system IS NULL
       WHERE p.part <> 'fs journal'),
     finding(about, kind, bytes, text, rests_on, experiment) AS (
       SELECT 'journal', 1, all_bytes, 'the journal of ' || fs || COALESCE(' on ' || device, '') ||
              CASE WHEN short_commits OR COALESCE(commits, 0) = 0 THEN ': ' || parts
                   WHEN fast THEN printf(': %d full commit%s, and fast commits between them: ', commits, iif(commits > 1, 's', '')) || parts
                   WHEN block_bytes IS NULL THEN printf(': %s a commit (%s), %d commit%s', size(all_bytes / commits), parts, commits, iif(commits > 1, 's', ''))
                   ELSE printf(': %.1f blocks a commit (%s), %d commit%s', all_bytes * 1.0 / block_bytes / commits, parts, commits, iif(commits > 1, 's', '')) END
              || CASE WHEN short_commits OR COALESCE(commits, 0) = 0 OR (SELECT MAX(devices) FROM journal) > 1 THEN ''
                      ELSE iif(syncs > 0 AND NOT short_S, printf(', %.2f a sync', commits * 1.0 / syncs), '')
                           || iif(acknowledged > 0, printf(', %.2f an acknowledged write', commits * 1.0 / acknowledged), '') END,
              'breakdown, table journal',
              CASE WHEN fs LIKE 'ext%' AND fast THEN 'the same on a file system without -O fast_commit'
                   WHEN fs LIKE 'ext%' THEN 'mkfs.ext4 -O fast_commit, or -O ^has_journal, or fewer syncs'
                   ELSE 'the same work with fewer syncs' END
       FROM anatomy JOIN whole
       UNION ALL
       SELECT CASE part WHEN 'fs metadata' THEN 'metadata' WHEN 'unclassified' THEN 'file data' WHEN 'compaction' THEN 'compact' WHEN 'checkpoint' THEN 'tables'
                   WHEN '(name not known)' THEN 'nameless' ELSE part END, 1, written, 'the ' || word || iif(part = 'fs metadata', ' for ', ' of ') || who ||
              iif(S > 0, printf(': calls wrote %s to it in %d call%s, devices %.2f times as much', size(S), ops_w, iif(ops_w = 1, '', 's'), written * 1.0 / S), '') ||
              CASE WHEN syncs > 1 THEN printf(', %d syncs, %s each', syncs, size(S / syncs)) WHEN syncs = 1 THEN ', 1 sync' ELSE '' END ||
              iif(part = 'wal' AND who = 'postgresql' AND S >= 12288 * syncs AND syncs > 0,
                  '; a page of 8 KiB and more besides: that is what whole pages in the log look like (full_page_writes)', ''),
              iif(part IN ('file data', 'direct I/O', 'fs metadata'), 'breakdown, table owners', 'components'), experiment
       FROM named
       UNION ALL
       SELECT 'rounding', 2, T - S, printf('%s more than the %s that calls wrote lie in the blocks that they touched: %.1f bytes a call, hop_page (T/S) = %.3f',
                                           size(T - S), size(S), S * 1.0 / ops, T * 1.0 / S),
              'amplification, table ratios', 'writes of whole blocks, or a buffer in front of them'
       FROM whole
       WHERE S > 0 AND ops > 0 AND NOT short_S AND T > 1.05 * S
       UNION ALL
       SELECT 'below', 2, B - F, printf('%s more were written by devices than file systems submitted: hop_blk (B/F) = %.3f', size(B - F), B * 1.0 / F),
              'breakdown, table devices', 'the same on one plain device'
       FROM whole
       WHERE F > 0 AND NOT short AND B > 1.01 * F
       UNION ALL
       SELECT 'readahead', 2, ra_unused, printf('%s of %s that were read ahead were not used by calls: ra_waste = %.3f', size(ra_unused), size(readahead),
                                                ra_unused * 1.0 / readahead),
              'amplification, table reads', 'posix_fadvise(POSIX_FADV_RANDOM), or a smaller read_ahead_kb'
       FROM whole
       WHERE readahead > 0 AND ra_unused > 0.05 * readahead AND NOT short_use
       UNION ALL
       SELECT 'reads', 2, for_write, printf('%s were read from devices for calls that write: wra = %.3f', size(for_write), for_write * 1.0 / S),
              'amplification, table ratios', 'writes of whole blocks at their borders, or the same a second time, with structures in the cache'
       FROM whole
       WHERE for_write > 0.01 * B AND S > 0 AND NOT short AND NOT short_S
       UNION ALL
       SELECT 'saved', 3, absorbed, printf('%s that calls wrote again while it was dirty never reached a device', size(absorbed)),
              'files, table ledger', 'a sync after each write, which would write them all'
       FROM whole
       WHERE absorbed > 0
       UNION ALL
       SELECT 'saved', 3, cancelled, printf('%s were deleted or cut off before they were written back', size(cancelled)),
              'files, table ledger', 'a sync before the files are removed'
       FROM whole
       WHERE cancelled > 0
       UNION ALL
       SELECT 'flushes', 4, 0, printf('devices were flushed %d time%s for %d sync%s: flush_amp = %.3f', flushes, iif(flushes = 1, '', 's'), syncs, iif(syncs = 1, '', 's'), flushes * 1.0 / syncs),
              'amplification, table syncs', 'a device whose write cache is safe (write_cache: write through)'
       FROM whole
       WHERE flushes > 0 AND syncs > 0 AND NOT short AND NOT short_S
       UNION ALL
       SELECT 'nobody', 5, residual, 'nobody is known to own ' || text || ': what is said above is a bound',
              'breakdown, table owners', iif(EXISTS (SELECT 1 FROM v_unmeasured WHERE layer = 'owners'), '', 'a run that begins after sync and drop_caches')
       FROM v_nobody),
     -- what is less than a hundredth is said in one sentence
     told AS (
       SELECT f.* FROM finding f JOIN whole w WHERE f.kind <> 1 OR f.bytes >= 0.01 * w.B
       UNION ALL
       SELECT 'others', 1.5, SUM(f.bytes), iif((SELECT short FROM whole), 'at least ', '') || size(SUM(f.bytes)) || ' are parts of less than a hundredth: ' || group_concat(f.about, ', '), 'breakdown', ''
       FROM (SELECT about, SUM(bytes) AS bytes FROM finding f JOIN whole w WHERE f.kind = 1 AND f.bytes < 0.01 * w.B GROUP BY about ORDER BY 2 DESC) f
       HAVING COUNT(*) > 0),
     said AS (
       SELECT f.about, f.kind, f.bytes, f.rests_on, f.experiment, iif(f.kind = 1 AND NOT w.short, f.bytes * 1.0 / w.B, NULL) AS share,
              iif(f.kind < 2 AND w.short, '>=', 'exact') AS bound,
              CASE WHEN f.kind <> 1 THEN f.text
                   WHEN w.short THEN printf('at least %s of the device bytes are ', size(f.bytes)) || f.text
                   ELSE printf('%.*f %% of the device bytes (%s of %s) are ', f.bytes < 0.0995 * w.B, f.bytes * 100.0 / w.B, size(f.bytes), size(w.B)) || f.text END AS text
       FROM told f JOIN whole w
       UNION ALL
       SELECT 'nothing', 0, 0, 'amplification', '', NULL, iif(B IS NULL, 'n/a', 'exact'),
              iif(B IS NULL, 'what devices wrote was not measured: ' || COALESCE((SELECT reason FROM v_unmeasured WHERE layer = 'owners'), 'layer block is missing'),
                  'devices wrote nothing for the traced processes')
       FROM whole
       WHERE COALESCE(B, 0) = 0)
SELECT about, upper(substr(text, 1, 1)) || substr(text, 2) || '. Rests on: ' || rests_on || iif(experiment = '', '.', '. To confirm: ' || experiment || '.') AS words,
       bytes, share, bound, rests_on, experiment
FROM said
ORDER BY kind = 3, kind >= 4, kind, bytes DESC, about;
