-- SPDX-License-Identifier: GPL-3.0-only
-- title: What happened, in short
-- no picture: it is words; waterfall, breakdown and report draw what they say

-- words: headline
WITH writer AS (
       SELECT v.*, w.bound, w.value, w.note, ROW_NUMBER() OVER (ORDER BY v.B DESC, v.S DESC, v.gid) AS place
       FROM v_volume v LEFT JOIN v_ratio w ON w.gid = v.gid AND w.ratio = 'waf_sys'
       WHERE v.shown AND v.rank <= 3 AND (v.S > 0 OR v.B > 0 OR v.mapped > 0)),
     reader AS (
       SELECT v.*, d.bound, d.value, d.note, COALESCE(v.B_r - d.numerator, 0) AS faults, ROW_NUMBER() OVER (ORDER BY v.B_r DESC, v.S_r DESC, v.gid) AS place
       FROM v_volume v LEFT JOIN v_ratio d ON d.gid = v.gid AND d.ratio = 'raf_dev'
       WHERE v.shown AND v.rank <= 3 AND (v.S_r > 0 OR v.B_r > 0)),
     line AS MATERIALIZED (
       SELECT 'writes' AS about, 1 AS ord, place, gid, who, pid, S AS called, B AS moved, 0 AS apart, 'wrote' AS did, 'waf_sys (B/S)' AS ratio,
              bound, value, note, iif(mapped > 0.01 * COALESCE(D, max(COALESCE(S, 0) + mapped, COALESCE(W, 0))), mapped, 0) AS mapped FROM writer
       UNION ALL
       SELECT 'reads', 2, place, gid, who, pid, S_r, B_r, faults, 'read', 'raf_dev (B_r without faults/S_r)', bound, value, note, 0 FROM reader),
     -- which of them can only be too small
     short AS MATERIALIZED (
       SELECT gid, MAX(sym = 'S') AS S, MAX(sym = 'B') AS B, MAX(sym = 'S_r') AS S_r, MAX(sym = 'B_r_call') AS B_r FROM v_symbol
       WHERE short AND sym IN ('S', 'B', 'S_r', 'B_r_call') GROUP BY gid),
     cause AS MATERIALIZED (
       SELECT c.cause, SUM(c.written) AS bytes, SUM(SUM(c.written)) OVER () AS whole,
              COALESCE('{"data": "file data", "direct": "direct I/O", "journal": "the journal of the file system",
                         "metadata": "structures of the file system"}' ->> c.cause, c.cause) AS word,
              ROW_NUMBER() OVER (ORDER BY SUM(c.written) DESC, c.cause) AS place
       FROM v_cause c JOIN v_group g ON g.gid = c.gid
       WHERE g.shown AND g.rank <= 3
       GROUP BY c.cause
       HAVING SUM(c.written) > 0),
     -- what stands before a number of calls, and of devices, that can only be too small
     least AS (
       SELECT iif(EXISTS (SELECT 1 FROM v_spoilt WHERE class = 'app'), 'at least ', '') AS calls,
              iif(EXISTS (SELECT 1 FROM v_spoilt WHERE class = 'block') OR EXISTS (SELECT 1 FROM v_nobody), 'at least ', '') AS devices),
     checks AS (
       SELECT sum_if(1, result = 'OK') AS ok, sum_if(1, result = 'MISMATCH') AS wrong, sum_if(1, result = 'n/a') AS absent,
              MIN(CASE result WHEN 'MISMATCH' THEN printf('%s, %s: %d traced, %d by the kernel', what, subject, traced, kernel) END) AS first
       FROM v_check),
     missing(ord, text) AS (
       SELECT 1, 'the end of the run: what follows ends at its last whole second' FROM v_run WHERE NOT complete
       UNION ALL
       SELECT 2, 'what had not been written back: nothing was settled, and ' || COALESCE(size(dirty_bytes) || ' were', 'an unknown number of bytes was')
                 || ' dirty at the end' FROM v_run WHERE complete AND horizon = 'at_ack'
       UNION ALL
       SELECT 3, text FROM v_lost_words
       UNION ALL
       SELECT 4, 'layer ' || l.name || iif(o.layer IS NULL, ' (not measured)', ' (not asked for)')
       FROM v_run r JOIN layer l LEFT JOIN v_left_out o ON o.layer = l.name
       WHERE l.name IN ('syscall', 'uring', 'cache', 'fs', 'block') AND NOT listed(l.name, r.layers)
       UNION ALL
       SELECT 5, iif(r.pruned, 'events: they were pruned', 'events, and with them what became dirty (D)') FROM v_run r WHERE r.events = 0
       UNION ALL
       SELECT 5.1, 'what format 3 did not record: syncs by writing calls, the use of readahead, reads for faults and writes, sums by file'
       FROM v_measured WHERE since4 IS NULL
       UNION ALL
       SELECT 6, 'owners of ' || text FROM v_nobody),
     store AS (
       SELECT iif(:store GLOB '*[^A-Za-z0-9_./+-]*' OR :store GLOB '-*', 'STORE', :store)
              || iif(ask.run = (SELECT MAX(run) FROM v_runs), '', ' --run ' || ask.run)
              || COALESCE(' --system ' || iif(ask.system GLOB '*[^A-Za-z0-9_.-]*', 'SYSTEM', ask.system), '') AS name
       FROM ask),
     next(ord, text) AS (
       SELECT 1, 'iot-analyze verify ' || s.name || '  # what does not agree' FROM store s JOIN checks c WHERE c.wrong
       UNION ALL
       SELECT 2, 'iot-analyze amplification ' || name || '  # every hop from S to B' FROM store
       UNION ALL
       SELECT 3, 'iot-analyze breakdown ' || name || '  # whose, and why' FROM store WHERE EXISTS (SELECT 1 FROM cause)
       UNION ALL
       SELECT 4, 'iot-analyze components ' || name || '  # logs, tables, objects' FROM store
       WHERE EXISTS (SELECT 1 FROM v_component c JOIN v_group g ON g.gid = c.gid WHERE g.shown AND c.part = 'component')
       UNION ALL
       SELECT 5, 'iot-analyze files ' || name || '  # which files' FROM store
       UNION ALL
       SELECT 6, 'iot-analyze latency ' || name || '  # how long it took' FROM store),
     words(ord, place, about, words) AS (
       SELECT ord, place, about, printf('%s%s %s %s by calls%s; devices %s %s for that%s%s', who,
              CASE WHEN pid = '' THEN '' WHEN pid GLOB '*[^0-9]*' THEN ' (' || pid || ')' ELSE ' [' || pid || ']' END, did,
              COALESCE(iif(iif(ord = 1, h.S, h.S_r), 'at least ', '') || size(called), 'n/a'),
              iif(mapped > 0, ' and ' || size(mapped) || ' through mappings', ''), did,
              COALESCE(iif(iif(ord = 1, h.B, h.B_r), 'at least ', '') || size(moved - apart), 'n/a'),
              iif(apart > 0, ' and ' || iif(h.B_r, 'at least ', '') || size(apart) || ' for faults', ''),
              CASE WHEN value IS NOT NULL THEN printf(': %s %s %.3f', ratio, iif(bound = 'exact', '=', bound), value)
                   WHEN called > 0 OR called IS NULL THEN ': ' || ratio || ' n/a' ELSE '' END
              || iif(COALESCE(note, '') = '' OR called = 0, '', ' (' || note || ')') || '.')
       FROM line LEFT JOIN short h ON h.gid = line.gid
       WHERE place <= 3
       UNION ALL
       SELECT ord, 4, about, printf('%d other%s %s %s by calls; devices %s %s for that%s.', COUNT(*), iif(COUNT(*) = 1, '', 's'), did,
                                    iif(COUNT(called) = COUNT(*), l.calls || size(SUM(called)), 'n/a'), did,
                                    iif(COUNT(moved) = COUNT(*), iif(MAX(iif(ord = 1, h.B, h.B_r)), 'at least ', '') || size(SUM(moved - apart)), 'n/a'),
                                    iif(SUM(apart) > 0, ' and ' || iif(MAX(h.B_r), 'at least ', '') || size(SUM(apart)) || ' for faults', ''))
       FROM line JOIN least l LEFT JOIN short h ON h.gid = line.gid WHERE place > 3 GROUP BY ord
       UNION ALL
       SELECT 1, 0, 'writes', CASE WHEN m.syscall IS NULL AND m.block IS NULL THEN 'What was written was not measured.'
                                   WHEN m.syscall IS NULL THEN 'Devices wrote nothing for anybody who was traced.'
                                   ELSE 'Nobody wrote to files.' END
       FROM v_measured m WHERE NOT EXISTS (SELECT 1 FROM line WHERE ord = 1)
       UNION ALL
       SELECT 1, 5, 'writes', printf('Beside that devices zeroed %s when asked to%s: no bytes of B, though /sys/block counts them as written.', size(SUM(z.zeroed)),
                                     (SELECT printf(' (%s for %s)', size(n.zeroed), iif(n.what = 'unattributed', 'nobody who is known', n.who)) FROM v_volume n WHERE n.shown AND n.rank < 6 AND n.rank <> 4
                                      ORDER BY n.zeroed DESC, n.gid LIMIT 1))
       FROM v_volume z WHERE z.shown AND z.rank < 6 AND z.rank <> 4 HAVING SUM(z.zeroed) > 0
       UNION ALL
       SELECT 3, place, 'cause', iif(l.devices = '', printf(iif(place = 1, 'The largest part of what devices wrote for them is %s: %s of %s, %.1f %%.',
                                                                'Then %s: %s of %s, %.1f %%.'), word, size(bytes), size(whole), bytes * 100.0 / whole),
                                     printf('Of what devices wrote for them at least %s are %s.', size(bytes), word))
       FROM cause JOIN least l
       WHERE place <= 2
       UNION ALL
       SELECT 4, 1, 'ledger', CASE WHEN wrong THEN printf('Does NOT close: of %d checks %d differ, such as %s.', ok + wrong, wrong, first)
                                   WHEN ok THEN printf('Closes: %d check%s against counters of the kernel, none differs', ok, iif(ok = 1, '', 's'))
                                   ELSE 'Could not be checked' END
              || iif(wrong, '', iif(absent, printf('; %d cannot be compared.', absent), '.'))
       FROM checks
       UNION ALL
       SELECT 5, 1, 'missing', COALESCE(group_concat(text, '; '), 'nothing: each layer was measured and no record was lost') || '.'
       FROM (SELECT text FROM missing ORDER BY ord)
       UNION ALL
       SELECT 6, ord, 'next', text
       FROM (SELECT ord, text FROM next ORDER BY ord LIMIT 3))
SELECT about, words, iif(about = 'ledger' AND (SELECT wrong FROM checks), 'MISMATCH', NULL) AS result
FROM words
ORDER BY ord, place;
