#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-only
"""random-programs.py [OPTION]... - random programs on a file system of its own, and for each page that was written
back, who has to be charged; compared with what iot-trace says.

usage: workloads/scenario.sh with_fs ext4 1G -- tests/model/random-programs.py --seeds 1-50
       MOUNT_OPTS=nodatacow,max_inline=0 workloads/scenario.sh with_fs btrfs 2G -- tests/model/random-programs.py --seeds 1-50
  --seeds A-B     programs of these seeds (default 1-50)
  --batch N       programs of one trace (default 50)
  --file FILE     the programs in FILE instead ("-": standard input): see tests/model/random-cases.txt
  --only OPS      only these calls, comma separated: rows of CALLS
  --clean         nothing is dirty before the run
  --full KIB      the file system has so much room, so that calls fail with ENOSPC or are short
  --print         print the programs, run nothing
  --ledger        print what each call returned and which pages were written meanwhile
  --shrink N      make the first N failing programs smaller while they fail (default 3)
  --keep DIR      keep the stores in DIR
  --exchange      take worker 1 for 2 and 2 for 1 in what iot says: all must be wrong

Three workers (tests/model/random-worker.c) are the traced command; they make one call at a time. `x` is a stranger, outside of
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
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from random_compare import compare  # noqa: E402
from random_device import PAGE, Image, device_stat, device_written, extents, generation, holes, is_btrfs, is_ext4, is_overlay, is_xfs, punch_writes, refusal  # noqa: E402
from random_generate import CALLS, generate, parse  # noqa: E402
from random_model import BYTES, FALLOC_COLLAPSE, NOBODY, OTHER_SIDE, STRANGER, UNSEEN, Inode, Program, is_aligned, moved_from, place, ranges, touched  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("IOT_BUILD", HERE + "/../../build")
TRACE = BUILD + "/iot-trace"
WORKER = BUILD + "/random-worker"


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


class Batch:
    def __init__(self, programs, store, exchange, last):
        self.programs, self.store, self.exchange, self.last = programs, store, exchange, last
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
        return (st.st_ino, generation(fd))

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

    def look(self, p, copied=None, before=None):
        """Pages of the program's files that were written since the last look: {inode: pages}. Writeback that goes on is waited for:
        its blocks are called unwritten until it has ended. copied: key of the inode into which a call has just copied, and the pages.
        before: a call may have moved a range of a file, which keeps its blocks: where a page of it was."""
        writes, fresh, empty = {}, {}, {}
        for name in self.holders(p).values():
            self.stranger.ask("wait " + name)
            fd = os.open(name, os.O_RDONLY)
            key = self.inode_of(p, fd)
            fresh[key] = extents(fd)
            empty[key] = holes(fd, copied[1]) if copied and copied[0] == key else set()
            os.close(fd)
            if key not in p.inodes:
                p.inodes[key] = Inode(key, p)
        for key, i in p.inodes.items():
            pages_written, i.shared, i.unsure = set(), set(empty.get(key, ())), set()
            was, unwritten, i.untouched = {}, set(), set()
            for e in i.extents:
                now = self.image.touched(e, i.mark)
                pages_written |= now
                i.untouched |= {e.at + n * PAGE for n in range(e.pages) if e.page + n not in now}
                for n in range(e.pages):
                    was[e.page + n] = e.at + n * PAGE
                    if e.unwritten:
                        unwritten.add(e.at + n * PAGE)
            places = {at: page for page, at in was.items()}
            for e in fresh.get(key, ()):
                for n in range(e.pages):
                    at = e.at + n * PAGE
                    if e.shared and copied and key == copied[0] and at != was.get(e.page + n):
                        i.shared.add(e.page + n)  # with the file that was copied from
                    elif (e.shared or (e.unwritten and at in unwritten)) and copied and key == copied[0] and e.page + n in copied[1]:
                        i.unsure.add(e.page + n)
                    # new and written; or the flusher's own time came between looking and marking, and the pattern hides the bytes
                    elif not e.unwritten and (at not in places or (at in unwritten and e.page + n in i.claims)):
                        pages_written.add(before(e.page + n) if before else e.page + n)
                    elif not e.unwritten and not before and was.get(e.page + n) != at:  # cut off from one page, and taken for another
                        pages_written.add(e.page + n)
                        if places[at] not in i.claims:
                            pages_written.discard(places[at])
            for page in i.shared & i.claims.keys() - pages_written:  # what was dirty here is written before
                if i.claims[page].strong:
                    pages_written.add(page)
                else:
                    p.perhaps(i, page, i.claims.pop(page))  # nothing tells whether it was
            i.extents = fresh.get(key, [])
            i.alive = key in fresh
            if pages_written:
                writes[i] = pages_written
        return writes

    def mark(self, programs):
        self.image.number += 1
        before = device_stat()
        for p in programs:
            for i in p.inodes.values(): # two may share blocks: all of them first
                for e in i.extents:
                    p.disturbed |= any(e.at + (page - e.page) * PAGE in i.untouched for page in self.image.touched(e, i.mark)) # written since
        for p in programs:
            for i in p.inodes.values():
                i.mark = self.image.number
                for e in i.extents:
                    self.image.mark(e, i.mark)
        after = device_stat()
        if after[4] != before[4] or after[8]: # writes that ended, requests under way: one of them may be behind a mark
            for p in programs:
                p.disturbed = True

    # -- calls

    def call(self, p, number, worker, who, op, c):
        p.number = number
        words = ["%s=%s" % kv for kv in c.items()]
        answer = worker.ask(" ".join([op, "seed=%d" % (number + 7)] + words))
        reply = {k: int(v) for k, v in answer.items() if k not in ("folios", "parts")}
        reply["parts"] = [int(n) for n in answer.get("parts", "").split(":") if n]
        ret = reply["ret"]
        inode = None
        if "ino" in reply:
            reply["folios"] = [tuple(int(x) for x in w.split(":")) for w in answer.get("folios", "").split(",") if w]
            reply["at"], reply["begin"] = place(op, c, reply, ret)
        copied = op == "copy" and reply.get("ino") and ret > 0 and not (reply["at"] % PAGE or c["soff"] % PAGE) # else nothing can be shared
        writes = self.look(p, ((reply["ino"], reply["gen"]), touched(reply, ret)) if copied else None, moved_from(op, c))
        if is_btrfs() and "x" in c.get("mode", "") and op in BYTES and ret > 0 and is_aligned(c, reply):
            self.wait_direct(p, (reply["ino"], reply["gen"]), set(touched(reply, ret)), writes)
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
        if inode and is_xfs() and ret == 0 and op == "fallocate" and c["flags"] & FALLOC_COLLAPSE:
            self.tail_moved(p, who, reply["size_after"] // PAGE, c["len"] // PAGE, inode, writes.get(inode, set()))
        p.ledger.append("%s %s ret=%d errno=%d at=%s size=%s..%s%s%s" % (
            p.label, p.lines[number] if number < len(p.lines) else op, ret, reply["errno"], reply.get("at"), reply.get("size"),
            reply.get("size_after"), " folios=" + answer["folios"] if answer.get("folios") else "",
            "".join(" written:%d=%s" % (i.key[0], ranges(ps)) for i, ps in writes.items())))
        p.apply(who, op, c, reply, inode, writes, ret)
        self.forget_dead(p)
        self.mark([p])

    def tail_moved(self, p, who, page, pages, inode, written):
        """XFS may write the block where the file ends now, whose rest it has zeroed, before it collapses by so many `pages` any more: the block was
        seen where it was before, and nobody had dirtied it there."""
        if page + pages in written and page + pages not in inode.claims:
            written.discard(page + pages)
            p.maybe[inode.key, page, who] += 1

    def wait_direct(self, p, key, pages, writes):
        """btrfs enters the blocks of a direct write into the file a moment after the call has returned: `writes` gets what appears."""
        for _ in range(300):
            if pages <= writes.get(p.inodes.get(key), set()):
                return
            self.mark([p])
            time.sleep(0.01)
            for i, ps in self.look(p).items():
                writes.setdefault(i, set()).update(ps)

    def forget_dead(self, p):
        for i in p.inodes.values():
            if not i.alive:
                if i.cut and is_xfs():  # begins to write what was cut when it is closed, and then the file is gone with its blocks
                    p.flushed_perhaps(i)
                if i.begun and is_btrfs():  # an extent of which a part was written keeps it, until somebody writes the rest with all else
                    p.flushed_perhaps(i)
                    i.begun.clear()
                p.cancel(i, 0)

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
        compare(self)


# ---- main

def run_batch(programs, options, tag, last=True):
    """last: programs that are disturbed are not run once more."""
    if options["keep"]:
        store = "%s/%s.sqlite" % (options["keep"], tag)
        if os.path.exists(store):
            os.unlink(store)
        batch = Batch(programs, store, options["exchange"], last)
        batch.go()
        return batch
    with tempfile.TemporaryDirectory(prefix="iot-random.") as where:
        batch = Batch(programs, where + "/run.sqlite", options["exchange"], last)
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
    if is_btrfs():  # whose copies share what they are to write
        only = [name for name in only or CALLS if name != "copy"]
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
    if refusal():
        sys.exit("random-programs: " + refusal())
    if is_ext4():
        punch_writes()  # while there is room, and nothing is traced
    step = 1 if is_overlay() else int(options["batch"])
    if options["full"]:
        fill(int(options["full"]) << 10)
    errors = []
    for n in range(0, len(programs), step):
        part = programs[n:n + step]
        batch = run_batch(part, options, "batch%d" % n, last=False)
        for left in (2, 1, 0):  # somebody's sync(2) came in the middle of a call, or between looking and marking: nobody knows what it found
            again = [p for p in part if p.disturbed]
            if not again:
                break
            fresh = [p.again() for p in again]
            print("seeds %s were disturbed: once more" % ",".join(p.label for p in again))
            batch.errors += run_batch(fresh, options, "again%d" % n, last=not left).errors
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
