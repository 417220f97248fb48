#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""inspected.py - the inspecting gateway's bench; runs inside the container

Beside squid with ssl-bump (HTTP/1.1 alone, by CONNECT) and nginx as a TLS
reverse proxy, the same way as run.py: candidates on processor 0, load (h2load)
and server on processor 1, turns within each round, medians over the rounds.
Everything is verified towards the server, and nothing is cached; one cipher
for all, connections are kept on both sides, answers are of 2 KiB. Squid is
reached through a small CONNECT shim (shim.c) on processor 1, since h2load
knows no proxies: its processor time is right, its latency would be the
shim's, and is left out.
"""
import argparse
import os
import re
import socket
import ssl
import statistics
import struct
import subprocess
import sys
import threading
import time

import conf
import procs
import run
from h2 import PREFACE, frame, literal
from procs import cpu_seconds, pss_kib, sh
from run import DIR, Table

HOST = "a.test"
PORTS = {"gate": 8462, "nginx": 8464, "squid": 8468}
SHIM = 8469
EVENTS = 8465  # of the server behind the server: a stream of events

SERVER = """
worker_processes 1;
worker_rlimit_nofile {files};
daemon off;
pid {dir}/server.pid;
error_log {dir}/server.err crit;
events {{ worker_connections 4096; }}
http {{
  access_log off; keepalive_requests 100000000; keepalive_timeout 1h;
  server {{
    listen {sink}:{port} ssl backlog=4096; http2 on;
    ssl_certificate {dir}/server.crt; ssl_certificate_key {dir}/server.key;
    location / {{ return 200 "{body}"; }}
    location = /large {{ root {dir}; }}
    location /events {{ proxy_pass http://127.0.0.1:{events};
      proxy_buffering off; tcp_nodelay on; }}
  }}
}}
"""

NGINX = """
worker_processes 1;
worker_rlimit_nofile {files};
daemon off;
pid {dir}/reverse.pid;
error_log {dir}/reverse.err crit;
events {{ worker_connections 4096; }}
http {{
  log_format line '$remote_addr $time_iso8601 $host "$request" $status '
                  '$bytes_sent $request_length $request_time';
  {log}
  keepalive_requests 100000000; keepalive_timeout 1h;
  ssl_certificate {dir}/server.crt; ssl_certificate_key {dir}/server.key;
  proxy_http_version 1.1; proxy_set_header Connection "";
  proxy_ssl_verify on; proxy_ssl_trusted_certificate {dir}/root.crt;
  proxy_ssl_name a.test; proxy_ssl_server_name on; proxy_set_header Host $host;
  proxy_buffering off;
  upstream web {{ server {sink}:{port}; keepalive 256;
    keepalive_requests 100000000; }}
  server {{ listen {gate}:8464 ssl backlog=4096; http2 on;
    location / {{ proxy_pass https://web; }} }}
}}
"""

SQUID = """
visible_hostname eb
http_port {gate}:8468 ssl-bump tls-cert={dir}/ca.pem generate-host-certificates=on dynamic_cert_mem_cache_size=64MB
tls_outgoing_options cafile={dir}/root.crt
acl CONNECT method CONNECT
acl okd dstdomain .test
http_access allow okd
http_access deny all
ssl_bump bump all
cache deny all
cache_mem 8 MB
hosts_file {dir}/hosts
access_log {log}
cache_log {dir}/squid.log
pid_filename {dir}/squid.pid
max_filedescriptors {files}
shutdown_lifetime 1 seconds
cache_effective_user proxy
sslcrtd_program /usr/lib/squid/security_file_certgen -s {dir}/ssldb -M 64MB
sslcrtd_children 1 startup=1
"""

POLICY = """
version: 1
defaults:
  ports: [{port}]
  timeouts: {{ connect: 5s, idle: 1h, tunnel_max: 12h }}
hosts:
  a.test: [{sink}]
{hosts}
agents:
  - id: good
    match: {{ address: {client} }}
    allow:
      - {{ id: web, names: [a.test{names}], use: inspect }}
    limits: {limits}
"""
CIPHER = "TLS_AES_256_GCM_SHA384"
BODY = 2048
NAMES = 1000  # for the mint
WIDE = 287  # connections
NOBODY = "198.51.100.11"  # is not there


def many():
    return [f"n{i}.m.test" for i in range(NAMES)]


def write(name, text):
    path = f"{DIR}/{name}"
    with open(path, "w") as f:
        f.write(text)
    return path


def certificates():
    """A root, and the server's certificate by it."""
    quiet = {"stderr": subprocess.DEVNULL}
    write("san.cnf", f"subjectAltName=DNS:{HOST},DNS:*.m.test\n"
          "basicConstraints=CA:FALSE\n")
    sh("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
       "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{DIR}/root.key",
       "-out", f"{DIR}/root.crt", "-subj", "/CN=bench", "-days", "2", **quiet)
    sh("openssl", "req", "-newkey", "ec", "-pkeyopt",
       "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{DIR}/server.key",
       "-out", f"{DIR}/server.csr", "-subj", "/CN=a.test", **quiet)
    sh("openssl", "x509", "-req", "-in", f"{DIR}/server.csr", "-CA",
       f"{DIR}/root.crt", "-CAkey", f"{DIR}/root.key", "-days", "2",
       "-extfile", f"{DIR}/san.cnf", "-out", f"{DIR}/server.crt", **quiet)
    sh("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout",
       f"{DIR}/ca.key", "-out", f"{DIR}/ca.crt", "-subj", "/CN=squid",
       "-days", "2", **quiet)
    write("ca.pem", open(f"{DIR}/ca.key").read() +
          open(f"{DIR}/ca.crt").read())
    sh("/usr/lib/squid/security_file_certgen", "-c", "-s", f"{DIR}/ssldb",
       "-M", "64MB", stdout=subprocess.DEVNULL)
    sh("chmod", "-R", "a+rwX", DIR)


def fill(text, log=""):
    return conf.fill(text, dir=DIR, events=EVENTS, body="x" * BODY, log=log)


# --- candidates ---------------------------------------------------------------

class Candidate:
    """A running proxy; log: with its access log or audit on."""

    def __init__(self, name, log=False):
        self.name, self.port = name, PORTS[name]
        self.out = open(f"{DIR}/{name}.out", "w")
        argv = getattr(self, name)(log)
        self.proc = procs.start(["taskset", "-c", "0"] + argv,
                                stdout=self.out, stderr=subprocess.STDOUT)
        run.wait_port(self.port, self.proc)
        self.pid = self.proc.pid
        if name == "gate":
            self.admin("good")
        self.load_port = SHIM if name == "squid" else self.port

    def gate(self, log):
        names = many()
        text = conf.fill(POLICY, client=conf.CLIENT, limits=conf.LIMITS,
                         names=', .m.test',
                         hosts="".join(f"  {n}: [{NOBODY}]\n"
                                       for n in names))
        argv = ["/usr/sbin/ottergate", "run", "--policy",
                write("inspected.yaml", text), "--admin",
                f"{DIR}/gate.sock", "--listen", conf.GATE, "--workers", "1",
                "--dns-port", "0", "--transparent-port", "0", "--proxy-port",
                "0", "--roots", f"{DIR}/root.crt", "--fixed",
                f"{PORTS['gate']}:{conf.PORT}"]
        if log:
            os.makedirs(f"{DIR}/audit", exist_ok=True)
            argv += ["--audit", f"{DIR}/audit/audit.jsonl"]
        return argv

    def admin(self, agent):
        """ADMIN_CA: has the sandbox's authority made."""
        body = struct.pack(">BI", int(os.environ["ADMIN_CA"]), len(agent))
        body += agent.encode() + struct.pack(">I", 0)
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(f"{DIR}/gate.sock")
            s.sendall(struct.pack(">I", len(body)) + body)
            got = b""
            while chunk := s.recv(65536):
                got += chunk
        if b"BEGIN CERTIFICATE" not in got:
            sys.exit(f"gate: no CA: {got!r}")

    def nginx(self, log):
        return ["nginx", "-c", write("reverse.conf", fill(
            NGINX, f"access_log {DIR}/nginx.log line buffer=64k flush=1s;"
            if log else "access_log off;"))]

    def squid(self, log):
        write("hosts", f"{conf.SINK} {HOST}\n")
        return ["squid", "-N", "-f", write("squid.conf", fill(
            SQUID, f"{DIR}/squid-access.log" if log else "none"))]

    def stop(self):
        procs.end(self.proc)
        self.out.close()


# --- load ---------------------------------------------------------------------

def h2load(port, h1, clients, streams, secs, addr=conf.GATE, times=False,
           pid=None):
    """Requests done, per CPU second of @pid; with times: what each took, in
    microseconds."""
    log = f"{DIR}/h2load.log"
    if os.path.exists(log):
        os.unlink(log)
    argv = ["taskset", "-c", "1", "h2load", "-t", "1", "-c", str(clients),
            "-m", str(streams), "-D", str(secs), f"--tls13-ciphers={CIPHER}",
            f"--connect-to={addr}:{port}"]
    if h1:
        argv.append("--h1")
    if times:
        argv.append(f"--log-file={log}")
    argv.append(f"https://{HOST}:{conf.PORT}/")
    # A busy machine may leave it no time in the first.
    for _ in range(3):
        before = cpu_seconds(pid) if pid else 0
        load = procs.start(argv, stdout=subprocess.PIPE, text=True)
        try:
            text = load.communicate(timeout=secs + 15)[0]
        except subprocess.TimeoutExpired:
            raise procs.Hung(f"no end of {' '.join(argv)}") from None
        procs.started.remove(load)
        m = re.search(r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, "
                      r"(\d+) 5xx", text)
        good, *bad = (int(s) for s in m.groups()) if m else (0, 1)
        if good or any(bad):
            break
    if good == 0 or any(bad):
        sys.exit(f"h2load: {text}")
    if pid:
        return good / (cpu_seconds(pid) - before)
    if not times:
        return good
    with open(log) as f:
        return [int(line.split("\t")[2]) for line in f]


def requests(t, secs, limit, log=False):
    for h1 in (True, False):
        row = "requests per CPU second, {}, log {} (more is better)".format(
            "HTTP/1.1" if h1 else "HTTP/2", "on" if log else "off")

        def turn(name):
            c = Candidate(name, log)
            streams = 1 if h1 else 10
            h2load(c.load_port, h1, 16, streams, 1)
            t.add(row, name,
                  h2load(c.load_port, h1, 16, streams, secs, pid=c.pid))
            c.stop()

        procs.each(row, ["gate", "nginx"] + (["squid"] if h1 else []), limit,
                   turn)


def latency(t, secs, limit):
    for h1 in (True, False):
        row = f"p50 µs added to a request, {'HTTP/1.1' if h1 else 'HTTP/2'}"

        def turn(name):
            c = Candidate(name)
            h2load(c.load_port, h1, 1, 1, 1)
            plain = h2load(conf.PORT, h1, 1, 1, secs, conf.SINK, True)
            through = h2load(c.load_port, h1, 1, 1, secs, times=True)
            t.add(row, name, statistics.median(through) -
                  statistics.median(plain))
            c.stop()

        procs.each(row, ("gate", "nginx"), limit, turn)


# --- connections --------------------------------------------------------------

def client_context():
    ctx = ssl.create_default_context()
    ctx.check_hostname = False
    ctx.verify_mode = ssl.CERT_NONE
    return ctx


CONTEXT = client_context()


def ask(port, name, path="/", addr=conf.GATE):
    """A connection whose first request was answered."""
    s = socket.create_connection((addr, port), 10)
    s = CONTEXT.wrap_socket(s, server_hostname=name)
    s.sendall(f"GET {path} HTTP/1.1\r\nHost: {name}:{conf.PORT}\r\n\r\n"
              .encode())
    if not s.recv(65536).startswith(b"HTTP/1.1 200"):
        sys.exit(f"{name} by {port}: no answer")
    return s


def connections(t, count, limit):
    """One request each: a handshake on either side, as far as the candidate
    makes one."""
    def turn(name):
        c = Candidate(name)
        for part in (count // 10, count):
            before = cpu_seconds(c.pid)
            for _ in range(part):
                ask(c.load_port, HOST).close()
        t.add("CPU µs per connection with one request", name,
              (cpu_seconds(c.pid) - before) * 1e6 / count)
        c.stop()

    procs.each("connections", ("gate", "nginx", "squid"), limit, turn)


def idle(t, count, limit):
    def turn(name):
        c = Candidate(name)
        ask(c.load_port, HOST).close()
        before = pss_kib(c.pid)
        held = [ask(c.load_port, HOST) for _ in range(count)]
        t.add("PSS MiB per 1,000 connections that wait", name,
              (pss_kib(c.pid) - before) / 1024 * 1000 / count)
        for s in held:
            s.close()
        c.stop()

    procs.each("idle connections", ("gate", "nginx", "squid"), limit, turn)


def ask_wide(port):
    """HTTP/2: asks four times for what is large, with windows of 2^31 - 1
    octets, and reads none of it."""
    ctx = client_context()
    ctx.set_alpn_protocols(["h2"])
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.settimeout(10)
    s.connect((conf.GATE, port))
    s = ctx.wrap_socket(s, server_hostname=HOST)
    head = (b"\x82\x87" + literal(4, b"/large") +
            literal(1, f"{HOST}:{conf.PORT}".encode()))
    widest = 2**31 - 1
    s.sendall(PREFACE +
              frame(4, 0, 0, struct.pack(">HI", 4, widest)) +
              frame(8, 0, 0, struct.pack(">I", widest - 65535)) +
              b"".join(frame(1, 5, stream, head) for stream in (1, 3, 5, 7)))
    return s


def windows(t, limit):
    """What those hold who take all that HTTP/2 may give them."""
    with open(f"{DIR}/large", "wb") as f:
        f.write(os.urandom(8 << 20))
    os.chmod(f"{DIR}/large", 0o644)

    def turn(name):
        c = Candidate(name)
        ask(c.load_port, HOST).close()
        before, most = pss_kib(c.pid), 0
        held, refused = [], 0
        for _ in range(WIDE):
            try:
                held.append(ask_wide(c.load_port))
            except OSError:  # who holds too much gets no more
                refused += 1
        for _ in range(40):
            time.sleep(0.2)
            most = max(most, pss_kib(c.pid))
        for s in held:
            s.close()
        time.sleep(5)
        t.add(f"PSS MiB, {WIDE} connections with wide windows, none read",
              name, (most - before) / 1024)
        t.add("of these, refused", name, refused)
        t.add("PSS MiB 5 s after they ended", name,
              (pss_kib(c.pid) - before) / 1024)
        c.stop()

    procs.each("wide windows", ("gate", "nginx"), limit, turn)


def hello(name):
    """A ClientHello for @name."""
    out = ssl.MemoryBIO()
    tls = CONTEXT.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name)
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


def greet(c, name):
    """Until the first bytes of the handshake: they come with the leaf."""
    with socket.create_connection((conf.GATE, c.load_port), 10) as s:
        s.sendall(hello(name))
        if s.recv(5)[:1] != b"\x16":
            sys.exit(f"{name}: no handshake")


def mint(t, count, limit):
    """Names that are new, less what those are that have a leaf; in turns, and
    to a server that is not there, so that little else is done."""
    def turn(name):
        c = Candidate(name)
        names, used, step = many()[:count], {True: 0.0, False: 0.0}, 50
        for _ in range(step):
            greet(c, names[0])
        for i in range(0, count, step):
            part = names[i:i + step]
            for new in (True, False):
                before = cpu_seconds(c.pid)
                for n in part:
                    greet(c, n)
                used[new] += cpu_seconds(c.pid) - before
        t.add("leaves signed per CPU second (more is better)", name,
              count / max(used[True] - used[False], 1e-6))
        c.stop()

    procs.each("leaves", ["gate"], limit, turn)


# --- events -------------------------------------------------------------------

def serve_events():
    """A server: an event each 10 ms, which says when it was sent."""
    listener = socket.create_server(("127.0.0.1", EVENTS))

    def serve(s):
        try:
            s.recv(65536)
            s.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream"
                      b"\r\nConnection: close\r\n\r\n")
            while True:
                time.sleep(0.01)
                s.sendall(b"data: %d\n\n" % time.monotonic_ns())
        except OSError:
            pass

    while True:
        s, _ = listener.accept()
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=serve, args=(s,), daemon=True).start()


def events_read(addr, port, secs):
    """Median microseconds from an event's sending to its arrival."""
    s = ask(port, HOST, "/events", addr)
    end, late = time.monotonic() + secs, []
    while time.monotonic() < end:
        data, now = s.recv(65536), time.monotonic_ns()
        if not data:
            sys.exit(f"events by port {port} ended")
        late += [(now - int(sent)) / 1000
                 for sent in re.findall(rb"data: (\d+)\n", data)]
    s.close()
    return statistics.median(late)


def events(t, secs, limit):
    def turn(name):
        c = Candidate(name)
        plain = events_read(conf.SINK, conf.PORT, secs)
        t.add("µs added to an event of a stream", name,
              events_read(conf.GATE, c.load_port, secs) - plain)
        c.stop()

    procs.each("events", ("gate", "nginx"), limit, turn)


AIMS = {"requests per CPU second, HTTP/1.1, log off (more is better)": "≥ 1.2",
        "requests per CPU second, HTTP/2, log off (more is better)": "≥ 1.2",
        "p50 µs added to a request, HTTP/1.1": "≤ 1000 µs",
        "p50 µs added to a request, HTTP/2": "≤ 1000 µs",
        "leaves signed per CPU second (more is better)": "≥ 3000",
        "µs added to an event of a stream": "≤ 1000 µs",
        f"PSS MiB, {WIDE} connections with wide windows, none read": "≤ 64"}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("-n", type=int, default=3)
    ap.add_argument("--quick", action="store_true")
    ap.add_argument("--only", default="requests,logged,latency,mint,events,"
                                      "connections,idle,windows")
    ap.add_argument("--limit", type=int, default=180)
    args = ap.parse_args()
    secs, count = (1, 200) if args.quick else (3, 500)
    limit = args.limit
    parts = {"requests": lambda t: requests(t, secs, limit),
             "logged": lambda t: requests(t, secs, limit, True),
             "latency": lambda t: latency(t, secs, limit),
             "mint": lambda t: mint(t, NAMES if secs > 1 else 300, limit),
             "events": lambda t: events(t, secs, limit),
             "connections": lambda t: connections(t, count, limit),
             "idle": lambda t: idle(t, count, limit),
             "windows": lambda t: windows(t, limit)}
    os.makedirs(DIR, exist_ok=True)
    certificates()
    os.sched_setaffinity(0, {1})
    helpers = [
        subprocess.Popen(["nginx", "-c", write("server.conf", fill(SERVER))]),
        subprocess.Popen([f"{DIR}/shim", conf.GATE, str(SHIM),
                          str(PORTS["squid"]), f"{HOST}:{conf.PORT}"])]
    threading.Thread(target=serve_events, daemon=True).start()
    t = Table()
    try:
        for i in range(1 if args.quick else args.n):
            for part in args.only.split(","):
                print(f"# round {i + 1}: {part}", file=sys.stderr)
                parts[part](t)
    finally:
        for p in helpers:
            p.terminate()
    print(t.show(AIMS))
    sys.exit(bool(procs.hung))


if __name__ == "__main__":
    main()
