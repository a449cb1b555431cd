-- SPDX-License-Identifier: GPL-3.0-only
-- stream.sql: The CSV streams of `iot-analyze export`: one view a stream, whose columns are the header of its file.
-- The header of a stream never changes. A column that iot does not record is NULL, an empty cell; a reason stands
-- beside it. To add a stream: a view here, a row in analyzer/command/export.c, and the manual.

-- Local time of a moment of the run, and its monotonic clock. Stored times are since the start of the run.
CREATE TEMP TABLE v_stream_clock AS
SELECT r.wall_ns, r.boot_ns, r.utc_offset_s FROM ask JOIN run r ON r.run = ask.run;

-- Operations that a stream names: by kind of event. op: name of the operation in its stream; code: number of the
-- request in the kernel's enum req_op, where the kind has one alone.
CREATE TEMP TABLE v_stream_kind(kind TEXT PRIMARY KEY, stream TEXT, op TEXT, code INTEGER) WITHOUT ROWID;
INSERT INTO temp.v_stream_kind VALUES
       ('read', 'fs', 'READ', NULL), ('pread64', 'fs', 'READ', NULL), ('readv', 'fs', 'READ', NULL),
       ('preadv', 'fs', 'READ', NULL), ('aio_read', 'fs', 'READ', NULL), ('uring_read', 'fs', 'READ', NULL),
       ('write', 'fs', 'WRITE', NULL), ('pwrite64', 'fs', 'WRITE', NULL), ('writev', 'fs', 'WRITE', NULL),
       ('pwritev', 'fs', 'WRITE', NULL), ('aio_write', 'fs', 'WRITE', NULL), ('uring_write', 'fs', 'WRITE', NULL),
       ('open', 'fs', 'OPEN', NULL), ('close', 'fs', 'CLOSE', NULL), ('fsync', 'fs', 'FSYNC', NULL),
       ('fdatasync', 'fs', 'FSYNC', NULL), ('sync_file_range', 'fs', 'FSYNC', NULL), ('aio_fsync', 'fs', 'FSYNC', NULL),
       ('uring_fsync', 'fs', 'FSYNC', NULL), ('sync', 'fs', 'SYNC', NULL), ('syncfs', 'fs', 'SYNC', NULL),
       ('mmap', 'fs', 'MMAP', NULL), ('munmap', 'fs', 'MUNMAP', NULL), ('mremap', 'fs', 'MREMAP', NULL),
       ('msync', 'fs', 'MSYNC', NULL), ('madvise', 'fs', 'MADVISE', NULL), ('fadvise', 'fs', 'FADVISE', NULL),
       ('stat', 'fs', 'GETATTR', NULL), ('access', 'fs', 'ACCESS', NULL), ('readlink', 'fs', 'READLINK', NULL),
       ('chmod', 'fs', 'SETATTR', NULL), ('chown', 'fs', 'SETATTR', NULL), ('utimensat', 'fs', 'SETATTR', NULL),
       ('chdir', 'fs', 'CHDIR', NULL), ('getdents', 'fs', 'READDIR', NULL), ('unlink', 'fs', 'UNLINK', NULL),
       ('truncate', 'fs', 'TRUNCATE', NULL), ('rename', 'fs', 'RENAME', NULL), ('mkdir', 'fs', 'MKDIR', NULL),
       ('rmdir', 'fs', 'RMDIR', NULL), ('link', 'fs', 'LINK', NULL), ('symlink', 'fs', 'SYMLINK', NULL),
       ('mknod', 'fs', 'MKNOD', NULL), ('fallocate', 'fs', 'FALLOCATE', NULL), ('setxattr', 'fs', 'SETXATTR', NULL),
       ('getxattr', 'fs', 'GETXATTR', NULL), ('flock', 'fs', 'FLOCK', NULL), ('sendfile_in', 'fs', 'SENDFILE', NULL),
       ('splice_in', 'fs', 'SPLICE', NULL), ('splice_out', 'fs', 'SPLICE', NULL), ('vmsplice', 'fs', 'VMSPLICE', NULL),
       ('tee', 'fs', 'TEE', NULL), ('copy_out', 'fs', 'COPY_FILE_RANGE', NULL),
       ('block_read', 'block', 'READ', 0), ('block_write', 'block', 'WRITE', 1), ('block_flush', 'block', 'FLUSH', 2),
       ('block_discard', 'block', 'DISCARD', 3), ('block_zeroes', 'block', 'WRITE_ZEROES', 9),
       ('block_zone', 'block', 'ZONE', NULL), ('block_passthrough', 'block', 'PASSTHROUGH', NULL),
       ('block_other', 'block', 'OTHER', NULL),
       ('hit', 'cache', 'HIT', NULL), ('miss', 'cache', 'MISS', NULL), ('dirty', 'cache', 'DIRTY', NULL),
       ('writeback_begin', 'cache', 'WRITEBACK_START', NULL), ('writeback_end', 'cache', 'WRITEBACK_END', NULL),
       ('evict', 'cache', 'EVICT', NULL), ('invalidate', 'cache', 'INVALIDATE', NULL), ('drop', 'cache', 'DROP', NULL),
       ('readahead', 'cache', 'READAHEAD', NULL), ('reclaim', 'cache', 'RECLAIM', NULL),
       ('fault_major', 'pagefault', 'MAJOR', NULL), ('fault_minor', 'pagefault', 'MINOR', NULL),
       ('net_send', 'nw', 'send', NULL), ('net_recv', 'nw', 'receive', NULL),
       ('socket', 'nw_conn', 'SOCKET_CREATE', NULL), ('bind', 'nw_conn', 'BIND', NULL),
       ('listen', 'nw_conn', 'LISTEN', NULL), ('accept', 'nw_conn', 'ACCEPT', NULL),
       ('connect', 'nw_conn', 'CONNECT', NULL), ('shutdown', 'nw_conn', 'SHUTDOWN', NULL),
       ('socket_close', 'nw_conn', 'CLOSE', NULL),
       ('epoll_create', 'nw_epoll', 'EPOLL_CREATE', NULL), ('epoll_ctl', 'nw_epoll', 'EPOLL_CTL', NULL),
       ('epoll_wait', 'nw_epoll', 'EPOLL_WAIT', NULL), ('poll', 'nw_epoll', 'POLL', NULL),
       ('select', 'nw_epoll', 'SELECT', NULL),
       ('setsockopt', 'nw_sockopt', 'SET', NULL), ('getsockopt', 'nw_sockopt', 'GET', NULL),
       ('net_drop', 'nw_drop', 'DROP', NULL), ('retransmit', 'nw_drop', 'TCP_RETRANSMIT', NULL);

