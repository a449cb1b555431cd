# SPDX-License-Identifier: GPL-3.0-only
"""libpq.py - backend of kv.py: PostgreSQL through libpq, one autocommit statement an operation, binary values.

Options: conninfo. The table is kv(k text primary key, v bytea), v without compression so that the payload is exact.
"""
import ctypes
import ctypes.util
import threading

LIB = ctypes.CDLL(ctypes.util.find_library('pq') or 'libpq.so.5')
for name in ('PQconnectdb', 'PQexecParams', 'PQerrorMessage', 'PQresultErrorMessage', 'PQgetvalue'):
    getattr(LIB, name).restype = ctypes.c_void_p
ONCE = threading.Lock()
TABLE = b'create table if not exists kv (k text primary key, v bytea not null)'


class Store:
    def __init__(self, options):
        self.conn = ctypes.c_void_p(LIB.PQconnectdb(options['conninfo'].encode()))
        if LIB.PQstatus(self.conn):
            raise OSError(ctypes.string_at(LIB.PQerrorMessage(self.conn)).decode())
        with ONCE:
            self.run(b"set client_min_messages = 'error'")
            if self.run(b"select 1 where to_regclass('kv') is null") is not None:
                self.run(TABLE)
                self.run(b'alter table kv alter v set storage external')

    def run(self, sql, *values):
        """Runs one statement; returns the first value of its first row, or None."""
        n = len(values)
        pointers = (ctypes.c_char_p * n)(*values)
        lengths = (ctypes.c_int * n)(*map(len, values))
        formats = (ctypes.c_int * n)(*[1] * n)
        result = ctypes.c_void_p(LIB.PQexecParams(self.conn, sql, n, None, pointers, lengths, formats, 1))
        try:
            if LIB.PQresultStatus(result) not in (1, 2):
                raise OSError(ctypes.string_at(LIB.PQresultErrorMessage(result)).decode())
            if LIB.PQntuples(result) == 0:
                return None
            return ctypes.string_at(LIB.PQgetvalue(result, 0, 0), LIB.PQgetlength(result, 0, 0))
        finally:
            LIB.PQclear(result)

    def put(self, key, value):
        self.run(b'insert into kv values ($1::text, $2::bytea) on conflict (k) do update set v = excluded.v', key.encode(), value)

    def get(self, key):
        value = self.run(b'select v from kv where k = $1::text', key.encode())
        if value is None:
            raise LookupError(f'{key} is not there')
        return value

    def close(self):
        LIB.PQfinish(self.conn)
