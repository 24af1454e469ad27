"""On which line of a TOML file a value stands; `tomllib` gives it for no value."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence

#: The time grows with the square of this; in longer files no line is given.
_MOST_LINES = 3000


def line_of(text: str, keys: Sequence[str]) -> int | None:
    """The line, from 1, on which the value at *keys* begins, or the nearest table around it; None if there is none.

    The file is read again and again up to each of its lines, which says when the value is first there: slow, and right
    for every way to write TOML.

    >>> text = "a = 1\\n[b]\\nlist = [\\n  1,\\n]\\n"
    >>> line_of(text, ["b", "list"]), line_of(text, ["b", "unknown"]), line_of(text, ["c"])
    (3, 2, None)
    """
    for depth in range(len(keys), 0, -1):
        line = _line_of(text, keys[:depth])
        if line is not None:
            return line
    return None


def _line_of(text: str, keys: Sequence[str]) -> int | None:
    lines = text.splitlines()
    if len(lines) > _MOST_LINES:
        return None
    begun = 1
    for number in range(1, len(lines) + 1):
        try:
            values = tomllib.loads("\n".join(lines[:number]) + "\n")
        except tomllib.TOMLDecodeError:  # in the midst of a value, which began behind the last line that could be read
            continue
        if _holds(values, keys):
            return begun
        begun = number + 1
    return None


def _holds(values: object, keys: Sequence[str]) -> bool:
    for key in keys:
        if isinstance(values, list) and key.isdecimal() and int(key) < len(values):
            values = values[int(key)]
        elif isinstance(values, dict) and key in values:
            values = values[key]
        else:
            return False
    return True
