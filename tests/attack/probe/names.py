# SPDX-License-Identifier: Apache-2.0
"""names.py - N: one name, many spellings; and where names may lead

Each spelling goes every way that takes a name: SNI, Host, CONNECT, the
target of a request to the proxy, and SNI after a CONNECT of an allowed name.
"""
import hello
from net import Verdict

GOOD = b"good.test"


def by_sni(name, connect=GOOD):
    return lambda t: t.hello(hello.hello(name), connect=connect)


def by_host(name):
    return lambda t: t.get(name)


def by_connect(name, sni=None):
    return lambda t: t.hello(hello.hello(sni or name), connect=name)


def shown(name):
    text = name.decode("latin-1")
    text = "".join(c if 32 < ord(c) < 127 else "\\x%02x" % ord(c)
                   for c in text)
    return text if len(text) < 60 else text[:40] + "..(%d)" % len(name)


def spelling(add, row, name, sni=None, forms="sni host connect uri"):
    """@name in each form; @sni: what a client would send for it."""
    sni = name if sni is None else sni
    text = shown(name)
    if "sni" in forms:
        add(row, "sni " + text, by_sni(sni))
    if "host" in forms:
        add(row, "host " + text, by_host(name), ways="transparent")
    if "connect" in forms:
        add(row, "connect " + text, by_connect(name, sni), ways="explicit")
    if "uri" in forms:
        add(row, "uri " + text, by_host(name), ways="explicit")


def same(add, row, name):
    """A spelling of good.test that stays it: CONNECT may name it either
    way."""
    spelling(add, row, name)


NOT_NAMES = [
    b"good.test\0.evil.test", b"evil.test\0good.test", b"good.test\0",
    b"good.test%00evil.test", b"good.test%2eevil.test", b"good test",
    b"good.test evil.test", b"good.test\tevil.test", b"good.test\x01",
    b"good.test\x7f", b"good\\.test", b"user@good.test",
    b"evil.test@good.test", b"good.test/evil.test", b"good.test#.evil.test",
    b"good.test?.evil.test", b"[good.test]", b"good.test,evil.test",
    b"good.test;evil.test", b"*.wild.test", b"good.test\x0b", b"'good.test'",
    b"good_.te$t", b"x" * 64 + b".wild.test",
    b".".join([b"x" * 60] * 5) + b".wild.test",
]
NOT_ASCII = ["gооd.test".encode(), "good。test".encode(),
             "ｇｏｏｄ.test".encode(), "göod.test".encode(),
             "good.test\u200b".encode(), b"good.t\xeast",
             "bu\u0308cher.wild.test".encode(), "bücher.wild.test".encode()]
NOT_BELOW = [b"evil-good.test", b"notgood.test", b"good.test.evil.test",
             b"good.test-evil.test", b"wild.test", b"notwild.test",
             b"a.wild.test.evil.test", b"goodtest", b"test", b"x.good.test"]
LITERALS = [b"198.51.100.200", b"[2001:db8::1]", b"[::1]",
            b"198.51.100.10", b"172.20.0.53"]
SPELLINGS = [
    b"2130706433", b"3325256904", b"0x7f.1", b"0x7f000001", b"0177.0.0.1",
    b"127.1", b"127.0.1", b"0", b"00000000", b"0x0", b"1.2.3.4.5", b"1.2.3",
    b"017700000001", b"127.0.0.01", b"0xa9fea9fe", b"2852039166",
    b"0251.0376.0251.0376", b"169.254.43518", b"169.254.169.254.",
    b"198.51.100.0310", b"0xc6.51.100.200", b"good.1", b"good.0x1",
    b"good.test.08", b"[::ffff:198.51.100.200]", b"[::ffff:0:198.51.100.200]",
    b"[64:ff9b::c633:64c8]", b"[64:ff9b:1::c633:64c8]",
    b"[2002:c633:64c8::1]", b"[2001:0:c633:64c8::1]", b"[fe80::1%eth0]",
    b"[fe80::1%25eth0]", b"[0:0:0:0:0:0:0:1]", b"[::127.0.0.1]",
    b"[fd00:ec2::254]", b"::1", b"2001:db8::1", b"[::1", b"::1]", b"[]",
    b"127.0.0.1%lo", b"+127.0.0.1", b"127.0.0.1x.0x",
]

