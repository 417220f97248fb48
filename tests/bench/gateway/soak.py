#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""soak.py - full load with a reload a second; then nothing may have grown

Good connections, four fat flows, denied names and DNS all at once, while the
policy is rewritten and reloaded each second. Compared are the figures after a
first minute (pools and caches are full then) and at the end, both after the
load has stopped: memory, descriptors, sockets. The sink ends when a denied
name reaches it.
"""
import json
import os
import subprocess
import sys
import time

import conf
import procs
import run


def load(gate, secs):
    def eb(mode, name, *more):
        return procs.start(gate.eb(mode, name, *more),
                           stdout=subprocess.PIPE)

    jobs = [eb("conn", "a.test", 32, secs), eb("conn", "denied.test", 8, secs),
            eb("bulk", "bulk.test", 4, secs),
            procs.start(["taskset", "-c", "1", "dnsperf", "-s", conf.GATE,
                         "-p", str(run.DNS_PORTS["gate"]), "-a", conf.CLIENT,
                         "-d", run.DIR + "/q.txt", "-l", str(secs), "-Q",
                         "2000"], stdout=subprocess.DEVNULL)]
    end, n = time.time() + secs, 0
    while time.time() < end:
        n += 1
        gate.write("policy-0.yaml", conf.policy(0) + f"# {n}\n")
        procs.sh("ottergate", "reload", "--admin", run.DIR + "/gate.sock",
               stdout=subprocess.DEVNULL)
        time.sleep(1)
    good = jobs[0].communicate()[0].decode()
    for j in jobs[1:]:
        j.communicate()
    for j in jobs:
        procs.started.remove(j)
    return json.loads(good), n


def figures(gate):
    time.sleep(3)  # what is closing closes
    with open("/proc/net/sockstat") as f:
        tcp = next(line for line in f if line.startswith("TCP:")).split()
    return {"PSS KiB": procs.pss_kib(gate.pid),
            "descriptors": len(os.listdir(f"/proc/{gate.pid}/fd")),
            "sockets in use": int(tcp[2]), "orphans": int(tcp[4])}


def soak(secs):
    """True if something grew that must not."""
    gate = run.Candidate("gate", log=True)
    load(gate, min(60, secs))
    first = figures(gate)
    good, reloads = load(gate, secs)
    last = figures(gate)
    gate.stop()
    print(f"{secs} s, {reloads} reloads, {good['n']} good connections, "
          f"{good['errors']} of them failed.\n")
    print("| figure | after a first minute | at the end | may grow by |\n"
          "| --- | --- | --- | --- |")
    bad = False
    for name in first:
        slack = 2048 if "PSS" in name else 2
        grown = last[name] - first[name] > slack
        bad |= grown
        print(f"| {name} | {first[name]} | {last[name]} | {slack}"
              f"{': **it grew by more**' if grown else ''} |")
    return bad


def main():
    secs = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    bad = []
    os.makedirs(run.DIR, exist_ok=True)
    with open(run.DIR + "/q.txt", "w") as f:
        f.write("a.allowed.test A\nx.denied.example A\n")
    sink = subprocess.Popen([run.EB, "sink", conf.SINK, str(conf.PORT)])
    procs.each("soak", ["gate"], secs + 240,
               lambda _: bad.append(soak(secs)))
    reached = sink.poll() is not None
    sink.kill()
    print(f"\n{'A' if reached else 'No'} denied name reached the server.")
    sys.exit(reached or any(bad) or bool(procs.hung))


main()
