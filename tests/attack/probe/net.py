# SPDX-License-Identifier: Apache-2.0
"""net.py - how a probe reaches for the outside, and what comes of it

An outcome is one word:
    open     a server of the world answered; detail says which
    denied   the gateway said no, in words of the protocol
    closed   the connection ended without a word
    refused  no connection at all, but an answer: a reset, an ICMP error
    dropped  no answer of any kind
    blocked  the kernel of the sandbox did not let the probe try
    hung     connected, and then nothing
"""
import errno
import fcntl
import hashlib
import json
import os
import socket
import struct
import threading
import time

GATEWAY = "172.20.0.53"
SINK = "198.51.100.200"
PROXY_PORT = 3128
MIRROR_PORT = 8443
PATIENCE = 9.0  # seconds until something is said to hang
SILENCE = 1.5  # seconds until a packet is said to be dropped

BLOCKED = (errno.EPERM, errno.EACCES, errno.EPROTONOSUPPORT, errno.EINVAL,
           errno.ESOCKTNOSUPPORT, errno.EAFNOSUPPORT, errno.ENOSYS,
           errno.ENOPROTOOPT, errno.EOPNOTSUPP, errno.ENODEV, errno.ENOENT)
SILENT = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ETIMEDOUT,
          errno.EADDRNOTAVAIL)


# Our ends have ports of their own, each used once by all probes of a sandbox:
# the kernel reuses one for two places at a time, and the redirection would have
# to give one of them another, which the audit then has; and to the same place it
# has EADDRNOTAVAIL while the connection before waits out its time. They are below
# those that a kernel picks itself, gVisor's from 16000 on.
PORTS = range(2000, 16000)
PORT_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), ".port")
pacing = threading.Lock()
PACE = 0.008  # seconds between two connections: below the limit


