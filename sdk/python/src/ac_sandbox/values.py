# SPDX-License-Identifier: Apache-2.0
"""What calls give, where that is more than an object of the API."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast
from urllib.parse import unquote_to_bytes

from .api_types import Command, CommandEnded, CommandRequest, FileEntry
from .errors import CommandFailed, ProtocolError

StreamName: TypeAlias = Literal["stdout", "stderr"]
Words: TypeAlias = str | Sequence[str]


def decode(data: str, encoding: str) -> bytes:
    """Returns the bytes of output as the API has them."""
    if encoding == "utf-8":
        return data.encode("utf-8")
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise ProtocolError("output is not Base64") from None


@dataclass(frozen=True)
class Result:
    """How a command has ended, and what is kept of its output."""

    id: str
    exit_code: int
    stdout_bytes: bytes
    stderr_bytes: bytes
    signal: int | None
    reason: str
    message: str | None
    timed_out: bool
    truncated: bool
    duration_ms: int

    @property
    def stdout(self) -> str:
        return self.stdout_bytes.decode("utf-8", "replace")

    @property
    def stderr(self) -> str:
        return self.stderr_bytes.decode("utf-8", "replace")

    @property
    def ok(self) -> bool:
        return self.exit_code == 0

    def check(self) -> Result:
        """Returns itself. Raises CommandFailed if the exit code is not 0."""
        if not self.ok:
            raise CommandFailed(self)
        return self


def output_of(command: Command, name: StreamName) -> bytes:
    """Returns what is kept of a stream of @command."""
    fields = cast(Mapping[str, Any], command)
    return decode(fields.get(name, ""), fields.get(f"{name}_encoding", "utf-8"))


def result_of(command: Command) -> Result:
    """Returns the result of a command that has ended."""
    if command["state"] != "ended" or command["exit_code"] is None:
        raise ProtocolError("a command without its end")
    return Result(
        id=command["id"],
        exit_code=command["exit_code"],
        stdout_bytes=output_of(command, "stdout"),
        stderr_bytes=output_of(command, "stderr"),
        signal=command["signal"],
        reason=command["reason"] or "exited",
        message=command["message"],
        timed_out=command["timed_out"],
        truncated=command.get("truncated", False),
        duration_ms=command["duration_ms"],
    )


@dataclass(frozen=True)
class Started:
    """The command has been started."""

    id: str


@dataclass(frozen=True)
class Output:
    """Bytes that the command has written."""

    stream: StreamName
    data: bytes
    offset: int

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")


@dataclass(frozen=True)
class Lost:
    """So many bytes of both streams are no longer kept."""

    bytes: int


@dataclass(frozen=True)
class Ended:
    """The command has ended. No event follows."""

    exit_code: int
    signal: int | None
    reason: str
    message: str | None
    timed_out: bool
    duration_ms: int


Event: TypeAlias = Started | Output | Lost | Ended


def event_of(name: str, data: dict[str, Any]) -> Event | None:
    """Returns the event, or None for one of a kind that is not known."""
    try:
        if name == "start":
            return Started(data["id"])
        if name == "stdout" or name == "stderr":
            body = decode(data["data"], data["encoding"])
            return Output(cast(StreamName, name), body, data["offset"])
        if name == "lost":
            return Lost(data["bytes"])
        if name == "exit":
            end = cast(CommandEnded, data)
            return Ended(
                end["exit_code"],
                end["signal"],
                end["reason"],
                end["message"],
                end["timed_out"],
                end["duration_ms"],
            )
    except (KeyError, TypeError, AttributeError):
        raise ProtocolError(f"an event '{name}' that lacks something") from None
    return None


@dataclass(frozen=True)
class FileInfo:
    """A file of a sandbox, which may lie about it."""

    name: str
    type: Literal["file", "directory", "link", "special"]
    mode: int
    size: int
    mtime: int
    target: str | None


def file_info(entry: FileEntry, name: str = "") -> FileInfo:
    """Returns an entry. A name that is not UTF-8 has surrogates, as those of
    the module os have."""
    if "encoded" in entry:
        name = os.fsdecode(unquote_to_bytes(entry["encoded"]))
    return FileInfo(
        entry.get("name", name) if "encoded" not in entry else name,
        entry["type"],
        entry["mode"],
        entry["size"],
        entry["mtime"],
        entry.get("target"),
    )


def env_list(env: Mapping[str, str] | None) -> list[str]:
    """Returns variables as NAME=value. Raises ValueError for a bad name."""
    for name in env or {}:
        if not name or "=" in name or "\0" in name:
            raise ValueError("a variable has no name, or one with '='")
    return [f"{name}={value}" for name, value in (env or {}).items()]


def words_of(cmd: Words) -> list[str]:
    """Returns a program and its arguments; text is for the shell."""
    if isinstance(cmd, str):
        return ["/bin/sh", "-c", cmd]
    words = list(cmd)
    if not words:
        raise ValueError("a command without words")
    return words


def millis(seconds: float | None) -> int:
    """Returns @seconds in ms, 0 for None. Raises ValueError if it is not
    positive."""
    if seconds is None:
        return 0
    if seconds <= 0:
        raise ValueError("a timeout has to be positive")
    return max(1, round(seconds * 1000))


def command_request(
    cmd: Words,
    stdin: str | bytes | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    timeout: float | None = None,
    max_output: int | None = None,
    tty: bool = False,
) -> CommandRequest:
    """Returns the body of a command."""
    body: CommandRequest = {"cmd": words_of(cmd), "timeout_ms": millis(timeout)}
    if isinstance(stdin, str):
        body["stdin"] = stdin
    elif stdin is not None:
        body["stdin_base64"] = base64.b64encode(stdin).decode("ascii")
    if env:
        body["env"] = env_list(env)
    if cwd is not None:
        body["cwd"] = cwd
    if max_output is not None:
        body["max_output"] = max_output
    if tty:
        body["tty"] = True
    return body
