# SPDX-License-Identifier: Apache-2.0
"""What the two clients do in different ways."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def blocking(fn: Callable[[], T]) -> T:
    """Calls @fn, which waits, and returns its result."""
    return fn()