RANGES = [
    "10.0.0.1", "10.255.255.254", "172.16.0.1", "172.31.255.1",
    "192.168.1.1", "127.0.0.1", "127.9.9.9", "0.0.0.0", "0.1.2.3",
    "169.254.1.1", "169.254.169.254", "100.64.0.1", "100.127.255.254",
    "224.0.0.1", "239.255.255.250", "255.255.255.255", "240.0.0.1",
    "172.20.0.53", "172.20.0.2", "172.17.0.1", "198.18.0.1", "192.0.0.192",
    "168.63.129.16", "100.100.100.200",
]
RANGES6 = ["00000000000000000000000000000001",  # ::1
           "00000000000000000000ffff0a000001",  # ::ffff:10.0.0.1
           "00000000000000000000ffffc63364c8",  # ::ffff:198.51.100.200
           "0064ff9b0000000000000000c63364c8",  # NAT64 of the sink
           "2002c63364c800000000000000000001",  # 6to4 of the sink
           "fe800000000000000000000000000001", "fd000ec2000000000000000000000254",
           "fd000000000000000000000000000001",
           "ff020000000000000000000000000001"]


def flips(name):
    def run(t):
        seen = set()
        for _ in range(20):
            try:
                outcome, detail = t.hello(hello.hello(name), connect=name)
            except Verdict as v:
                outcome, detail = v.outcome, v.detail
            seen.add(outcome if outcome != "open" else
                     "open " + detail.split()[0])
            t.done()
        if not seen <= {"open good", "denied", "closed"}:
            return "leaked", " ".join(sorted(seen))
        return "held", " ".join(sorted(seen))
    return run


def register(add):
    for name in (b"GOOD.test", b"good.TEST", b"gOoD.tEsT"):
        same(add, "N1", name)
    spelling(add, "N1-deny", b"BLOCKED.Wild.Test")
    same(add, "N2", b"good.test.")
    for name in (b"good.test..", b".good.test", b"good..test", b".", b"..",
                 b"evil.test."):
        spelling(add, "N2-not", name)
    spelling(add, "N2-deny", b"blocked.wild.test.")
    for name in NOT_NAMES:
        spelling(add, "N3", name)
    for name in NOT_ASCII:
        spelling(add, "N4", name)
    spelling(add, "N4-deny", b"xn--bcher-kva.wild.test")
    for name in NOT_BELOW:
        spelling(add, "N5", name)
    add("N5-below", "sni a.wild.test", by_sni(b"a.wild.test", b"a.wild.test"))

    entry, ext = hello.sni_entry, hello.extension
    bad = {
        "two extensions": [hello.sni(GOOD), hello.sni(b"evil.test")],
        "two, the evil first": [hello.sni(b"evil.test"), hello.sni(GOOD)],
        "the same twice": [hello.sni(GOOD), hello.sni(GOOD)],
        "two names": [hello.sni(GOOD, b"evil.test")],
        "two names, the evil first": [hello.sni(b"evil.test", GOOD)],
        "another type first": [ext(0, hello.vec16(
            entry(b"evil.test", 1) + entry(GOOD)))],
        "another type alone": [ext(0, hello.vec16(entry(GOOD, 1)))],
        "list too long": [ext(0, b"\0\xff" + entry(GOOD))],
        "list too short": [ext(0, b"\0\x05" + entry(GOOD))],
        "name too long": [ext(0, hello.vec16(b"\0\0\xff" + GOOD))],
        "name too short": [ext(0, hello.vec16(b"\0\0\x04" + GOOD))],
        "empty list": [ext(0, b"\0\0")],
        "empty extension": [ext(0, b"")],
        "empty name": [ext(0, hello.vec16(entry(b"")))],
        "byte after the list": [ext(0, hello.vec16(entry(GOOD)) + b"x")],
    }
    for what, names in bad.items():
        add("N7", what, lambda t, n=names: t.hello(hello.hello(names=n)))
    add("N8", "no sni", lambda t: t.hello(hello.hello()))
    add("N8", "no extension at all", lambda t: t.hello(hello.record(
        b"\x01\0\0\x2d\x03\x03" + bytes(32) + b"\0" + b"\0\x06\x13\x01\x13"
        b"\x02\xc0\x2b" + b"\x01\0")))
    for name in LITERALS:
        spelling(add, "N9", name, name.strip(b"[]"))
    for name in SPELLINGS:
        spelling(add, "N10", name, name.strip(b"[]"))

    for address in RANGES:
        name = b"ip-%s.addr.test" % address.replace(".", "-").encode()
        add("N11", address, by_sni(name, name))
    for bits in RANGES6:
        name = b"v6-%s.addr.test" % bits.encode()
        add("N11", bits, by_sni(name, name))
    for name in (b"flip.test", b"flip-loop.test", b"flip-meta.test"):
        add("N12", name.decode(), flips(name))
    for row, name in (("N13", b"cname-private.test"),
                      ("N13-long", b"chain.test"), ("N13-long", b"loop.test"),
                      ("N13-public", b"cname-public.test"),
                      ("N14", b"many.test"), ("N14-meta", b"many-meta.test"),
                      ("N15", b"strict.test"),
                      ("N11-deny", b"denied-ip.test")):
        add(row, name.decode(), by_sni(name, name))
