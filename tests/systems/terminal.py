#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-only
"""terminal.py - a terminal that answers queries as one kind does, and prints what a command sends to it.

usage: tests/systems/terminal.py sixel|kitty|plain|mute COMMAND [ARGUMENT...]
Exit status: the command's."""
import os
import pty
import sys

# A query, and the answer to it. The longer query stands first where one ends with another.
ANSWERS = {
    "sixel": [(b"\x1b[c", b"\x1b[?62;4;22c"), (b"\x1b[16t", b"\x1b[6;20;10t")],
    "kitty": [(b"AAAA\x1b\\\x1b[c", b"\x1b_Gi=31;OK\x1b\\\x1b[?62;c"), (b"\x1b[c", b"\x1b[?62;c")],
    "plain": [(b"\x1b[c", b"\x1b[?1;2c")],
    "mute": [],
}

pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
said, answered = b"", 0
while True:
    try:
        said += os.read(terminal, 65536)
    except OSError:  # the command has closed its end
        break
    for query, answer in ANSWERS[sys.argv[1]]:
        if said[answered:].endswith(query):
            answered = len(said)
            os.write(terminal, answer)
            break
sys.stdout.buffer.write(said)
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
