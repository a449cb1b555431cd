# SPDX-License-Identifier: GPL-3.0-only
"""random_model.py - whose each page is that is written back, by what the calls returned: see random-programs.py."""
import collections

from random_device import is_btrfs, is_ext4, is_overlay, is_xfs, punch_writes, xfs_shares
from random_generate import PAGE, RWF_APPEND, RWF_DONTCACHE, RWF_DSYNC, RWF_NOAPPEND, RWF_SYNC, parse

FALLOC_PUNCH, FALLOC_COLLAPSE, FALLOC_ZERO, FALLOC_INSERT = 2, 8, 0x10, 0x20
NOBODY, STRANGER = "nobody", "stranger"
UNSEEN = (NOBODY, STRANGER)   # no events: their pages are only summed

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


Claim = collections.namedtuple("Claim", "who call strong exposed others", defaults=(False, ()))


class Inode:
    def __init__(self, key, program):
        self.key, self.program = key, program
        self.claims = {}      # page: Claim
        self.extents = []
        self.mark = 0         # number of the pattern on its blocks
        self.untouched = set() # where blocks are that nobody had written when they were looked at last
        self.size = 0
        self.alive = True
        self.cut = False      # shortened since it was closed last
        self.shared = set()   # pages whose blocks became those of another file in the call that was looked at last
        self.unsure = set()   # pages copied to whose blocks stayed shared, or unwritten: XFS does nothing where both sides are
        self.begun = set()    # pages that may have been written, but btrfs shows a new extent only when all of it is


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
        self.unseen = collections.Counter()  # (inode key, page, who): one of those who have no events has it
        self.direct = collections.Counter()  # (inode key, who)
        self.direct_less = collections.Counter() # the same: of these, it may have fewer, which went through the cache
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
            claim = inode.claims.pop(page)
            if page in inode.begun:
                self.perhaps(inode, page, claim)

    def flushed(self, inode, first, last):
        """What is dirty may be written before it is punched out (punch_writes()): new blocks are gone then, and the device does not tell."""
        for page in [p for p in inode.claims if first <= p <= last]:
            claim = inode.claims.pop(page)
            if claim.strong:
                self.charge(inode, page, claim)
            else:
                self.perhaps(inode, page, claim)

    def flushed_perhaps(self, inode):
        for page, claim in inode.claims.items():
            self.perhaps(inode, page, claim)

    def perhaps(self, inode, page, claim):
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
        if is_direct and is_btrfs() and not is_aligned(c, reply):
            is_direct, syncs = False, True  # through the cache, and written before the call returns
        claims = set()
        if reply.get("parts") and inode:
            for one in requests(c, reply):
                claims |= set(touched(one, one["ret"])) if one["ret"] > 0 else set()
        elif moves and inode and not is_direct:
            claims = set(touched(reply, ret)) if ret > 0 else set()
        if op == "copy" and inode and inode.shared:
            claims = set()  # it made nothing dirty
        if op == "store" and inode:
            claims = {p for p, _, _ in reply["folios"]}
        later = []  # by what the call itself may do beside its bytes, such as zeroing
        waits = set(inode.begun) if inode and (op == "store" or moves) else set()  # what was begun is written before a store or a copy
        if op == "copy" and inode and xfs_shares():
            waits |= inode.claims.keys() & claims  # as is what is dirty there, before it is seen that these blocks cannot be shared
        between = xfs_between(c, reply) if inode and is_xfs() and reply.get("parts") else set()
        for i, ps in writes.items():
            for page in ps & i.begun if syncs else ():
                if page in i.claims:  # once before the call copies to it, or zeroes what is behind the end there
                    self.perhaps(i, page, i.claims[page])
                if i is inode and reply["begin"] > reply["size"] and page == reply["size"] // PAGE:
                    self.maybe[i.key, page, who] += 1
            i.begun -= ps
        if not syncs:
            for i, ps in writes.items():
                if i is inode and (ps & claims) - waits - between:
                    self.disturbed = True  # somebody else's sync in the middle of the call
                for page in ps - self.direct_pages(i, inode, is_direct, reply, ret):
                    claim = i.claims.get(page)
                    if i is inode and page in between:
                        later.append((i, page, claim))
                    elif claim and (claim.strong or page in waits or is_direct and ret <= 0):
                        self.written(i, page) # a direct call writes what is dirty before it is refused, and may zero then
                    else:
                        later.append((i, page, claim))
        if inode and is_direct:
            self.apply_direct(who, c, inode, reply, ret, writes.get(inode, set()))
        elif inode and reply.get("parts"):
            for one in requests(c, reply):
                if one["errno"] != 125:  # canceled
                    self.apply_write(who, op, c, inode, one, one["ret"])
        elif inode and moves:
            self.apply_write(who, op, c, inode, reply, ret)
        elif inode and op == "store":
            self.apply_store(who, inode, reply)
        elif inode and op in ("truncate", "path_truncate") and ret == 0:
            inode.cut |= c["len"] < reply["size"]
            self.cancel(inode, (c["len"] + PAGE - 1) // PAGE)
            edge = min(c["len"], reply["size"])
            if edge % PAGE:
                self.claim(inode, edge // PAGE, edge // PAGE, who, False)
        elif inode and op == "fallocate" and ret == 0:
            self.apply_fallocate(who, c, inode, reply, writes.get(inode, set()))
        elif inode and op == "open" and "t" in mode and reply["size"] == 0 and inode.size:
            self.cancel(inode, 0)
        if syncs:
            for i, ps in writes.items():
                for page in ps - self.direct_pages(i, inode, is_direct, reply, ret):
                    self.written(i, page)
        for i, page, claim in later:
            if claim and page not in i.claims:
                self.charge(i, page, claim)
            else:
                self.written(i, page)
        if inode and is_xfs() and reply.get("parts") and reply["size"] % PAGE and reply["size"] // PAGE in writes.get(inode, set()):
            page = reply["size"] // PAGE  # several requests behind the end at once zero the rest of its block, and each writes it before
            if sum(one["begin"] > reply["size"] for one in requests(c, reply)) > 1:
                self.maybe[inode.key, page, who] += 1
                self.claim(inode, page, page, who, False)
        for one in requests(c, reply)[1:] if inode and is_xfs() and reply.get("parts") else ():
            page = one["size"] // PAGE  # where requests before it of the same call moved the end to: as much for what they left there
            if one["begin"] > one["size"] > reply["size"] and one["size"] % PAGE and page in writes.get(inode, set()):
                self.maybe[inode.key, page, who] += 1
                self.claim(inode, page, page, who, False)
        if op == "copy" and inode and is_xfs() and ret > 0 and reply["begin"] > reply["size"] and reply["size"] % PAGE:
            page = reply["size"] // PAGE  # as xfs_zeroed(): written for what was dirty there, and once more with the rest zeroed
            self.maybe[inode.key, page, who] += page in writes.get(inode, set())
        if op == "fallocate" and inode and ret == 0 and (not is_ext4() or punch_writes()):
            self.zeroed_after(who, c, inode, writes.get(inode, set()))
        if inode and is_btrfs() and (op in ("range", "msync", "forget", "fallocate", "truncate", "path_truncate") or "x" in mode):
            inode.begun |= inode.claims.keys() - writes.get(inode, set())
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
        return set(touched(reply, ret))

    def apply_direct(self, who, c, inode, reply, ret, written):
        """What others had dirty there is written first, by the call but for them; then the call's own bytes. A call that
        is refused for its alignment may have zeroed the rest of the last block before; on ext4 only where it was to move the end, also
        that on the disk, which was behind where anything was dirty."""
        if ret <= 0:
            if reply["errno"] == 22 and c["len"]:
                moves_end = reply["begin"] + c["len"] > reply["size"] or bool(written or inode.claims) # others' claims, not yet its own
                self.claim(inode, reply["begin"] // PAGE, (reply["begin"] + c["len"] - 1) // PAGE, who, False)
                if reply["size"] % PAGE and (not is_ext4() or moves_end):
                    self.claim(inode, reply["size"] // PAGE, reply["size"] // PAGE, who, False)
            return
        own = self.direct_pages(inode, inode, True, reply, ret)
        if is_ext4() and any(p in inode.claims and p * PAGE >= reply["size"] for p in own):
            # a page behind the end, begun by a call that failed, may be dirty: it is not written before, and stays in the cache
            self.direct_less[inode.key, who] += ret
            for page in own:
                self.maybe[inode.key, page, who] += 1
        for page in own:
            claim = inode.claims.pop(page, None)
            if claim and claim.strong:
                self.charge(inode, page, claim)
            elif claim and not (is_ext4() and page * PAGE >= reply["size"]):
                self.perhaps(inode, page, claim)
        if own - written:
            self.gap(inode, "of a direct write, not on the device", *(own - written))
        self.direct[inode.key, who] += ret + padding(reply["begin"], reply["begin"] + ret, reply["size"])
        self.tail(who, inode, reply)

    def tail(self, who, inode, reply):
        """A write behind the end of the file may zero the rest of the block where the end was; one that fails with
        EFAULT too: it moves the end of an ext4 file to where it would have begun."""
        if reply["begin"] > reply["size"] and reply["size"] % PAGE:
            self.claim(inode, reply["size"] // PAGE, reply["size"] // PAGE, who, False)

    def apply_write(self, who, op, c, inode, reply, ret):
        if op == "copy" and inode.shared:
            self.tail(who, inode, reply)
            return
        for page in touched(reply, ret) if ret > 0 else ():
            self.claim(inode, page, page, who, not (op == "copy" and may_be_shared(c, reply, ret, page) and page in inode.unsure))
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
                    if first in faulted and old and old.who == who:
                        continue # not a fault of its own
                    self.claim(inode, p, p, who, True)
                    if first in faulted and others:
                        inode.claims[p] = inode.claims[p]._replace(exposed=True)
                elif not old or not old.strong:
                    self.claim(inode, p, p, who, p < end)
                    if old and {old.who, *old.others} != {who}: # it may have been dirty, and then it is exposed
                        inode.claims[p] = inode.claims[p]._replace(others=old.others + (old.who, who, NOBODY))
                elif others:
                    inode.claims[p] = old._replace(exposed=True)
            faulted.add(first)

    def apply_fallocate(self, who, c, inode, reply, written):
        end = c["off"] + c["len"]
        if c["flags"] & (FALLOC_COLLAPSE | FALLOC_INSERT):
            self.cancel(inode, c["off"] // PAGE)  # what is behind was written before it was moved
            if is_xfs():
                self.xfs_shifted(who, c, inode, reply, written)
            return
        last = reply["size"] + -reply["size"] % PAGE * is_btrfs()  # whose files end with a block
        if c["flags"] & FALLOC_PUNCH and end > last:  # beyond the end of the file: its last page is dropped whole
            if not is_xfs() and c["off"] >= last:
                return  # no hole is made there
            end = ((end if is_xfs() else last) + PAGE - 1) // PAGE * PAGE
        if c["flags"] & (FALLOC_PUNCH | FALLOC_ZERO):
            was_dirty = reply["size"] // PAGE in inode.claims
            if not is_ext4() or (c["flags"] & FALLOC_PUNCH and punch_writes()):
                self.flushed(inode, (c["off"] + PAGE - 1) // PAGE, end // PAGE - 1)
            self.cancel(inode, (c["off"] + PAGE - 1) // PAGE, end // PAGE - 1)
            for edge in (c["off"], end):
                if edge % PAGE:
                    self.claim(inode, edge // PAGE, edge // PAGE, who, False)
            if is_xfs():
                self.xfs_zeroed(who, c, inode, reply, written, was_dirty)
        elif is_ext4() and end % PAGE:  # room: of a page in the cache that is behind the old end the rest of the block is zeroed
            self.claim(inode, end // PAGE, end // PAGE, who, False)
        grows = end if is_btrfs() and not c["flags"] & FALLOC_PUNCH else reply["size_after"]  # as if its size were not kept
        if grows > reply["size"] and reply["size"] % PAGE:
            page = reply["size"] // PAGE
            if is_btrfs() and c["flags"] & FALLOC_ZERO and c["off"] <= page * PAGE and (was_dirty or page not in written):
                self.maybe[inode.key, page, who] += 1  # zeroed, perhaps beside what was dirty there, written, and then made unwritten again
            else:
                if is_xfs() and page in written:  # since 6.12 what was dirty is written before the rest is zeroed, and then that too
                    self.maybe[inode.key, page, who] += 1
                self.claim(inode, page, page, who, False)

    def xfs_shifted(self, who, c, inode, reply, written):
        """XFS sets the new size as a truncation does: after a collapse the rest of the block where the file now ends is zeroed; before
        an insertion that of the block where it ended, which is written before it is moved."""
        page = reply["size_after" if c["flags"] & FALLOC_COLLAPSE else "size"] // PAGE
        if reply["size"] % PAGE and (c["flags"] & FALLOC_COLLAPSE or page in written):
            self.claim(inode, page, page, who, False)

    def zeroed_after(self, who, c, inode, written):
        """XFS and btrfs write what is dirty in a range that they zero or make a hole, such as the block where the file ends, and then zero
        the edges: a page that was written during the call may be dirty again."""
        for edge in (c["off"], c["off"] + c["len"]):
            if c["flags"] & (FALLOC_PUNCH | FALLOC_ZERO) and edge % PAGE and edge // PAGE in written:
                self.claim(inode, edge // PAGE, edge // PAGE, who, False)

    def xfs_zeroed(self, who, c, inode, reply, written, was_dirty):
        """XFS writes the block where the file ends, if it zeroes up to there, and once more when it sets a new size: the device shows
        only that it was written, perhaps for what was dirty there already."""
        page = reply["size"] // PAGE
        if c["off"] + c["len"] >= reply["size"] and reply["size"] % PAGE and page in written:
            self.maybe[inode.key, page, who] += 2
            if not was_dirty:
                self.claim(inode, page, page, who, False)


# calls that move bytes into a file, and the kind that they are counted as
BYTES = {"write": "write", "pwrite": "pwrite64", "writev": "writev", "pwritev": "pwritev", "pwritev2": "pwritev",
         "sendfile": "sendfile_out", "copy": "copy_out", "splice": "splice_out", "aio": "aio_write", "uring": "uring_write",
         "child": "write", "thread": "write", "aios": "aio_write", "urings": "uring_write"}
OTHER_SIDE = {"sendfile": "sendfile_in", "copy": "copy_in"}


def padding(begin, end, size):
    """Bytes of zeros that a direct write [begin, end) puts into blocks that the file of `size` bytes did not have: what is left of them."""
    new = (size + PAGE - 1) // PAGE * PAGE
    return (begin % PAGE if begin // PAGE * PAGE >= new else 0) + (-end % PAGE if end // PAGE * PAGE >= new else 0)


def is_aligned(c, reply):
    """Whether btrfs takes a direct write as such: whole blocks. Each piece of memory is whole pages (segments() of the worker)."""
    return not (reply["begin"] % PAGE or c["len"] % PAGE)


def requests(c, reply):
    """What each of several requests returned, as the reply of a call of its own."""
    out, size = [], reply["size"]
    for i, ret in enumerate(reply["parts"]):
        one = dict(reply, ret=max(ret, -1), errno=max(-ret, 0), size=size)
        one["at"] = one["begin"] = size if "a" in c.get("mode", "") else c["off"] + i * c["step"]
        if ret > 0:
            size = max(size, one["at"] + ret)
        out.append(one)
    return out


def xfs_between(c, reply):
    """The pages that requests copied to before another of the same call began behind the end of the file: XFS writes what is dirty where
    that was, folios whole, before it zeroes the rest of the block."""
    before, gap = set(), False
    for one in requests(c, reply):
        gap |= bool(before) and one["ret"] > 0 and one["begin"] > one["size"]
        if one["ret"] > 0 and not gap:
            before |= set(touched(one, one["ret"]))
        elif one["ret"] > 0:
            before -= set(touched(one, one["ret"]))
    return before if gap else set()


def may_be_shared(c, reply, ret, page):
    """Whether XFS may share a page that was copied to: whole blocks, and the last one of the file that is copied from."""
    whole = reply["at"] <= page * PAGE and (page + 1) * PAGE <= reply["at"] + ret
    return xfs_shares() and (whole or ret < c["len"])


def touched(reply, ret):
    """The pages that the bytes of a call lie on."""
    return range(reply["at"] // PAGE, (reply["at"] + ret - 1) // PAGE + 1)


def moved_from(op, c):
    """A call that moves what is behind a range of a file, all of it written by then: where a page of it was. Others: None."""
    first, pages = c.get("off", 0) // PAGE, c.get("len", 0) // PAGE
    if op != "fallocate" or not c["flags"] & (FALLOC_COLLAPSE | FALLOC_INSERT):
        return None
    if c["flags"] & FALLOC_COLLAPSE:
        return lambda page: page + pages if page >= first else page
    return lambda page: page - pages if page >= first + pages else page


def place(op, c, reply, ret):
    """Where the call's bytes went, and where they would have begun."""
    rwf = max(c.get("rwf", 0), 0)
    if op == "pwritev2" and is_overlay():  # which hands it not down: the file below appends
        rwf &= ~RWF_NOAPPEND
    if ("a" in c.get("mode", "") or rwf & RWF_APPEND) and not rwf & RWF_NOAPPEND:
        return reply["size_after"] - max(ret, 0), reply["size"]
    if op in ("write", "writev", "child", "sendfile") or c.get("off", -1) == -1:
        return reply["pos_after"] - max(ret, 0), reply["pos"]
    return c["off"], c["off"]
