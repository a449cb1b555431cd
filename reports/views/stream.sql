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
       ('send_call', 'nw', 'send', NULL), ('recv_call', 'nw', 'receive', NULL),
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
       COALESCE(e.offset, 0) AS offset, COALESCE(e.offset, 0) >> 16 & 65535 AS own_port,
       COALESCE(e.offset, 0) & 65535 AS peer_port, e.ts_ns, e.kind AS kind_id, e.dur_ns, e.queue_ns, e.err,
       e.flags, e.arg, e.op, e.sub,
       p.pid, p.comm AS command, p.ppid, p.cmdline, p.container,
       COALESCE(x.path, f.path) || COALESCE(' -> ' || x.path2, '') AS path, f.ino, f.dev AS file_dev
FROM ask CROSS JOIN v_stream_clock c CROSS JOIN event e ON e.run = ask.run CROSS JOIN v_stream_op o ON o.id = e.kind
LEFT JOIN process p ON p.run = e.run AND p.id = e.owner LEFT JOIN file f ON f.run = e.run AND f.id = e.file
LEFT JOIN event_path x ON x.run = e.run AND x.ts_ns = e.ts_ns AND x.tid = e.tid
WHERE e.owner IS NULL OR e.owner > 2;

-- Words of the arguments of calls, by kind, joined by |; a number of a kind without names has none. prot: of mmap.
CREATE TEMP TABLE v_stream_word(kind_id INTEGER, arg INTEGER, op INTEGER, arg_words TEXT, op_words TEXT,
                                PRIMARY KEY(kind_id, arg, op)) WITHOUT ROWID;
INSERT INTO temp.v_stream_word
WITH used AS (SELECT DISTINCT e.kind, COALESCE(e.arg, 0) AS arg, COALESCE(e.op, 0) AS op FROM ask
              JOIN event e ON e.run = ask.run WHERE e.kind IN (SELECT kind FROM arg_name)),
     word AS (
       SELECT u.kind, u.arg, u.op, n.field, group_concat(n.name, '|') AS words
       FROM used u JOIN arg_name n ON n.kind = u.kind AND iif(n.field = 'op', u.op, u.arg) & n.mask = n.value
       GROUP BY u.kind, u.arg, u.op, n.field)
SELECT kind, arg, op, MAX(words) FILTER (WHERE field = 'arg'), MAX(words) FILTER (WHERE field = 'op')
FROM word GROUP BY kind, arg, op;

-- Words of flags, joined by |; NULL: none.
CREATE TEMP TABLE v_stream_flag(flags INTEGER PRIMARY KEY, words TEXT);
INSERT INTO temp.v_stream_flag
WITH used AS (SELECT DISTINCT e.flags FROM ask JOIN event e ON e.run = ask.run WHERE e.flags)
SELECT u.flags, (SELECT group_concat(f.name, '|')
                 FROM (SELECT name FROM flag WHERE u.flags & id ORDER BY id) f) AS words
FROM used u;

-- Stream fs: calls on files and names. Sockets, pipes, devices of characters and pseudo files are left out. sendfile
-- is a row of its source, copy_file_range of its target, splice of its side that is no pipe. return_value: bytes, or
-- the negative errno; NULL of an open that succeeded, whose descriptor is not recorded, as an address is not. Where
-- layer vfs was whole, filename is what the call was given, with -> between two names, and flags are those of the call
-- in words.
CREATE TEMP VIEW v_stream_fs AS
SELECT e.timestamp,
       CASE WHEN e.operation IN ('READ', 'WRITE') AND e.flags & (SELECT id FROM flag WHERE name = 'DIRECT')
            THEN 'DIO_' || e.operation ELSE e.operation END AS operation,
       e.pid, e.tid, e.command, e.path AS filename, COALESCE(e.size, 0) AS size, e.offset,
       COALESCE(e.bytes, 0) AS bytes_completed, e.ino AS inode, devno(e.file_dev) AS device,
       COALESCE(iif(e.kind <> 'mmap', COALESCE(n.arg_words, e.arg), NULL), w.words) AS flags, e.dur_ns AS duration_ns,
       CASE WHEN e.err THEN -e.err WHEN e.kind NOT IN ('open', 'mmap', 'mremap') THEN COALESCE(e.bytes, 0)
            END AS return_value,
       COALESCE(e.err, 0) AS errno, iif(e.kind = 'mmap' AND e.arg, n.op_words, NULL) AS mmap_prot,
       iif(e.kind = 'mmap' AND e.arg, n.arg_words, NULL) AS mmap_flags, NULL AS address, e.cmdline, e.ppid,
       e.container AS container_id, d.fs AS fs_type, e.mono_ns
