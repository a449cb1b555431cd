-- SPDX-License-Identifier: GPL-3.0-only
-- title: Files: what was written to each, and what of it reached the device
-- caption: From the dirty ledger, so from events; a run with --no-events has none. The 100 files with most bytes.

-- table: files
SELECT f.path, f.device, printf('%u', f.ino) AS ino, f.component, o.who, f.touched, f.dirtied, f.absorbed, f.written, f.direct, f.cancelled, f.dirty_end, f.unexpected
FROM v_file f JOIN v_owner o ON o.owner = f.owner
WHERE o.shown
ORDER BY f.written + f.direct + f.touched DESC, f.path, f.id, f.owner
LIMIT 100;
