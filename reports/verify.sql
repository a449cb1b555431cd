-- SPDX-License-Identifier: GPL-3.0-only
-- title: Verify: what was traced against counters that the kernel keeps itself
-- no picture: its rows are checks that agree or not
-- caption: OK: equal. MISMATCH: not equal, and the exit status is 1. n/a: cannot be compared, with the reason. Of \
-- caption: processes more
-- caption: than five of one kind are one row (each has its own with --by pid). A run with filters is about what its \
-- caption: lines used.

-- cases: what subject
-- table: checks
WITH part AS (
       SELECT *, ord IN (2, 3) AND result <> 'MISMATCH' AND subject LIKE '%]' AND :per <> 'pid' AS folds,
              iif(result = 'n/a' AND instr(note, ':'), substr(note, 1, instr(note, ':') - 1), note) AS why
       FROM v_check),
     row AS (
       SELECT *, iif(folds AND COUNT(*) OVER (PARTITION BY folds, what, result, why) > 5, 0,
                     ROW_NUMBER() OVER ()) AS one FROM part)
SELECT what, iif(one, subject, COUNT(*) || ' processes') AS subject, SUM(traced) AS traced, SUM(kernel) AS kernel,
       SUM(difference) AS difference, result, iif(one, note, why) AS note
FROM row
GROUP BY ord, what, result, iif(one, '', why), one
ORDER BY result = 'MISMATCH' DESC, iif(result = 'MISMATCH', abs(difference), 0) DESC, ord, subject, what;
