#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-only
"""sockets.py - known bytes over sockets: a client sends COUNT times SIZE bytes to a server, its own child, which answers.

usage: sockets.py PROTOCOL ADDRESS SENDER READER COUNT SIZE [--answer BYTES] [--server-netns NAME]
  PROTOCOL  tcp, udp or unix; ADDRESS is the server's (a path for unix)
  SENDER    tcp: write send sendmsg sendfile splice uring; udp: write send sendto sendmsg sendmmsg
  READER    tcp: read recv recvmsg splice peek uring; udp: read recv recvfrom recvmsg recvmmsg
Prints a ledger in JSON: pid, port, sent and received bytes of both. A time limit of 60 s ends it.
"""
import argparse
import ctypes
import json
import mmap
import os
import signal
import socket
import struct
import sys
import tempfile

MESSAGES = 2  # of one sendmmsg, recvmmsg


class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


class Header(ctypes.Structure):
    _fields_ = [("name", ctypes.c_void_p), ("name_len", ctypes.c_uint32), ("iov", ctypes.c_void_p), ("iov_len", ctypes.c_size_t),
                ("control", ctypes.c_void_p), ("control_len", ctypes.c_size_t), ("flags", ctypes.c_int)]


class Message(ctypes.Structure):
    _fields_ = [("header", Header), ("length", ctypes.c_uint)]


def name_of(family, peer):
    """A struct sockaddr."""
    head = family.to_bytes(2, sys.byteorder) + peer[1].to_bytes(2, "big")
    address = socket.inet_pton(family, peer[0])
    return head + (address + bytes(8) if family == socket.AF_INET else bytes(4) + address + bytes(4))


def messages(payloads, names):
    """An array of messages and what must stay alive with it."""
    array, alive = (Message * len(payloads))(), []
    for m, payload, name in zip(array, payloads, names):
        data = ctypes.create_string_buffer(payload, len(payload))
        where = ctypes.create_string_buffer(name, len(name))
        iov = Iovec(ctypes.addressof(data), len(payload))
        m.header = Header(ctypes.addressof(where), len(name), ctypes.addressof(iov), 1, None, 0, 0)
        alive += [data, where, iov]
    return array, alive


def sendmmsg(sock, payload, peer):
    array, alive = messages([payload] * MESSAGES, [name_of(sock.family, peer)] * MESSAGES)
    n = ctypes.CDLL(None, use_errno=True).sendmmsg(sock.fileno(), array, MESSAGES, 0)
    assert n == MESSAGES and alive, os.strerror(ctypes.get_errno())
    return sum(m.length for m in array)


def recvmmsg(sock, size):
    array, alive = messages([bytes(size)] * MESSAGES, [bytes(28)] * MESSAGES)
    n = ctypes.CDLL(None, use_errno=True).recvmmsg(sock.fileno(), array, MESSAGES, 0, None)
    assert n > 0, os.strerror(ctypes.get_errno())
    name = alive[1].raw
    family = int.from_bytes(name[:2], sys.byteorder)
    at = 4 if family == socket.AF_INET else 8
    host = socket.inet_ntop(family, name[at:at + (4 if family == socket.AF_INET else 16)])
    return sum(m.length for m in array[:n]), (host, int.from_bytes(name[2:4], "big"))


def splice_out(sock, payload):
    get, put = os.pipe()
    os.write(put, payload)
    done = 0
    while done < len(payload):
        done += os.splice(get, sock.fileno(), len(payload) - done)
    os.close(get)
    os.close(put)
    return done


def splice_in(sock, size):
    get, put = os.pipe()
    n = os.splice(sock.fileno(), put, min(size, 65536))
    if n:
        os.read(get, n)
    os.close(get)
    os.close(put)
    return n


def sendfile(sock, payload):
    with tempfile.TemporaryFile(dir="/dev/shm") as f:
        f.write(payload)
        f.flush()
        done = 0
        while done < len(payload):
            done += os.sendfile(sock.fileno(), f.fileno(), done, len(payload) - done)
    return done


