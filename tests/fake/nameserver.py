#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""nameserver.py - an authoritative name server that may lie

usage: nameserver.py ADDRESS LOGFILE

Answers on port 53, UDP and TCP, for the zone of the tests below. What an
attacker's own server would do is in it: private and metadata addresses,
answers that flip, chains and loops of aliases, messages that are no messages.
Each question is a JSON line in LOGFILE, as it came over the wire.
"""
import json
import os
import re
import socket
import struct
import sys
import threading

A, CNAME, AAAA = 1, 5, 28
GOOD = "198.51.100.10"
OTHER = "198.51.100.11"
CDN = "198.51.100.12"
ECHO = "198.51.100.20"
DENIED = "198.51.100.66"
SINK = "198.51.100.200"
FORGE = "198.51.100.30"
H2 = "198.51.100.31"
REGISTRY, SOCKETS, CALLS = ("198.51.100.%d" % x for x in (32, 33, 34))

ADDRESSES = {
    "good.test": [GOOD], "long.test": [GOOD], "ech.test": [GOOD],
    "tunnel.test": [GOOD], "slow.test": [GOOD], "x.good.test": [SINK],
    "cdn-good.test": [CDN], "cdn-evil.test": [CDN],
    "echo.test": [ECHO], "other.test": [OTHER], "denied-ip.test": [DENIED],
    "many.test": ["10.0.0.1", GOOD, "192.168.0.1", "127.0.0.1"],
    "many-meta.test": [GOOD, "169.254.169.254"],
    "private.evil.test": ["10.0.0.1"], "public.evil.test": [GOOD],
    "strict-end.other.test": [GOOD], "chain-end.test": [GOOD],
    "bail.test": [GOOD],
}
ALIASES = {
    "cname-private.test": "private.evil.test",
    "cname-public.test": "public.evil.test",
    "strict.test": "strict-end.other.test",
    "loop.test": "loop-b.test", "loop-b.test": "loop.test",
}
for i in range(12):
    ALIASES["chain-%d.test" % i if i else "chain.test"] = (
        "chain-%d.test" % (i + 1) if i < 11 else "chain-end.test")
for i in ("github.com", "api.github.com", "uploads.github.com", "gitlab.com",
          "index.test", "api.anthropic.com", "api.openai.com",
          "generativelanguage.googleapis.com", "auth.openai.com",
          "chatgpt.com", "oauth2.googleapis.com",
          "cloudcode-pa.googleapis.com"):
    ADDRESSES[i] = [FORGE]
ADDRESSES["h2.cred.test"] = [H2]
ADDRESSES["registry.test"] = [REGISTRY]
ADDRESSES["sockets.cred.test"] = [SOCKETS]
ADDRESSES["calls.cred.test"] = [CALLS]
FLIP = {"flip.test": "10.0.0.1", "flip-loop.test": "127.0.0.1",
        "flip-meta.test": "169.254.169.254"}

lock = threading.Lock()
flips = {}


def wire(name):
    return b"".join(bytes([len(x)]) + x.encode()
                    for x in name.split(".") if x) + b"\0"


def record(name, kind, data, ttl=0):
    return wire(name) + struct.pack("!HHIH", kind, 1, ttl, len(data)) + data


def address(name, text, ttl=0):
    if ":" in text:
        return record(name, AAAA, socket.inet_pton(socket.AF_INET6, text), ttl)
    return record(name, A, socket.inet_aton(text), ttl)


def of_name(name, kind):
    """Addresses of a name as text, or None: there is no such name."""
    if name in FLIP:
        with lock:
            flips[name] = flips.get(name, 0) + (kind == A)
            return [GOOD if flips[name] % 2 else FLIP[name]]
    if name in ADDRESSES:
        return ADDRESSES[name]
    # ip-10-0-0-1.addr.test, v6-<32 hex>.addr.test: any address at all
    m = re.fullmatch(r"ip-(\d+)-(\d+)-(\d+)-(\d+)\.addr\.test", name)
    if m:
        return [".".join(m.groups())]
    m = re.fullmatch(r"v6-([0-9a-f]{32})\.addr\.test", name)
    if m:
        return [socket.inet_ntop(socket.AF_INET6, bytes.fromhex(m.group(1)))]
    if name.endswith(".cred.test"):
        return [FORGE]
    if name.endswith(".wild.test") or name.endswith(".dig.test"):
        return [GOOD]
    if name == "evil.test" or name.endswith(".evil.test"):
        return [SINK]
    return None


def resolve(name, kind):
    """Records of the answer, and the rcode."""
    out = []
    for _ in range(16):
        if name not in ALIASES:
            break
        out.append(record(name, CNAME, wire(ALIASES[name])))
        name = ALIASES[name]
    found = of_name(name, kind)
    if found is None:
        return out, 0 if out else 3
    for text in found:
        if kind == (AAAA if ":" in text else A):
            out.append(address(name, text, 0 if name in FLIP else 30))
    return out, 0


def parse(msg):
    """id, name as written, type, question's bytes, options of EDNS."""
    ident, _, questions, _, _, more = struct.unpack("!6H", msg[:12])
    if questions != 1:
        raise ValueError("one question is expected")
    pos, labels = 12, []
    while msg[pos]:
        labels.append(msg[pos + 1:pos + 1 + msg[pos]].decode("latin-1"))
        pos += 1 + msg[pos]
    pos += 1
    kind = struct.unpack("!H", msg[pos:pos + 2])[0]
    question, rest = msg[12:pos + 4], msg[pos + 4:]
    options = rest[11:].hex() if more else ""
    return ident, ".".join(labels), kind, question, options


