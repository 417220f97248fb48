#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""neighbour.py - what one sandbox does to another; inside the bench container

A quiet sandbox opens tunnels at a fixed rate while another does its worst. Its
p99 is compared with its p99 beside processes that say nothing and burn the same
processor time at the same places: on processor 0, where the gateway's one worker
is, what the attack made the gateway use, on processor 1 what the attack itself
used. The load that is measured, and its server, have a higher priority than
either, so that what is compared is the gateway. All figures of an attack are
taken in turns, and the table has medians.
"""
import argparse
import json
import multiprocessing
import os
import signal
import socket
import ssl
import statistics
import struct
import subprocess
import sys
import time

import conf
import procs
import run
from h2 import PREFACE, frame, literal
from procs import cpu_seconds, sh
from run import DIR, EB

GATE = os.environ.get("AC_OTTERGATE", "/usr/sbin/ottergate")
INSPECTED = "198.51.100.12"
QUIET = "198.51.100.13"  # the neighbour's, so that no server is shared
RATE = 200
NICE, NICE_LOAD = 0, -10
PORT_GATE, PORT_DNS = 8472, 5303
AIM = 3.0

POLICY = """
version: 1
defaults:
  ports: [{port}]
  timeouts: {{ connect: 5s, idle: 1h, tunnel_max: 12h }}
hosts:
  a.test: [{quiet}]
  bulk.test: [{sink}]
  i.test: [{inspected}]
agents:
  - id: bad
    match: {{ address: {client} }}
    allow:
      - {{ id: bulk, names: [bulk.test], use: tunnel }}
      - {{ id: web, names: [i.test], use: inspect, paths: ["/ok/**"] }}
  - id: good
    match: {{ address: {slow} }}
    allow:
      - {{ id: test, names: [a.test], use: tunnel }}
"""


def write(name, text):
    path = f"{DIR}/{name}"
    with open(path, "w") as f:
        f.write(text)
    return path


def certificates():
    quiet = {"stderr": subprocess.DEVNULL}
    write("i.cnf", "subjectAltName=DNS:i.test\nbasicConstraints=CA:FALSE\n")
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    sh("openssl", "req", "-x509", *key, "-keyout", f"{DIR}/i-root.key",
       "-out", f"{DIR}/i-root.crt", "-subj", "/CN=bench", "-days", "2",
       **quiet)
    sh("openssl", "req", *key, "-keyout", f"{DIR}/i.key", "-out",
       f"{DIR}/i.csr", "-subj", "/CN=i.test", **quiet)
    sh("openssl", "x509", "-req", "-in", f"{DIR}/i.csr", "-CA",
       f"{DIR}/i-root.crt", "-CAkey", f"{DIR}/i-root.key", "-days", "2",
       "-extfile", f"{DIR}/i.cnf", "-out", f"{DIR}/i.crt", **quiet)


# --- the inspected server: it says nothing, no request reaches it -------------

def server(ready):
    ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ctx.load_cert_chain(f"{DIR}/i.crt", f"{DIR}/i.key")
    ctx.set_alpn_protocols(["h2", "http/1.1"])
    with socket.create_server((INSPECTED, conf.PORT), backlog=1024) as s:
        ready.set()
        kept = []
        while True:
            c, _ = s.accept()
            c.settimeout(2)
            try:
                c = ctx.wrap_socket(c, server_side=True)
                if c.selected_alpn_protocol() == "h2":
                    c.sendall(frame(4, 0, 0, b""))
            except OSError:
                continue
            kept = kept[-200:] + [c]


# --- attacks ------------------------------------------------------------------

def dial(alpn):
    """A connection of the bad sandbox to the inspected host."""
    ctx = ssl.create_default_context()
    ctx.check_hostname = False
    ctx.verify_mode = ssl.CERT_NONE
    ctx.set_alpn_protocols([alpn])
    s = socket.create_connection((conf.GATE, PORT_GATE), 5, (conf.CLIENT, 0))
    s = ctx.wrap_socket(s, server_hostname="i.test")
    s.settimeout(2)
    return s


HELLO = PREFACE + frame(4, 0, 0, b"")
HEAD = b"\x87" + literal(1, b"i.test:" + str(conf.PORT).encode())


def over_and_over(attack):
    while True:
        try:
            attack()
        except OSError:
            time.sleep(0.001)


def hpack():
    """A field of 3.9 KB, named 16,000 times in a head."""
    s = dial("h2")
    head = b"\x82\x84" + HEAD + literal(58, b"v" * 3900)
    s.sendall(HELLO)
    for stream in range(1, 100000, 2):
        s.sendall(frame(1, 0, stream, head + b"\xbe" * 12000) +
                  frame(9, 4, stream, b"\xbe" * 4000))
        if stream % 64 == 1:
            s.recv(65536)


def long_paths():
    """Requests with one indexed :path of 3.8 KB."""
    s = dial("h2")
    first = b"\x83" + HEAD + literal(4, b"/a" * 1900)
    s.sendall(HELLO)
    stream = 1
    while True:
        batch = b""
        for _ in range(50):
            batch += frame(1, 5, stream, first if stream == 1
                           else b"\x83" + HEAD + b"\xbf")
            stream += 2
        s.sendall(batch)
        s.recv(65536)


def segments():
    """HTTP/1.1, a path of 7.8 KB in segments of a letter."""
    s = dial("http/1.1")
    one = (b"GET " + b"/a" * 3900 + b" HTTP/1.1\r\nHost: i.test:" +
           str(conf.PORT).encode() + b"\r\n\r\n")
    while True:
        s.sendall(one * 4)
        if not s.recv(65536):
            return


def dns():
    """Questions, as fast as they can be said."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((conf.CLIENT, 0))
    s.connect((conf.GATE, PORT_DNS))
    q = bytes.fromhex("1234010000010000000000000161047465737400" "00010001")
    while True:
        try:
            s.send(q)
        except OSError:
            pass


