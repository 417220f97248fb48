# SPDX-License-Identifier: Apache-2.0
"""Servers of 37_ports.bats, and a client.

usage: ports.py serve ADDRESS:PORT:KIND...
       ports.py talk ADDRESS PORT KIND [BYTES]

Kinds: http answers a request with one line, which says who asks, and closes;
echo sends back what comes until it ends; sum waits for the end, then sends the
digest; first ends its own direction, and then sends what came by the next
connection. talk exits with 0 if the server did as it should.
"""
import hashlib
import os
import socket
import sys
import threading

kept = b""


def everything(c):
    parts = []
    while part := c.recv(65536):
        parts.append(part)
    return b"".join(parts)


def serve_http(c, port):
    head = b""
    while b"\r\n\r\n" not in head:
        part = c.recv(4096)
        if not part:
            return
        head += part
    body = (f"port {port} of {os.uname().nodename}, "
            f"asked by {c.getpeername()[0]}\n").encode()
    c.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body)


def serve_echo(c, port):
    while part := c.recv(65536):
        c.sendall(part)


def serve_sum(c, port):
    c.sendall(hashlib.sha256(everything(c)).hexdigest().encode())


def serve_first(c, port):
    global kept
    c.sendall(kept or b"nothing")
    c.shutdown(socket.SHUT_WR)
    kept = everything(c)


def one(c, port, kind):
    with c:
        globals()["serve_" + kind](c, port)


def listen(place):
    address, port, kind = place.rsplit(":", 2)
    s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((address, int(port)))
    s.listen(128)
    while True:
        c, _ = s.accept()
        threading.Thread(target=one, args=(c, port, kind), daemon=True).start()


def talk_echo(c, size):
    data = os.urandom(size)
    t = threading.Thread(target=lambda: (c.sendall(data),
                                         c.shutdown(socket.SHUT_WR)))
    t.start()
    back = everything(c)
    t.join()
    return back == data


def talk_turns(c, size):
    """Turn by turn, as a WebSocket: each side waits for the other."""
    for n in range(size):
        data = os.urandom(1 + n % 3000)
        c.sendall(data)
        back = b""
        while len(back) < len(data):
            part = c.recv(65536)
            if not part:
                return False
            back += part
        if back != data:
            return False
    return True


def talk_sum(c, size):
    data = os.urandom(size)
    c.sendall(data)
    c.shutdown(socket.SHUT_WR)
    return everything(c) == hashlib.sha256(data).hexdigest().encode()


def talk_first(c, size):
    print(everything(c).decode())
    c.sendall(b"after the end")
    return True


def talk_closed(c, size):
    """Nobody is there: the end or a reset comes at once."""
    try:
        c.sendall(b"GET / HTTP/1.1\r\n\r\n")
        return everything(c) == b""
    except ConnectionError:
        return True


def main():
    if sys.argv[1] == "serve":
        for place in sys.argv[2:]:
            threading.Thread(target=listen, args=(place,)).start()
        return 0
    place = sys.argv[2], int(sys.argv[3])
    try:
        c = socket.create_connection(place, timeout=60)
    except ConnectionResetError:
        # It was closed before connect() returned; a refusal is another thing.
        return 0 if sys.argv[4] == "closed" else 1
    size = int(sys.argv[5]) if len(sys.argv) > 5 else 1
    with c:
        return 0 if globals()["talk_" + sys.argv[4]](c, size) else 1


sys.exit(main())
