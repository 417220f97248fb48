# SPDX-License-Identifier: Apache-2.0
"""What a sandbox has changed in its copy of a directory.

The archive is the restricted pax form that control/shared/changes.h describes:
each entry has one extended header with its path, and one ustar header. Names and
contents are the agent's, and hostile: what has another form is refused.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from .errors import ArchiveError

BLOCK = 512
PATH_MAX = 4096
HEADER_MAX = 64 * 1024  # bytes of one extended header
ITEMS_MAX = 2_000_000

Kind: TypeAlias = Literal["file", "directory", "link", "deleted", "other"]
_KINDS: dict[bytes, Kind] = {
    b"0": "file",
    b"5": "directory",
    b"2": "link",
    b"3": "deleted",
    b"6": "other",
}


@dataclass(frozen=True)
class Change:
    """One path, relative to the workspace. `content` is None if it is no file,
    or was not asked for. `opaque`: nothing of the user's below is seen. `torn`:
    it was written to while it was read. A path that is not UTF-8 has surrogates,
    as those of the module os have."""

    path: str
    kind: Kind
    mode: int = 0
    size: int = 0
    mtime: float = 0.0
    target: str | None = None
    content: bytes | None = None
    opaque: bool = False
    torn: bool = False
    other: str | None = None

    def unified(self, before: bytes | None) -> str:
        """Returns the lines that differ from @before, as `diff -u` has them; ""
        if nothing does. None stands for a file that is not there."""
        after = self.content
        if after is None and self.kind != "deleted":
            return ""
        if b"\0" in (before or b"") or b"\0" in (after or b""):
            return "" if before == after else f"{self.shown} differs (binary)\n"
        lines = difflib.unified_diff(
            (before or b"").decode("utf-8", "replace").splitlines(True),
            (after or b"").decode("utf-8", "replace").splitlines(True),
            "/dev/null" if before is None else f"a/{self.shown}",
            "/dev/null" if after is None else f"b/{self.shown}",
        )
        return "".join(
            line
            if line.endswith("\n")
            else line + "\n\\ No newline at end of file\n"
            for line in lines
        )

    @property
    def shown(self) -> str:
        """The path for a terminal: what does not print is escaped."""
        return "".join(
            c if c.isprintable() else c.encode("unicode_escape").decode("ascii")
            for c in self.path
        )


def path_is_good(path: bytes) -> bool:
    """Returns true for a relative path without empty parts, "." and ".."."""
    if not path or len(path) > PATH_MAX or b"\0" in path:
        return False
    return all(part not in (b"", b".", b"..") for part in path.split(b"/"))


def _octal(field: bytes) -> int:
    text = field.strip(b" \0")
    if not text or any(c not in b"01234567" for c in text):
        raise ArchiveError("a number of the archive is none")
    return int(text, 8)


def _records(data: bytes) -> dict[bytes, bytes]:
    """Returns the records of an extended header."""
    found: dict[bytes, bytes] = {}
    at = 0
    while at < len(data):
        blank = data.find(b" ", at, at + 8)
        digits = data[at:blank] if blank > 0 else b""
        if not digits.isdigit():
            raise ArchiveError("a record of the archive has no length")
        end = at + int(digits)
        key, equals, value = data[blank + 1 : end - 1].partition(b"=")
        if end > len(data) or end <= blank or data[end - 1 : end] != b"\n":
            raise ArchiveError("a record of the archive is cut off")
        if not equals or key in found:
            raise ArchiveError("a record of the archive is there twice")
        found[key] = value
        at = end
    return found


class ChangesReader:
    """Reads an archive from pieces of any size. @most is the number of bytes of
    all contents that are kept; with @content false, none are."""

    def __init__(self, content: bool = True, most: int = 256 << 20) -> None:
        self._content = content
        self._most = most
        self._have = bytearray()
        self._records: dict[bytes, bytes] | None = None
        self._change: Change | None = None  # waits for AC.torn
        self._data = bytearray()  # of the file, or of the extended header
        self._left = 0  # bytes of it to come
        self._pad = 0
        self._in: Literal["", "x", "file"] = ""
        self._zeros = 0
        self._n = 0

    def feed(self, piece: bytes) -> Iterator[Change]:
        """Yields the changes that @piece completes. Raises ArchiveError."""
        self._have += piece
        at = 0
        view = self._have
        while self._zeros < 2:
            if self._left or self._pad:
                n = min(self._left, len(view) - at)
                if self._in == "x" or self._content:
                    self._data += view[at : at + n]
                self._left -= n
                at += n
                if not self._left:
                    n = min(self._pad, len(view) - at)
                    self._pad -= n
                    at += n
                if self._left or self._pad:
                    break
                yield from self._data_end()
                continue
            if len(view) - at < BLOCK:
                break
            block = bytes(view[at : at + BLOCK])
            at += BLOCK
            yield from self._header(block)
        del self._have[: at if self._zeros < 2 else len(self._have)]

    def finish(self) -> None:
        """Raises ArchiveError if the archive has no end."""
        if self._zeros < 2:
            raise ArchiveError("the archive of changes is incomplete")

    def _give(self) -> Iterator[Change]:
        if self._change is not None:
            yield self._change
            self._change = None

    def _header(self, block: bytes) -> Iterator[Change]:
        if not any(block):
            if self._records is not None:
                raise ArchiveError("the archive ends within an entry")
            self._zeros += 1
            if self._zeros == 2:
                yield from self._give()
            return
        if self._zeros:
            raise ArchiveError("an entry behind the end of the archive")
        total = sum(block) - sum(block[148:156]) + 8 * 0x20
        if _octal(block[148:156]) != total or block[257:262] != b"ustar":
            raise ArchiveError("a header of the archive is damaged")
        size = _octal(block[124:136])
        kind = block[156:157]
        if kind == b"x":
            if self._records is not None or not 0 < size <= HEADER_MAX:
                raise ArchiveError("an extended header that does not fit")
            self._begin("x", size)
            return
        yield from self._give()
        self._entry(block, kind, size)

    def _begin(self, what: Literal["x", "file"], size: int) -> None:
        self._in = what
        self._data.clear()
        self._left = size
        self._pad = -size % BLOCK

    def _entry(self, block: bytes, kind: bytes, size: int) -> None:
        records, self._records = self._records, None
        path = (records or {}).get(b"path", b"")
        if records is None or kind not in _KINDS or not path_is_good(path):
            raise ArchiveError(
                "an entry of the archive has no good path or type"
            )
        self._n += 1
        if self._n > ITEMS_MAX:
            raise ArchiveError("the archive has too many entries")
        if b"size" in records:
            if (
                size
                or not records[b"size"].isdigit()
                or len(records[b"size"]) > 13
            ):
                raise ArchiveError("a size of the archive is none")
            size = int(records[b"size"])
        if size and kind != b"0":
            raise ArchiveError("an entry without content has some")
        self._change = Change(
            path=os.fsdecode(path),
            kind=_KINDS[kind],
            mode=_octal(block[100:108]) & 0o7777,
            size=size,
            mtime=self._time(records.get(b"mtime", b"0")),
            target=self._target(records) if kind == b"2" else None,
            content=b"" if kind == b"0" and self._content else None,
            opaque=records.get(b"AC.opaque") == b"1",
            other=records.get(b"AC.is", b"").decode("ascii", "replace") or None,
        )
        if kind == b"0" and size:
            self._most -= size if self._content else 0
            if self._most < 0:
                raise ArchiveError("the changes have more bytes than are taken")
            self._begin("file", size)

    @staticmethod
    def _target(records: dict[bytes, bytes]) -> str:
        target = records.get(b"linkpath", b"")
        if not target or len(target) > PATH_MAX or b"\0" in target:
            raise ArchiveError("a link of the archive leads nowhere")
        return os.fsdecode(target)

    @staticmethod
    def _time(text: bytes) -> float:
        try:
            value = float(text) if len(text) < 64 else 0.0
        except ValueError:
            raise ArchiveError("a time of the archive is none") from None
        return value if abs(value) < 1e15 else 0.0

    def _data_end(self) -> Iterator[Change]:
        data, what = bytes(self._data), self._in
        self._data.clear()
        self._in = ""
        if what == "file":
            if self._change is not None and self._content:
                self._change = replace(self._change, content=data)
            return
        records = _records(data)
        if records.get(b"AC.torn") == b"1":
            if self._change is None or b"path" in records:
                raise ArchiveError("a mark of the archive belongs to no entry")
            self._change = replace(self._change, torn=True)
            return
        yield from self._give()
        self._records = records
