#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""record.py - plays a session in a real terminal and keeps what it shows

usage: record.py SESSION CAST

SESSION has one command a line, which is typed into a shell when the one before
has ended; a line that begins with # is a comment. CAST becomes an asciicast of
version 2 (https://docs.asciinema.org/manual/asciicast/v2/), which render.py
draws. The shell is started in the current directory, with this environment.
Exit code 1: a command of the session failed, or took longer than 10 minutes.
"""
import fcntl
import json
import os
import pty
import re
import select
import struct
import sys
import termios
import time

WIDTH, HEIGHT = 92, 22
READY = b"\x1b]133;A\x07"  # what the prompt begins with: the shell waits
CODE = re.compile(rb"\x1b\]133;D;(\d+)\x07")
PROMPT = r'PS1="\[\e]133;D;\$?\a\e]133;A\a\e[1;32m\]\$\[\e[0m\] "; '
KEY_S = 0.04
LONGEST_S = 600


class Terminal:
    def __init__(self):
        self.began = time.monotonic()
        self.events = []
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm-256color", PS1="")
            os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ,
                    struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))

    def until_ready(self):
        """Reads until the shell waits. Returns the code of what ended."""
        end, seen = time.monotonic() + LONGEST_S, b""
        while READY not in seen:
            if not select.select([self.fd], [], [], 1)[0]:
                if time.monotonic() > end:
                    sys.exit("record.py: a command does not end")
                continue
            data = os.read(self.fd, 65536)
            seen = seen[-200:] + data
            shown = CODE.sub(b"", data).replace(READY, b"")
            self.events.append([round(time.monotonic() - self.began, 3), "o",
                                shown.decode("utf-8", "replace")])
        return int(CODE.search(seen).group(1))

    def type(self, line):
        for c in line:
            os.write(self.fd, c.encode())
            time.sleep(KEY_S)
            self.events.append([round(time.monotonic() - self.began, 3), "o",
                                os.read(self.fd, 4096).decode()])
        time.sleep(0.4)
        os.write(self.fd, b"\r")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as f:
        lines = [x.rstrip("\n") for x in f]
    t = Terminal()
    os.write(t.fd, (PROMPT + "clear\r").encode())
    t.until_ready()
    t.events.clear()
    t.events.append([0.0, "o", "\x1b[1;32m$\x1b[0m "])
    t.began = time.monotonic()
    for line in lines:
        if not line or line.startswith("#"):
            continue
        t.type(line)
        code = t.until_ready()
        if code:
            sys.exit(f"record.py: exit code {code}: {line}")
    header = {"version": 2, "width": WIDTH, "height": HEIGHT,
              "idle_time_limit": 1.5}
    with open(sys.argv[2], "w", encoding="utf-8") as f:
        for x in [header] + t.events:
            f.write(json.dumps(x) + "\n")


main()
