# SPDX-License-Identifier: Apache-2.0
"""Files of a sandbox, asynchronous."""

from __future__ import annotations

import os
from collections.abc import AsyncIterable, AsyncIterator
from typing import Any

from ..api_types import FileRequest
from ..errors import ArchiveError, NotFoundError
from ..values import FileInfo, file_info
from ._http import AsyncHttp, pieces


class AsyncFiles:
    """Files, as the agent may use them. A path is absolute, or one below
    /workspace. The sandbox has to run, and may lie about its files."""

    def __init__(self, http: AsyncHttp, instance: str) -> None:
        self._http = http
        self._args = {"name": instance}

    async def read(
        self, path: str, offset: int = 0, most: int | None = None
    ) -> bytes:
        """Returns the bytes of a file from @offset on, at most @most."""
        data = bytearray()
        async for piece in self.read_pieces(path, offset, most):
            data += piece
        return bytes(data)

    async def read_text(self, path: str) -> str:
        """Returns a file of UTF-8. Raises UnicodeDecodeError for another."""
        return (await self.read(path)).decode("utf-8")

    async def read_pieces(
        self, path: str, offset: int = 0, most: int | None = None
    ) -> AsyncIterator[bytes]:
        """Yields the bytes of a file in pieces."""
        headers = {}
        if most is not None and most <= 0:
            return
        if offset or most is not None:
            end = "" if most is None else str(offset + most - 1)
            headers["Range"] = f"bytes={offset}-{end}"
        async with self._http.stream(
            "files_get", self._args, query={"path": path}, headers=headers
        ) as response:
            async for piece in pieces(response):
                yield piece

    async def write(
        self,
        path: str,
        data: bytes | str | AsyncIterable[bytes],
        *,
        mode: int | None = None,
        parents: bool = False,
        exclusive: bool = False,
        mtime: int | None = None,
    ) -> int:
        """Writes a file, which appears whole or not at all. Returns its size.
        @exclusive: raises ConflictError if it exists."""
        answer = await self._http.call(
            "files_put",
            self._args,
            query={
                "path": path,
                "mode": None if mode is None else f"{mode:o}",
                "mtime": mtime,
                "parents": parents or None,
                "exclusive": exclusive or None,
            },
            content=data.encode("utf-8") if isinstance(data, str) else data,
        )
        return int(answer["bytes"])

    async def list(self, path: str = "/workspace") -> list[FileInfo]:
        """Returns what is in a directory, in order of name."""
        found: list[FileInfo] = []
        async for info in self.iterate(path):
            found.append(info)
        return found

    async def iterate(
        self, path: str = "/workspace"
    ) -> AsyncIterator[FileInfo]:
        """Yields what is in a directory, asked for page by page."""
        after: bytes | None = None
        while True:
            page = await self._http.call(
                "files_get",
                self._args,
                query={"path": path, "list": True, "after": after},
            )
            for entry in page["entries"]:
                yield file_info(entry)
            if not page["more"]:
                return
            following = str(page.get("next", "")).encode("ascii", "replace")
            if not following or following == after:
                raise ArchiveError("the list of a directory does not go on")
            after = following

    async def stat(self, path: str, follow: bool = False) -> FileInfo:
        """Returns type, size and time; of a link those of itself, or with @follow
        those of what it leads to."""
        entry: Any = await self._http.call(
            "files_get",
            self._args,
            query={"path": path, "stat": True, "follow": follow or None},
        )
        return file_info(entry, os.path.basename(path.rstrip("/")))

    async def exists(self, path: str) -> bool:
        """Returns true if there is something with that name."""
        try:
            await self.stat(path)
        except NotFoundError:
            return False
        return True

    async def mkdir(
        self, path: str, *, parents: bool = False, mode: int = 0
    ) -> None:
        """Makes a directory. @parents: also those above it, and succeeds if it
        exists."""
        body: FileRequest = {"op": "mkdir", "parents": parents, "mode": mode}
        await self._http.call(
            "files_post", self._args, query={"path": path}, body=body
        )

    async def rename(
        self, path: str, to: str, *, replace: bool = False
    ) -> None:
        """Renames. Without @replace, raises ConflictError if @to exists."""
        body: FileRequest = {"op": "rename", "to": to, "replace": replace}
        await self._http.call(
            "files_post", self._args, query={"path": path}, body=body
        )

    async def remove(self, path: str, *, recursive: bool = False) -> None:
        """Removes a file or an empty directory; @recursive: with its content."""
        query = {"path": path, "recursive": recursive or None}
        await self._http.call("files_delete", self._args, query=query)