def peek(sock, size):
    sock.recv(size, socket.MSG_PEEK)
    return len(sock.recv(size))


class Uring:
    """One request at a time: linux/io_uring.h, by the raw system calls."""
    SEND, RECV = 26, 27

    def __init__(self):
        self.libc, params = ctypes.CDLL(None, use_errno=True), ctypes.create_string_buffer(120)
        self.fd = self.libc.syscall(425, 1, params)
        assert self.fd >= 0, "io_uring_setup: " + os.strerror(ctypes.get_errno())
        self.sq = struct.unpack_from("10I", params, 40)  # head tail mask entries flags dropped array ...
        self.cq = struct.unpack_from("10I", params, 80)  # head tail mask entries overflow cqes ...
        self.sq_ring = mmap.mmap(self.fd, self.sq[6] + 4, offset=0)
        self.cq_ring = mmap.mmap(self.fd, self.cq[5] + 32, offset=0x8000000)
        self.sqes = mmap.mmap(self.fd, 64, offset=0x10000000)

    def run(self, opcode, fd, buffer, size):
        self.sqes[:64] = struct.pack("BBHiQQIIQ24x", opcode, 0, 0, fd, 0, ctypes.addressof(buffer), size, 0, 1)
        struct.pack_into("I", self.sq_ring, self.sq[6], 0)
        tail = struct.unpack_from("I", self.sq_ring, self.sq[1])[0]
        struct.pack_into("I", self.sq_ring, self.sq[1], tail + 1)
        assert self.libc.syscall(426, self.fd, 1, 1, 1, None, 0) == 1, "io_uring_enter: " + os.strerror(ctypes.get_errno())
        head, mask = (struct.unpack_from("I", self.cq_ring, self.cq[i])[0] for i in (0, 2))
        res = struct.unpack_from("i", self.cq_ring, self.cq[5] + (head & mask) * 16 + 8)[0]
        struct.pack_into("I", self.cq_ring, self.cq[0], head + 1)
        assert res >= 0, "io_uring: " + os.strerror(-res)
        return res


rings = {}


def uring(opcode, sock, payload):
    ring = rings.setdefault(os.getpid(), None) or Uring()
    rings[os.getpid()] = ring
    buffer = ctypes.create_string_buffer(payload, len(payload))
    return ring.run(opcode, sock.fileno(), buffer, len(payload))


SENDERS = {
    "uring": lambda s, data, peer: uring(Uring.SEND, s, data),
    "write": lambda s, data, peer: os.write(s.fileno(), data),
    "send": lambda s, data, peer: s.send(data),
    "sendto": lambda s, data, peer: s.sendto(data, peer),
    "sendmsg": lambda s, data, peer: s.sendmsg([data], [], 0, peer) if peer else s.sendmsg([data[:5], data[5:]]),
    "sendmmsg": sendmmsg,
    "sendfile": lambda s, data, peer: sendfile(s, data),
    "splice": lambda s, data, peer: splice_out(s, data),
}
READERS = {
    "uring": lambda s, size: (uring(Uring.RECV, s, bytes(size)), None),
    "read": lambda s, size: (len(os.read(s.fileno(), size)), None),
    "recv": lambda s, size: (len(s.recv(size)), None),
    "recvfrom": lambda s, size: (lambda data, peer: (len(data), peer[:2]))(*s.recvfrom(size)),
    "recvmsg": lambda s, size: (lambda data, _, __, peer: (len(data), peer[:2] if peer else None))(*s.recvmsg(size)),
    "recvmmsg": recvmmsg,
    "splice": lambda s, size: (splice_in(s, size), None),
    "peek": lambda s, size: (peek(s, size), None),
}


