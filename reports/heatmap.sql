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
WITH word(shade, word) AS (VALUES (0, 'lightest'), (1, 'light'), (2, 'middle'), (3, 'dark'), (4, 'darkest'))
SELECT h.device || ' ' || h.way || ', from ' || size(h.low) || ' on' AS panel,
       w.word || ': up to ' || size(ceil(h.least * pow(h.most / h.least, (w.shade + 1) / 5.0))) AS part,
       h.col * h.step_ns / 1e9 AS x, h.step_ns / 1e9 AS bin, h.offset - h.low AS low, h.offset - h.low + h.step AS high, h.bytes AS value
FROM v_shade h JOIN word w ON w.shade = COALESCE(h.shade, 4)
ORDER BY h.dev, h.way DESC, COALESCE(h.shade, 4), h.col, h.offset;

-- plot: note
-- chart: note
SELECT note FROM v_heat_device WHERE note <> '';
