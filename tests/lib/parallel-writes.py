#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-only
"""Four processes of two threads each write parts of blocks of the file f at once, synced, plain and long, beside fdatasync.

usage: parallel-writes.py FOLDER PAGES SIZE,SIZE,...     pages of the file; bytes of the writes, one of which is drawn for each
"""
import os, random, sys, threading
os.chdir(sys.argv[1])
processes, threads, pages, sizes = 4, 2, int(sys.argv[2]), list(map(int, sys.argv[3].split(",")))
size = pages * 4096
def opened(flags=0): return os.open("f", os.O_RDWR | os.O_CREAT | flags)
os.pwrite(opened(), bytes(size), 0)
os.fsync(opened())
def thread(seed):
    r, synced, all_synced, plain = random.Random(seed), opened(os.O_DSYNC), opened(os.O_SYNC), opened()
    for n in range(60):
        data, how = bytes(r.choice(sizes)), r.randrange(5)
        at = r.randrange(size - len(data))
        if how == 2:
            os.pwritev(plain, [data], at, os.RWF_DSYNC)
        else:
            os.pwrite((synced, all_synced, None, plain, plain)[how], data, at)
        if how == 4:
            os.fdatasync(plain)
def process(p):
    all = [threading.Thread(target=thread, args=(10 * p + n,)) for n in range(threads)]
    for t in all: t.start()
    for t in all: t.join()
for p in range(processes):
    if not os.fork():
        process(p)
        os._exit(0)
for p in range(processes):
    assert os.wait()[1] == 0
