#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-only
"""kv.py - writes and reads an exact payload through the client protocol of a storage system.

kv.py BACKEND OP SET COUNT SIZE CLIENTS [KEY=VALUE...]
  BACKEND  a module beside this file with class Store(options): put(key, value), get(key) -> bytes, close()
  OP       write      COUNT new values of SIZE bytes
           read       each of them once, in a shuffled order, compared with what was written
           overwrite  COUNT values, keys drawn from SET at random
           mixed      COUNT operations, one half each
  SET      prefix of the keys, so that sets do not meet
  kv.py lines COUNT SIZE   prints COUNT lines of SIZE hexadecimal digits, for COPY and the like
Prints what was acknowledged as one JSON object. Exit status 1 when an operation failed; the rest still counts.
"""
import importlib
import json
import random
import sys
import threading
import time


def payload(key, size, version=0):
    """The bytes of a value: random, so that nothing compresses them, and known, so that a read can be checked."""
    return random.Random(f'{key}/{version}').randbytes(size)


class Client(threading.Thread):
    """One connection, its share of the operations, and what the server acknowledged."""

    def __init__(self, store, keys, plan, size):
        super().__init__()
        self.store, self.keys, self.plan, self.size = store, keys, plan, size
        self.done = {'write': 0, 'read': 0}
        self.error = None

    def run(self):
        try:
            for n, (op, key) in enumerate(self.plan):
                getattr(self, op)(self.keys % key, n)
        except Exception as e:  # reported by the main thread, with what was acknowledged until then
            self.error = f'{type(e).__name__}: {e}'[:400]
        finally:
            self.store.close()

    def write(self, key, _):
        self.store.put(key, payload(key, self.size))
        self.done['write'] += 1

    def rewrite(self, key, n):
        self.store.put(key, payload(key, self.size, n + 1))
        self.done['write'] += 1

    def read(self, key, _):
        if self.store.get(key) != payload(key, self.size):
            raise ValueError(f"{key} is not what was written")
        self.done['read'] += 1

    def peek(self, key, _):
        if len(self.store.get(key)) != self.size:
            raise ValueError(f'{key} does not have {self.size} bytes')
        self.done['read'] += 1


def plan(op, count, rng):
    if op == 'write':
        return [('write', n) for n in range(count)]
    if op == 'read':
        return [('read', n) for n in rng.sample(range(count), count)]
    if op == 'overwrite':
        return [('rewrite', rng.randrange(count)) for _ in range(count)]
    if op == 'mixed':
        return [(('rewrite', 'peek')[n % 2], rng.randrange(count)) for n in range(count)]
    sys.exit(f'kv.py: unknown operation {op}')


def run(backend, op, name, count, size, clients, options):
    module = importlib.import_module(backend)
    todo = plan(op, count, random.Random(f'{name}/{op}'))
    keys = f'{name}-%07d'
    team = [Client(module.Store(options), keys, todo[c::clients], size) for c in range(clients)]
    begin = time.monotonic()
    for c in team:
        c.start()
    for c in team:
        c.join()
    errors = [c.error for c in team if c.error]
    result = {'duration_s': round(time.monotonic() - begin, 6), 'errors': len(errors)}
    for what in ('write', 'read'):
        n = sum(c.done[what] for c in team)
        result |= {f'{what}_ops': n, f'logical_{what}_bytes': n * size}
    if errors:
        result['error'] = errors[0]
    print(json.dumps(result | {'value_bytes': size, 'clients': clients}))
    if errors:
        sys.exit(f'kv.py: {backend} {op}: {errors[0]}')


def lines(count, size):
    rng = random.Random(0)
    for _ in range(count):
        sys.stdout.write(rng.randbytes((size + 1) // 2).hex()[:size] + '\n')


def main(argv):
    if argv[:1] == ['lines'] and len(argv) == 3:
        return lines(int(argv[1]), int(argv[2]))
    if len(argv) < 6:
        sys.exit(__doc__)
    count, size, clients = map(int, argv[3:6])
    run(argv[0], argv[1], argv[2], count, size, clients, dict(o.split('=', 1) for o in argv[6:]))


if __name__ == '__main__':
    sys.dont_write_bytecode = True
    main(sys.argv[1:])
