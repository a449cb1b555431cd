#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-only
"""signals.py - each state in which an output takes nothing, times each thing that ends a run.

usage: signals.py BUILD FOLDER    IOT_SIGNALS=all, which IOT_LONG=1 implies: each state with each end; else some states with one each
Prints what failed, and how many cases there were. Each ends within a second. Other programs may have the processors, which only makes
it slower: a case that took longer is tried again, and one that never took less is held against a run that nothing blocks, at the same
time: a second more than the end of that is allowed. The median and the slowest of the best are printed.
"""
import fcntl
import multiprocessing
import os
import pty
import signal
import sqlite3
import subprocess
import sys
import termios
import time
import tty

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # what is ignored here (nohup) would be ignored by what is started
BUILD, FOLDER = sys.argv[1:]
TRACE, ANALYZE = BUILD + "/iot-trace", BUILD + "/iot-analyze"
LIMIT = 60.0 # what hangs does so for ever
WITHIN = 1.0
TRIES = 5
BUSY = ["dd", "if=/dev/zero", "of=" + FOLDER + "/busy", "bs=1"]  # more lines than a pipe holds


class Run:
    """A tracer, what it writes to, and what is to be given back."""

    def __init__(self, args, stdout=subprocess.DEVNULL, held=(), stderr=None):
        self.held, self.databases = list(held), []
        self.err = open(FOLDER + "/err", "w+b")
        self.process = subprocess.Popen([TRACE, *args], stdout=stdout, stderr=stderr or self.err, stdin=subprocess.DEVNULL)

    def says(self, word, seconds=60):
        until = time.monotonic() + seconds
        while time.monotonic() < until and self.process.poll() is None:
            if word in self.text():
                return
            time.sleep(0.02)
        assert word in self.text(), "never said %r: %r" % (word, self.text())

    def text(self):
        return open(FOLDER + "/err", "rb").read().decode()

    def ended(self, since):
        try:
            status = self.process.wait(max(0.1, since + LIMIT - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise AssertionError("hangs: %r" % self.text()) from None
        return status

    def release(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.err.close()
        for db in self.databases:
            db.close()
        for held in self.held:
            held.kill() if hasattr(held, "kill") else os.close(held)
            if hasattr(held, "wait"):
                held.wait()


def busy():
    """It is stopped until the tracer is there: go()."""
    load = subprocess.Popen(BUSY, stderr=subprocess.DEVNULL)
    load.send_signal(signal.SIGSTOP)
    return load


def go(load):
    load.send_signal(signal.SIGCONT)


def blocked(form, stdout, held, limit=None, others=()):
    """Traces a process that never stops calling, until its output is full."""
    load = busy()
    args = ["--settle", "none", "--layers", "syscall", "--pid", str(load.pid), "-o", "-", "--format", form, *others]
    run = Run((["-d", str(limit)] if limit else []) + args, stdout, held=[load, *held])
    run.says("recording, attached")
    go(load)
    return run


# ---- states: each returns a run that is stuck, or will be in a moment; `limit` is its -d ----

def fifo_without_reader(limit):
    path = FOLDER + "/fifo"
    if not os.path.exists(path):
        os.mkfifo(path)
    run = Run((["-d", str(limit)] if limit else []) + ["-o", path, "--format", "text", "--", "true"])
    time.sleep(0.3)
    return run


def full_pipe(form):
    def state(limit):
        r, w = os.pipe()
        run = blocked(form, w, [r], limit)
        os.close(w)
        time.sleep(0.5)
        return run
    return state


def full_pipe_nonblocking(limit):
    r, w = os.pipe()
    fcntl.fcntl(w, fcntl.F_SETFL, fcntl.fcntl(w, fcntl.F_GETFL) | os.O_NONBLOCK)
    run = blocked("text", w, [r, w], limit)
    time.sleep(0.5)
    return run


def full_socket(limit):
    import socket
    a, b = socket.socketpair()
    run = blocked("jsonl", b.fileno(), [os.dup(a.fileno()), os.dup(b.fileno())], limit)
    time.sleep(0.5)
    return run


def messages_full(limit):
    """Nobody reads the messages of a run that tells its progress to nobody either."""
    r, w = os.pipe()
    fcntl.fcntl(w, fcntl.F_SETFL, fcntl.fcntl(w, fcntl.F_GETFL) | os.O_NONBLOCK)
    try:
        while True:
            os.write(w, b"x" * 4096)
    except BlockingIOError:
        fcntl.fcntl(w, fcntl.F_SETFL, fcntl.fcntl(w, fcntl.F_GETFL) & ~os.O_NONBLOCK)
    open(FOLDER + "/messages.jsonl", "w").close()
    load = busy()
    run = Run((["-d", str(limit)] if limit else []) + ["--settle", "none", "--layers", "syscall", "--pid", str(load.pid), "-o", FOLDER + "/messages.jsonl"],
              held=[load, r, w], stderr=w)
    until = time.monotonic() + 60
    while not os.path.getsize(FOLDER + "/messages.jsonl") and time.monotonic() < until:
        time.sleep(0.05)
    go(load)
    return run


def locked_store(limit):
    """Another program writes to the store, and takes its time."""
    load, path = busy(), FOLDER + "/locked.sqlite"
    run = Run((["-d", str(limit)] if limit else []) + ["--settle", "none", "--layers", "syscall", "--pid", str(load.pid), "-o", path], held=[load])
    run.says("recording, attached")
    go(load)
    db = sqlite3.connect(path, timeout=20, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    run.databases.append(db)
    time.sleep(0.5 if limit else 1.5)
    return run


def stopped_terminal(limit):
    master, slave = pty.openpty()
    tty.setraw(slave)
    run = blocked("text", slave, [master, slave], limit)
    termios.tcflow(slave, termios.TCOOFF)
    time.sleep(0.5)
    return run


def terminal_not_read(limit):
    master, slave = pty.openpty()
    run = blocked("table", slave, [master, slave], limit)
    time.sleep(0.5)
    return run


EARLY = [("a FIFO without a reader", fifo_without_reader)]
LATE = [("a full pipe, text", full_pipe("text")), ("a full pipe, table", full_pipe("table")), ("a full pipe, JSON Lines", full_pipe("jsonl")),
        ("a full pipe that does not block", full_pipe_nonblocking), ("a full socket", full_socket), ("a stopped terminal", stopped_terminal),
        ("a terminal that nobody reads", terminal_not_read)]
LOCKED = [("a store that is locked", locked_store)] # between two commits: in a short run there may be none
MUTE = [("messages that nobody reads", messages_full)]
# what ends it, and the statuses that are right: before anything was recorded it is 128 + signal, behind that 1
SIGNALS = [("SIGINT", signal.SIGINT), ("SIGTERM", signal.SIGTERM), ("SIGHUP", signal.SIGHUP), ("SIGQUIT", signal.SIGQUIT),
           ("SIGINT twice", (signal.SIGINT, signal.SIGINT)), ("the end of -d", None)]


def check(make, ends, early, mute):
    """Returns the seconds that it took."""
    run = make(1.5 if ends is None else None)
    try:
        since = time.monotonic()
        if ends is None:
            since += 1.5 if early else 1.5 - 0.5
        else:
            assert run.process.poll() is None, "ended by itself: %r" % run.text()
            for number in ends if isinstance(ends, tuple) else (ends,):
                run.process.send_signal(number)
                time.sleep(0.05)
        status = run.ended(since)
        first = ends[0] if isinstance(ends, tuple) else ends
        right = [1] if ends is None else [-3] if ends == signal.SIGQUIT else [128 + first] if early else [1, 128 + first] if isinstance(ends, tuple) else [1]
        right += [0] if mute else []
        assert status in right, "status %d, not %s: %r" % (status, right, run.text())
        assert not os.path.exists(FOLDER + "/never.jsonl") or ends == signal.SIGQUIT, "left a file behind"
        return time.monotonic() - since
    finally:
        run.release()


def unblocked():
    """Seconds from SIGINT to the end of a run whose output is taken."""
    with open(os.devnull, "w") as null:
        run = blocked("text", null, [])
        try:
            since = time.monotonic()
            run.process.send_signal(signal.SIGINT)
            run.ended(since)
            return time.monotonic() - since
        finally:
            run.release()


def best(make, ends, early, mute):
    """The least of some tries."""
    least = LIMIT
    for _ in range(TRIES):
        least = min(least, check(make, ends, early, mute))
        if least <= WITHIN:
            return least
    allowed = WITHIN + min(unblocked() for _ in range(3))
    assert least <= allowed, "took %.1f s each time, where %.1f s are right" % (least, allowed)
    return least


def pairs():
    all_pairs = [(*s, *e) for s in EARLY + LATE for e in SIGNALS] + [(*s, *e) for s in LOCKED + MUTE for e in SIGNALS[:2]]
    if os.environ.get("IOT_SIGNALS") == "all": # each late one has to attach: all of them take minutes
        return all_pairs
    turns = {LATE[0][0]: "SIGINT", LATE[2][0]: "the end of -d", LATE[4][0]: "SIGTERM", LATE[5][0]: "SIGHUP", LOCKED[0][0]: "SIGTERM", MUTE[0][0]: "SIGINT"}
    return [p for p in all_pairs if (p[0], p[1]) in EARLY or turns.get(p[0]) == p[2]]


PAIRS = pairs()


def work_in(folder):
    """What a worker does first: cases beside it have their own files."""
    global FOLDER
    FOLDER = "%s/%d" % (folder, os.getpid())
    os.mkdir(FOLDER)
    BUSY[2] = "of=" + FOLDER + "/busy"


def case(number_of_pair):
    """Seconds of one pair, and what went wrong."""
    name, make, ends, number = PAIRS[number_of_pair]
    try:
        return best(make, number, (name, make) in EARLY, (name, make) in MUTE), None
    except Exception as e:
        return None, "%s, %s: %s: %s" % (name, ends, type(e).__name__, e)


def main():
    with multiprocessing.Pool(2, work_in, (FOLDER,)) as pool: # they mostly wait
        results = pool.map(case, range(len(PAIRS)), chunksize=1)
    failed = [wrong for _, wrong in results if wrong]
    took = sorted(t for t, wrong in results if not wrong)
    for wrong in failed:
        print(wrong, flush=True)
    print("%d states in which nothing is taken, %d ways to end: %d cases, %d failed, median %.1f s, slowest %.1f s" %
          (len(EARLY + LATE + LOCKED + MUTE), len(SIGNALS), len(PAIRS), len(failed), took[len(took) // 2] if took else 0, took[-1] if took else 0))
    return bool(failed)


sys.exit(main())
