#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""soak.py - full load with a reload a second; then nothing may have grown

Good connections, four fat flows, denied names and DNS all at once, while the
policy is rewritten and reloaded each second. Compared are the figures after a
first minute (pools and caches are full then) and at the end, both after the
load has stopped: memory, descriptors, sockets. The sink ends when a denied
name reaches it.
"""
import os
import subprocess
import sys
import time

import conf
import run


def load(gate, secs):
    def eb(mode, name, *more):
        return subprocess.Popen(gate.eb(mode, name, *more),
                                stdout=subprocess.PIPE)

    jobs = [eb("conn", "a.test", 32, secs), eb("conn", "denied.test", 8, secs),
            eb("bulk", "bulk.test", 4, secs),
            subprocess.Popen(["taskset", "-c", "1", "dnsperf", "-s", conf.GATE,
                              "-p", str(run.DNS_PORTS["gate"]), "-a",
                              conf.CLIENT, "-d", run.DIR + "/q.txt", "-l",
                              str(secs), "-Q", "2000"],
                             stdout=subprocess.DEVNULL)]
    end, n = time.time() + secs, 0
    while time.time() < end:
        n += 1
        gate.write("policy-0.yaml", conf.policy(0) + f"# {n}\n")
        run.sh("ottergate", "reload", "--admin", run.DIR + "/gate.sock",
               stdout=subprocess.DEVNULL)
        time.sleep(1)
    good = jobs[0].communicate()[0].decode()
    for j in jobs[1:]:
        j.communicate()
    return good, n


def figures(gate):
    time.sleep(3)  # what is closing closes
    with open("/proc/net/sockstat") as f:
        tcp = next(line for line in f if line.startswith("TCP:")).split()
    return {"PSS KiB": run.pss_kib(gate.pid),
            "descriptors": len(os.listdir(f"/proc/{gate.pid}/fd")),
            "sockets in use": int(tcp[2]), "orphans": int(tcp[4])}


def main():
    secs = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    os.makedirs(run.DIR, exist_ok=True)
    with open(run.DIR + "/q.txt", "w") as f:
        f.write("a.allowed.test A\nx.denied.example A\n")
    sink = subprocess.Popen([run.EB, "sink", conf.SINK, str(conf.PORT)])
    gate = run.Candidate("gate", log=True)
    load(gate, min(60, secs))
    first = figures(gate)
    good, reloads = load(gate, secs)
    last = figures(gate)
    print(f"# {secs} s, {reloads} reloads, good connections: {good.strip()}")
    bad = sink.poll() is not None
    for name in first:
        slack = 2048 if "PSS" in name else 2
        grown = last[name] - first[name]
        bad |= grown > slack
        print(f"{name}: {first[name]} -> {last[name]}" +
              ("  GREW" if grown > slack else ""))
    print("a denied name reached the sink" if sink.poll() is not None
          else "no denied name reached the sink")
    sink.kill()
    gate.stop()
    sys.exit(bad)


main()
