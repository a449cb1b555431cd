# SPDX-License-Identifier: GPL-3.0-only
"""filekv.py - backend of kv.py: a directory of a mounted file system, one file a key, fsync before it counts.

Options: dir; block: bytes a write(2) call (default: the whole value at once).
"""
import os


class Store:
    def __init__(self, options):
        self.dir = options['dir']
        self.block = int(options.get('block', 0))

    def path(self, key):
        path = f'{self.dir}/{key}'
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def put(self, key, value):
        fd = os.open(self.path(key), os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            step = self.block or len(value) or 1
            view = memoryview(value)
            for at in range(0, len(value), step):
                part = view[at:at + step]
                while part:
                    part = part[os.write(fd, part):]
            os.fsync(fd)
        finally:
            os.close(fd)

    def get(self, key):
        with open(self.path(key), 'rb', buffering=0) as f:
            return f.readall()

    def close(self):
        pass