-- Operations of the streams by the numbers of their kinds.
CREATE TEMP TABLE v_stream_op(id INTEGER PRIMARY KEY, kind TEXT, stream TEXT, op TEXT, code INTEGER);
INSERT INTO temp.v_stream_op
SELECT k.id, s.kind, s.stream, s.op, s.code FROM v_stream_kind s JOIN v_kind k ON k.kind = s.kind;

-- The events of all streams, each with its stream, its owner (pid, command, ppid: those of the process on whose
-- behalf it was), its file and its times. Nothing that the tracer itself did, and nothing that a filter excludes.
CREATE TEMP VIEW v_stream_event AS
SELECT o.stream, o.kind, o.op AS operation, o.code,
       datetime((c.wall_ns + e.ts_ns) / 1000000000 + c.utc_offset_s, 'unixepoch')
           || printf('.%09d', (c.wall_ns + e.ts_ns) % 1000000000) AS timestamp,
       c.boot_ns + e.ts_ns AS mono_ns, e.rowid AS number, e.owner, e.tid, e.cpu, e.dev, e.bytes, e.size,
       COALESCE(e.offset, 0) AS offset, e.dur_ns, e.queue_ns, e.err, e.flags, e.arg, e.op, e.sub,
       p.pid, p.comm AS command, p.ppid, p.cmdline, p.container, f.path, f.ino, f.dev AS file_dev
