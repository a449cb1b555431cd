#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-only
"""ledger.py - joins the snapshots of one load into its ledger, and ledgers into the rows of a sweep.

ledger.py join WORK JSON      the ledger, a JSON document
ledger.py row tsv|json OPERATION SIZE REPEAT LABEL LOAD IDLE     one row, from the ledgers of a load and of an idle window
ledger.py head                the names of a row's columns        ledger.py seconds LEDGER     length of its window

WORK/snap/HORIZON/ holds DRIVE.stat (/sys/block/*/stat) and engine/NAME.{json,kv,prom}; horizons are begin, at_ack
and after_sync, or after_checkpoint where the engine's own checkpoint came before the sync. WORK/snap/client is what the client saw
acknowledged. JSON holds the members that the system script knows. What was not measured is absent.
"""
import json
import os
import re
import sys

# Fields of /sys/block/DEV/stat, in order: Documentation/admin-guide/iostats.rst. Sectors are 512 bytes.
STAT = ('reads', None, 'read_sectors', None, 'writes', None, 'write_sectors', None, None, None, None,
        'discards', None, 'discard_sectors', None, 'flushes', None)
HORIZONS = ('at_ack', 'after_sync', 'after_checkpoint')


def number(text):
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError:
        return text
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def read(path):
    with open(path, encoding='utf-8', errors='replace') as f:
        return f.read()


def device(path):
    values = {}
    for name, text in zip(STAT, read(path).split()):
        if name is None:
            continue
        key, scale = (name.replace('sectors', 'bytes'), 512) if name.endswith('sectors') else (name, 1)
        values[key] = int(text) * scale
    return values


def pairs(text):
    """`name:value`, `name=value` or `name<TAB>value` lines; comments and headings have no separator or start with #."""
    found = (re.match(r'([^#:=\t][^:=\t]*)[:=\t]\s*(.*)$', line) for line in text.splitlines())
    return {m[1].strip(): number(m[2].strip()) for m in found if m}


def prometheus(text):
    """name{labels} value; histogram buckets are left out, their sums and counts stay."""
    rows = (line.rsplit(' ', 1) for line in text.splitlines() if line and not line.startswith('#'))
    return {r[0]: number(r[1]) for r in rows if len(r) == 2 and '_bucket{' not in r[0] and not r[0].startswith('go_')}


PARSERS = {'json': json.loads, 'kv': pairs, 'prom': prometheus}


def engine(path):
    found = {}
    for name in sorted(os.listdir(path)):
        stem, _, kind = name.rpartition('.')
        text = read(f'{path}/{name}')
        if text.strip():
            found[stem] = PARSERS[kind](text)
    return found


def minus(after, before):
    """after - before, wherever both have a number that changed."""
    if isinstance(after, dict) and isinstance(before, dict):
        found = {k: minus(after[k], before[k]) for k in after if k in before}
        return {k: v for k, v in found.items() if v not in (None, {})}
    if isinstance(after, bool) or not isinstance(after, (int, float)) or not isinstance(before, (int, float)):
        return None
    return after - before or None


def table(path):
    return [line.split() for line in read(path).splitlines()] if os.path.exists(path) else []


def drives(work, snap, horizons):
    found = []
    for row in table(f'{work}/undo'):
        if row[0] != 'loop':
            continue
        node = row[2].rpartition('/')[2]
        begin = device(f'{snap}/begin/{row[1]}.stat')
        drive = {'drive': row[1], 'name': node, 'dev': read(f'/sys/block/{node}/dev').strip(),
                 'begin': begin, 'end': device(f'{snap}/{horizons[-1]}/{row[1]}.stat')}
        for h in horizons:
            now = device(f'{snap}/{h}/{row[1]}.stat')
            drive[h] = {k: now[k] - begin[k] for k in now}
        found.append(drive)
    return found


