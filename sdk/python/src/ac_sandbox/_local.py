# SPDX-License-Identifier: Apache-2.0
"""What only a client on acd's own machine can do.

A directory of the user's goes to acd as a descriptor: a detached copy of its
mount, made by open_tree(2), which needs CAP_SYS_ADMIN. acd never opens a path of
the user's. Without that right the program `ac` does it.
"""

from __future__ import annotations

import array
import ctypes
import errno
import ipaddress
import json
import os
import shutil
import socket
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import ConfigError, ProgramError, ProtocolError, TransportError

ANSWER_SECONDS = 20.0
SYS_OPEN_TREE = 428  # the same on all processors but alpha
OPEN_TREE_CLONE = 1
AT_EMPTY_PATH = 0x1000


@dataclass(frozen=True)
class Directory:
    """A directory of the user's that was opened: `fd` is the caller's to close."""

    path: str
    fd: int
    dev: int
    ino: int
    uid: int
    gid: int


def _above(fd: int) -> list[tuple[int, int]]:
    """Returns the identities of a directory and of all above it."""
    found: list[tuple[int, int]] = []
    at = os.dup(fd)
    try:
        while True:
            st = os.fstat(at)
            here = (st.st_dev, st.st_ino)
            if found and found[-1] == here:
                return found
            found.append(here)
            up = os.open("..", os.O_PATH | os.O_DIRECTORY, dir_fd=at)
            os.close(at)
            at = up
    finally:
        os.close(at)


def directory_open(path: str | os.PathLike[str], home: Path) -> Directory:
    """Opens a directory for a sandbox, by a path without links. Raises ConfigError
    for one that is none, that leads through a link, or that has ac's own state
    in it or is within that."""
    given = os.path.abspath(path)
    if os.path.realpath(given) != given:
        raise ConfigError(
            f"{given} leads through a link, which an agent could have made: "
            f"give {os.path.realpath(given)} if that is meant"
        )
    try:
        fd = os.open(given, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as e:
        raise ConfigError(f"{given}: {os.strerror(e.errno or 0)}") from None
    try:
        real = os.readlink(f"/proc/self/fd/{fd}")
        state = os.stat(home)
        st = os.fstat(fd)
        home_fd = os.open(home, os.O_PATH | os.O_DIRECTORY)
        try:
            inside = (st.st_dev, st.st_ino) in _above(home_fd)
        finally:
            os.close(home_fd)
        if real != given:
            raise ConfigError(f"{given} was moved while it was opened")
        if inside or (state.st_dev, state.st_ino) in _above(fd):
            raise ConfigError(f"{given} would show ac's own state to the agent")
    except OSError as e:
        os.close(fd)
        raise ConfigError(f"{given}: {os.strerror(e.errno or 0)}") from None
    except ConfigError:
        os.close(fd)
        raise
    return Directory(given, fd, st.st_dev, st.st_ino, st.st_uid, st.st_gid)


def owner_of(directory: Directory | None) -> tuple[int, int]:
    """Returns who owns the files of an instance outside, as `ac` has it."""
    if directory is not None and os.geteuid() == 0:
        return directory.uid, directory.gid
    return os.geteuid(), os.getegid()


def open_tree(fd: int) -> int:
    """Returns a detached copy of the mount at a directory, without mounts below
    it, as a new descriptor. Raises OSError, PermissionError without the right."""
    libc = ctypes.CDLL(None, use_errno=True)
    flags = OPEN_TREE_CLONE | os.O_CLOEXEC | AT_EMPTY_PATH
    tree = libc.syscall(
        ctypes.c_long(SYS_OPEN_TREE),
        ctypes.c_int(fd),
        ctypes.c_char_p(b""),
        ctypes.c_uint(flags),
    )
    if tree < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return int(tree)


def directory_send(
    home: Path, instance: str, directory: Directory, read_only: bool
) -> bool:
    """Sends a directory to acd as the workspace of @instance. Returns False if
    this process may not. Raises TransportError, or ConfigError if acd refuses."""
    try:
        tree = open_tree(directory.fd)
    except OSError as e:
        if e.errno in (errno.EPERM, errno.ENOSYS, errno.EACCES):
            return False
        raise ConfigError(
            f"{directory.path}: {os.strerror(e.errno or 0)}"
        ) from None
    try:
        message = json.dumps({"instance": instance, "readonly": read_only})
        answer = _mount_ask(
            str(home / "run/mount.sock"), message.encode(), tree
        )
    finally:
        os.close(tree)
    try:
        value = json.loads(answer)
        good = value.get("ok") is True
        why = "" if good else str(value["error"]["message"])
    except (ValueError, AttributeError, KeyError, TypeError):
        raise ProtocolError("acd gave no answer about the directory") from None
    if not good:
        raise ConfigError(f"acd did not take {directory.path}: {why}")
    return True


def _mount_ask(path: str, message: bytes, fd: int) -> bytes:
    kind = socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC
    rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))
    try:
        with socket.socket(socket.AF_UNIX, kind) as sock:
            sock.settimeout(ANSWER_SECONDS)
            sock.connect(path)
            sock.sendmsg([message], [rights])
            return sock.recv(4096)
    except OSError as e:
        raise TransportError(
            f"cannot send a directory to acd: {e.strerror}"
        ) from None