FROM ask CROSS JOIN v_stream_clock c CROSS JOIN event e ON e.run = ask.run CROSS JOIN v_stream_op o ON o.id = e.kind
LEFT JOIN process p ON p.run = e.run AND p.id = e.owner LEFT JOIN file f ON f.run = e.run AND f.id = e.file
WHERE e.owner IS NULL OR e.owner > 2;

-- Words of flags, joined by |; NULL: none.
CREATE TEMP TABLE v_stream_flag(flags INTEGER PRIMARY KEY, words TEXT);
INSERT INTO temp.v_stream_flag
WITH used AS (SELECT DISTINCT e.flags FROM ask JOIN event e ON e.run = ask.run WHERE e.flags)
SELECT u.flags, (SELECT group_concat(f.name, '|')
                 FROM (SELECT name FROM flag WHERE u.flags & id ORDER BY id) f) AS words
FROM used u;

-- Stream fs: calls on files and names. Sockets, pipes, devices of characters and pseudo files are left out. sendfile
-- is a row of its source, copy_file_range of its target, splice of its side that is no pipe. return_value: bytes, or
-- the negative errno; NULL of an open that succeeded, whose descriptor is not recorded, as an address is not.
CREATE TEMP VIEW v_stream_fs AS
SELECT e.timestamp,
       CASE WHEN e.operation IN ('READ', 'WRITE') AND e.flags & (SELECT id FROM flag WHERE name = 'DIRECT')
            THEN 'DIO_' || e.operation ELSE e.operation END AS operation,
       e.pid, e.tid, e.command, e.path AS filename, COALESCE(e.size, 0) AS size, e.offset,
       COALESCE(e.bytes, 0) AS bytes_completed, e.ino AS inode, devno(e.file_dev) AS device,
       COALESCE(iif(e.kind <> 'mmap', e.arg, NULL), w.words) AS flags, e.dur_ns AS duration_ns,
       CASE WHEN e.err THEN -e.err WHEN e.kind NOT IN ('open', 'mmap', 'mremap') THEN COALESCE(e.bytes, 0)
            END AS return_value,
       COALESCE(e.err, 0) AS errno, iif(e.kind = 'mmap', e.op, NULL) AS mmap_prot,
       iif(e.kind = 'mmap', e.arg, NULL) AS mmap_flags, NULL AS address, e.cmdline, e.ppid,
       e.container AS container_id, d.fs AS fs_type, e.mono_ns
FROM ask CROSS JOIN v_stream_event e LEFT JOIN device d ON d.run = ask.run AND d.dev = e.file_dev
LEFT JOIN v_stream_flag w ON w.flags = e.flags
WHERE e.stream = 'fs'
  AND COALESCE(e.sub, 0) NOT IN (SELECT id FROM sub WHERE name IN ('socket', 'pipe', 'chardev', 'pseudo', 'other'));

-- Stream block: one row a request, at its completion. pid, command and ppid are the owner's, tid is the thread that
-- gave the request to the device. bytes of flushes, discards and zeroes are none: size is their range.
-- device: the partition that the request was submitted to, else the disk.
-- command_flags: REQ_ bits are recorded as words, in flags. request_id: number of the event in the store.
CREATE TEMP VIEW v_stream_block AS
SELECT e.timestamp, e.operation, e.pid, e.tid, e.command, e.offset / 512 AS sector,
       COALESCE(e.size, e.bytes, 0) AS size,
       round(e.dur_ns / 1e6, 6) AS latency_ms, devno(COALESCE(e.arg, e.dev)) AS device, w.words AS flags,
       COALESCE(e.cpu, 0) AS cpu_id,
       e.ppid, round(e.queue_ns / 1e6, 6) AS queue_latency_ms, NULL AS command_flags,
       COALESCE(e.code, e.op) AS operation_code, e.number AS request_id, e.mono_ns
