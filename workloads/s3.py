# SPDX-License-Identifier: GPL-3.0-only
"""s3.py - backend of kv.py: S3 with signature version 4 over one kept HTTP connection.

Options: host, port, user, password, bucket. One PUT an object, whatever its size: never multipart.
Signature: AWS, "Authenticating Requests: Using the Authorization Header (AWS Signature Version 4)".
"""
import hashlib
import hmac
import http.client
import threading
import time
import urllib.parse

ONCE = threading.Lock()
MADE = set()


def sign(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


class Store:
    def __init__(self, options):
        self.where = f"{options.get('host', '127.0.0.1')}:{options['port']}"
        self.user, self.password = options['user'], options['password']
        self.bucket = options.get('bucket', 'iot')
        self.http = http.client.HTTPConnection(self.where, timeout=120)
        with ONCE:
            if (self.where, self.bucket) not in MADE:
                self.call('PUT', '', ok=(200, 409))
                MADE.add((self.where, self.bucket))

    def call(self, method, key, body=b'', ok=(200,)):
        path = urllib.parse.quote(f'/{self.bucket}/{key}' if key else f'/{self.bucket}')
        self.http.request(method, path, body or None, self.headers(method, path, body))
        answer = self.http.getresponse()
        data = answer.read()
        if answer.status not in ok:
            raise OSError(f'{method} {path}: {answer.status} {data[:200].decode(errors="replace")}')
        return data

    def headers(self, method, path, body):
        stamp = time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())
        day, digest = stamp[:8], hashlib.sha256(body).hexdigest()
        sent = {'host': self.where, 'x-amz-content-sha256': digest, 'x-amz-date': stamp}
        names = ';'.join(sent)
        request = '\n'.join([method, path, '', *(f'{k}:{v}' for k, v in sent.items()), '', names, digest])
        scope = f'{day}/us-east-1/s3/aws4_request'
        text = '\n'.join(['AWS4-HMAC-SHA256', stamp, scope, hashlib.sha256(request.encode()).hexdigest()])
        key = f'AWS4{self.password}'.encode()
        for part in scope.split('/'):
            key = sign(key, part)
        sent['Authorization'] = (f'AWS4-HMAC-SHA256 Credential={self.user}/{scope}, SignedHeaders={names}, '
                                 f'Signature={sign(key, text).hex()}')
        return sent

    def put(self, key, value):
        self.call('PUT', key, value)

    def get(self, key):
        return self.call('GET', key)

    def close(self):
        self.http.close()
