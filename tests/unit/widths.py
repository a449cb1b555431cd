#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-only
"""widths.py - events with numbers at the bounds of every width, and whether a store holds them.

usage: widths.py write N          prints N event lines
       widths.py check N STORE    says whether table event of STORE holds what they say, in their order
"""
import random
import sqlite3
import sys

FIELDS = [("ts_ns", 64), ("dur_ns", 64), ("queue_ns", 64), ("offset", 64), ("size", 64), ("bytes", 64), ("task", 32), ("tid", 32),
          ("owner", 32), ("file", 32), ("flags", 32), ("arg", 32), ("err", 16), ("cpu", 16)]
BOUNDS = [0, 1, 2] + [(1 << b) + d for b in (7, 8, 15, 16, 23, 24, 31, 32, 39, 40, 47, 48, 55, 56, 63, 64) for d in (-2, -1, 0, 1)]


def line(e):
    numbers = ",".join('"%s":%d' % (name, e[name]) for name, _ in FIELDS if e[name] or name == "ts_ns")
    return '{"t":"event",%s,"kind":"read","layer":"syscall"}\n' % numbers


def row(e):
    return tuple(e[name] - (e[name] >> 63 << 64) if e[name] or name == "ts_ns" else None for name, _ in FIELDS)


def large(wide, last):
    e = {name: (1 << bits) - 101 + last for name, bits in FIELDS}
    e["size"] = e["bytes"] - wide
    return e


def events(n, make):
    """What is made of each. Seven of eight are large, so that 200,000 are more than a transaction holds; of the other numbers a third
    is 0, and of the sizes as many are what was returned."""
    rng = random.Random(1)
    choice = {bits: [b for b in BOUNDS if b < 1 << bits] for _, bits in FIELDS}
    made = [[make(large(wide, last)) for last in range(100)] for wide in range(8)]
    for i in range(n):
        if i % 8:
            yield made[i % 8][i % 100]
            continue
        e = {name: rng.choice(choice[bits]) if rng.random() < 0.67 else 0 for name, bits in FIELDS}
        if rng.random() < 0.33:
            e["size"] = e["bytes"]
        yield make(e)


def check(n, store):
    rows = sqlite3.connect(store).execute("SELECT %s FROM event ORDER BY rowid" % ", ".join(name for name, _ in FIELDS)).fetchall()
    for i, (wanted, stored) in enumerate(zip(events(n, row), rows)):
        if stored != wanted:
            return "event %d is %s, not %s" % (i, stored, wanted)
    return "%d events as they were given" % len(rows)


def main():
    n = int(sys.argv[2])
    if sys.argv[1] == "check":
        print(check(n, sys.argv[3]))
    else:
        sys.stdout.writelines(events(n, line))


main()
