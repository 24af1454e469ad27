"""The files of a folder, and the names that they have as documents."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from extractors.document_model import Finding
from extractors.shared_errors import SourceUnreadable

#: Hidden files of a folder that are named one by one.
_MOST_NAMES = 5
#: Folders of what programs install or make, which are nobody's own documents.
_INSTALLED = frozenset({"__pycache__", "bower_components", "node_modules", "site-packages"})


def document_name(path: Path) -> str:
    """Return the name of a file as a document; what no text can hold is spelled out.

    >>> document_name(Path("caf\\udce9.txt"))
    'caf\\\\udce9.txt'
    """
    return str(path).encode("utf-8", "backslashreplace").decode("utf-8")


def files_in(folder: Path, hidden: list[str]) -> Iterator[Path]:
    """Return the files in *folder* and below it; a folder below that can't be read stands for its own.

    Those whose names begin with a dot, and what is in such folders or in those of installed programs, are not among
    them, but go to *hidden*.

    Raises `SourceUnreadable` when *folder* itself can't be read.
    """
    unreadable: list[OSError] = []
    for place, folders, names in os.walk(folder, onerror=unreadable.append):
        passed_over = {name for name in (*folders, *names) if name.startswith(".")}.union(
            _INSTALLED.intersection(folders)
        )
        hidden += [os.path.relpath(Path(place, name), folder) for name in passed_over]
        folders[:] = [name for name in folders if name not in passed_over]
        yield from (path for name in names if name not in passed_over and _may_be_file(path := Path(place, name)))
    for problem in unreadable:
        if Path(problem.filename) == folder:
            raise SourceUnreadable(f"{folder} can't be read: {problem.strerror}")
        yield Path(problem.filename)


def hidden_finding(names: Sequence[str]) -> Finding:
    """Return the finding about files and folders that were passed over.

    >>> hidden_finding([".git", ".a", ".b", ".c", ".d", ".e"]).detail
    'hidden or installed, and not read unless they are named: .a, .b, .c, .d, .e and 1 more'
    """
    first = sorted(names)[:_MOST_NAMES]
    more = f" and {len(names) - len(first)} more" if len(names) > len(first) else ""
    return Finding(
        "members-skipped", f"hidden or installed, and not read unless they are named: {', '.join(first)}{more}"
    )


def _may_be_file(path: Path) -> bool:
    """Return whether it is a file; where we may not know, the row about it will say."""
    try:
        return path.is_file()
    except PermissionError:
        return True


def unwritable(folder: Path) -> str | None:
    """Return why *folder* can neither be made nor written to; None if it can. Leaves nothing behind.

    It is tried: a file system may say that one may write, and let nobody, as /proc does.
    """
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not there.is_dir():
        return f"{there}: is not a folder"
    try:
        with TemporaryDirectory(prefix=".arkaudit-", dir=there):
            return None
    except OSError as problem:
        return f"{there}: the folder can't be written to: {problem.strerror}"
