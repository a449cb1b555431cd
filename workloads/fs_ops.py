#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-only
"""fs_ops.py - one kind of file-system operation, so many times, each made durable: for fs-bench.sh.

fs_ops.py prepare DIR          what the operations need: a file of 16 MiB, files to rename and to unlink
fs_ops.py OPERATION DIR COUNT  the operation; writes are followed by fsync of the file, changes of names by fsync of the directory
"""
import os
import sys
import time

BLOCK = 4096
FILE_BYTES = 16 << 20
NAMES = 128
DATA = os.urandom(BLOCK)


def sync(path):
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


def write_new(path, data):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(fd, data)
    return fd


def prepare(at):
    fd = os.open(f'{at}/data', os.O_WRONLY | os.O_CREAT, 0o600)
    for _ in range(FILE_BYTES // len(DATA)):
        os.write(fd, DATA)
    os.close(fd)
    os.close(write_new(f'{at}/log', DATA))
    for folder in ('create', 'mkdir', 'rename', 'unlink'):
        os.mkdir(f'{at}/{folder}')
    for n in range(NAMES):
        os.close(write_new(f'{at}/rename/a{n}', DATA))
        os.close(write_new(f'{at}/unlink/{n}', DATA))
    os.sync()


def block_of(n):
    """Blocks in a fixed order that is not sequential: 1031 is prime, so none comes twice."""
    return n * 1031 % (FILE_BYTES // BLOCK) * BLOCK


def overwrite(at, count):
    fd = os.open(f'{at}/data', os.O_WRONLY)
    for n in range(count):
        os.pwrite(fd, os.urandom(BLOCK), block_of(n))
        os.fsync(fd)


def inode_clock():
    """The clock that the kernel takes file times from: it goes on with each tick, at most 10 ms. Python has no name for it."""
    clock_realtime_coarse = 5
    return time.clock_gettime_ns(clock_realtime_coarse)


def overwrite_paced(at, count):
    """A clock tick or more apart, so that each changes the file's time, and so its inode."""
    fd = os.open(f'{at}/data', os.O_WRONLY)
    for n in range(count):
        last = time.time_ns()  # a file's time may be ahead of inode_clock(), where somebody asked for finer ones
        while inode_clock() <= last:
            time.sleep(0.004)
        os.pwrite(fd, os.urandom(BLOCK), block_of(n))
        os.fsync(fd)


def append(at, count):
    fd = os.open(f'{at}/log', os.O_WRONLY | os.O_APPEND)
    for _ in range(count):
        os.write(fd, DATA)
        os.fsync(fd)


def pread(at, count):
    fd = os.open(f'{at}/data', os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    for n in range(count):
        if len(os.pread(fd, BLOCK, block_of(n))) != BLOCK:
            sys.exit('fs_ops.py: short read')


def create(at, count):
    for n in range(count):
        fd = os.open(f'{at}/create/{n}', os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.fsync(fd)
        os.close(fd)


def mkdir(at, count):
    for n in range(count):
        os.mkdir(f'{at}/mkdir/{n}')
        sync(f'{at}/mkdir')


def rename(at, count):
    for n in range(count):
        os.rename(f'{at}/rename/a{n}', f'{at}/rename/b{n}')
        sync(f'{at}/rename')


def unlink(at, count):
    for n in range(count):
        os.unlink(f'{at}/unlink/{n}')
        sync(f'{at}/unlink')


if __name__ == '__main__':
    if sys.argv[1] == 'prepare':
        prepare(sys.argv[2])
    else:
        globals()[sys.argv[1]](sys.argv[2], min(int(sys.argv[3]), NAMES))
