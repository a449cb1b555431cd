# SPDX-License-Identifier: GPL-3.0-only
"""mysqlkv.py - backend of kv.py: MariaDB through libmariadb, one autocommit statement an operation. Options: socket."""
import ctypes
import ctypes.util
import threading

LIB = ctypes.CDLL(ctypes.util.find_library('mariadb') or 'libmariadb.so.3')
for name in ('mysql_init', 'mysql_real_connect', 'mysql_error', 'mysql_store_result', 'mysql_fetch_row', 'mysql_fetch_lengths'):
    getattr(LIB, name).restype = ctypes.c_void_p
ONCE = threading.Lock()
TABLE = 'create table if not exists kv (k varchar(200) primary key, v longblob not null) engine=InnoDB'


class Store:
    def __init__(self, options):
        self.conn = ctypes.c_void_p(LIB.mysql_init(None))
        if not LIB.mysql_real_connect(self.conn, None, b'root', None, b'iot', 0, options['socket'].encode(), ctypes.c_ulong(0)):
            raise OSError(self.error())
        with ONCE:
            self.run(TABLE.encode())

    def error(self):
        return ctypes.string_at(LIB.mysql_error(self.conn)).decode(errors='replace')

    def run(self, sql):
        if LIB.mysql_real_query(self.conn, sql, ctypes.c_ulong(len(sql))):
            raise OSError(self.error())

    # Keys are of kv.py's making: letters, digits, dashes and slashes. Values go as hexadecimal, two bytes on the wire for one.
    def put(self, key, value):
        self.run(b"replace into kv values ('%s', x'%s')" % (key.encode(), value.hex().encode()))

    def get(self, key):
        self.run(b"select v from kv where k = '%s'" % key.encode())
        result = ctypes.c_void_p(LIB.mysql_store_result(self.conn))
        try:
            row = LIB.mysql_fetch_row(result)
            if not row:
                raise KeyError(key)
            length = ctypes.cast(LIB.mysql_fetch_lengths(result), ctypes.POINTER(ctypes.c_ulong))[0]
            return ctypes.string_at(ctypes.cast(row, ctypes.POINTER(ctypes.c_void_p))[0], length)
        finally:
            LIB.mysql_free_result(result)

    def close(self):
        LIB.mysql_close(self.conn)
