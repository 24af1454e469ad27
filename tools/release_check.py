"""Check a tag before its release against the version, the changelog with its date, and CITATION.cff.

python tools/release_check.py v0.1.0
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent


def faults(tag: str, *, version: str, changelog: str, citation: str) -> Iterator[str]:
    r"""Yield the reasons against releasing *tag*; *changelog* and *citation* are the texts of these files.

    >>> list(faults("v0.1.0", version="0.1.0", changelog="## 0.1.0, 2026-12-01\n", citation="version: 0.1.0\n"))
    []
    >>> list(faults("v0.2.0", version="0.1.0", changelog="", citation="version: 0.1.0\n"))[0]
    'the tag is v0.2.0, and the version 0.1.0'
    """
    if tag != f"v{version}":
        yield f"the tag is {tag}, and the version {version}"
    if not re.search(rf"^## {re.escape(version)}, \d{{4}}-\d\d-\d\d$", changelog, re.MULTILINE):
        yield f"CHANGELOG.md has no heading '## {version}, YYYY-MM-DD'"
    if not re.search(rf"^version: {re.escape(version)}$", citation, re.MULTILINE):
        yield f"CITATION.cff does not say 'version: {version}'"


def version_of(source: str) -> str:
    """Return the version in the text of arkaudit/__init__.py. Raises ValueError.

    >>> version_of('__version__ = "0.1.0"')
    '0.1.0'
    """
    found = re.search(r'^__version__ = "([^"]+)"$', source, re.MULTILINE)
    if found is None:
        raise ValueError("arkaudit/__init__.py states no version")
    return found[1]


def main() -> int:
    """Print faults, and return 1 if there are any."""
    [tag] = sys.argv[1:]
    found = list(
        faults(
            tag,
            version=version_of((ROOT / "arkaudit" / "__init__.py").read_text(encoding="utf-8")),
            changelog=(ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
            citation=(ROOT / "CITATION.cff").read_text(encoding="utf-8"),
        )
    )
    for fault in found:
        print(f"release_check: {fault}", file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
