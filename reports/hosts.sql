-- SPDX-License-Identifier: GPL-3.0-only
-- title: Hosts of the run
-- no picture: it lists hosts; --by host gives every report a line a host
-- caption: begin_s: since the start of the merged run, by the clock of its first host. clock_ms: how far a host's \
-- caption: clock is ahead of that of the
-- caption: first host; its times were set back by so much. error_ms: by which that may be wrong in either direction, \
-- caption: n/a where it is not known. Sums
-- caption: by second are moved by whole seconds. S, S_r, B, B_r: of its processes, whatever --system says.

-- table: hosts
SELECT host, label, kernel, filters, begin_s, seconds, clock_ms, error_ms, clock, S, S_r, B, B_r
FROM v_host
ORDER BY node;
