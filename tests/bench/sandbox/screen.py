# SPDX-License-Identifier: Apache-2.0
"""screen.py - how long a program in a terminal takes to its first screen

usage: screen.py REGEX SECONDS COMMAND...

Prints the microseconds until what it drew matches REGEX (blanks and escape
sequences left out), and goes on until its stdin ends; then the terminal is
closed. Fails if that takes more than SECONDS, with what it drew on stderr.
"""
import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time

ESCAPE = re.compile(rb"\x1b(?:\[[0-9;?<>=]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)"
                    rb"|[P_^][^\x1b]*\x1b\\|[()].|.)")
# What a terminal answers: its attributes, where the cursor is.
ANSWERS = {b"\x1b[c": b"\x1b[?62;22c", b"\x1b[6n": b"\x1b[1;1R"}


def main():
    wanted, limit = re.compile(sys.argv[1].encode()), float(sys.argv[2])
    begin = time.monotonic()
    pid, fd = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execvp(sys.argv[3], sys.argv[3:])
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("4H", 30, 100, 0, 0))
    drawn, shown = b"", False
    while True:
        left = 3600 if shown else begin + limit - time.monotonic()
        ready = select.select([fd] + ([0] if shown else []), [], [], max(left, 0))[0]
        if 0 in ready:
            break
        try:
            data = os.read(fd, 65536) if ready else b""
        except OSError:  # it ended
            data = b""
        if not data:
            sys.exit(f"no such screen: {ESCAPE.sub(b'', drawn)[-2000:]}")
        for asked, answer in ANSWERS.items():
            if asked in data:
                os.write(fd, answer)
        drawn += data
        text = re.sub(rb"\s", b"", ESCAPE.sub(b"", drawn))
        if not shown and wanted.search(text):
            print(int((time.monotonic() - begin) * 1e6), flush=True)
            shown = True
    os.close(fd)
    os.waitpid(pid, 0)


main()
