# SPDX-License-Identifier: Apache-2.0
"""What comes from a sandbox: events, archives of changes, and directories."""

from __future__ import annotations

import io
import os
import random
import tarfile
import tempfile
import unittest
from pathlib import Path

from ac_sandbox import _tar
from ac_sandbox._sse import EVENT_MAX, EventReader
from ac_sandbox.changes import Change, ChangesReader
from ac_sandbox.errors import ArchiveError, ProtocolError

END = bytes(1024)


def header(kind: str, size: int = 0, mode: int = 0o644) -> bytes:
    block = bytearray(512)
    block[0:6] = b"change"
    block[100:108] = b"%07o\0" % mode
    block[124:136] = b"%011o\0" % size
    block[156:157] = kind.encode()
    block[257:265] = b"ustar\x0000"
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 512)


def record(key: str, value: bytes) -> bytes:
    rest = b" %s=%s\n" % (key.encode(), value)
    n = len(rest) + 1
    while len(b"%d" % n) + len(rest) != n:
        n += 1
    return b"%d" % n + rest


def extended(**records: bytes) -> bytes:
    data = b"".join(
        record(k.replace("AC_", "AC."), v) for k, v in records.items()
    )
    return header("x", len(data)) + padded(data)


def entry(
    path: bytes, kind: str = "0", data: bytes = b"", **more: bytes
) -> bytes:
    return extended(path=path, **more) + header(kind, len(data)) + padded(data)


def read(
    archive: bytes, step: int = 1 << 20, most: int = 1 << 20
) -> list[Change]:
    reader = ChangesReader(True, most)
    found: list[Change] = []
    for at in range(0, len(archive), step):
        found += reader.feed(archive[at : at + step])
    reader.finish()
    return found


GOOD = (
    entry(b"a", data=b"one", mtime=b"5.25")
    + extended(AC_torn=b"1")
    + entry(b"d", "5", AC_opaque=b"1")
    + entry(b"d/gone", "3")
    + entry(b"l\xff", "2", linkpath=b"../x")
    + entry(b"p", "6", AC_is=b"fifo")
    + entry(b"big", data=b"b" * 513)
    + END
)


class Changes(unittest.TestCase):
    def test_all_kinds_in_pieces_of_any_size(self) -> None:
        whole = read(GOOD)
        self.assertEqual(
            [c.kind for c in whole],
            ["file", "directory", "deleted", "link", "other", "file"],
        )
        self.assertEqual((whole[0].content, whole[0].torn), (b"one", True))
        self.assertEqual((whole[0].mtime, whole[1].opaque), (5.25, True))
        self.assertEqual((whole[3].path, whole[3].target), ("l\udcff", "../x"))
        self.assertEqual((whole[4].other, whole[5].size), ("fifo", 513))
        for step in (1, 7, 512, 513):
            self.assertEqual(read(GOOD, step), whole)
        self.assertEqual(read(GOOD + b"ignored"), whole)

    def test_what_is_no_archive_is_refused(self) -> None:
        bad = [GOOD[:-1024], GOOD[:100], b"x" * 512, b""]
        bad += [
            entry(p) + END
            for p in (
                b"/a",
                b"../a",
                b"a/../b",
                b"a//b",
                b"a/",
                b".",
                b"",
                b"a\0",
                b"x" * 4097,
            )
        ]
        bad += [
            header("0") + END,  # without a path
            extended(path=b"a") + extended(path=b"b") + header("0") + END,
            extended(path=b"a") + END,
            entry(b"a", "1") + END,  # a hard link
            entry(b"a", "2") + END,  # a link to nowhere
            entry(b"a", "5", b"data") + END,
            extended(AC_torn=b"1") + END,
            entry(b"a", size=b"-1") + END,
            header("x", 3) + padded(b"abc") + header("0") + END,
            header("x", 1 << 20) + END,
            entry(b"a", data=b"x" * 2000) + END,
            entry(b"a", mtime=b"soon") + END,
        ]
        for archive in bad:
            with self.subTest(archive[:600]), self.assertRaises(ArchiveError):
                read(archive, most=1999)

    def test_damage_never_ends_in_another_error(self) -> None:
        dice = random.Random(1)
        for _ in range(2000):
            data = bytearray(GOOD)
            for _ in range(dice.randint(1, 8)):
                data[dice.randrange(len(data))] = dice.randrange(256)
            try:
                for change in read(bytes(data)):
                    self.assertNotIn("..", change.path.split("/"))
            except ArchiveError:
                pass

    def test_a_difference_is_shown_as_diff_has_it(self) -> None:
        change = Change("a\x1b", "file", content=b"1\n2")
        self.assertEqual(
            change.unified(b"1\n").splitlines(),
            [
                "--- a/a\\x1b",
                "+++ b/a\\x1b",
                "@@ -1 +1,2 @@",
                " 1",
                "+2",
                "\\ No newline at end of file",
            ],
        )
        self.assertIn("/dev/null", change.unified(None))
        self.assertIn("binary", change.unified(b"\0"))
        self.assertEqual(Change("a", "directory").unified(b"x"), "")


