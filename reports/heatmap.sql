-- SPDX-License-Identifier: GPL-3.0-only
-- title: Heat map: where on devices, and when
-- caption: A request is in the cell of the time and the place (LBA, as bytes from the start of the device) in which \
-- caption: it began; a cell is at least as
-- caption: high as the largest request; cells are powers of two, of bytes and of nanoseconds. Only the part of a \
-- caption: device that was touched is shown, of leaf devices, by events. The scale of
-- caption: shades is logarithmic, from the fewest bytes in a cell to the most.

-- table: cells: What moved, by device, time and place
SELECT device, way, col * step_ns / 1e9 AS from_s, (col + 1) * step_ns / 1e9 AS to_s, offset AS from_byte,
       offset + step AS to_byte, ops, bytes
FROM v_heat
ORDER BY dev, way DESC, col, offset;

-- table: devices: What was touched of each device
SELECT device, touched_from, touched_to, cell_bytes, cell_s, note
FROM v_heat_device
ORDER BY device;

-- plot: map
-- chart: cells
-- heading: Where on devices, and when: bytes in a cell
-- axis: place on the device
-- unit: bytes
-- across: time since the start of the run
-- across unit: s
-- own: yes
SELECT device || ' ' || way || iif(low > 0, ', from ' || size(low) || ' on', '') AS panel,
       col * step_ns / 1e9 AS x, step_ns / 1e9 AS bin,
       offset - low AS low, offset - low + step AS high, bytes AS value
FROM v_heat
ORDER BY dev, way DESC, x, offset;

-- plot: note
-- chart: note
SELECT note FROM v_heat_device WHERE note <> '';
