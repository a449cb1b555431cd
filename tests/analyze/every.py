#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-only
"""every.py - asks a store every report in every format, and reads each answer with a parser that is not ours.

usage: every.py ANALYZE STORE FOLDER [REPORT...]

CSV and TSV are read by Python's csv and must have the cells of the JSON document, JSON by Python's json, JUnit and SVG by expat,
Markdown by the number of cells, and all LaTeX together, with the PDFs of the pictures, goes into FOLDER/paper.tex. Bitmaps are
decompressed whole. Prints how many answers there were; exit status 1 and a line for each that is wrong.
"""
import csv
import io
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml
import zlib

analyze, store, folder = sys.argv[1:4]
MORE = {"check": ["--max", "waf_sys=1000"]}
MAY_FAIL = ("verify", "check", "headline")  # 1: what they found
WAYS = {"amplification": [["--by", "pid"], ["--seed"], ["--payload", "1MiB", "--copies", "3"], ["--ec", "2+2", "--payload", "1MiB"]],
        "timeline": [["--by", w] for w in ("cause", "owner", "system", "device", "component")] + [["--by", "cause", "--step", "10"]],
        "files": [["--by", w] for w in ("directory", "pattern", "component")] + [["--table", "files", "--sort", "B", "--top", "3"], ["--table", "files", "--where", "S>4KiB"]],
        "latency": [["--cdf"]], "perop": [["--ops", "100"]], "fsync": [["--by", "comm"]], "breakdown": [["--by", "all"]]}
wrong, answers, latex, pictures = [], 0, [], []


def ask(report, *options):
    """Standard output of a report, or None where it failed."""
    global answers
    args = [analyze, report, store, *MORE.get(report, []), *options]
    done = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "TERM": "dumb"})
    answers += 1
    if done.returncode not in ((0, 1) if report in MAY_FAIL else (0,)) and b"nothing to draw" not in done.stderr:
        wrong.append("%s: status %d: %s" % (" ".join(args[1:]), done.returncode, done.stderr.decode(errors="replace")))
    return done.stdout.decode()


def cell(value):
    """What CSV has for a value of JSON: without the quote that keeps a spreadsheet from computing it."""
    if value is None:
        return "n/a"
    return value if isinstance(value, str) else repr(value)


def check(what, good):
    if not good:
        wrong.append(what)


def same(form, got, wanted):
    """TSV has three digits of a number that is not whole, the others have all."""
    def equal(a, b):
        return a == b or (form == "tsv" and re.fullmatch(r"-?[0-9]+\.[0-9]+", a) and abs(float(a) - float(b)) <= 0.000501)
    return len(got) == len(wanted) and all(len(g) == len(w) and all(map(equal, g, w)) for g, w in zip(got, wanted))


def tables(report, options):
    doc = json.loads(ask(report, "--format", "json", *options), parse_float=str, parse_int=str)
    check("%s: keys of JSON" % report, doc["report"] == report and isinstance(doc["tables"], dict))
    for name, rows in doc["tables"].items():
        wanted = [[cell(v) for v in row.values()] for row in rows]
        for form, dialect in (("csv", dict(strict=True)), ("tsv", dict(strict=True, delimiter="\t", quoting=csv.QUOTE_NONE))):
            text = ask(report, "--format", form, *([] if "--table" in options else ["--table", name]), *options)
            got = list(csv.reader(io.StringIO(text, newline=""), **dialect))
            if form == "csv":
                got = [[c[1:] if re.match(r"'[=+\-@\t\r]", c) else c for c in row] for row in got]
            check("%s %s: table %s as %s is not that of JSON" % (report, options, name, form), same(form, got[1:], wanted))
            check("%s: heads of %s" % (report, name), not rows or got[:1] == [list(rows[0])])


def markdown(report, options):
    cells = None
    for line in ask(report, "--format", "markdown", *options).splitlines():
        n = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else None
        check("%s: Markdown: %s" % (report, line), n is None or cells in (None, n))
        cells = n


def picture(report, options):
    ask(report, "--plot", folder, "--format", "csv", *options)
    path = os.path.join(folder, report)
    if not os.path.exists(path + ".svg"):
        return
    xml.parse(path + ".svg")
    png = open(path + ".png", "rb").read()
    at, data = 8, b""
    while at < len(png):
        size, kind = int.from_bytes(png[at:at + 4], "big"), png[at + 4:at + 8]
        check("%s.png: sum of %s" % (report, kind), zlib.crc32(png[at + 4:at + 8 + size]) == int.from_bytes(png[at + 8 + size:at + 12 + size], "big"))
        data += png[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += 12 + size
    check("%s.png: empty" % report, zlib.decompress(data))
    pictures.append(report)


def junit(report):
    suite = xml.fromstring(ask(report, "--format", "junit"))
    cases = suite.findall("testcase")
    for tag, attribute in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        check("%s: JUnit: %s" % (report, attribute), int(suite.get(attribute)) == sum(c.find(tag) is not None for c in cases))
    check("%s: JUnit: tests" % report, cases and int(suite.get("tests")) == len(cases))


def reports():
    text = subprocess.run([analyze, "--help"], stdout=subprocess.PIPE, check=True).stdout.decode()
    return re.findall(r"^  ([a-z]+) ", re.search(r"^reports:\n(.*?)^$", text, re.M | re.S).group(1), re.M)


for name in sys.argv[4:] or reports():
    has = subprocess.run([analyze, name, store, *MORE.get(name, []), "--plot", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for way in [[]] + WAYS.get(name, []):
        try:
            ask(name, *way)
            ask(name, "--bytes", *way)
            tables(name if way != ["--seed"] else "seed", [] if way == ["--seed"] else way)
            markdown(name, way)
            latex.append(ask(name, "--format", "latex", *way))
            if b"has no picture" not in has.stderr and (not way or name == "timeline"):
                picture(name, way)
        except (ValueError, KeyError, AttributeError, csv.Error, xml.ParseError, zlib.error) as e:
            wrong.append("%s %s: %r" % (name, way, e))
    if name in ("check", "verify"):
        junit(name)

with open(os.path.join(folder, "paper.tex"), "w", encoding="utf-8") as f:
    f.write("\\documentclass{article}\\usepackage[T1]{fontenc}\\usepackage{graphicx}\\begin{document}\\tiny\n")
    f.writelines(re.sub(r"(?m)^\\end\{tabular\}", r"\\end{tabular}\n\n", t) + "\n" for t in latex)
    f.writelines("\n\\includegraphics[width=\\textwidth]{%s.pdf}\n" % p for p in sorted(set(pictures)))
    f.write("\\end{document}\n")
print("%d answers, %d pictures" % (answers, len(set(pictures))))
sys.exit("\n".join(wrong[:40]) if wrong else 0)
