-- SPDX-License-Identifier: GPL-3.0-only
-- machine.sql: The machine of the run as facts, and as the sentences of a paper's set-up section.

CREATE TEMP TABLE v_machine AS
SELECT m.rowid AS ord, COALESCE(m.host, r.host) AS host, m.part, COALESCE(m.name, '') AS name, m.key, m.value
FROM v_run r JOIN machine m ON m.run = r.run;

-- A row a part: the facts that sentences are made of.
CREATE TEMP TABLE v_machine_part AS
SELECT host, part, name, MIN(ord) AS ord,
       MAX(iif(key = 'model', value, NULL)) AS model, MAX(iif(key = 'vendor', value, NULL)) AS vendor,
       MAX(iif(key = 'product', value, NULL)) AS product, MAX(iif(key = 'name', value, NULL)) AS called,
       MAX(iif(key = 'hypervisor', value, NULL)) AS hypervisor,
       MAX(iif(key = 'online', value, NULL)) AS online, MAX(iif(key = 'cores', value, NULL)) AS cores,
       MAX(iif(key = 'sockets', value, NULL)) AS sockets, MAX(iif(key = 'governor', value, NULL)) AS governor,
       MAX(iif(key = 'bytes', CAST(value AS INTEGER), NULL)) AS bytes,
       MAX(iif(key = 'swap_bytes', CAST(value AS INTEGER), NULL)) AS swap_bytes,
       MAX(iif(key = 'transparent_huge_pages', value, NULL)) AS huge_pages,
       MAX(iif(key = 'release', value, NULL)) AS release, MAX(iif(key = 'architecture', value, NULL)) AS architecture,
       MAX(iif(key = 'clocksource', value, NULL)) AS clocksource,
       MAX(iif(key = 'cgroup_version', value, NULL)) AS cgroup_version,
       MAX(iif(key = 'scheduler', value, NULL)) AS scheduler, MAX(iif(key = 'write_cache', value, NULL)) AS write_cache,
       MAX(iif(key = 'rotational', value, NULL)) AS rotational,
       MAX(iif(key = 'logical_block_bytes', value, NULL)) AS logical_block,
       MAX(iif(key = 'physical_block_bytes', value, NULL)) AS physical_block,
       MAX(iif(key = 'queue_requests', value, NULL)) AS queue_requests, MAX(iif(key = 'level', value, NULL)) AS level,
       MAX(iif(key = 'type', value, NULL)) AS type, MAX(iif(key = 'device', value, NULL)) AS device,
       MAX(iif(key = 'devices', value, NULL)) AS devices, MAX(iif(key = 'volume', value, NULL)) AS volume,
       MAX(iif(key = 'mount_options', value, NULL)) AS mount_options, MAX(iif(key = 'options', value, NULL)) AS options,
       MAX(iif(key = 'journal_bytes', CAST(value AS INTEGER), NULL)) AS journal_bytes
FROM v_machine GROUP BY host, part, name;

-- Devices with bytes in the run, and the mount points of these: sentences speak of them alone. Where no device has
-- bytes, of all disks. A merged run names a device HOST:NAME.
CREATE TEMP TABLE v_machine_used AS
SELECT DISTINCT COALESCE(d.host, r.host) AS host,
       iif(instr(d.name, d.host || ':') = 1, substr(d.name, length(d.host) + 2), d.name) AS name, d.mount
FROM v_run r JOIN device d ON d.run = r.run
WHERE EXISTS (SELECT 1 FROM agg_total t JOIN v_kind k ON k.id = t.kind
              WHERE t.run = r.run AND t.dev = d.dev AND t.bytes > 0 AND k.layer IN ('fs', 'block'));

