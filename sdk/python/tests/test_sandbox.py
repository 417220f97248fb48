# SPDX-License-Identifier: Apache-2.0
"""The life of a sandbox: what a start brings, what an end removes, and how changes
of uploaded files come back."""

from __future__ import annotations

import array
import errno
import json
import os
import socket
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from ac_sandbox import Change, Sandbox, _apply, _local, _tar, errors

from .fake import Answer, Fake, Request, failure

RECORD: dict[str, Any] = {
    "name": "box",
    "state": "running",
    "workspace": None,
    "workspace_mode": "",
}


class MountSock:
    """Takes one descriptor, as acd does."""

    def __init__(self, home: Path, answer: Any) -> None:
        self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._sock.bind(str(home / "run/mount.sock"))
        self._sock.listen()
        self._answer = json.dumps(answer).encode()
        self.message: Any = None
        self.ino = 0
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        peer, _ = self._sock.accept()
        with peer:
            space = socket.CMSG_SPACE(4)
            data, rights, _, _ = peer.recvmsg(4096, space)
            fds = array.array("i")
            fds.frombytes(rights[0][2][:4])
            self.message = json.loads(data)
            self.ino = os.fstat(fds[0]).st_ino
            os.close(fds[0])
            peer.send(self._answer)

    def close(self) -> None:
        self._thread.join(5)
        self._sock.close()


class Starts(unittest.TestCase):
    def setUp(self) -> None:
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.dir = Path(tmp.name).resolve() / "work"
        self.dir.mkdir()

    @staticmethod
    def script(*refusals: Answer) -> Any:
        left = list(refusals)

        def answer(request: Request) -> Answer:
            if request.path == "/v1/run":
                return left.pop(0) if left else Answer(201, RECORD)
            if request.path.endswith("/build"):
                return Answer(200, b'{"line": "step 1"}\n{"done": true}\n')
            if request.path == "/v1/instances" and request.method == "GET":
                return Answer(200, {"instances": []})
            if request.method == "DELETE":
                return Answer(204)
            return Answer(200, RECORD)

        return answer

    def runs(self, fake: Fake) -> list[Any]:
        return [r.json() for r in fake.seen if r.path == "/v1/run"]

    def test_a_sandbox_without_a_name_is_destroyed_at_the_end(self) -> None:
        with Fake(self.script()) as fake:
            with Sandbox("base", client=fake.client(), env={"A": "1"}) as box:
                pass
            self.assertEqual(
                fake.paths(),
                [
                    "POST /v1/machine/addresses",
                    "POST /v1/run",
                    f"DELETE /v1/instances/{box.name}?force=1",
                ],
            )
            body = self.runs(fake)[0]
            self.assertRegex(body["name"], r"^base-[0-9a-f]{8}$")
            self.assertEqual(body["options"]["env"], ["A=1"])
            self.assertEqual(
                (body["cmd"], body["shell"]), (["sleep", "infinity"], True)
            )

    def test_what_has_a_name_is_stopped_or_left_as_it_was(self) -> None:
        for keep, answers, end in (
            (None, [], "POST /v1/instances/box/stop"),
            (None, [failure(409, "already_running")], "POST /v1/run"),
            (True, [], "POST /v1/run"),
            (False, [], "DELETE /v1/instances/box?force=1"),
        ):
            with self.subTest(end), Fake(self.script(*answers)) as fake:
                with Sandbox("base", "box", client=fake.client(), keep=keep):
                    pass
                self.assertEqual(fake.paths()[-1], end)

    def test_a_missing_image_is_built_once(self) -> None:
        missing = failure(409, "image_missing", image="base")
        lines: list[str] = []
        with Fake(self.script(failure(503, "starting"), missing)) as fake:
            Sandbox("base", client=fake.client(), on_build=lines.append).start()
            self.assertEqual((len(self.runs(fake)), lines), (3, ["step 1"]))
        for build, answers in ((True, [missing, missing]), (False, [missing])):
            with Fake(self.script(*answers)) as fake:
                with self.assertRaises(errors.ImageMissingError):
                    Sandbox("base", client=fake.client(), build=build).start()

    def test_a_directory_is_sent_as_a_descriptor(self) -> None:
        needed = failure(409, "workspace_needed", instance="box")
        with Fake(self.script(needed)) as fake:
            acd = MountSock(fake.home, {"ok": True})
            with mock.patch.object(_local, "open_tree", os.dup):
                Sandbox(
                    "base",
                    "box",
                    workspace=self.dir,
                    mode="live",
                    client=fake.client(),
                ).start()
            acd.close()
            self.assertEqual(
                acd.message, {"instance": "box", "readonly": False}
            )
            first, second = self.runs(fake)
        ino = self.dir.stat().st_ino
        self.assertEqual((acd.ino, second["workspace_ino"]), (ino, ino))
        self.assertEqual(first["options"]["workspace"], str(self.dir))
        self.assertEqual(first["options"]["host_uid"], os.geteuid())

    def test_a_directory_that_acd_refuses_is_an_error(self) -> None:
        needed = failure(409, "workspace_needed", instance="box")
        with Fake(self.script(needed)) as fake:
            acd = MountSock(
                fake.home, {"error": {"code": "invalid", "message": "why"}}
            )
            with mock.patch.object(_local, "open_tree", os.dup):
                with self.assertRaisesRegex(errors.ConfigError, "why"):
                    Sandbox(
                        "base", "box", workspace=self.dir, client=fake.client()
                    ).start()
            acd.close()

    def test_without_the_right_the_program_starts_it(self) -> None:
        needed = failure(409, "workspace_needed", instance="box")
        program = self.dir.parent / "ac"
        said = self.dir.parent / "said"
        denied = OSError(errno.EPERM, "no")
        for code in (0, 7):
            lines = [
                "#!/bin/sh",
                f'echo "$AC_HOME" "$@" >{said}',
                f"cat >>{said}",
            ]
            program.write_text("\n".join([*lines, f"exit {code}\n"]))
            program.chmod(0o755)
            with Fake(self.script(needed)) as fake:
                box = Sandbox(
                    "claude",
                    "box",
                    workspace=self.dir,
                    prompt="@secret",
                    program=str(program),
                    client=fake.client(),
                )
                with mock.patch.object(_local, "open_tree", side_effect=denied):
                    if code:
                        with self.assertRaises(errors.ProgramError) as told:
                            box.start()
                        self.assertEqual(told.exception.exit_code, 7)
                        end = "DELETE /v1/instances/box"
                        self.assertEqual(fake.paths()[-1], end)
                    else:
                        box.start()
                words = "run --quiet --detach --no-project --prompt=- box"
                self.assertEqual(
                    said.read_text(), f"{fake.home} {words}\n@secret"
                )
                made = [r for r in fake.seen if r.path == "/v1/instances"][
                    -1
                ].json()
                self.assertEqual(made["workspace"], str(self.dir))

    def test_a_workspace_by_a_link_or_with_our_state_is_refused(self) -> None:
        top = self.dir.parent
        home = top / "w" / "home"
        home.mkdir(parents=True)
        (top / "link").symlink_to(top / "w")
        for path in ("w", "w/home", "link", "link/home", "nowhere", "w/x"):
            with self.subTest(path), self.assertRaises(errors.ConfigError):
                _local.directory_open(top / path, home)
        directory = _local.directory_open(self.dir, home)
        self.assertEqual(directory.ino, self.dir.stat().st_ino)
        os.close(directory.fd)

    def test_words_that_do_not_fit_are_refused_before_any_call(self) -> None:
        with self.assertRaises(ValueError):
            Sandbox()
        with self.assertRaises(ValueError):
            Sandbox("base", cmd="x", prompt="y", home="/nowhere")
        with self.assertRaises(errors.ConfigError):
            Sandbox(
                "base",
                workspace=".",
                mode="live",
                url="http://localhost:1",
                token="t",
            )


