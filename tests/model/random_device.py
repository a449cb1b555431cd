# SPDX-License-Identifier: GPL-3.0-only
"""random_device.py - what is on the device: where the blocks of files are, and which of them were written since they were marked."""
import errno
import fcntl
import functools
import glob
import os
import struct
import subprocess

PAGE = 4096

FS_IOC_FIEMAP, FS_IOC_GETVERSION = 0xC020660B, 0x80087601
EXTENT_UNKNOWN, EXTENT_DELALLOC, EXTENT_INLINE, EXTENT_UNWRITTEN, EXTENT_SHARED = 2, 4, 0x200, 0x800, 0x2000


def is_xfs():
    return os.path.isdir("/sys/fs/xfs/" + os.path.basename(os.environ["IOT_DEV"]))


XFS_IOC_FSGEOMETRY_V1, XFS_REFLINK = 0x80705864, 1 << 20


@functools.cache
def xfs_shares():
    """Is it an XFS on which files can share blocks?"""
    if not is_xfs():
        return False
    fd, buf = os.open(os.environ["IOT_MNT"], os.O_RDONLY), bytearray(112)
    fcntl.ioctl(fd, XFS_IOC_FSGEOMETRY_V1, buf)
    os.close(fd)
    return bool(struct.unpack_from("=I", buf, 92)[0] & XFS_REFLINK)


def is_btrfs():
    return bool(glob.glob("/sys/fs/btrfs/*/devices/" + os.path.basename(os.environ["IOT_DEV"])))


def is_ext4():
    return os.path.isdir("/sys/fs/ext4/" + os.path.basename(os.environ["IOT_DEV"]))


@functools.cache
def punch_writes():
    """Is what is dirty written before it is punched out? ext4 does that before 6.14, and in older kernels that took a later one's changes it
    does not: tried once, before the trace, with more than a commit writes meanwhile."""
    size, name = 1 << 20, os.environ["IOT_MNT"] + "/punch"
    fd = os.open(name, os.O_RDWR | os.O_CREAT)
    os.write(fd, bytes(size))
    before = device_written()
    subprocess.run(["fallocate", "--punch-hole", "--length", str(size), name], check=True)
    written = device_written() - before
    os.close(fd)
    os.unlink(name)
    return written >= size


def device_stat():
    with open("/sys/block/%s/stat" % os.path.basename(os.environ["IOT_DEV"])) as f:
        return [int(n) for n in f.read().split()]


def device_written():
    return device_stat()[6] * 512


def generation(fd):
    """Of the inode behind a descriptor; overlayfs tells none: 0. Then the numbers of inodes must not be used again within a trace."""
    gen = bytearray(8)
    try:
        fcntl.ioctl(fd, FS_IOC_GETVERSION, gen)
    except OSError as e:
        if e.errno != errno.ENOTTY:
            raise
    return struct.unpack_from("=I", gen)[0]


def is_overlay():
    with open("/proc/self/mounts") as f:
        return any(line.split()[1:3] == [os.environ["IOT_MNT"], "overlay"] for line in f)


def refusal():
    """Why programs cannot run on the file system that is mounted; None where they can. The patterns on the device break checksums, so
    that reading is EIO and a store is SIGBUS; what is copied on write or is inline is not where it was."""
    with open("/proc/self/mounts") as f:
        options = {o for line in f if line.split()[1] == os.environ["IOT_MNT"] for o in line.split()[3].split(",")}
    missing = [o for o in ("nodatacow", "max_inline=0") if is_btrfs() and o not in options]
    return "btrfs has to be mounted with nodatacow,max_inline=0: %s is missing (MOUNT_OPTS=nodatacow,max_inline=0)" % missing[0] if missing else None


BTRFS_TREE_SEARCH, BTRFS_CHUNK_TREE, BTRFS_CHUNK_ITEM = 0xD0009411, 3, 228


def chunks():
    """Where the chunks of a btrfs on one device are: [(address, size, place on the device)]. Those of files have one copy."""
    most = (1 << 64) - 1
    buf = bytearray(struct.pack("=QQQQQQQIIII32x", BTRFS_CHUNK_TREE, 0, most, 0, most, 0, most, BTRFS_CHUNK_ITEM, BTRFS_CHUNK_ITEM, 4096, 0).ljust(4096, b"\0"))
    fd = os.open(os.environ["IOT_MNT"], os.O_RDONLY)
    fcntl.ioctl(fd, BTRFS_TREE_SEARCH, buf)
    os.close(fd)
    out, at = [], 104
    for _ in range(struct.unpack_from("=I", buf, 64)[0]):
        _, _, address, _, size = struct.unpack_from("=QQQII", buf, at)
        out.append((address, struct.unpack_from("=Q", buf, at + 32)[0], struct.unpack_from("=Q", buf, at + 32 + 48 + 8)[0]))
        at += 32 + size
    return out


def on_device(extents_found):
    """btrfs tells addresses of its own, which chunks put on the device."""
    have = chunks()
    for e in extents_found:
        e.at = next(place + e.at - address for address, size, place in have if address <= e.at < address + size)
    return extents_found


class Extent:
    __slots__ = ("page", "at", "pages", "unwritten", "shared")

    def __init__(self, page, place, n, unwritten, shared=False):
        self.page, self.at, self.pages, self.unwritten, self.shared = page, place, n, unwritten, shared


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
                out.append(Extent(logical // PAGE, physical, size // PAGE, bool(flags & EXTENT_UNWRITTEN),
                                  bool(flags & EXTENT_SHARED)))
            if flags & 1:
                return on_device(out) if out and is_btrfs() else out
        if not n:
            return on_device(out) if out and is_btrfs() else out


def holes(fd, pages):
    """Which of these pages of a file have no blocks, and will have none."""
    n = 2 * len(pages)
    buf = bytearray(struct.pack("=QQIIII", pages[0] * PAGE, len(pages) * PAGE, 0, 0, n, 0) + bytes(56 * n))
    fcntl.ioctl(fd, FS_IOC_FIEMAP, buf)
    have = [struct.unpack_from("=Q8xQ", buf, 32 + 56 * i) for i in range(struct.unpack_from("=I", buf, 20)[0])]
    return {page for page in pages if not any(at <= page * PAGE < at + size for at, size in have)}


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