-- Sentences of each host, in order.
CREATE TEMP TABLE v_setup AS
WITH used AS MATERIALIZED (SELECT * FROM v_machine_used),
     disk AS MATERIALIZED (
       SELECT p.*, CASE part WHEN 'dm' THEN 'dm volume' WHEN 'md' THEN COALESCE(level, 'md') || ' array'
                             WHEN 'loop' THEN 'loop device' ELSE part END AS kind
       FROM v_machine_part p
       WHERE part IN ('disk', 'loop', 'dm', 'md', 'zram', 'bcache') AND name <> ''
         AND (EXISTS (SELECT 1 FROM used u WHERE u.host = p.host AND u.name = p.name)
              OR part IN ('disk', 'md')
              AND NOT EXISTS (SELECT 1 FROM used u JOIN v_machine_part q ON q.host = u.host AND q.name = u.name
                              WHERE u.host = p.host AND q.part IN ('disk', 'loop', 'dm', 'md', 'zram', 'bcache')))),
     mounted AS MATERIALIZED (
       SELECT p.* FROM v_machine_part p
       WHERE part = 'fs' AND name <> ''
         AND EXISTS (SELECT 1 FROM used u WHERE u.host = p.host AND (u.mount = p.name OR u.name = p.device))),
     sentence(host, ord, sub, text) AS (
       SELECT r.host, 1, 0, 'The host runs ' || COALESCE(o.called || ' with ', '') || 'Linux '
              || COALESCE(k.release || COALESCE(' (' || k.architecture || ')', ''), 'n/a')
              || COALESCE(' on ' || NULLIF(trim(COALESCE(c.model, '')), ''), '')
              || COALESCE(printf(', %s processor%s online', c.online, iif(c.online = '1', '', 's')), '')
              || COALESCE(printf(' (%s core%s%s%s)', c.cores, iif(c.cores = '1', '', 's'),
                                 COALESCE(printf(', %s socket%s', c.sockets, iif(c.sockets = '1', '', 's')), ''),
                                 COALESCE(', governor ' || c.governor, '')), '')
              || COALESCE(', with ' || size(m.bytes) || ' of memory', '')
              || COALESCE(iif(m.swap_bytes, ' and ' || size(m.swap_bytes) || ' of swap', ' and no swap'), '')
              || CASE WHEN h.hypervisor = 'none' THEN ', on bare hardware'
                      ELSE COALESCE(', in a virtual machine (' || h.hypervisor || ')', '') END || '.'
       FROM (SELECT DISTINCT host FROM v_machine) r
       LEFT JOIN v_machine_part o ON o.host = r.host AND o.part = 'os'
       LEFT JOIN v_machine_part k ON k.host = r.host AND k.part = 'kernel'
       LEFT JOIN v_machine_part c ON c.host = r.host AND c.part = 'cpu'
       LEFT JOIN v_machine_part m ON m.host = r.host AND m.part = 'memory'
       LEFT JOIN v_machine_part h ON h.host = r.host AND h.part = 'machine'
       UNION ALL
       SELECT host, 2, ord, name || ' is ' || iif(substr(kind, 1, 1) IN ('a', 'e', 'i', 'o', 'u'), 'an ', 'a ')
              || CASE WHEN part <> 'disk' THEN '' WHEN rotational = '1' THEN 'rotational '
                      WHEN rotational = '0' THEN 'non-rotational ' ELSE '' END || kind
              || COALESCE(' of ' || size(bytes), '')
              || iif(part = 'disk', COALESCE(' (' || trim(COALESCE(vendor || ' ', '') || model) || ')', ''), '')
              || COALESCE(' on ' || replace(devices, ',', ', '), '')
              || COALESCE(', scheduler ' || scheduler, '') || COALESCE(', write cache in mode ' || write_cache, '')
              || COALESCE(', sectors of ' || logical_block || ' bytes (' || physical_block || ' physical)', '')
              || COALESCE(', ' || queue_requests || ' requests in its queue', '') || '.'
       FROM disk
       UNION ALL
       SELECT host, 3, ord, name || ' is ' || type || COALESCE(' on ' || device, '')
              || COALESCE(', mounted ' || mount_options, '') || COALESCE(' with ' || options, '')
              || COALESCE(', and has a journal of ' || size(NULLIF(journal_bytes, 0)), '') || '.'
       FROM mounted
       UNION ALL
       SELECT r.host, 4, 0, 'Settings: ' || group_concat(text, ', ') || '.'
       FROM (SELECT DISTINCT host FROM v_machine) r
       JOIN (SELECT host, 1 AS ord, 'clock source ' || clocksource AS text FROM v_machine_part WHERE part = 'kernel'
             UNION ALL
             SELECT host, 2, 'transparent huge pages ' || huge_pages FROM v_machine_part WHERE part = 'memory'
             UNION ALL
             SELECT host, 3, 'control groups of version ' || cgroup_version FROM v_machine_part WHERE part = 'kernel'
             UNION ALL
             SELECT host, 4, key || ' = ' || value FROM v_machine
             WHERE part = 'sysctl'
               AND (key IN ('vm.dirty_expire_centisecs', 'vm.dirty_writeback_centisecs')
                    OR key IN ('vm.dirty_bytes', 'vm.dirty_background_bytes', 'vm.dirty_ratio',
                               'vm.dirty_background_ratio') AND value <> '0')
             ORDER BY 2, 3) s ON s.host = r.host AND s.text IS NOT NULL
       GROUP BY r.host
       UNION ALL
       SELECT h.host, 5, 0, printf('It was measured with iot %s (tier %s, layers %s, %s)', r.tool, r.tier,
              replace(r.layers, ',', ', '), iif(r.events, 'with events', 'sums only'))
              || COALESCE(printf(' for %.3f s', r.dur_ns / 1e9), '') || '.'
       FROM v_run r JOIN (SELECT DISTINCT host FROM v_machine) h)
SELECT host, group_concat(text, ' ') AS words FROM (SELECT * FROM sentence ORDER BY host, ord, sub) GROUP BY host;
