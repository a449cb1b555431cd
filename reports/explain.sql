-- SPDX-License-Identifier: GPL-3.0-only
-- title: Explain: what devices wrote beyond the application's own bytes, why, and what would confirm it
-- no picture: it is words
-- caption: own: bytes that had to be written once: what calls wrote, or stores through mappings made dirty. Shares \
-- caption: are of what devices wrote
-- caption: beyond that for the traced processes; each sentence rests on what was measured in this run alone. What \
-- caption: would change the bytes
-- caption: is an experiment to be made, and its saving the most that it can bring: `iot-analyze compare` says what it \
-- caption: changed. >=: a bound.

-- words: explain
-- hide: bytes share bound rests_on experiment saving
WITH whole AS MATERIALIZED (
       SELECT a.*, COALESCE(l.own, 0) AS own, max(a.B - COALESCE(l.own, 0), 0) AS beyond
       FROM v_explain_all a JOIN (SELECT SUM(own) AS own FROM v_explain_line) l),
     journal AS MATERIALIZED (
       SELECT j.*, SUM(j.bytes) OVER w AS all_bytes, MAX(j.structure = 'fast_commit') OVER w AS fast, c.commits,
              ROW_NUMBER() OVER (w ORDER BY j.bytes DESC, j.structure) AS place, COUNT(*) OVER w AS structures,
              DENSE_RANK() OVER (ORDER BY j.dev) AS devices
       FROM v_explain_journal j LEFT JOIN v_explain_commit c ON c.dev IS j.dev
       WINDOW w AS (PARTITION BY j.dev)),
     -- the parts of one commit; with fast commits in between, the parts of all of them
     anatomy AS (
       SELECT dev, device, fs, all_bytes, fast, commits, block_bytes,
              group_concat(CASE WHEN block_bytes IS NULL
                           THEN size(iif(commits > 0 AND NOT fast, bytes / commits, bytes)) || ' '
                                WHEN fast OR COALESCE(commits, 0) = 0 THEN (bytes / block_bytes) || ' '
                                ELSE printf('%.1f ', bytes * 1.0 / block_bytes / commits) END
                                    || replace(structure, '_', ' '), ', ')
                  || iif(MAX(structures) > COUNT(*),
                         printf(', %d other%s', MAX(structures) - COUNT(*),
                                iif(MAX(structures) - COUNT(*) > 1, 's', '')), '') AS parts
       FROM (SELECT * FROM journal WHERE place <= 8 AND bytes >= 0.02 * all_bytes ORDER BY dev, place)
       GROUP BY dev),
     -- owners, by disk: of the journal, and of structures in place
     owner AS MATERIALIZED (
       SELECT c.cause, c.dev, c.device, c.gid, g.who, SUM(c.amount) AS bytes,
              SUM(SUM(c.amount)) OVER (PARTITION BY c.cause, c.dev) AS whole,
              ROW_NUMBER() OVER (PARTITION BY c.cause, c.dev ORDER BY SUM(c.amount) DESC, g.gid) AS place
       FROM v_piece c JOIN v_group g ON g.gid = c.gid AND g.shown AND g.rank <= 3
       WHERE c.sym = 'B' AND c.cause IN ('journal', 'metadata')
       GROUP BY c.cause, c.dev, c.gid
       HAVING SUM(c.amount) > 0),
     -- a line of which devices wrote little more than its own bytes has no advice
     first AS MATERIALIZED (
       SELECT o.cause, o.dev, o.device, o.whole AS bytes, d.fs,
              group_concat(o.who, ', ') FILTER (WHERE o.place <= 3 AND o.bytes > 0.1 * o.whole) AS whom,
              MAX(iif(o.place = 1, l.B > 1.1 * COALESCE(l.own, 0), 0)) AS advice, c.text AS calls,
              c.text IS NOT NULL AS known, k.kind, k.share,
              s.syncs, s.label, s.most, n.commits,
              CASE WHEN k.kind <> 'access' AND EXISTS (SELECT 1 FROM v_explain_family u
                                                       WHERE u.label = s.label AND u.component = 'undo'
                                                           AND u.who = 'sqlite') THEN 'rollback'
                   WHEN k.kind IN ('access', 'rename', 'unlink', 'truncate', 'create') AND k.share > 0.5 THEN k.kind
                       WHEN s.syncs * 2 >= COALESCE(n.commits, 0) AND (d.fs NOT LIKE 'ext%' OR n.commits * 5 >= s.syncs)
                   THEN COALESCE('{"fdatasync": "fdatasync", "write": "sync write"}' ->> s.how, 'sync')
                       ELSE k.kind END AS driver
       FROM owner o LEFT JOIN v_explain_fs d ON d.dev = o.dev LEFT JOIN v_explain_line l ON l.gid = o.gid
       LEFT JOIN v_explain_calls c ON c.dev = o.dev LEFT JOIN v_explain_kind k ON k.dev = o.dev
       LEFT JOIN v_explain_sync s ON s.dev = o.dev LEFT JOIN v_explain_commit n ON n.dev IS o.dev
       GROUP BY o.cause, o.dev),
     tried AS MATERIALIZED (
       SELECT f.*, (SELECT replace(t.experiment, '%s', COALESCE(f.label, 'files'))
                    FROM v_explain_try t JOIN v_run r
                    WHERE f.advice AND t.cause = 'journal' AND t.kind = f.driver
                      AND COALESCE(iif(f.fs LIKE 'ext%' AND f.dev IN (SELECT dev FROM journal WHERE fast), '', f.fs),
                                   '') LIKE t.fs
                      AND (t.once OR f.syncs > 1 AND f.driver IN ('sync', 'fdatasync', 'sync write', 'rollback')
                           OR COALESCE(f.commits, 2) > 1 AND (f.driver <> 'write' OR r.dur_ns > 1e10))
                      AND (f.cause = 'journal' OR f.driver = 'access' OR f.fs = 'btrfs')
                    ORDER BY length(t.fs) DESC LIMIT 1) AS experiment,
              CAST(f.bytes * CASE WHEN f.driver = 'rollback' THEN 1
                   WHEN f.driver IN ('sync', 'fdatasync', 'sync write') THEN f.most * 1.0 / f.syncs
                       ELSE COALESCE(f.share, 1) END AS INTEGER) AS most_saved
       FROM first f),
     family AS MATERIALIZED (
       SELECT f.*, f.W - f.own AS beyond, COALESCE(w.word, o.word) AS word,
              COALESCE(w.experiment, o.experiment) AS known
       FROM v_explain_family f
       LEFT JOIN v_explain_word w ON w.part = f.component AND w.system = f.who
       LEFT JOIN v_explain_word o ON o.part = f.component AND o.system IS NULL),
     finding(about, kind, bytes, text, rests_on, experiment, saving) AS (
       SELECT 'journal', 1, f.bytes, iif(f.fs = 'btrfs', 'the log trees of ', 'the journal of ') || COALESCE(a.fs, f.fs)
              || COALESCE(' on ' || f.device, '') || COALESCE(' for ' || f.whom, '') ||
              CASE WHEN a.dev IS NULL THEN ''
                   WHEN f.fs = 'btrfs' THEN iif(f.syncs > 0,
                                                printf(': written by syncs, %s each', size(all_bytes / f.syncs)), '')
                   WHEN short_commits OR COALESCE(a.commits, 0) = 0 THEN ': ' || parts
                   WHEN fast THEN printf(': %d full commit%s, and fast commits between them: ', a.commits,
                                         iif(a.commits > 1, 's', '')) || parts
                   WHEN block_bytes IS NULL THEN printf(': %s a commit (%s), %d commit%s', size(all_bytes / a.commits),
                                                        parts, a.commits, iif(a.commits > 1, 's', ''))
                   ELSE printf(': %.1f blocks a commit (%s), %d commit%s', all_bytes * 1.0 / block_bytes / a.commits,
                               parts, a.commits, iif(a.commits > 1, 's', '')) END
              || CASE WHEN short_commits OR COALESCE(a.commits, 0) = 0 OR (SELECT MAX(devices) FROM journal) > 1
                  OR f.fs = 'btrfs' THEN ''
                      ELSE iif(w.syncs > 0 AND NOT short_S, printf(', %.2f a sync', a.commits * 1.0 / w.syncs), '')
                           || iif(acknowledged > 0,
                                  printf(', %.2f an acknowledged write', a.commits * 1.0 / acknowledged), '') END
              || COALESCE('. Calls that put it there: ' || f.calls, '')
              || iif(f.driver = 'access', ' (times of access: reading writes)', '')
              || iif(f.driver IN ('sync', 'fdatasync', 'sync write', 'rollback'),
                     printf('. Committed by syncs: %d of %d are of %s', f.most, f.syncs, f.label), ''),
              'breakdown, table journal' || iif(f.known, '; journal, table operations', '')
                  || iif(f.driver IN ('sync', 'fdatasync', 'sync write', 'rollback'), '; fsync, table files', ''),
              COALESCE(experiment, ''), iif(experiment IS NULL, NULL, most_saved)
       FROM tried f JOIN whole w LEFT JOIN anatomy a ON a.dev IS f.dev WHERE f.cause = 'journal'
       UNION ALL
       SELECT 'metadata', 1, f.bytes, iif(f.fs = 'btrfs', 'the trees of btrfs', 'structures of '
                                          || COALESCE(f.fs, 'the file system') || ', written in place')
              || COALESCE(' on ' || f.device, '') || COALESCE(' for ' || f.whom, '')
              || COALESCE(iif(f.fs = 'btrfs', '. Calls that changed them: ',
                              iif(EXISTS (SELECT 1 FROM tried j WHERE j.dev = f.dev AND j.cause = 'journal'), NULL,
                                  '. Calls that put them into the journal before: ')) || f.calls, '')
              || iif(f.driver = 'access', ' (times of access: reading writes)', ''),
              'breakdown, table anatomy' || iif(f.known, '; journal, table operations', ''), COALESCE(experiment, ''),
              iif(experiment IS NULL, NULL, most_saved)
       FROM tried f WHERE f.cause = 'metadata'
       UNION ALL
       SELECT CASE COALESCE(component, '') WHEN '' THEN 'file data' WHEN 'compaction' THEN 'compact'
              WHEN 'checkpoint' THEN 'tables' ELSE component END, 1, beyond,
              COALESCE('the ' || word, 'file data') || ' of ' || who || ': ' || label
                  || iif(files > 1, printf(' (%d files)', files), '')
              || printf(', of which devices wrote %s for ', size(W))
              || CASE WHEN mapped AND S = 0 THEN printf('%s that were stored to through a mapping', size(own))
                      ELSE printf('%s that calls wrote in %d call%s', size(S), ops, iif(ops = 1, '', 's')) END
              || iif(syncs > 0, printf(' with %d sync%s', syncs, iif(syncs > 1, 's', ''))
                     || iif(syncs > 1 AND S > 0, printf(', %s each', size(S / syncs)), ''), '')
              || iif(again >= 0.05 * beyond AND again > 0,
                     printf('; %s are the same blocks written again', size(again)), '')
              || iif(rounding >= 0.05 * beyond AND rounding > 0,
                     printf('; %s are the rest of blocks that were written in part', size(rounding)), '')
              || iif(rest > 0, '; the same blocks again, or blocks that were written in part', '')
              || iif(component = 'wal' AND who = 'postgresql' AND S >= 12288 * syncs AND syncs > 0,
                     '; a page of 8 KiB and more besides: that is what whole pages in the log look like '
                     || '(full_page_writes)', ''),
              'files, by pattern' || iif(component IS NULL, '', '; components'),
              CASE WHEN W <= 1.1 * own THEN ''
                   WHEN known IS NOT NULL AND ops <= 10 * files AND files = 1 THEN ''
                   WHEN component = 'undo' AND who = 'sqlite'
                       AND EXISTS (SELECT 1 FROM family f WHERE f.who = family.who AND f.component = 'wal') THEN ''
                   WHEN known IS NOT NULL
                   THEN iif(syncs <= 2, replace(replace(known, ', or with fewer syncs', ''),
                                                'PRAGMA synchronous=NORMAL, or ', ''), known)
                   WHEN rounding > again + rest AND rounding <= tails
                       THEN iif(files > 10, 'the same in fewer and larger files', '')
                   WHEN rounding > again + rest AND ops > files
                       THEN 'writes of whole blocks, or a buffer in front of them'
                   WHEN how.msyncs > files AND mapped OR syncs > files
                       AND mapped THEN 'fewer syncs of what is mapped, or stores to fewer pages between them'
                   WHEN syncs > files AND how.how = 'write'
                       THEN printf('larger writes to %s, each of which is a sync (O_DSYNC, O_SYNC)', label)
                   WHEN syncs > files THEN 'fewer syncs of ' || label
                   WHEN direct AND ops > files THEN 'larger requests'
                   WHEN again > rounding + rest AND syncs = 0
                       AND (SELECT dur_ns FROM v_run) > 3e10
                           THEN 'a longer time until writeback (vm.dirty_expire_centisecs)'
                   ELSE '' END, beyond
       FROM family LEFT JOIN v_explain_how how ON how.gid = family.gid AND how.dev = family.dev
       WHERE beyond > 0
       UNION ALL
       SELECT 'pages', 2, W,
              printf('%s that sqlite itself wrote to the log are %d whole pages of %s, %.1f a sync, '
                     || 'whatever of them had changed', size(S), pages, size(page), pages * 1.0 / syncs),
              'components', 'a smaller page, set before the log is in use (PRAGMA page_size=4096, then VACUUM)',
              W - pages * 4120
       FROM (SELECT s.*, p.value AS page, S / (p.value + 24) AS pages,
             (SELECT SUM(W) FROM family WHERE component IN ('wal', 'data') AND who = 'sqlite') AS W
             FROM (SELECT SUM(S) AS S, SUM(ops) AS ops, SUM(syncs) AS syncs FROM family
                   WHERE component = 'wal' AND who = 'sqlite') s
             -- a frame is two calls; the log's header one more
             JOIN json_each('[16384, 32768, 65536]') p ON S * 2 / ops BETWEEN 0.9 * p.value AND 1.1 * p.value)
       WHERE pages > 0 AND syncs > 0 AND S > 0.01 * (SELECT B FROM whole)
       UNION ALL
       SELECT 'swap', 1, SUM(c.written), 'memory that did not fit and went to swap, of '
              || (SELECT group_concat(who, ', ') FROM (
                     SELECT g.who FROM v_cause o JOIN v_group g ON g.gid = o.gid AND g.shown AND g.rank <= 3
                     WHERE o.cause = 'swap' AND o.written > 0
                     GROUP BY g.gid ORDER BY SUM(o.written) DESC, g.gid LIMIT 3))
                         || printf('; %s came back', size(SUM(c.read))),
              'breakdown', 'more memory, or a higher limit of its control group', SUM(c.written)
       FROM v_cause c JOIN v_group g ON g.gid = c.gid AND g.shown AND g.rank <= 3
           WHERE c.cause = 'swap' HAVING SUM(c.written) > 0
       UNION ALL
       SELECT 'reads', 2.5, B_r, printf('%s were read from devices', size(B_r))
              || CASE WHEN S_r > 0 AND B_r > COALESCE(for_fault, 0)
                  THEN printf(' where calls read %s: raf_dev = %.3f', size(S_r),
                              (B_r - COALESCE(for_fault, 0)) * 1.0 / S_r)
                      WHEN for_fault > 0 THEN printf(' for faults of %s, and none of it for calls',
                                                     iif(swap_r = for_fault, 'memory that had gone to swap',
                                                         'mapped files and programs')) ELSE '' END
              || iif(for_fault - swap_r > 0.01 * B_r AND B_r > for_fault,
                     printf('; %s of it for faults of mapped files and programs', size(for_fault - swap_r)), '')
              || iif(swap_r > 0.01 * B_r AND (B_r > for_fault OR for_fault > swap_r),
                     printf('; %s of it back from swap', size(swap_r)), '')
              || COALESCE('; most of '
                          || (SELECT group_concat(label || iif(files > 1, printf(' (%d files)', files), '') || ' '
                                                  || size(B_r), ', ')
                                           FROM (SELECT label, MAX(files) AS files, SUM(B_r) AS B_r FROM family
                                                 WHERE label NOT LIKE '(%' GROUP BY label
                                                 HAVING SUM(B_r) > 0.1 * (SELECT B_r FROM whole) ORDER BY 3 DESC,
                                                 label LIMIT 3)), ''),
              'amplification, table reads; files', '', NULL
       FROM whole
       WHERE B_r > 0.1 * (COALESCE(B, 0) + B_r) AND B_r >= 65536
       UNION ALL
       SELECT 'read again', 2.55, SUM(a.again),
              printf('%s%s of the %s that devices read were read before in the run: ',
                     iif(MAX(a.lost), 'at least ', ''), size(SUM(a.again)), size(w.B_r))
              || (SELECT group_concat(printf('%s%s %s', label, iif(files > 1, printf(' (%d files)', files), ''),
                                             size(again)), ', ')
                  FROM (SELECT * FROM v_explain_again
                        WHERE again >= 0.1 * (SELECT SUM(again) FROM v_explain_again) ORDER BY again DESC,
                        label LIMIT 3))
              || iif(MIN(a.direct), '; direct I/O keeps nothing in the cache',
                     iif(MAX(a.direct), '', '; the cache had let go of it')),
              'events of the file system (fs_read)',
              iif(MIN(a.direct), 'a cache of its own, or reads through the page cache',
                  'more memory for the page cache, or reading once what is read again'), SUM(a.again)
       FROM v_explain_again a JOIN whole w
       HAVING SUM(a.again) >= 65536 AND SUM(a.again) > 0.05 * w.B_r
       UNION ALL
       SELECT 'below', 1, B - F, printf('what devices wrote and no file system submitted: hop_blk (B/F) = %.3f',
                                        B * 1.0 / F),
              'breakdown, table devices', iif(B > 1.1 * own, 'the same on one plain device', ''), B - F
       FROM whole
       WHERE F > 0 AND NOT short AND B > 1.01 * F
       UNION ALL
       SELECT 'readahead', 2.6, ra_unused,
              printf('%s of %s that were read ahead were not used by calls: ra_waste = %.3f', size(ra_unused),
                     size(readahead), ra_unused * 1.0 / readahead)
              || COALESCE('; devices read more than calls did of '
                          || (SELECT group_concat(printf('%s%s: %s for %s', label,
                                                         iif(files > 1, printf(' (%d files)', files), ''), size(B_r),
                                                         size(S_r)), ', ')
                              FROM (SELECT label, MAX(files) AS files, SUM(B_r) AS B_r, SUM(S_r) AS S_r FROM family
                                    WHERE label NOT LIKE '(%' GROUP BY label
                                    HAVING SUM(S_r) > 0
                                       AND SUM(B_r) - SUM(S_r) >= 0.1 * (SELECT ra_unused FROM whole)
                                    ORDER BY SUM(B_r) - SUM(S_r) DESC, label LIMIT 3)), ''),
              'amplification, table reads', 'posix_fadvise(POSIX_FADV_RANDOM), or a smaller read_ahead_kb', ra_unused
       FROM whole
       WHERE readahead > 0 AND ra_unused > 0.05 * readahead AND ra_unused > 0.01 * B_r AND NOT short_use
       UNION ALL
       SELECT 'reads', 2.7, for_write, printf('%s were read from devices for calls that write: wra = %.3f',
                                              size(for_write), for_write * 1.0 / S),
              'amplification, table ratios',
              'the same a second time, with structures in the cache, or writes of whole blocks', for_write
       FROM whole
       WHERE for_write > 0.01 * B AND S > 0 AND NOT short AND NOT short_S
       UNION ALL
       SELECT 'saved', 3, absorbed,
              printf('%s of blocks were written to again while they were dirty: the cache let devices write these once',
                     size(absorbed)),
              'files, table ledger', '', NULL
       FROM whole
       WHERE absorbed > 0
       UNION ALL
       SELECT 'saved', 3, cancelled, printf('%s were deleted or cut off before they were written back',
                                            size(cancelled)),
              'files, table ledger', '', NULL
       FROM whole
       WHERE cancelled > 0
       UNION ALL
       SELECT 'syncs', 4, 0, printf('%d sync%s, %.3f ms each on average, %.3f ms the longest', n, iif(n = 1, '', 's'),
                                    sum_ns / 1e6 / n, max_ns / 1e6)
              || COALESCE('; most of '
                          || (SELECT group_concat(printf('%s (%d%s%s)', path, syncs,
                                                         iif(sum_ns > 0, printf(', %.3f ms in all', sum_ns / 1e6), ''),
                                                         iif(m.block, printf('; devices wrote %s of it', size(B))
                                                             || iif(journal >= 1,
                                                                    printf(' and %s of the %s for it',
                                                                           size(CAST(ROUND(journal) AS INTEGER)),
                                                                           iif(EXISTS (SELECT 1 FROM v_explain_journal
                                                                                       WHERE fs = 'btrfs'),
                                                                               'trees', 'journal')), ''), '')), ', ')
                                           FROM (SELECT * FROM v_sync_file ORDER BY B + COALESCE(journal, 0) DESC,
                                                 syncs DESC, path LIMIT 3) JOIN v_measured m), ''),
              'fsync, table files', '', NULL
       FROM (SELECT SUM(timed) AS n, SUM(sum_ns) AS sum_ns, MAX(max_ns) AS max_ns
             FROM v_sync_event HAVING SUM(timed) > 0
             UNION ALL
             SELECT SUM(timed), SUM(sum_ns), MAX(max_ns) FROM v_explain_time
             WHERE NOT EXISTS (SELECT 1 FROM v_sync_event) HAVING SUM(timed) > 0)
       UNION ALL
       SELECT 'flushes', 4.1, 0, printf('devices were flushed %d time%s for %d sync%s: flush_amp = %.3f', flushes,
                                        iif(flushes = 1, '', 's'), syncs, iif(syncs = 1, '', 's'),
                                        flushes * 1.0 / syncs),
              'amplification, table syncs', iif(syncs > 1 AND B > 1.1 * own,
                                                'a device whose write cache is safe (write_cache: write through)', ''),
              NULL
       FROM whole
       WHERE flushes > 0 AND syncs > 0 AND NOT short AND NOT short_S
       UNION ALL
       SELECT 'nobody', 5, residual, 'nobody is known to own ' || text || ': what is said above is a bound',
              'breakdown, table owners', iif(EXISTS (SELECT 1 FROM v_unmeasured WHERE layer = 'owners'), '',
                                             'a run that begins after sync and drop_caches'), NULL
       FROM v_nobody
       WHERE used OR (SELECT command FROM v_run) IS NULL OR EXISTS (SELECT 1 FROM v_unmeasured WHERE layer = 'owners')),
     -- parts below a hundredth, or below a twentieth behind the third, share one sentence
     ranked AS MATERIALIZED (
       SELECT f.*, f.kind = 1 AND (f.bytes < 0.01 * w.beyond
                                    OR f.bytes < 0.05 * w.beyond
                                        AND ROW_NUMBER() OVER (PARTITION BY f.kind ORDER BY f.bytes DESC, f.about,
                                                               f.text) > 3) AS small,
              f.bytes < 0.01 * w.beyond AS tiny
       FROM finding f JOIN whole w),
     told AS (
       SELECT about, kind, bytes, text, rests_on, experiment, saving FROM ranked WHERE NOT small
       UNION ALL
       SELECT 'others', 1.5, SUM(f.bytes), iif((SELECT short FROM whole), 'at least ', '') || size(SUM(f.bytes))
              || iif(MIN(f.tiny), ' are in parts of less than a hundredth: ', ' are in smaller parts: ')
              || group_concat(f.about || iif(f.n > 1, printf(' (%d)', f.n), ''), ', '), 'breakdown', '', NULL
       FROM (SELECT about, SUM(bytes) AS bytes, COUNT(*) AS n, MIN(tiny) AS tiny FROM ranked
             WHERE small GROUP BY about ORDER BY 2 DESC) f
       HAVING COUNT(*) > 0),
     said AS (
       SELECT f.about, f.kind, f.bytes, f.rests_on, f.experiment, iif(f.experiment = '', NULL, f.saving) AS saving,
              iif(f.kind = 1 AND NOT w.short, f.bytes * 1.0 / w.beyond, NULL) AS share,
              iif(f.kind < 2 AND w.short, '>=', 'exact') AS bound,
              CASE WHEN f.kind <> 1 THEN f.text
                   WHEN w.short THEN printf('at least %s of what devices wrote beyond that are ', size(f.bytes))
                       || f.text
                   ELSE printf('%.*f %% of what devices wrote beyond that (%s of %s) are ', f.bytes < 0.0995 * w.beyond,
                               f.bytes * 100.0 / w.beyond, size(f.bytes), size(w.beyond)) || f.text END AS text
       FROM told f JOIN whole w
       UNION ALL
       SELECT 'own', 0.5, own, 'files', '', NULL, iif(short, NULL, own * 1.0 / B), iif(short, '>=', 'exact'),
              iif(own = 0, printf('no file data are among the %s that devices wrote', size(B)),
              iif(short, 'at least ', '')
                  || printf('%s of the %s that devices wrote%s are the application''s own bytes, written once',
                            size(own), size(B), iif(short, '',
                                                    iif(own < 0.0005 * B, ' (less than 0.1 %)',
                                                        printf(' (%.*f %%)', own < 0.0995 * B, own * 100.0 / B)))))
              || COALESCE(': ' || (SELECT group_concat(label || iif(files > 1, printf(' (%d files)', files), '') || ' '
                                                       || size(own), ', ')
                                   FROM (SELECT label, MAX(files) AS files, SUM(own) AS own FROM family GROUP BY label
                                         HAVING SUM(own) > 0 AND SUM(own) >= 0.01 * (SELECT own FROM whole)
                                             ORDER BY 3 DESC, label LIMIT 3)), '')
              || iif(short OR own = 0, '', printf('; %s are beyond that', size(beyond)))
       FROM whole WHERE B > 0
       UNION ALL
       SELECT 'nothing', 0, 0, 'amplification', '', NULL, NULL, iif(B IS NULL, 'n/a', 'exact'),
              iif(B IS NULL, 'what devices wrote was not measured: '
                  || COALESCE((SELECT reason FROM v_unmeasured WHERE layer = 'owners'), 'layer block is missing'),
                  'devices wrote nothing for the traced processes')
       FROM whole
       WHERE COALESCE(B, 0) = 0)
SELECT about, upper(substr(text, 1, 1)) || substr(text, 2) || '. Rests on: ' || rests_on
       || iif(experiment = '', '.', '. To confirm: ' || experiment
              || COALESCE(iif(saving > 0, ' (saves ' || size(saving) || ' at most)', ''), '') || '.') AS words,
       bytes, share, bound, rests_on, experiment, saving
FROM said
ORDER BY kind = 3, kind >= 4, kind, bytes DESC, about, words;
