#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-only
"""gen-run.py - writes a synthetic run of about N events as JSON Lines to standard output.

usage: gen-run.py [N] [--seed S] [--no-events] [--no-end] [--uuid TEXT] [--systems] [--processes P]

The run is one that adds up: a few processes write files on one ext4-like loop device and sync them; every block
that a write dirties is submitted once (fs_write, cause data) and completed once (block_write); each sync is one
journal commit of 12 KiB; the aggregates are the sums of the events, the truth records are the sums of the device
bytes. The same arguments give the same bytes.
"""
import argparse
import os
import random
import re
import sys

BLOCK = 4096
DEV = "7:0"

parser = argparse.ArgumentParser(description="write a synthetic run as JSON Lines")
parser.add_argument("n", nargs="?", type=int, default=1000)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--uuid", default=None)
parser.add_argument("--no-events", action="store_true", help="aggregates only")
parser.add_argument("--no-end", action="store_true", help="leave the run incomplete")
parser.add_argument("--systems", action="store_true", help="give each process a storage system")
parser.add_argument("--processes", type=int, default=5, help="so many, and as many files where they are more than 40")
args = parser.parse_args()

rnd = random.Random(args.seed)
put = sys.stdout.write
uuid = args.uuid or "%08x-0000-4000-8000-%012x" % (args.seed, args.n)
comms = ("postgres", "etcd", "minio", "ceph-osd", "dd")
systems = ("postgresql", "etcd", "minio", "ceph", None)
procs = range(3, 3 + args.processes)
files = max(40, args.processes)

put('{"t":"run","schema":5,"uuid":"%s","label":"synthetic","host":"node1","kernel":"6.1.0-18-amd64","machine":"x86_64",'
    '"cpus":2,"tool":"0.1","command":"gen-run","layers":"syscall,uring,vfs,cache,fs,block","tier":"full","events":%d,'
    '"settle":"sync","wall_ns":1764000000000018613,"boot_ns":86400000000001,"utc_offset_s":3600,"map_bytes":67108864,'
    '"attach_ns":412000000}\n' % (uuid, 0 if args.no_events else 1))
put('{"t":"probe","name":"block__queue","layer":"block","target":"tp_btf/block_bio_queue","chosen":1}\n')
put('{"t":"probe","name":"vfs__read","layer":"vfs","target":"fentry/vfs_read","chosen":0,"reason":"EPERM"}\n')
put('{"t":"device","dev":"%s","name":"loop0","type":"loop","leaf":1,"parent":"254:0","rotational":0,"size":1073741824,'
    '"fs":"ext4","options":"rw,relatime","mount":"/mnt/iot"}\n' % DEV)
put('{"t":"device","dev":"254:0","name":"vda","type":"disk","leaf":1,"rotational":0,"size":274877906944}\n')
put('{"t":"process","id":1,"pid":900,"start_ns":1000,"comm":"iot-trace","kthread":0}\n')
for p in procs:
    i = (p - 3) % len(comms)
    system = ',"system":"%s","role":"server","matched":"comm"' % systems[i] if args.systems and systems[i] else ""
    put('{"t":"process","id":%d,"pid":%d,"start_ns":%d,"ppid":1,"comm":"%s","exe":"/usr/bin/%s","cmdline":"%s -D /data",'
        '"cgroup":"/system.slice/%s.service","kthread":0%s}\n' % (p, 1000 + p, 5000 + p, comms[i], comms[i], comms[i], comms[i], system))
kworker, jbd2 = 3 + args.processes, 4 + args.processes
put('{"t":"process","id":%d,"pid":40,"start_ns":10,"comm":"kworker/u4:1","kthread":1}\n' % kworker)
put('{"t":"process","id":%d,"pid":41,"start_ns":11,"comm":"jbd2/loop0-8","kthread":1}\n' % jbd2)
for f in range(1, files + 1):
    component = ',"component":"%s"' % ("wal" if f % 4 == 1 else "data") if args.systems else ""
    put('{"t":"file","id":%d,"dev":"%s","ino":%d,"gen":%d,"path":"/mnt/iot/dir%d/file%d"%s}\n'
        % (f, DEV, 100 + f, 7000 + f, f % 4, f, component))

