#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-only
"""xfs-log.py BEFORE < AFTER - bytes of an XFS log by structure, from what xfs_logprint prints: those of AFTER without its first BEFORE
records. Lines "structure bytes", as the rows of `iot-analyze breakdown` are called, and how many checkpoints ended; with no BEFORE, the number of
records.

xfs_logprint lists each record with its length, and each operation in it with the length of its region. A region has a header of 12 bytes;
the first of an item says how many regions the item has. A record has a header of 512 bytes and is rounded up.
"""
import collections
import re
import sys

RECORD = re.compile(r"length of Log Record: (\d+)")
OP = re.compile(r"Oper \((\d+)\): tid: (\w+)  len: (\d+)  clientid: \w+  flags: (.*)")
ITEM = re.compile(r"(\w+):.*?#regs: *(\d+)")
BUFFER = re.compile(r"flags: 0x([0-9a-f]+)")
BLFT = ["unclassified"] + 3 * ["quota"] + ["btree"] + 3 * ["ag_header"] + ["inode"] + 9 * ["directory"] + ["superblock"] + 2 * ["realtime"]
ITEMS = {"INODE": "inode", "IUL": "inode", "DQUOT": "quota", "QUOTAOFF": "quota", "ICR": "inode_create"}


class Checkpoint:
    def __init__(self):
        self.kind, self.regions = None, 0


def kind_of_item(line):
    """Kind and number of regions of an item, by the line that follows its first operation."""
    if line.startswith("TRAN:"):
        return "log_op", 1
    name = line.split(":")[0]
    m = ITEM.match(line)
    regions = int(m.group(2)) if m else 1
    if name == "BUF":
        kind = int(BUFFER.search(line).group(1), 16) >> 11
        return BLFT[kind] if kind < len(BLFT) else "unclassified", regions
    return ITEMS.get(name, "intent"), regions


def records(lines):
    """Each record: its length without the header, and its operations as (tid, length, flags, the line that follows)."""
    record, op = None, None
    for line in lines:
        m = RECORD.search(line)
        if m:
            record, op = (int(m.group(1)), []), None
            yield record
            continue
        m = OP.match(line)
        if m and record:
            op = [m.group(2), int(m.group(3)), m.group(4), ""]
            record[1].append(op)
        elif op and not op[3] and line.strip() and not line.startswith("---"):
            op[3] = line.strip()


def main():
    found = list(records(sys.stdin))
    if len(sys.argv) < 2:
        print(len(found))
        return
    sums, checkpoints = collections.Counter(), collections.defaultdict(Checkpoint)
    for length, ops in found[int(sys.argv[1]):]:
        sums["log_header"] += 512
        sums["padding"] += length
        for tid, size, flags, text in ops:
            c, kind = checkpoints[tid], "log_op"
            sums["checkpoints"] += "COMMIT" in flags
            if not re.search("START|COMMIT|UNMOUNT", flags):
                if not c.regions and "WAS_CONT" not in flags:
                    c.kind, c.regions = kind_of_item(text)
                if not re.search(r"(^| )CONTINUE", flags):
                    c.regions -= 1
                kind = c.kind
            sums[kind] += 12 + size
            sums["padding"] -= 12 + size
    for kind, bytes_ in sorted(sums.items()):
        if bytes_:
            print(kind, bytes_)


main()
