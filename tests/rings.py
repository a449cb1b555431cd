# SPDX-License-Identifier: GPL-3.0-only
"""rings.py - requests of io_uring and libaio for scenes of tests, without their libraries.

Ring() is a ring: q() and its like put a request into it, go() submits all of them by one call and gives their results in that order.
aio([(fd, offset, length, flags), ...]) is one io_submit of several writes, and gives their results.
"""
import ctypes
import mmap
import os
import struct

FSYNC, READ, WRITE = 3, 22, 23          # IORING_OP_
LINK, ASYNC = 4, 16                     # IOSQE_
RWF_DSYNC, RWF_SYNC = 2, 4
SETUP, SUBMIT, GETEVENTS, RING_SETUP, RING_ENTER = 206, 209, 208, 425, 426

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
    def __init__(self, entries=32):
        p = bytearray(120)
        self.fd = call(RING_SETUP, entries, (ctypes.c_char * 120).from_buffer(p))
        self.sq, self.cq = struct.unpack_from("10I", p, 40), struct.unpack_from("10I", p, 80)
        size = max(self.sq[6] + struct.unpack_from("I", p, 0)[0] * 4, self.cq[5] + struct.unpack_from("I", p, 4)[0] * 16)
        self.ring = mmap.mmap(self.fd, size, offset=0)
        self.sqes = mmap.mmap(self.fd, struct.unpack_from("I", p, 0)[0] * 64, offset=0x10000000)
        self.waiting = 0

    def word(self, at):
        return struct.unpack_from("I", self.ring, at)[0]

    def q(self, opcode, fd, offset=0, length=0, flags=0, area=memory, at=0, rw=0):
        """area, at: where in memory its bytes are."""
        tail = self.word(self.sq[1])
        n = tail & self.word(self.sq[2])
        where = address(area) + at if length else 0
        struct.pack_into("<BBHiQQIIQ24x", self.sqes, n * 64, opcode, flags, 0, fd, offset, where, length, rw, self.waiting)
        struct.pack_into("I", self.ring, self.sq[6] + n * 4, n)
        struct.pack_into("I", self.ring, self.sq[1], tail + 1)
        self.waiting += 1

    def go(self):
        n, results = self.waiting, {}
        self.waiting = 0
        call(RING_ENTER, self.fd, n, n, 1, None, 0)
        while len(results) < n:
            head = self.word(self.cq[0])
            if head == self.word(self.cq[1]):
                call(RING_ENTER, self.fd, 0, 1, 1, None, 0)
                continue
            which, result = struct.unpack_from("Qi", self.ring, self.cq[5] + (head & self.word(self.cq[2])) * 16)
            struct.pack_into("I", self.ring, self.cq[0], head + 1)
            results[which] = result
        return [results[i] for i in range(n)]


def aio(writes):
    n, context = len(writes), ctypes.c_uint64(0)
    events = ctypes.create_string_buffer(n * 32)
    blocks = [ctypes.create_string_buffer(struct.pack("QIiHhIQQqQII", i, 0, flags, 1, 0, fd, address(memory), length, offset, 0, 0, 0))
              for i, (fd, offset, length, flags) in enumerate(writes)]
    call(SETUP, n, ctypes.byref(context))
    if call(SUBMIT, context, ctypes.c_long(n), (ctypes.c_void_p * n)(*map(ctypes.addressof, blocks))) != n:
        raise OSError("io_submit took less")
    call(GETEVENTS, context, ctypes.c_long(n), ctypes.c_long(n), events, None)
    results = dict(struct.unpack_from("Q8xq", events, 32 * i) for i in range(n))
    return [results[i] for i in range(n)]
