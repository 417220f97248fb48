# SPDX-License-Identifier: Apache-2.0
"""Makes the files of the package that are not written by hand.

usage: make.py [--check]

With --check nothing is written: prints what is not current, and exits with 1
if there is such a file.
"""

import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent))

from sync_from import sync_from  # noqa: E402
from types_from import routes_from, types_from  # noqa: E402

HERE = Path(__file__).resolve().parent.parent
PACKAGE = HERE / "src" / "ac_sandbox"
# _compat.py is what differs, and is written for both.
BY_HAND = {"__init__.py", "_compat.py"}


def wanted() -> dict[Path, str]:
    """Returns the text of each file that is made."""
    path = HERE.parent.parent / "docs" / "openapi.json"
    api = json.loads(path.read_text("utf-8"))
    files = {
        PACKAGE / "api_types.py": types_from(api),
        PACKAGE / "api_routes.py": routes_from(api),
    }
    for path in sorted((PACKAGE / "_async").glob("*.py")):
        if path.name not in BY_HAND:
            files[PACKAGE / "_sync" / path.name] = sync_from(path)
    return files


def main(words: list[str]) -> int:
    check = words == ["--check"]
    if words and not check:
        print("usage: make.py [--check]", file=sys.stderr)
        return 2
    stale = 0
    for path, text in wanted().items():
        if path.exists() and path.read_text("utf-8") == text:
            continue
        stale += 1
        if check:
            name = path.relative_to(HERE.parent.parent)
            print(f"{name}: not current: python3 sdk/python/tools/make.py")
        else:
            path.write_text(text, "utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
