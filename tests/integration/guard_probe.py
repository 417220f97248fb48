# SPDX-License-Identifier: Apache-2.0
"""What the kernel says to each call: one line each, NAME and ok or the error.

Run by 32_guard.bats in a sandbox, and as control in a plain container.
"""

import ctypes
import errno
import os
import platform
import signal
import socket
import stat
import tempfile

LIBC = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"
# x86_64, else the table that all newer architectures share
NR = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "kcmp": (312, 272),
    "setns": (308, 268),
    "unshare": (272, 97),
    "clone": (56, 220),
    "clone3": (435, 435),
    "openat2": (437, 437),
    "name_to_handle_at": (303, 264),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "mount": (165, 40),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "io_uring_setup": (425, 425),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "prctl": (157, 167),
    "ioctl": (16, 29),
    "openat": (257, 56),
    "pidfd_getfd": (438, 438),
}
AT_FDCWD = -100
DIR = tempfile.mkdtemp(dir="/tmp")
FILE = (DIR + "/file").encode()
open(FILE, "w").close()


def call(name, *args):
    # Whole registers, as the kernel sees them.
    regs = [ctypes.c_char_p(a) if isinstance(a, bytes) else ctypes.c_long(a)
            for a in args]
    ctypes.set_errno(0)
    ret = LIBC.syscall(ctypes.c_long(NR[name][0 if X86 else 1]), *regs)
    if ret < 0:
        raise OSError(ctypes.get_errno(), name)
    return ret


def child(fn):
    """In a process of its own, for what would change the later ones."""
    pid = os.fork()
    if pid == 0:
        try:
            fn()
            os._exit(0)
        except OSError as e:
            os._exit(e.errno)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code:
        raise OSError(code, "child")


def clone(flags):
    pid = call("clone", flags | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def opened(mode):
    os.close(call("openat", AT_FDCWD, (DIR + "/%o" % mode).encode(),
                  os.O_CREAT | os.O_WRONLY, mode))


def tiocsti(high=0):
    master, slave = os.openpty()
    call("ioctl", slave, high << 32 | 0x5412, b"x")


def size():
    master, slave = os.openpty()
    call("ioctl", slave, 0x5413, b"\0" * 8)


def family(number):
    socket.socket(number, socket.SOCK_STREAM).close()


PROBES = [
    ("ptrace", lambda: child(lambda: call("ptrace", 0, 0, 0, 0))),
    ("process_vm_readv",
     lambda: call("process_vm_readv", os.getpid(), 0, 0, 0, 0, 0)),
    ("kcmp", lambda: call("kcmp", os.getpid(), os.getpid(), 99, 0, 0)),
    ("pidfd_getfd", lambda: call("pidfd_getfd", -1, 0, 0)),
    ("setns", lambda: call("setns", -1, 0)),
    ("unshare", lambda: call("unshare", 0)),
    ("unshare-user", lambda: child(lambda: call("unshare", 0x10000000))),
    ("clone-user", lambda: clone(0x10000000)),
    ("clone-plain", lambda: clone(0)),
    ("clone3", lambda: call("clone3", 0, 0)),
    ("openat2", lambda: call("openat2", AT_FDCWD, 0, 0, 0)),
    ("name_to_handle_at",
     lambda: call("name_to_handle_at", AT_FDCWD, 0, 0, 0, 0)),
    ("keyctl", lambda: call("keyctl", 9999, 0, 0, 0, 0)),
    ("mount", lambda: call("mount", b"a", FILE, b"tmpfs", 0, 0)),
    ("bpf", lambda: call("bpf", 9999, 0, 0)),
    ("io_uring_setup", lambda: call("io_uring_setup", 0, 0)),
    ("userfaultfd", lambda: call("userfaultfd", 1)),
    ("perf_event_open", lambda: call("perf_event_open", 0, 0, 0, 0, 0)),
    ("prctl-set-mm", lambda: call("prctl", 35, 9999, 0, 0, 0)),
    ("prctl-set-mm-high",
     lambda: call("prctl", 1 << 32 | 35, 9999, 0, 0, 0)),
    ("prctl-get-dumpable", lambda: call("prctl", 3, 0, 0, 0, 0)),
    ("chmod-setuid", lambda: os.chmod(FILE, 0o4755)),
    ("chmod-setgid", lambda: os.chmod(FILE, 0o2755)),
    ("chmod-plain", lambda: os.chmod(FILE, 0o755)),
    ("open-setuid", lambda: opened(0o4644)),
    ("open-plain", lambda: opened(0o644)),
    ("mknod-device", lambda: os.mknod(DIR + "/dev", stat.S_IFCHR | 0o600, 0)),
    ("mknod-fifo", lambda: os.mknod(DIR + "/fifo", stat.S_IFIFO | 0o600)),
    ("tiocsti", tiocsti),
    ("tiocsti-high", lambda: tiocsti(1)),
    ("tiocgwinsz", size),
    ("socket-packet", lambda: family(socket.AF_PACKET)),
    ("socket-vsock", lambda: family(40)),
    ("socket-inet", lambda: family(socket.AF_INET)),
    ("setuid-root", lambda: os.setuid(0)),
    ("kill-init", lambda: os.kill(1, 0)),
]

for name, fn in PROBES:
    try:
        fn()
        print(name, "ok", flush=True)
    except OSError as e:
        print(name, errno.errorcode.get(e.errno, e.errno), flush=True)