class Side:
    def __init__(self, options):
        self.o, self.sent, self.received = options, 0, 0

    def send(self, sock, size, peer=None):
        left = size * MESSAGES if self.o.sender == "sendmmsg" else size
        while left:  # a stream may take less than it is given
            n = SENDERS[self.o.sender](sock, b"p" * min(size, left), peer)
            self.sent += n
            left -= n

    def receive(self, sock, size):
        n, peer = READERS[self.o.reader](sock, size)
        self.received += n
        return n, peer

    def receive_all(self, sock, size):
        while size:
            n, _ = self.receive(sock, size)
            assert n, "the peer left"
            size -= n

    def ledger(self, port):
        return {"pid": os.getpid(), "port": port, "sent": self.sent, "received": self.received}


def stream(side, sock, server):
    o = side.o
    if server:
        side.receive_all(sock, o.count * o.size)
        side.send(sock, o.answer)
        return
    for _ in range(o.count):
        side.send(sock, o.size)
    side.receive_all(sock, o.answer)


def datagrams(side, sock, server, peer):
    o = side.o
    named = o.sender in ("sendto", "sendmsg", "sendmmsg")
    whole = MESSAGES if o.sender == "sendmmsg" else 1
    for _ in range(o.count):
        if not server:
            side.send(sock, o.size, peer if named else None)
        got = 0
        while got < (o.size if server else o.answer) * whole:  # in step: nothing is dropped
            n, seen = side.receive(sock, o.size if server else o.answer)
            got += n
        if server:
            if not named and peer is None:  # as python's servers do: it must know whom to answer
                peer = seen
                sock.connect(peer)
            side.send(sock, o.answer, (seen or peer) if named else None)


def make(o):
    family = {"unix": socket.AF_UNIX}.get(o.protocol, socket.AF_INET6 if ":" in o.address else socket.AF_INET)
    kind = socket.SOCK_DGRAM if o.protocol == "udp" else socket.SOCK_STREAM
    return socket.socket(family, kind)


def port_of(sock):
    name = sock.getsockname()
    return name[1] if isinstance(name, tuple) else 0


def serve(o, tell):
    if o.server_netns:
        with open("/run/netns/" + o.server_netns) as ns:
            assert ctypes.CDLL(None, use_errno=True).setns(ns.fileno(), 0x40000000) == 0, "setns"
    side, sock = Side(o), make(o)
    sock.bind(o.address if o.protocol == "unix" else (o.address, 0))
    if o.protocol != "udp":
        sock.listen()
    os.write(tell, b"%d\n" % port_of(sock))
    port = port_of(sock)
    if o.protocol == "udp":
        datagrams(side, sock, True, None)
    else:
        stream(side, sock.accept()[0], True)
    os.write(tell, json.dumps(side.ledger(port)).encode())


def connect(o, port):
    side, sock = Side(o), make(o)
    peer = o.address if o.protocol == "unix" else (o.address, port)
    if o.protocol != "udp":
        sock.connect(peer)
        mine = port_of(sock)
        stream(side, sock, False)
        return side.ledger(mine)
    if o.sender in ("write", "send"):
        sock.connect(peer)
    datagrams(side, sock, False, peer)
    return side.ledger(port_of(sock))


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("protocol", choices=["tcp", "udp", "unix"])
    p.add_argument("address")
    p.add_argument("sender", choices=SENDERS)
    p.add_argument("reader", choices=READERS)
    p.add_argument("count", type=int)
    p.add_argument("size", type=int)
    p.add_argument("--answer", type=int, default=1013)
    p.add_argument("--server-netns")
    return p.parse_args()


def main():
    o = arguments()
    get, put = os.pipe()
    signal.alarm(60)
    child = os.fork()
    if not child:
        signal.alarm(60)
        os.close(get)
        serve(o, put)
        os._exit(0)
    os.close(put)
    with os.fdopen(get) as told:
        client = connect(o, int(told.readline() or sys.exit("the server failed")))
        server = json.loads(told.read())
    os.waitpid(child, 0)
    print(json.dumps({"client": client, "server": server}))


main()
