# SPDX-License-Identifier: Apache-2.0
"""Runs an example of README.md as it stands there.

usage: examples.py N
"""

import re
import sys
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"


def examples() -> list[str]:
    """Returns the texts of all examples, in order."""
    text = README.read_text("utf-8")
    return re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def main(words: list[str]) -> int:
    found = examples()
    if len(words) != 1 or not words[0].isdigit():
        print("usage: examples.py N", file=sys.stderr)
        return 2
    code = compile(
        found[int(words[0]) - 1], f"README.md, example {words[0]}", "exec"
    )
    exec(code, {"__name__": "__main__"})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
