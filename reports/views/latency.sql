-- SPDX-License-Identifier: GPL-3.0-only
-- latency.sql: Durations.

-- Latency buckets. system NULL: processes outside any system. middle: within 6.25 % of every value of the bucket.
-- Latency buckets of the run, with the operations up to each of them.
CREATE TEMP VIEW v_hist AS
SELECT k.layer, k.kind, h.system, COALESCE(h.other, 0) AS no_file, h.bucket, h.low_ns, h.high_ns,
       (h.low_ns + h.high_ns) / 2 AS middle_ns, h.n, SUM(h.n) OVER (part ORDER BY h.bucket) AS upto,
       SUM(h.n) OVER part AS total
FROM ask JOIN hist h ON h.run = ask.run JOIN v_kind k ON k.id = h.kind
WHERE (ask.system IS NULL OR h.system = ask.system)
WINDOW part AS (PARTITION BY h.kind, h.system, COALESCE(h.other, 0));

-- Count, sum and maximum of durations of wanted processes, by kind, system, and whether it is about files. Where not
-- every operation was timed, the sum is an estimate: the mean of those that were, for all. NULL: none was timed.
CREATE TEMP VIEW v_duration AS
SELECT layer, kind, system, no_file, ops, errors, timed, told,
       iif(timed >= ops, lat_ns, lat_ns * 1.0 / NULLIF(timed, 0) * ops) AS sum_ns, timed < ops AS estimate,
       lat_ns * 1.0 / NULLIF(timed, 0) AS mean_ns, iif(timed > 0, max_ns, NULL) AS max_ns
FROM (SELECT c.layer, c.kind, o.system, c.app AND c.no_file AS no_file, SUM(c.ops) AS ops, SUM(c.errors) AS errors,
             iif(COUNT(c.timed) = COUNT(*), SUM(c.timed), NULL) AS told,
             SUM(COALESCE(c.timed, iif(c.lat_ns > 0, c.ops, 0))) AS timed,
             SUM(c.lat_ns) AS lat_ns, MAX(c.max_ns) AS max_ns
      FROM ask JOIN v_run r JOIN v_cell c JOIN v_owner o ON o.owner = c.stand
      WHERE o.owner NOT IN (1, 2) AND (o.owner <> 0 OR r.filters IS NULL)
          AND (ask.system IS NULL OR o.system = ask.system)
      GROUP BY c.layer, c.kind, o.system, c.app AND c.no_file);

-- Limits of the error of the mean and p99 of sampled durations, with a confidence of 95 %. Each operation had the same
-- chance to be timed: the error of the mean is 1.96 standard errors, by the variance of the histogram, and p99 lies
-- between the ranks that are 1.96 standard deviations of a binomial distribution away (Conover, Practical Nonparametric
-- Statistics, 3.2). left: the share that was not timed, which is the part that can err. NULL: fewer than ten were
-- timed, or the rank is beyond the last.
CREATE TEMP VIEW v_sampling AS
WITH h AS MATERIALIZED (SELECT * FROM v_hist),
     n AS (SELECT kind, system, no_file, MAX(total) AS n, SUM(n * middle_ns) * 1.0 / SUM(n) AS mean_ns
           FROM h GROUP BY kind, system, no_file),
     s AS (SELECT n.*, max(0.0, 1 - n.n * 1.0 / NULLIF(d.ops, 0)) AS left
           FROM n JOIN v_duration d ON d.kind = n.kind AND d.system IS n.system AND d.no_file = n.no_file),
     r AS (SELECT s.*, 1.96 * root(s.n * 0.99 * 0.01 * s.left) AS ranks,
                  SUM(h.n * (h.middle_ns - s.mean_ns) * (h.middle_ns - s.mean_ns)) / NULLIF(s.n - 1, 0) AS variance
           FROM s JOIN h ON h.kind = s.kind AND h.system IS s.system AND h.no_file = s.no_file
           GROUP BY s.kind, s.system, s.no_file)
SELECT r.kind, r.system, r.no_file,
       CASE WHEN r.left = 0 THEN 0.0 WHEN r.n >= 10 THEN 1.96 * root(r.variance / r.n * r.left) END AS error_ns,
       MIN(h.low_ns) FILTER (WHERE h.upto >= r.n * 0.99 - r.ranks) AS p99_from_ns,
       MIN(h.high_ns) FILTER (WHERE h.upto >= r.n * 0.99 + r.ranks) AS p99_to_ns
FROM r JOIN h ON h.kind = r.kind AND h.system IS r.system AND h.no_file = r.no_file
GROUP BY r.kind, r.system, r.no_file;
