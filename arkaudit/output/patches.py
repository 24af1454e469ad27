"""Corrections of text files as a unified diff for `git apply`, and as SARIF with a fix for each."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

#: A replacement: where it begins and ends in the old bytes, and the new bytes.
Replacement = tuple[int, int, bytes]

_CONTEXT = 3
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_PLAIN_NAME = re.compile(r'[^\x00-\x1f"\\\x7f]+')


def unified_diff(name: str, old: bytes, replacements: Iterable[Replacement]) -> bytes:
    r"""Return the diff that makes *replacements* in a file; lines end with LF, and CR is a part of a line.

    >>> print(unified_diff("a.txt", b"one\ntwo\nthree\n", [(3, 4, b" ")]).decode(), end="")
    --- a/a.txt
    +++ b/a.txt
    @@ -1,3 +1,2 @@
    -one
    -two
    +one two
     three
    """
    ends = [line.end() for line in _LINE.finditer(old)]
    head = b"".join(b"%s %s\n" % (sign, _quoted(f"{side}/{name}")) for sign, side in ((b"---", "a"), (b"+++", "b")))
    pieces, shift = [head], 0
    for first, last, group in _hunks(sorted(set(replacements)), ends):
        before, after = max(0, first - _CONTEXT), min(len(ends), last + 1 + _CONTEXT)
        # A line that lost its end joins the next one.
        changed = _spliced(old, group, _start(ends, first), ends[last])
        lines = _signed(b" ", old[_start(ends, before) : _start(ends, first)])
        lines += _signed(b"-", old[_start(ends, first) : ends[last]]) + _signed(b"+", changed)
        lines += _signed(b" ", old[ends[last] : ends[after - 1]])
        removed = sum(line[:1] in b" -" for line in lines)
        added = sum(line[:1] in b" +" for line in lines)
        pieces.append(b"@@ -%d,%d +%d,%d @@\n" % (before + 1, removed, before + 1 + shift, added))
        pieces += [line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n" for line in lines]
        shift += added - removed
    return b"".join(pieces)


def _hunks(replacements: Sequence[Replacement], ends: Sequence[int]) -> Iterator[tuple[int, int, list[Replacement]]]:
    """Yield the replacements whose contexts touch, with their first and last line (from 0)."""
    group: list[Replacement] = []
    first = last = at = 0
    for replacement in replacements:
        start, end, new = replacement
        while ends[at] <= start and at + 1 < len(ends):
            at += 1
        until = at
        # If the end of a line goes, the next line belongs to the change.
        while (ends[until] < end or (ends[until] == end > start and not new.endswith(b"\n"))) and until + 1 < len(ends):
            until += 1
        if group and at > last + 2 * _CONTEXT:
            yield first, last, group
            group = []
        first, last = (first if group else at), max(last if group else 0, until)
        group.append(replacement)
    if group:
        yield first, last, group


def _start(ends: Sequence[int], line: int) -> int:
    return ends[line - 1] if line else 0


def _signed(sign: bytes, text: bytes) -> list[bytes]:
    return [sign + line for line in _LINE.findall(text)]


def _spliced(old: bytes, replacements: Iterable[Replacement], start: int, end: int) -> bytes:
    pieces = []
    for first, last, new in replacements:
        pieces += [old[start:first], new]
        start = last
    return b"".join((*pieces, old[start:end]))


def _quoted(name: str) -> bytes:
    r"""Return a file name for a header: special characters in quotes, as git writes them, and a tab after blanks.

    >>> _quoted("a/my paper.tex"), _quoted('a/"x".tex')
    (b'a/my paper.tex\t', b'"a/\\"x\\".tex"')
    """
    raw = os.fsencode(name)
    if not _PLAIN_NAME.fullmatch(name):
        escaped = b"".join(
            b"\\%c" % byte if byte in b'"\\' else b"%c" % byte if 0x20 <= byte < 0x7F else b"\\%03o" % byte
            for byte in raw
        )
        return b'"%s"' % escaped
    return raw + b"\t" if " " in name else raw


def sarif(corrections: Iterable[tuple[Path, bytes, str, str, Iterable[Replacement]]]) -> dict[str, Any]:
    """Return corrections as a SARIF 2.1.0 log: path, content of the file, rule, message, and replacements of each."""
    results = []
    for path, data, rule, message, replacements in corrections:
        place = {"uri": quote(path.as_posix(), safe="/:~+$,;'@()*")}
        changes = [
            {"deletedRegion": _region(data, start, end), "insertedContent": {"text": new.decode("ascii", "replace")}}
            for start, end, new in replacements
        ]
        regions = [change["deletedRegion"] for change in changes]
        results.append(
            {
                "ruleId": rule,
                "level": "warning",
                "message": {"text": message},
                "locations": [{"physicalLocation": {"artifactLocation": place, "region": regions[0]}}],
                "fixes": [{"artifactChanges": [{"artifactLocation": place, "replacements": changes}]}],
            }
        )
    run = {"tool": {"driver": {"name": "arkaudit"}}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}


def _region(data: bytes, start: int, end: int) -> dict[str, int]:
    (first, first_column), (last, last_column) = _position(data, start), _position(data, end)
    return {"startLine": first, "startColumn": first_column, "endLine": last, "endColumn": last_column}


def _position(data: bytes, at: int) -> tuple[int, int]:
    """Return the line and column of an offset, from 1."""
    begins = data.rfind(b"\n", 0, at) + 1
    return data.count(b"\n", 0, at) + 1, len(data[begins:at].decode("utf-8", "replace")) + 1
