# SPDX-License-Identifier: Apache-2.0
"""procs.py - the processes of a bench: what they use, and that none hangs

each() gives every candidate its turn at a part of the bench, for a limited
time. What does not end in it is named on stderr, with what each process did
and who left bytes unread, is killed, and has no figure.
"""
import contextlib
import os
import signal
import subprocess
import sys
import time

TICK = os.sysconf("SC_CLK_TCK")
started = []  # processes that are to end with the turn
hung = []  # what did not


class Hung(Exception):
    """The turn took longer than it may."""


def sh(*argv, **kw):
    return subprocess.run(argv, check=True, **kw)


def tree(pid):
    """@pid and all its descendants."""
    out, todo = [], [pid]
    while todo:
        p = todo.pop()
        out.append(p)
        try:
            for task in os.listdir(f"/proc/{p}/task"):
                with open(f"/proc/{p}/task/{task}/children") as f:
                    todo += [int(c) for c in f.read().split()]
        except OSError:
            pass
    return out


def read(path):
    try:
        with open(path) as f:
            return f.read()
    except OSError:  # it has ended
        return ""


def tasks(pid):
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


def cpu_seconds(pid, pids=None):
    """Of @pid and all its descendants, or of @pids: to the nanosecond where the
    kernel says so, else in ticks."""
    pids = pids or tree(pid)
    if not os.path.exists("/proc/self/schedstat"):
        stats = [read(f"/proc/{p}/stat").rpartition(")")[2].split()
                 for p in pids]
        return sum(int(s[11]) + int(s[12]) for s in stats if s) / TICK
    stats = [read(f"/proc/{p}/task/{task}/schedstat").split()
             for p in pids for task in tasks(p)]
    return sum(int(s[0]) for s in stats if s) / 1e9


def pss_kib(pid):
    total = 0
    for p in tree(pid):
        with open(f"/proc/{p}/smaps_rollup") as f:
            for line in f:
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
    return total


def start(argv, **kw):
    """A process that is killed if the turn hangs."""
    p = subprocess.Popen(argv, **kw)
    started.append(p)
    return p


def output(argv):
    """What a program says that has to succeed."""
    p = start(argv, stdout=subprocess.PIPE, text=True)
    out = p.communicate()[0]
    started.remove(p)
    if p.returncode != 0:
        raise subprocess.CalledProcessError(p.returncode, argv)
    return out


def end(p):
    """Asks @p to end, and after 10 seconds no longer asks."""
    p.send_signal(signal.SIGTERM)
    try:
        p.wait(10)
    except subprocess.TimeoutExpired:
        p.kill()
        p.wait()
    started.remove(p)


@contextlib.contextmanager
def limit(secs):
    """Raises Hung in the block if it has not ended after @secs."""
    def over(*_):
        raise Hung(f"no end after {secs} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(secs)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def sockets(*argv):
    out = subprocess.run(["ss", "-Htn", *argv], text=True, check=False,
                         stdout=subprocess.PIPE).stdout
    return [line.split()[:5] for line in out.splitlines()]


def unread():
    """Lines that say who left how many bytes unread, by the servers' ports."""
    servers = {row[3].rpartition(":")[2] for row in sockets("-l")}
    sums = {}
    for state, recv, send, *ends in sockets("state", "connected"):
        ports = [a.rpartition(":")[2] for a in ends]
        key = (state, *(p if p in servers else "any" for p in ports))
        row = sums.setdefault(key, [0, 0, 0])
        for i, n in enumerate((1, int(recv), int(send))):
            row[i] += n
    return [f"{n} {state} from port {local} to {peer}: {r} bytes unread "
            f"here, {s} not taken by the other"
            for (state, local, peer), (n, r, s) in sorted(sums.items())]


def report():
    """Says on stderr what all processes of this container do."""
    pids = [int(p) for p in os.listdir("/proc")
            if p.isdigit() and int(p) != os.getpid()]
    before = {p: cpu_seconds(p, [p]) for p in pids}
    time.sleep(0.5)
    for p in pids:
        argv = read(f"/proc/{p}/cmdline").replace("\0", " ")[:100]
        stat = read(f"/proc/{p}/stat").rpartition(")")[2].split()
        if stat:
            print(f"#   {p} {argv}: {stat[0]}, waits in "
                  f"{read(f'/proc/{p}/wchan') or '?'}, "
                  f"{(cpu_seconds(p, [p]) - before[p]) * 2:.2f} of a "
                  "processor", file=sys.stderr)
    for line in unread():
        print(f"#   {line}", file=sys.stderr)


def each(part, names, secs, turn):
    """turn(name) for each of @names, each for @secs at most."""
    for name in names:
        try:
            with limit(secs):
                turn(name)
        except (Hung, TimeoutError) as e:
            print(f"# HUNG: {part}, {name}: {e}; it has no figure",
                  file=sys.stderr)
            report()
            hung.append(f"{part}, {name}")
            while started:
                p = started.pop()
                p.kill()
                p.wait()