FROM ask CROSS JOIN v_stream_event e LEFT JOIN device d ON d.run = ask.run AND d.dev = e.file_dev
LEFT JOIN v_stream_flag w ON w.flags = e.flags
LEFT JOIN v_stream_word n ON e.arg IS NOT NULL AND n.kind_id = e.kind_id AND n.arg = e.arg AND n.op = COALESCE(e.op, 0)
WHERE e.stream = 'fs'
  AND COALESCE(e.sub, 0) NOT IN (SELECT id FROM sub
                                 WHERE name IN ('socket', 'net_unix', 'pipe', 'chardev', 'pseudo', 'other'));

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

-- Flows by owner and field `offset` of their events. n: flows that have them; where there are several, as in stores
-- without numbers of flows, a row has the ports alone.
CREATE TEMP TABLE v_stream_flow AS
WITH f AS (
       SELECT f.owner, (COALESCE(f.id, 0) << 32) + (f.local_port << 16) + COALESCE(f.remote_port, 0) AS offset,
              f.protocol, f.family, f.local, f.remote
       FROM ask JOIN flow f ON f.run = ask.run)
SELECT owner, offset, COUNT(*) AS n, MIN(protocol) AS protocol, MIN(family) AS family, MIN(local) AS local,
       MIN(remote) AS remote
FROM f GROUP BY owner, offset HAVING COUNT(*) = 1;
CREATE INDEX temp.v_stream_flow_key ON v_stream_flow(owner, offset);

-- Calls that send and receive (--layers net), by thread and time: what they moved are events of their own inside.
CREATE TEMP TABLE v_stream_call AS
SELECT e.tid, k.name = 'send_call' AS out, e.ts_ns, e.ts_ns + COALESCE(e.dur_ns, 0) AS end_ns, e.dur_ns,
       COALESCE(e.arg, 0) AS arg, (SELECT n.arg_words FROM v_stream_word n WHERE n.kind_id = e.kind
                                   AND n.arg = COALESCE(e.arg, 0) AND n.op = COALESCE(e.op, 0)) AS words
FROM ask JOIN event e ON e.run = ask.run JOIN kind k ON k.id = e.kind AND k.name IN ('send_call', 'recv_call');
CREATE INDEX temp.v_stream_call_key ON v_stream_call(out, tid, ts_ns);

-- Stream nw: payload that calls on sockets moved, and, where layer net was whole, calls that failed, with size 0.
-- Direction send: source is the own address. Addresses are those of the flow. Latency and flags are those of the call.
CREATE TEMP VIEW v_stream_nw AS
WITH e AS (SELECT e.*, e.operation = 'send' AS out, e.kind IN ('send_call', 'recv_call') AS failed
           FROM v_stream_event e
           WHERE e.stream = 'nw' AND (e.kind IN ('net_send', 'net_recv') OR e.err)),
     c AS (SELECT e.*, iif(e.failed, NULL, (SELECT c.rowid FROM v_stream_call c
                                            WHERE c.out = e.out AND c.tid = e.tid AND c.ts_ns <= e.ts_ns
                                            ORDER BY c.ts_ns DESC LIMIT 1)) AS call FROM e)
