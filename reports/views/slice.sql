-- SPDX-License-Identifier: GPL-3.0-only
-- slice.sql: Time, cut as --by and --step ask for it.

-- The step that is asked for, or a longer one, where the run would have more than 20,000 of them. owners, parts: the
-- parts of an aggregate, or of an event, that --by needs: the fewer there are, the shorter is their fold. A carrier
-- takes the place of the owner.
CREATE TEMP TABLE v_step AS
SELECT max(COALESCE(:step, 1000), CAST(ceil(COALESCE(r.dur_ns, 0) / 2e10) AS INTEGER)) AS step_ms,
       :step IS NOT NULL OR :by = 'component' AS by_events, :by IN ('system', 'owner') AS owners,
       :by = 'component' AS parts, :by = 'carrier' AS carriers
FROM v_run r;

-- Names that --by gives to each owner, and the first owner of that name: many processes have one name.
CREATE TEMP TABLE v_slice_name(owner INTEGER PRIMARY KEY, first INTEGER, name TEXT);
INSERT INTO temp.v_slice_name
WITH named AS (
       SELECT o.owner, CASE WHEN o.owner = 0 THEN 'unattributed'
                            WHEN :by = 'system' THEN COALESCE(o.system, '(none)')
                            ELSE o.who || iif(g.pid = '', '', ' [' || g.pid || ']') END AS name
       FROM v_step s JOIN v_owner o ON s.owners JOIN v_group g ON g.gid = o.gid)
SELECT owner, MIN(owner) OVER (PARTITION BY name), name FROM named;

-- Requests that devices completed, by step, direction and what --by names; a second is the kernel's sum, exact without
-- events too, a shorter step is of events, in the step in which the request began. Of components: what the file system
-- submitted, because a request may hold several files. at_ms: begin of the step.
CREATE TEMP TABLE v_slice AS
WITH have AS (
       SELECT s.*,
              NOT s.by_events OR r.events <> 0 AND NOT EXISTS (SELECT 1 FROM v_spoilt WHERE class IN ('parts', 'block'))
                  AS whole
       FROM v_step s JOIN v_run r),
     wanted AS MATERIALIZED (
       SELECT row, sym, kind FROM v_counts
       WHERE sym = iif(:by = 'component', 'F', 'B') OR sym = 'B_r' AND COALESCE(:by, '') <> 'component'),
     sums AS MATERIALIZED (
       SELECT (SELECT fold(9, a.sec, iif(h.owners, COALESCE((
                           SELECT first FROM v_slice_name WHERE owner = a.owner), -1),
                           iif(h.carriers, a.carrier, NULL)), a.dev, a.cause, a.sub, a.flags, a.kind, NULL, NULL,
                           a.bytes, a.ops, NULL)
               FROM v_by_second a WHERE a.place BETWEEN r.low AND r.high AND a.run = ask.run
                 AND a.kind IN (SELECT kind FROM wanted) AND a.owner NOT IN (1, 2)
                 AND (ask.system IS NULL OR a.owner IN (SELECT owner FROM v_wanted_owner))) AS rows
       FROM ask JOIN have h ON NOT h.by_events AND :by IS NOT NULL JOIN v_agg_range r),
     events AS MATERIALIZED (
       SELECT (SELECT fold(9, e.ts_ns / (h.step_ms * 1000000), iif(h.owners, COALESCE((
                           SELECT first FROM v_slice_name WHERE owner = COALESCE(e.owner, 0)), -1),
                           iif(h.carriers, e.carrier, NULL)), e.dev,
                           COALESCE(e.cause, 0), COALESCE(e.sub, 0), COALESCE(e.flags, 0), e.kind,
                           iif(h.parts, NULLIF(e.component, 0), NULL), iif(h.parts, (
                           SELECT f.part FROM v_file_part f WHERE f.file = e.file), NULL), e.bytes, 1, NULL)
               FROM event e WHERE e.rowid BETWEEN r.low AND r.high AND e.run = ask.run
                 AND e.kind IN (SELECT kind FROM wanted) AND COALESCE(e.owner, 0) NOT IN (1, 2)
                 AND (ask.system IS NULL OR e.owner IN (SELECT owner FROM v_wanted_owner))) AS rows
       FROM ask JOIN have h ON h.by_events AND h.whole JOIN v_event_range r),
     folded AS MATERIALIZED (
       SELECT c0 AS at, c1 AS owner, c2 AS dev, c3 AS cause, c4 AS sub, c5 AS flags, c6 AS kind, c7 AS part,
              c8 AS of_file, c9 AS bytes, c10 AS ops
       FROM (SELECT rows FROM sums UNION ALL SELECT rows FROM events), unfold(rows)),
     moved AS (
       SELECT f.at * iif(h.by_events, h.step_ms, 1000) AS at_ms, f.owner, f.dev, f.cause,
              COALESCE(c.name, p.name) AS component, iif(n.sym = 'B_r', 'B_r', 'B') AS sym, f.bytes, f.ops
       FROM folded f JOIN have h LEFT JOIN v_device d ON d.dev = f.dev LEFT JOIN component c ON c.id = f.part
       LEFT JOIN v_file_component p ON p.number = f.of_file
       JOIN wanted n ON n.kind = f.kind AND volume_has(n.row, f.cause, f.sub, f.flags, COALESCE(d.leaf, 1))),
     named AS (
       SELECT m.at_ms, iif(m.sym = 'B', 'written', 'read') AS way, m.bytes, m.ops,
              CASE :by WHEN 'system' THEN COALESCE(s.name, '(unknown)')
                       WHEN 'owner' THEN COALESCE(s.name, '(unknown)')
                       WHEN 'carrier' THEN COALESCE(r.name, '(not known)')
                       WHEN 'device' THEN COALESCE(d.device, '(unknown)')
                       WHEN 'component' THEN iif(c.name IN ('data', 'direct'), COALESCE(m.component, 'unclassified'),
                                             'fs ' || c.name)
                       ELSE COALESCE('{"data": "file data", "direct": "direct I/O",
                                "readahead": "readahead"}' ->> c.name, 'fs ' || c.name) END AS part
       FROM moved m JOIN cause c ON c.id = m.cause
       LEFT JOIN v_slice_name s ON s.owner = m.owner LEFT JOIN carrier r ON r.id = m.owner
       LEFT JOIN v_device d ON d.dev = m.dev)
