#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-only
"""ring_events.py - sums the kernel's own events of io_uring by opcode.

usage: ring_events.py NAME... < trace

Reads the text of tracefs with io_uring_create, submit_req, req_failed and complete, of the rings that threads called
NAME.t create (the kernel cuts names after 15 bytes). Prints "OPCODE completions bytes errors" a line,
and "open n": requests that were submitted and not completed, such as those that want no completion. Bytes are results
above 0 of operations that move some; a notification of a send without copies is no completion of its own.
"""
import re
import sys

LINE = re.compile(r"^ *(.{1,15})-\d+ +\[\d+\] .{5} +[\d.]+: io_uring_(\w+): ring (\w+), "
                  r"(?:req (\S+), user_data (\w+), )?(.*)$")
MOVES = set("READ WRITE READV WRITEV READ_FIXED WRITE_FIXED SEND RECV SENDMSG RECVMSG SPLICE TEE SEND_ZC SENDMSG_ZC "
            "READ_MULTISHOT".split())
NOTIFICATION = 8


def main():
    names = {(name + ".t")[:15] for name in sys.argv[1:]}
    rings, opcodes, by_data, sums, open_requests = set(), {}, {}, {}, set()
    for line in sys.stdin:
        found = LINE.match(line)
        if not found:
            continue
        task, event, ring, request, data, rest = found.groups()
        if event == "create":
            (rings.add if task in names else rings.discard)(ring)
        if ring not in rings:
            continue
        if event in ("submit_req", "req_failed"):
            opcodes[ring, request] = by_data[ring, data] = re.search(r"opcode (\w+)", rest).group(1)
            open_requests.add((ring, request))
            continue
        if event != "complete":
            continue
        result, flags = int(re.search(r"result (-?\d+)", rest).group(1)), int(re.search(r"cflags (\w+)", rest).group(1), 0)
        opcode = opcodes.get((ring, request)) or by_data.get((ring, data))
        if opcode is None or flags & NOTIFICATION:
            continue
        open_requests.discard((ring, request))
        n = sums.setdefault(opcode, [0, 0, 0])
        n[0] += 1
        n[1] += result if result > 0 and opcode in MOVES else 0
        n[2] += result < 0
    for opcode, n in sorted(sums.items()):
        print(opcode, *n)
    print("open", len(open_requests))


main()