SELECT e.timestamp, e.pid, e.command, upper(f.protocol) AS protocol,
       iif(f.family = 'ipv6', 6, iif(f.n, 4, NULL)) AS ip_version,
       iif(e.out, f.local, f.remote) AS source_addr, iif(e.out, f.remote, f.local) AS dest_addr,
       iif(e.out, e.own_port, e.peer_port) AS source_port, iif(e.out, e.peer_port, e.own_port) AS dest_port,
       iif(e.failed, 0, COALESCE(e.bytes, 0)) AS size,
       e.operation AS direction, COALESCE(e.dur_ns, c.dur_ns) AS latency_ns, COALESCE(e.err, 0) AS error_code,
       iif(e.failed, COALESCE(n.arg_words, e.arg), COALESCE(c.words, c.arg)) AS msg_flags
FROM c e LEFT JOIN v_stream_call c ON c.rowid = e.call AND c.end_ns >= e.ts_ns
LEFT JOIN v_stream_word n ON n.kind_id = e.kind_id AND n.arg = COALESCE(e.arg, 0) AND n.op = COALESCE(e.op, 0)
LEFT JOIN v_stream_flow f ON f.owner = e.owner AND f.offset = e.offset;

-- Stream nw_conn: the life of sockets (--layers net). A connection that its call did not wait for has a second row,
-- CONNECT_RESULT. Descriptors are not recorded; domain and type are of SOCKET_CREATE.
CREATE TEMP VIEW v_stream_nw_conn AS
SELECT e.timestamp, e.operation || iif(e.kind = 'connect' AND e.op, '_RESULT', '') AS event_type, e.pid, e.tid,
       e.command, iif(e.kind = 'socket', COALESCE(n.op_words, e.op), NULL) AS domain,
       iif(e.kind = 'socket', COALESCE(n.arg_words, e.arg), NULL) AS sock_type,
       iif(f.family = 'ipv6', 6, iif(f.n, 4, NULL)) AS ipver, f.local AS local_addr, f.remote AS remote_addr,
       NULLIF(e.own_port, 0) AS sport, NULLIF(e.peer_port, 0) AS dport, NULL AS fd,
       iif(e.kind = 'listen', COALESCE(e.arg, 0), NULL) AS backlog,
       iif(e.kind = 'shutdown', COALESCE(n.op_words, e.op), NULL) AS shutdown_how,
       e.dur_ns AS latency_ns, -COALESCE(e.err, 0) AS return_value, e.mono_ns
FROM v_stream_event e LEFT JOIN v_stream_flow f ON f.owner = e.owner AND f.offset = e.offset
LEFT JOIN v_stream_word n ON n.kind_id = e.kind_id AND n.arg = COALESCE(e.arg, 0) AND n.op = COALESCE(e.op, 0)
WHERE e.stream = 'nw_conn';

-- Stream nw_epoll: waits for descriptors (--layers net). max_events: what the call had room for, or the descriptors
-- that it asked for; ready_count: how many were ready; event_mask: what was, or what epoll_ctl(2) asks for. Descriptors
-- and time-outs are not recorded.
CREATE TEMP VIEW v_stream_nw_epoll AS
SELECT e.timestamp, e.operation AS event_type, e.pid, e.tid, e.command, NULL AS epoll_fd, NULL AS target_fd,
       iif(e.kind = 'epoll_ctl', COALESCE(n.op_words, e.op), NULL) AS operation,
       CASE WHEN e.kind = 'epoll_ctl' THEN COALESCE(n.arg_words, e.arg)
            WHEN e.kind <> 'epoll_create' AND e.op THEN COALESCE(n.op_words, e.op) END AS event_mask,
       iif(e.kind IN ('epoll_wait', 'poll', 'select'), COALESCE(e.size, 0), NULL) AS max_events,
       iif(e.kind IN ('epoll_wait', 'poll', 'select'), COALESCE(e.arg, 0), NULL) AS ready_count, NULL AS timeout,
       e.dur_ns AS latency_ns
