"""Vectors are data: each has a ``why`` that becomes the test's name."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent / "vectors"


def rows(name: str) -> list[dict[str, Any]]:
    """Return the vectors of a file."""
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))  # type: ignore[no-any-return]


def vectors(name: str) -> list[Any]:
    """Return the vectors of a file, as parameters for a test."""
    return [pytest.param(row, id=row["why"]) for row in rows(name)]


def strings_in(value: object) -> Iterator[str]:
    """Yield the strings in a vector, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from strings_in([*value, *value.values()])
    elif isinstance(value, list):
        for part in value:
            yield from strings_in(part)
