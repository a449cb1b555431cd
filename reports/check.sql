-- SPDX-License-Identifier: GPL-3.0-only
-- title: Check: limits that were asked for
-- no picture: its rows are limits that are kept or not
-- caption: BROKEN: the limit is not kept. UNKNOWN: the value is absent, or a bound that does not decide. Either makes \
-- caption: the exit status 1.
-- caption: attributed: 1 - B that nobody is known to own/all B, of the whole run.

-- cases: ratio who limit than
-- table: limits
WITH value AS (
       SELECT r.what, r.who, r.pid, r.ratio, r.bound, r.value, r.note FROM v_ratio r JOIN ask
       WHERE CASE WHEN :each OR ask.system IS NOT NULL THEN r.rank < 4 ELSE r.rank = 4 END
       UNION ALL
       SELECT 'total', 'all device bytes', '', 'attributed', iif(why IS NULL, 'exact', 'n/a'),
              iif(why IS NULL, 1 - nobody * 1.0 / B, NULL), why
       FROM (SELECT *, CASE WHEN B IS NULL THEN 'layer block was not measured' WHEN B = 0 THEN 'B is 0'
                            WHEN 'block' IN (SELECT class FROM v_spoilt) THEN 'B lost records' END AS why
             FROM (SELECT MAX(B) FILTER (WHERE what = 'total') AS B,
                          COALESCE(MAX(B) FILTER (WHERE what = 'unattributed'), 0) AS nobody
                   FROM v_volume))),
     judged AS (
       SELECT l.place, l.ratio, l.kind, l.text, v.what, COALESCE(v.who, l.who) AS who, v.pid, v.bound, v.value, v.note,
              CASE WHEN v.value IS NULL AND l.value IS NULL THEN 'n/a'
                   WHEN v.value IS NULL OR l.value IS NULL THEN 'UNKNOWN'
                   WHEN l.kind = 1 AND v.value >= l.value AND v.bound IN ('exact', '>=') THEN 'OK'
                   WHEN l.kind = 1 AND v.value < l.value AND v.bound IN ('exact', '<=') THEN 'BROKEN'
                   WHEN l.kind = 0 AND v.value <= l.value AND v.bound IN ('exact', '<=') THEN 'OK'
                   WHEN l.kind <> 1 AND v.value > l.value AND v.bound IN ('exact', '>=') THEN 'BROKEN'
                   WHEN l.kind = 2 AND v.value < l.low AND v.bound IN ('exact', '<=') THEN 'BROKEN'
                   WHEN l.kind = 2 AND v.bound = 'exact' THEN 'OK'
                   ELSE 'UNKNOWN' END AS result
       FROM wanted_limit l LEFT JOIN value v ON v.ratio = l.ratio AND (l.who IS NULL OR v.who = l.who))
SELECT result, ratio, COALESCE(who, '(nobody has it)') AS who, COALESCE(pid, '') AS pid,
       COALESCE(bound, 'n/a') AS bound, value,
       CASE kind WHEN 0 THEN 'at most' WHEN 1 THEN 'at least' ELSE 'within' END AS "limit", text AS than,
       trim(iif(result = 'BROKEN', printf('%.9g; ', value), '') || COALESCE(note, ''), '; ') AS note
FROM judged
ORDER BY result = 'n/a', result = 'OK', result = 'UNKNOWN', place, who, pid;