def bulk():
    os.execv(EB, [EB, "bulk", conf.CLIENT, conf.GATE, str(PORT_GATE),
                  "bulk.test", "64", "3600"])


ATTACKS = {
    "an HPACK bomb": (hpack, 4),
    "long paths, HTTP/2": (long_paths, 4),
    "long paths, HTTP/1.1": (segments, 4),
    "a flood of DNS": (dns, 2),
    "64 bulk flows": (bulk, 1),
}


def burn(share):
    """So much of a processor, in pieces of 10 ms."""
    while True:
        end = time.thread_time() + 0.01 * share
        began = time.monotonic()
        while time.thread_time() < end:
            pass
        time.sleep(max(0, 0.01 - (time.monotonic() - began)))


# --- measuring ----------------------------------------------------------------

def start(cpu, nice, fn, *args):
    def go():
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.sched_setaffinity(0, {cpu})
        os.nice(nice)
        fn(*args)
    p = multiprocessing.Process(target=go, daemon=True)
    p.start()
    return p


def stop(procs):
    for p in procs:
        p.kill()
    for p in procs:
        p.join()


def p99(secs):
    r = json.loads(procs.output(
        ["nice", "-n", str(NICE_LOAD), "taskset", "-c", "1", EB, "open", conf.SLOW,
         conf.GATE, str(PORT_GATE), "a.test", str(RATE), str(secs)]))
    if r["errors"] > (r["n"] + r["errors"]) / 100:
        return float("inf")
    return r["p99_us"]


