# SPDX-License-Identifier: Apache-2.0
"""The synchronous client, made from the asynchronous one.

Both are the same but for a list of words, so only one is written by hand.
"""

import re
from pathlib import Path

NOTE = "# Made from _async/{name} by tools/make.py: do not edit.\n"

# In this order; each is a pattern and what takes its place.
WORDS = (
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\bAsyncGenerator\[(.+), None\]", r"Generator[\1, None, None]"),
    (r"\bAsyncGenerator\b", "Generator"),
    (r"\bAsyncIterator\b", "Iterator"),
    (r"\bAsyncIterable\b", "Iterable"),
    (r"\bAsyncContextManager\b", "ContextManager"),
    (r"\basynccontextmanager\b", "contextmanager"),
    (r"\bAsyncBaseTransport\b", "BaseTransport"),
    (r"\bAsyncHTTPTransport\b", "HTTPTransport"),
    (r"\bAsync(?=[A-Z])", ""),
    (r"\bStopAsyncIteration\b", "StopIteration"),
    (r"\b__a(enter|exit|iter|next)__", r"__\1__"),
    (r"\baclose\b", "close"),
    (r"\baiter_", "iter_"),
    (r"\baread\b", "read"),
    (r"\basynchronous\b", "synchronous"),
    (r"\b_async\b", "_sync"),
)


def sync_from(path: Path) -> str:
    """Returns the text of the synchronous module."""
    text = path.read_text("utf-8")
    for pattern, word in WORDS:
        text = re.sub(pattern, word, text)
    head, rest = text.split("\n", 1)
    return head + "\n" + NOTE.format(name=path.name) + rest
