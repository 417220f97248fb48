# SPDX-License-Identifier: Apache-2.0
# Made from _async/policy.py by tools/make.py: do not edit.
"""What a sandbox may reach, synchronous."""

from __future__ import annotations

from .. import _request, api_types
from ..api_types import Instance, PolicyRequest, Verdict
from ._http import Http, pieces


class Policy:
    """The policy of an instance. A change is in force at once if it runs. A host is
    HOST[:PORT[-PORT]], .NAME for all names below it, +NAME for both."""

    def __init__(self, http: Http, instance: str) -> None:
        self._http = http
        self._args = {"name": instance}

    def get(self) -> api_types.Policy:
        """Returns its own options, those with its blueprint's, and the file."""
        policy: api_types.Policy = self._http.call(
            "policy_get", self._args
        )
        return policy

    def set(self, request: PolicyRequest) -> Instance:
        """Changes it. Raises InvalidError for what the linter refuses."""
        record: Instance = self._http.call(
            "policy_set", self._args, body=request
        )
        return record

    def allow(self, *hosts: str) -> Instance:
        """Lets it reach these hosts, too; removes their denials."""
        return self.set({"allow": _some(hosts)})

    def deny(self, *hosts: str) -> Instance:
        """Never lets it reach these hosts."""
        return self.set({"deny": _some(hosts)})

    def mode(self, *words: str) -> Instance:
        """Sets a mode (locked, balanced, open) and presets in place of those it
        has."""
        return self.set({"egress": _some(words)})

    def check(self, url: str) -> Verdict:
        """Returns whether it may send a request to @url, and why."""
        verdict: Verdict = self._http.call(
            "policy_check", self._args, query={"url": url}
        )
        return verdict

    def learn(self) -> str:
        """Returns the smallest policy file that allows what its runs reached."""
        data = b""
        with self._http.stream(
            "policy_learn", self._args, timeout=_request.SLOW_SECONDS
        ) as response:
            for piece in pieces(response):
                data += piece
        return data.decode("utf-8")


def _some(words: tuple[str, ...]) -> list[str]:
    """An empty list would remove all that is there."""
    if not words:
        raise ValueError("no host is given")
    return list(words)