class Directories(unittest.TestCase):
    def setUp(self) -> None:
        self._tmp = tempfile.TemporaryDirectory()
        self.addCleanup(self._tmp.cleanup)
        self.top = Path(self._tmp.name).resolve()
        self.out = self.top / "out"
        self.out.mkdir()

    def archive(self, *members: tuple[tarfile.TarInfo, bytes]) -> io.BytesIO:
        file = io.BytesIO()
        with tarfile.open(
            fileobj=file, mode="w", format=tarfile.GNU_FORMAT
        ) as tar:
            for info, data in members:
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        file.seek(0)
        return file

    @staticmethod
    def member(
        name: str, kind: bytes = tarfile.REGTYPE, link: str = ""
    ) -> tarfile.TarInfo:
        info = tarfile.TarInfo(name)
        info.type, info.linkname, info.mode = kind, link, 0o6755
        return info

    def test_a_directory_goes_and_comes_back(self) -> None:
        source = self.top / "in"
        (source / "d").mkdir(parents=True)
        (source / "d" / ("n" * 200)).write_bytes(b"x" * 1000)
        (source / "run").write_text("#!/bin/sh\n")
        (source / "run").chmod(0o755)
        (source / "link").symlink_to("d")
        (source / "left.log").touch()
        os.mkfifo(source / "pipe")
        packed = _tar.pack(source, ["*.log"])
        self.assertEqual(packed.skipped, ["pipe"])
        self.assertEqual(_tar.compare(packed.file, packed.marks, 1 << 20), [])
        packed.file.seek(0)
        self.assertEqual(_tar.unpack(packed.file, self.out), [])
        self.assertEqual(sorted(os.listdir(self.out)), ["d", "link", "run"])
        self.assertEqual((self.out / "run").stat().st_mode & 0o111, 0o111)
        self.assertEqual(os.readlink(self.out / "link"), "d")
        packed.file.seek(0)
        marks = {
            **packed.marks,
            "gone": ("directory", 0, ""),
            "gone/x": ("file", 0, ""),
        }
        marks["run"] = ("file", 0, "")
        found = _tar.compare(packed.file, marks, 1 << 20)
        self.assertEqual(
            [(c.path, c.kind) for c in found],
            [("gone", "deleted"), ("run", "file")],
        )
        packed.file.close()

    def test_nothing_is_written_outside(self) -> None:
        for name in ("/etc/x", "../x", "a/../../x", "a/./../../x"):
            with self.subTest(name), self.assertRaises(ArchiveError):
                _tar.unpack(self.archive((self.member(name), b"x")), self.out)
        # By a link that is there, and by one of the archive.
        (self.out / "there").symlink_to(self.top)
        with self.assertRaises(OSError):
            _tar.unpack(self.archive((self.member("there/x"), b"x")), self.out)
        two = (
            (self.member("l", tarfile.SYMTYPE, ".."), b""),
            (self.member("l/x"), b"x"),
        )
        _tar.unpack(self.archive(*two), self.out)
        self.assertEqual(sorted(os.listdir(self.top)), ["out"])
        self.assertTrue(
            (self.out / "l").is_dir() and not (self.out / "l").is_symlink()
        )
        # A file takes the place of a link, not of what that leads to.
        (self.top / "mine").write_text("mine")
        (self.out / "m").symlink_to(self.top / "mine")
        _tar.unpack(self.archive((self.member("m"), b"x")), self.out)
        self.assertEqual((self.top / "mine").read_text(), "mine")
        self.assertEqual((self.out / "m").stat().st_mode & 0o7000, 0)

    def test_links_that_lead_out_and_devices_are_left_out(self) -> None:
        members = [
            (self.member("abs", tarfile.SYMTYPE, "/etc/passwd"), b""),
            (self.member("d/up", tarfile.SYMTYPE, "../../x"), b""),
            (self.member("d/in", tarfile.SYMTYPE, "../y"), b""),
            # Through a link that is no step down.
            (self.member("q/l", tarfile.SYMTYPE, ".."), b""),
            (self.member("through", tarfile.SYMTYPE, "q/l/../.."), b""),
            (self.member("null", tarfile.CHRTYPE), b""),
        ]
        skipped = _tar.unpack(self.archive(*members), self.out)
        self.assertEqual(skipped, ["abs", "d/up", "through", "null"])
        self.assertEqual(os.readlink(self.out / "d/in"), "../y")
        with self.assertRaises(ArchiveError):
            hard = self.member("hard", tarfile.LNKTYPE, "d/in")
            _tar.unpack(self.archive((hard, b"")), self.out)

    def test_damage_never_ends_in_another_error(self) -> None:
        good = self.archive(
            (self.member("a" * 150), b"x" * 700),
            (self.member("d/in", tarfile.SYMTYPE, "../y"), b""),
        ).getvalue()
        dice = random.Random(2)
        for _ in range(1000):
            data = bytearray(
                good[: dice.choice([len(good), dice.randrange(len(good))])]
            )
            for _ in range(dice.randint(0, 8)):
                if data:
                    data[dice.randrange(len(data))] = dice.randrange(256)
            try:
                for found in _tar.entries(io.BytesIO(bytes(data))):
                    self.assertNotIn(b"..", found.path.split(b"/"))
            except ArchiveError:
                pass


class ServerEvents(unittest.TestCase):
    def test_lines_of_all_kinds_in_pieces_of_any_size(self) -> None:
        text = b": hi\r\nid: 1\r\nevent: a\ndata: x\ndata:y\n\n\rdata: z\r\r"
        for step in range(1, len(text)):
            reader = EventReader()
            got = []
            for at in range(0, len(text), step):
                got += [
                    (e.name, e.data, e.id)
                    for e in reader.feed(text[at : at + step])
                ]
            self.assertEqual(
                got, [("a", "x\ny", "1"), ("message", "z", "1")], step
            )

    def test_an_event_has_an_end(self) -> None:
        reader = EventReader()
        for _ in range(100):  # comments are no part of an event
            list(reader.feed(b":" + b"x" * (EVENT_MAX // 10) + b"\n"))
        with self.assertRaises(ProtocolError):
            for _ in range(12):
                list(reader.feed(b"data:" + b"x" * (EVENT_MAX // 10) + b"\n"))
        with self.assertRaises(ProtocolError):
            list(EventReader().feed(b"x" * (EVENT_MAX + 1)))
        with self.assertRaises(ProtocolError):
            list(EventReader().feed(b"data: \xff\n"))


if __name__ == "__main__":
    unittest.main()