FROM v_stream_event e LEFT JOIN v_stream_flag w ON w.flags = e.flags WHERE e.stream = 'block';

-- Stream cache: events of the page cache (--layers cache). A page has 4096 bytes here; count: pages of the event.
CREATE TEMP VIEW v_stream_cache AS
SELECT e.timestamp, e.pid, e.command, e.operation AS event_type, e.ino AS inode, e.offset / 4096 AS page_index,
       (COALESCE(e.size, e.bytes, 0) + 4095) / 4096 AS size_pages, COALESCE(e.cpu, 0) AS cpu_id,
       devno(e.file_dev) AS device_id, (COALESCE(e.size, e.bytes, 0) + 4095) / 4096 AS count, e.mono_ns
FROM v_stream_event e WHERE e.stream = 'cache';

-- Stream pagefault: faults of mapped files (--layers cache). The address in memory is not recorded.
CREATE TEMP VIEW v_stream_pagefault AS
SELECT e.timestamp, e.pid, e.tid, e.command, iif(e.op, 'WRITE', 'READ') AS fault_type, e.operation AS severity,
       e.ino AS inode, e.offset, NULL AS address, devno(e.file_dev) AS dev_id
FROM v_stream_event e WHERE e.stream = 'pagefault';

-- Flows by owner and ports. n: flows that have them; where there are several, a row has the ports alone.
CREATE TEMP VIEW v_stream_flow AS
SELECT f.owner, f.local_port * 65536 + COALESCE(f.remote_port, 0) AS ports, COUNT(*) AS n, MIN(f.protocol) AS protocol,
       MIN(f.family) AS family, MIN(f.local) AS local, MIN(f.remote) AS remote
FROM ask JOIN flow f ON f.run = ask.run GROUP BY 1, 2;

-- Stream nw: payload that calls on sockets moved. Direction send: source is the own address. Addresses are those of
-- the flow that has the owner and the ports; NULL where several have.
CREATE TEMP TABLE v_stream_flows AS SELECT * FROM v_stream_flow WHERE n = 1;
CREATE INDEX temp.v_stream_flows_key ON v_stream_flows(owner, ports);
CREATE TEMP VIEW v_stream_nw AS
WITH e AS (SELECT e.*, e.operation = 'send' AS out, e.offset / 65536 AS own, e.offset % 65536 AS peer
           FROM v_stream_event e WHERE e.stream = 'nw')
SELECT e.timestamp, e.pid, e.command, upper(f.protocol) AS protocol,
       iif(f.family = 'ipv6', 6, iif(f.n, 4, NULL)) AS ip_version,
       iif(e.out, f.local, f.remote) AS source_addr, iif(e.out, f.remote, f.local) AS dest_addr,
       iif(e.out, e.own, e.peer) AS source_port, iif(e.out, e.peer, e.own) AS dest_port, COALESCE(e.bytes, 0) AS size,
       e.operation AS direction, e.dur_ns AS latency_ns, COALESCE(e.err, 0) AS error_code, e.arg AS msg_flags
FROM e LEFT JOIN v_stream_flows f ON f.owner = e.owner AND f.ports = e.offset;

-- Stream nw_conn: the life of sockets (--layers net). Descriptors and types of sockets are not recorded.
CREATE TEMP VIEW v_stream_nw_conn AS
SELECT e.timestamp, e.operation AS event_type, e.pid, e.tid, e.command, NULL AS domain, NULL AS sock_type,
       iif(f.family = 'ipv6', 6, iif(f.n, 4, NULL)) AS ipver, f.local AS local_addr, f.remote AS remote_addr,
       NULLIF(e.offset / 65536, 0) AS sport, NULLIF(e.offset % 65536, 0) AS dport, NULL AS fd,
       iif(e.kind = 'listen', e.arg, NULL) AS backlog, iif(e.kind = 'shutdown', e.arg, NULL) AS shutdown_how,
       e.dur_ns AS latency_ns, -COALESCE(e.err, 0) AS return_value, e.mono_ns
