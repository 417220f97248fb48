# SPDX-License-Identifier: Apache-2.0
# Made from _async/sandbox.py by tools/make.py: do not edit.
"""One sandbox, synchronous."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator, Callable, Iterable, Mapping, Sequence
from typing import IO, Literal

from .. import _apply, _local, _request, _tar
from ..api_types import Instance, InstanceOptions, RunAsRequest
from ..changes import Change, ChangesReader
from ..errors import (
    AlreadyRunningError,
    ArchiveError,
    ConfigError,
    ConflictsLeft,
    NotFoundError,
    NotRunningError,
)
from ..values import Words, env_list, words_of
from ._compat import blocking
from ._http import pieces
from .box import Box
from .client import Client
from .launch import Launch

IDLE = ("sleep", "infinity")  # the main run, if nothing else is asked for
MIB = 1 << 20
GIB = 1 << 30


class Sandbox(Box):
    """An instance, and its sandbox while it runs.

    Nothing is done before start(), which `with` calls. @blueprint makes the
    instance if it does not exist; with @name alone it must. Without @name it gets a
    new one, and is destroyed at the end of `with`; with @name it is stopped
    there if this object has started it. @keep says otherwise: True leaves it as it
    is, False destroys it.

    @workspace: a directory of yours. At acd's own machine the sandbox has a copy of
    it (@mode "copy"), itself ("live") or sees it read-only ("ro"); over TCP its
    files are uploaded when the instance is made.

    @cmd is the main run, @prompt a task for an agent instead; without both it only
    waits, for run() and start_command(). @options are those of the API, @without
    credentials of the blueprint to go without. An image that is missing is built,
    @on_build has the lines, unless @build is false. @program: of `ac`.
    """

    def __init__(
        self,
        blueprint: str | None = None,
        name: str | None = None,
        *,
        workspace: str | os.PathLike[str] | None = None,
        mode: Literal["copy", "live", "ro"] | None = None,
        cmd: Words | None = None,
        prompt: str | None = None,
        env: Mapping[str, str] | None = None,
        options: InstanceOptions | None = None,
        without: Sequence[str] = (),
        exclude: Iterable[str] = (),
        keep: bool | None = None,
        build: bool = True,
        on_build: Callable[[str], None] | None = None,
        program: str | None = None,
        client: Client | None = None,
        url: str | None = None,
        token: str | None = None,
        home: str | os.PathLike[str] | None = None,
    ) -> None:
        if blueprint is None and name is None:
            raise ValueError("a sandbox needs a blueprint or a name")
        if cmd is not None and prompt is not None:
            raise ValueError("cmd and prompt exclude each other")
        self._own_client = client is None
        super().__init__(
            client or Client(url, token, home=home),
            name or f"{blueprint}-{secrets.token_hex(4)}",
        )
        self.blueprint = blueprint
        self._named = name is not None
        self._workspace = (
            None if workspace is None else os.path.abspath(workspace)
        )
        self._mode = mode
        self._cmd = None if cmd is None else words_of(cmd)
        self._prompt = prompt
        self._options: InstanceOptions = dict(options or {})  # type: ignore[assignment]
        if env:
            self._options["env"] = [
                *(self._options.get("env") or []),
                *env_list(env),
            ]
        self._without = list(without)
        self._exclude = tuple(exclude)
        self._keep = keep
        self._build = build
        self._on_build = on_build
        self._program = program
        self._started = False  # by this object
        self._marks: dict[str, _tar.Mark] | None = None  # of what was uploaded
        if self._workspace is not None and not self.client.where.local:
            if mode not in (None, "copy"):
                raise ConfigError(
                    f"the mode {mode} is for acd on the same machine"
                )

    # ---- life ----

    def __enter__(self) -> Sandbox:
        try:
            return self.start()
        except BaseException:
            if self._own_client:
                self.client.close()
            raise

    def __exit__(self, *_: object) -> None:
        try:
            if self._keep is False or (self._keep is None and not self._named):
                self.destroy()
            elif self._keep is None and self._started:
                self.stop()
        except NotFoundError:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """Closes the connections; the sandbox stays as it is."""
        if self._own_client:
            self.client.close()

    def start(self) -> Sandbox:
        """Makes the instance if needed and starts it; one that runs already is
        taken as it is. Returns itself."""
        uploads = self._workspace is not None and not self.client.where.local
        new = uploads and not self._exists()
        try:
            self._launch()
            self._started = True
        except AlreadyRunningError:
            return self
        if uploads and new:
            try:
                self._upload_workspace()
            except BaseException:
                self.destroy()
                raise
        return self

    def _exists(self) -> bool:
        try:
            self.info()
        except NotFoundError:
            return False
        return True

    def _body(self, from_memory: bool) -> RunAsRequest:
        body: RunAsRequest = {
            "name": self.name,
            "detached": True,
            "create": True,
            "options": dict(self._options),  # type: ignore[typeddict-item]
        }
        if self.blueprint is not None:
            body["blueprint"] = self.blueprint
        if self._without:
            body["without"] = self._without
        if from_memory:
            body["from_memory"] = True
        elif self._prompt is not None:
            body["prompt"] = self._prompt
        else:
            # As a shell's, these words are no arguments of an agent.
            body["shell"] = True
            body["cmd"] = list(self._cmd or IDLE)
        return body

    def _launch(self, from_memory: bool = False) -> Instance:
        uploads = not self.client.where.local
        return Launch(
            self.client,
            self._body(from_memory),
            workspace=None if uploads else self._workspace,
            mode=self._mode,
            build=self._build,
            on_build=self._on_build,
            program=self._program,
        ).go()

    # ---- directories ----

    def upload(
        self,
        directory: str | os.PathLike[str],
        to: str = "/workspace",
        exclude: Iterable[str] = (),
    ) -> list[str]:
        """Copies what is in a directory of yours to one of the sandbox. Links stay
        links; @exclude are patterns of paths. Returns what was left out: sockets and
        the like."""
        packed = blocking(lambda: _tar.pack(directory, exclude))
        try:
            self._unpack_there(packed.file, to)
        finally:
            packed.file.close()
        return packed.skipped

    def _upload_workspace(self) -> None:
        top, exclude = self._workspace or "", self._exclude
        packed = blocking(lambda: _tar.pack(top, exclude))
        try:
            self._unpack_there(packed.file, "/workspace")
        finally:
            packed.file.close()
        self._marks = packed.marks

    def _unpack_there(self, file: IO[bytes], to: str) -> None:
        name = f"/tmp/.ac-{secrets.token_hex(8)}.tar"
        try:
            self.files.write(name, _chunks(file), mode=0o600)
            self.run(["mkdir", "-p", "--", to], check=True)
            words = ["tar", "-x", "--no-same-owner", "-f", name, "-C", to]
            self.run(words, check=True)
        finally:
            self._forget(name)

    def download(
        self,
        path: str,
        directory: str | os.PathLike[str],
        most: int = GIB,
    ) -> list[str]:
        """Copies what is in a directory of the sandbox to one of yours, over what
        is there. No link is followed. Returns what was left out: special files, and
        links that lead out of it. Raises ArchiveError above @most bytes."""
        with self._packed_there(path, most) as file:
            return blocking(lambda: _tar.unpack(file, directory))

    def _packed_there(self, path: str, most: int) -> IO[bytes]:
        name = f"/tmp/.ac-{secrets.token_hex(8)}.tar"
        form = [
            "--format=gnu",
            "--hard-dereference",
            "--warning=no-file-changed",
        ]
        words = ["tar", "-c", *form, "-f", name, "-C", path, "."]
        file = tempfile.SpooledTemporaryFile(_tar.SPOOL)
        try:
            done = self.run(words)
            if done.exit_code > 1:  # 1: a file was written to meanwhile
                done.check()
            for piece in self.files.read_pieces(name):
                most -= len(piece)
                if most < 0:
                    raise ArchiveError(
                        "the directory has more bytes than are taken"
                    )
                file.write(piece)
            file.seek(0)
            return file
        except BaseException:
            file.close()
            raise
        finally:
            self._forget(name)

    def _forget(self, name: str) -> None:
        try:
            self.files.remove(name)
        except (NotFoundError, NotRunningError):
            pass

    # ---- changes ----

    def diff(
        self, content: bool = True, most: int = 256 << 20
    ) -> list[Change]:
        """Returns what it has changed in its copy of your directory, in order of
        path, with the content of files. Raises ArchiveError above @most bytes."""
        if self._marks is not None:
            marks = self._marks
            with self._packed_there("/workspace", GIB) as file:
                return blocking(lambda: _tar.compare(file, marks, most))
        reader = ChangesReader(content, most)
        found: list[Change] = []
        with self.client.http.stream(
            "instance_changes", self._args, timeout=_request.SLOW_SECONDS
        ) as response:
            for piece in pieces(response):
                found += reader.feed(piece)
        reader.finish()
        return sorted(found, key=lambda change: change.path)

    def apply(self, *paths: str, theirs: bool = False) -> str:
        """Brings its changes, or those of @paths, to your directory, and returns what
        was done, a line a path. What both have changed is a conflict: `ac`, which
        does it at acd's own machine, merges it if it can, and else both are kept;
        for uploaded files yours stays. @theirs takes that of the sandbox. No .git is
        touched. Raises ConflictsLeft."""
        if self._marks is not None and self._workspace is not None:
            marks, top = self._marks, self._workspace
            changes = self.diff()
            said, clean = blocking(
                lambda: _apply.apply(changes, marks, top, paths, theirs)
            )
        else:
            said, clean = self._apply_by_program(paths, theirs)
        if not clean:
            raise ConflictsLeft(said)
        return said

    def _apply_by_program(
        self, paths: Sequence[str], theirs: bool
    ) -> tuple[str, bool]:
        home = self.client.where.home
        if home is None:
            raise ConfigError(
                "apply needs acd on the same machine: see download()"
            )
        program = _local.program_find(self._program, self.client.env)
        words = ["apply", "--yes", *(["--theirs"] if theirs else []), self.name]
        # No path is an option. From / they begin in the workspace.
        words += [
            path if path.startswith("/") else f"./{path}" for path in paths
        ]
        done = blocking(
            lambda: _local.program_run(program, home, words, good=(0, 1))
        )
        return done.said, done.exit_code == 0

    def discard(self) -> None:
        """Removes what it has changed in its copy. Raises BusyError if it runs."""
        self._slow("instance_discard")

    # ---- snapshots ----

    def restore(
        self, tag: str | None = None, memory: bool = False
    ) -> None:
        """Puts the files of a snapshot in the place of its own, which become the
        snapshot before-restore. If it runs, it is stopped before and started
        after; with @memory it is started in any case, and goes on from there."""
        record = self.info()
        runs = record["state"] in (
            "running",
            "paused",
            "hibernated",
            "starting",
        )
        if runs:
            self.stop()
        self._slow("instance_restore", {"tag": tag, "memory": memory})
        if runs or memory:
            self._launch(from_memory=memory)
            self._started = True

    def fork(
        self,
        *names: str,
        tag: str | None = None,
        memory: bool = False,
        start: bool = True,
    ) -> list[Sandbox]:
        """Makes instances with a copy of its files, or those of a snapshot, and
        starts them unless @start is false. @memory: what runs goes on in them. They
        use the client of this object, and are kept."""
        body = {"names": list(names), "tag": tag, "memory": memory}
        self._slow("instance_fork", body)
        made = []
        for name in names:
            twin = Sandbox(
                name=name,
                cmd=self._cmd,
                build=self._build,
                program=self._program,
                client=self.client,
            )
            twin._marks = self._marks
            made.append(twin)
        for twin in made if start else []:
            twin._launch(from_memory=memory)
            twin._started = True
        return made


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(1 << 18):
        yield piece
