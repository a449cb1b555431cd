-- SPDX-License-Identifier: GPL-3.0-only
-- slice.sql: Time, cut as --by and --step ask for it.

-- The step that is asked for; of a run that would have more than 20,000 of them, a longer one.
CREATE TEMP TABLE v_step AS
SELECT max(COALESCE(:step, 1000), CAST(ceil(COALESCE(r.dur_ns, 0) / 2e10) AS INTEGER)) AS step_ms,
       :step IS NOT NULL OR :by = 'component' AS by_events
FROM v_run r;

-- Requests that devices completed, by step, direction and what --by names; a second is the kernel's sum, exact without
-- events too, a shorter step is of events, in the step in which the request began. Of components: what the file system
-- submitted, because a request may hold several files. at_ms: begin of the step.
CREATE TEMP TABLE v_slice AS
WITH have AS (
       SELECT s.step_ms, s.by_events,
              NOT s.by_events OR r.events <> 0 AND NOT EXISTS (SELECT 1 FROM v_spoilt WHERE class IN ('parts', 'block'))
                  AS whole
       FROM v_step s JOIN v_run r),
     moved AS (
       SELECT a.sec * 1000 AS at_ms, a.owner, a.dev, a.cause, NULL AS component, n.sym, a.bytes, a.ops
       FROM ask JOIN have h ON NOT h.by_events AND :by IS NOT NULL JOIN agg a ON a.run = ask.run
       LEFT JOIN v_device d ON d.dev = a.dev
       JOIN v_counts n ON n.kind = a.kind AND n.sym IN ('B', 'B_r')
            AND volume_has(n.row, a.cause, a.sub, a.flags, COALESCE(d.leaf, 1))
       UNION ALL
       SELECT e.ts_ns / (h.step_ms * 1000000) * h.step_ms, COALESCE(e.owner, 0), e.dev, COALESCE(e.cause, 0),
              COALESCE(c.name, f.component), iif(n.sym IN ('B', 'F'), 'B', 'B_r'), e.bytes, 1
       FROM ask JOIN have h ON h.by_events AND h.whole CROSS JOIN event e ON e.run = ask.run
       LEFT JOIN v_device d ON d.dev = e.dev
       LEFT JOIN v_file_name f ON :by = 'component' AND f.id = e.file
       LEFT JOIN component c ON c.id = e.component AND c.id > 0
       JOIN v_counts n ON n.kind = e.kind
            AND (n.sym = iif(:by = 'component', 'F', 'B') OR n.sym = 'B_r' AND COALESCE(:by, '') <> 'component')
            AND volume_has(n.row, COALESCE(e.cause, 0), COALESCE(e.sub, 0), COALESCE(e.flags, 0), COALESCE(d.leaf, 1))),
     named AS (
       SELECT m.at_ms, iif(m.sym = 'B', 'written', 'read') AS way, m.bytes, m.ops,
              CASE :by WHEN 'system' THEN COALESCE(p.system, iif(m.owner = 0, 'unattributed', '(none)'))
                       WHEN 'device' THEN COALESCE(d.device, '(unknown)')
                       WHEN 'owner' THEN iif(m.owner = 0, 'unattributed',
                                         o.who || iif(g.pid = '', '', ' [' || g.pid || ']'))
                       WHEN 'component' THEN iif(c.name IN ('data', 'direct'), COALESCE(m.component, 'unclassified'),
                                             'fs ' || c.name)
                       ELSE COALESCE('{"data": "file data", "direct": "direct I/O",
                                "readahead": "readahead"}' ->> c.name, 'fs ' || c.name) END AS part
       FROM moved m JOIN ask JOIN cause c ON c.id = m.cause
       LEFT JOIN v_process p ON p.id = m.owner LEFT JOIN v_device d ON d.dev = m.dev
       LEFT JOIN v_owner o ON o.owner = m.owner LEFT JOIN v_group g ON g.gid = o.gid
       WHERE m.owner NOT IN (1, 2) AND (ask.system IS NULL OR p.system = ask.system))
SELECT at_ms, way, part, SUM(bytes) AS bytes, SUM(ops) AS ops
FROM named
GROUP BY at_ms, way, part;

-- When journals were committed, and when a kernel thread wrote back: from events, steps of the picture.
CREATE TEMP VIEW v_slice_mark AS
SELECT e.ts_ns / (s.step_ms * 1000000) * s.step_ms AS at_ms,
       iif(e.kind = (SELECT id FROM kind WHERE name = 'commit'), 'journal commit',
           'writeback by a kernel thread') AS mark
FROM ask JOIN v_step s CROSS JOIN event e ON e.run = ask.run
LEFT JOIN v_process p ON p.id = e.owner LEFT JOIN v_process t ON t.id = e.task
WHERE (e.kind = (SELECT id FROM kind WHERE name = 'commit')
       OR e.kind = (SELECT id FROM kind WHERE name = 'fs_write') AND t.kthread
          AND e.cause = (SELECT id FROM cause WHERE name = 'data'))
  AND (ask.system IS NULL OR p.system = ask.system) AND COALESCE(e.owner, 0) NOT IN (1, 2)
GROUP BY 1, 2;

-- Both as charts show them: a second's bytes and requests, by panel; marks are lines without a value.
CREATE TEMP VIEW v_slice_chart AS
SELECT s.way AS panel, s.at_ms / 1000.0 AS x, v.step_ms / 1000.0 AS bin, s.part, s.bytes * 1000.0 / v.step_ms AS bytes,
       s.ops * 1000.0 / v.step_ms AS requests, 0 AS line, s.part LIKE 'fs %' AS late
FROM v_slice s JOIN v_step v
UNION ALL
SELECT 'written', m.at_ms / 1000.0, v.step_ms / 1000.0, m.mark, 0, 0, iif(m.mark = 'journal commit', 2, 3), 0
FROM v_slice_mark m JOIN v_step v
WHERE EXISTS (SELECT 1 FROM v_slice);

-- The seconds of the run, computed once for all that a report says of them.
CREATE TEMP TABLE v_second AS
SELECT * FROM v_timeline;
