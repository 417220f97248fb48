# SPDX-License-Identifier: Apache-2.0
# Made from _async/command.py by tools/make.py: do not edit.
"""Commands in a sandbox, synchronous."""

from __future__ import annotations

import base64
import signal as signals
from collections.abc import Generator
from typing import Any

import httpx

from .. import _request, api_types
from .._sse import EventReader
from ..errors import (
    Error,
    ProtocolError,
    StdinFullError,
    TransportError,
    api_error,
)
from ..values import Ended, Event, Output, Result, Started, event_of, result_of
from ._compat import sleep
from ._http import Http, pieces

TRIES = 6  # to come back to a stream that broke, without an event in between
INPUT_PIECE = 512 * 1024
LEAVE_SECONDS = 5.0


class Events:
    """Events of a command, in their order. Close it, or use it with `with`,
    if you do not read it to its end."""

    def __init__(self, events: Generator[Event, None, None]) -> None:
        self._events = events

    def __iter__(self) -> Events:
        return self

    def __next__(self) -> Event:
        return self._events.__next__()

    def __enter__(self) -> Events:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leaves the stream."""
        self._events.close()


class LastId:
    """The id of the last event that was given."""

    def __init__(self, value: str | None = None) -> None:
        self.value = value


def read_events(
    response: httpx.Response, last: LastId
) -> Generator[Event, None, None]:
    """Yields the events of one answer. Raises ApiError for an event that is a
    failure, TransportError if the stream breaks."""
    kind = response.headers.get("content-type", "")
    if not kind.startswith("text/event-stream"):
        raise ProtocolError("the answer is no stream of events")
    reader = EventReader()
    for piece in pieces(response):
        for told in reader.feed(piece):
            data = told.json()
            if told.name == "error":
                failure: Any = {"code": "internal", "message": "", **data}
                raise api_error(200, failure)
            event = event_of(told.name, data)
            if event is not None:
                yield event
            last.value = told.id or last.value


def run_events(
    http: Http, name: str, body: api_types.CommandRequest
) -> Generator[Event, None, None]:
    """Yields the events of a command that ends with the stream."""
    id = ""
    try:
        with http.stream(
            "command_start",
            {"name": name},
            body=body,
            headers={"Accept": "text/event-stream"},
            timeout=_request.SILENCE_SECONDS,
        ) as response:
            for event in read_events(response, LastId()):
                if isinstance(event, Started):
                    id = event.id
                elif isinstance(event, Ended):
                    id = ""
                yield event
                if isinstance(event, Ended):
                    return
        raise TransportError("the stream ended before the command")
    finally:
        if id:
            _leave(Command(http, name, id))


def _leave(command: Command) -> None:
    """Ends a command whose stream was left: over TCP acd would see that no sooner
    than it writes to the stream."""
    try:
        command.remove(timeout=LEAVE_SECONDS)
    except Error:
        pass


def run_command(
    http: Http, name: str, body: api_types.CommandRequest, most: int
) -> Result:
    """Runs a command and returns how it has ended, with the first @most bytes of
    each stream. Its events show all the time that acd lives."""
    kept = {"stdout": bytearray(), "stderr": bytearray()}
    id, cut = "", False
    events = run_events(http, name, body)
    try:
        for event in events:
            if isinstance(event, Started):
                id = event.id
            elif isinstance(event, Output):
                room = most - len(kept[event.stream])
                kept[event.stream] += event.data[:room]
                cut = cut or len(event.data) > room
            elif isinstance(event, Ended):
                out, err = bytes(kept["stdout"]), bytes(kept["stderr"])
                return Result(
                    id,
                    event.exit_code,
                    out,
                    err,
                    event.signal,
                    event.reason,
                    event.message,
                    event.timed_out,
                    cut,
                    event.duration_ms,
                )
            else:
                cut = True
    finally:
        events.close()
    raise ProtocolError("a command without its end")


class Command:
    """A command that goes on by itself, until it ends or is removed."""

    def __init__(self, http: Http, instance: str, id: str) -> None:
        self._http = http
        self.instance = instance
        self.id = id

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} of {self.instance}>"

    @property
    def _args(self) -> dict[str, str]:
        return {"name": self.instance, "id": self.id}

    def info(self) -> api_types.Command:
        """Returns its record, with what is kept of its output."""
        info: api_types.Command = self._http.call(
            "command_get", self._args
        )
        return info

    def events(self, after: str | None = None) -> Events:
        """Returns its events, from the first byte that is kept or from behind the
        event with the id @after. A stream that breaks is taken up where it was."""
        return Events(self._follow(LastId(after)))

    def _follow(self, last: LastId) -> Generator[Event, None, None]:
        started = last.value is not None
        tries = 0
        while True:
            before = last.value
            try:
                with self._http.stream(
                    "command_events",
                    self._args,
                    headers={
                        "Accept": "text/event-stream",
                        **({"Last-Event-ID": before} if before else {}),
                    },
                    timeout=_request.SILENCE_SECONDS,
                ) as response:
                    if response.status_code == 204:
                        return
                    for event in read_events(response, last):
                        if isinstance(event, Started) and started:
                            continue
                        started = True
                        yield event
                        if isinstance(event, Ended):
                            return
                error = TransportError("the stream ended before the command")
            except TransportError as e:
                error = e
            tries = 1 if last.value != before else tries + 1
            if tries > TRIES:
                raise error
            sleep(min(0.1 * 2**tries, 5.0))

    def wait(self, timeout: float | None = None) -> Result:
        """Waits for its end and returns how it ended, with what is kept of its
        output: the last bytes. Raises TimeoutError after @timeout seconds; the
        command goes on then."""
        if timeout is None:
            with self.events() as events:
                for _ in events:
                    pass
        waited, pause = 0.0, 0.02
        while timeout is not None and self._runs():
            if waited >= timeout:
                raise TimeoutError(f"{self!r} runs after {timeout} s")
            sleep(pause)
            waited += pause
            pause = min(pause * 1.5, 0.5)
        return result_of(self.info())

    def _runs(self) -> bool:
        """Returns true if it has not ended; its output is not asked for."""
        answer = self._http.call("command_list", {"name": self.instance})
        for command in answer["commands"]:
            if command["id"] == self.id:
                return bool(command["state"] == "running")
        return False  # what info() says is the error then

    def input(self, data: str | bytes = b"", close: bool = False) -> None:
        """Sends bytes to its stdin, which has to be open, and ends it with
        @close. Waits while the command does not read."""
        raw = data.encode("utf-8") if isinstance(data, str) else data
        at = 0
        while True:
            piece = raw[at : at + INPUT_PIECE]
            at += len(piece)
            body: api_types.CommandInput = {
                "base64": base64.b64encode(piece).decode("ascii"),
                "close": close and at >= len(raw),
            }
            self._input_piece(body)
            if at >= len(raw):
                return

    def _input_piece(self, body: api_types.CommandInput) -> None:
        pause = 0.02
        while True:
            try:
                self._http.call("command_stdin", self._args, body=body)
                return
            except StdinFullError:
                sleep(pause)
                pause = min(pause * 2, 1.0)

    def signal(self, number: int) -> None:
        """Sends a signal to its process group."""
        body = {"signal": int(number)}
        self._http.call("command_signal", self._args, body=body)

    def kill(self) -> None:
        """Ends it by SIGKILL. It is kept, with its output."""
        self.signal(signals.SIGKILL)

    def remove(self, timeout: float = 60.0) -> None:
        """Kills it if it runs, and forgets it."""
        self._http.call("command_remove", self._args, timeout=timeout)
