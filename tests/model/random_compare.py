# SPDX-License-Identifier: GPL-3.0-only
"""random_compare.py - what iot says of a batch of programs, beside what the model says."""
import collections
import os
import subprocess

from random_device import is_overlay, is_xfs
from random_generate import PAGE, parse
from random_model import BYTES, NOBODY, OTHER_SIDE, STRANGER, UNSEEN, ranges

HERE = os.path.dirname(os.path.abspath(__file__))
ANALYZE = os.environ.get("IOT_BUILD", HERE + "/../../build") + "/iot-analyze"


def sql(batch, query):
    out = subprocess.run(["sqlite3", "-readonly", "-separator", " ", batch.store, query], stdout=subprocess.PIPE, check=True, text=True)
    return [line.split(" ") for line in out.stdout.splitlines()]


def compare(batch):
    other = {"1": "2", "2": "1"} if batch.exchange else {}
    pids = {pid: (p, other.get(who, who)) for p in batch.programs for who, pid in p.pids.items()}
    inodes = {key: p for p in batch.programs for key in p.inodes}
    names, of = {"0": NOBODY, "2": STRANGER}, {}
    for owner, pid in sql(batch, "SELECT id, pid FROM process WHERE id > 2"):
        if pid in pids:
            of[owner], names[owner] = pids[pid]
    major, minor = os.environ["IOT_DEVNO"].split(":") # of the device: btrfs has numbers of its own
    dev = int(major) << 20 | int(minor)
    got = collections.defaultdict(collections.Counter)
    got_direct = collections.defaultdict(collections.Counter)
    for cause, owner, ino, gen, off, size in sql(batch,
            "SELECT c.name, COALESCE(e.owner, 0), COALESCE(f.ino, 0), COALESCE(f.gen, 0), COALESCE(e.offset, 0), e.bytes FROM event e "
            "JOIN kind k ON k.id = e.kind JOIN cause c ON c.id = e.cause LEFT JOIN file f ON f.run = e.run AND f.id = e.file "
            "WHERE k.name = 'fs_write' AND c.name IN ('data', 'direct', 'unknown') AND e.dev = %d" % dev):
        key, off, size = (int(ino), 0 if is_overlay() else int(gen)), int(off), int(size)
        who = names.get(owner, "process " + owner)
        p = inodes.get(key) or of.get(owner)
        if not p and who in UNSEEN:
            pass  # of files that nobody who is wanted used
        elif not p:
            batch.errors.append("%s: %d bytes of %s are of no file of the programs (inode %s)" % (cause, size, who, key))
        elif cause == "data":
            for page in range(off // PAGE, (off + size - 1) // PAGE + 1):
                got[p][key, page, who] += 1
        else:
            got_direct[p][key, who] += size
    got_bytes = collections.defaultdict(collections.Counter)
    for pid, kind, size in sql(batch,
            "SELECT p.pid, k.name, SUM(t.bytes) FROM agg_total t JOIN process p ON p.run = t.run AND p.id = t.owner "
            "JOIN kind k ON k.id = t.kind JOIN layer y ON y.id = k.layer JOIN sub s ON s.id = t.sub "
            "WHERE y.name IN ('syscall', 'uring') AND s.name = 'regular' AND k.dir IN ('w', 'r') AND p.id > 2 GROUP BY 1, 2"):
        if pid in pids:
            p, who = pids[pid]
            if kind in BYTES.values() or kind in OTHER_SIDE.values():
                got_bytes[p][who, kind] += int(size)
    for p in batch.programs:
        p.exposed_before = +p.exposed
        p.errors = compare_pages(p, got[p]) + compare_sums(p, "direct", seen(p.direct, 1), got_direct[p], p.direct_less) + compare_sums(
            p, "S", seen(p.calls_bytes, 0), got_bytes[p])
    compare_unseen(batch, dev)
    compare_run(batch, dev)


def compare_unseen(batch, dev):
    """Bytes of those that have no events, and of all together, by the run's sums."""
    if not batch.last and any(p.disturbed for p in batch.programs):
        return  # nobody knows what they wrote; they are run once more
    for name, condition, wanted in (("nobody", "t.owner = 0", (NOBODY,)), ("stranger", "t.owner = 2", (STRANGER,)), ("all", "1", None)):
        low = sum(n for p in batch.programs for k, n in p.want.items() if not wanted or k[2] in wanted) * PAGE
        low += sum(n for p in batch.programs for k, n in p.direct.items() if not wanted or k[1] in wanted)
        either = sum(n for p in batch.programs for k, n in p.unseen.items() if not wanted or wanted[0] in k[2]) * PAGE
        low += 0 if wanted else either
        high = low + sum(n for p in batch.programs for k, n in p.maybe.items() if not wanted or k[2] in wanted) * PAGE + (either if wanted else 0)
        got = int(sql(batch, "SELECT COALESCE(SUM(t.bytes), 0) FROM agg_total t JOIN kind k ON k.id = t.kind JOIN cause c ON c.id = t.cause "
                           "WHERE k.name = 'fs_write' AND c.name IN ('data', 'direct', 'unknown') AND t.dev = %d AND %s" % (dev, condition))[0][0])
        exposed = sum(n for p in batch.programs for n in p.exposed_before.values()) * PAGE if wanted else 0
        if not low - exposed <= got <= high + exposed:
            batch.errors.append("file data of %s: %d, but iot says %d" % (name, low, got))


def compare_run(batch, dev):
    for n, what, effect in sql(batch, "SELECT n, replace(what, ' ', '_'), effect FROM lost WHERE n > 0"):
        batch.errors.append("lost: %s %s (%s)" % (n, what, effect))
    total = int(sql(batch, "SELECT COALESCE(SUM(t.bytes), 0) FROM agg_total t JOIN kind k ON k.id = t.kind "
                         "WHERE k.name = 'block_write' AND t.dev = %d" % dev)[0][0])
    # xfsaild writes structures when it likes, also when the trace has ended: then verify has the counter of its end
    if not (0 if is_xfs() else batch.device[0]) <= total <= batch.device[1]:
        batch.errors.append("device bytes: iot says %d, /sys/block %d to %d" % (total, *batch.device))
    v = subprocess.run([ANALYZE, "verify", batch.store], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    bad = [line for line in v.stdout.splitlines() if "MISMATCH" in line and not line.startswith("OK:")]
    if bad:
        batch.errors.append("verify: %d MISMATCH, such as: %s" % (len(bad), bad[0]))


def kind_of(line):
    """A call without its file and numbers, for statistics."""
    who, op, c = parse(line)
    words = [op] + ["%s=%s" % (k, c[k]) for k in ("mode", "rwf", "kind", "flags") if c.get(k)]
    words += ["off=-1"] if c.get("off") == -1 else []
    words += ["fails"] if c.get("bad", -1) >= 0 or c.get("limit", -1) >= 0 else []
    words += [">16 iovecs"] if c.get("n", 0) > 16 else []
    return ("before the run: " if who == "b" else "stranger: " if who == "x" else "") + " ".join(words)


def compare_pages(p, got):
    """Pages by (inode, who that has them, who should): one line each, with the call that dirtied them."""
    wrong = collections.defaultdict(list)
    spare = collections.defaultdict(list)
    for key, page, whose in p.choices:
        less = [w for w in whose if p.want[key, page, w] > got[key, page, w]]
        more = [w for w in whose if p.want[key, page, w] < got[key, page, w]]
        if not less:  # who is wanted may have it besides
            less = [w for w in whose if p.want[key, page, w] and p.maybe[key, page, w]] if more else []
        if less and (more or NOBODY in whose or STRANGER in whose):
            p.want[key, page, less[0]] -= 1
            if more:
                p.want[key, page, more[0]] += 1
                continue
            p.unseen[key, page, tuple(w for w in whose if w in UNSEEN)] += 1
    for k, n in (got - p.want).items():
        n -= p.maybe.get(k, 0)
        spare[k[0], k[1]] += [k[2]] * max(n, 0)
    for k, n in sorted((p.want - got).items(), key=lambda item: item[0][2] in UNSEEN): # what has no events explains nothing of what others lack
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


def compare_sums(p, what, want, got, less=collections.Counter()):
    return ["%s %s: %d, but iot says %d" % (what, k, want[k], got[k]) for k in sorted(set(want) | set(got), key=str)
            if not want[k] - less[k] <= got[k] <= want[k]]
