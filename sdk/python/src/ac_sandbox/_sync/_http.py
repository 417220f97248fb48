# SPDX-License-Identifier: Apache-2.0
# Made from _async/_http.py by tools/make.py: do not edit.
"""Requests to acd, synchronous."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx

from .. import _request
from .._request import Query
from .._where import Where
from ..api_routes import ROUTES, Operation


class Http:
    """A pool of connections to one place."""

    def __init__(self, where: Where, timeout: float) -> None:
        self.where = where
        self._timeout = timeout
        self._http = httpx.Client(
            transport=httpx.HTTPTransport(
                uds=where.socket, verify=_request.tls_of(where), trust_env=False
            ),
            headers={"User-Agent": "ac-sandbox", **_request.headers_of(where)},
            follow_redirects=False,
            trust_env=False,
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.where!r}>"

    def close(self) -> None:
        self._http.close()

    def call(
        self,
        op: Operation,
        args: Mapping[str, str] | None = None,
        *,
        query: Query | None = None,
        body: Any = None,
        content: bytes | Iterable[bytes] | None = None,
        timeout: float | None = 0.0,
    ) -> Any:
        """Makes a call and returns its JSON, None without one. @timeout 0: the
        client's; None: waits. Raises ApiError and TransportError."""
        request = self._request(op, args, query, body, content, timeout, {})
        with _request.told():
            response = self._http.send(request)
        return _request.json_of(response)

    @contextmanager
    def stream(
        self,
        op: Operation,
        args: Mapping[str, str] | None = None,
        *,
        query: Query | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = 0.0,
    ) -> Iterator[httpx.Response]:
        """Makes a call whose answer is read in pieces. Raises as call() does."""
        request = self._request(
            op, args, query, body, None, timeout, headers or {}
        )
        with _request.told():
            response = self._http.send(request, stream=True)
        try:
            if response.status_code >= 400:
                raise _request.failure_of(
                    response.status_code, self._start_of(response)
                )
            yield response
        finally:
            with _request.told():
                response.close()

    @staticmethod
    def _start_of(response: httpx.Response) -> bytes:
        data = b""
        with _request.told():
            for piece in response.iter_bytes():
                data += piece
                if len(data) > _request.ERROR_MAX:
                    break
        return data

    def _request(
        self,
        op: Operation,
        args: Mapping[str, str] | None,
        query: Query | None,
        body: Any,
        content: bytes | Iterable[bytes] | None,
        timeout: float | None,
        headers: Mapping[str, str],
    ) -> httpx.Request:
        given: dict[str, Any] = {}
        if body is not None:
            given["json"] = body
        elif content is not None:
            given["content"] = content
        read = self._timeout if timeout == 0.0 else timeout
        return self._http.build_request(
            ROUTES[op][0],
            _request.url_of(self.where, op, args or {}, query or {}),
            headers=headers,
            timeout=_request.limits(read),
            **given,
        )


def pieces(response: httpx.Response) -> Iterator[bytes]:
    """Yields the bytes of an answer. Raises TransportError."""
    data = response.iter_bytes()
    while True:
        with _request.told():
            try:
                piece = data.__next__()
            except StopIteration:
                return
        yield piece
