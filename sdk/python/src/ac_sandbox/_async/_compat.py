# SPDX-License-Identifier: Apache-2.0
"""What the two clients do in different ways."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def sleep(seconds: float) -> None:
    await asyncio.sleep(seconds)


async def blocking(fn: Callable[[], T]) -> T:
    """Calls @fn, which waits, and returns its result."""
    return await asyncio.to_thread(fn)
