#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""upstream.py - the servers that a sandbox may, or may not, reach

usage: upstream.py CERTIFICATE KEY LOGFILE

Each address below is a server with a name of its own, as it says in all its
answers:
    443         TLS and HTTP/1.1
    8443        a mirror: says in a record of TLS how many bytes it got in one
                breath, and their digest. What a gateway changed shows, and
                hellos that no TLS library would take still get an answer
    80, 8080    HTTP/1.1; says the head that it got
    7000        TCP echo
Each connection, and each HTTP request, is a JSON line in LOGFILE.
"""
import hashlib
import json
import re
import socket
import ssl
import sys
import threading

SERVERS = {"198.51.100.10": "good", "198.51.100.11": "other",
           "198.51.100.12": "cdn", "198.51.100.20": "echo",
           "198.51.100.66": "denied"}
BREATH = 0.12  # seconds of silence that end one
IDLE = 120


class Log:
    def __init__(self, path):
        self.file = open(path, "a", buffering=1)

    def put(self, **what):
        self.file.write(json.dumps(what) + "\n")


def breath(conn, first=IDLE):
    """What comes until there is silence; b"" at the end."""
    data = b""
    conn.settimeout(first)
    try:
        while len(data) < 1 << 20:
            more = conn.recv(65536)
            if not more:
                break
            data += more
            conn.settimeout(BREATH)
    except TimeoutError:
        pass
    return data


def say_http(conn, status, what):
    body = json.dumps(what).encode()
    conn.sendall(b"HTTP/1.1 %d OK\r\nContent-Type: application/json\r\n"
                 b"Content-Length: %d\r\n\r\n%s" % (status, len(body), body))


def http(conn, server, log, kind):
    """Requests one after another; lenient, as a bad upstream would be."""
    buf = b""
    conn.settimeout(IDLE)
    while True:
        while b"\r\n\r\n" not in buf:
            more = conn.recv(65536)
            if not more:
                if buf:
                    log.put(kind=kind, server=server, rest=buf.decode(
                        "latin-1"))
                return
            buf += more
        head, buf = buf.split(b"\r\n\r\n", 1)
        m = re.search(rb"(?im)^content-length: *(\d+)", head)
        length = int(m.group(1)) if m else 0
        while len(buf) < length:
            more = conn.recv(65536)
            if not more:
                break
            buf += more
        buf = buf[length:]
        if re.search(rb"(?im)^transfer-encoding:", head):
            while b"0\r\n\r\n" not in buf:
                more = conn.recv(65536)
                if not more:
                    break
                buf += more
            buf = buf.split(b"0\r\n\r\n", 1)[-1]
        text = head.decode("latin-1")
        log.put(kind=kind, server=server, head=text)
        say_http(conn, 200, {"server": server, "head": text})


def tls(conn, server, log, context):
    names = []

    def named(sock, name, ctx):
        names.append(name)
    context.sni_callback = named
    with context.wrap_socket(conn, server_side=True) as secure:
        log.put(kind="tls", server=server, sni=secure.version() and
                names[-1:])
        http(secure, server, log, "https")


def mirror(conn, server, log):
    while True:
        data = breath(conn)
        if not data:
            return
        said = {"server": server, "bytes": len(data),
                "sha256": hashlib.sha256(data).hexdigest()}
        log.put(kind="mirror", **said)
        body = json.dumps(said).encode()
        conn.sendall(b"\x16\x03\x03" + len(body).to_bytes(2, "big") + body)


def echo(conn, server, log):
    conn.settimeout(IDLE)
    while True:
        data = conn.recv(65536)
        if not data:
            return
        log.put(kind="echo", server=server, bytes=len(data))
        conn.sendall(data)


def serve(where, server, log, how):
    listener = socket.create_server(where, backlog=256)

    def one(conn):
        with conn:
            try:
                how(conn, server, log)
            except (OSError, ssl.SSLError) as e:
                log.put(kind="end", server=server, error=str(e))

    while True:
        conn, peer = listener.accept()
        log.put(kind="accept", server=server, port=where[1], peer=peer[0])
        threading.Thread(target=one, args=(conn,), daemon=True).start()


def main():
    certificate, key, path = sys.argv[1:]
    log = Log(path)

    def secure(conn, server, log):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        tls(conn, server, log, context)

    def plain(conn, server, log):
        http(conn, server, log, "http")

    ports = {443: secure, 8443: mirror, 80: plain, 8080: plain, 7000: echo}
    for address, server in SERVERS.items():
        for port, how in ports.items():
            threading.Thread(target=serve, args=((address, port), server, log,
                                                 how), daemon=True).start()
    threading.Event().wait()


main()
