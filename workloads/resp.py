# SPDX-License-Identifier: GPL-3.0-only
"""resp.py - backend of kv.py: Redis and Valkey through RESP2, one connection. Options: host, port."""
import socket


class Store:
    def __init__(self, options):
        self.socket = socket.create_connection((options.get('host', '127.0.0.1'), int(options['port'])), timeout=120)
        self.file = self.socket.makefile('rb')

    def call(self, *words):
        parts = [b'*%d\r\n' % len(words)]
        for word in words:
            parts += [b'$%d\r\n' % len(word), word, b'\r\n']
        self.socket.sendall(b''.join(parts))
        head = self.file.readline()
        if head[:1] == b'$' and head != b'$-1\r\n':
            return self.file.read(int(head[1:]) + 2)[:-2]
        if head[:1] != b'+':
            raise OSError(head.decode(errors='replace').strip() or 'the connection was closed')
        return head[1:-2]

    def put(self, key, value):
        self.call(b'SET', key.encode(), value)

    def get(self, key):
        return self.call(b'GET', key.encode())

    def close(self):
        self.file.close()
        self.socket.close()
