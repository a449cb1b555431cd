#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-only
"""complete.py SHELL FOLDER LINE WANTED - what a real bash or zsh makes of LINE and a tabulator: prints what the shell shows then.

FOLDER holds the completions as `make install` lays them out below PREFIX/share. Where several words fit, the shell lists them.
Exit status: 0 as soon as a line of it matches the regular expression WANTED, 1 when that has not come within 20 seconds.
"""
import os
import pty
import re
import select
import signal
import sys
import tempfile
import time

shell, folder, line, wanted = sys.argv[1:]
PROMPT = "@>"
RC = {
    "bash": (".bashrc", "bind 'set show-all-if-ambiguous on'\nbind 'set page-completions off'\nbind 'set enable-bracketed-paste off'\n"
             "for f in %s/bash-completion/completions/*; do . $f; done\nPS1='%s'\n"),
    "zsh": (".zshrc", "unsetopt prompt_sp zle_bracketed_paste\nfpath=(%s/zsh/site-functions $fpath)\nautoload -U compinit\ncompinit -u -D\n"
            "LISTMAX=1000\nPS1='%s'\n"),
}
home = tempfile.TemporaryDirectory()
name, text = RC[shell]
with open(os.path.join(home.name, name), "w") as rc:
    rc.write(text % (folder, PROMPT))
pid, fd = pty.fork()
if pid == 0:
    os.environ.update(TERM="dumb", COLUMNS="200", LINES="50", HOME=home.name, ZDOTDIR=home.name)
    args = {"bash": ["bash", "-i"], "zsh": ["zsh", "-o", "NO_GLOBAL_RCS", "-i"]}[shell]
    os.execvp(args[0], args)


def shown(out):
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x07", "", out.decode(errors="replace")).replace("\r", "\n")


def until(pattern, limit):
    """All that comes, until a line of it matches, or for so many seconds."""
    out, end = b"", time.monotonic() + limit
    while not re.search(pattern, shown(out), re.M) and time.monotonic() < end:
        if select.select([fd], [], [], 0.1)[0]:
            out += os.read(fd, 65536)
    return shown(out)


until(PROMPT, 30)
os.write(fd, line.encode() + b"\t")
text = until(wanted, 20)
os.kill(pid, signal.SIGKILL)
os.close(fd)
os.waitpid(pid, 0)
print(text)
sys.exit(not re.search(wanted, text, re.M))
