-- SPDX-License-Identifier: GPL-3.0-only
-- pattern.sql: Accesses in sequence.

-- Requests that devices completed and that are in no event: the event was lost, or the request is of a process that is
-- not traced.
CREATE TEMP TABLE v_unseen AS
SELECT t.dev, max(SUM(t.ops) - COALESCE((SELECT SUM(r.accesses) FROM v_order r WHERE r.place = 4 AND r.dev = t.dev), 0),
                  0) AS n
FROM ask JOIN agg_total t ON t.run = ask.run JOIN kind k ON k.id = t.kind AND k.name IN ('block_read', 'block_write')
GROUP BY t.dev;

-- Shares of sequential accesses by layer; text where a layer cannot tell.
CREATE TEMP TABLE v_pattern AS
WITH line AS MATERIALIZED (
       SELECT place, layer, way, class, part, iif(place > 2, COALESCE(device, '(unknown)'), '') AS device, derived,
              iif(place = 4, COALESCE(u.n, 0), lost) AS lost, iif(place = 4, COALESCE(u.n, 0), broken) AS broken,
              SUM(accesses) AS accesses, SUM(bytes) AS bytes, SUM(sequential) AS sequential, SUM(unjudged) AS unjudged
       FROM v_order_line l LEFT JOIN v_unseen u ON u.dev = l.dev
       GROUP BY place, way, class, iif(place > 2, l.dev, NULL))
SELECT place, layer, way, class, part, device, accesses, bytes, sequential, unjudged,
       iif(lost, '>=', 'exact') AS bound,
       max(sequential - broken, 0) * 1.0 / NULLIF(accesses - unjudged + lost, 0) AS share,
       iif(derived, 'derived from calls', '')
           || CASE WHEN NOT lost THEN '' WHEN place = 4 THEN printf('%d requests on it are in no event', lost)
                   ELSE printf('%s%d records were lost', iif(derived, '; ', ''), lost) END AS note
FROM line
UNION ALL
SELECT place, layer, '', 0, '', '', NULL, NULL, NULL, NULL, '', NULL, why
FROM v_place WHERE place < 5 AND place NOT IN (SELECT place FROM line)
  AND (place <> 4 OR (SELECT system FROM ask) IS NULL);

-- The files with most bytes of calls, in that order; behind them those with requests of devices only.
CREATE TEMP TABLE v_pattern_file AS
WITH used AS MATERIALIZED (
       SELECT file, sum_if(accesses, place = 1) AS calls, sum_if(accesses, place = 3) AS requests FROM v_order_line
       WHERE file <> 0 AND class < 2 GROUP BY file ORDER BY calls DESC, requests DESC, file LIMIT 100)
SELECT u.file, ROW_NUMBER() OVER (ORDER BY u.calls DESC, u.requests DESC, u.file) AS place, f.component,
       iif(u.file = -1, '(other files)', COALESCE(f.path, '(name not known)')) AS path
FROM used u LEFT JOIN v_file_name f ON f.id = u.file;