def gate_start():
    text = conf.fill(POLICY, client=conf.CLIENT, slow=conf.SLOW,
                     inspected=INSPECTED, quiet=QUIET)
    proc = subprocess.Popen(
        ["nice", "-n", str(NICE), "taskset", "-c", "0", GATE, "run", "--policy",
         write("neighbour.yaml", text), "--admin", f"{DIR}/n.sock",
         "--listen", conf.GATE, "--workers", "1", "--dns-port",
         str(PORT_DNS), "--transparent-port", "0", "--proxy-port", "0",
         "--roots", f"{DIR}/i-root.crt", "--fixed",
         f"{PORT_GATE}:{conf.PORT}"],
        stdout=open(f"{DIR}/neighbour.out", "w"), stderr=subprocess.STDOUT)
    run.wait_port(PORT_GATE, proc)
    body = struct.pack(">BI", int(os.environ["ADMIN_CA"]), 3) + b"bad" + \
        struct.pack(">I", 0)
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(f"{DIR}/n.sock")
        s.sendall(struct.pack(">I", len(body)) + body)
        if b"BEGIN CERTIFICATE" not in s.recv(65536):
            sys.exit("gate: no CA")
    return proc


def one_attack(t, secs, gate, alone, name):
    attack, n = ATTACKS[name]
    busy = [start(1, NICE, attack if attack is bulk else over_and_over,
                  *([] if attack is bulk else [attack])) for _ in range(n)]
    try:
        time.sleep(0.5)
        was = [cpu_seconds(gate.pid), sum(cpu_seconds(p.pid) for p in busy),
               time.monotonic()]
        beside = p99(secs)
        span = time.monotonic() - was[2]
        used = (cpu_seconds(gate.pid) - was[0]) / span
        theirs = (sum(cpu_seconds(p.pid) for p in busy) - was[1]) / span
    finally:
        stop(busy)
    busy = [start(0, NICE, burn, min(used, 1.0))]
    busy += [start(1, NICE, burn, min(theirs, 1.0) / n) for _ in range(n)]
    try:
        time.sleep(0.5)
        silent = p99(secs)
    finally:
        stop(busy)
    t.setdefault(name, []).append((alone, beside, silent, used))
    print(f"# {name}: {beside} beside, {silent} silent, {alone} alone; "
          f"{used:.2f} of a core", file=sys.stderr)


def one_round(t, secs, only, limit):
    gate = gate_start()
    try:
        alone = []
        procs.each("alone", ["a neighbour"], limit,
                   lambda _: alone.append(p99(secs)))
        names = [name for name in ATTACKS if alone and
                 (not only or any(word in name for word in only))]
        procs.each("neighbours", names, limit,
                   lambda name: one_attack(t, secs, gate, alone[0], name))
    finally:
        gate.terminate()
        gate.wait()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("-n", type=int, default=5)
    ap.add_argument("--quick", action="store_true")
    ap.add_argument("--only", type=lambda s: s.split(","))
    ap.add_argument("--limit", type=int, default=180)
    args = ap.parse_args()
    os.makedirs(DIR, exist_ok=True)
    certificates()
    for addr in (INSPECTED, QUIET):
        sh("ip", "route", "replace", "local", f"{addr}/32", "dev", "lo")
    ready = multiprocessing.Event()
    servers = [start(1, NICE, server, ready)]
    ready.wait(10)
    sinks = [subprocess.Popen(["nice", "-n", str(nice), "taskset", "-c", "1",
                               EB, "sink", addr, str(conf.PORT)])
             for addr, nice in ((conf.SINK, NICE), (QUIET, NICE_LOAD))]
    t = {}
    try:
        for _ in range(args.n):
            one_round(t, 2 if args.quick else 5, args.only, args.limit)
    finally:
        stop(servers)
        for sink in sinks:
            sink.kill()
    print("| p99 of a neighbour's new tunnels, beside | times that beside a "
          "silent process of the same CPU | times that alone | cores of the "
          "gateway | aim |\n| --- | --- | --- | --- | --- |")
    for name, rows in t.items():
        ratio = statistics.median(r[1] / r[2] for r in rows)
        alone = statistics.median(r[1] / r[0] for r in rows)
        used = statistics.median(r[3] for r in rows)
        print(f"| {name} | **{ratio:.2f}** | {alone:.2f} | {used:.2f} | "
              f"≤ {AIM:.0f} |")
    sys.exit(bool(procs.hung))


if __name__ == "__main__":
    main()
