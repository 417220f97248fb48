# SPDX-License-Identifier: Apache-2.0
"""tls.py - T: what a gateway that reads hellos may trip over"""
import os
import socket
import ssl
import struct
import time

import hello
from net import GATEWAY, MIRROR_PORT, SINK, here, recv, tls_answer, udp

GOOD = b"good.test"
EVIL = b"evil.test"
BOTH = b"both.wild.test"  # plain TCP on 22, TLS on 443
PORTS = [21, 22, 23, 25, 110, 143, 194, 389, 445, 465, 563, 587, 636, 853,
         873, 990, 993, 995, 1194, 1433, 1723, 3306, 3389, 5060, 5432, 5900,
         6379, 6667, 6697, 8000, 8080, 8444, 9001, 9418, 11211, 27017, 51820,
         65535, 1]


def cut(data, at):
    return data[:at], data[at:]


def flood(extra):
    """A hello whose extension is @extra bytes long."""
    return hello.hello(GOOD, pad=extra)


def real(name):
    """The real thing: a verified handshake, and a request in it."""
    def run(t):
        sock = (t.tunnel(name + b":443") if t.way == "explicit" else
                t.dial(socket.gethostbyname(name.decode()), 443))
        context = ssl.create_default_context(cafile=here("ca.pem"))
        with context.wrap_socket(sock, server_hostname=name.decode()) as s:
            s.sendall(b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % name)
            said = s.recv(65536)
            issuer = dict(x[0] for x in s.getpeercert()["issuer"])
        if b'"server": "good"' not in said:
            return "closed", said[:60].decode("latin-1")
        return "open", "good " + issuer["commonName"]
    return run


def fronted(t):
    """An allowed name's address, and another name of the same server."""
    sock = t.to_tls(b"cdn-good.test")
    t.send(sock, hello.hello(b"cdn-evil.test"))
    return tls_answer(sock)


def not_tls(first):
    def run(t):
        sock = t.to_tls()
        t.send(sock, first)
        data = recv(sock)
        if not data:
            return "closed", ""
        if data[:1] == b"\x15":
            return "denied", "alert"
        if data[:5] == b"HTTP/":
            return "denied", data.split(b"\r\n")[0].decode("latin-1")
        return "open", data[:20].hex()
    return run


def second_hello(t):
    """A second hello on a connection is the server's business: bytes of the
    tunnel. The first server gets it, nobody else does."""
    first = hello.hello(GOOD)
    sock = t.to_tls()
    t.send(sock, first)
    tls_answer(sock, first)
    again = hello.hello(EVIL)
    t.send(sock, again)
    return tls_answer(sock, again)


def datagram(to, port):
    return lambda t: udp(to, port, b"\xc0\0\0\0\x01" + os.urandom(1195))[:1] + (
        "%s:%d" % (to, port),)


def register_records(add):
    msg = hello.message(GOOD)
    for size in (1, 2, 3, 4, 5, 37, 100):
        if len(msg) / size < 250:
            add("T5", "records of %d" % size,
                lambda t, s=size: t.hello(hello.records(msg, s)))
    add("T5", "records of 2 in pieces", lambda t: t.hello(
        *[hello.record(msg[i:i + 2]) for i in range(0, len(msg), 2)]))
    for version in (0x0301, 0x0302, 0x0303, 0x0304):
        add("T5", "record version %04x" % version,
            lambda t, v=version: t.hello(hello.record(msg, v)))
    bad = {
        "more than 256 records": b"".join(
            hello.record(x) for x in (m.to_bytes(1, "big")
                                      for m in hello.message(GOOD, pad=300))),
        "empty record first": hello.record(b"") + hello.record(msg),
        "empty record within": hello.record(msg[:9]) + hello.record(b"") +
        hello.record(msg[9:]),
        "change cipher spec first": hello.record(b"\x01", kind=20) +
        hello.record(msg),
        "change cipher spec within": hello.record(msg[:9]) +
        hello.record(b"\x01", kind=20) + hello.record(msg[9:]),
        "alert within": hello.record(msg[:9]) +
        hello.record(b"\x01\x00", kind=21) + hello.record(msg[9:]),
        "application data within": hello.record(msg[:9]) +
        hello.record(b"GET /", kind=23) + hello.record(msg[9:]),
        "server hello first": hello.record(b"\x02" + msg[1:]),
        "record of 20000 bytes": b"\x16\x03\x01\x4e\x20" + msg,
        "record version 0x0505": hello.record(msg, 0x0505),
        "bytes after the extensions": hello.record(
            b"\x01" + (len(msg) - 4 + 3).to_bytes(3, "big") + msg[4:] +
            b"abc"),
        "message longer than said": hello.record(
            b"\x01" + (len(msg) - 9).to_bytes(3, "big") + msg[4:]),
    }
    for what, data in bad.items():
        add("T5-not", what, lambda t, d=data: t.hello(d))


def own_address(t):
    """What DNS says for a name with a `proto: tcp` rule."""
    address = socket.gethostbyname(BOTH.decode())
    own = address.startswith(("198.18.", "198.19."))
    return ("held" if own else "lost"), address


def both(port, first):
    """To BOTH as its address, or a CONNECT, names it."""
    def run(t):
        sock = (t.tunnel(b"%s:%d" % (BOTH, port)) if t.way == "explicit" else
                t.dial(socket.gethostbyname(BOTH.decode()), port))
        t.send(sock, first)
        if first.startswith(b"\x16"):
            return tls_answer(sock, first)
        said = recv(sock)
        if said == first:
            return "open", "echo"
        return ("denied" if said else "closed"), said[:40].hex()
    return run