class _Interface(ctypes.Structure):
    """struct ifaddrs, as far as it is read."""


_Interface._fields_ = [
    ("next", ctypes.POINTER(_Interface)),
    ("name", ctypes.c_char_p),
    ("flags", ctypes.c_uint),
    ("address", ctypes.c_void_p),
]


def addresses() -> list[str] | None:
    """Returns the addresses of this machine that acd is told of before a run, or
    None if they cannot be read."""
    libc = ctypes.CDLL(None, use_errno=True)
    first = ctypes.POINTER(_Interface)()
    if libc.getifaddrs(ctypes.byref(first)) < 0:
        return None
    found = set()
    at = first
    while at:
        place = at.contents.address
        if place:
            family = ctypes.c_uint16.from_address(place).value
            if family == socket.AF_INET:
                data = ctypes.string_at(place + 4, 4)
                found.add(socket.inet_ntop(family, data))
            elif family == socket.AF_INET6:
                data = ctypes.string_at(place + 8, 16)
                found.add(socket.inet_ntop(family, data))
        at = at.contents.next
    libc.freeifaddrs(first)
    told = [a for a in found if not ipaddress.ip_address(a).is_loopback]
    return sorted(a for a in told if not a.lower().startswith("fe80:"))


def program_find(program: str | None, env: Mapping[str, str]) -> str:
    """Returns the path of `ac`: @program, else AC_PROGRAM, else that of PATH.
    Raises ProgramError."""
    found = program or env.get("AC_PROGRAM") or shutil.which("ac")
    if not found:
        raise ProgramError(
            "the program `ac` is needed for this, and is not in PATH: see AC_PROGRAM"
        )
    return os.path.abspath(found)


@dataclass(frozen=True)
class Done:
    """How a call of `ac` ended."""

    said: str
    exit_code: int


def program_run(
    program: str,
    home: Path,
    words: Sequence[str],
    stdin: str | None = None,
    good: Sequence[int] = (0,),
) -> Done:
    """Runs `ac` and returns what it prints. Raises ProgramError with what it says
    if its exit code is not one of @good."""
    try:
        done = subprocess.run(
            [program, *words],
            input=(stdin or "").encode("utf-8"),
            capture_output=True,
            env={**os.environ, "AC_HOME": str(home)},
            cwd="/",
            check=False,
        )
    except OSError as e:
        raise ProgramError(f"{program}: {e.strerror}") from None
    out = done.stdout.decode("utf-8", "replace")
    if done.returncode not in good:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise ProgramError(said or out or f"{program} failed", done.returncode)
    return Done(out, done.returncode)
