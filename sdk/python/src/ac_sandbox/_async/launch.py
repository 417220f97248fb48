# SPDX-License-Identifier: Apache-2.0
"""The start of a run, asynchronous.

acd refuses a run with a word for what is missing: an image, the user's directory, a
service that starts. It is brought, and the same request is sent again. A refused
run has changed nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import cast

from .. import _local, _request
from ..api_types import Instance, InstanceOptions, InstanceRequest, RunAsRequest
from ..errors import (
    ApiError,
    ConfigError,
    ConflictError,
    ImageMissingError,
    StartingError,
    UnavailableError,
)
from ._compat import blocking, sleep
from .client import AsyncClient

WAIT_SECONDS = 60.0  # for an engine or a gateway that starts
PAUSE = 0.2


class AsyncLaunch:
    """One start of the main run of an instance."""

    def __init__(
        self,
        client: AsyncClient,
        body: RunAsRequest,
        *,
        workspace: str | None = None,
        mode: str | None = None,
        build: bool = True,
        on_build: Callable[[str], None] | None = None,
        program: str | None = None,
    ) -> None:
        self._client = client
        self._body = body
        self._workspace = workspace
        self._mode = mode
        self._build = build
        self._on_build = on_build
        self._program = program
        self._directory: _local.Directory | None = None
        self._built = False
        self._waited = 0.0

    async def go(self) -> Instance:
        """Starts it and returns the record. Raises ApiError with the refusal, or
        what _local raises about the directory."""
        where = self._client.where
        options: InstanceOptions = self._body.get("options") or {}
        try:
            if self._workspace is not None:
                home = where.home
                if home is None:
                    raise ConfigError("a directory is only shown at the socket")
                path = self._workspace
                self._directory = await blocking(
                    lambda: _local.directory_open(path, home)
                )
                options["workspace"] = self._directory.path
                if self._mode is not None:
                    options["workspace_mode"] = self._mode  # type: ignore[typeddict-item]
            if where.local:
                options["host_uid"], options["host_gid"] = _local.owner_of(
                    self._directory
                )
                await self._tell_addresses()
            self._body["options"] = options
            return await self._start()
        finally:
            if self._directory is not None:
                os.close(self._directory.fd)
                self._directory = None

    async def _tell_addresses(self) -> None:
        """No sandbox may reach what listens on this machine by its public address."""
        told = await blocking(_local.addresses)
        if told is not None:
            await self._client.call(
                "machine_addresses", body={"addresses": told}
            )

    async def _start(self) -> Instance:
        sent = False
        while True:
            try:
                record = await self._client.call(
                    "run", body=self._body, timeout=_request.SLOW_SECONDS
                )
                return cast(Instance, record)
            except ConflictError as e:
                if e.code == "workspace_needed" and not sent:
                    sent = True
                    by_program = await self._bring_directory(e)
                    if by_program is not None:
                        return by_program
                elif isinstance(e, ImageMissingError) and self._may_build():
                    await self._bring_image(e)
                else:
                    raise
            except UnavailableError as e:
                if not isinstance(e, StartingError) and e.code != "engine_down":
                    raise
                if self._waited >= WAIT_SECONDS:
                    raise
                self._waited += PAUSE
                await sleep(PAUSE)

    def _may_build(self) -> bool:
        may, self._built = self._build and not self._built, True
        return may

    async def _bring_image(self, e: ImageMissingError) -> None:
        image = e.image or e.failure.get("blueprint") or ""
        async for line in self._client.build(image):
            if self._on_build is not None:
                self._on_build(line)

    async def _bring_directory(self, e: ApiError) -> Instance | None:
        """Sends the directory. Returns the record if the program `ac` has started
        the run, because this process may not do the former."""
        name = e.failure.get("instance") or self._body.get("name") or ""
        home = self._client.where.home
        if home is None:
            raise e
        if self._directory is None:  # an instance that has one already
            record = await self._client.instance(name)
            path = record["workspace"]
            self._mode = record["workspace_mode"]
            if path is None:
                raise e
            self._directory = await blocking(
                lambda: _local.directory_open(path, home)
            )
        directory, read_only = self._directory, self._mode != "live"
        if await blocking(
            lambda: _local.directory_send(home, name, directory, read_only)
        ):
            self._body["workspace_dev"] = directory.dev
            self._body["workspace_ino"] = directory.ino
            return None
        return await self._start_by_program(name)

    async def _start_by_program(self, name: str) -> Instance:
        client, home = self._client, self._client.where.home
        assert home is not None
        program = _local.program_find(self._program, client.env)
        words, task = _program_words(name, self._body), self._body.get("prompt")
        before = {i["name"] for i in await client.instances()}
        blueprint = self._body.get("blueprint")
        if blueprint:
            record: InstanceRequest = {
                **(self._body.get("options") or {}),
                "name": name,
                "blueprint": blueprint,
            }
            await client.call("instance_create", body=record)
        try:
            await blocking(
                lambda: _local.program_run(program, home, words, task)
            )
        except BaseException:
            if name not in before:
                await client.call("instance_delete", {"name": name})
            raise
        return await client.instance(name)


def _program_words(name: str, body: RunAsRequest) -> list[str]:
    """Returns the arguments of `ac` for a detached run of an instance; a prompt is
    read from stdin."""
    if body.get("without"):
        raise ConfigError(
            "`ac` cannot leave a credential out: see CAP_SYS_ADMIN"
        )
    verb = "shell" if body.get("shell") else "run"
    words = [verb, "--quiet", "--detach", "--no-project"]
    if body.get("prompt") is not None:
        words.append("--prompt=-")
    cmd = body.get("cmd")
    return [*words, name, "--", *cmd] if cmd else [*words, name]
