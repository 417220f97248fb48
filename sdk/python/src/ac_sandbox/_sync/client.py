# SPDX-License-Identifier: Apache-2.0
# Made from _async/client.py by tools/make.py: do not edit.
"""The client of acd, synchronous."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, cast

from .. import _request, api_types
from .._request import Query
from .._sse import EventReader
from .._where import Where, where_from
from ..api_routes import Operation
from ..errors import ProtocolError, api_error
from ._http import Http, pieces


class Client:
    """Calls acd: at its unix socket in AC_HOME, or at @url (AC_API_URL) with @token
    (AC_API_TOKEN). @timeout: seconds without an answer, for calls that do not run
    or copy anything. Close it, or use it with `with`."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        home: str | os.PathLike[str] | None = None,
        insecure: bool = False,
        timeout: float = 60.0,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.env: Mapping[str, str] = os.environ if env is None else env
        self.http = Http(
            where_from(url, token, home, insecure, env), timeout
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.where!r}>"

    @property
    def where(self) -> Where:
        return self.http.where

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes its connections."""
        self.http.close()

    def call(
        self,
        operation: Operation,
        args: Mapping[str, str] | None = None,
        *,
        query: Query | None = None,
        body: Any = None,
        timeout: float | None = 0.0,
    ) -> Any:
        """Makes any call of the API by its operationId and returns its JSON. @args
        are the words of its path."""
        return self.http.call(
            operation, args, query=query, body=body, timeout=timeout
        )

    def version(self) -> api_types.Version:
        """Returns what the daemon is."""
        return cast(api_types.Version, self.call("version"))

    def status(self) -> api_types.Status:
        """Returns the state of the daemon and of what it supervises."""
        return cast(api_types.Status, self.call("status"))

    def instances(self) -> list[api_types.Instance]:
        """Returns all instances."""
        answer = self.call("instance_list")
        return cast(list[api_types.Instance], answer["instances"])

    def instance(self, name: str) -> api_types.Instance:
        """Returns one instance. Raises NotFoundError."""
        return cast(
            api_types.Instance, self.call("instance_get", {"name": name})
        )

    def blueprints(self) -> list[api_types.Blueprint]:
        """Returns all blueprints."""
        answer = self.call("blueprint_list")
        return cast(list[api_types.Blueprint], answer["blueprints"])

    def blueprint(self, name: str) -> api_types.Blueprint:
        """Returns one blueprint. Raises NotFoundError."""
        return cast(
            api_types.Blueprint,
            self.call("blueprint_get", {"name": name}),
        )

    def images(self) -> list[api_types.Image]:
        """Returns the images of the nested engine."""
        answer = self.call("image_list")
        return cast(list[api_types.Image], answer["images"])

    def build(
        self, blueprint: str, request: api_types.BuildRequest | None = None
    ) -> Iterator[str]:
        """Builds the image of a blueprint if it is not up to date, and yields lines
        of progress. Raises ApiError if the build fails. It ends if nobody reads."""
        rest = b""
        with self.http.stream(
            "blueprint_build",
            {"name": blueprint},
            body=request or {},
            timeout=None,
        ) as response:
            for piece in pieces(response):
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    told = _build_line(line)
                    if "error" in told:
                        raise api_error(200, told["error"])
                    if told.get("done"):
                        return
                    if "line" in told:
                        yield told["line"]
        raise ProtocolError("the build ended without a word about it")

    def snapshots(self) -> list[api_types.Snapshot]:
        """Returns the snapshots of all instances."""
        answer = self.call("snapshot_list")
        return cast(list[api_types.Snapshot], answer["snapshots"])

    def events(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yields ("instance", Instance) when a state changes, and ("breach", Breach)
        when a limit is reached or a credential is revoked."""
        reader = EventReader()
        with self.http.stream(
            "events", timeout=_request.SILENCE_SECONDS
        ) as response:
            for piece in pieces(response):
                for told in reader.feed(piece):
                    yield told.name, told.json()

    def usage(
        self, name: str | None = None, since: int | None = None
    ) -> list[api_types.UsageUsageItem]:
        """Returns what instances have asked of models."""
        answer = self.call("usage", query={"name": name, "since": since})
        return cast(list[api_types.UsageUsageItem], answer["usage"])

    def credentials(self) -> list[api_types.VaultEntry]:
        """Returns the entries of the vault, without their values."""
        answer = self.call("vault_list")
        return cast(list[api_types.VaultEntry], answer["entries"])

    def credential_add(
        self, name: str, value: str | bytes, **more: Any
    ) -> api_types.VaultEntry:
        """Adds a credential to the vault; @more are members of CredentialRequest,
        such as kind and hosts. No call gives the value back."""
        body = {**more, "name": name, "value": _base64(value)}
        return cast(
            api_types.VaultEntry, self.call("vault_add", body=body)
        )

    def credential_rotate(self, name: str, value: str | bytes) -> None:
        """Gives a credential a new value."""
        body = {"value": _base64(value)}
        self.call("vault_rotate", {"name": name}, body=body)

    def credential_remove(self, name: str) -> None:
        """Removes a credential."""
        self.call("vault_remove", {"name": name})


def _base64(value: str | bytes) -> str:
    raw = value.encode("utf-8") if isinstance(value, str) else value
    return base64.b64encode(raw).decode("ascii")


def _build_line(line: bytes) -> dict[str, Any]:
    try:
        told = json.loads(line) if line.strip() else {}
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise ProtocolError("a line of a build is not JSON")
    return told
