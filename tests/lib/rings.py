# SPDX-License-Identifier: GPL-3.0-only
"""rings.py - requests of io_uring and libaio for scenes of tests, without their libraries.

Ring() is a ring: q() and its like put a request into it, go() submits all of them by one call and gives their results in that order; submit()
does not wait, wait() waits for those with these numbers. aio([(fd, offset, length, flags[, address]), ...]) is one io_submit of several writes,
and gives their results; with PWRITEV length counts vectors. over() has another process leave a file dirty, want() says what the device has to get of a file, and on whose behalf.
"""
import ctypes
import errno
import mmap
import os
import struct

FSYNC, WRITE_FIXED, LINK_TIMEOUT, FALLOCATE, READ, WRITE, FTRUNCATE = 3, 5, 15, 17, 22, 23, 55  # IORING_OP_
FIXED, DRAIN, LINK, HARDLINK, ASYNC, SKIP = 1, 2, 4, 8, 16, 64                                  # IOSQE_
SQPOLL, CQSIZE, SQE128, CQE32, SINGLE, DEFER = 2, 8, 1024, 2048, 4096, 8192                     # IORING_SETUP_
NEEDS_WAIT, WAKE = 1, 2                                                                         # IORING_ENTER_
RWF_DSYNC, RWF_SYNC = 2, 4
PWRITE, PWRITEV = 1, 8  # IOCB_CMD_
DESTROY, SETUP, SUBMIT, GETEVENTS, RING_SETUP, RING_ENTER, RING_REGISTER = 207, 206, 209, 208, 425, 426, 427
PAGE, REFUSED = 4096, -errno.EFAULT
NOWHERE = 4096  # an address without memory

libc = ctypes.CDLL(None, use_errno=True)
memory = mmap.mmap(-1, 1 << 20)
memory[:] = b"x" * (1 << 20)


def address(area):
    return ctypes.addressof(ctypes.c_char.from_buffer(area))


def call(*args):
    got = libc.syscall(*args)
    if got < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return got


class Ring:
    def __init__(self, entries=32, flags=0, cq=0):
        p = bytearray(120)
        struct.pack_into("5I", p, 0, 0, cq, flags | (CQSIZE if cq else 0), 0, 50)
        self.fd = call(RING_SETUP, entries, (ctypes.c_char * 120).from_buffer(p))
        self.sq, self.cq = struct.unpack_from("10I", p, 40), struct.unpack_from("10I", p, 80)
        self.entry, self.end = 128 if flags & SQE128 else 64, 32 if flags & CQE32 else 16
        n, ends = struct.unpack_from("2I", p, 0)
        self.ring = mmap.mmap(self.fd, max(self.sq[6] + n * 4, self.cq[5] + ends * self.end), offset=0)
        self.sqes = mmap.mmap(self.fd, n * self.entry, offset=0x10000000)
        self.enter = (WAKE if flags & SQPOLL else 0) | (NEEDS_WAIT if flags & DEFER else 0)
        self.waiting = self.number = 0
        self.results = {}

    def word(self, at):
        return struct.unpack_from("I", self.ring, at)[0]

    def q(self, opcode, fd, offset=0, length=0, flags=0, area=memory, at=0, rw=0, where=None):
        """area, at, or where: where in memory its bytes are."""
        tail = self.word(self.sq[1])
        n = tail & self.word(self.sq[2])
        where = where if where is not None else address(area) + at if length else 0
        offset &= (1 << 64) - 1
        struct.pack_into("<BBHiQQIIQ24x", self.sqes, n * self.entry, opcode, flags, 0, fd, offset, where, length, rw, self.number)
        struct.pack_into("I", self.ring, self.sq[6] + n * 4, n)
        struct.pack_into("I", self.ring, self.sq[1], tail + 1)
        self.waiting += 1
        self.number += 1

    def submit(self):
        n, self.waiting = self.waiting, 0
        call(RING_ENTER, self.fd, n, 0, self.enter, None, 0)

    def reap(self):
        while (head := self.word(self.cq[0])) != self.word(self.cq[1]):
            which, result = struct.unpack_from("Qi", self.ring, self.cq[5] + (head & self.word(self.cq[2])) * self.end)
            struct.pack_into("I", self.ring, self.cq[0], head + 1)
            self.results[which] = result

    def wait(self, numbers):
        self.reap()
        while not all(n in self.results for n in numbers):
            call(RING_ENTER, self.fd, 0, 1, self.enter | NEEDS_WAIT, None, 0)
            self.reap()
        return [self.results.pop(n) for n in numbers]

    def go(self):
        first = self.number - self.waiting
        self.submit()
        return self.wait(range(first, self.number))

    def register(self, what, arg, n):
        return call(RING_REGISTER, self.fd, what, arg, n)


def aio(writes, opcode=PWRITE):
    n, context = len(writes), ctypes.c_uint64(0)
    events = ctypes.create_string_buffer(n * 32)
    blocks = [ctypes.create_string_buffer(struct.pack("QIiHhIQQqQII", i, 0, flags, opcode, 0, fd, *(where or [address(memory)]), length, offset, 0, 0, 0))
              for i, (fd, offset, length, flags, *where) in enumerate(writes)]
    call(SETUP, n, ctypes.byref(context))
    if call(SUBMIT, context, ctypes.c_long(n), (ctypes.c_void_p * n)(*map(ctypes.addressof, blocks))) != n:
        raise OSError("io_submit took less")
    call(GETEVENTS, context, ctypes.c_long(n), ctypes.c_long(n), events, None)
    call(DESTROY, context)
    results = dict(struct.unpack_from("Q8xq", events, 32 * i) for i in range(n))
    return [results[i] for i in range(n)]


# ---- whose it is

def opened(name, *flags):
    """A file in the current folder, opened with each of these flags."""
    fds = [os.open(name, os.O_RDWR | os.O_CREAT | f) for f in flags or (0,)]
    return fds if len(fds) > 1 else fds[0]


def child(what):
    """Another process does that; gives its number."""
    pid = os.fork()
    if not pid:
        try:
            what()
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0
    return pid


def over(name, pages=32):
    """A file whose blocks are on the device, and whose pages another process has dirtied."""
    fd = opened(name)
    os.pwrite(fd, bytes(pages * PAGE), 0)
    os.fsync(fd)
    child(lambda: os.pwrite(fd, bytes(pages * PAGE), 0))
    want(name, pages)
    return fd


def want(name, pages, pid=0):
    """The device gets so many pages of the file on behalf of a process, 0 this one."""
    with open(os.environ["WANT"], "a") as f:
        f.write("%s %d %d\n" % (os.path.abspath(name), pid or os.getpid(), pages * PAGE))
