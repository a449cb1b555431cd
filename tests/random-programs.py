#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-only
"""random-programs.py [OPTION]... - random programs on a file system of its own, and for each page that was written
back, who has to be charged; compared with what iot-trace says.

usage: workloads/scenario.sh with_fs ext4 1G -- tests/random-programs.py --seeds 1-50
  --seeds A-B     programs of these seeds (default 1-50)
  --batch N       programs of one trace (default 50)
  --file FILE     the programs in FILE instead ("-": standard input): see tests/random-cases.txt
  --only OPS      only these calls, comma separated: rows of CALLS
  --clean         nothing is dirty before the run
  --full KIB      the file system has so much room, so that calls fail with ENOSPC or are short
  --print         print the programs, run nothing
  --ledger        print what each call returned and which pages were written meanwhile
  --shrink N      make the first N failing programs smaller while they fail (default 3)
  --keep DIR      keep the stores in DIR
  --exchange      take worker 1 for 2 and 2 for 1 in what iot says: all must be wrong

Three workers (tests/random-worker.c) are the traced command; they make one call at a time. `x` is a stranger, outside of
the trace; what it does before the run (`b`) is dirty before the run.

Where the truth is from. *Which* page was written, and during which call, is seen on the device: before every call each
block of the files is overwritten with a pattern in the image behind the loop device, which the page cache does not see;
after the call, a block without the pattern was written. Blocks that are new were written when they are no longer
"unwritten" extents. So nothing about writeback is guessed: ranges that cover whole folios, commits, the flusher's
own time, a neighbour's sync. *Whose* it was is the model: the last writer of each page, by what the calls returned.
Which pages a store's fault covered is asked of /proc/kpageflags.

A claim is strong when the call made the page dirty by itself, and weak when it may have (zeroing of a tail, a copy
that failed inside a block): if a page that nobody had dirtied is written, it is the weak claim's. Where several made
weak claims, the device does not tell which of them made it dirty: any of them is a right answer.
"""
import collections
import contextlib
import fcntl
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("IOT_BUILD", HERE + "/../build")
TRACE = BUILD + "/iot-trace"
ANALYZE = BUILD + "/iot-analyze"
WORKER = BUILD + "/random-worker"
PAGE = 4096
FILES = 4
RWF_DSYNC, RWF_SYNC, RWF_APPEND, RWF_NOAPPEND, RWF_DONTCACHE = 2, 4, 16, 32, 128
FALLOC_PUNCH, FALLOC_COLLAPSE, FALLOC_ZERO, FALLOC_INSERT = 2, 8, 0x10, 0x20
NOBODY, STRANGER = "nobody", "stranger"
UNSEEN = (NOBODY, STRANGER)   # no events: their pages are only summed

# ---------------------------------------------------------------------------------------------- programs

LENGTHS = (1, 100, 4095, 4096, 4097, 8192, 12288, 20480, 65536, 65537, 131072, 262144, 524288)
WEIGHTS = (4, 8, 4, 8, 4, 6, 4, 4, 5, 3, 3, 2, 1)


def length(r):
    return r.choices(LENGTHS, WEIGHTS)[0]


def offset(r):
    return r.choice((0, 0, 1, 100, 4095, 4096, 8192, 16384, 16384, 65536, 100000, 131072, 262144, r.randrange(400000)))


def aligned(r):
    return r.randrange(48) * PAGE


def pages(r):
    return r.choice((1, 1, 2, 3, 4, 16, 32)) * PAGE


def at(r):
    return dict(off=offset(r), len=length(r))


def sync_mode(r):
    return r.choices(("", "s", "d"), (8, 1, 1))[0]


def vector(r):
    return dict(n=r.choice((1, 2, 3, 16, 17, 40, 200)))


def direct(r, op):
    return dict(mode="x", off=aligned(r), len=pages(r), **(dict(n=r.choice((1, 2, 4, 20))) if "v" in op else {}))


# name: (weight, function that makes parameters)
def g_write(r): return dict(mode=r.choice(("", "", "u", "a", "b", "T")), len=length(r))
def g_append(r): return dict(mode="a" + sync_mode(r), len=length(r))
def g_writev(r): return dict(mode=r.choice(("", "u", "a")) + sync_mode(r), len=length(r), **vector(r))
def g_pwrite(r): return dict(mode=r.choice(("", "", "", "w", "b", "T")) + sync_mode(r), **at(r))
def g_pwrite_append(r): return dict(mode="a", **at(r))
def g_pwritev(r): return dict(mode=r.choice(("", "", "a")) + sync_mode(r), **at(r), **vector(r))


def g_pwritev2(r):
    rwf = r.choice((0, RWF_DSYNC, RWF_SYNC, RWF_APPEND, RWF_APPEND | RWF_DSYNC, RWF_NOAPPEND, RWF_DONTCACHE))
    c = dict(mode="a" if rwf == RWF_NOAPPEND else "", rwf=rwf, **at(r), **vector(r))
    if r.random() < 0.4:
        c["off"] = -1
    return c


def g_sync_write(r): return dict(mode=r.choice("sd"), **at(r))
def g_direct(r): return direct(r, "pwrite")
def g_directv(r): return direct(r, "v")
def g_sendfile(r): return dict(mode="", src=r.randrange(FILES), soff=offset(r), len=min(length(r), 131072))
def g_copy(r): return dict(mode="", src=r.randrange(FILES), soff=offset(r), off=r.choice((-1, offset(r))), len=length(r))
def g_splice(r): return dict(mode="", off=r.choice((-1, offset(r))), len=min(length(r), 65536), kind=r.randrange(2))


def g_uring(r):
    kind = r.randrange(4)
    c = dict(kind=kind, off=r.choice((-1, offset(r), offset(r))), len=length(r), async_=r.randrange(2), mode=r.choice(("", "", "a", "d")))
    if kind == 1:
        c.update(vector(r))
    if kind == 3:
        c["n"] = r.choice((1, 2, 8))
    if r.random() < 0.3:
        c["rwf"] = r.choice((RWF_DSYNC, RWF_APPEND, RWF_APPEND | RWF_SYNC))
    if r.random() < 0.2:
        c["poll"] = 1
    if r.random() < 0.2:
        c["fixed"] = 1
    return c


