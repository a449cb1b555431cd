-- SPDX-License-Identifier: GPL-3.0-only
-- title: Verify: what was traced against counters that the kernel keeps itself
-- no picture: its rows are checks that agree or not
-- caption: OK: equal. MISMATCH: not equal, and the exit status is 1. n/a: cannot be compared, with the reason.

-- cases: what subject
-- table: checks
SELECT what, subject, traced, kernel, difference, result, note
FROM v_check
ORDER BY ord, subject, what;
