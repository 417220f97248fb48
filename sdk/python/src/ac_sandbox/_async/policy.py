# SPDX-License-Identifier: Apache-2.0
"""What a sandbox may reach, asynchronous."""

from __future__ import annotations

from .. import _request, api_types
from ..api_types import Instance, PolicyRequest, Verdict
from ._http import AsyncHttp, pieces


class AsyncPolicy:
    """The policy of an instance. A change is in force at once if it runs. A host is
    HOST[:PORT[-PORT]], .NAME for all names below it, +NAME for both."""

    def __init__(self, http: AsyncHttp, instance: str) -> None:
        self._http = http
        self._args = {"name": instance}

    async def get(self) -> api_types.Policy:
        """Returns its own options, those with its blueprint's, and the file."""
        policy: api_types.Policy = await self._http.call(
            "policy_get", self._args
        )
        return policy

    async def set(self, request: PolicyRequest) -> Instance:
        """Changes it. Raises InvalidError for what the linter refuses."""
        record: Instance = await self._http.call(
            "policy_set", self._args, body=request
        )
        return record

    async def allow(self, *hosts: str) -> Instance:
        """Lets it reach these hosts, too; removes their denials."""
        return await self.set({"allow": _some(hosts)})

    async def deny(self, *hosts: str) -> Instance:
        """Never lets it reach these hosts."""
        return await self.set({"deny": _some(hosts)})

    async def mode(self, *words: str) -> Instance:
        """Sets a mode (locked, balanced, open) and presets in place of those it
        has."""
        return await self.set({"egress": _some(words)})

    async def check(self, url: str) -> Verdict:
        """Returns whether it may send a request to @url, and why."""
        verdict: Verdict = await self._http.call(
            "policy_check", self._args, query={"url": url}
        )
        return verdict

    async def learn(self) -> str:
        """Returns the smallest policy file that allows what its runs reached."""
        data = b""
        async with self._http.stream(
            "policy_learn", self._args, timeout=_request.SLOW_SECONDS
        ) as response:
            async for piece in pieces(response):
                data += piece
        return data.decode("utf-8")


def _some(words: tuple[str, ...]) -> list[str]:
    """An empty list would remove all that is there."""
    if not words:
        raise ValueError("no host is given")
    return list(words)
