#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py - the gateway's bench; runs inside the bench container

Proxies on processor 0, load and sink on processor 1. All candidates take
turns within each round, so that what disturbs one disturbs all; the table
has medians over the rounds, and how far they lie apart. The main figure is
the processor time of the candidate's processes, from /proc: on a small
machine the load itself is the limit of any rate.
"""
import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time

import conf
import procs
from procs import cpu_seconds, pss_kib, sh

DIR = "/tmp/bench"
EB = DIR + "/eb"
PEERS = ["haproxy", "nginx", "squid"]
PORTS = {"gate": 8442, "haproxy": 8443, "nginx": 8444, "squid": 8448}
DNS_PORTS = {"gate": 5300, "unbound": 5301, "dnsmasq": 5302}


def wait_port(port, proc, udp=False):
    for _ in range(600):
        if proc.poll() is not None:
            sys.exit(f"{proc.args}: ended with {proc.returncode}")
        try:
            if udp:
                s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                s.settimeout(0.1)
                s.bind((conf.CLIENT, 0))
                s.sendto(bytes.fromhex("123401000001000000000000" "0161"
                                       "07616c6c6f776564" "0474657374" "00"
                                       "00010001"), (conf.GATE, port))
                s.recv(512)
            else:
                socket.create_connection((conf.GATE, port), 0.2,
                                         (conf.CLIENT, 0)).close()
            return
        except OSError:
            time.sleep(0.1)
    sys.exit(f"{proc.args}: nothing on port {port}")


class Candidate:
    """A running proxy; log: with its access log or audit on."""

    def __init__(self, name, log=False, rules=0, dns=False):
        self.name, self.dns = name, dns
        self.out = open(f"{DIR}/{name}.out", "w")
        self.port = (DNS_PORTS if dns else PORTS)[name]
        argv = getattr(self, name)(log, rules)
        self.proc = procs.start(["taskset", "-c", "0"] + argv,
                                stdout=self.out, stderr=subprocess.STDOUT)
        wait_port(self.port, self.proc, dns)
        self.pid = self.proc.pid

    def write(self, name, text):
        path = f"{DIR}/{name}"
        with open(path, "w") as f:
            f.write(text)
        return path

    def gate(self, log, rules):
        policy = self.write(f"policy-{rules}.yaml", conf.policy(rules))
        argv = ["/usr/sbin/ottergate", "run", "--policy", policy, "--admin",
                f"{DIR}/gate.sock", "--listen", conf.GATE, "--workers", "1",
                "--dns-port", str(DNS_PORTS["gate"]), "--transparent-port",
                "0", "--proxy-port", "0", "--fixed",
                f"{PORTS['gate']}:{conf.PORT}"]
        if log:
            os.makedirs(f"{DIR}/audit", exist_ok=True)
            argv += ["--audit", f"{DIR}/audit/audit.jsonl"]
        return argv

    def haproxy(self, log, _rules):
        text = conf.fill(conf.HAPROXY, dir=DIR,
                         log_global="log stdout format raw local0"
                         if log else "",
                         log="log global\n    option tcplog" if log else "")
        return ["haproxy", "-db", "-f", self.write("haproxy.cfg", text)]

    def nginx(self, log, _rules):
        text = conf.fill(conf.NGINX, dir=DIR, log=f"access_log {DIR}/nginx.log"
                         " line buffer=64k flush=1s;" if log
                         else "access_log off;")
        return ["nginx", "-c", self.write("nginx.conf", text)]

    def squid(self, log, _rules):
        self.write("hosts", "".join(f"{conf.SINK} {n}.test\n"
                                    for n in ("a", "bulk", "hold")))
        if not os.path.exists(f"{DIR}/ca.pem"):
            sh("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes",
               "-keyout", f"{DIR}/ca.key", "-out", f"{DIR}/ca.crt", "-subj",
               "/CN=bench", "-days", "2", stderr=subprocess.DEVNULL)
            with open(f"{DIR}/ca.pem", "w") as f:
                for part in ("key", "crt"):
                    f.write(open(f"{DIR}/ca.{part}").read())
            sh("/usr/lib/squid/security_file_certgen", "-c", "-s",
               f"{DIR}/ssldb", "-M", "4MB", stdout=subprocess.DEVNULL)
            sh("chmod", "-R", "a+rwX", DIR)
        text = conf.fill(conf.SQUID, dir=DIR, log=f"{DIR}/squid-access.log"
                         if log else "none")
        return ["squid", "-N", "-f", self.write("squid.conf", text)]

    def unbound(self, _log, _rules):
        return ["unbound", "-d", "-c",
                self.write("unbound.conf", conf.fill(conf.UNBOUND))]

    def dnsmasq(self, _log, _rules):
        return ["dnsmasq", "-k", "-C",
                self.write("dnsmasq.conf", conf.fill(conf.DNSMASQ))]

    def eb(self, mode, name, *more, source=conf.CLIENT):
        argv = ["taskset", "-c", "1", EB, mode, source, conf.GATE,
                str(self.port), name] + [str(m) for m in more]
        if self.name == "squid":
            argv.append(f"connect={name}:{conf.PORT}")
        return argv

    def measure(self, mode, name, *more):
        before = cpu_seconds(self.pid)
        r = json.loads(procs.output(self.eb(mode, name, *more)))
        time.sleep(0.05)
        r["cpu"] = cpu_seconds(self.pid) - before
        return r

    def warm(self, mode, name, *more):
        """A second of what is measured next: whoever is fresh has lists,
        buffers and pages to fill."""
        self.measure(mode, name, *more, 1)

    def hold(self, name, count, *more, **kw):
        """Opens @count tunnels, which stay until its stdin is closed."""
        p = procs.start(self.eb("hold", name, count, *more, **kw),
                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return p, int(p.stdout.readline().split()[1])

    def stop(self):
        procs.end(self.proc)
        self.out.close()


class Table:
    def __init__(self):
        self.rows = {}

    def add(self, row, name, value):
        self.rows.setdefault(row, {}).setdefault(name, []).append(value)

    def show(self, aims):
        out = ["| figure | ottergate | peers (median, spread) | ratio to the "
               "best | aim |", "| --- | --- | --- | --- | --- |"]
        for row, by in self.rows.items():
            med = {n: statistics.median(v) for n, v in by.items()}
            text = {n: f"{med[n]:.3g} ({min(v):.3g}-{max(v):.3g})"
                    for n, v in by.items()}
            peers = {n: m for n, m in med.items() if n != "gate"}
            ratio = "-"
            if peers and "gate" in med:
                best = (max if "more is better" in row else min)(
                    peers.values())
                ratio = f"**{med['gate'] / best:.2f}**" if best else "-"
            out.append(f"| {row} | {text.get('gate', '-')} | " +
                       ", ".join(f"{n} {text[n]}" for n in peers) +
                       f" | {ratio} | {aims.get(row, '')} |")
        return "\n".join(out)


AIMS = {"CPU µs per TLS connection, log off": "≤ 0.95",
        "CPU µs per TLS connection, log on": "≤ 0.95",
        "CPU s per GB, one flow": "≤ 0.9",
        "PSS MiB per 10,000 idle tunnels": "≤ 0.33",
        "CPU µs per DNS query": "≤ 0.9"}


def check(name, r):
    if r["errors"] > r["n"] / 100:
        sys.exit(f"{name}: {r}")
    return r


def release(p):
    """What hold() opened."""
    p.communicate(b"")
    procs.started.remove(p)


def tls(t, secs, limit, log):
    word = "on" if log else "off"

    def turn(name):
        c = Candidate(name, log)
        c.warm("conn", "a.test", 64)
        r = check(name, c.measure("conn", "a.test", 64, secs))
        t.add(f"CPU µs per TLS connection, log {word}", name,
              r["cpu"] * 1e6 / r["n"])
        if not log:
            t.add("new TLS connections/s, 64 clients (more is better)", name,
                  r["rate"])
            pq = c.measure("conn", "a.test", 64, secs, "pq")
            t.add("CPU µs per TLS connection, hello of 1.4 KB", name,
                  pq["cpu"] * 1e6 / pq["n"])
        c.stop()

    procs.each(f"connections, log {word}", ["gate"] + PEERS, limit, turn)


def latency(t, secs, limit, turns):
    """Of a candidate that just began, and of one that is warm. Who is first
    changes with each of @turns: the first one follows the search for the peak."""
    peak = {}

    def find_peak(name):
        c = Candidate(name)
        c.warm("conn", "a.test", 64)
        peak[name] = c.measure("conn", "a.test", 64, 1)["rate"]
        c.stop()

    def turn(name):
        c = Candidate(name)
        rate = f"{min(peak.values()) / 2:.0f}"
        for row, span in (("the first second", 1), ("then", secs)):
            r = check(name, c.measure("open", "a.test", rate, span))
            for p in ("p50", "p99"):
                t.add(f"{p} µs at half of the slowest peak, {row}", name,
                      r[f"{p}_us"])
        c.stop()

    procs.each("peak", ["gate"] + PEERS[:2], limit, find_peak)
    names = list(peak)
    first = turns % len(names)
    procs.each("latency", names[first:] + names[:first], limit, turn)


def bulk(t, secs, limit):
    def turn(name):
        c = Candidate(name)
        for flows in (1, 64):
            c.warm("bulk", "bulk.test", flows)
            r = c.measure("bulk", "bulk.test", flows, secs)
            if r["bytes"] == 0:
                sys.exit(f"{name}: no byte in {secs} s: {r}")
            word = "one flow" if flows == 1 else f"{flows} flows"
            t.add(f"CPU s per GB, {word}", name, r["cpu"] * 1e9 / r["bytes"])
        c.stop()

    procs.each("bulk", ["gate"] + PEERS, limit, turn)


def idle(t, count, limit):
    def turn(name):
        c = Candidate(name)
        before = pss_kib(c.pid)
        p, up = c.hold("hold.test", count)
        time.sleep(0.5)
        if up < count * 0.99:
            print(f"# {name}: only {up} tunnels of {count}", file=sys.stderr)
        t.add("PSS MiB per 10,000 idle tunnels", name,
              (pss_kib(c.pid) - before) / 1024 * 10000 / max(up, 1))
        release(p)
        c.stop()

    procs.each("idle tunnels", ["gate"] + PEERS, limit, turn)


def dns(t, secs, limit):
    with open(f"{DIR}/q.txt", "w") as f:
        f.write("a.allowed.test A\n" * 2 + "".join(
            f"h{i}.denied.example A\n" for i in range(2)))

    def ask(c, span):
        r = procs.output(
            ["taskset", "-c", "1", "dnsperf", "-s", conf.GATE, "-p",
             str(c.port), "-a", conf.CLIENT, "-d", f"{DIR}/q.txt", "-l",
             str(span), "-c", "8", "-T", "1"])
        return next(int(line.split()[2]) for line in r.splitlines()
                    if "Queries completed" in line)

    def turn(name):
        c = Candidate(name, dns=True)
        ask(c, 1)
        before = cpu_seconds(c.pid)
        n = ask(c, secs)
        t.add("CPU µs per DNS query", name,
              (cpu_seconds(c.pid) - before) * 1e6 / n)
        c.stop()

    procs.each("DNS", DNS_PORTS, limit, turn)


def loris(t, secs, count, rules, limit):
    """p99 of a good client: alone, and beside @count slow ones; the policy
    has @rules names. nginx and haproxy the same, for comparison."""
    def turn(name):
        c = Candidate(name, rules=rules)
        c.warm("open", "a.test", 500)
        alone = check(name, c.measure("open", "a.test", 500, secs))
        p, _ = c.hold("a.test", count, "slow", source=conf.SLOW)
        beside = check(name, c.measure("open", "a.test", 500, secs))
        release(p)
        t.add("p99 µs of a good client, alone", name, alone["p99_us"])
        t.add(f"p99 µs of a good client beside {count} slow ones", name,
              beside["p99_us"])
        c.stop()

    procs.each("slow clients", ["gate"] + PEERS[:2], limit, turn)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("-n", type=int, default=5)
    ap.add_argument("--quick", action="store_true")
    ap.add_argument("--only", default="tls,log,latency,bulk,idle,dns,loris")
    ap.add_argument("--limit", type=int, default=180)
    args = ap.parse_args()
    secs, count, rules = (1, 2000, 10000) if args.quick else (
        4, min(10000, conf.MAXCONN - 400), 1000000)
    limit = args.limit
    os.makedirs(DIR, exist_ok=True)
    sink = subprocess.Popen(["taskset", "-c", "1", EB, "sink", conf.SINK,
                             str(conf.PORT)])
    parts = {"tls": lambda t: tls(t, secs, limit, False),
             "log": lambda t: tls(t, secs, limit, True),
             "latency": lambda t: latency(t, secs, limit, i),
             "bulk": lambda t: bulk(t, secs, limit),
             "idle": lambda t: idle(t, count, limit),
             "dns": lambda t: dns(t, secs, limit),
             "loris": lambda t: loris(t, secs, count, rules, limit)}
    t = Table()
    try:
        for i in range(args.n):
            for part in args.only.split(","):
                print(f"# round {i + 1} of {args.n}: {part}", file=sys.stderr)
                if part in ("idle", "loris") and i >= 3:
                    continue  # these hardly vary, and take long
                parts[part](t)
    finally:
        sink.kill()
    print(t.show(AIMS))
    sys.exit(bool(procs.hung))


if __name__ == "__main__":
    main()
