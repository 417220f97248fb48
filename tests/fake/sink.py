#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""sink.py - hears everything that is sent where nothing may be sent

usage: sink.py packets INTERFACE FILE [mac=MAC|peer=MAC,ADDRESS]
       sink.py accept FILE [PORT...] [@NAME...]

packets: every frame that comes in on INTERFACE is counted below all protocols
by what it is, in FILE: JSON lines {proto, to, port, packets, bytes, text}. No
filter of the kernel can take a packet away before it is seen here. mac: only
those of that sender. peer: all but what that sender has for that ADDRESS, or
asks by ARP.
accept: TCP and UDP on each PORT of every address, and abstract unix sockets;
each that connects or sends is a JSON line in FILE. It answers, so that an
attack that gets here succeeds.
FILE is made when the program is ready, and complete half a second later than
what it tells of.
"""
import json
import os
import select
import signal
import socket
import struct
import sys
import threading
import time

PROTOCOLS = {1: "icmp", 6: "tcp", 17: "udp", 58: "icmp6"}
OUTGOING = 4  # PACKET_OUTGOING


def describe(frame):
    """protocol, destination, port, payload; of one frame."""
    kind = struct.unpack("!H", frame[12:14])[0]
    data = frame[14:]
    if kind == 0x0806 and len(data) >= 28:
        return "arp", socket.inet_ntoa(data[24:28]), 0, b""
    if kind == 0x0800 and len(data) >= 20:
        size = (data[0] & 15) * 4
        proto, rest = data[9], data[size:]
        to = socket.inet_ntoa(data[16:20])
    elif kind == 0x86dd and len(data) >= 40:
        proto, rest = data[6], data[40:]
        to = socket.inet_ntop(socket.AF_INET6, data[24:40])
    else:
        return "ether-%04x" % kind, frame[:6].hex(":"), 0, data
    name = PROTOCOLS.get(proto, "ip-%d" % proto)
    port = 0
    if proto in (6, 17) and len(rest) >= 4:
        port = struct.unpack("!H", rest[2:4])[0]
    elif proto in (1, 58) and rest:
        port = rest[0]  # the type
    return name, to, port, rest


class Counts:
    def __init__(self, path):
        self.path = path
        self.seen = {}
        self.changed = True

    def add(self, proto, to, port, size, payload):
        one = self.seen.setdefault((proto, to, port), [0, 0, ""])
        one[0] += 1
        one[1] += size
        if len(one[2]) < 2000:
            one[2] += "".join(chr(x) for x in payload[8:400]
                              if 32 < x < 127) + " "
        self.changed = True

    def save(self):
        if not self.changed:
            return
        self.changed = False
        with open(self.path + ".new", "w") as f:
            for (proto, to, port), (packets, size, text) in self.seen.items():
                f.write(json.dumps({
                    "proto": proto, "to": to, "port": port,
                    "packets": packets, "bytes": size, "text": text}) + "\n")
        os.rename(self.path + ".new", self.path)


def wanted(rules, frame, proto, to):
    sender = frame[6:12].hex(":")
    if "mac" in rules:
        return sender == rules["mac"]
    if "peer" in rules:
        mac, address = rules["peer"].split(",")
        return sender != mac or (proto != "arp" and to != address)
    return True


def packets(interface, path, *rules):
    rules = dict(x.split("=", 1) for x in rules)
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                         socket.htons(3))  # ETH_P_ALL
    sock.setsockopt(socket.SOL_SOCKET, 33, 32 << 20)  # SO_RCVBUFFORCE
    sock.bind((interface, 0))
    counts = Counts(path)
    saved = 0.0
    while True:
        ready = select.select([sock], [], [], 0.2)[0]
        if ready:
            frame, where = sock.recvfrom(65535)
            proto, to, port, payload = describe(frame)
            if where[2] != OUTGOING and wanted(rules, frame, proto, to):
                counts.add(proto, to, port, len(frame), payload)
        if time.monotonic() - saved > 0.2:
            counts.save()
            saved = time.monotonic()


def accept(path, *names):
    log = open(path + ".new", "w", buffering=1)

    def put(**what):
        log.write(json.dumps(what) + "\n")

    def stream(listener, name):
        def one(conn):
            with conn:
                conn.settimeout(5)
                try:
                    data = conn.recv(65536)
                    put(proto=name, bytes=len(data),
                        text=data.decode("latin-1"))
                    conn.sendall(b"\x16\x03\x03\0\x13"
                                 b'{"server": "sink" }')
                except OSError:
                    pass
        while True:
            conn, _ = listener.accept()
            put(proto=name, bytes=0, text="connected")
            threading.Thread(target=one, args=(conn,), daemon=True).start()

    def datagrams(sock, name):
        while True:
            data, peer = sock.recvfrom(65535)
            put(proto=name, bytes=len(data), text=data.decode("latin-1"))
            sock.sendto(b"sink", peer)

    for name in names:
        if name.startswith("@"):
            s = socket.socket(socket.AF_UNIX)
            s.bind("\0" + name[1:])
            s.listen()
            jobs = [(stream, s, name)]
        else:
            t = socket.create_server(("", int(name)))
            u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            u.bind(("", int(name)))
            jobs = [(stream, t, "tcp " + name), (datagrams, u, "udp " + name)]
        for job, sock, label in jobs:
            threading.Thread(target=job, args=(sock, label),
                             daemon=True).start()
    os.rename(path + ".new", path)
    threading.Event().wait()


signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
{"packets": packets, "accept": accept}[sys.argv[1]](*sys.argv[2:])
