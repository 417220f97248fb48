# SPDX-License-Identifier: Apache-2.0
"""dns.py - D: the name service as a way out

One rule makes most of these: every name has an address of 198.18.0.0/15, all of
which lead to the gateway, and nothing of a question is ever sent on. So what
leaves is what the name server of the
tests, and the sinks, did not see: names with DIG in them.
"""
import os
import random
import socket
import struct
import time

import hello
from net import GATEWAY, SINK, SILENCE, Verdict, exactly, udp

DIG = "dig-out-this"  # what no log of the outside may show
A, AAAA, SVCB, HTTPS = 1, 28, 64, 65


def wire(name):
    return b"".join(bytes([len(x)]) + x.encode()
                    for x in name.split(".") if x) + b"\0"


def question(name, kind=A, ident=None, raw=None, extra=b"", flags=0x0100,
             count=1, additional=0, group=1):
    ident = random.randrange(65536) if ident is None else ident
    return (struct.pack("!6H", ident, flags, count, 0, 0, additional) +
            (wire(name) if raw is None else raw) +
            struct.pack("!2H", kind, group) + extra)


def edns(*options, size=1232):
    data = b"".join(struct.pack("!2H", k, len(v)) + v for k, v in options)
    return b"\0" + struct.pack("!HHIH", 41, size, 0, len(data)) + data


def ask(msg, to=GATEWAY, port=53):
    outcome, data = udp(to, port, msg, wait=4 if to == GATEWAY else SILENCE)
    if outcome != "open":
        raise Verdict(outcome, data.decode())
    return data


def ask_tcp(t, msg, to=GATEWAY):
    sock = t.dial(to, 53)
    t.send(sock, struct.pack("!H", len(msg)) + msg)
    return exactly(sock, struct.unpack("!H", exactly(sock, 2))[0])


def rcode(msg):
    return msg[3] & 15


def answers(msg):
    return struct.unpack("!H", msg[6:8])[0]


def address(msg):
    """Where the one address of an answer begins, behind its question."""
    at = 12
    while msg[at]:
        at += 1 + msg[at]
    return at + 1 + 4 + 12


def ours(text):
    """One of those that stand for names and lead to the gateway."""
    return text.startswith(("198.18.", "198.19."))


def told(msg):
    """What an answer says: an address that is the gateway, nothing, or more."""
    if len(msg) < 12 or not msg[2] & 0x80:
        return "leaked", "no answer: " + msg[:20].hex()
    if not answers(msg):
        return "empty", "rcode %d" % rcode(msg)
    if answers(msg) == 1 and rcode(msg) == 0:
        a = msg[address(msg):][:4]
        if len(a) == 4 and ours(socket.inet_ntoa(a)):
            return "own", socket.inet_ntoa(a)
    return "leaked", msg[12:80].hex()


def asked(name, kind=A, tcp=False, to=GATEWAY):
    def run(t):
        msg = question(name, kind)
        return told(ask_tcp(t, msg, to) if tcp else ask(msg, to))
    return run


def types(name):
    """Every type: only A has an address, nothing has anything else."""
    def run(t):
        bad = []
        for kind in list(range(2, 261)) + [32768, 32769, 65280, 65535]:
            try:
                outcome, _ = told(ask(question(name, kind)))
            except Verdict as v:
                outcome = v.outcome
            if outcome != "empty":
                bad.append("%d %s" % (kind, outcome))
            time.sleep(0.008)  # below the limit of the sandbox
        return ("leaked" if bad else "held"), " ".join(bad[:20])
    return run


def alike(t):
    """Allowed, denied, of plain TCP and no name at all: byte for byte the same,
    but for an address of one range that says nothing else."""
    seen, places = set(), set()
    for name in ("good.test", "evil.test", "nope.test", "both.wild.test"):
        msg = ask(question(name, ident=7))
        at = address(msg)
        if not ours(socket.inet_ntoa(msg[at:at + 4])):
            return "leaked", name
        places.add(msg[at:at + 4])
        msg = msg[:at] + msg[at + 4:]
        seen.add((msg[:12] + msg[12 + len(wire(name)):]).hex())
    if len(places) != 4:
        return "leaked", "%d addresses" % len(places)
    return ("held" if len(seen) == 1 else "leaked"), " | ".join(sorted(seen))


def echoes(t):
    """Options of EDNS, cookies and padding among them, have no answer."""
    secret = os.urandom(8)
    options = [(8, b"\0\1\x18\0" + secret[:3]), (10, secret),
               (12, secret * 20), (65001, secret)]
    msg = ask(question("a.dig.test", extra=edns(*options), additional=1))
    return ("leaked" if secret in msg or secret[:3] in msg[30:] else "held",
            "%d bytes" % len(msg))


def upstream_question(t):
    """The name is written anew before it is asked upstream: its case is not
    the client's."""
    name = b"tHiS-cAsE-iS-nOt-WhAt-iS-sEnT-oN.dig.test"
    return t.hello(hello.hello(name), connect=name)


