#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""leaks.py - are secrets in what passes, or in what a process has?

usage: leaks.py tap INTERFACE FILE
       leaks.py forms < NEEDLES
       leaks.py frames FILE < NEEDLES
       leaks.py trace FILE [SOCKET...] < NEEDLES
       leaks.py memory PID... < NEEDLES

NEEDLES: a JSON object of names and secrets. What is looked for is each secret
as it is, in hexadecimal, percent-encoded where that differs, and the middle of
its base64 at each offset, of both alphabets.

tap: every frame of INTERFACE goes to FILE, a length before each; FILE is there
once it listens, and whole when SIGTERM has ended it.
forms: lines "NAME HEX", each byte XORed with 0x5a: for a search in a sandbox
that must not bring in what it looks for.
frames: of a tap; each direction of each TCP connection is put together first.
trace: of `strace -yy -xx -s N`; the bytes of each descriptor are put together,
in and out. SOCKET: only those of sockets with one of these inodes.
memory: of whole processes, and of the files without a name that they hold: with
gVisor these are the memory of a sandbox.
The last three print one JSON object: for each name, where it was found; and
under "searched" how many bytes were looked through, of how many streams.
"""
import base64
import collections
import json
import os
import re
import signal
import socket
import struct
import sys
import urllib.parse

PIECE = 8 << 20
CALL = re.compile(r"^(?:(?P<pid>\d+) +)?(?:"
                  r"(?P<name>\w+)\((?P<fd>\d+)(?:<(?P<what>(?:->|[^>])*)>)"
                  r"|<\.\.\. (?P<back>\w+) resumed>)(?P<rest>.*)$")
INWARD = ("read", "recv")


def forms(text):
    raw = text.encode()
    out = {raw, raw.hex().encode(), raw.hex().upper().encode(),
           urllib.parse.quote(text, safe="").encode()}
    for i in range(3):
        for code in (base64.b64encode, base64.urlsafe_b64encode):
            # Without what depends on what stands around it.
            out.add(code(b"x" * i + raw)[4 if i else 0:-4])
    return sorted(out)


class Search:
    def __init__(self):
        self.wanted = [(name, form) for name, text in
                       json.load(sys.stdin).items() for form in forms(text)]
        self.longest = max(len(x) for _, x in self.wanted)
        self.found = {name: [] for name, _ in self.wanted}
        self.bytes = self.streams = 0

    def look(self, data, where):
        for name, form in self.wanted:
            if form in data and where not in self.found[name]:
                self.found[name].append(where)

    def whole(self, data, where):
        self.bytes += len(data)
        self.streams += 1
        self.look(data, where)

    def part(self, read, begin, end, where):
        """What read(size, offset) has from begin to end."""
        tail = b""
        while begin < end:
            try:
                piece = read(min(PIECE, end - begin), begin)
            except (OSError, OverflowError):
                return
            if not piece:
                return
            self.bytes += len(piece)
            begin += len(piece)
            self.look(tail + piece, where)
            tail = piece[-self.longest:]

    def say(self):
        print(json.dumps({"found": self.found, "searched": {
            "bytes": self.bytes, "streams": self.streams}}))


def tap(interface, path):
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    sock.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
    sock.bind((interface, 0))
    sock.settimeout(0.2)
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    with open(path, "wb") as f:
        f.flush()
        while not ended:
            try:
                frame = sock.recv(1 << 17)
                f.write(struct.pack("!I", len(frame)) + frame)
            except TimeoutError:
                pass


def segments(data):
    """source, destination, sequence, payload; of each frame that is TCP."""
    at = 0
    while at + 4 <= len(data):
        size = struct.unpack("!I", data[at:at + 4])[0]
        frame = data[at + 4:at + 4 + size]
        at += 4 + size
        if frame[12:14] != b"\x08\0" or frame[23] != 6:
            continue
        packet = frame[14:14 + struct.unpack("!H", frame[16:18])[0]] \
            if frame[16:18] != b"\0\0" else frame[14:]
        head = (packet[0] & 15) * 4
        tcp = packet[head:]
        ports = struct.unpack("!HHI", tcp[:8])
        yield ((packet[12:16], ports[0]), (packet[16:20], ports[1]),
               ports[2], tcp[(tcp[12] >> 4) * 4:])


def frames(search, path):
    with open(path, "rb") as f:
        data = f.read()
    search.whole(data, "a frame")
    flows = collections.defaultdict(dict)
    for source, to, sequence, payload in segments(data):
        flow = flows[source, to]
        if len(payload) > len(flow.get(sequence, b"")):
            flow[sequence] = payload
    for (source, to), flow in flows.items():
        search.whole(b"".join(flow[x] for x in sorted(flow)), "%s:%d > %s:%d" %
                     (socket.inet_ntoa(source[0]), source[1],
                      socket.inet_ntoa(to[0]), to[1]))


def trace(search, path, *sockets):
    streams = collections.defaultdict(list)
    waiting = {}
    with open(path, encoding="ascii", errors="replace") as f:
        for line in f:
            m = CALL.match(line)
            if not m:
                continue
            if m["back"]:
                name, what = waiting.pop(m["pid"], (m["back"], "unknown"))
            else:
                name, what = m["name"], "%s %s" % (m["fd"], m["what"])
                waiting[m["pid"]] = name, what
            way = "in" if name.startswith(INWARD) else "out"
            for text in re.findall(r'"((?:\\x[0-9a-f]{2})*)"', m["rest"]):
                streams[what, way].append(bytes.fromhex(
                    text.replace("\\x", "")))
    for (what, way), parts in streams.items():
        if not sockets or set(re.findall(r"\d+", what.partition(" ")[2])) & \
                set(sockets):
            search.whole(b"".join(parts), "%s, %s" % (what, way))


def nameless(search, pid):
    """Files that only descriptors lead to, where there is data in them."""
    seen = set()
    for fd in os.listdir("/proc/%s/fd" % pid):
        path = "/proc/%s/fd/%s" % (pid, fd)
        try:
            name = os.readlink(path)
            if not name.startswith("/memfd:"):
                continue
            with open(path, "rb", 0) as f:
                info = os.fstat(f.fileno())
                if info.st_ino in seen:
                    continue
                seen.add(info.st_ino)
                search.streams += 1
                end = 0
                while True:
                    begin = os.lseek(f.fileno(), end, os.SEEK_DATA)
                    end = os.lseek(f.fileno(), begin, os.SEEK_HOLE)
                    search.part(lambda n, at, fd=f.fileno(): os.pread(
                        fd, n, at), begin, end, "%s %s" % (pid, name))
        except OSError:
            continue  # no data beyond, or it is gone


def memory(search, *pids):
    for pid in pids:
        nameless(search, pid)
        with open("/proc/%s/maps" % pid) as f:
            ranges = [x.split(None, 5) for x in f]
        with open("/proc/%s/mem" % pid, "rb", 0) as mem:
            search.streams += 1
            for words in ranges:
                if "r" not in words[1] or "/memfd:" in words[-1]:
                    continue
                begin, end = (int(x, 16) for x in words[0].split("-"))
                search.part(lambda n, at, fd=mem.fileno(): os.pread(
                    fd, n, at), begin, end, pid + " memory")


def main():
    if sys.argv[1] == "tap":
        return tap(*sys.argv[2:])
    search = Search()
    if sys.argv[1] == "forms":
        for name, form in search.wanted:
            print(name, bytes(x ^ 0x5a for x in form).hex())
        return None
    {"frames": frames, "trace": trace, "memory": memory}[sys.argv[1]](
        search, *sys.argv[2:])
    return search.say()


main()
