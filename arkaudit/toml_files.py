"""TOML that a user has written, read so that whatever is wrong with it is one line."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from extractors.shared_errors import UserMistake

#: More than anybody writes; a file of gigabytes would be read whole.
MOST_BYTES = 16 * 2**20
#: Dotted keys can nest tables without end; whoever copies or compares them comes to the end of the stack.
MOST_LEVELS = 50


class TomlUnreadable(UserMistake):
    """Raised for a file that is no TOML, or can't be read; its words name the file."""


def read_toml(path: Path, *, what: str) -> tuple[str, dict[str, Any]]:
    """The text of the file at *path* and its values; *what* it is stands in the message when there is none.

    Raises `TomlUnreadable`.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise TomlUnreadable(f"{path} can't be read: it is longer than {MOST_BYTES:,} bytes")
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
        values = tomllib.loads(text)
        if is_deep(values):
            raise TomlUnreadable(f"{path} can't be read: its values are nested too deeply")
        return text, values
    except FileNotFoundError:
        raise TomlUnreadable(f"there is no {what} at {path}") from None
    except tomllib.TOMLDecodeError as problem:
        raise TomlUnreadable(f"{path} is not TOML: {problem}") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise TomlUnreadable(f"{path} can't be read: {problem}") from None
    except RecursionError:
        raise TomlUnreadable(f"{path} can't be read: its values are nested too deeply") from None
    except ValueError as problem:  # such as a number of more digits than Python converts
        raise TomlUnreadable(f"{path} can't be read: {problem}") from None


def is_deep(values: object) -> bool:
    """Return whether tables and lists are nested deeper than `MOST_LEVELS`.

    >>> is_deep({"a": [{"b": 1}]})
    False
    """
    level: list[object] = [values]
    for _ in range(MOST_LEVELS):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
    return bool(level)
