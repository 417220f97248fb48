# SPDX-License-Identifier: Apache-2.0
"""abuse.py - more than a sandbox may use; and what others see of it

usage: python3 probe/abuse.py half|names|questions|tunnel|load|storm RUNTIME
           [NAME]

Prints lines of the kind of the probes. Each of these runs alone, in a sandbox
of its own: what it uses up is gone for the hour.
"""
import collections
import json
import os
import socket
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import dns  # noqa: E402
import hello  # noqa: E402
from net import GATEWAY, MIRROR_PORT, SINK, Try, Verdict  # noqa: E402


def say(row, case, outcome, detail="", ports=(), way="transparent",
        begin=None):
    now = int(time.time() * 1000)
    print(json.dumps({
        "row": row, "case": case, "way": way, "runtime": runtime, "ms": 0,
        "outcome": outcome, "detail": str(detail), "ports": list(ports),
        "begin": begin or now, "end": now}), flush=True)


def attempt(name, way="transparent", port=MIRROR_PORT):
    t = Try(way, runtime)
    try:
        outcome, _ = t.hello(hello.hello(name), connect=name, port=port)
    except Verdict as v:
        outcome = v.outcome
    t.done()
    return outcome, t.ports


def half():
    """Connections that say nothing: few are held, and not for long."""
    socks = []
    for i in range(200):
        s = socket.socket()
        s.settimeout(5)
        socks.append(s)
        try:
            s.connect((SINK, 443))
            s.send(b"\x16")
        except OSError:
            pass  # one too many: it may be ended before it says a byte
        if i % 40 == 39:
            time.sleep(0.25)
    print(json.dumps({"held": True}), flush=True)
    time.sleep(1.5)
    ended = 0
    for s in socks:
        s.setblocking(False)
        try:
            s.recv(1)
            ended += 1
        except BlockingIOError:
            pass
        except OSError:
            ended += 1
    say("T8-half", "200 that say nothing", "held" if ended >= 130 else "open",
        "%d ended at once" % ended)
    time.sleep(6)
    left = 0
    for s in socks:
        try:
            s.recv(1)
        except BlockingIOError:
            left += 1
        except OSError:
            pass
    say("T8-deadline", "after its deadline", "held" if not left else "open",
        "%d are left" % left)


def names():
    """New names below one wildcard: a channel as narrow as its budget."""
    counts = collections.Counter()
    last = ()
    for i in range(80):
        outcome, ports = attempt(b"budget-%d.dig.test" % i)
        counts[outcome] += 1
        if outcome != "open":
            last = ports
    say("D2-budget", "80 names below one wildcard",
        "held" if counts["open"] <= 50 and counts["open"] >= 10 and
        counts["denied"] + counts["closed"] >= 30 else "open", dict(counts),
        last)
    for what, name in (("long label", b"y" * 60 + b".dig.test"),
                       ("many labels", b"a.b.c.d.e.f.g.dig.test")):
        outcome, ports = attempt(name)
        say("D2-shape", what, outcome, "", ports)


def questions():
    """More questions than the limit: refused at once, asked nowhere."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.settimeout(0.3)
    counts = collections.Counter()
    for i in range(3000):
        sock.sendto(dns.question(dns.DIG + "-%d.wild.test" % i),
                    (GATEWAY, 53))
        if i % 50 == 49:
            sock.settimeout(0.01)
            try:
                while True:
                    counts[dns.rcode(sock.recv(4096))] += 1
            except OSError:
                pass
    say("D2-rate", "3000 questions",
        "held" if counts[5] > 0 and counts[0] > 0 else "open", dict(counts))


def tunnel():
    """A tunnel that is used now and then, until it ends."""
    name = sys.argv[3].encode()
    way = sys.argv[4]
    t = Try(way, runtime)
    begin = int(time.time() * 1000)
    t.hello(hello.hello(name), connect=name)
    sock = t.socks[0]
    say("K15", name.decode() + " begins", "open", way=way)
    for _ in range(100):
        try:
            sock.sendall(b"still here")
            if not sock.recv(4096):
                break
        except OSError:
            break
        time.sleep(0.1)
    else:
        say("K15", name.decode(), "open", "it was never closed", way=way)
        return
    outcome, ports = attempt(name, way)
    say("K15", name.decode(), "ended", "then " + outcome, t.ports, way=way,
        begin=begin)
    say("K15-after", name.decode(), outcome, "", ports, way=way)


def load():
    """Good and evil in turn, for @sys.argv[3] seconds."""
    counts = collections.Counter()
    end = time.monotonic() + float(sys.argv[3])
    while time.monotonic() < end:
        for name in (b"evil.test", b"good.test"):
            for way in ("transparent", "explicit"):
                outcome, _ = attempt(name, way)
                counts[name.decode() + " " + outcome] += 1
    say("K12", "load", "open" if counts["evil.test open"] else "held",
        json.dumps(counts))


def datagrams():
    """Sockets, and where each sends: none of these may have an answer."""
    found = []
    for kind, proto, to in (
            (socket.SOCK_DGRAM, 0, [(x, port) for x in (SINK, "172.20.0.1")
                                    for port in (53, 123, 443, 4789, 9)]),
            (socket.SOCK_DGRAM, socket.IPPROTO_ICMP, [(SINK, 0)]),
            (socket.SOCK_RAW, socket.IPPROTO_ICMP, [(SINK, 0)]),
            (socket.SOCK_RAW, socket.IPPROTO_RAW, [(SINK, 0)])):
        try:
            sock = socket.socket(socket.AF_INET, kind, proto)
        except OSError:
            continue  # the kernel of the sandbox has none for us
        sock.setblocking(False)
        found += [(sock, place) for place in to]
    return found


def storm():
    """All that is no TCP, for @sys.argv[3] seconds."""
    packet = b"\x08\0\xf7\xff\0\1\0\1" + b"dig-out-this"
    places = datagrams()
    sent, heard = 0, 0
    end = time.monotonic() + float(sys.argv[3])
    while time.monotonic() < end:
        for sock, place in places:
            try:
                sent += sock.sendto(packet, place) > 0
            except OSError:
                pass
            try:
                sock.recv(4096)
                heard += 1
            except OSError:
                pass
        time.sleep(0.002)
    say("K12-storm", "%d datagrams" % sent, "open" if heard else
        "held" if sent > 100 else "idle", "%d answers" % heard)


runtime = sys.argv[2]
globals()[sys.argv[1]]()
