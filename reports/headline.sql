-- SPDX-License-Identifier: GPL-3.0-only
-- title: What happened, in short
-- no picture: it is words; waterfall, breakdown and report draw what they say

-- words: headline
WITH reader AS (
       SELECT v.*, d.bound, d.value, d.note, COALESCE(v.B_r - d.numerator, 0) AS faults,
              ROW_NUMBER() OVER (ORDER BY v.B_r DESC, v.S_r DESC, v.gid) AS place,
              SUM(v.B_r) OVER () AS whole
       FROM v_volume v LEFT JOIN v_ratio d ON d.gid = v.gid AND d.ratio = 'raf_dev'
       WHERE v.shown AND v.rank <= 3 AND (v.S_r > 0 OR v.B_r > 0)),
     writes AS MATERIALIZED (SELECT COUNT(*) AS n, SUM(B) AS B FROM v_grew),
     -- reads are reported where nothing was written, or devices read a tenth of what they moved
     reads AS MATERIALIZED (
       SELECT r.* FROM reader r JOIN writes w
       WHERE w.n = 0 OR (r.whole * 10 >= r.whole + COALESCE(w.B, 0) AND r.B_r * 10 >= r.whole AND r.B_r > 0)),
     line AS MATERIALIZED (
       SELECT iif(place = 1, 'finding', 'writes') AS about, place, gid, who, pid, S AS called, B AS moved, 0 AS apart,
              iif(P <> B, P, NULL) AS below,
              'wrote' AS did, 'waf_sys = B/S' AS ratio, bound, value, note, mapped FROM v_grew
       UNION ALL
       SELECT iif(place = 1 AND w.n = 0, 'finding', 'reads'), place, gid, who, pid, S_r, B_r, faults, NULL, 'read',
              'raf_dev = B_r without faults/S_r', COALESCE(bound, 'n/a'), value, COALESCE(note, ''), 0
                  FROM reads JOIN writes w),
     -- numbers that can only be too small
     short AS MATERIALIZED (
       SELECT gid, MAX(sym = 'S') AS S, MAX(sym = 'B') AS B, MAX(sym = 'S_r') AS S_r, MAX(sym = 'B_r_call') AS B_r
       FROM v_symbol
       WHERE short AND sym IN ('S', 'B', 'S_r', 'B_r_call') GROUP BY gid),
     bound AS MATERIALIZED (
       SELECT l.gid, l.did, iif(iif(l.did = 'wrote', h.S, h.S_r), 'at least ', '') AS calls,
              iif(iif(l.did = 'wrote', h.B, h.B_r), 'at least ', '') AS devices
       FROM line l LEFT JOIN short h ON h.gid = l.gid),
     -- the finding's numbers that can only be too small, and those of several
     first AS (SELECT b.calls, b.devices FROM bound b JOIN v_grew g ON g.gid = b.gid AND g.place = 1
               WHERE b.did = 'wrote'),
     least AS (SELECT COALESCE(MAX(calls), '') AS calls, COALESCE(MAX(devices), '') AS devices FROM bound),
     cause AS (
       SELECT *, CASE cause WHEN 'data' THEN 'file data' WHEN 'direct' THEN 'direct I/O'
                            WHEN 'journal' THEN iif(fs = 'btrfs', 'the log trees of ', 'the journal of ')
                                || COALESCE(fs, 'the file system') || COALESCE(' on ' || device, '')
                            WHEN 'metadata' THEN iif(fs = 'btrfs', 'the trees of btrfs', 'structures of '
                                                     || COALESCE(fs, 'the file system') || ' itself')
                            WHEN 'zeroed' THEN 'zeros that the kernel wrote for it, as when a file system is made'
                                WHEN 'swap' THEN 'memory that went to swap' ELSE cause END AS word
       FROM v_grew_cause WHERE place <= 3 AND bytes * 100 >= whole),
     checks AS (
       SELECT sum_if(1, result = 'OK') AS ok, sum_if(1, result = 'MISMATCH') AS wrong,
              sum_if(1, result = 'n/a') AS absent,
              MIN(CASE result WHEN 'MISMATCH' THEN printf('%s, %s: %d traced, %d expected', what, subject, traced,
                                                          kernel) END) AS first
       FROM v_check),
     missing(ord, text) AS (
       SELECT 1, 'the end of the run: what follows ends at its last whole second' FROM v_run WHERE NOT complete
       UNION ALL
       SELECT 2, 'what had not been written back: the run did not wait for that, and '
              || COALESCE(size(dirty_bytes) || ' were', 'an unknown number of bytes was')
                 || ' dirty at the end' FROM v_run WHERE complete AND horizon = 'at_ack'
       UNION ALL
       SELECT 3, text FROM v_lost_words
       UNION ALL
       SELECT 4, 'layer ' || l.name || CASE WHEN o.layer IS NULL THEN ' (not measured)'
                                            WHEN r.tier = 'light' THEN ' (--light)' ELSE ' (not asked for)' END
       FROM v_run r JOIN layer l LEFT JOIN v_left_out o ON o.layer = l.name
       WHERE l.name IN ('syscall', 'uring', 'cache', 'fs', 'block') AND NOT listed(l.name, r.layers)
       UNION ALL
       SELECT 5, iif(r.pruned, 'events: they were pruned', 'events, and with them how much became dirty (D)')
       FROM v_run r WHERE r.events = 0
       UNION ALL
       SELECT 6, 'owners of ' || text FROM v_nobody),
     store AS (
       SELECT iif(:store GLOB '*[^A-Za-z0-9_./+-]*' OR :store GLOB '-*', 'STORE', :store)
              || iif(ask.run = (SELECT MAX(run) FROM v_runs), '', ' --run ' || ask.run)
              || COALESCE(' --system ' || iif(ask.system GLOB '*[^A-Za-z0-9_.-]*', 'SYSTEM', ask.system), '') AS name
       FROM ask),
     next(ord, text) AS (
       SELECT 0, 'iot-trace -o run.sqlite ' || iif(command IS NULL, '-d SECONDS', '-- COMMAND')
              || '  # the same, kept in a store' FROM v_run WHERE :once
       UNION ALL
       SELECT 0.5, 'iot-analyze explain run.sqlite  # then why, and what would change it' WHERE :once
       UNION ALL
       SELECT 1, 'iot-analyze verify ' || s.name || '  # what does not agree' FROM store s JOIN checks c WHERE c.wrong
       UNION ALL
       SELECT 2, 'iot-analyze explain ' || s.name || '  # why, and what would change it' FROM store s JOIN v_measured m
       WHERE m.block
       UNION ALL
       SELECT 3, 'iot-analyze files ' || name || '  # which files' FROM store
       UNION ALL
       SELECT 4, 'iot-analyze waterfall ' || s.name || '  # where the bytes grow, step by step'
       FROM store s JOIN writes w WHERE w.B > 0
       UNION ALL
       SELECT 5, 'iot-analyze amplification ' || name || '  # every volume and ratio' FROM store
       UNION ALL
       SELECT 6, 'iot-analyze latency ' || name || '  # how long it took' FROM store),
     -- bytes without an owner, in the run of a command: on its own disks only
     zeroed AS MATERIALIZED (
       SELECT g.gid, g.what, g.who, SUM(p.amount) AS zeroed
       FROM v_piece p JOIN v_group g ON g.gid = p.gid AND g.shown AND g.rank < 6 AND g.rank <> 4
       WHERE p.sym = 'zeroed' AND (g.rank <= 3 OR (SELECT command FROM v_run) IS NULL
                                   OR p.dev IN (SELECT u.dev
                                                FROM v_piece u JOIN v_group o ON o.gid = u.gid AND o.shown
                                                    AND o.rank <= 3 WHERE u.sym IN ('B', 'B_r') AND u.amount > 0))
       GROUP BY g.gid),
     said AS (
       SELECT about, place, who || CASE WHEN pid = '' THEN '' WHEN pid GLOB '*[^0-9]*' THEN ' (' || pid || ')' ELSE ' ['
              || pid || ']' END
              || CASE WHEN l.did = 'wrote' AND called = 0
                  AND l.calls = '' THEN iif(mapped > 0, ' stored ' || size(mapped) || ' through mappings',
                                            ' wrote no file data')
                      ELSE ' ' || l.did || ' ' || CASE WHEN called = 0
                          AND l.calls <> '' THEN 'an unknown number of bytes' WHEN called = 0 THEN 'nothing'
                              ELSE COALESCE(l.calls || size(called), 'n/a') END
                           || iif(mapped > 0, ' by calls and ' || size(mapped) || ' through mappings', '') END
              || iif(l.did = 'read', ' by calls; devices read ', ', and devices wrote ')
              || CASE WHEN moved = apart AND l.devices <> '' THEN 'an unknown number of bytes'
                  WHEN moved = apart THEN 'nothing' ELSE COALESCE(l.devices || size(moved - apart), 'n/a') END
              || iif(l.did = 'read', ' for them', ' on its behalf')
              || iif(below IS NULL, '', printf(', and the disks below %s%s for that (hop_stack = P/B = %.3f)',
                                               l.devices, size(below), below * 1.0 / moved))
              || iif(apart > 0, ' and ' || l.devices || size(apart)
                     || CASE WHEN s.swap = apart THEN ' back from swap'
                         WHEN s.swap > 0 THEN ' for pages of mapped files and programs, and back from swap'
                         ELSE ' for pages of mapped files and programs' END, '')
              || CASE WHEN moved = apart THEN ''
                      WHEN value IS NOT NULL THEN printf(': %s%.3f times as much (%s%s)',
                           CASE bound WHEN '>=' THEN 'at least ' WHEN '<=' THEN 'at most ' ELSE '' END, value, ratio,
                           iif(note = '', '', '; ' || note))
                      WHEN called > 0 OR called IS NULL
                          THEN printf(': how many times as much is not known (%s)', iif(note = '', ratio, note))
                      ELSE '' END || '.' AS words
       FROM line JOIN bound l ON l.gid = line.gid AND l.did = line.did
       LEFT JOIN (SELECT gid, SUM(read) AS swap FROM v_cause WHERE cause = 'swap' GROUP BY gid) s ON s.gid = line.gid
       WHERE place <= 3),
     words(ord, place, about, words) AS (
       SELECT CASE about WHEN 'finding' THEN 1 WHEN 'writes' THEN 3 ELSE 4 END, place, about, words FROM said
       UNION ALL
       SELECT iif(did = 'wrote', 3, 4), 4, about,
              printf('%d other%s %s %s%s %s', COUNT(*), iif(COUNT(*) = 1, '', 's'), did,
                     CASE WHEN COUNT(called) < COUNT(*) THEN 'n/a' WHEN SUM(called) > 0 THEN l.calls
                         || size(SUM(called)) WHEN did = 'read' THEN 'nothing' ELSE 'no file data' END,
                     iif(did = 'read', ' by calls; devices read', ', and devices wrote'),
                     CASE WHEN COUNT(moved) < COUNT(*) THEN 'n/a' WHEN SUM(moved - apart) > 0 THEN l.devices
                         || size(SUM(moved - apart)) ELSE 'nothing' END)
              || iif(did = 'read', ' for them', iif(COUNT(*) = 1, ' on its behalf', ' on their behalf'))
              || iif(SUM(apart) > 0, ' and ' || l.devices || size(SUM(apart)) || ' for faults', '') || '.'
       FROM line JOIN least l WHERE place > 3 GROUP BY about
       UNION ALL
       SELECT iif(r.n, 3, 1), 0, iif(r.n, 'writes', 'finding'),
              CASE WHEN m.syscall IS NULL AND m.block IS NULL THEN 'What was written was not measured.'
                                    WHEN m.syscall IS NULL THEN 'Devices wrote nothing for any traced program.'
                                    ELSE 'No traced program wrote to a file.' END
       FROM v_measured m JOIN (SELECT COUNT(*) AS n FROM reads) r WHERE NOT EXISTS (SELECT 1 FROM v_grew)
       UNION ALL
       SELECT 2, 1, 'from', printf('Of that %s%s.', l.devices,
                    group_concat(printf('%s%s are %s', size(bytes),
                                        iif(l.devices = '', printf(' (%.1f %%)', bytes * 100.0 / whole), ''), word),
                                            ', '))
       FROM (SELECT * FROM cause ORDER BY place) JOIN first l HAVING COUNT(*) > 0
       UNION ALL
       SELECT 2, 2, 'from', printf('It spent most on %s%s: %d call%s wrote %s to %s%s; devices wrote %s of %s%s.',
                                   f.path,
                    iif(f.inodes > 1, printf(iif(f.names > 1, ' (%d files)', ' (%d files had that name)'), f.inodes),
                        ''), f.ops, iif(f.ops = 1, '', 's'), l.calls || size(f.S), iif(f.names > 1, 'them', 'it'),
                    iif(f.syncs > 0, printf(', with %d sync%s', f.syncs, iif(f.syncs = 1, '', 's')), ''),
                    iif(f.B = 0, 'none', l.devices || size(f.B)), iif(f.names > 1, 'them', 'it'),
                    iif(f.journal > 0, printf(', and %s share of the %s is %s%s', iif(f.names > 1, 'their', 'its'),
                                              iif(EXISTS (SELECT 1 FROM cause WHERE fs = 'btrfs'), 'trees', 'journal'),
                                              l.devices || size(f.journal),
                        COALESCE((SELECT printf(', put there by %s for the most part',
                                                CASE call WHEN 'writeback' THEN 'writeback'
                                                    WHEN 'fault' THEN 'page faults' ELSE call || '()' END)
                                  FROM v_grew_call WHERE weight * 2 > whole), '')), ''))
       FROM v_grew_file f JOIN first l JOIN v_measured m ON m.syscall AND m.block
       WHERE f.ops > 0
       UNION ALL
       SELECT 2, 2.5, 'from', printf('%s %s%s.',
                    CASE c.call WHEN 'writeback' THEN 'Writeback' WHEN 'fault' THEN 'Page faults'
                        WHEN 'other' THEN 'Other work' ELSE c.call || '()' END
                    || iif(c.files > 1, printf(' of %d files', c.files), ''),
                    iif(EXISTS (SELECT 1 FROM cause WHERE cause = 'journal'), 'put most of that into the journal',
                        'changed most of these structures'),
                    iif(c.call GLOB 'read*' OR c.call GLOB 'pread*' OR c.call GLOB 'getdents*',
                        ': access times of what was read', ''))
       FROM v_grew_call c
       WHERE c.weight * 2 > c.whole AND NOT EXISTS (SELECT 1 FROM v_grew_file f WHERE f.ops > 0 AND f.journal > 0)
         AND EXISTS (SELECT 1 FROM cause WHERE cause IN ('journal', 'metadata'))
       UNION ALL
       SELECT 2, 3, 'from', 'Handed to the device by ' || group_concat(printf('%s (%s)', carrier, size(bytes)), ', ')
              || '.'
       FROM (SELECT iif(c.carrier = 'itself', g.who || ' itself', c.carrier) AS carrier, c.bytes
             FROM v_grew_carrier c JOIN v_grew g ON g.place = 1
             WHERE c.place <= 3 AND c.bytes * 100 >= c.whole ORDER BY c.place) HAVING COUNT(carrier) > 0
       UNION ALL
       SELECT 3, 9, 'writes', printf('All together wrote %s%s, and devices wrote %s on their behalf%s.',
                                     iif(v.S = 0, 'no file data',
                                         COALESCE(iif(l.S, 'at least ', '') || size(v.S), 'n/a')),
                    COALESCE((SELECT printf(' (of that %s were calls of FUSE, whose daemon wrote them once more)',
                                            size(t.bytes)) FROM v_twice t WHERE t.gid = v.gid AND t.sym = 'S'), ''),
                    iif(v.B = 0, 'nothing', COALESCE(iif(l.B, 'at least ', '') || size(v.B), 'n/a')),
                    iif(v.B > 0 AND v.S > 0 AND w.value IS NOT NULL,
                        printf(': %s%.3f times as much',
                               CASE w.bound WHEN '>=' THEN 'at least ' WHEN '<=' THEN 'at most ' ELSE '' END, w.value),
                                   ''))
       FROM v_volume v JOIN writes n ON n.n > 1 LEFT JOIN short l ON l.gid = v.gid
           LEFT JOIN v_ratio w ON w.gid = v.gid AND w.ratio = 'waf_sys'
       WHERE v.what = 'all' AND v.shown
       UNION ALL
       SELECT 3, 10, 'writes',
              printf('Beside that devices zeroed %s when asked to%s: no bytes of B, '
                     || 'though /sys/block counts them as written.', size(SUM(z.zeroed)),
                                     (SELECT printf(' (%s %s)', size(n.zeroed),
                                                    CASE WHEN n.what <> 'unattributed' THEN 'for ' || n.who
                                                    WHEN n.zeroed = y.zeroed
                                                        THEN 'by ext4lazyinit: inode tables that mkfs left'
                                                            ELSE 'for nobody who is known' END)
                                      FROM zeroed n LEFT JOIN v_lazy y ORDER BY n.zeroed DESC, n.gid LIMIT 1))
       FROM zeroed z HAVING SUM(z.zeroed) > 0
       UNION ALL
       SELECT 3, 11, 'writes',
              printf('Beside that ext4lazyinit wrote %s of zeros: inode tables that mkfs left for after the mount. '
                     || 'They are nobody''s.', size(written))
       FROM v_lazy WHERE written * 100 > (SELECT B FROM v_volume WHERE what = 'total')
       UNION ALL
       SELECT 5, 1, 'ledger',
              CASE WHEN wrong THEN printf('The bytes do NOT add up: %d of %d comparisons differ%s, such as %s.', wrong,
                                          ok + wrong, iif(wrong = 1, 's', ''), first)
                                   WHEN ok THEN printf('The bytes add up: %d comparison%s with counters of the kernel, '
                                                        || 'none differs', ok, iif(ok = 1, '', 's'))
                                   ELSE 'Whether the bytes add up could not be checked' END
              || iif(wrong, '', iif(absent, printf('; %d cannot be made.', absent), '.'))
       FROM checks
       UNION ALL
       SELECT 6, 1, 'missing', COALESCE(group_concat(text, '; '),
                                        'nothing: each layer was measured and no record was lost') || '.'
       FROM (SELECT text FROM missing ORDER BY ord)
       UNION ALL
       SELECT 7, ord, 'next', text
       FROM (SELECT ord, text FROM next WHERE ord < 1 OR NOT :once ORDER BY ord LIMIT 3))
SELECT about, words, iif(about = 'ledger' AND (SELECT wrong FROM checks), 'MISMATCH', NULL) AS result
FROM words
ORDER BY ord, place;
