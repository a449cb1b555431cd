#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-only
"""stack.py - the stack that the programs of a BPF object take at most, counted as kernels up to 6.1 do, where none has a stack of its own:
the frames of a chain of calls together, each rounded up to 32 bytes, at most 512. It is read from the object, which is not loaded.

usage: stack.py OBJECT...     a line for each program: bytes, and the chain of functions from it on, with their frames
"""
import re
import subprocess
import sys


def lines(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def functions(path):
    """(section, address): name"""
    sections = {m[1]: m[2] for m in (re.match(r"\s*\[\s*(\d+)\]\s+(\S+)", s) for s in lines("llvm-readelf", "-S", "-W", path)) if m}
    found = {}
    for f in (s.split() for s in lines("llvm-readelf", "-s", "-W", path)):
        if len(f) >= 8 and f[3] == "FUNC":
            found[sections.get(f[6]), int(f[1], 16)] = f[7]
    return found


def read(path):
    """frame: function: bytes; calls: function: those that it calls, or hands to a helper as a callback"""
    known = functions(path)
    names = set(known.values())
    frame, calls = {n: 0 for n in names}, {n: set() for n in names}
    section = now = before = None
    behind = None # where the call before goes, if no relocation says otherwise
    at_frame = set() # registers that point into it
    for line in lines("llvm-objdump", "-d", "-r", path):
        moved = re.match(r"\s+[0-9a-f]+:\s+R_BPF_64_(32|64)\s+(\S+)", line)
        if behind and not moved:
            calls[now].add(known[behind])
        behind = None
        if m := re.match(r"Disassembly of section (.*):", line):
            section = m[1]
        elif m := re.match(r"([0-9a-f]+) <", line):
            if (section, int(m[1], 16)) in known:
                now = known[section, int(m[1], 16)]
                at_frame = set()
        elif m := moved:
            if m[2] in names:
                calls[now].add(m[2])
            elif m[2] == ".text": # by its address there: of a call from the instruction behind it on, in instructions
                number = int.from_bytes(before[4:8], "little", signed=True)
                calls[now].add(known[".text", (number + 1) * 8 if m[1] == "32" else number])
        elif m := re.match(r"\s+(\d+):\s+((?:[0-9a-f]{2} )+)\s*(.*)", line):
            before, text = bytes.fromhex(m[2]), m[3]
            if before[:2] == b"\x85\x10":
                behind = section, (int(m[1]) + 1 + int.from_bytes(before[4:8], "little", signed=True)) * 8
            for m in re.finditer(r"r10 - (\w+)", text):
                frame[now] = max(frame[now], int(m[1], 0))
            if m := re.match(r"(r\d+) = (\S+)$", text):
                (at_frame.add if m[2] == "r10" or m[2] in at_frame else at_frame.discard)(m[1])
            elif m := re.match(r"(r\d+) \+= -(\w+)", text):
                if m[1] in at_frame:
                    frame[now] = max(frame[now], int(m[2], 0))
            elif m := re.match(r"(r\d+) = ", text):
                at_frame.discard(m[1])
    return frame, calls


def main():
    for path in sys.argv[1:]:
        frame, calls = read(path)
        size = {f: max(32, (n + 31) // 32 * 32) for f, n in frame.items()}
        most = {}

        def deepest(f):
            if f not in most:
                most[f] = (0, ()) # the verifier refuses circles
                below, chain = max((deepest(g) for g in calls[f]), default=(0, ()))
                most[f] = size[f] + below, (f, *chain)
            return most[f]

        for f in sorted(set(frame) - set().union(*calls.values())):
            print(deepest(f)[0], " > ".join(f"{g} {size[g]}" for g in deepest(f)[1]))


main()
