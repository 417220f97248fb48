# SPDX-License-Identifier: Apache-2.0
"""A server that answers as it is told to, at a unix socket or at a port."""

from __future__ import annotations

import json
import socket
import socketserver
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from ac_sandbox import Client


@dataclass
class Request:
    """What a client has sent."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Answer:
    """What it gets. @pieces are chunks of the body; @cut ends the connection
    without the end of the body."""

    status: int = 200
    body: Any = None
    pieces: list[bytes] | None = None
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    hang: float = 0.0


Script = Callable[[Request], Answer]


def failure(status: int, code: str, **more: str) -> Answer:
    """Returns a failure as the API has them."""
    return Answer(status, {"error": {"code": code, "message": "no", **more}})


def events(*parts: str, cut: bool = False) -> Answer:
    """Returns a stream of events."""
    return Answer(
        pieces=[part.encode("utf-8") for part in parts],
        headers={"Content-Type": "text/event-stream"},
        cut=cut,
    )


def event(name: str, id: str = "", **data: Any) -> str:
    head = f"id: {id}\n" if id else ""
    return f"{head}event: {name}\ndata: {json.dumps(data)}\n\n"


ENDED = {
    "exit_code": 0,
    "signal": None,
    "reason": "exited",
    "message": None,
    "timed_out": False,
    "duration_ms": 1,
    "rusage": {"user_us": 0, "system_us": 0},
}


class Handler(socketserver.StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        while self._one():
            pass

    def _one(self) -> bool:
        line = self.rfile.readline().decode("latin-1").split()
        if len(line) != 3:
            return False
        headers = {}
        while text := self.rfile.readline().decode("latin-1").strip():
            key, _, value = text.partition(":")
            headers[key.lower()] = value.strip()
        request = Request(line[0], line[1], headers, self._body(headers))
        self.server.fake.seen.append(request)
        return self._answer(self.server.fake.script(request))

    def _body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding") != "chunked":
            return self.rfile.read(int(headers.get("content-length", 0)))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _answer(self, answer: Answer) -> bool:
        if answer.hang:
            self.server.fake.stopped.wait(answer.hang)
            return False
        head = {"Content-Type": "application/json", **answer.headers}
        body = b""
        if answer.pieces is not None:
            head["Transfer-Encoding"] = "chunked"
        elif answer.status != 204:
            is_bytes = isinstance(answer.body, bytes)
            body = answer.body if is_bytes else json.dumps(answer.body).encode()
            head["Content-Length"] = str(len(body))
        lines = [f"HTTP/1.1 {answer.status} x"]
        lines += [f"{key}: {value}" for key, value in head.items()]
        try:
            self.wfile.write("\r\n".join([*lines, "", ""]).encode() + body)
            for piece in answer.pieces or ():
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            if answer.pieces is not None and not answer.cut:
                self.wfile.write(b"0\r\n\r\n")
        except OSError:
            return False
        return not answer.cut


class _Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    fake: Fake


class Fake:
    """Serves @script until it is left."""

    def __init__(self, script: Script, tcp: bool = False) -> None:
        self.script = script
        self.seen: list[Request] = []
        self._clients: list[Client] = []
        self.stopped = threading.Event()
        self._dir = tempfile.TemporaryDirectory()
        self.home = Path(self._dir.name)
        (self.home / "run").mkdir()
        if tcp:
            self._server = _Server(("127.0.0.1", 0), Handler)
        else:
            self._server = _Server(("", 0), Handler, bind_and_activate=False)
            self._server.socket.close()
            self._server.socket = socket.socket(socket.AF_UNIX)
            self._server.socket.bind(str(self.home / "run/acd.sock"))
            self._server.socket.listen()
        self._server.fake = self
        port = self._server.socket.getsockname()[1] if tcp else 0
        self.url = f"http://127.0.0.1:{port}" if tcp else ""

    def client(self, **more: Any) -> Client:
        """Returns a client of it, which is closed with it."""
        self._clients.append(Client(home=self.home, **more))
        return self._clients[-1]

    def paths(self) -> list[str]:
        return [f"{r.method} {r.path}" for r in self.seen]

    def __enter__(self) -> Fake:
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,)
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for client in self._clients:
            client.close()
        self.stopped.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._dir.cleanup()