MALFORMED = {
    "loop of pointers": question("", raw=b"\xc0\x0c"),
    "two pointers in a ring": question("", raw=b"\xc0\x0e\xc0\x0c"),
    "pointer forwards": question("", raw=b"\x01a\xc0\x30"),
    "label of 64": question("", raw=b"\x40" + b"x" * 64 + b"\0"),
    "label type 10": question("", raw=b"\x80\0"),
    "name of 300": question("", raw=(b"\x3c" + b"x" * 60) * 5 + b"\0"),
    "no end": question("", raw=b"\x05abc"),
    "label with a dot": question("", raw=b"\x09good.test\0"),
    "label with NUL": question("", raw=b"\x05go\0od\x04test\0"),
    "no question": question("good.test", count=0),
    "two questions": question("good.test", count=2),
    "65535 questions": question("good.test", count=65535),
    "answer records in it": question("good.test", flags=0x0100)[:6] +
    b"\xff\xff" + question("good.test")[8:],
    "an answer": question("good.test", flags=0x8180),
    "opcode NOTIFY": question("good.test", flags=0x2000),
    "opcode UPDATE": question("good.test", flags=0x2800),
    "opcode 15": question("good.test", flags=0x7800),
    "class CHAOS": question("version.bind", 16, group=3),
    "class ANY": question("good.test", group=255),
    "truncated option": question("good.test", additional=1,
                                 extra=edns((10, b"12345678"))[:-3]),
    "EDNS twice": question("good.test", additional=2, extra=edns() + edns()),
    "EDNS version 9": question("good.test", additional=1,
                               extra=b"\0\0\x29\x04\xd0\0\x09\0\0\0\0"),
    "1 byte": b"x", "11 bytes": b"y" * 11, "header alone": bytes(12),
    "zeros": bytes(512), "noise": os.urandom(512), "4 KiB": question(
        "good.test", extra=os.urandom(4000)),
    "zone transfer": question("good.test", 252),
}


def malformed(msg):
    """An error, an empty answer or silence; and it goes on answering."""
    def run(t):
        outcome, data = udp(GATEWAY, 53, msg, wait=0.6)
        if outcome == "open":
            outcome, _ = told(data)
        after, _ = told(ask(question("good.test")))
        if after != "own":
            return "hung", "no answer any more"
        if outcome == "leaked":
            return outcome, data[:60].hex()
        return "held", outcome
    return run


def by_answer(name):
    """The name server's answer is malformed: a denial, soon."""
    return lambda t: t.hello(hello.hello(name), connect=name)


def register(add):
    def one(row, case, run):
        add(row, case, run, ways="transparent")

    one("control", "dns", asked("good.test"))
    dug = DIG + "-%d.evil.test"
    one("D1", "udp", asked(dug % 1))
    one("D1", "tcp", asked(dug % 2, tcp=True))
    one("D1", "long labels", asked(".".join(
        [DIG + "-" + "x" * 40] * 3) + ".evil.test"))
    one("D1", "below an allowed name", asked(DIG + ".good.test"))
    one("D2", "below an allowed wildcard", asked(DIG + ".wild.test"))
    one("D2", "libc", lambda t: (
        "own" if ours(socket.gethostbyname(DIG + "-libc.wild.test"))
        else "leaked", ""))
    one("D3", "every type of an allowed name", types("good.test"))
    one("D3", "every type of a denied name", types(DIG + ".evil.test"))
    for to in (SINK, "8.8.8.8", "1.1.1.1", "198.51.100.53", "127.0.0.11"):
        row = "D4" if not to.startswith("127") else "D4-local"
        one(row, "udp " + to, asked(dug % 4, to=to))
        one(row, "tcp " + to, asked(dug % 5, tcp=True, to=to))
    for port in (137, 853, 784, 5353, 5355, 5300):
        for to in (SINK, GATEWAY):
            one("D4-drop", "udp %s %d" % (to, port), lambda t, a=to, p=port: (
                udp(a, p, question(DIG + ".evil.test"))[0], ""))
    for to in ("224.0.0.251", "224.0.0.252", "255.255.255.255",
               "172.20.255.255"):
        one("D4-drop", "udp " + to, lambda t, a=to: (
            udp(a, 5353, question(DIG + ".evil.test"))[0], ""))
    add("D4-tls", "DoT", lambda t: t.hello(
        hello.hello(b"dns.google"), connect=b"dns.google", port=853))
    for name in (b"dns.google", b"cloudflare-dns.com", b"dns.quad9.net",
                 b"doh.opendns.com", b"one.one.one.one",
                 b"mozilla.cloudflare-dns.com"):
        add("D5", name.decode(), lambda t, n=name: t.hello(
            hello.hello(n), connect=n, port=443))
    one("D6", "HTTPS", asked("good.test", HTTPS))
    one("D6", "SVCB", asked("_dns.good.test", SVCB))
    one("D6", "AAAA", asked("good.test", AAAA))
    one("D7", "options", echoes)
    add("D7-case", "case", upstream_question)
    for what, msg in MALFORMED.items():
        one("D8", what, malformed(msg))
    for name in (b"ptrloop.test", b"garbage.test", b"short.test",
                 b"lies.test", b"huge.test", b"servfail.test", b"nx.test"):
        add("D8-answer", name.decode(), by_answer(name))
    one("D9", "denied, allowed, none", alike)
    add("D10", "answers with another id, or question",
        by_answer(b"spoof.test"))
    add("D10", "more records than asked for", by_answer(b"bail.test"))
    add("D10-after", "names that those records were about",
        by_answer(b"tunnel.test"))
