# SPDX-License-Identifier: Apache-2.0
"""Directories as archives: to a sandbox, and from one.

What comes from a sandbox is hostile. It is read in the old GNU form alone, which
its tar is asked for, and written without following any link: files and
directories first, each opened relative to the directory above it.
"""

from __future__ import annotations

import fnmatch
import hashlib
import io
import os
import stat
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Literal, TypeAlias

from .changes import BLOCK, PATH_MAX, Change, path_is_good
from .errors import ArchiveError, ConfigError

SPOOL = 8 << 20  # bytes of an archive that stay in memory
ENTRIES_MAX = 1_000_000
# kind, x-bits and digest or target of each path
Mark: TypeAlias = tuple[str, int, str]


@dataclass
class Packed:
    """An archive of a directory, to be closed, and what is in it."""

    file: IO[bytes]
    marks: dict[str, Mark] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)


class _Hashed(io.RawIOBase):
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.digest.update(data)
        return data


def mark_of_file(mode: int, data: bytes) -> Mark:
    return ("file", mode & 0o111, hashlib.sha256(data).hexdigest())


def _walk(
    top: Path, exclude: tuple[str, ...]
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    todo = [""]
    while todo:
        at = todo.pop()
        with os.scandir(top / at) as entries:
            found = sorted(entries, key=lambda e: e.name)
        for entry in found:
            path = f"{at}/{entry.name}" if at else entry.name
            if any(fnmatch.fnmatch(path, pattern) for pattern in exclude):
                continue
            yield path, entry
            if entry.is_dir(follow_symlinks=False):
                todo.append(path)


def pack(
    directory: str | os.PathLike[str], exclude: Iterable[str] = ()
) -> Packed:
    """Returns an archive of @directory without the paths that match a pattern of
    @exclude; links stay links. Raises ConfigError if it is no directory."""
    top = Path(directory)
    if not top.is_dir():
        raise ConfigError(f"{top} is not a directory")
    packed = Packed(tempfile.SpooledTemporaryFile(SPOOL))
    form = tarfile.GNU_FORMAT
    try:
        with tarfile.open(fileobj=packed.file, mode="w", format=form) as tar:
            for path, entry in _walk(top, tuple(exclude)):
                _pack_one(tar, packed, path, entry)
    except BaseException:
        packed.file.close()
        raise
    packed.file.seek(0)
    return packed


def _pack_one(
    tar: tarfile.TarFile, packed: Packed, path: str, entry: os.DirEntry[str]
) -> None:
    st = entry.stat(follow_symlinks=False)
    info = tarfile.TarInfo(path)
    info.mode = stat.S_IMODE(st.st_mode) & 0o777
    info.mtime = int(st.st_mtime)
    if stat.S_ISDIR(st.st_mode):
        info.type = tarfile.DIRTYPE
        tar.addfile(info)
        packed.marks[path] = ("directory", 0, "")
    elif stat.S_ISLNK(st.st_mode):
        info.type = tarfile.SYMTYPE
        info.linkname = os.readlink(entry.path)
        tar.addfile(info)
        packed.marks[path] = ("link", 0, info.linkname)
    elif stat.S_ISREG(st.st_mode):
        fd = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(fd, "rb") as file:
            info.size = os.fstat(fd).st_size
            hashed = _Hashed(file)
            tar.addfile(info, hashed)
        digest = hashed.digest.hexdigest()
        packed.marks[path] = ("file", info.mode & 0o111, digest)
    else:
        packed.skipped.append(path)


@dataclass
class Entry:
    """One entry of an archive from a sandbox; `file` is at its content."""

    path: bytes
    kind: Literal["file", "directory", "link", "other"]
    mode: int
    mtime: int
    size: int
    target: bytes


def _number(data: bytes) -> int:
    if data[0] & 0x80:
        value = int.from_bytes(data[1:], "big")
        if data[0] != 0x80 or value > 1 << 50:
            raise ArchiveError("a number of the archive is none")
        return value
    text = data.strip(b" \0")
    if any(c not in b"01234567" for c in text):
        raise ArchiveError("a number of the archive is none")
    return int(text or b"0", 8)


def _whole(file: IO[bytes], size: int) -> bytes:
    data = file.read(size)
    if len(data) != size:
        raise ArchiveError("the archive is cut off")
    return data


def entries(file: IO[bytes]) -> Iterator[Entry]:
    """Yields the entries. The content of a file may be read from @file before
    the next. Raises ArchiveError for what is not of this form."""
    kinds: dict[bytes, Literal["file", "directory", "link", "other"]] = {
        b"0": "file",
        b"\0": "file",
        b"5": "directory",
        b"2": "link",
        b"3": "other",
        b"4": "other",
        b"6": "other",
    }
    long: dict[bytes, bytes] = {}
    for _ in range(ENTRIES_MAX):
        block = _whole(file, BLOCK)
        if not any(block):
            return
        if sum(block) - sum(block[148:156]) + 256 != _number(block[148:156]):
            raise ArchiveError("a header of the archive is damaged")
        kind, size = block[156:157], _number(block[124:136])
        if kind in (b"L", b"K"):
            if kind in long or not 0 < size <= PATH_MAX + 1:
                raise ArchiveError("a long name of the archive does not fit")
            data = _whole(file, size + -size % BLOCK)[:size]
            long[kind] = data.rstrip(b"\0")
            continue
        if kind not in kinds or (size and kinds[kind] != "file"):
            raise ArchiveError("an entry of the archive has an unknown type")
        name = long.pop(b"L", None) or block[:100].split(b"\0")[0]
        target = long.pop(b"K", None) or block[157:257].split(b"\0")[0]
        begin = file.tell()
        path = name.removeprefix(b"./").rstrip(b"/")
        if path and path != b".":
            if not path_is_good(path):
                raise ArchiveError("a path of the archive leads elsewhere")
            yield Entry(
                path,
                kinds[kind],
                _number(block[100:108]) & 0o777,
                _number(block[136:148]),
                size,
                target,
            )
        file.seek(begin + size + -size % BLOCK)
    raise ArchiveError("the archive has too many entries")


def link_is_inside(path: bytes, target: bytes) -> bool:
    """Returns true if the text of a link leads to a place within the tree.

    ".." is allowed at its begin alone: behind a name, which may be a link itself,
    it would lead from where that leads.
    """
    if not target or target.startswith(b"/") or b"\0" in target:
        return False
    depth, named = path.count(b"/"), False
    for part in target.split(b"/"):
        if part == b"..":
            depth -= 1
            if named or depth < 0:
                return False
        elif part not in (b"", b"."):
            named = True
    return True


class Tree:
    """Writes below a directory and follows no link there."""

    def __init__(self, top: str | os.PathLike[str]) -> None:
        os.makedirs(top, exist_ok=True)
        self._fd = os.open(top, os.O_PATH | os.O_DIRECTORY)

    def close(self) -> None:
        os.close(self._fd)

    def above(self, path: bytes, make: bool) -> int:
        """Returns a descriptor of the directory above @path."""
        fd = os.dup(self._fd)
        try:
            for part in path.split(b"/")[:-1]:
                flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW
                try:
                    down = os.open(part, flags, dir_fd=fd)
                except FileNotFoundError:
                    if not make:
                        raise
                    os.mkdir(part, 0o777, dir_fd=fd)
                    down = os.open(part, flags, dir_fd=fd)
                os.close(fd)
                fd = down
        except BaseException:
            os.close(fd)
            raise
        return fd

    def directory(self, path: bytes) -> None:
        os.close(self.above(path + b"/.", True))

    def file(
        self, path: bytes, mode: int, mtime: float, source: Iterable[bytes]
    ) -> None:
        """Writes a file, which appears whole or not at all."""
        at = self.above(path, True)
        name = path.split(b"/")[-1]
        new = b".ac-" + os.urandom(8).hex().encode()
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            fd = os.open(new, flags, (mode & 0o777) | 0o600, dir_fd=at)
            try:
                with open(fd, "wb") as file:
                    for piece in source:
                        file.write(piece)
                os.utime(new, (mtime, mtime), dir_fd=at, follow_symlinks=False)
                os.rename(new, name, src_dir_fd=at, dst_dir_fd=at)
            except BaseException:
                os.unlink(new, dir_fd=at)
                raise
        finally:
            os.close(at)

    def link(self, path: bytes, target: bytes) -> None:
        at = self.above(path, True)
        new = b".ac-" + os.urandom(8).hex().encode()
        try:
            os.symlink(target, new, dir_fd=at)
            try:
                os.rename(
                    new, path.split(b"/")[-1], src_dir_fd=at, dst_dir_fd=at
                )
            except BaseException:
                os.unlink(new, dir_fd=at)
                raise
        finally:
            os.close(at)


def content_of(file: IO[bytes], size: int) -> Iterator[bytes]:
    while size:
        piece = file.read(min(size, 1 << 18))
        if not piece:
            raise ArchiveError("the archive is cut off")
        size -= len(piece)
        yield piece


def unpack(file: IO[bytes], directory: str | os.PathLike[str]) -> list[str]:
    """Writes an archive below @directory, over what is there. Returns the paths
    that were left out: special files, and links that lead out of it. Raises
    ArchiveError, and OSError where a path of it goes through a link."""
    tree = Tree(directory)
    links: list[Entry] = []
    skipped: list[str] = []
    try:
        for entry in entries(file):
            if entry.kind == "directory":
                tree.directory(entry.path)
            elif entry.kind == "file":
                data = content_of(file, entry.size)
                tree.file(entry.path, entry.mode, entry.mtime, data)
            elif entry.kind == "link" and link_is_inside(
                entry.path, entry.target
            ):
                links.append(entry)
            else:
                skipped.append(os.fsdecode(entry.path))
        for entry in links:
            tree.link(entry.path, entry.target)
    finally:
        tree.close()
    return skipped


def compare(file: IO[bytes], marks: dict[str, Mark], most: int) -> list[Change]:
    """Returns what an archive of a sandbox has that @marks, of the directory that
    was uploaded, does not, and what it lacks; @most bytes of content are kept.
    Raises ArchiveError."""
    left = dict(marks)
    found: list[Change] = []
    for entry in entries(file):
        path = os.fsdecode(entry.path)
        before = left.pop(path, None)
        if entry.kind == "other":
            found.append(Change(path, "other"))
            continue
        content: bytes | None = None
        now: Mark = (entry.kind, 0, "")
        if entry.kind == "file":
            if entry.size > most:
                raise ArchiveError("the changes have more bytes than are taken")
            content = b"".join(content_of(file, entry.size))
            now = mark_of_file(entry.mode, content)
        elif entry.kind == "link":
            now = ("link", 0, os.fsdecode(entry.target))
        if now == before:
            continue
        most -= entry.size
        found.append(
            Change(
                path,
                entry.kind,
                entry.mode,
                entry.size,
                float(entry.mtime),
                now[2] if entry.kind == "link" else None,
                content,
            )
        )
    gone = [
        Change(p, "deleted") for p in left if os.path.dirname(p) not in left
    ]
    return sorted(found + gone, key=lambda c: c.path)
