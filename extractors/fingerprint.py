"""The fingerprint of all that decides which ARKs are found in a document."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final

#: Libraries that read documents.
_READERS: Final = (
    "beautifulsoup4", "ijson", "lxml", "markdown-it-py", "pikepdf", "pymarc", "pypdfium2", "regex",
)  # fmt: skip
_MISSING: Final = "missing"


@cache
def fingerprint(version: str) -> tuple[str, ...]:
    """Return the *version* of arkaudit, and what else two processes have in common that find the same.

    That is Python, the libraries that read documents, and our own code, which a developer changes between versions.

    >>> fingerprint("0.1.0")[0]
    'arkaudit 0.1.0'
    """
    from importlib import metadata  # which takes longer than all that follows

    def installed(package: str) -> str:
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            return _MISSING

    python = ".".join(platform.python_version_tuple()[:2])
    versions = (f"{name} {installed(name)}" for name in _READERS)
    return (f"arkaudit {version}", f"code {code_digest(Path(__file__).parent)}", f"Python {python}", *versions)


def code_digest(folder: Path) -> str:
    """Return what is another when a module in *folder* is: it goes by names and texts, however lines end."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        text = path.read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{path.relative_to(folder).as_posix()} {len(text)}\n".encode() + text)
    return digest.hexdigest()[:12]


def difference(expected: Iterable[str], found: Iterable[str]) -> str:
    """Return in words what was *found* of another version than is *expected*.

    >>> difference(("arkaudit 1", "lxml 6"), ("arkaudit 1", "lxml 5"))
    'lxml 5 instead of lxml 6'
    >>> difference(("arkaudit 1", "code 2b"), ("arkaudit 1",))
    'another code'
    """
    here, there = (dict(each.split(" ", 1) for each in some) for some in (expected, found))
    words = [
        f"{name} {there[name]} instead of {name} {here[name]}"
        for name in here
        if there.get(name, here[name]) != here[name]
    ]
    if here.keys() != there.keys():  # what is named follows from the code
        words.append("another code")
    return ", ".join(words)
