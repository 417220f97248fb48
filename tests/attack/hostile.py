#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""hostile.py - frames of every kind, from a sandbox's own end of its link

usage: hostile.py RUNTIME INTERFACE MAC ADDRESS OTHER_MAC OTHER_ADDRESS [SECONDS]

Runs as root in the network namespace of a container: this is what an agent
could send that had broken out of gVisor's network, but not of the namespace.
The control is a question to the name server in a well-formed frame: it is
answered. One JSON line a frame, as the probes have it, way "frames"; the
outcome is "answered" when anything but that comes back, else "silent". With SECONDS the
frames that nobody answers are sent again and again, and one line tells how
often.
"""
import json
import select
import socket
import struct
import sys
import time

GATEWAY, SINK = "172.20.0.53", "198.51.100.200"
OUT = b"dig-out-this"
BROADCAST = b"\xff" * 6


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ipv4(source, to, proto, payload, ttl=64, fragment=0, options=b"",
         ident=77):
    size = 20 + len(options)
    head = struct.pack("!BBHHHBBH4s4s", 0x40 | size // 4, 0,
                       size + len(payload), ident, fragment, ttl, proto, 0,
                       socket.inet_aton(source), socket.inet_aton(to)) + options
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def pseudo(source, to, proto, payload):
    return (socket.inet_aton(source) + socket.inet_aton(to) +
            struct.pack("!2H", proto, len(payload)) + payload)


def udp(source, to, port, data, source_port=4000):
    head = struct.pack("!4H", source_port, port, 8 + len(data), 0)
    sum_ = checksum(pseudo(source, to, 17, head + data))
    return head[:6] + struct.pack("!H", sum_ or 0xffff) + data


def tcp(source, to, port, flags, data=b"", source_port=4001):
    head = struct.pack("!HHIIBBHHH", source_port, port, 1, 1, 0x50, flags,
                       64240, 0, 0)
    sum_ = checksum(pseudo(source, to, 6, head + data))
    return head[:16] + struct.pack("!H", sum_) + head[18:] + data


def question(name):
    return struct.pack("!6H", 9, 0x100, 1, 0, 0, 0) + b"".join(
        bytes([len(x)]) + x.encode() for x in name.split(".")) + \
        b"\0\0\x01\0\x01"


def ipv6(source, to, proto, payload):
    a, b = (socket.inet_pton(socket.AF_INET6, x) for x in (source, to))
    return struct.pack("!IHBB", 0x60000000, len(payload), proto, 255) + a + \
        b + payload


def icmp6(source, to, payload):
    a, b = (socket.inet_pton(socket.AF_INET6, x) for x in (source, to))
    sum_ = checksum(a + b + struct.pack("!II", len(payload), 58) + payload)
    return payload[:2] + struct.pack("!H", sum_) + payload[4:]


def arp(op, mac, address, to_mac, to):
    return struct.pack("!HHBBH", 1, 0x0800, 6, 4, op) + mac + \
        socket.inet_aton(address) + to_mac + socket.inet_aton(to)


class Link:
    def __init__(self, runtime, interface, mac, address, other_mac, other):
        self.runtime = runtime
        self.mac, self.address = bytes.fromhex(mac.replace(":", "")), address
        self.other_mac = bytes.fromhex(other_mac.replace(":", ""))
        self.other = other
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                                  socket.htons(3))
        self.sock.bind((interface, 0))
        self.gateway = BROADCAST

    def resolve(self):
        """The gateway's MAC, by a question that is allowed."""
        self.put(BROADCAST, self.mac, 0x0806, arp(
            1, self.mac, self.address, bytes(6), GATEWAY))
        for frame in self.heard(2.0):
            if frame[12:14] == b"\x08\x06" and frame[20:22] == b"\0\x02" and \
                    frame[28:32] == socket.inet_aton(GATEWAY):
                self.gateway = frame[22:28]
                return True
        return False

    def put(self, to, source, kind, data):
        frame = to + source + struct.pack("!H", kind) + data
        self.sock.send(frame + bytes(max(0, 60 - len(frame))))

    def heard(self, wait):
        end = time.monotonic() + wait
        while True:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.sock], [], [], left)[0]:
                return
            frame, where = self.sock.recvfrom(65535)
            # Not our own, and not the bridge asking for its neighbours.
            if where[2] != 4 and not (frame[12:14] == b"\x08\x06" and
                                      frame[20:22] == b"\0\x01"):
                yield frame

    def say(self, row, case, outcome, detail=""):
        now = int(time.time() * 1000)
        print(json.dumps({
            "row": row, "case": case, "way": "frames", "ms": 0,
            "runtime": self.runtime, "outcome": outcome, "detail": detail,
            "ports": [], "begin": now, "end": now}), flush=True)

    def send(self, row, case, *frames, wait=0.0):
        """Each frame is (destination, source, kind, data); None: ours."""
        for to, source, kind, data in frames:
            try:
                self.put(to or self.gateway, source or self.mac, kind, data)
            except OSError as e:
                self.say(row, case, "blocked", str(e))
                return
        got = [f.hex()[:120] for f in self.heard(wait)]
        self.say(row, case, "answered" if got else "silent", " ".join(got[:3]))

    def ip(self, proto, payload, to=SINK, source=None, **how):
        return (None, None, 0x0800, ipv4(source or self.address, to, proto,
                                         payload, **how))


