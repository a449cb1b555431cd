# SPDX-License-Identifier: GPL-3.0-only
"""leveldb.py - backend of kv.py: LevelDB through its C API. Options: path; sync=1: fsync every write; stats=FILE:
where its own statistics go when it is closed. One process opens a database: clients share it.

leveldb.py fill PATH COUNT SIZE STATS   puts COUNT values under random keys of 16 bytes, without fsync, as fast as it can"""
import ctypes
import ctypes.util
import json
import random
import sys
import threading
import time

LIB = ctypes.CDLL(ctypes.util.find_library('leveldb') or 'libleveldb.so.1d')
POINTER, SIZE = ctypes.c_void_p, ctypes.c_size_t
LOCK = threading.Lock()
SHARED = {'db': None, 'users': 0}


def api(name, result, *arguments):
    function = getattr(LIB, f'leveldb_{name}')
    function.restype, function.argtypes = result, arguments
    return function


options_create = api('options_create', POINTER)
set_missing = api('options_set_create_if_missing', None, POINTER, ctypes.c_uint8)
set_compression = api('options_set_compression', None, POINTER, ctypes.c_int)
db_open = api('open', POINTER, POINTER, ctypes.c_char_p, ctypes.POINTER(ctypes.c_char_p))
db_close = api('close', None, POINTER)
db_put = api('put', None, POINTER, POINTER, ctypes.c_char_p, SIZE, ctypes.c_char_p, SIZE, ctypes.POINTER(ctypes.c_char_p))
db_get = api('get', POINTER, POINTER, POINTER, ctypes.c_char_p, SIZE, ctypes.POINTER(SIZE), ctypes.POINTER(ctypes.c_char_p))
db_property = api('property_value', POINTER, POINTER, ctypes.c_char_p)
write_options = api('writeoptions_create', POINTER)
write_sync = api('writeoptions_set_sync', None, POINTER, ctypes.c_uint8)
read_options = api('readoptions_create', POINTER)
release = api('free', None, POINTER)


def check(error):
    if error.value is not None:
        raise OSError(error.value.decode(errors='replace'))


class Store:
    def __init__(self, options):
        self.stats = options.get('stats')
        self.writing, self.reading = write_options(), read_options()
        write_sync(self.writing, int(options.get('sync', 0)))
        with LOCK:
            if SHARED['users'] == 0:
                settings, error = options_create(), ctypes.c_char_p()
                set_missing(settings, 1)
                set_compression(settings, 0)
                SHARED['db'] = db_open(settings, options['path'].encode(), ctypes.byref(error))
                check(error)
            SHARED['users'] += 1

    def put(self, key, value):
        error, k = ctypes.c_char_p(), key.encode()
        db_put(SHARED['db'], self.writing, k, len(k), value, len(value), ctypes.byref(error))
        check(error)

    def get(self, key):
        error, k, n = ctypes.c_char_p(), key.encode(), SIZE()
        data = db_get(SHARED['db'], self.reading, k, len(k), ctypes.byref(n), ctypes.byref(error))
        check(error)
        if data is None:
            raise KeyError(key)
        value = ctypes.string_at(data, n.value)
        release(data)
        return value

    def close(self):
        with LOCK:
            SHARED['users'] -= 1
            if SHARED['users'] == 0:
                self.statistics()
                db_close(SHARED['db'])

    def statistics(self):
        """leveldb.stats: level, files, size, seconds, MB read and written by compactions since it was opened."""
        if not self.stats:
            return
        text = db_property(SHARED['db'], b'leveldb.stats')
        with open(self.stats, 'w', encoding='utf-8') as f:
            for row in (line.split() for line in ctypes.string_at(text).decode().splitlines()):
                if len(row) == 6 and row[0].isdigit():
                    for name, value in zip(('files', 'size_mb', 'seconds', 'read_mb', 'written_mb'), row[1:]):
                        f.write(f'level{row[0]}_{name}\t{value}\n')
        release(text)


KEY, POOL = 16, 1 << 22


def fill(path, count, size, stats):
    """How much is compacted depends on how fast the client is: values are slices of random bytes made beforehand."""
    store, rng = Store({'path': path, 'stats': stats}), random.Random(1)
    pool = rng.randbytes(POOL + size)
    at, error = ctypes.cast(ctypes.c_char_p(pool), POINTER).value, ctypes.c_char_p()
    put, db, options, drawn, why = db_put, SHARED['db'], store.writing, rng.random, ctypes.byref(error)
    put.argtypes = [POINTER, POINTER, ctypes.c_char_p, SIZE, POINTER, SIZE, POINTER]
    begin, done = time.monotonic(), 0
    for _ in range(count):
        put(db, options, b'%0*d' % (KEY, int(drawn() * count)), KEY, at + int(drawn() * POOL), size, why)
        if error:
            break
        done += 1
    took = time.monotonic() - begin
    store.close()
    print(json.dumps({'duration_s': round(took, 6), 'errors': count - done, 'write_ops': done, 'logical_write_bytes': done * (KEY + size),
                      'read_ops': 0, 'logical_read_bytes': 0, 'value_bytes': size, 'clients': 1}))
    check(error)


if __name__ == '__main__':
    sys.dont_write_bytecode = True
    if len(sys.argv) != 6 or sys.argv[1] != 'fill':
        sys.exit(__doc__)
    fill(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
