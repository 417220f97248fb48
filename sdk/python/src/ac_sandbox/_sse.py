# SPDX-License-Identifier: Apache-2.0
"""Reads server-sent events from pieces of any size."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .errors import ProtocolError

EVENT_MAX = 8 * 1024 * 1024  # bytes of one event


@dataclass(frozen=True)
class ServerEvent:
    """One event; `id` is the last that was said."""

    name: str
    data: str
    id: str

    def json(self) -> dict[str, Any]:
        """Returns the data as an object. Raises ProtocolError."""
        try:
            value = json.loads(self.data)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise ProtocolError(
                f"the data of an event '{self.name}' is no object"
            )
        return value


class EventReader:
    """Keeps what of an event has come so far."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._after_cr = False
        self._size = 0
        self._name = ""
        self._data: list[str] = []
        self._id = ""

    def feed(self, piece: bytes) -> Iterator[ServerEvent]:
        """Yields the events that @piece completes. An event that the stream
        cuts off is dropped. Raises ProtocolError."""
        if self._after_cr and piece.startswith(b"\n"):
            piece = piece[1:]
            self._after_cr = False
        if piece:
            self._after_cr = piece.endswith(b"\r")
        if b"\r" in piece:
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = piece.split(b"\n")
        for line in lines:
            self._grow(len(line) + 1)
            self._line += line
            event = self._take(bytes(self._line))
            self._line.clear()
            if event:
                yield event
        self._grow(len(rest))
        self._line += rest

    def _grow(self, n: int) -> None:
        self._size += n
        if self._size > EVENT_MAX:
            raise ProtocolError("an event that is too long")

    def _take(self, line: bytes) -> ServerEvent | None:
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            raise ProtocolError("an event that is not UTF-8") from None
        if not text:
            return self._end()
        key, _, value = text.partition(":")
        value = value.removeprefix(" ")
        if key == "event":
            self._name = value
        elif key == "data":
            self._data.append(value)
        elif key == "id" and "\0" not in value:
            self._id = value
        elif key == "":  # a comment, which shows that the other side lives
            self._size -= len(line) + 1
        return None

    def _end(self) -> ServerEvent | None:
        name, data = self._name or "message", self._data
        self._name, self._data, self._size = "", [], 0
        return ServerEvent(name, "\n".join(data), self._id) if data else None
