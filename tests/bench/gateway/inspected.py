#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""inspected.py - the inspecting gateway's bench; runs inside the container

Beside squid with ssl-bump (HTTP/1.1 alone, by CONNECT) and nginx as a TLS
reverse proxy, the same way as run.py: candidates on processor 0, load (h2load)
and server on processor 1, turns within each round, medians over the rounds.
Everything is verified towards the server, and nothing is cached. Squid is
reached through a small CONNECT shim on processor 1, since h2load knows no
proxies: its processor time is right, its latency would be the shim's, and is
left out.
"""
import argparse
import os
import re
import select
import signal
import socket
import ssl
import statistics
import struct
import subprocess
import sys
import threading
import time

import conf
import run
from run import DIR, Table, cpu_seconds, sh

HOST = "a.test"
PORTS = {"gate": 8462, "nginx": 8464, "squid": 8468}
SHIM = 8469
EVENTS = 8465  # of the server: a stream of events
EVENTS_GATE, EVENTS_NGINX = 8472, 8474

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
    listen {sink}:{port} ssl http2 backlog=4096;
    ssl_certificate {dir}/server.crt; ssl_certificate_key {dir}/server.key;
    location / {{ return 200 "{body}"; }}
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
  access_log off; keepalive_requests 100000000; keepalive_timeout 1h;
  ssl_certificate {dir}/server.crt; ssl_certificate_key {dir}/server.key;
  proxy_http_version 1.1; proxy_set_header Connection "";
  proxy_ssl_verify on; proxy_ssl_trusted_certificate {dir}/root.crt;
  proxy_ssl_name a.test; proxy_ssl_server_name on; proxy_set_header Host $host;
  proxy_buffering off;
  upstream web {{ server {sink}:{port}; keepalive 256;
    keepalive_requests 100000000; }}
  upstream events {{ server {sink}:{events}; }}
  server {{ listen {gate}:8464 ssl http2 backlog=4096;
    location / {{ proxy_pass https://web; }} }}
  server {{ listen {gate}:{events_nginx} ssl;
    location / {{ proxy_pass https://events; }} }}
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
access_log none
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
  ports: [{port}, {events}]
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
NAMES = 2000  # for the mint: each is asked for once a gateway


def many():
    return [f"n{i}.test" for i in range(NAMES)]


def write(name, text):
    path = f"{DIR}/{name}"
    with open(path, "w") as f:
        f.write(text)
    return path


def certificates():
    """A root, and the server's certificate by it with all names."""
    names = ",".join("DNS:" + n for n in [HOST] + many())
    quiet = {"stderr": subprocess.DEVNULL}
    write("san.cnf", f"subjectAltName={names}\nbasicConstraints=CA:FALSE\n")
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


def fill(text):
    return conf.fill(text, dir=DIR, events=EVENTS, body="x" * 100,
                     events_nginx=EVENTS_NGINX)


# --- candidates ---------------------------------------------------------------

class Candidate:
    def __init__(self, name):
        self.name, self.port = name, PORTS[name]
        self.out = open(f"{DIR}/{name}.out", "w")
        argv = getattr(self, name)()
        self.proc = subprocess.Popen(["taskset", "-c", "0"] + argv,
                                     stdout=self.out, stderr=subprocess.STDOUT)
        run.wait_port(self.port, self.proc)
        self.pid = self.proc.pid
        if name == "gate":
            self.admin("good")
        self.load_port = SHIM if name == "squid" else self.port

    def gate(self):
        names = many()
        text = conf.fill(POLICY, events=EVENTS, client=conf.CLIENT,
                         limits=conf.LIMITS,
                         names="".join(", " + n for n in names),
                         hosts="".join(f"  {n}: [{conf.SINK}]\n"
                                       for n in names))
        return ["/usr/sbin/ottergate", "run", "--policy",
                write("inspected.yaml", text), "--admin",
                f"{DIR}/gate.sock", "--listen", conf.GATE, "--workers", "1",
                "--dns-port", "0", "--transparent-port", "0", "--proxy-port",
                "0", "--roots", f"{DIR}/root.crt", "--fixed",
                f"{PORTS['gate']}:{conf.PORT}", "--fixed",
                f"{EVENTS_GATE}:{EVENTS}"]

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

    def nginx(self):
        return ["nginx", "-c", write("reverse.conf", fill(NGINX))]

    def squid(self):
        write("hosts", "".join(f"{conf.SINK} {n}\n" for n in [HOST] + many()))
        return ["squid", "-N", "-f", write("squid.conf", fill(SQUID))]

    def stop(self):
        self.proc.send_signal(signal.SIGTERM)
        try:
            self.proc.wait(10)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()
        self.out.close()


# --- load ---------------------------------------------------------------------

def h2load(port, h1, clients, streams, secs, addr=conf.GATE):
    """Requests done, and their times in microseconds."""
    log = f"{DIR}/h2load.log"
    if os.path.exists(log):
        os.unlink(log)
    argv = ["taskset", "-c", "1", "h2load", "-t", "1", "-c", str(clients),
            "-m", str(streams), "-D", str(secs), f"--log-file={log}",
            f"--connect-to={addr}:{port}", f"https://{HOST}:{conf.PORT}/"]
    if h1:
        argv.insert(4, "--h1")
    text = subprocess.run(argv, check=True, stdout=subprocess.PIPE,
                          text=True).stdout
    m = re.search(r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx",
                  text)
    good = int(m.group(1))
    if good == 0 or any(int(m.group(i)) for i in (2, 3, 4)):
        sys.exit(f"h2load: {text}")
    with open(log) as f:
        times = [int(line.split("\t")[2]) for line in f]
    return good, times


