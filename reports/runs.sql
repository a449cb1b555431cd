-- SPDX-License-Identifier: GPL-3.0-only
-- title: Runs of this store
-- no picture: it lists runs
-- scope: store

-- table: runs
SELECT run, label, host, kernel, started, seconds, horizon, status, events, lost, state, command
FROM v_runs
ORDER BY run;
