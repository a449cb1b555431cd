#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-only
"""names.py - hostile names times outputs: each comes out as itself, harmless.

usage: names.py names            prints the names, one a line, in hexadecimal
       names.py check ANALYZE STREAM_TOOL STORE DIR
STORE has process 3, called [812]; it is renamed in place. Prints what failed, and how many cases there were.
"""
import csv
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import unicodedata
import xml.dom.minidom

# To add a name: a row. Bytes, as a kernel would have them; none has a NUL.
NAMES = [
    b"#leading", b"# a comment", b"NaN", b"nan", b"-", b" lead and trail ", b"]]>", b"a]]>b<![CDATA[x]]>", b"<script>alert(1)</script>",
    b"&amp;&lt;", b"APP_WRITE", b"DEV_BIO_SUBMIT", b"[READ]", b"DEVICE", b"OS", b"STORAGE_SVC", b"\x9b31m", b"\xc2\x9b31m", b"\xc2\x85next",
    b"\x1b]0;owned\x07", b"\x1b[2J", b"\x7f\x08\x08", b"\r\nTOTAL 0", b"a\tb\tc", b"\xe2\x80\xaetxt.exe", b"\xe2\x81\xa6iso\xe2\x81\xa9",
    b"zero\xe2\x80\x8bwidth", b"\xef\xbb\xbfbom", b"\xf3\xa0\x81\x81tag", b"\xff\xfe\xfd", b"\xc3(", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"caf\xc3\xa9",
    b"=1+1", b"+1", b"-1+1", b"@SUM(A1)", b"=cmd|' /C calc'!A0", b"\t=1", b"\xef\xbc\x9d1+1", b"'quoted", b'"double"', b'a"b', b"a,b;c|d", b"`touch pwned`",
    b"$(touch pwned)", b'"; system("touch pwned"); "', b"back\\slash\\n\\x41\\042", b"%s%n%d", b"{/=40 big}^2_3@&{x}", b"'; DROP TABLE run; --",
    b"\x1b" * 255, b"]]>" * 85, b"#" * 255, b"\xe2\x80\xae" * 85, b"/" + b"x" * 254 + (b"/" + b"\x1by" * 127) * 15,
]
TRICKY = [(0xad, 0xad), (0x34f, 0x34f), (0x61c, 0x61c), (0x200b, 0x200f), (0x2028, 0x202e), (0x2060, 0x206f), (0xfeff, 0xfeff), (0xe0000, 0xe0fff)]
# A stroke of a picture's script: numbers, colours and words of our own.
# text in a script: names of styles, colours, and numbers with units, which are ticks
WORDS = re.compile(rb'"(#[0-9a-f]{6}|-?[0-9.e+]+( (([KMGTPE]i)?B|[kM]))?|)"')
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def is_control(c):
    return unicodedata.category(c) == "Cc"


def plain(name):
    """What utf8.h says of a text for terminals, written anew."""
    out = []
    for c in name.decode("utf-8", "surrogateescape"):
        n = ord(c)
        if c in "\n\t\\":
            out.append({"\n": "\\n", "\t": "\\t", "\\": "\\\\"}[c])
        elif 0xdc80 <= n <= 0xdcff:
            out.append("\\x%02x" % (n - 0xdc00))
        elif is_control(c) and n < 0x80:
            out.append("\\x%02x" % n)
        elif is_control(c) or any(a <= n <= b for a, b in TRICKY):
            out.append("\\u{%x}" % n)
        else:
            out.append(c)
    return "".join(out)


def harmless(data, but=""):
    """Nothing in it moves a cursor or turns text around."""
    text = data.decode("utf-8")
    bad = [c for c in text if (is_control(c) and c not in "\n" + but) or any(a <= ord(c) <= b for a, b in TRICKY)]
    assert not bad, "reaches the terminal: %r" % bad[:5]