def protocols(link):
    me = link.address
    for proto in range(256):
        if proto not in (6, 17):
            for to in (SINK, GATEWAY):
                link.send("K4-frames", "protocol %d to %s" % (proto, to),
                          link.ip(proto, b"\x08\0\xf7\xff" + OUT, to=to))
    for port in (443, 80, 123, 4789, 5353, 33434):
        link.send("K4-frames", "udp %d" % port,
                  link.ip(17, udp(me, SINK, port, OUT)))
    for to in ("224.0.0.251", "255.255.255.255", "172.20.255.255",
               link.other):
        link.send("K4-frames", "udp to " + to,
                  (BROADCAST, None, 0x0800, ipv4(
                      me, to, 17, udp(me, to, 5353, OUT))))
    inner = ipv4(me, SINK, 6, tcp(me, SINK, 443, 2, OUT))
    for kind, head in ((0x8100, b"\0\x01\x08\0"), (0x88a8, b"\0\x01\x08\0"),
                       (0x8100, b"\0\x01\x81\0\0\x02\x08\0"),
                       (0x8847, b"\0\x01\x01\x40"),
                       (0x8864, b"\x11\0\0\x01\0\x40\0\x21"),
                       (0x8863, b"\x11\x09\0\0\0\0"), (0x88cc, b"\x02\x07"),
                       (0x888e, b"\x01\x01\0\0"), (0x88b5, b""),
                       (0x8906, b""), (0x22f0, b""), (0x0842, b""),
                       (0x0026, b"\x42\x42\x03")):
        for to in (None, BROADCAST, link.other_mac):
            link.send("K4-frames", "ethernet %04x to %s" % (
                kind, (to or link.gateway).hex(":")),
                (to, None, kind, head + inner + OUT))
    stp = bytes.fromhex("0180c2000000")
    link.send("K4-frames", "spanning tree", (stp, None, 38, b"\x42\x42\x03" +
                                             bytes(35)))


def six(link):
    link_local, all_nodes = "fe80::5", "ff02::1"
    group = bytes.fromhex("333300000001")
    for what, kind in (("router solicitation", 133),
                       ("router advertisement", 134),
                       ("neighbour solicitation", 135),
                       ("neighbour advertisement", 136), ("redirect", 137),
                       ("echo", 128), ("mld report", 143)):
        body = struct.pack("!BBHI", kind, 0, 0, 0) + bytes(16) + OUT
        for to in (None, group, link.other_mac):
            link.send("K5-frames", "%s to %s" % (
                what, (to or link.gateway).hex(":")),
                (to, None, 0x86dd, ipv6(link_local, all_nodes, 58, icmp6(
                    link_local, all_nodes, body))))
    for to in ("ff02::1", "fe80::1", "2001:db8::1", "ff02::1:2"):
        for port in (53, 443, 547):
            head = struct.pack("!4H", 4000, port, 8 + len(OUT), 1)
            link.send("K5-frames", "udp %s %d" % (to, port), (
                None, None, 0x86dd, ipv6(link_local, to, 17, head + OUT)))
    link.send("K5-frames", "hop by hop", (None, None, 0x86dd, ipv6(
        link_local, all_nodes, 0, b"\x3a\0\x05\x02\0\0\x01\0" + OUT)))


def spoofs(link):
    other, other_mac = link.other, link.other_mac
    cases = {
        "its address": (None, other), "its MAC": (other_mac, None),
        "both": (other_mac, other), "the gateway's address": (None, GATEWAY),
        "the gateway's MAC": (link.gateway, None),
        "an address of nobody": (None, "172.20.77.77"),
        "an address from outside": (None, "198.51.100.10"),
        "loopback": (None, "127.0.0.1"), "no address": (None, "0.0.0.0"),
        "broadcast as source": (None, "255.255.255.255"),
    }
    for what, (mac, address) in cases.items():
        name = "spoof-%s-%s.wild.test" % (what.replace(" ", "-").replace(
            "'", ""), link.runtime)
        source = address or link.address
        link.send("K9", what + ", dns", (None, mac, 0x0800, ipv4(
            source, GATEWAY, 17, udp(source, GATEWAY, 53, question(name)))),
            wait=0.1)
        link.send("K9", what + ", tcp", (None, mac, 0x0800, ipv4(
            source, SINK, 6, tcp(source, SINK, 443, 2))), wait=0.1)
    for what, mac, address, to_mac, to in (
            ("its address is mine, to the gateway", link.mac, other,
             link.gateway, GATEWAY),
            ("its address is mine, to all", link.mac, other, BROADCAST,
             other),
            ("the gateway is me, to it", link.mac, GATEWAY, other_mac, other),
            ("the gateway is me, to all", link.mac, GATEWAY, BROADCAST,
             GATEWAY),
            ("its MAC for its address", other_mac, other, link.gateway,
             GATEWAY)):
        for op in (1, 2):
            link.send("K9-arp", "%s, %d" % (what, op), (
                to_mac, None, 0x0806, arp(op, mac, address, to_mac, to)),
                wait=0.05)
    link.send("K9-arp", "who is it", (BROADCAST, None, 0x0806, arp(
        1, link.mac, link.address, bytes(6), other)), wait=0.3)
    link.send("K9-peer", "tcp to its MAC", (other_mac, None, 0x0800, ipv4(
        link.address, other, 6, tcp(link.address, other, 7777, 2, OUT))),
        wait=0.2)
    link.send("K9-peer", "tcp by the gateway's MAC", (
        None, None, 0x0800, ipv4(link.address, other, 17, udp(
            link.address, other, 7777, OUT))), wait=0.2)


