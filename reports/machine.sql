-- SPDX-License-Identifier: GPL-3.0-only
-- title: The machine, as the set-up section of a paper describes it
-- no picture: it is words and a table of facts
-- caption: Facts that iot-trace read in /proc and /sys when the run began. The sentences name the devices that the run
-- caption: used; the table has all. What the kernel did not say has no row. left_out: so many more were not described.

-- words: setup
SELECT iif((SELECT COUNT(*) FROM v_setup) > 1, host, 'set-up') AS about, words FROM v_setup
UNION ALL
SELECT 'set-up', 'The machine is not in the store: an earlier version of iot recorded the run.'
WHERE NOT EXISTS (SELECT 1 FROM v_setup);

-- table: facts
SELECT host, part, name, key, value FROM v_machine ORDER BY host, ord;