def processes(work):
    found = []
    for role, pid, *start in table(f'{work}/pids'):
        try:
            comm = read(f'/proc/{pid}/comm').strip()
        except OSError:
            comm = None
        found.append({'role': role, 'pid': int(pid), 'start_ticks': int(start[0]) if start else None, 'comm': comm})
    return found


def totals(ledger, horizons):
    """Sums over drives per horizon, and the end-to-end ratios of METRICS: device bytes / acknowledged bytes."""
    for h in horizons:
        written, fetched = (sum(d[h][k] for d in ledger['devices']) for k in ('write_bytes', 'read_bytes'))
        row = {'device_write_bytes': written, 'device_read_bytes': fetched}
        if ledger.get('logical_write_bytes'):
            row['waf_e2e'] = round(written / ledger['logical_write_bytes'], 6)
        if ledger.get('logical_read_bytes'):
            row['raf_e2e'] = round(fetched / ledger['logical_read_bytes'], 6)
        ledger[h] = row


def join(work, known):
    snap = f'{work}/snap'
    horizons = [h for h in HORIZONS if os.path.isdir(f'{snap}/{h}')]
    ledger = {'ledger': 1, **json.loads(known), 'work': work}
    try:
        ledger |= json.loads(read(f'{snap}/client'))
    except ValueError:
        ledger['errors'] = 1
        ledger['error'] = 'the client printed no result'
    ledger['begin_wall_ns'] = int(read(f'{snap}/begin/wall_ns'))
    ledger['end_wall_ns'] = int(read(f'{snap}/{horizons[-1]}/wall_ns'))
    ledger['load_s'] = round(float(read(f'{snap}/at_ack/uptime')) - float(read(f'{snap}/begin/uptime')), 2)
    ledger['devices'] = drives(work, snap, horizons)
    totals(ledger, horizons)
    ledger['processes'] = processes(work)
    before = engine(f'{snap}/begin/engine')
    after = engine(f'{snap}/{horizons[-1]}/engine')
    ledger['engine'] = {'before': before, 'after': after, 'change': minus(after, before) or {}}
    return ledger


ROW = ('system', 'operation', 'size', 'repeat', 'ops', 'errors', 'logical_bytes', 'device_write_bytes', 'device_read_bytes',
       'idle_write_bytes', 'idle_read_bytes', 'window_s', 'idle_s', 'copies', 'horizon', 'label', 'error')


def seconds(ledger):
    return round((ledger['end_wall_ns'] - ledger['begin_wall_ns']) / 1e9, 3)


def row(operation, size, repeat, label, load, idle):
    """One line of a sweep: a load beside an idle window of the same length. None where nothing was measured."""
    last = [h for h in HORIZONS if h in load][-1]
    control = [h for h in HORIZONS if h in idle][-1]
    copies = load['replicas'] if 'replicas' in load else (load['k'] + load['m']) / load['k']
    values = [load['system'], operation, int(size), int(repeat), load.get(f'{operation}_ops'), load.get('errors'),
              load.get(f'logical_{operation}_bytes'), load[last]['device_write_bytes'], load[last]['device_read_bytes'],
              idle[control]['device_write_bytes'], idle[control]['device_read_bytes'], seconds(load), seconds(idle),
              copies, last, label, load.get('error')]
    return dict(zip(ROW, values))


def tsv(value):
    return '' if value is None else re.sub(r'[\t\r\n]', ' ', str(value))


def main(argv):
    if argv[0] == 'join':
        print(json.dumps(join(*argv[1:])))
    elif argv[0] == 'head':
        print('\t'.join(ROW))
    elif argv[0] == 'seconds':
        print(seconds(json.loads(read(argv[1]))))
    elif argv[0] == 'row':
        found = row(*argv[2:6], *(json.loads(read(path)) for path in argv[6:8]))
        print(json.dumps(found) if argv[1] == 'json' else '\t'.join(map(tsv, found.values())))


if __name__ == '__main__':
    main(sys.argv[1:])
