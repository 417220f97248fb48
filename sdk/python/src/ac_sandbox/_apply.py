# SPDX-License-Identifier: Apache-2.0
"""Brings changes of files that were uploaded back to the user's directory.

A path is written only if it is there as it was when it was uploaded, and no link on
the way to it is followed. What else was changed meanwhile is a conflict, and stays.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from ._tar import Mark, Tree, mark_of_file
from .changes import Change


def is_git(path: str) -> bool:
    """Returns true if a part of the path is .git, which no apply touches: what it
    names is run by git."""
    return any(part.lower() == ".git" for part in path.split("/"))


def _look(tree: Tree, path: bytes) -> Mark | None:
    """Returns what is at @path, None for nothing."""
    name = path.split(b"/")[-1]
    try:
        at = tree.above(path, False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        st = os.stat(name, dir_fd=at, follow_symlinks=False)
        if stat.S_ISDIR(st.st_mode):
            return ("directory", 0, "")
        if stat.S_ISLNK(st.st_mode):
            return ("link", 0, os.fsdecode(os.readlink(name, dir_fd=at)))
        if not stat.S_ISREG(st.st_mode):
            return ("other", 0, "")
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        with open(os.open(name, flags, dir_fd=at), "rb") as file:
            return mark_of_file(st.st_mode, file.read())
    except FileNotFoundError:
        return None
    finally:
        os.close(at)


def _remove(tree: Tree, path: bytes, kind: str) -> None:
    at = tree.above(path, False)
    try:
        name = path.split(b"/")[-1]
        if kind == "directory":
            os.rmdir(name, dir_fd=at)
        else:
            os.unlink(name, dir_fd=at)
    finally:
        os.close(at)


def _mark(change: Change) -> Mark:
    if change.kind == "file":
        return mark_of_file(change.mode, change.content or b"")
    return (change.kind, 0, change.target or "")


def _write(tree: Tree, change: Change) -> None:
    path = os.fsencode(change.path)
    if change.kind == "directory":
        tree.directory(path)
    elif change.kind == "link":
        tree.link(path, os.fsencode(change.target or ""))
    else:
        tree.file(path, change.mode, change.mtime, [change.content or b""])


class _Apply:
    def __init__(
        self, tree: Tree, marks: dict[str, Mark], theirs: bool
    ) -> None:
        self.tree = tree
        self.marks = marks
        self.theirs = theirs
        self.said: list[str] = []
        self.clean = True

    def say(self, word: str, change: Change) -> None:
        self.said.append(f"{word:9} {change.shown}\n")

    def conflict(self, change: Change) -> None:
        self.clean = False
        self.say("conflict", change)

    def gone(self, change: Change) -> None:
        """Removes what was uploaded at or below a path, unless it has changed."""
        below = [
            p
            for p in self.marks
            if p == change.path or p.startswith(change.path + "/")
        ]
        for path in sorted(below, reverse=True):
            raw = os.fsencode(path)
            if is_git(path):
                self.conflict(Change(path, "deleted"))
                continue
            now, before = _look(self.tree, raw), self.marks[path]
            try:
                if now is not None and (now == before or self.theirs):
                    _remove(self.tree, raw, now[0])
                elif now is not None:
                    self.conflict(Change(path, "deleted"))
                    continue
                del self.marks[path]
            except OSError:  # a directory with something of the user's in it
                self.conflict(Change(path, "deleted"))
                continue
        if change.path not in self.marks:
            self.say("deleted", change)

    def put(self, change: Change) -> None:
        path, new = os.fsencode(change.path), _mark(change)
        now, before = _look(self.tree, path), self.marks.get(change.path)
        try:
            if now != new and now != before and not self.theirs:
                raise FileExistsError
            if (
                now is not None
                and "directory" in (now[0], new[0])
                and now[0] != new[0]
            ):
                _remove(self.tree, path, now[0])
            if now != new:
                _write(self.tree, change)
        except OSError:
            self.conflict(change)
            return
        self.marks[change.path] = new
        self.say("new" if before is None else "changed", change)


def apply(
    changes: Sequence[Change],
    marks: dict[str, Mark],
    top: str,
    only: Sequence[str] = (),
    theirs: bool = False,
) -> tuple[str, bool]:
    """Applies @changes, or those at or below the paths @only, to @top. @marks is
    what was uploaded, and follows. Returns a line a path, and false if conflicts
    are left."""
    wanted = [path.strip("/") for path in only]
    tree = Tree(top)
    try:
        work = _Apply(tree, marks, theirs)
        chosen = []
        for change in changes:
            at = change.path
            if wanted and not any(
                at == w or at.startswith(w + "/") for w in wanted
            ):
                continue
            if is_git(at) or change.kind == "other":
                work.say("left out", change)
            else:
                chosen.append(change)
        for change in reversed(chosen):
            if change.kind == "deleted":
                work.gone(change)
        for change in chosen:
            if change.kind != "deleted":
                work.put(change)
        return "".join(work.said), work.clean
    finally:
        tree.close()
