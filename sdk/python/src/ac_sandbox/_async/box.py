# SPDX-License-Identifier: Apache-2.0
"""An instance that exists, asynchronous."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import cast

from .. import _request, api_types
from ..api_routes import Operation
from ..api_types import Instance
from ..values import Result, Words, command_request
from ._compat import sleep
from ._http import pieces
from .client import AsyncClient
from .command import AsyncCommand, AsyncEvents, run_command, run_events
from .files import AsyncFiles
from .policy import AsyncPolicy

MIB = 1 << 20


class AsyncBox:
    """What can be asked of an instance, by any client."""

    def __init__(self, client: AsyncClient, name: str) -> None:
        self.client = client
        self.name = name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    @property
    def _args(self) -> dict[str, str]:
        return {"name": self.name}

    @property
    def files(self) -> AsyncFiles:
        """Its files, while it runs."""
        return AsyncFiles(self.client.http, self.name)

    @property
    def policy(self) -> AsyncPolicy:
        """What it may reach."""
        return AsyncPolicy(self.client.http, self.name)

    async def info(self) -> Instance:
        """Returns its record. Raises NotFoundError."""
        return await self.client.instance(self.name)

    # ---- life ----

    async def wait(self) -> Instance:
        """Waits until its main run has ended and returns the record, with exit_code
        and reason. What it has printed is in logs()."""
        while True:
            async for _ in self.follow_logs(tail=0):
                pass
            record = await self.info()
            if record["state"] in ("stopped", "failed", "expired", "created"):
                return record
            await sleep(0.2)

    async def stop(self, grace: float | None = None) -> None:
        """Stops it: TERM, and KILL after @grace seconds (10). Succeeds if it does
        not run."""
        body = {} if grace is None else {"grace_ms": round(grace * 1000)}
        await self._slow("instance_stop", body)

    async def pause(self) -> None:
        """Freezes it."""
        await self._slow("instance_pause")

    async def resume(self) -> None:
        """Lets it go on after pause() or hibernate()."""
        await self._slow("instance_resume")

    async def hibernate(self) -> None:
        """Writes its memory to the disk, until it is used."""
        await self._slow("instance_hibernate")

    async def touch(self) -> None:
        """Counts its ttl and its idle time from now on."""
        await self._slow("instance_touch")

    async def destroy(self) -> None:
        """Removes all of it, also if it runs; never a directory of yours."""
        await self.client.call(
            "instance_delete",
            self._args,
            query={"force": True},
            timeout=_request.SLOW_SECONDS,
        )

    async def _slow(
        self, op: Operation, body: object = None
    ) -> dict[str, object]:
        answer = await self.client.call(
            op, self._args, body=body, timeout=_request.SLOW_SECONDS
        )
        return cast(dict[str, object], answer)

    # ---- commands ----

    async def run(
        self,
        cmd: Words,
        *,
        stdin: str | bytes | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        timeout: float | None = None,
        max_output: int = MIB,
        check: bool = False,
    ) -> Result:
        """Runs a command and returns how it has ended. Text is for the shell, a list
        is a program and its arguments. After @timeout seconds it is ended, with
        timed_out. @max_output: bytes of each stream that are kept, the first ones.
        It is killed if this call is left. @check: raises CommandFailed for another
        exit code than 0."""
        body = command_request(cmd, stdin, env, cwd, timeout)
        result = await run_command(
            self.client.http, self.name, body, max_output
        )
        return result.check() if check else result

    def stream(
        self,
        cmd: Words,
        *,
        stdin: str | bytes | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        timeout: float | None = None,
    ) -> AsyncEvents:
        """Runs a command and gives its output as it comes. It is killed if the
        stream is closed, and waits for one who reads slowly."""
        body = command_request(cmd, stdin, env, cwd, timeout)
        return AsyncEvents(run_events(self.client.http, self.name, body))

    async def start_command(
        self,
        cmd: Words,
        *,
        stdin: str | bytes | None = None,
        stdin_open: bool = False,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        timeout: float | None = None,
        max_output: int | None = None,
        tty: bool = False,
    ) -> AsyncCommand:
        """Starts a command that goes on by itself. With @stdin_open it takes
        input(). The last @max_output bytes are kept (1 MiB)."""
        body = command_request(cmd, stdin, env, cwd, timeout, max_output, tty)
        body["detached"] = True
        body["stdin_open"] = stdin_open
        answer = await self.client.call("command_start", self._args, body=body)
        return self.command(answer["id"])

    def command(self, id: str) -> AsyncCommand:
        """Returns the command with this id."""
        return AsyncCommand(self.client.http, self.name, id)

    async def commands(self) -> list[api_types.Command]:
        """Returns the records of its commands, without their output."""
        answer = await self.client.call("command_list", self._args)
        return cast(list[api_types.Command], answer["commands"])

    # ---- the main run ----

    async def logs(self, tail: int | None = None) -> bytes:
        """Returns the recorded output of the main run; @tail: so many lines."""
        data = bytearray()
        async for piece in self._logs({"tail": tail}, 0.0):
            data += piece
        return bytes(data)

    async def follow_logs(
        self, tail: int | None = None
    ) -> AsyncIterator[bytes]:
        """Yields that output, and what is added, until the run ends."""
        async for piece in self._logs({"tail": tail, "follow": True}, None):
            yield piece

    async def _logs(
        self, query: _request.Query, timeout: float | None
    ) -> AsyncIterator[bytes]:
        async with self.client.http.stream(
            "instance_logs", self._args, query=query, timeout=timeout
        ) as response:
            async for piece in pieces(response):
                yield piece

    # ---- snapshots ----

    async def snapshot(
        self, tag: str | None = None, memory: bool = False
    ) -> api_types.Snapshot:
        """Saves its files, and with @memory what runs. Without @tag it expires."""
        answer = await self._slow(
            "instance_snapshot", {"tag": tag, "memory": memory}
        )
        return cast(api_types.Snapshot, answer)

    async def snapshots(self) -> list[api_types.Snapshot]:
        """Returns its snapshots."""
        answer = await self.client.call("instance_snapshots", self._args)
        return cast(list[api_types.Snapshot], answer["snapshots"])

    async def snapshot_remove(self, tag: str) -> None:
        """Removes a snapshot."""
        await self.client.call(
            "instance_snapshot_remove", self._args, query={"tag": tag}
        )

    # ---- looks ----

    async def processes(self) -> list[api_types.Process]:
        """Returns the processes in it."""
        answer = await self.client.call("instance_processes", self._args)
        return cast(list[api_types.Process], answer["processes"])

    async def stats(self) -> api_types.Stats:
        """Returns what it uses now."""
        return cast(
            api_types.Stats,
            await self.client.call("instance_stats", self._args),
        )

    async def ports(self) -> list[api_types.Port]:
        """Returns its published ports."""
        answer = await self.client.call("instance_ports", self._args)
        return cast(list[api_types.Port], answer["ports"])
