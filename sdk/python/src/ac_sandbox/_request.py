# SPDX-License-Identifier: Apache-2.0
"""What is the same in requests of both clients."""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias
from urllib.parse import quote

import httpx

from ._where import Where
from .api_routes import ROUTES, Operation
from .errors import (
    ApiError,
    ProtocolError,
    TransportError,
    TransportTimeout,
    api_error,
)

CONNECT_SECONDS = 10.0
SLOW_SECONDS = 600.0  # calls that copy files
SILENCE_SECONDS = 60.0  # of a stream that has a comment every 15 s
ERROR_MAX = 64 * 1024

Query: TypeAlias = Mapping[str, str | int | bool | bytes | None]


def limits(read: float | None) -> httpx.Timeout:
    """Returns the timeouts of a request; @read None: it waits for an answer."""
    return httpx.Timeout(read, connect=CONNECT_SECONDS)


def headers_of(where: Where) -> dict[str, str]:
    return {"Authorization": f"Bearer {where.token}"} if where.token else {}


def tls_of(where: Where) -> ssl.SSLContext | bool:
    """Returns the authorities of the system, which SSL_CERT_FILE may name."""
    secure = where.url.startswith("https:")
    return ssl.create_default_context() if secure else False


def url_of(
    where: Where, op: Operation, args: Mapping[str, str], query: Query
) -> str:
    """Returns the address of a call. A value of bytes is encoded already."""
    path = ROUTES[op][1]
    for key, value in args.items():
        if not value or value in (".", ".."):
            raise ValueError(f"{key} is not a name: {value!r}")
        path = path.replace("{" + key + "}", quote(value, safe=""))
    words = []
    for key, item in query.items():
        if item is None:
            continue
        if isinstance(item, bool):
            text = "1" if item else "0"
        elif isinstance(item, bytes):
            text = item.decode("ascii")
        else:
            text = quote(os.fsencode(str(item)), safe="/")
        words.append(f"{key}={text}")
    return where.url + path + ("?" + "&".join(words) if words else "")


@contextmanager
def told() -> Iterator[None]:
    """Turns errors of httpx into ours. Theirs have the request, with its token,
    which is taken from them."""
    try:
        yield
    except httpx.RequestError as e:
        e.request = None  # type: ignore[assignment]
        error: TransportError
        if isinstance(e, httpx.TimeoutException):
            error = TransportTimeout(f"no answer in time ({type(e).__name__})")
        elif isinstance(e, httpx.ConnectError):
            error = TransportError(f"acd cannot be reached: {e}")
        else:
            error = TransportError(
                f"the connection broke: {type(e).__name__}: {e}"
            )
        raise error from None


def failure_of(status: int, body: bytes) -> ApiError | ProtocolError:
    """Returns the error that an answer with a status of 400 or more is."""
    try:
        failure = json.loads(body)["error"]
        if isinstance(failure["code"], str) and isinstance(
            failure["message"], str
        ):
            return api_error(status, failure)
    except (ValueError, KeyError, TypeError):
        pass
    return ProtocolError(f"status {status} without a failure of the API")


def json_of(response: httpx.Response) -> Any:
    """Returns the JSON of an answer, None if it has no body. Raises ApiError, or
    ProtocolError."""
    if response.status_code >= 400:
        raise failure_of(response.status_code, response.content)
    if response.status_code == 204 or not response.content:
        return None
    try:
        return json.loads(response.content)
    except ValueError:
        raise ProtocolError("the answer is not JSON: is this acd?") from None