def odd_packets(link):
    me = link.address
    datagram = udp(me, SINK, 443, OUT * 10)
    segment = tcp(me, SINK, 443, 2, OUT * 4)
    link.send("K10", "fragments of UDP",
              link.ip(17, datagram[:24], fragment=0x2000),
              link.ip(17, datagram[24:], fragment=3))
    link.send("K10", "fragments of UDP, the second first",
              link.ip(17, datagram[24:], fragment=3, ident=78),
              link.ip(17, datagram[:24], fragment=0x2000, ident=78))
    link.send("K10", "fragments of TCP", link.ip(6, segment[:8], ident=79,
                                                 fragment=0x2000),
              link.ip(6, segment[8:], ident=79, fragment=1))
    link.send("K10", "fragments that overlap",
              link.ip(17, datagram[:32], fragment=0x2000, ident=80),
              link.ip(17, datagram[16:], fragment=2, ident=80))
    link.send("K10", "a fragment alone",
              link.ip(17, OUT, fragment=100, ident=81))
    link.send("K10", "fragment beyond 65535",
              link.ip(17, OUT * 20, fragment=0x1fff, ident=82))
    for what, flags in (("SYN with data", 2), ("SYN FIN", 3), ("none", 0),
                        ("FIN PSH URG", 0x29), ("ACK", 16), ("RST", 4),
                        ("SYN ACK", 18), ("FIN ACK", 17), ("all", 255)):
        link.send("K10", "tcp " + what,
                  link.ip(6, tcp(me, SINK, 443, flags, OUT)))
    for ttl in (0, 1, 2):
        link.send("K10", "ttl %d" % ttl,
                  link.ip(17, udp(me, SINK, 443, OUT), ttl=ttl))
    gate = socket.inet_aton(GATEWAY)
    for what, options in (("loose source route", b"\x83\x07\x04" + gate +
                           b"\0"), ("strict source route", b"\x89\x07\x04" +
                                    gate + b"\0"),
                          ("record route", b"\x07\x07\x04" + bytes(4) +
                           b"\0"), ("router alert", b"\x94\x04\0\0")):
        link.send("K10", what, link.ip(17, udp(me, SINK, 443, OUT),
                                       options=options))
        link.send("K10", what + ", tcp", link.ip(6, tcp(
            me, SINK, 443, 2, OUT), options=options))
    whole = ipv4(me, SINK, 17, datagram)
    link.send("K10", "length that lies", (None, None, 0x0800, whole[:2] +
                                          b"\xff\xff" + whole[4:]))
    link.send("K10", "version 5", (None, None, 0x0800, b"\x55" + whole[1:]))
    link.send("K10", "header of 4 bytes", (None, None, 0x0800, b"\x41" +
                                           whole[1:]))
    link.send("K10", "cut off", (None, None, 0x0800, whole[:9]))


def answered(link, row, name):
    """A question as it should be."""
    link.put(link.gateway, link.mac, 0x0800, ipv4(
        link.address, GATEWAY, 17, udp(link.address, GATEWAY, 53,
                                       question(name))))
    for frame in link.heard(3.0):
        # An address of 198.18.0.0/15: they all lead to the gateway.
        if frame[23] == 17 and frame[-4:-2] in (b"\xc6\x12", b"\xc6\x13"):
            link.say(row, "dns in a frame of one's own", "own")
            return
    link.say(row, "dns in a frame of one's own", "dropped")


def storm(link, seconds):
    end, rounds = time.monotonic() + seconds, 0
    tell, link.say = link.say, lambda *_: None
    while time.monotonic() < end:
        for what in (protocols, six, odd_packets):
            what(link)
        rounds += 1
    tell("K12-frames", "all frames, again and again",
         "sent" if rounds else "idle", str(rounds))


def main():
    link = Link(*sys.argv[1:7])
    if not link.resolve():
        link.say("control-frames", "arp for the gateway", "dropped")
        return
    if len(sys.argv) > 7:
        storm(link, float(sys.argv[7]))
        return
    answered(link, "control-frames", "frames-before.wild.test")
    protocols(link)
    six(link)
    spoofs(link)
    odd_packets(link)
    answered(link, "control-frames", "frames-after.wild.test")


main()