def head(ident, flags, questions, answers, extra=0):
    return struct.pack("!6H", ident, 0x8400 | flags, questions, answers, 0,
                       extra)


def lies(name, ident, kind, question, tcp):
    """Messages that are wrong on purpose; None: answer as one should."""
    poison = address(name, SINK, 3600)
    right = address(name, GOOD, 30)
    if name == "spoof.test" and kind == A:
        # RFC 5452: an answer with another id, and one to another question.
        return [head(ident ^ 0x5555, 0, 1, 1) + question + poison,
                head(ident, 0, 1, 1) + wire("x.test") + question[-4:] + poison,
                head(ident, 0, 1, 1) + question + right]
    if name == "bail.test" and kind == A:
        return [head(ident, 0, 1, 1, 2) + question + right +
                address("good.test", SINK, 3600) +
                address("tunnel.test", SINK, 3600)]
    if name == "ptrloop.test":
        return [head(ident, 0, 1, 1) + question + b"\xc0" +
                bytes([12 + len(question)]) + struct.pack(
                    "!HHIH", A, 1, 30, 4) + socket.inet_aton(SINK)]
    if name == "garbage.test":
        return [struct.pack("!H", ident) + os.urandom(200)]
    if name == "short.test":
        return [struct.pack("!H", ident) + b"\x84"]
    if name == "lies.test":
        return [head(ident, 0, 1, 60000) + question + right]
    if name == "huge.test":
        if not tcp:
            return [head(ident, 0x0200, 1, 0) + question]
        many = b"".join(address(name, "10.%d.%d.%d" % (i >> 16 & 255,
                                                       i >> 8 & 255, i & 255))
                        for i in range(2000))
        return [head(ident, 0, 1, 2000) + question + many]
    return None


def answer(msg, log, tcp):
    ident, shown, kind, question, options = parse(msg)
    name = shown.lower()
    log.write(json.dumps({"name": shown, "type": kind, "options": options,
                          "bytes": len(msg), "tcp": tcp}) + "\n")
    out = lies(name, ident, kind, question, tcp)
    if out is not None:
        return out
    if name == "servfail.test":
        return [head(ident, 2, 1, 0) + question]
    records, rcode = resolve(name, kind)
    return [head(ident, rcode, 1, len(records)) + question +
            b"".join(records)]


def udp(where, log):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(where)
    while True:
        msg, peer = sock.recvfrom(65535)
        try:
            for out in answer(msg, log, False):
                sock.sendto(out, peer)
        except (ValueError, IndexError, struct.error) as e:
            log.write(json.dumps({"error": str(e), "raw": msg.hex()}) + "\n")


def one_tcp(conn, log):
    with conn:
        conn.settimeout(5)
        stream = conn.makefile("rb")
        try:
            while True:
                size = stream.read(2)
                if len(size) < 2:
                    return
                msg = stream.read(struct.unpack("!H", size)[0])
                for out in answer(msg, log, True):
                    conn.sendall(struct.pack("!H", len(out)) + out)
        except (OSError, ValueError, IndexError, struct.error):
            return


def main():
    where = (sys.argv[1], 53)
    log = open(sys.argv[2], "a", buffering=1)
    listener = socket.create_server(where)
    threading.Thread(target=udp, args=(where, log), daemon=True).start()
    while True:
        conn, _ = listener.accept()
        threading.Thread(target=one_tcp, args=(conn, log),
                         daemon=True).start()


main()
