"""Unified diffs for `git apply`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from arkaudit.features.fix.corrections import Edit, apply_edits
from arkaudit.features.fix.files import FixedFile
from arkaudit.features.fix.sources import Unfixable

_CONTEXT = 3
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
#: Charsets in which a line can't be cut out, in addition to UTF-16 (with NULs) and ISO 2022 (with escapes).
_SHIFTING = frozenset({"hz", "utf-7"})
#: Bytes that git writes as escapes in a quoted name; others are octal.
_ESCAPES = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}


def quoted_name(name: bytes) -> str:
    r"""Return a path as git writes it (core.quotePath): plain, or in quotation marks with C escapes.

    >>> quoted_name(b"a/b c.txt"), quoted_name(b"a/caf\xe9\n.txt")
    ('a/b c.txt', '"a/caf\\351\\n.txt"')
    """
    if all(32 <= octet < 127 and octet not in _ESCAPES for octet in name):
        return name.decode("ascii")
    escaped_octets = (
        f"\\{_ESCAPES[octet]}" if octet in _ESCAPES else chr(octet) if 32 <= octet < 127 else f"\\{octet:03o}"
        for octet in name
    )
    return f'"{"".join(escaped_octets)}"'


def diff_of(file: FixedFile) -> bytes:
    """Return the diff that corrects a file, for `git apply` in the current folder. Raises `Unfixable` if no diff can."""
    source, current_folder = file.source, Path.cwd().resolve()
    assert source is not None
    path = file.path.parent.resolve() / file.path.name
    if not path.is_relative_to(current_folder):
        raise Unfixable("it is outside of the current folder, where git apply would not change it")
    if b"\0" in file.old_bytes or b"\x1b" in file.old_bytes or source.charset in _SHIFTING:
        raise Unfixable(f"its encoding ({source.charset}) has no place in a patch; use --apply")
    name = os.fsencode(path.relative_to(current_folder).as_posix())
    edits = [edit for correction in file.corrections for edit in correction.edits]
    return source.bytes_of(unified_diff(name, source.text, edits))


def unified_diff(name: bytes, text: str, edits: Iterable[Edit]) -> str:
    r"""Return the diff that makes *edits* in *text*, of the file *name*; lines end with LF, and CR is a part of a line.

    >>> print(unified_diff(b"a.txt", "one\ntwo\nthree", [Edit(3, 4, " ")]), end="")
    diff --git a/a.txt b/a.txt
    --- a/a.txt
    +++ b/a.txt
    @@ -1,3 +1,2 @@
    -one
    -two
    +one two
     three
    \ No newline at end of file
    """
    old_name, new_name = quoted_name(b"a/" + name), quoted_name(b"b/" + name)
    # A name with a blank ends with a tab.
    name_end = "\t" if " " in old_name and old_name[0] != '"' else ""
    pieces = [f"diff --git {old_name} {new_name}\n--- {old_name}{name_end}\n+++ {new_name}{name_end}\n"]
    counted_end, line_number, line_shift = 0, 1, 0
    for group in _groups(text, edits):
        # If the end of a line goes, the next line belongs to the change.
        start, end = text.rfind("\n", 0, group[0].start) + 1, _line_end(text, group[-1].end)
        hunk_start, hunk_end = start, end
        for _ in range(_CONTEXT):
            hunk_start, hunk_end = text.rfind("\n", 0, max(0, hunk_start - 1)) + 1, _line_end(text, hunk_end)
        new_text = apply_edits(text[:end], [Edit(0, start, ""), *group])
        signed_parts = (
            (" ", text[hunk_start:start]),
            ("-", text[start:end]),
            ("+", new_text),
            (" ", text[end:hunk_end]),
        )
        lines = [sign + line for sign, part in signed_parts for line in _LINE.findall(part)]
        old_count, new_count = (sum(line[0] in (" ", sign) for line in lines) for sign in "-+")
        line_number += text.count("\n", counted_end, hunk_start)
        pieces.append(f"@@ -{line_number},{old_count} +{line_number + line_shift},{new_count} @@\n")
        pieces += [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines]
        counted_end, line_shift = hunk_start, line_shift + new_count - old_count
    return "".join(pieces)


def _groups(text: str, edits: Iterable[Edit]) -> list[list[Edit]]:
    """Return *edits*, which are in order, as groups whose context lines in a diff don't overlap."""
    groups: list[list[Edit]] = []
    for edit in edits:
        if groups and text.count("\n", groups[-1][-1].end, edit.start) <= 2 * _CONTEXT:
            groups[-1].append(edit)
        else:
            groups.append([edit])
    return groups


def _line_end(text: str, offset: int) -> int:
    """Return the offset after the line feed that ends the line at *offset*, or the length of *text*."""
    return text.find("\n", offset) + 1 or len(text)