class Apply(unittest.TestCase):
    def setUp(self) -> None:
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.top = Path(tmp.name).resolve() / "work"
        (self.top / "d").mkdir(parents=True)
        (self.top / "d/x").write_text("x")
        (self.top / "a").write_text("old")
        packed = _tar.pack(self.top)
        packed.file.close()
        self.marks = packed.marks

    def apply(self, *changes: Change, **more: Any) -> tuple[list[str], bool]:
        said, clean = _apply.apply(changes, self.marks, str(self.top), **more)
        return said.splitlines(), clean

    def test_changes_arrive_once(self) -> None:
        change = Change("a", "file", 0o755, content=b"new")
        changes = (
            change,
            Change("d", "deleted"),
            Change("n/m", "file", content=b"m"),
            Change("n/l", "link", target="m"),
        )
        said, clean = self.apply(*changes)
        self.assertEqual(
            (sorted(w.split()[0] for w in said), clean),
            (["changed", "deleted", "new", "new"], True),
        )
        self.assertEqual((self.top / "a").read_text(), "new")
        self.assertEqual((self.top / "n/l").read_text(), "m")
        self.assertFalse((self.top / "d").exists())
        self.assertTrue(os.access(self.top / "a", os.X_OK))
        # What was brought is what the next change begins with.
        said, clean = self.apply(Change("a", "file", content=b"newer"))
        self.assertEqual((self.top / "a").read_text(), "newer")

    def test_what_the_user_has_changed_stays(self) -> None:
        (self.top / "a").write_text("mine")
        (self.top / "d/y").write_text("mine")
        (self.top / "n").write_text("mine")
        changes = (
            Change("a", "file", content=b"new"),
            Change("d", "deleted"),
            Change("n", "file", content=b"new"),
        )
        said, clean = self.apply(*changes)
        self.assertFalse(clean)
        for name in ("a", "d/y", "n"):
            self.assertEqual((self.top / name).read_text(), "mine")
        said, clean = self.apply(changes[0], theirs=True)
        self.assertEqual((self.top / "a").read_text(), "new")

    def test_no_link_is_followed_and_no_git_touched(self) -> None:
        outside = self.top.parent / "outside"
        outside.mkdir()
        (self.top / "out").symlink_to(outside)
        said, clean = self.apply(
            Change("out/x", "file", content=b"x"),
            Change(".git/hooks/pre-commit", "file", 0o755, content=b"x"),
            Change("d/.GIT/config", "file", content=b"x"),
        )
        self.assertEqual(
            [w.split()[0] for w in said], ["left", "left", "conflict"]
        )
        self.assertEqual(os.listdir(outside), [])
        self.assertFalse((self.top / ".git").exists())

    def test_a_repository_below_what_went_stays(self) -> None:
        (self.top / "d/sub/.git").mkdir(parents=True)
        (self.top / "d/sub/.git/HEAD").write_text("ref")
        packed = _tar.pack(self.top)
        packed.file.close()
        self.marks = packed.marks
        said, clean = self.apply(Change("d", "deleted"))
        self.assertFalse(clean)
        self.assertEqual((self.top / "d/sub/.git/HEAD").read_text(), "ref")
        self.assertFalse((self.top / "d/x").exists())

    def test_paths_choose(self) -> None:
        changes = (Change("a", "file", content=b"new"), Change("d", "deleted"))
        self.apply(*changes, only=["d/"])
        self.assertEqual((self.top / "a").read_text(), "old")
        self.assertFalse((self.top / "d").exists())


if __name__ == "__main__":
    unittest.main()
