"""Vectors are data: each has a ``why`` that becomes the test's name."""

import json
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent / "vectors"


def vectors(name: str) -> list[Any]:
    """Return the vectors of a file, as parameters for a test."""
    rows = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return [pytest.param(row, id=row["why"]) for row in rows]