def g_uring_direct(r): return dict(direct(r, "pwrite"), kind=r.choice((0, 2)), async_=r.randrange(2))
def g_aio(r): return dict(mode="", kind=r.randrange(2), n=r.choice((1, 3, 20)), **at(r))
def g_aio_direct(r): return dict(direct(r, "v"), kind=r.randrange(2))
def g_store(r): return dict(mode="", kind=r.choice((0, 0, 0, 1, 2)), off=offset(r), len=r.choice((1, 100, 4096, 5000, 20000)))
def g_msync(r): return dict(mode="", **at(r))
def g_ebadf(r): return dict(mode="r", **at(r))
def g_efault(r): return dict(mode="", bad=0, **at(r))
def g_short(r): return dict(mode=sync_mode(r), bad=length(r), off=offset(r), len=524288)
def g_einval(r): return dict(mode="x", off=1, len=4096)
def g_limit(r): return dict(mode="", limit=offset(r), **at(r))
def g_zero(r): return dict(mode=r.choice(("", "a", "s")), off=offset(r), len=0)
def g_none(r): return dict(mode="")
def g_range(r): return dict(mode="", flags=r.choice((2, 7, 7)), **at(r))
def g_area(r): return dict(mode="", **at(r))
def g_truncate(r): return dict(mode="", len=offset(r) if r.random() < 0.7 else 0)
def g_fallocate(r): return dict(mode="", flags=r.choice((0, 1)), **at(r))
def g_punch(r): return dict(mode="", flags=r.choice((3, 3, 0x10, 0x11)), **at(r))
def g_shift(r): return dict(mode="", flags=r.choice((8, 0x20)), off=aligned(r), len=pages(r))
def g_pread(r): return dict(mode=r.choice(("", "r")), **at(r))
def g_direct_read(r): return dict(mode="x", off=aligned(r), len=pages(r))
def g_rename(r): return dict(to=r.randrange(FILES))
def g_link(r): return dict(to=r.randrange(FILES, FILES + 2))
def g_child(r): return dict(mode=r.choice(("", "a")), len=length(r))
def g_seek(r): return dict(mode="", off=offset(r))
def g_reset(r): return dict(mode="t")


# label: weight, the worker's call, parameters
CALLS = {
    "write": (8, "write", g_write), "append": (6, "write", g_append), "writev": (5, "writev", g_writev),
    "pwrite": (10, "pwrite", g_pwrite), "pwrite_append": (4, "pwrite", g_pwrite_append), "pwritev": (6, "pwritev", g_pwritev),
    "pwritev2": (8, "pwritev2", g_pwritev2), "sync_write": (5, "pwrite", g_sync_write), "direct": (5, "pwrite", g_direct),
    "directv": (2, "pwritev", g_directv), "sendfile": (4, "sendfile", g_sendfile), "copy": (4, "copy", g_copy),
    "splice": (4, "splice", g_splice), "uring": (8, "uring", g_uring), "uring_direct": (3, "uring", g_uring_direct),
    "aio": (4, "aio", g_aio), "aio_direct": (3, "aio", g_aio_direct), "store": (9, "store", g_store), "msync": (2, "msync", g_msync),
    "ebadf": (4, "pwrite", g_ebadf), "efault": (3, "pwrite", g_efault), "short": (4, "pwrite", g_short),
    "einval": (1, "pwrite", g_einval), "limit": (3, "pwrite", g_limit), "zero": (2, "pwrite", g_zero),
    "fsync": (5, "fsync", g_none), "fdatasync": (4, "fdatasync", g_none), "uring_fsync": (1, "uring_fsync", g_none),
    "syncfs": (1, "syncfs", g_none), "sync": (0.3, "sync", g_none), "range": (5, "range", g_range),
    "truncate": (5, "truncate", g_truncate), "fallocate": (2, "fallocate", g_fallocate), "punch": (3, "fallocate", g_punch),
    "shift": (1, "fallocate", g_shift), "pread": (3, "pread", g_pread), "direct_read": (1, "pread", g_direct_read), "forget": (2, "forget", g_area),
    "close": (2, "close", g_none), "unlink": (2, "unlink", g_none), "rename": (2, "rename", g_rename), "link": (1, "link", g_link),
    "child": (2, "child", g_child), "seek": (2, "seek", g_seek), "reset": (1, "open", g_reset),
}


def call_line(who, op, f, params):
    return " ".join([who, op, "f=%d" % f] + ["%s=%s" % (k.rstrip("_"), v) for k, v in params.items() if v != ""])


def generate(seed, only=None, clean=False):
    """The lines of a program."""
    r = random.Random(seed)
    names = [n for n in CALLS if not only or n in only]
    weights = [CALLS[n][0] for n in names]
    lines = []
    for f in range(FILES):
        size = r.choice((0, 0, 1000, 4096, 65536, 200000, 524288))
        if size:
            lines.append(call_line("b", "pwrite", f, dict(off=0, len=size)))
            if clean or r.random() < 0.7:
                lines.append(call_line("b", "fsync", f, {}))
                if r.random() < 0.5:
                    lines.append(call_line("b", "forget", f, dict(off=0, len=0)))
            if r.random() < 0.3 and not only and not clean:
                lines.append(call_line("b", "pwrite", f, at(r)))
    for _ in range(r.randrange(5, 31)):
        name = r.choices(names, weights)[0]
        who = "x" if r.random() < 0.04 and not only else r.choice("123")
        f = r.randrange(FILES) if r.random() < 0.95 else r.randrange(FILES, FILES + 2)
        if name == "shift":
            lines.append(call_line(who, "fsync", f, {}))
        lines.append(call_line(who, CALLS[name][1], f, CALLS[name][2](r)))
    return lines


def parse(line):
    words = line.split()
    params = {k: v if k == "mode" else int(v) for k, v in (w.split("=") for w in words[2:])}
    return words[0], words[1], params


# ---------------------------------------------------------------------------------------------- the device