FROM v_stream_event e LEFT JOIN v_stream_flows f ON f.owner = e.owner AND f.ports = e.offset
WHERE e.stream = 'nw_conn';

-- Stream nw_epoll: waits for descriptors (--layers net). max_events: what the call had room for, ready_count: what it
-- returned. Descriptors and time-outs are not recorded.
CREATE TEMP VIEW v_stream_nw_epoll AS
SELECT e.timestamp, e.operation AS event_type, e.pid, e.tid, e.command, NULL AS epoll_fd, NULL AS target_fd,
       iif(e.kind = 'epoll_ctl', e.op, NULL) AS operation, iif(e.kind = 'epoll_ctl', e.arg, NULL) AS event_mask,
       iif(e.kind IN ('epoll_wait', 'poll', 'select'), e.size, NULL) AS max_events,
       iif(e.kind IN ('epoll_wait', 'poll', 'select'), COALESCE(e.bytes, 0), NULL) AS ready_count, NULL AS timeout,
       e.dur_ns AS latency_ns
FROM v_stream_event e WHERE e.stream = 'nw_epoll';

-- Stream nw_sockopt: options of sockets (--layers net). Values of options are not recorded.
CREATE TEMP VIEW v_stream_nw_sockopt AS
SELECT e.timestamp, e.operation AS event_type, e.pid, e.command, NULL AS fd, e.op AS level, e.arg AS option_name,
       NULL AS optval, -COALESCE(e.err, 0) AS return_value, e.mono_ns
FROM v_stream_event e WHERE e.stream = 'nw_sockopt';

-- Stream nw_drop: packets that the kernel dropped, and segments that TCP sent again (--layers net).
CREATE TEMP VIEW v_stream_nw_drop AS
SELECT e.timestamp, e.operation AS event_type, e.pid, e.command, upper(f.protocol) AS proto,
       iif(f.family = 'ipv6', 6, iif(f.n, 4, NULL)) AS ipver, f.local AS src_addr, f.remote AS dst_addr,
       NULLIF(e.offset / 65536, 0) AS sport, NULLIF(e.offset % 65536, 0) AS dport, COALESCE(e.size, e.bytes) AS skb_len,
       iif(e.kind = 'net_drop', e.op, NULL) AS drop_reason, NULL AS tcp_state, e.mono_ns
FROM v_stream_event e LEFT JOIN v_stream_flows f ON f.owner = e.owner AND f.ports = e.offset
WHERE e.stream = 'nw_drop';

-- Stream iouring: requests of io_uring, from submission to completion. opcode: the number within the kernel's enum
-- io_uring_op where it was recorded, else the kind. Descriptors are not recorded.
CREATE TEMP VIEW v_stream_iouring AS
SELECT datetime((c.wall_ns + e.ts_ns) / 1000000000 + c.utc_offset_s, 'unixepoch')
           || printf('.%09d', (c.wall_ns + e.ts_ns) % 1000000000) AS timestamp,
       p.pid, p.comm AS command, COALESCE(e.op, k.kind) AS opcode, NULL AS fd, COALESCE(e.offset, 0) AS offset,
       COALESCE(e.size, 0) AS len, iif(e.err, -e.err, COALESCE(e.bytes, 0)) AS result,
       round(e.dur_ns / 1e6, 6) AS latency_ms, f.ino AS inode
FROM ask CROSS JOIN v_stream_clock c CROSS JOIN event e ON e.run = ask.run
CROSS JOIN v_kind k ON k.id = e.kind AND k.layer = 'uring'
LEFT JOIN process p ON p.run = e.run AND p.id = e.owner LEFT JOIN file f ON f.run = e.run AND f.id = e.file
WHERE e.owner IS NULL OR e.owner > 2;
