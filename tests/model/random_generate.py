# SPDX-License-Identifier: GPL-3.0-only
"""random_generate.py - the programs of random-programs.py: which calls, with which parameters. To add a call: a row in CALLS."""
import random

PAGE = 4096
FILES = 4
RWF_DSYNC, RWF_SYNC, RWF_APPEND, RWF_NOAPPEND, RWF_DONTCACHE, RWF_NOWAIT = 2, 4, 16, 32, 128, 8

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
    return dict(mode=r.choice(("x", "x", "x", "xd", "xs", "xa")), off=aligned(r), len=pages(r), **(dict(n=r.choice((1, 2, 4, 20))) if "v" in op else {}))


# name: (weight, function that makes parameters)
def g_requests(r):
    n = r.choice((2, 3, 5, 8))
    size = min(length(r), 65536)
    step = r.choice((0, size, size, 4096, 12288, -size))
    c = dict(mode=r.choice(("", "", "a")), n=n, len=size, step=step, off=offset(r) + max(-step, 0) * n)
    if r.random() < 0.25:
        c["fail"] = r.randrange(n)
    return c


def g_urings(r):
    c = dict(g_requests(r), kind=r.choice((0, 0, 1, 2, 3)))
    if c["mode"] == "a":
        c["kind"] = 1  # one after the other
    else:
        c["async_"] = r.randrange(2)
    if r.random() < 0.2:
        c["poll"] = 1
    return c


def g_write(r): return dict(mode=r.choice(("", "", "u", "a", "b", "T")), len=length(r))
def g_append(r): return dict(mode="a" + sync_mode(r), len=length(r))
def g_writev(r): return dict(mode=r.choice(("", "u", "a")) + sync_mode(r), len=length(r), **vector(r))
def g_pwrite(r): return dict(mode=r.choice(("", "", "", "w", "b", "T")) + sync_mode(r), **at(r))
def g_pwrite_append(r): return dict(mode="a", **at(r))
def g_pwritev(r): return dict(mode=r.choice(("", "", "a")) + sync_mode(r), **at(r), **vector(r))


def g_pwritev2(r):
    rwf = r.choice((0, RWF_DSYNC, RWF_SYNC, RWF_APPEND, RWF_APPEND | RWF_DSYNC, RWF_NOAPPEND, RWF_DONTCACHE, RWF_NOWAIT))
    c = dict(mode="a" if rwf == RWF_NOAPPEND else "", rwf=rwf, **at(r), **vector(r))
    if r.random() < 0.4:
        c["off"] = -1
    return c


def g_sync_write(r): return dict(mode=r.choice("sd"), **at(r))
def g_direct(r): return direct(r, "pwrite")
def g_directv(r): return direct(r, "v")
def g_sendfile(r): return dict(mode="", src=r.randrange(FILES), soff=offset(r), len=min(length(r), 131072))
def g_copy(r): return dict(mode="", src=r.randrange(FILES), soff=offset(r), off=r.choice((-1, offset(r))), len=length(r))
def g_splice(r): return dict(mode="", off=r.choice((-1, offset(r))), len=min(length(r), 65536), kind=r.randrange(3), src=r.randrange(FILES), soff=offset(r))


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
def g_msync(r): return dict(mode="", kind=r.choice((0, 0, 1)), **at(r))
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
    "child": (2, "child", g_child), "thread": (2, "thread", g_child), "path_truncate": (1, "path_truncate", g_truncate),
    "aios": (4, "aios", g_requests), "urings": (5, "urings", g_urings), "seek": (2, "seek", g_seek), "reset": (1, "open", g_reset),
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