FS_IOC_FIEMAP, FS_IOC_GETVERSION = 0xC020660B, 0x80087601
EXTENT_UNKNOWN, EXTENT_DELALLOC, EXTENT_INLINE, EXTENT_UNWRITTEN = 2, 4, 0x200, 0x800


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


# ---------------------------------------------------------------------------------------------- the model

Claim = collections.namedtuple("Claim", "who call strong exposed others", defaults=(False, ()))


class Inode:
    def __init__(self, key, program):
        self.key, self.program = key, program
        self.claims = {}      # page: Claim
        self.extents = []
        self.mark = 0         # number of the pattern on its blocks
        self.size = 0
        self.alive = True


class Program:
    def __init__(self, label, lines):
        self.label, self.lines = label, lines
        self.calls = [parse(line) for line in lines]
        self.inodes = {}
        self.want = collections.Counter()    # (inode key, page, who)
        self.maybe = collections.Counter()   # the same: more of them may be
        self.reason = {}                     # the same: number of the call that dirtied it
        self.choices = []                    # (inode key, page, who it may be instead of who is wanted)
        self.beside = {}                     # (inode key, page): last call that touched it without a claim, for the report
        self.exposed = collections.Counter() # the same: of these, nobody may be named
        self.direct = collections.Counter()  # (inode key, who)
        self.calls_bytes = collections.Counter()  # (who, kind)
        self.pids = {}
        self.gaps, self.ledger, self.disturbed = collections.defaultdict(set), [], False
        self.errors, self.wrong_kinds = [], collections.Counter()
        self.title, self.answers, self.first = "", [], {}
        self.number = -1

    def again(self):
        p = Program(self.label, self.lines)
        p.title, p.answers = self.title, self.answers
        return p

    def path(self):
        return "s" + self.label

    def line(self, call):
        return self.lines[call] if 0 <= call < len(self.lines) else "the end of a process" if call == len(self.lines) else "the settle"

    # -- what a call did

    def claim(self, inode, first, last, who, strong):
        for page in range(first, last + 1):
            old = inode.claims.get(page)
            if strong or old is None:
                inode.claims[page] = Claim(who, self.number, strong)
            elif not old.strong:
                inode.claims[page] = old._replace(others=old.others + (who,))
            else:
                self.beside[inode.key, page] = self.number

    def charge(self, inode, page, claim):
        k = (inode.key, page, claim.who)
        self.want[k] += 1
        self.reason[k] = claim.call
        if set(claim.others) - {claim.who}:
            self.choices.append((inode.key, page, {claim.who, *claim.others}))
        self.exposed[k] += claim.exposed

    def written(self, inode, page):
        """The device has the page: to whom it is charged."""
        claim = inode.claims.pop(page, None)
        if claim:
            self.charge(inode, page, claim)
        else:
            self.gap(inode, "written, but nobody had dirtied them", page)

    def answers_missed(self):
        """Where the model's answers are not those that were worked out by hand."""
        out = []
        for f, at, owners in self.answers:
            bad = collections.defaultdict(set)
            for page in at:
                have = sorted(w for (key, n, w), times in self.want.items() if key == self.first.get(f) and n == page for _ in range(times))
                if have != sorted(owners):
                    bad[" ".join(have)].add(page)
            out += ["file %d pages %s: the model says '%s', by hand it is '%s'" % (f, ranges(ps), have, " ".join(owners)) for have, ps in bad.items()]
        return out

    def gap(self, inode, text, *at):
        self.gaps[self.number, inode.key, text].update(at)

    def gap_lines(self):
        return ["call %d (%s): inode %d pages %s: %s" % (n, self.line(n), key[0], ranges(ps), text)
                for (n, key, text), ps in self.gaps.items()] + self.answers_missed()

    def cancel(self, inode, first, last=1 << 60):
        for page in [p for p in inode.claims if first <= p <= last]:
            del inode.claims[page]

    def flushed(self, inode, first, last):
        """XFS writes what is dirty before it punches it out: new blocks are gone then, and the device does not tell."""
        for page in [p for p in inode.claims if first <= p <= last]:
            claim = inode.claims.pop(page)
            if claim.strong:
                self.charge(inode, page, claim)
            else:
                for one in {claim.who, *claim.others}:
                    self.maybe[inode.key, page, one] += 1

    def cancel_of(self, inode, whose):
        for page in [p for p, claim in inode.claims.items() if claim.who in whose]:
            del inode.claims[page]

    def apply(self, who, op, c, reply, inode, writes, ret):
        """One call, and the pages that were written during it: {inode: pages}."""
        mode = c.get("mode", "")
        rwf = max(c.get("rwf", 0), 0)
        moves = op in BYTES
        is_direct = "x" in mode and moves
        syncs = moves and (set(mode) & set("sd") or rwf & (RWF_DSYNC | RWF_SYNC | RWF_DONTCACHE))
        claims = set()
        if moves and inode and not is_direct:
            claims = set(range(reply["at"] // PAGE, (reply["at"] + ret - 1) // PAGE + 1)) if ret > 0 else set()
        if op == "store" and inode:
            claims = {p for p, _, _ in reply["folios"]}
        later = []  # by what the call itself does beside its bytes, such as zeroing
        if not syncs:
            for i, ps in writes.items():
                if i is inode and ps & claims:
                    self.disturbed = True  # somebody else's sync in the middle of the call
                for page in ps - self.direct_pages(i, inode, is_direct, reply, ret):
                    if page in i.claims:
                        self.written(i, page)
                    else:
                        later.append((i, page))
        if inode and is_direct:
            self.apply_direct(who, c, inode, reply, ret, writes.get(inode, set()))
        elif inode and moves:
            self.apply_write(who, op, c, inode, reply, ret)
        elif inode and op == "store":
            self.apply_store(who, inode, reply)
        elif inode and op == "truncate" and ret == 0:
            self.cancel(inode, (c["len"] + PAGE - 1) // PAGE)
            edge = min(c["len"], reply["size"])
            if edge % PAGE:
                self.claim(inode, edge // PAGE, edge // PAGE, who, False)
        elif inode and op == "fallocate" and ret == 0:
            self.apply_fallocate(who, c, inode, reply)
        elif inode and op == "open" and "t" in mode and reply["size"] == 0 and inode.size:
            self.cancel(inode, 0)
        if syncs:
            for i, ps in writes.items():
                for page in ps:
                    self.written(i, page)
        for i, page in later:
            self.written(i, page)
        if op in ("fsync", "fdatasync", "uring_fsync") and ret == 0 and inode:
            self.all_written(inode, reply)
        if inode:
            inode.size = reply["size_after"]

    def all_written(self, inode, reply):
        for page, claim in sorted(inode.claims.items()):
            if claim.strong and page * PAGE < reply["size_after"]:
                self.gap(inode, "dirtied by call %d, not written by a sync" % claim.call, page)

    def direct_pages(self, i, inode, is_direct, reply, ret):
        if not is_direct or i is not inode or ret <= 0:
            return set()
        return set(range(reply["at"] // PAGE, (reply["at"] + ret - 1) // PAGE + 1))

    def apply_direct(self, who, c, inode, reply, ret, written):
        """What others had dirty there is written first, by the call but for them; then the call's own bytes. A call that
        is refused for its alignment may have zeroed the rest of the last block before."""
        if ret <= 0:
            if reply["errno"] == 22 and c["len"]:
                self.claim(inode, reply["begin"] // PAGE, (reply["begin"] + c["len"] - 1) // PAGE, who, False)
                if reply["size"] % PAGE:
                    self.claim(inode, reply["size"] // PAGE, reply["size"] // PAGE, who, False)
            return
        own = self.direct_pages(inode, inode, True, reply, ret)
        for page in own:
            claim = inode.claims.pop(page, None)
            if claim and claim.strong:
                self.charge(inode, page, claim)
            elif claim:
                for one in {claim.who, *claim.others}:
                    self.maybe[inode.key, page, one] += 1
        if own - written:
            self.gap(inode, "of a direct write, not on the device", *(own - written))
        self.direct[inode.key, who] += ret
        self.tail(who, inode, reply)

    def tail(self, who, inode, reply):
        """A write behind the end of the file may zero the rest of the block where the end was; one that fails with
        EFAULT too: it moves the end of an ext4 file to where it would have begun."""
        if reply["begin"] > reply["size"] and reply["size"] % PAGE:
            self.claim(inode, reply["size"] // PAGE, reply["size"] // PAGE, who, False)

    def apply_write(self, who, op, c, inode, reply, ret):
        if ret > 0:
            self.claim(inode, reply["at"] // PAGE, (reply["at"] + ret - 1) // PAGE, who, True)
        if reply["errno"] in (0, 14):
            self.tail(who, inode, reply)
        copied = op in ("sendfile", "copy", "splice") and reply["errno"] == 0  # a source that ends is no failure
        if ret < c["len"] and reply["errno"] != 9 and c["len"] and not copied:
            # what was not copied: a block that was begun may be dirty all the same, and blocks that are new are zeroed
            start = reply["begin"]
            self.claim(inode, (start + max(ret, 0)) // PAGE, (start + c["len"] - 1) // PAGE, who, False)

    def apply_store(self, who, inode, reply):
        """The fault makes its folio dirty: what was clean is the faulter's, what another had dirty stays the other's. One fault maps
        a whole folio (6.18): what else is stored there is seen by nobody, and nobody may be named for what another had dirty."""
        end = (reply["size"] + PAGE - 1) // PAGE
        faulted = set()
        for page, first, n in reply["folios"]:
            for p in range(first, first + n):
                old = inode.claims.get(p)
                others = old is not None and old.strong and (old.who != who or old.exposed)
                if p == page:
                    self.claim(inode, p, p, who, True)
                    if first in faulted and others:
                        inode.claims[p] = inode.claims[p]._replace(exposed=True)
                elif not old or not old.strong:
                    self.claim(inode, p, p, who, p < end)
                    if old and old.who != who: # it may have been dirty, and then it is exposed
                        inode.claims[p] = inode.claims[p]._replace(others=old.others + (old.who, NOBODY))
                elif others:
                    inode.claims[p] = old._replace(exposed=True)
            faulted.add(first)

    def apply_fallocate(self, who, c, inode, reply):
        end = c["off"] + c["len"]
        if c["flags"] & (FALLOC_COLLAPSE | FALLOC_INSERT):
            self.cancel(inode, c["off"] // PAGE)  # what is behind was written before it was moved
            return
        if c["flags"] & FALLOC_PUNCH and end > reply["size"]:  # beyond the end of the file: its last page is dropped whole
            end = (end + PAGE - 1) // PAGE * PAGE
        if c["flags"] & (FALLOC_PUNCH | FALLOC_ZERO):
            if is_xfs():
                self.flushed(inode, (c["off"] + PAGE - 1) // PAGE, end // PAGE - 1)
            self.cancel(inode, (c["off"] + PAGE - 1) // PAGE, end // PAGE - 1)
            for edge in (c["off"], end):
                if edge % PAGE:
                    self.claim(inode, edge // PAGE, edge // PAGE, who, False)
        if reply["size_after"] > reply["size"] and reply["size"] % PAGE:
            self.claim(inode, reply["size"] // PAGE, reply["size"] // PAGE, who, False)


# calls that move bytes into a file, and the kind that they are counted as
BYTES = {"write": "write", "pwrite": "pwrite64", "writev": "writev", "pwritev": "pwritev", "pwritev2": "pwritev",
         "sendfile": "sendfile_out", "copy": "copy_out", "splice": "splice_out", "aio": "aio_write", "uring": "uring_write",
         "child": "write"}
OTHER_SIDE = {"sendfile": "sendfile_in", "copy": "copy_in"}


def place(op, c, reply, ret):
    """Where the call's bytes went, and where they would have begun."""
    rwf = max(c.get("rwf", 0), 0)
    if ("a" in c.get("mode", "") or rwf & RWF_APPEND) and not rwf & RWF_NOAPPEND:
        return reply["size_after"] - max(ret, 0), reply["size"]
    if op in ("write", "writev", "child", "sendfile") or c.get("off", -1) == -1:
        return reply["pos_after"] - max(ret, 0), reply["pos"]
    return c["off"], c["off"]


# ---------------------------------------------------------------------------------------------- running

class Conversation:
    def __init__(self, sock):
        self.sock, self.file = sock, sock.makefile("r")
        self.id, self.pid = self.file.readline().split()

    def say(self, line):
        self.sock.sendall((line + "\n").encode())

    def ask(self, line):
        self.say(line)
        answer = self.file.readline()
        if not answer:
            raise RuntimeError("worker %s ended at: %s" % (self.id, line))
        return dict(w.split("=") for w in answer.split())

    def close(self):
        self.file.close()
        self.sock.close()


def is_xfs():
    return os.path.isdir("/sys/fs/xfs/" + os.path.basename(os.environ["IOT_DEV"]))


def device_written():
    with open("/sys/block/%s/stat" % os.path.basename(os.environ["IOT_DEV"])) as f:
        return int(f.read().split()[6]) * 512


class Batch:
    def __init__(self, programs, store, exchange=False):
        self.programs, self.store, self.exchange = programs, store, exchange
        self.mnt = os.environ["IOT_MNT"]
        self.image = Image(os.environ["IOT_IMG"])
        with open("/sys/block/%s/queue/iostats" % os.path.basename(os.environ["IOT_DEV"]), "w") as f:
            f.write("1")  # a loop device keeps what its last user set
        self.errors = []

    # -- processes

    def listen(self, where):
        self.name = where + "/socket"
        self.server = self.release.enter_context(socket.socket(socket.AF_UNIX))
        self.server.bind(self.name)
        self.server.listen(8)
        self.server.settimeout(60)

    def accept(self):
        c = Conversation(self.server.accept()[0])
        self.release.callback(c.close)
        return c

    # -- looking at the device

    def inode_of(self, p, fd):
        st = os.fstat(fd)
        gen = bytearray(8)
        fcntl.ioctl(fd, FS_IOC_GETVERSION, gen)
        return (st.st_ino, struct.unpack_from("=I", gen)[0])

    def holders(self, p):
        """A path to each inode of the program that somebody still holds."""
        paths = {}
        folder = self.mnt + "/" + p.path()
        names = [folder + "/" + n for n in os.listdir(folder)]
        if any(w for w in self.workers):
            names += ["/proc/%s/fd/%s" % (w.pid, n) for w in self.workers + [self.stranger] for n in os.listdir("/proc/%s/fd" % w.pid)]
        for name in names:
            try:
                if not name.startswith("/proc") or "/" + p.path() + "/" in os.readlink(name):
                    st = os.stat(name)
                    if (st.st_mode & 0o170000) == 0o100000:
                        paths.setdefault(st.st_ino, name)
            except FileNotFoundError:
                pass
        return paths

    def look(self, p):
        """Pages of the program's files that were written since the last look: {inode: pages}. Writeback that goes on is waited for:
        its blocks are called unwritten until it has ended."""
        writes, fresh = {}, {}
        for name in self.holders(p).values():
            self.stranger.ask("wait " + name)
            fd = os.open(name, os.O_RDONLY)
            key = self.inode_of(p, fd)
            fresh[key] = extents(fd)
            os.close(fd)
            if key not in p.inodes:
                p.inodes[key] = Inode(key, p)
        for key, i in p.inodes.items():
            pages_written = set()
            was, unwritten = {}, set()
            for e in i.extents:
                pages_written |= self.image.touched(e, i.mark)
                for n in range(e.pages):
                    was[e.page + n] = e.at + n * PAGE
                    if e.unwritten:
                        unwritten.add(e.at + n * PAGE)
            places = set(was.values())  # a range that was shifted keeps its blocks
            for e in fresh.get(key, ()):
                for n in range(e.pages):
                    at = e.at + n * PAGE
                    # new and written; or the flusher's own time came between looking and marking, and the pattern hides the bytes
                    if not e.unwritten and (at not in places or (at in unwritten and e.page + n in i.claims)):
                        pages_written.add(e.page + n)
            i.extents = fresh.get(key, [])
            i.alive = key in fresh
            if pages_written:
                writes[i] = pages_written
        return writes

    def mark(self, programs):
        self.image.number += 1
        for p in programs:
            for i in p.inodes.values():
                i.mark = self.image.number
                for e in i.extents:
                    self.image.mark(e, i.mark)

    # -- calls

    def call(self, p, number, worker, who, op, c):
        p.number = number
        words = ["%s=%s" % kv for kv in c.items()]
        answer = worker.ask(" ".join([op, "seed=%d" % (number + 7)] + words))
        reply = {k: int(v) for k, v in answer.items() if k != "folios"}
        ret = reply["ret"]
        inode = None
        if "ino" in reply:
            reply["folios"] = [tuple(int(x) for x in w.split(":")) for w in answer.get("folios", "").split(",") if w]
            reply["at"], reply["begin"] = place(op, c, reply, ret)
        writes = self.look(p)
        if reply.get("ino"):
            inode = p.inodes.get((reply["ino"], reply["gen"]))
            p.first.setdefault(c["f"], (reply["ino"], reply["gen"]))
        if reply.get("child") and who not in UNSEEN:
            who = "child%d" % reply["child"]
            p.pids[who] = str(reply["child"])
        if ret > 0 and op in BYTES:
            p.calls_bytes[who, BYTES[op]] += ret
        if ret > 0 and op in OTHER_SIDE:
            p.calls_bytes[who, OTHER_SIDE[op]] += ret
        p.ledger.append("%s %s ret=%d errno=%d at=%s size=%s..%s%s%s" % (
            p.label, p.lines[number] if number < len(p.lines) else op, ret, reply["errno"], reply.get("at"), reply.get("size"),
            reply.get("size_after"), " folios=" + answer["folios"] if answer.get("folios") else "",
            "".join(" written:%d=%s" % (i.key[0], ranges(ps)) for i, ps in writes.items())))
        p.apply(who, op, c, reply, inode, writes, ret)
        self.forget_dead(p)
        self.mark([p])

    def forget_dead(self, p):
        for i in p.inodes.values():
            if not i.alive:
                i.claims.clear()

    def before(self):
        """Before the run: the files, and what is dirty in them."""
        for p in self.programs:
            folder = self.mnt + "/" + p.path()
            os.mkdir(folder)
            self.stranger.ask("cd " + folder)
            for number, (who, op, c) in enumerate(p.calls):
                if who == "b":
                    self.call(p, number, self.stranger, NOBODY, op, c)
            self.stranger.ask("close")

    def begin(self):
        """The trace runs: what was dirty then is nobody's."""
        for p in self.programs:
            for i, ps in self.look(p).items():
                for page in ps:
                    i.claims.pop(page, None)
            p.want.clear(), p.maybe.clear(), p.direct.clear(), p.calls_bytes.clear(), p.reason.clear()
        self.mark(self.programs)

    def run(self, p):
        p.number = -1
        for i, ps in self.look(p).items():
            for page in ps:
                p.written(i, page)
        self.mark([p])
        for n in "123":
            self.host.say("fork %s w%s.%s" % (n, n, p.label[:9]))
            self.workers.append(self.accept())
        self.stranger.ask("cd " + self.mnt + "/" + p.path())
        self.stranger.ask("other " + self.other + "/" + p.path())
        by_id = {w.id: w for w in self.workers}
        for w in self.workers:
            p.pids[w.id] = w.pid
            w.ask("cd " + self.mnt + "/" + p.path())
            w.ask("other " + self.other + "/" + p.path())
        for number, (who, op, c) in enumerate(p.calls):
            if who == "b":
                continue
            self.call(p, number, by_id.get(who, self.stranger), STRANGER if who == "x" else who, op, c)
        self.stranger.ask("close")
        for w in self.workers:
            w.ask("quit")
            w.close()
        self.workers = []
        p.number = len(p.calls)
        for i, ps in self.look(p).items():
            for page in ps:
                p.written(i, page)
        self.forget_dead(p)
        self.mark([p])

    def end(self):
        """What the run's settle wrote."""
        for p in self.programs:
            p.number = len(p.calls) + 1
            for i, ps in self.look(p).items():
                for page in ps:
                    p.written(i, page)
            for i in p.inodes.values():
                if i.alive:  # a file that the run did not touch is not settled
                    p.cancel_of(i, UNSEEN)
                    p.all_written(i, dict(size_after=i.size))

    def start(self, *words):
        """A process that is waited for when the batch ends, however it ends: it ends when its conversation does."""
        child = subprocess.Popen(words)
        self.release.callback(child.wait)
        return child

    def other_mount(self, where):
        self.other = where + "/other"
        os.mkdir(self.other)
        subprocess.run(["mount", "--bind", self.mnt, self.other], check=True)
        self.release.callback(subprocess.run, ["umount", self.other], check=True)

    def trace(self):
        device = device_written()
        tracer = self.start(TRACE, "-q", "-o", self.store, "--", WORKER, self.name)
        self.host = self.accept()
        live = device_written()
        self.begin()
        for p in self.programs:
            self.run(p)
        self.host.close()
        status = tracer.wait()
        if status:
            self.errors.append("iot-trace ended with status %d" % status)
        self.device = (device_written() - live, device_written() - device)

    def go(self):
        self.workers = []
        with contextlib.ExitStack() as self.release:
            where = self.release.enter_context(tempfile.TemporaryDirectory(prefix="iot-random."))
            self.other_mount(where)
            self.listen(where)
            self.start(WORKER, self.name, "x", "stranger")
            self.stranger = self.accept()
            self.before()
            self.trace()
            self.end()
        for p in self.programs:
            subprocess.run(["rm", "-rf", self.mnt + "/" + p.path()], check=True)
        self.compare()

    # -- what iot says

    def sql(self, query):
        out = subprocess.run(["sqlite3", "-readonly", "-separator", " ", self.store, query], stdout=subprocess.PIPE, check=True, text=True)
        return [line.split(" ") for line in out.stdout.splitlines()]

    def compare(self):
        other = {"1": "2", "2": "1"} if self.exchange else {}
        pids = {pid: (p, other.get(who, who)) for p in self.programs for who, pid in p.pids.items()}
        inodes = {key: p for p in self.programs for key in p.inodes}
        names, of = {"0": NOBODY, "2": STRANGER}, {}
        for owner, pid in self.sql("SELECT id, pid FROM process WHERE id > 2"):
            if pid in pids:
                of[owner], names[owner] = pids[pid]
        dev = os.stat(self.mnt).st_dev
        dev = os.major(dev) << 20 | os.minor(dev)
        got = collections.defaultdict(collections.Counter)
        got_direct = collections.defaultdict(collections.Counter)
        for cause, owner, ino, gen, off, size in self.sql(
                "SELECT c.name, COALESCE(e.owner, 0), COALESCE(f.ino, 0), COALESCE(f.gen, 0), COALESCE(e.offset, 0), e.bytes FROM event e "
                "JOIN kind k ON k.id = e.kind JOIN cause c ON c.id = e.cause LEFT JOIN file f ON f.run = e.run AND f.id = e.file "
                "WHERE k.name = 'fs_write' AND c.name IN ('data', 'direct', 'unknown') AND e.dev = %d" % dev):
            key, off, size = (int(ino), int(gen)), int(off), int(size)
            who = names.get(owner, "process " + owner)
            p = inodes.get(key) or of.get(owner)
            if not p and who in UNSEEN:
                pass  # of files that nobody who is wanted used
            elif not p:
                self.errors.append("%s: %d bytes of %s are of no file of the programs (inode %s)" % (cause, size, who, key))
            elif cause == "data":
                for page in range(off // PAGE, (off + size - 1) // PAGE + 1):
                    got[p][key, page, who] += 1
            else:
                got_direct[p][key, who] += size
        got_bytes = collections.defaultdict(collections.Counter)
        for pid, kind, size in self.sql(
                "SELECT p.pid, k.name, SUM(t.bytes) FROM agg_total t JOIN process p ON p.run = t.run AND p.id = t.owner "
                "JOIN kind k ON k.id = t.kind JOIN layer y ON y.id = k.layer JOIN sub s ON s.id = t.sub "
                "WHERE y.name IN ('syscall', 'uring') AND s.name = 'regular' AND k.dir IN ('w', 'r') AND p.id > 2 GROUP BY 1, 2"):
            if pid in pids:
                p, who = pids[pid]
                if kind in BYTES.values() or kind in OTHER_SIDE.values():
                    got_bytes[p][who, kind] += int(size)
        for p in self.programs:
            p.exposed_before = +p.exposed
            p.errors = compare_pages(p, got[p]) + compare_sums(p, "direct", seen(p.direct, 1), got_direct[p]) + compare_sums(
                p, "S", seen(p.calls_bytes, 0), got_bytes[p])
        self.compare_unseen(dev)
        self.compare_run(dev)

    def compare_unseen(self, dev):
        """Bytes of those that have no events, and of all together, by the run's sums."""
        for name, condition, wanted in (("nobody", "t.owner = 0", (NOBODY,)), ("stranger", "t.owner = 2", (STRANGER,)), ("all", "1", None)):
            low = sum(n for p in self.programs for k, n in p.want.items() if not wanted or k[2] in wanted) * PAGE
            low += sum(n for p in self.programs for k, n in p.direct.items() if not wanted or k[1] in wanted)
            high = low + sum(n for p in self.programs for k, n in p.maybe.items() if not wanted or k[2] in wanted) * PAGE
            got = int(self.sql("SELECT COALESCE(SUM(t.bytes), 0) FROM agg_total t JOIN kind k ON k.id = t.kind JOIN cause c ON c.id = t.cause "
                               "WHERE k.name = 'fs_write' AND c.name IN ('data', 'direct', 'unknown') AND t.dev = %d AND %s" % (dev, condition))[0][0])
            exposed = sum(n for p in self.programs for n in p.exposed_before.values()) * PAGE if wanted else 0
            if not low - exposed <= got <= high + exposed:
                self.errors.append("file data of %s: %d, but iot says %d" % (name, low, got))

    def compare_run(self, dev):
        for n, what, effect in self.sql("SELECT n, replace(what, ' ', '_'), effect FROM lost WHERE n > 0"):
            self.errors.append("lost: %s %s (%s)" % (n, what, effect))
        total = int(self.sql("SELECT COALESCE(SUM(t.bytes), 0) FROM agg_total t JOIN kind k ON k.id = t.kind "
                             "WHERE k.name = 'block_write' AND t.dev = %d" % dev)[0][0])
        if not self.device[0] <= total <= self.device[1]:
            self.errors.append("device bytes: iot says %d, /sys/block %d to %d" % (total, *self.device))
        v = subprocess.run([ANALYZE, "verify", self.store], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        bad = [line for line in v.stdout.splitlines() if "MISMATCH" in line and not line.startswith("OK:")]
        if bad:
            self.errors.append("verify: %d MISMATCH, such as: %s" % (len(bad), bad[0]))


def kind_of(line):
    """A call without its file and numbers, for statistics."""
    who, op, c = parse(line)
    words = [op] + ["%s=%s" % (k, c[k]) for k in ("mode", "rwf", "kind", "flags") if c.get(k)]
    words += ["off=-1"] if c.get("off") == -1 else []
    words += ["fails"] if c.get("bad", -1) >= 0 or c.get("limit", -1) >= 0 else []
    words += [">16 iovecs"] if c.get("n", 0) > 16 else []
    return ("before the run: " if who == "b" else "stranger: " if who == "x" else "") + " ".join(words)


def ranges(values):
    """1-3,7 of a set of numbers."""
    out, run = [], None
    for v in sorted(values):
        if run and v == run[1] + 1:
            run[1] = v
        else:
            run = [v, v]
            out.append(run)
    return ",".join("%d" % a if a == b else "%d-%d" % (a, b) for a, b in out)


def compare_pages(p, got):
    """Pages by (inode, who that has them, who should): one line each, with the call that dirtied them."""
    wrong = collections.defaultdict(list)
    spare = collections.defaultdict(list)
    for key, page, whose in p.choices:
        less = [w for w in whose if p.want[key, page, w] > got[key, page, w]]
        more = [w for w in whose if p.want[key, page, w] < got[key, page, w]]
        if less and (more or NOBODY in whose or STRANGER in whose):
            p.want[key, page, less[0]] -= 1
            if more:
                p.want[key, page, more[0]] += 1
    for k, n in (got - p.want).items():
        n -= p.maybe.get(k, 0)
        spare[k[0], k[1]] += [k[2]] * max(n, 0)
    for k, n in (p.want - got).items():
        for _ in range(n):
            others = spare[k[0], k[1]]
            if not others and k[2] in UNSEEN:
                continue
            if p.exposed[k] > 0 and (not others or NOBODY in others):
                p.exposed[k] -= 1
                if others:
                    others.remove(NOBODY)
                continue
            beside = p.beside.get((k[0], k[1]))
            text = "" if beside is None else "; touched without a claim by call %d: %s" % (beside, p.line(beside))
            wrong[k[0], k[2], others.pop() if others else "missing", p.reason[k], text].append(k[1])
    for (key, page), others in spare.items():
        for other in others:
            wrong[key, "not written", other, -1, ""].append(page)
    for (key, want, have, call, text), ps in wrong.items():
        kind = kind_of(p.lines[call]) if 0 <= call < len(p.lines) else want
        p.wrong_kinds[kind + (", touched without a claim" if text else "")] += len(ps)
    return ["inode %d pages %s: %s, but iot says %s%s%s" % (key[0], ranges(ps), want, have,
            "; dirtied by call %d: %s" % (call, p.line(call)) if call >= 0 else "", text)
            for (key, want, have, call, text), ps in sorted(wrong.items(), key=str)]


def seen(sums, at):
    """Without those that have no events, or are not asked for: `at` says where in the key the owner is."""
    return collections.Counter({k: v for k, v in sums.items() if k[at] not in UNSEEN})


def compare_sums(p, what, want, got):
    return ["%s %s: %d, but iot says %d" % (what, k, want[k], got[k]) for k in sorted(set(want) | set(got), key=str) if want[k] != got[k]]


# ---------------------------------------------------------------------------------------------- main

def run_batch(programs, options, tag):
    if options["keep"]:
        store = "%s/%s.sqlite" % (options["keep"], tag)
        if os.path.exists(store):
            os.unlink(store)
        batch = Batch(programs, store, options["exchange"])
        batch.go()
        return batch
    with tempfile.TemporaryDirectory(prefix="iot-random.") as where:
        batch = Batch(programs, where + "/run.sqlite", options["exchange"])
        batch.go()
        return batch


def gravest(p):
    """The first word of the gravest error of a program: a wrong owner of a page before wrong sums."""
    return min((text.split()[0] for text in p.errors), key=("inode", "direct", "S").index, default=None)


def shrink(lines, options, label, grave):
    """Drops calls while the program fails in the same way. All candidates of a round are run in one trace."""
    size = max(len(lines) // 2, 1)
    while True:
        candidates = [lines[:i] + lines[i + size:] for i in range(0, len(lines), size)]
        programs = [Program("%s-%d" % (label, n), c) for n, c in enumerate(candidates)]
        run_batch(programs, options, "shrink")
        failing = [p for p in programs if gravest(p) == grave and not p.disturbed]
        if failing:
            lines = min(failing, key=lambda p: len(p.lines)).lines
            size = max(min(size, len(lines) // 2), 1)
        elif size == 1:
            return lines
        else:
            size = max(size // 2, 1)


def report(p, out=sys.stdout):
    for line in p.lines:
        print("    " + line, file=out)
    for text in p.errors:
        print("  wrong: " + text, file=out)
    for text in p.gap_lines():
        print("  model: " + text, file=out)


def arguments(argv):
    options = dict(seeds="1-50", batch="50", file=None, only=None, full=None, shrink="3", keep=None, print=False, ledger=False, clean=False, exchange=False)
    while argv:
        name = argv.pop(0).lstrip("-")
        if name not in options:
            sys.exit(__doc__)
        options[name] = True if options[name] is False else argv.pop(0)
    return options


def numbers(text):
    """The numbers of "1-3,7"."""
    out = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        out.update(range(int(first), int(last or first) + 1))
    return out


def programs_in(text):
    """Programs with a title each, and their answers."""
    programs, title = [], "program"
    for line in text.splitlines():
        if line.startswith("#"):
            title = line[1:].strip()
        elif line.startswith("="):
            where, _, owners = line[1:].partition(":")
            programs[-1].answers.append((int(where.split()[0]), numbers(where.split()[1]), owners.split()))
        elif line.strip():
            if title:
                programs.append(Program(str(len(programs)), []))
                programs[-1].title, title = title, None
            programs[-1].lines.append(line.strip())
    for p in programs:
        p.calls = [parse(line) for line in p.lines]
    return programs


def programs_of(options):
    only = options["only"].split(",") if options["only"] else None
    if options["file"]:
        with sys.stdin if options["file"] == "-" else open(options["file"]) as f:
            return programs_in(f.read())
    first, _, last = options["seeds"].partition("-")
    return [Program(str(seed), generate(seed, only, options["clean"])) for seed in range(int(first), int(last or first) + 1)]


def fill(left):
    """Leaves so many bytes free on the file system."""
    with open(os.environ["IOT_MNT"] + "/full", "w") as f:
        st = os.statvfs(os.environ["IOT_MNT"])
        os.posix_fallocate(f.fileno(), 0, st.f_bavail * st.f_frsize - left)
    os.sync()


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what is mounted is released
    options = arguments(sys.argv[1:])
    programs = programs_of(options)
    if options["print"]:
        for p in programs:
            print("# seed " + p.label, *p.lines, sep="\n")
        return 0
    step = int(options["batch"])
    if options["full"]:
        fill(int(options["full"]) << 10)
    errors = []
    for n in range(0, len(programs), step):
        part = programs[n:n + step]
        batch = run_batch(part, options, "batch%d" % n)
        for _ in range(3):  # somebody's sync(2) came in the middle of a call: nobody knows what it found
            again = [p for p in part if p.disturbed]
            if not again:
                break
            fresh = [p.again() for p in again]
            print("seeds %s were disturbed: once more" % ",".join(p.label for p in again))
            run_batch(fresh, options, "again%d" % n)
            part = [fresh[again.index(p)] if p in again else p for p in part]
        programs[n:n + step] = part
        errors += batch.errors
        for text in batch.errors:
            print("run of seeds %s to %s: %s" % (part[0].label, part[-1].label, text))
        for p in part:
            if options["ledger"]:
                print(*p.ledger, sep="\n")
            if p.errors or p.gap_lines():
                print("seed %s: %s%d wrong, %d not explained%s" % (p.label, p.title and p.title + ": ", len(p.errors), len(p.gap_lines()), ", disturbed" if p.disturbed else ""))
                for text in p.errors + p.gap_lines():
                    print("  " + text)
        sys.stdout.flush()
    failing = sorted((p for p in programs if p.errors), key=lambda p: ("inode", "direct", "S").index(gravest(p)))
    for p in failing[:int(options["shrink"])]:
        small = Program(p.label, shrink(p.lines, options, p.label, gravest(p)))
        run_batch([small], options, "small")
        print("seed %s, smallest program that fails:" % p.label)
        report(small)
    kinds = sum((p.wrong_kinds for p in programs), collections.Counter())
    for kind, n in kinds.most_common():
        print("%7d wrong pages, dirtied by: %s" % (n, kind))
    gaps = [p for p in programs if p.gap_lines()]
    pages_known = sum(sum(p.want.values()) for p in programs)
    print("%d programs (seeds %s), %d calls, %d pages written back: %d programs wrong, %d not explained by the model, %d runs with other errors" % (
        len(programs), options["seeds"], sum(len(p.calls) for p in programs), pages_known, len(failing), len(gaps), len(errors)))
    return 1 if failing or gaps or errors else 0


if __name__ == "__main__":
    sys.exit(main())
