#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""scan.py - is a secret anywhere that an agent can read?

usage: scan.py SINCE < NEEDLES

NEEDLES: a JSON object of names and secrets, each byte of these XORed with 0x5a,
in hexadecimal. So the search itself brings no secret into the sandbox; what is
read is turned likewise before it is searched. Looks through every process's
environ and cmdline, its memory where it may be read, its open files, and every
file that has changed since SINCE (seconds since 1970): older ones were there
before the secrets were made. One JSON object: for each name where it was found, and
how much was read and refused. Base64 and percent-encoded forms count, too.
"""
import base64
import json
import os
import stat
import sys
import urllib.parse

XOR = bytes(i ^ 0x5a for i in range(256))
PIECE = 1 << 20
SKIP = ("/proc", "/sys", "/dev")
MEM_MAX = 512 << 20  # of one process


def needles():
    out = []
    for name, text in json.load(sys.stdin).items():
        out.append((name, bytes.fromhex(text)))
        # Without what stands around it: the middle of base64 of any offset.
        plain = bytes.fromhex(text).translate(XOR)
        for i in range(3):
            coded = base64.b64encode(b"x" * i + plain)[4:-4]
            out.append((name, coded.translate(XOR)))
        quoted = urllib.parse.quote(plain.decode(), safe="").encode()
        if quoted != plain:
            out.append((name, quoted.translate(XOR)))
        del plain
    return out


class Scan:
    def __init__(self, since):
        self.since = since
        self.wanted = needles()
        self.longest = max(len(x) for _, x in self.wanted)
        self.found = {name: [] for name, _ in self.wanted}
        self.read = {"files": 0, "older": 0, "bytes": 0, "processes": 0, "memory": 0}
        self.refused = {"files": 0, "environ": 0, "memory": 0}

    def look(self, data, where):
        turned = data.translate(XOR)
        for name, needle in self.wanted:
            if needle in turned and where not in self.found[name]:
                self.found[name].append(where)

    def stream(self, f, where, limit=1 << 40):
        tail = b""
        while limit > 0:
            piece = f.read(min(PIECE, limit))
            if not piece:
                break
            limit -= len(piece)
            self.read["bytes"] += len(piece)
            self.look(tail + piece, where)
            tail = piece[-self.longest:]

    def file(self, path):
        try:
            info = os.lstat(path)
            if not stat.S_ISREG(info.st_mode):
                return
            if info.st_ctime < self.since:
                self.read["older"] += 1
                return
            with open(path, "rb") as f:
                self.read["files"] += 1
                self.stream(f, path)
        except OSError:
            self.refused["files"] += 1

    def memory(self, pid):
        try:
            with open("/proc/%s/maps" % pid) as f:
                ranges = [x.split() for x in f]
            with open("/proc/%s/mem" % pid, "rb", 0) as mem:
                for line in ranges:
                    begin, end = (int(x, 16) for x in line[0].split("-"))
                    if "r" not in line[1] or line[-1] == "[vvar]":
                        continue
                    try:
                        mem.seek(begin)
                        self.stream(mem, "/proc/%s/mem" % pid,
                                    min(end - begin, MEM_MAX))
                        self.read["memory"] += 1
                    except (OSError, ValueError, OverflowError):
                        continue
        except OSError:
            self.refused["memory"] += 1

    def process(self, pid):
        self.read["processes"] += 1
        for part in ("environ", "cmdline"):
            try:
                with open("/proc/%s/%s" % (pid, part), "rb") as f:
                    self.look(f.read(), "/proc/%s/%s" % (pid, part))
            except OSError:
                self.refused["environ"] += 1
        try:
            for fd in os.listdir("/proc/%s/fd" % pid):
                self.file("/proc/%s/fd/%s" % (pid, fd))
        except OSError:
            pass
        if pid != str(os.getpid()):
            self.memory(pid)

    def everything(self):
        for pid in os.listdir("/proc"):
            if pid.isdigit():
                self.process(pid)
        for base, folders, files in os.walk("/"):
            folders[:] = [x for x in folders
                          if os.path.join(base, x) not in SKIP]
            for name in files:
                self.file(os.path.join(base, name))


def main():
    scan = Scan(float(sys.argv[1]))
    scan.everything()
    print(json.dumps({"found": scan.found, "read": scan.read,
                      "refused": scan.refused}))


main()
