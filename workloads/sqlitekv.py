# SPDX-License-Identifier: GPL-3.0-only
"""sqlitekv.py - backend of kv.py: one SQLite file. Options: path, journal (delete, wal, ...), sync (off, normal,
full), batch: operations a transaction (1: each commits alone; 0: all in one)."""
import sqlite3


class Store:
    def __init__(self, options):
        # Made in one thread, used in another, never by two at once.
        self.db = sqlite3.connect(options['path'], isolation_level=None, timeout=120, check_same_thread=False)
        self.db.execute(f"pragma journal_mode={options.get('journal', 'wal')}")
        self.db.execute(f"pragma synchronous={options.get('sync', 'full')}")
        self.db.execute('create table if not exists kv (k text primary key, v blob not null) without rowid'
                        if options.get('rowid') == 'no' else
                        'create table if not exists kv (k text primary key, v blob not null)')
        self.batch, self.pending = int(options.get('batch', 1)), 0

    def put(self, key, value):
        if self.batch != 1 and self.pending == 0:
            self.db.execute('begin')
        self.db.execute('insert into kv values (?, ?) on conflict (k) do update set v = excluded.v', (key, value))
        self.pending += 1
        if self.pending == self.batch:
            self.commit()

    def commit(self):
        if self.db.in_transaction:
            self.db.execute('commit')
        self.pending = 0

    def get(self, key):
        return self.db.execute('select v from kv where k = ?', (key,)).fetchone()[0]

    def close(self):
        self.commit()
        self.db.close()