FROM v_stream_event e
LEFT JOIN v_stream_word n ON n.kind_id = e.kind_id AND n.arg = COALESCE(e.arg, 0) AND n.op = COALESCE(e.op, 0)
WHERE e.stream = 'nw_epoll';

-- Stream nw_sockopt: options of sockets (--layers net), by name where the name is known. Values are not recorded.
CREATE TEMP VIEW v_stream_nw_sockopt AS
SELECT e.timestamp, e.operation AS event_type, e.pid, e.command, NULL AS fd,
       COALESCE(n.op_words, e.arg >> 16) AS level, COALESCE(n.arg_words, e.arg & 65535) AS option_name,
       NULL AS optval, -COALESCE(e.err, 0) AS return_value, e.mono_ns
FROM v_stream_event e
LEFT JOIN v_stream_word n ON n.kind_id = e.kind_id AND n.arg = COALESCE(e.arg, 0) AND n.op = COALESCE(e.op, 0)
WHERE e.stream = 'nw_sockopt';

-- Stream nw_drop: packets that the kernel dropped, and segments that TCP sent again (--layers net). drop_reason: by the
-- kernel's name; of TCP_RETRANSMIT that of the drop of its earlier copy, NULL where none was seen on this host.
CREATE TEMP VIEW v_stream_nw_drop AS
SELECT e.timestamp, e.operation AS event_type, e.pid, e.command, upper(f.protocol) AS proto,
       iif(f.family = 'ipv6', 6, iif(f.n, 4, NULL)) AS ipver, f.local AS src_addr, f.remote AS dst_addr,
       NULLIF(e.own_port, 0) AS sport, NULLIF(e.peer_port, 0) AS dport, COALESCE(e.size, e.bytes) AS skb_len,
       iif(e.kind = 'net_drop' OR e.op,
           COALESCE((SELECT o.name FROM ask JOIN op_name o ON o.run = ask.run
                     WHERE o.scope = 'drop' AND o.op = COALESCE(e.op, 0)), e.op), NULL) AS drop_reason,
       iif(e.kind = 'retransmit', COALESCE(n.arg_words, e.arg), NULL) AS tcp_state, e.mono_ns
FROM v_stream_event e LEFT JOIN v_stream_flow f ON f.owner = e.owner AND f.offset = e.offset
LEFT JOIN v_stream_word n ON n.kind_id = e.kind_id AND n.arg = COALESCE(e.arg, 0) AND n.op = COALESCE(e.op, 0)
WHERE e.stream = 'nw_drop';

-- Stream iouring: requests of io_uring, from submission to completion. opcode: the kernel's name where it was recorded,
-- else the kind. Descriptors are not recorded.
CREATE TEMP VIEW v_stream_iouring AS
SELECT datetime((c.wall_ns + e.ts_ns) / 1000000000 + c.utc_offset_s, 'unixepoch')
           || printf('.%09d', (c.wall_ns + e.ts_ns) % 1000000000) AS timestamp,
       p.pid, p.comm AS command, COALESCE((SELECT o.name FROM op_name o WHERE o.run = e.run AND o.scope = 'uring'
                                             AND o.op = COALESCE(e.op, 0)), k.kind) AS opcode, NULL AS fd,
       COALESCE(e.offset, 0) AS offset,
       COALESCE(e.size, 0) AS len, iif(e.err, -e.err, COALESCE(e.bytes, 0)) AS result,
       round(e.dur_ns / 1e6, 6) AS latency_ms, f.ino AS inode
FROM ask CROSS JOIN v_stream_clock c CROSS JOIN event e ON e.run = ask.run
CROSS JOIN v_kind k ON k.id = e.kind AND k.layer = 'uring'
LEFT JOIN process p ON p.run = e.run AND p.id = e.owner LEFT JOIN file f ON f.run = e.run AND f.id = e.file
WHERE e.owner IS NULL OR e.owner > 2;