# of each kind, and of each owner, on every event line
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bpf/kinds.def")) as table:
    LAYERS = {m[2]: m[1].lower() for m in re.finditer(r'^KIND\(\w+,\s*(\w+),\s*"([^"]+)"', table.read(), re.M)}
system_of = {p: ',"system":"%s"' % systems[(p - 3) % len(comms)] for p in procs if args.systems and systems[(p - 3) % len(comms)]}

count, sec, device_bytes, device_ops = 0, 0, 0, 0
now = 1000000
cells, top, buckets, lines, sums = {}, {}, {}, [], {}
SUMS = ("read_ops", "read_bytes", "write_ops", "write_bytes", "sync_ops", "fs_read_bytes", "fs_write_bytes", "dev_read_bytes", "dev_write_bytes")
ADDS = {"pread64": (0, 1), "pwrite64": (2, 3), "fdatasync": (4,), "fs_write": (6,), "block_write": (8,)}


def bucket(v):
    if v < 8:
        return v
    o = v.bit_length() - 1
    return min((o - 2) * 8 + ((v >> (o - 3)) & 7), 303)


def low(b):
    return b if b < 8 else (8 + b % 8) << (b // 8 - 1)


def event(ts, dur, kind, owner, task=None, queue=0, offset=0, nbytes=0, file=0, flags=0, cause="none", how="none",
          sub="none", dev=DEV, touched=0):
    global count
    count += 1
    # a thread of the kernel runs what it does for another
    carrier = ("jbd2" if cause == "journal" else "writeback" if task and task != owner else "itself") if kind[:3] in ("fs_", "blo") else ""
    key = (kind, owner, dev, cause, how, sub, carrier, flags & 33)
    c = cells.get(key)
    if c is None:
        c = cells[key] = [0, 0, 0, 0, 0, 0]
    t = top[key] = max(top.get(key, 0), dur)
    c[0] += 1
    c[1] += nbytes
    c[2] += touched
    c[3] += dur
    c[4] = t
    c[5] += dur > 0
    if file and kind in ADDS:
        f = sums.setdefault((file, owner), [0] * len(SUMS))
        for i in ADDS[kind]:
            f[i] += 1 if SUMS[i].endswith("ops") else nbytes
    if dur:
        h = (kind, bucket(dur))
        buckets[h] = buckets.get(h, 0) + 1
    if args.no_events:
        return
    s = '{"t":"event","ts_ns":%d' % ts
    if dur:
        s += ',"dur_ns":%d' % dur
    if queue:
        s += ',"queue_ns":%d' % queue
    if offset:
        s += ',"offset":%d' % offset
    if nbytes:
        s += ',"size":%d,"bytes":%d' % (nbytes, nbytes)
    task = task or owner
    s += ',"task":%d,"tid":%d' % (task, 1000 + task)
    if owner:
        s += ',"owner":%d' % owner
    if file:
        s += ',"file":%d' % file
    s += ',"dev":"%s"' % dev
    if flags:
        s += ',"flags":%d' % flags
    s += ',"cpu":1,"kind":"%s"' % kind if ts & 1 else ',"kind":"%s"' % kind
    s += ',"layer":"%s"' % LAYERS[kind]
    if cause != "none":
        s += ',"cause":"%s"' % cause
    if how != "none":
        s += ',"how":"%s"' % how
    if sub != "none":
        s += ',"sub":"%s"' % sub
    if carrier:
        s += ',"carrier":"%s"' % carrier
    lines.append(s + system_of.get(owner, '') + '}\n')


def second_is_over():
    global sec
    put("".join(lines))
    lines.clear()
    for (kind, owner, dev, cause, how, sub, carrier, flags), c in cells.items():
        put('{"t":"agg","sec":%d,"kind":"%s","owner":%d,"dev":"%s","cause":"%s","how":"%s","sub":"%s"%s,"flags":%d,"ops":%d,'
            '"errors":0,"bytes":%d,"touched":%d,"timed":%d,"lat_ns":%d,"max_ns":%d}\n'
            % (sec, kind, owner, dev, cause, how, sub, ',"carrier":"%s"' % carrier if carrier else "", flags, c[0], c[1], c[2], c[5], c[3], c[4]))
    cells.clear()
    for (file, owner), f in sums.items():
        put('{"t":"file_io","file":%d,"owner":%d,"component":"none",%s}\n' % (file, owner, ",".join('"%s":%d' % p for p in zip(SUMS, f))))
    sums.clear()
    sec += 1


def submit(owner, runner, cause, how, sub, offset, nbytes, file):
    """What a file system submits, and the request that completes it."""
    global device_bytes, device_ops
    event(now, 0, "fs_write", owner, runner, 0, offset, nbytes, file, 0, cause, how, sub)
    dur = 20000 + rnd.randrange(80000)
    event(now + 3000, dur, "block_write", owner, runner, 1500, 1 << 20 | offset, nbytes, file, 2, cause, how, sub)
    device_bytes += nbytes
    device_ops += 1


def round_of_work():
    global now
    p = rnd.choice(procs)
    f = rnd.randrange(1, files + 1)
    dirty = set()
    for _ in range(rnd.randrange(1, 24)):
        now += rnd.randrange(2000, 40000)
        off, n = rnd.randrange(1 << 16) * 512, rnd.choice((512, 4096, 8192, 100, 16384))
        first, last = off // BLOCK, (off + n + BLOCK - 1) // BLOCK
        event(now, 1000 + rnd.randrange(9000), "pwrite64", p, offset=off, nbytes=n, file=f, sub="regular",
              touched=(last - first) * BLOCK)
        dirty.update(range(first, last))
        if rnd.random() < 0.5:
            now += rnd.randrange(1000, 9000)
            event(now, 500 + rnd.randrange(3000), "pread64", p, offset=off, nbytes=n, file=f, sub="regular")
    start = now
    blocks = sorted(dirty)
    while blocks:
        n = 1
        while n < len(blocks) and blocks[n] == blocks[0] + n:
            n += 1
        now += 700
        submit(p, kworker, "data", "inode", "none", blocks[0] * BLOCK, n * BLOCK, f)
        blocks = blocks[n:]
    now += 90000
    for sub in ("descriptor", "inode_table", "commit"):
        submit(p, jbd2, "journal", "transaction", sub, (count & 0xffff) * BLOCK, BLOCK, 0)
    event(now, 150000, "block_flush", p, jbd2, cause="flush", how="exact")
    event(now, 200000, "commit", p, jbd2, how="transaction")
    now += 200000
    event(start, now - start, "fdatasync", p, file=f, sub="regular")


while count < args.n:
    round_of_work()
    if now // 1000000000 > sec:
        second_is_over()
second_is_over()
for (kind, b), n in buckets.items():
    put('{"t":"hist","kind":"%s","bucket":%d,"low_ns":%d,"high_ns":%d,"n":%d}\n' % (kind, b, low(b), low(b + 1), n))
put('{"t":"lost","layer":"block","what":"ring full","effect":"events","n":0}\n')
put('{"t":"truth","source":"/sys/block/loop0/stat","what":"write_bytes","dev":"%s","begin_value":%d,"end_value":%d}\n'
    % (DEV, 1 << 40, (1 << 40) + device_bytes))
put('{"t":"truth","source":"/sys/block/loop0/stat","what":"writes","dev":"%s","begin_value":10,"end_value":%d}\n' % (DEV, 10 + device_ops))
if not args.no_end:
    put('{"t":"end","dur_ns":%d,"status":0,"horizon":"after_sync","dirty_bytes":0,"events":%d,"self_cpu_ns":12000000,'
        '"rss_bytes":20000000}\n' % (now + 1000000, 0 if args.no_events else count))
