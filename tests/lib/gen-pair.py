#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-only
"""gen-pair.py - SQL that makes, from run 1 of fixtures/analyze_base.sql, two sets of repeats with noise: labels a and b.

usage: gen-pair.py SEED [--effect E] [--runs N] [--noise LOW HIGH] [--journal N] | sqlite3 STORE

Each run writes the same 10 MiB by calls; what the file system and the device make of them, and what is read, is multiplied with normal noise
whose deviation is drawn from LOW to HIGH (default 0.01 to 0.02) once for each quantity of a pair. E (default 0) is added to what devices
write in the runs of b: 0.05 is five per cent more. The journal is N times as large (default 1): 640 makes it as large as the data, as it is
under databases. Run 1 itself is taken out.
"""
import argparse
import random

parser = argparse.ArgumentParser()
parser.add_argument("seed", type=int)
parser.add_argument("--effect", type=float, default=0)
parser.add_argument("--runs", type=int, default=5)
parser.add_argument("--noise", type=float, nargs=2, default=(0.01, 0.02))
parser.add_argument("--journal", type=int, default=1)
args = parser.parse_args()
rnd = random.Random(args.seed)

# Quantities that depend on each other have the same noise: name, condition on agg_total, scaled by the effect
QUANTITIES = (
    ("data", "k.name IN ('fs_write', 'block_write') AND c.name = 'data'", True),
    ("journal", "k.name IN ('fs_write', 'block_write') AND c.name = 'journal'", True),
    ("metadata", "k.name IN ('fs_write', 'block_write') AND c.name = 'metadata'", True),
    ("read", "k.name = 'read' AND s.name = 'regular'", False),
    ("missed", "k.name IN ('miss', 'readahead', 'block_read')", False),
)
deviation = {q[0]: rnd.uniform(*args.noise) for q in QUANTITIES}
TABLES = ("run", "run_end", "device", "process", "file", "ledger", "agg_total")

print("BEGIN;")
for n in range(2 * args.runs):
    run, label = n + 2, "ab"[n >= args.runs]
    for table in TABLES:
        print("CREATE TEMP TABLE copy AS SELECT * FROM %s WHERE run = 1; UPDATE copy SET run = %d;" % (table, run))
        if table == "run":
            print("UPDATE copy SET label = '%s', uuid = 'pair-%d';" % (label, run))
        print("INSERT INTO %s SELECT * FROM copy; DROP TABLE copy;" % table)
    for name, where, scaled in QUANTITIES:
        factor = 1 + deviation[name] * rnd.gauss(0, 1)
        if name == "journal":
            factor *= args.journal
        if scaled and label == "b":
            factor *= 1 + args.effect
        print("UPDATE agg_total SET bytes = CAST(bytes * %.9f AS INTEGER) WHERE run = %d AND rowid IN (SELECT t.rowid FROM agg_total t"
              " JOIN kind k ON k.id = t.kind JOIN cause c ON c.id = t.cause JOIN sub s ON s.id = t.sub WHERE t.run = %d AND %s);"
              % (factor, run, run, where))
for table in TABLES + ("agg", "truth", "hist"):
    print("DELETE FROM %s WHERE run = 1;" % table)
print("COMMIT;")