SELECT at_ms, way, part, SUM(bytes) AS bytes, SUM(ops) AS ops
FROM named
GROUP BY at_ms, way, part;

-- Times at which journals were committed, and at which a kernel thread wrote back: from events, steps of the picture.
-- Where there is nothing to mark, no event is read.
CREATE TEMP TABLE v_slice_mark AS
WITH known AS MATERIALIZED (
       SELECT (SELECT id FROM kind WHERE name = 'commit') AS commits,
              (SELECT id FROM kind WHERE name = 'fs_write') AS writes,
              (SELECT id FROM cause WHERE name = 'data') AS data),
     folded AS MATERIALIZED (
       SELECT (SELECT fold(2, e.ts_ns / (s.step_ms * 1000000), e.kind = k.commits, NULL)
               FROM event e WHERE e.rowid BETWEEN r.low AND r.high AND e.run = ask.run
                 AND e.kind IN (k.commits, k.writes)
                 AND (e.kind = k.commits OR e.cause = k.data AND e.task IN (SELECT id FROM v_process WHERE kthread))
                 AND COALESCE(e.owner, 0) NOT IN (1, 2)
                 AND (ask.system IS NULL OR e.owner IN (SELECT owner FROM v_wanted_owner))) AS rows, s.step_ms
       FROM ask JOIN v_step s JOIN known k JOIN v_event_range r WHERE ask.plot AND EXISTS (SELECT 1 FROM v_slice))
SELECT DISTINCT c0 * step_ms AS at_ms,
                iif(c1, 'journal commit', 'writeback by a kernel thread') AS mark
FROM folded, unfold(rows);

-- Bytes and requests a second as charts show them, by panel; marks are lines without a value.
CREATE TEMP VIEW v_slice_chart AS
SELECT s.way AS panel, s.at_ms / 1000.0 AS x, v.step_ms / 1000.0 AS bin, s.part, s.bytes * 1000.0 / v.step_ms AS bytes,
       s.ops * 1000.0 / v.step_ms AS requests, 0 AS line, s.part LIKE 'fs %' AS late
FROM v_slice s JOIN v_step v
UNION ALL
SELECT 'written', m.at_ms / 1000.0, v.step_ms / 1000.0, m.mark, 0, 0, iif(m.mark = 'journal commit', 2, 3), 0
FROM v_slice_mark m JOIN v_step v
WHERE EXISTS (SELECT 1 FROM v_slice);
