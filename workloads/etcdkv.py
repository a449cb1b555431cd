# SPDX-License-Identifier: GPL-3.0-only
"""etcdkv.py - backend of kv.py: etcd v3 through its JSON gateway, one kept HTTP connection. Options: host, port."""
import base64
import http.client
import json


def b64(data):
    return base64.b64encode(data).decode()


class Store:
    def __init__(self, options):
        self.http = http.client.HTTPConnection(options.get('host', '127.0.0.1'), int(options['port']), timeout=120)

    def call(self, path, document):
        self.http.request('POST', path, json.dumps(document), {'Content-Type': 'application/json'})
        answer = self.http.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise OSError(f'{answer.status} {body[:200].decode(errors="replace")}')
        return json.loads(body)

    def put(self, key, value):
        self.call('/v3/kv/put', {'key': b64(key.encode()), 'value': b64(value)})

    def get(self, key):
        found = self.call('/v3/kv/range', {'key': b64(key.encode())}).get('kvs')
        if not found:
            raise LookupError(f'{key} is not there')
        return base64.b64decode(found[0].get('value', ''))

    def close(self):
        self.http.close()