def requests(t, secs):
    for h1 in (True, False):
        proto = "HTTP/1.1" if h1 else "HTTP/2"
        for name in ["gate", "nginx"] + (["squid"] if h1 else []):
            c = Candidate(name)
            streams = 1 if h1 else 10
            h2load(c.load_port, h1, 16, streams, 1)
            before = cpu_seconds(c.pid)
            n, _ = h2load(c.load_port, h1, 16, streams, secs)
            used = cpu_seconds(c.pid) - before
            t.add(f"requests per CPU second, {proto} (more is better)", name,
                  n / used)
            c.stop()


def latency(t, secs):
    for h1 in (True, False):
        proto = "HTTP/1.1" if h1 else "HTTP/2"
        for name in ("gate", "nginx"):
            c = Candidate(name)
            _, plain = h2load(conf.PORT, h1, 1, 1, secs, conf.SINK)
            _, through = h2load(c.load_port, h1, 1, 1, secs)
            t.add(f"p50 µs added to a request, {proto}", name,
                  statistics.median(through) - statistics.median(plain))
            c.stop()


def client_context():
    ctx = ssl.create_default_context()
    ctx.check_hostname = False
    ctx.verify_mode = ssl.CERT_NONE
    return ctx


def handshakes(c, names):
    """CPU seconds of the candidate for a connection to each of @names."""
    ctx = client_context()
    before = cpu_seconds(c.pid)
    for n in names:
        s = socket.create_connection((conf.GATE, c.load_port), 10)
        ctx.wrap_socket(s, server_hostname=n).close()
    return cpu_seconds(c.pid) - before


def mint(t, _secs):
    """Names that are new, less what connections to one name cost."""
    c = Candidate("gate")
    handshakes(c, [HOST] * 100)
    one = handshakes(c, [HOST] * NAMES)
    new = handshakes(c, many())
    t.add("leaves signed per CPU second (more is better)", "gate",
          NAMES / max(new - one, 1 / run.TICK))
    c.stop()


# --- events -------------------------------------------------------------------

def serve_events():
    """A TLS server: an event each 10 ms, which says when it was sent."""
    ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ctx.load_cert_chain(f"{DIR}/server.crt", f"{DIR}/server.key")
    listener = socket.create_server((conf.SINK, EVENTS))

    def serve(s):
        try:
            s = ctx.wrap_socket(s, server_side=True)
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
    s = socket.create_connection((addr, port), 10)
    s = client_context().wrap_socket(s, server_hostname=HOST)
    s.sendall(f"GET / HTTP/1.1\r\nHost: {HOST}:{EVENTS}\r\n\r\n".encode())
    end, late = time.monotonic() + secs, []
    while time.monotonic() < end:
        data, now = s.recv(65536), time.monotonic_ns()
        if not data:
            sys.exit(f"events by {addr}:{port} ended")
        late += [(now - int(sent)) / 1000
                 for sent in re.findall(rb"data: (\d+)\n", data)]
    s.close()
    return statistics.median(late)


def events(t, secs):
    for name, port in (("gate", EVENTS_GATE), ("nginx", EVENTS_NGINX)):
        c = Candidate(name)
        plain = events_read(conf.SINK, EVENTS, secs)
        t.add("µs added to an event of a stream", name,
              events_read(conf.GATE, port, secs) - plain)
        c.stop()


# --- the shim before squid ----------------------------------------------------

def pipe(a, b):
    both = {a: b, b: a}
    try:
        while True:
            for s in select.select(list(both), [], [])[0]:
                data = s.recv(65536)
                if not data:
                    return
                both[s].sendall(data)
    except OSError:
        pass
    finally:
        a.close()
        b.close()


def serve_shim():
    listener = socket.create_server((conf.GATE, SHIM))
    while True:
        a, _ = listener.accept()
        b = socket.create_connection((conf.GATE, PORTS["squid"]))
        b.sendall(f"CONNECT {HOST}:{conf.PORT} HTTP/1.1\r\n"
                  f"Host: {HOST}:{conf.PORT}\r\n\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += b.recv(1) or sys.exit("squid: no CONNECT")
        threading.Thread(target=pipe, args=(a, b), daemon=True).start()


AIMS = {"requests per CPU second, HTTP/1.1 (more is better)": "≥ 1.2",
        "requests per CPU second, HTTP/2 (more is better)": "≥ 1.2",
        "p50 µs added to a request, HTTP/1.1": "≤ 1000 µs",
        "p50 µs added to a request, HTTP/2": "≤ 1000 µs",
        "leaves signed per CPU second (more is better)": "≥ 3000",
        "µs added to an event of a stream": "≤ 1000 µs"}
PARTS = {"requests": requests, "latency": latency, "mint": mint,
         "events": events}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("-n", type=int, default=5)
    ap.add_argument("--quick", action="store_true")
    ap.add_argument("--only", default=",".join(PARTS))
    args = ap.parse_args()
    secs = 1 if args.quick else 4
    os.makedirs(DIR, exist_ok=True)
    certificates()
    os.sched_setaffinity(0, {1})
    server = subprocess.Popen(["nginx", "-c",
                               write("server.conf", fill(SERVER))])
    for serve in (serve_events, serve_shim):
        threading.Thread(target=serve, daemon=True).start()
    t = Table()
    try:
        for i in range(args.n):
            for part in args.only.split(","):
                print(f"# round {i + 1} of {args.n}: {part}", file=sys.stderr)
                PARTS[part](t, secs)
    finally:
        server.terminate()
    print(t.show(AIMS))


if __name__ == "__main__":
    main()