def next_port():
    fd = os.open(PORT_FILE, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        n = int(os.read(fd, 16) or b"0")
        os.pwrite(fd, b"%-16d" % (n + 1), 0)
    finally:
        os.close(fd)
    return PORTS[n % len(PORTS)]


class Verdict(Exception):
    def __init__(self, outcome, detail=""):
        super().__init__(outcome)
        self.outcome = outcome
        self.detail = detail


def of_error(e):
    if isinstance(e, TimeoutError):
        return Verdict("dropped", "timeout")
    name = errno.errorcode.get(e.errno, str(e))
    if e.errno in BLOCKED:
        return Verdict("blocked", name)
    if e.errno in SILENT:
        return Verdict("dropped", name)
    return Verdict("refused", name)


class Try:
    """One probe while it runs."""

    def __init__(self, way, runtime):
        self.way = way
        self.runtime = runtime
        self.ports = []  # our ends: the audit names them
        self.mark = time.time()  # when the last connection was begun
        self.socks = []

    def sock(self, family=socket.AF_INET, proto=0):
        """A TCP socket with an end of its own."""
        with pacing:
            time.sleep(PACE)
        try:
            sock = socket.socket(family, socket.SOCK_STREAM, proto)
        except OSError as e:
            raise of_error(e)
        self.socks.append(sock)
        sock.settimeout(PATIENCE)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            try:
                sock.bind(("", next_port()))
                break
            except OSError as e:
                if e.errno != errno.EADDRINUSE:
                    raise of_error(e)
        self.ports.append(sock.getsockname()[1])
        self.mark = time.time()
        return sock

    def dial(self, to, port):
        sock = self.sock()
        try:
            sock.connect((to, port))
        except OSError as e:
            raise of_error(e)
        return sock

    def tunnel(self, authority, extra=b""):
        """CONNECT @authority (bytes) by the explicit proxy."""
        sock = self.dial(GATEWAY, PROXY_PORT)
        self.send(sock, b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n" %
                  (authority, authority, extra))
        status, _ = http_head(sock)
        if status != 200:
            raise Verdict("denied", str(status))
        return sock

    def send(self, sock, data):
        """What cannot be sent any more was answered before: no error."""
        try:
            sock.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def to_tls(self, name=b"good.test", port=MIRROR_PORT):
        """A connection where a hello is expected, as this way has it."""
        if self.way == "explicit":
            return self.tunnel(b"%s:%d" % (name, port))
        return self.dial(SINK, port)

    def hello(self, *pieces, connect=b"good.test", port=MIRROR_PORT,
              pause=0.0):
        """Sends the pieces where a hello is expected; the outcome."""
        sock = self.to_tls(connect, port)
        for piece in pieces:
            self.send(sock, piece)
            if pause:
                time.sleep(pause)
        return tls_answer(sock, b"".join(pieces))

    def to_http(self):
        if self.way == "explicit":
            return self.dial(GATEWAY, PROXY_PORT)
        return self.dial(SINK, 80)

    def request(self, raw):
        """One HTTP request as it stands; the outcome."""
        sock = self.to_http()
        self.send(sock, raw)
        return http_answer(sock)

    def path(self, path, host=b"good.test"):
        """The target of a request for @host, as this way writes it."""
        return b"http://" + host + path if self.way == "explicit" else path

    def get(self, host, path=b"/", target=None):
        return self.request(
            b"GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" %
            (target or self.path(path, host), host))

    def done(self):
        for sock in self.socks:
            sock.close()


def recv(sock, size=65536):
    try:
        return sock.recv(size)
    except TimeoutError:
        raise Verdict("hung")
    except ConnectionResetError:
        raise Verdict("closed", "reset")


def exactly(sock, size):
    data = b""
    while len(data) < size:
        more = recv(sock, size - len(data))
        if not more:
            raise Verdict("closed", "after %d bytes" % len(data))
        data += more
    return data


def tls_answer(sock, sent=b""):
    """The first record: an alert of the gateway, or words of a server."""
    head = exactly(sock, 5)
    body = exactly(sock, struct.unpack("!H", head[3:])[0])
    if head[0] == 21:
        return "denied", "alert %d" % body[1]
    if head[0] != 22 or not body.startswith(b"{"):
        return "open", "tls " + body[:20].hex()
    said = json.loads(body)
    detail = said["server"]
    if sent and said.get("bytes") == len(sent):
        right = hashlib.sha256(sent).hexdigest() == said["sha256"]
        detail += " exact" if right else " changed"
    elif sent and "bytes" in said:
        detail += " part"
    return "open", detail


def http_head(sock):
    data = b""
    while b"\r\n\r\n" not in data:
        more = recv(sock)
        if not more:
            raise Verdict("closed", "after %d bytes" % len(data))
        data += more
    head, rest = data.split(b"\r\n\r\n", 1)
    if not head.startswith(b"HTTP/1."):
        raise Verdict("open", "no HTTP: " + head[:20].hex())
    return int(head.split()[1]), rest


def http_answer(sock):
    status, rest = http_head(sock)
    try:
        while not rest.rstrip().endswith(b"}") and len(rest) < 1 << 16:
            more = sock.recv(65536)
            if not more:
                break
            rest += more
    except OSError:
        pass
    text = rest.decode("latin-1")
    if status == 200 and '"server"' in text:
        return "open", json.loads(text[:text.rindex("}") + 1])["server"]
    return "denied", "%d %s" % (status, text.split("\n")[0][:120])


def udp(to, port, data, wait=SILENCE):
    """The outcome of one datagram, and the answer."""
    family = socket.AF_INET6 if ":" in to else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            sock.settimeout(wait)
            sock.sendto(data, (to, port))
            return "open", sock.recv(65535)
    except OSError as e:
        v = of_error(e)
        return v.outcome, v.detail.encode()


def errno_of(call, *args):
    """For system calls by ctypes: the result or a Verdict."""
    import ctypes
    r = call(*args)
    if r < 0:
        raise of_error(OSError(ctypes.get_errno(), "")) from None
    return r


def here(name):
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
