#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-only
"""damage.py TOOL ASAN_TOOL N - puts random damage into one line of the run on stdin, N times, and reads it by the fast
way, by the careful way and by the careful way under sanitizers: status, output and message must be the same."""
import random
import subprocess
import sys

tool, asan, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
lines = sys.stdin.buffer.read().split(b"\n")[:-1]
bits = [b'"', b"\\", b",", b":", b"{", b"}", b"[", b"]", b"0", b"-", b"9" * 20, b"1e5", b".5", b"\x00", b"\x01", b"\xff", b"\\u0041", b"\\udc80",
        b"\\ud800", b" ", b"\t", b"\r", b"null", b"true", b'"t"', b'"kind":"read"', b',"bytes":1', b"\xc3\xa9", b"e", b"\n"]


def damage(line, rnd):
    line = bytearray(line)
    for _ in range(rnd.choice((1, 1, 1, 2, 3))):
        at = rnd.randrange(len(line) + 1)
        what = rnd.randrange(5)
        if what == 0:
            line[at:at] = rnd.choice(bits)
        elif what == 1:
            del line[at:at + rnd.choice((1, 1, 2, 8))]
        elif what == 2:
            line[at:at + 1] = rnd.choice(bits)
        elif what == 3 and line:
            line[at % len(line)] ^= 1 << rnd.randrange(8)
        else:
            parts = bytes(line).split(b",")
            parts.insert(rnd.randrange(len(parts) + 1), rnd.choice(parts))
            line = bytearray(b",".join(parts))
    return bytes(line)


def answer(command, data):
    done = subprocess.run(command, input=data, capture_output=True, timeout=60)
    return done.returncode, done.stdout, done.stderr.split(b": ", 1)[-1]


refused = 0
for seed in range(rounds):
    rnd = random.Random(seed)
    copy = list(lines)
    events = [i for i, l in enumerate(copy) if b'"event"' in l]
    at = rnd.choice(events) if rnd.random() < 0.7 else rnd.randrange(len(copy))
    copy[at] = damage(copy[at], rnd)
    data = b"\n".join(copy) + rnd.choice((b"\n", b"\n", b""))
    first = answer([tool, "copy"], data)
    refused += first[0] != 0
    for command in ([tool, "careful-copy"], [asan, "copy"], [asan, "careful-copy"]):
        other = answer(command, data)
        if other != first or first[0] not in (0, 1, 3):
            sys.exit("seed %d, %s: %r\n%r\nbut %s: %r" % (seed, copy[at], first[0], first[2], command, other[::2]))
if not rounds // 4 < refused < rounds:
    sys.exit("%d of %d refused: the damage is too small or too large to test anything" % (refused, rounds))
