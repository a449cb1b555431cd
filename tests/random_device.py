# SPDX-License-Identifier: GPL-3.0-only
"""random_device.py - what is on the device: where the blocks of files are, and which of them were written since they were marked."""
import fcntl
import os
import struct

PAGE = 4096

FS_IOC_FIEMAP, FS_IOC_GETVERSION = 0xC020660B, 0x80087601
EXTENT_UNKNOWN, EXTENT_DELALLOC, EXTENT_INLINE, EXTENT_UNWRITTEN = 2, 4, 0x200, 0x800


def is_xfs():
    return os.path.isdir("/sys/fs/xfs/" + os.path.basename(os.environ["IOT_DEV"]))


class Extent:
    __slots__ = ("page", "at", "pages", "unwritten")

    def __init__(self, page, place, n, unwritten):
        self.page, self.at, self.pages, self.unwritten = page, place, n, unwritten


def extents(fd):
    """Where the file's blocks are on the device."""
    out, start = [], 0
    while True:
        buf = bytearray(struct.pack("=QQIIII", start, (1 << 63) - start, 0, 0, 128, 0) + bytes(56 * 128))
        fcntl.ioctl(fd, FS_IOC_FIEMAP, buf)
        n = struct.unpack_from("=I", buf, 20)[0]
        for i in range(n):
            logical, physical, size, flags = struct.unpack_from("=QQQ16xI", buf, 32 + 56 * i)
            start = logical + size
            if not flags & (EXTENT_UNKNOWN | EXTENT_DELALLOC | EXTENT_INLINE):
                out.append(Extent(logical // PAGE, physical, size // PAGE, bool(flags & EXTENT_UNWRITTEN)))
            if flags & 1:
                return out
        if not n:
            return out


class Image:
    """What is behind the loop device. The pattern has another number each time: a block that was read with an older one
    and is written again shows."""

    def __init__(self, path):
        self.fd = os.open(path, os.O_RDWR)
        self.number = 0

    def pattern(self, number):
        # no byte is one that workers write, which are letters: a write of one byte would leave the pattern
        return struct.pack("=Q", 0xF1E2D3C480808080 | sum((number >> 7 * i & 0x7f) << 8 * i for i in range(4))) * (PAGE // 8)

    def touched(self, e, number):
        """Pages of an extent that were written since they were marked."""
        one = self.pattern(number)
        now = os.pread(self.fd, e.pages * PAGE, e.at)
        if now == one * e.pages:
            return set()
        return {e.page + i for i in range(e.pages) if now[i * PAGE:(i + 1) * PAGE] != one}

    def mark(self, e, number):
        os.pwrite(self.fd, self.pattern(number) * e.pages, e.at)