def register_both(add):
    ssh = b"SSH-2.0-OpenSSH_9.2\r\n"
    add("T18-address", "of its own", own_address, ways="transparent")
    add("T18-tcp", "ssh on 22", both(22, ssh))
    add("T18-tls", "tls on 443", real(BOTH))
    add("T18-not", "ssh on 443", both(443, ssh))
    add("T18-not", "ssh on 23", both(23, ssh))
    add("T18-not", "tls on 23", both(23, hello.hello(BOTH)))
    add("T18-not", "another name on 443", both(443, hello.hello(EVIL)))


def register(add):
    register_both(add)
    add("control", "tls good.test", real(GOOD))
    add("control", "mirror good.test", lambda t: t.hello(hello.hello(GOOD)))
    add("control", "http good.test", lambda t: t.get(GOOD, b"/control"))
    add("control", "tcp echo.test", plain_tcp, ways="transparent")
    add("T17", "the server's own certificate", real(GOOD))
    add("T1", "evil name, own address",
        lambda t: t.hello(hello.hello(EVIL), connect=GOOD))
    add("T1", "other name", lambda t: t.hello(hello.hello(b"other.test")))
    add("T1", "another name of the same server", fronted)
    add("T1-good", "allowed name, sink's address",
        lambda t: t.hello(hello.hello(GOOD)))
    ech = hello.extension(hello.ECH, b"\0\0\x01\0\x01\x2a\0\x20" +
                          os.urandom(32) + b"\0\x40" + os.urandom(64))
    add("T3", "outer and inner",
        lambda t: t.hello(hello.hello(GOOD, after=[ech])))
    add("T3", "before the name",
        lambda t: t.hello(hello.hello(GOOD, before=[ech])))
    add("T3-outer", "a rule with ech: outer", lambda t: t.hello(
        hello.hello(b"ech.test", after=[ech]), connect=b"ech.test"))
    whole, evil = hello.hello(GOOD), hello.hello(EVIL)
    for at in (1, 2, 4, 5, 6, 9, 43, 100, len(whole) - 1):
        add("T4", "split at %d" % at,
            lambda t, a=at: t.hello(*cut(whole, a), pause=0.03))
        add("T4-not", "split at %d" % at,
            lambda t, a=at: t.hello(*cut(evil, a), pause=0.03))
    add("T4", "byte by byte",
        lambda t: t.hello(*[bytes([x]) for x in whole]))
    add("T4-not", "byte by byte",
        lambda t: t.hello(*[bytes([x]) for x in evil]))
    add("T4", "hello of 2 KiB", lambda t: t.hello(flood(1800)))
    register_records(add)
    tail = hello.record(os.urandom(400), kind=23)
    add("T6", "early data", lambda t: t.hello(hello.hello(GOOD) + tail))
    add("T6", "two messages in a record", lambda t: t.hello(hello.record(
        hello.message(GOOD) + hello.message(EVIL))))
    add("T6", "second hello in the tunnel", second_hello)
    for what, data in (("SSLv2 hello", hello.ssl2(GOOD)),
                       ("SSL 3.0", hello.hello(GOOD, legacy=0x0300,
                                               versions=())),
                       ("SSL 3.0 record", hello.record(
                           hello.message(GOOD), 0x0300)),
                       ("TLS 1.0", hello.hello(GOOD, legacy=0x0301,
                                               versions=())),
                       ("TLS 1.1", hello.hello(GOOD, legacy=0x0302,
                                               versions=(0x0302,)))):
        add("T7", what, lambda t, d=data: t.hello(d))
    add("T8", "hello of 40 KiB", lambda t: t.hello(hello.records(
        hello.message(GOOD, pad=40000), 16000)))
    add("T8", "hello of 16 MiB, said", lambda t: t.hello(
        hello.record(b"\x01\xff\xff\xff" + bytes(1000))))
    add("T8-slow", "a byte a second", slow)
    for what, first in (("ssh", b"SSH-2.0-OpenSSH_9.2\r\n"),
                        ("zeros", bytes(64)), ("noise", b"\x99" * 300),
                        ("smtp", b"EHLO x\r\nSTARTTLS\r\n"),
                        ("vpn", b"\x00\x0e\x38" + bytes(40))):
        add("T9", what, not_tls(first))
    for port in (443, 80, 784, 853, 4433, 8443):
        add("T13", "udp %d" % port, datagram(SINK, port), ways="transparent")
    add("T13", "udp to the gateway", datagram(GATEWAY, 443),
        ways="transparent")
    for port in PORTS:
        add("T14", "port %d" % port, lambda t, p=port: t.hello(
            hello.hello(GOOD), port=p))


def slow(t):
    """One byte a second: the hello as a whole has a deadline."""
    sock = t.to_tls()
    sock.settimeout(1.0)
    begin = time.monotonic()
    for byte in hello.hello(GOOD)[:12]:
        t.send(sock, bytes([byte]))
        try:
            sock.recv(1)
            break
        except TimeoutError:
            continue
        except ConnectionResetError:
            break
    took = time.monotonic() - begin
    return ("held" if took < 9 else "hung"), "%.1f s" % took


def plain_tcp(t):
    """proto: tcp has an address of its own, which DNS tells."""
    sock = t.dial(socket.gethostbyname("echo.test"), 7000)
    t.send(sock, b"echo")
    return ("open", "echo") if recv(sock) == b"echo" else ("closed", "")
