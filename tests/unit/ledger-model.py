#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-only
"""ledger-model.py SEED events|rows - random events of three files and four owners as JSON Lines, or the ledger that they must
have, worked out block by block with a dictionary."""
import collections
import random
import sys

rnd = random.Random(int(sys.argv[1]))
BLOCK = 4096
COLUMNS = ("touched", "dirtied", "absorbed", "written", "direct", "cancelled", "dirty_end", "unexpected")
dirty = collections.defaultdict(dict)
may = collections.defaultdict(dict)   # dirty if a bio of anybody who is known carries it
rows = collections.defaultdict(lambda: dict.fromkeys(COLUMNS, 0))
events = []

for ts in range(1, 6000):
    f, o = rnd.randrange(1, 4), rnd.randrange(3, 7)
    first, n = rnd.randrange(400), rnd.choice((1, 1, 2, 5, 40))
    held = dirty[f]
    extra, what = "", rnd.random()
    if what < 0.5:
        kind, offset, size = "pwrite64", first * BLOCK + rnd.randrange(BLOCK), rnd.randrange(1, n * BLOCK + 1)
        blocks = range(offset // BLOCK, (offset + size + BLOCK - 1) // BLOCK)
        extra = ',"sub":"regular"'
        row = rows[f, o]
        row["touched"] += len(blocks) * BLOCK
        for b in blocks:
            row["absorbed" if b in held else "dirtied"] += BLOCK
            held.setdefault(b, o)
            may[f].pop(b, None)
    elif what < 0.6:
        kind, offset, size = "dirty_mmap", first * BLOCK, n * BLOCK
        sure = rnd.randrange(n + 1)
        for b in range(first, first + sure):
            may[f].pop(b, None)
            if b not in held:
                held[b] = o
                rows[f, o]["dirtied"] += BLOCK
        for b in range(first + sure, first + n):
            may[f][b] = o
        rows[f, o]
    elif what < 0.96:
        kind, offset, size = "fs_write", first * BLOCK, n * BLOCK
        extra = ',"cause":"data"'
        rest = sum(b not in held for b in range(first, first + n))
        mine = min(rest, sum(may[f].pop(b, None) is not None for b in range(first, first + n))) if o else sum(0 for b in range(first, first + n) if may[f].pop(b, None))
        for b in range(first, first + n):
            if b in held:
                rows[f, held.pop(b)]["written"] += BLOCK
        if rest:
            rows[f, o]["written"] += rest * BLOCK
            rows[f, o]["dirtied"] += mine * BLOCK
            rows[f, o]["unexpected"] += (rest - mine) * BLOCK
    else:
        kind = rnd.choice(("fs_truncate", "fs_punch", "fs_taken", "fs_evict"))
        offset, size = first * BLOCK + rnd.choice((0, 1, 4095)), n * BLOCK
        low = 0 if kind == "fs_evict" else (offset + BLOCK - 1) // BLOCK
        high = (offset + size) // BLOCK if kind in ("fs_punch", "fs_taken") else 1 << 60
        for b in [b for b in held if low <= b < high]:
            rows[f, held.pop(b)]["cancelled"] += BLOCK
        for b in [b for b in may[f] if low <= b < high]:
            del may[f][b]
    nbytes = 0 if kind in ("fs_truncate", "fs_punch", "fs_taken", "fs_evict") else sure * BLOCK if kind == "dirty_mmap" else size
    events.append('{"t":"event","ts_ns":%d,"offset":%d,"size":%d,"bytes":%d,"owner":%d,"file":%d,"kind":"%s"%s}' % (ts, offset, size, nbytes, o, f, kind, extra))
for f, held in dirty.items():
    for o in held.values():
        rows[f, o]["dirty_end"] += BLOCK

if sys.argv[2] == "events":
    # told a little out of order, as events of several processors are
    order = sorted(range(len(events)), key=lambda i: i + rnd.randrange(40))
    print("\n".join(events[i] for i in order))
else:
    for (f, o), row in sorted(rows.items()):
        print("|".join(str(v) for v in (f, o, *(row[c] for c in COLUMNS))))
        assert row["dirtied"] + row["unexpected"] == row["written"] + row["cancelled"] + row["dirty_end"]
