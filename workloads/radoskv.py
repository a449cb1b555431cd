# SPDX-License-Identifier: GPL-3.0-only
"""radoskv.py - backend of kv.py: RADOS objects through librados.

Options: conf, pool; objects, object_bytes: the values are parts of so many objects, which a client wrote whole before.
"""
import ctypes
import ctypes.util
import threading

LIB = ctypes.CDLL(ctypes.util.find_library('rados') or 'librados.so.2')
CHUNK = 1 << 22  # what one operation carries: the server refuses those beyond osd_max_write_size
LOCK = threading.Lock()
SHARED = {'cluster': None, 'users': 0}


def check(result, what):
    if result < 0:
        raise OSError(-result, f'librados: {what}')
    return result


def connect(conf):
    cluster = ctypes.c_void_p()
    check(LIB.rados_create(ctypes.byref(cluster), None), 'create')
    check(LIB.rados_conf_read_file(cluster, conf.encode()), conf)
    check(LIB.rados_connect(cluster), 'connect')
    return cluster


class Store:
    def __init__(self, options):
        with LOCK:
            if SHARED['users'] == 0:
                SHARED['cluster'] = connect(options['conf'])
            SHARED['users'] += 1
        self.io = ctypes.c_void_p()
        check(LIB.rados_ioctx_create(SHARED['cluster'], options['pool'].encode(), ctypes.byref(self.io)), options['pool'])
        self.objects, self.object_bytes = int(options.get('objects', 0)), int(options.get('object_bytes', 0))

    def put_part(self, key, value):
        """Parts in a fixed order that is not sequential: 1031 is prime, so none comes twice where the parts are a power of two."""
        name, n = key.rsplit('-', 1)
        at = int(n) * 1031 * len(value) % (self.objects * self.object_bytes)
        whole = f'{name}-{at // self.object_bytes:07d}'
        check(LIB.rados_write(self.io, whole.encode(), value, ctypes.c_size_t(len(value)), ctypes.c_uint64(at % self.object_bytes)), f'write {whole}')

    def put(self, key, value):
        if self.objects:
            return self.put_part(key, value)
        name = key.encode()
        first = value[:CHUNK]
        check(LIB.rados_write_full(self.io, name, first, ctypes.c_size_t(len(first))), f'write {key}')
        for at in range(CHUNK, len(value), CHUNK):
            part = value[at:at + CHUNK]
            check(LIB.rados_write(self.io, name, part, ctypes.c_size_t(len(part)), ctypes.c_uint64(at)), f'write {key}')

    def get(self, key):
        parts, at, buffer = [], 0, ctypes.create_string_buffer(CHUNK)
        while True:
            n = check(LIB.rados_read(self.io, key.encode(), buffer, ctypes.c_size_t(CHUNK), ctypes.c_uint64(at)), f'read {key}')
            parts.append(ctypes.string_at(buffer, n))
            at += n
            if n < CHUNK:
                return b''.join(parts)

    def close(self):
        LIB.rados_ioctx_destroy(self.io)
        with LOCK:
            SHARED['users'] -= 1
            if SHARED['users'] == 0:
                LIB.rados_shutdown(SHARED['cluster'])