class Case:
    def __init__(self, analyze, tool, store, folder):
        self.analyze, self.tool, self.store, self.folder = analyze, tool, store, folder

    def run(self, *args, program=None, status=0, give=None, path=None):
        p = subprocess.run([program or self.analyze, *args], input=give, capture_output=True, cwd=self.folder, timeout=60, env=path and {**os.environ, "PATH": path})
        assert p.returncode == status, "status %d: %r" % (p.returncode, p.stderr[:200])
        return p

    def rename(self, name):
        db = sqlite3.connect(self.store)
        db.execute("UPDATE process SET comm = CAST(? AS TEXT) WHERE id = 3", (name,))
        db.execute("UPDATE run SET label = CAST(?1 AS TEXT), command = CAST(?1 AS TEXT)", (name,))
        db.commit()
        db.close()

    def table(self, form):
        return self.run("amplification", self.store, "--format", form, "--table", "summary").stdout

    # ---- one function an output ----

    def text(self, name):
        out = self.run("amplification", self.store).stdout
        harmless(out)
        assert plain(name) in out.decode("utf-8"), "not there as itself"

    def csv(self, name):
        rows = list(csv.reader(io.StringIO(self.table("csv").decode("utf-8", "surrogateescape"), newline="")))
        text = name.decode("utf-8", "surrogateescape")
        want = "'" + text if text.startswith(FORMULAS) else text
        assert rows[1][1] == want, "cell %r" % rows[1][1]
        assert all(len(r) == len(rows[0]) for r in rows), "columns moved"

    def tsv(self, name):
        rows = self.table("tsv").split(b"\n")
        assert all(len(r.split(b"\t")) == len(rows[0].split(b"\t")) for r in rows if r), "columns moved"
        want = name.replace(b"\\", b"\\\\").replace(b"\t", b"\\t").replace(b"\n", b"\\n").replace(b"\r", b"\\r")
        assert rows[1].split(b"\t")[1] == want, "cell %r" % rows[1]

    def json(self, name):
        out = self.run("amplification", self.store, "--format", "json").stdout
        harmless(out, "\t") # cJSON indents with tabs
        assert json.loads(out)["tables"]["summary"][0]["who"].encode("utf-8", "surrogateescape") == name

    def picture(self, name):
        for f in os.listdir(self.folder + "/out"):
            os.unlink(self.folder + "/out/" + f)
        self.run("breakdown", self.store, "--plot", "out", path=self.folder + "/bin:" + os.environ["PATH"])
        harmless(open(self.folder + "/out/breakdown.tsv", "rb").read().replace("\u2060".encode(), b""), "\t")
        harmless(open(self.folder + "/out/breakdown.dat", "rb").read().replace("\u2060".encode(), b""), "\t")
        plots = WORDS.sub(b"", open(self.folder + "/out/breakdown.gp", "rb").read().split(b"set multiplot\n")[1])
        assert not re.search(rb"[\"'`!$]|system", plots), "a script with %r" % plots
        dom = xml.dom.minidom.parse(self.folder + "/out/breakdown.svg")
        assert not dom.getElementsByTagName("script")
        shown = ["".join(n.data for t in e.childNodes for n in (t.childNodes or [t]) if n.nodeType == n.TEXT_NODE)
                 .replace("\xa0", " ").replace("\u2060", "") for e in dom.getElementsByTagName("text")]
        text = name.decode("utf-8", "surrogateescape")
        want = plain(text.encode("utf-8", "surrogateescape")) + " [812]" # the picture cuts long names in the middle
        whole = [s for s in shown if s == want or s.count("…") == 1 and want.startswith(s.split("…")[0]) and want.endswith(s.split("…")[1])]
        assert whole, "no bar of that name: %r in %r" % (want, shown)
        assert "cat [813]" in shown, "another bar is gone"
        assert not os.path.exists(self.folder + "/pwned") and not os.path.exists(self.folder + "/out/pwned")

    def message(self, name):
        if len(name) < 4096:
            err = self.run("amplification", "--", name, status=1).stderr
            reason = "File name too long" if any(len(part) > 255 for part in name.split(b"/")) else "No such file or directory"
            assert err.decode("utf-8") == "iot-analyze: cannot open %s: %s\n" % (plain(name), reason), "said %r" % err
        err = self.run("amplification", self.store, "--format", name, status=2).stderr
        harmless(err)
        assert err.count(b"\n") == 1

    def refused(self, name):
        """A message of the stream library: a key that no record has."""
        line = json.dumps({"t": "run", name.decode("utf-8", "surrogateescape"): 1}, ensure_ascii=True).encode()
        err = self.run("copy", program=self.tool, give=line + b"\n", status=1).stderr
        harmless(err)
        assert err.count(b"\n") == 1

    def records(self, name):
        head = {"t": "run", "schema": 5, "uuid": "x", "host": "h", "kernel": "k", "machine": "m", "cpus": 1, "tool": "0", "layers": "syscall", "tier": "full",
                "events": 0, "settle": "none", "wall_ns": 1, "boot_ns": 1, "utc_offset_s": 0, "label": name.decode("utf-8", "surrogateescape")}
        end = {"t": "end", "dur_ns": 1, "horizon": "at_ack", "events": 0}
        out = self.run("copy", program=self.tool, give="".join(json.dumps(r) + "\n" for r in (head, end)).encode()).stdout
        harmless(out)
        assert json.loads(out.split(b"\n")[0])["label"].encode("utf-8", "surrogateescape") == name


OUTPUTS = ["text", "csv", "tsv", "json", "picture", "message", "refused", "records"]


def main():
    if sys.argv[1] == "names":
        for name in NAMES:
            print(name.hex())
        return 0
    case, cases, failed = Case(*sys.argv[2:]), 0, 0
    os.makedirs(case.folder + "/out", exist_ok=True)
    os.makedirs(case.folder + "/bin", exist_ok=True)
    with open(case.folder + "/bin/gnuplot", "w") as f:  # bitmaps and PDF, which take longest, are not looked at
        f.write("""#!/bin/sh\n[ "$4" != svg ] || exec %s "$@"\n: >"${3%%.gp}.$4"\n""" % shutil.which("gnuplot"))
    os.chmod(case.folder + "/bin/gnuplot", 0o755)
    for name in NAMES:
        case.rename(name)
        for output in OUTPUTS:
            cases += 1
            try:
                getattr(case, output)(name)
            except Exception as e:
                failed += 1
                print("%s of %r: %s: %s" % (output, name[:40], type(e).__name__, e))
    print("%d names in %d outputs: %d cases, %d failed" % (len(NAMES), len(OUTPUTS), cases, failed))
    return failed != 0


sys.exit(main())
