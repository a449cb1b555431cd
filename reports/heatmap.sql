-- SPDX-License-Identifier: GPL-3.0-only
-- title: Heat map: where on devices, and when
-- caption: A request is in the cell of the time and the place (LBA, as bytes from the start of the device) in which it began; a cell is at least as
-- caption: high as the largest request; cells are powers of two, of bytes and of nanoseconds. Only the part of a device that was touched is shown, of leaf devices, by events. Shades are steps of equal
-- caption: factors, from the fewest bytes in a cell to the most.

-- table: cells: What moved, by device, time and place
SELECT device, way, col * step_ns / 1e9 AS from_s, (col + 1) * step_ns / 1e9 AS to_s, offset AS from_byte, offset + step AS to_byte, ops, bytes
FROM v_heat
ORDER BY dev, way DESC, col, offset;

-- table: devices: What was touched of each device
SELECT device, touched_from, touched_to, cell_bytes, cell_s, note
FROM v_heat_device
ORDER BY device;

-- plot: map
-- chart: cells
-- heading: Where on devices, and when: bytes in a cell
-- unit: bytes
-- across: time since the start of the run
-- across unit: s
-- own: yes
WITH word(shade, word) AS (VALUES (0, 'lightest'), (1, 'light'), (2, 'middle'), (3, 'dark'), (4, 'darkest')),
     cell AS (
       SELECT h.*, w.shade AS step_of_five, h.device || ' ' || h.way || ', from ' || size(h.low) || ' on' AS panel,
              w.word || ': up to ' || size(ceil(h.least * pow(h.most / h.least, (w.shade + 1) / 5.0))) AS part
       FROM v_shade h JOIN word w ON w.shade = COALESCE(h.shade, 4)),
     -- the key names shades as they come: first, one row of each that draws nothing, the lightest first
     first AS (SELECT panel, step_ns FROM cell ORDER BY dev, way DESC LIMIT 1),
     line(ord, dev, way, shade, panel, part, x, bin, low, high, value) AS (
       SELECT DISTINCT 0, 0, '', step_of_five, f.panel, part, NULL, f.step_ns / 1e9, NULL, NULL, NULL FROM cell JOIN first f
       UNION ALL
       SELECT 1, dev, way, step_of_five, panel, part, col * step_ns / 1e9, step_ns / 1e9, offset - low, offset - low + step, bytes FROM cell)
SELECT panel, part, x, bin, low, high, value FROM line
ORDER BY ord, dev, way DESC, shade, x, low;

-- plot: note
-- chart: note
SELECT note FROM v_heat_device WHERE note <> '';
