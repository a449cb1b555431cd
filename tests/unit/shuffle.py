#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-only
"""shuffle.py [SEED] - JSON Lines from stdin as another program would have printed them: keys in another order, blanks and tabs
between the tokens, any character of a string escaped, absent columns given as null now and then."""
import json
import random
import sys

rnd = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 1)


def blank():
    return rnd.choice(("", "", " ", "\t", "  "))


def text(s):
    out = []
    for c in s:
        if c in '"\\' or ord(c) < 0x20:
            out.append(json.dumps(c)[1:-1])
        elif 0xD800 <= ord(c) < 0xE000 or rnd.random() < 0.2:
            out.append(json.dumps(c, ensure_ascii=True)[1:-1] if ord(c) > 0x7E else "\\u%04X" % ord(c))
        elif c == "/":
            out.append(rnd.choice(("/", "\\/")))
        else:
            out.append(c)
    return '"' + "".join(out) + '"'


def member(key, value):
    value = text(value) if isinstance(value, str) else "null" if value is None else str(value)
    return blank() + text(key) + blank() + ":" + blank() + value + blank()


for line in sys.stdin:
    record = json.loads(line)
    if record["t"] == "device" and "parent" not in record:
        record["parent"] = None
    keys = list(record)
    rnd.shuffle(keys)
    sys.stdout.write(blank() + "{" + ",".join(member(k, record[k]) for k in keys) + "}" + blank() + "\n")
