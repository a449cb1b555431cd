#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-only
"""fio_result.py - what a run of fio counted, as the client's part of a ledger (see kv.py).

fio_result.py OUTPUT JSON SIZE CLIENTS STATUS
  OUTPUT  what `fio --output-format=json` printed: its messages may stand before the document
  JSON    where the document goes
  STATUS  how fio ended
"""
import json
import os
import sys


def counted(jobs):
    found = {}
    for what in ('write', 'read'):
        found[f'{what}_ops'] = sum(job[what]['total_ios'] for job in jobs)
        found[f'logical_{what}_bytes'] = sum(job[what]['io_bytes'] for job in jobs)
    return found


def failures(jobs, status):
    """A job that stopped, or fio as a whole."""
    reasons = [f"{job['jobname']}: {os.strerror(job['error'])}" for job in jobs if job['error']]
    if not reasons and status:
        reasons = [f'fio ended with status {status}']
    return {'errors': len(reasons)} | ({'error': reasons[0]} if reasons else {})


def main(output, document, size, clients, status):
    with open(output, encoding='utf-8', errors='replace') as f:
        text = f.read()
    at = text.find('{\n')
    if at < 0:
        sys.exit('fio_result.py: fio printed no JSON')
    found = json.JSONDecoder().raw_decode(text, at)[0]
    with open(document, 'w', encoding='utf-8') as f:
        json.dump(found, f)
    print(json.dumps(failures(found['jobs'], int(status)) | counted(found['jobs']) | {'value_bytes': int(size), 'clients': int(clients)}))


if __name__ == '__main__':
    main(*sys.argv[1:])
