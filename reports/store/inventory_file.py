"""An institution's own list of its ARKs, as a CSV that a spreadsheet has written, read into a frame."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pandas as pd

from extractors.model.ark import Ark
from extractors.model.errors import ArkauditError
from extractors.model.normalize import NotAnArk

_WORDS: Final = re.compile(r"[\s_-]+")
#: The columns, by the names that they may have; those with an underscore are EZID's.
COLUMNS: Final[Mapping[str, str]] = {
    "ark": "ark",
    "_id": "ark",
    "_target": "expected_url",
    "expected_url": "expected_url",
    "url": "expected_url",
    "target": "expected_url",
    "title": "title",
    "collection": "collection",
    "closed": "closed",
    "closed_on_purpose": "closed",
}
_TRUTHS: Final[Mapping[str, bool]] = {
    **dict.fromkeys(("yes", "true", "1", "x", "closed"), True),
    **dict.fromkeys(("", "no", "false", "0", "open"), False),
}
#: What is kept of each line.
DTYPES: Final = {
    "line": "Int64",
    "ark": "str",
    "naan": "str",
    "expected_url": "str",
    "title": "str",
    "collection": "str",
    "closed": "boolean",
}
_DELIMITERS: Final = ",;\t"


class InventoryUnreadable(ArkauditError):
    """Raised for an inventory that can't be used: one line that says what is wrong, and on which line."""


def read_inventory(path: Path) -> pd.DataFrame:
    """One row per line of the inventory at *path*, in its order; each ARK once. Raises `InventoryUnreadable`.

    The first line names the columns, of which only ``ark`` is needed; others than `COLUMNS` are left alone. Cells are
    set apart by commas, semicolons or tabs, whichever the first line has most of.
    """
    try:
        data = path.read_bytes()
    except OSError as problem:
        raise InventoryUnreadable(f"{path} can't be read: {problem.strerror}") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise InventoryUnreadable(f"{path}:{line}: is not UTF-8: save the file as CSV in UTF-8") from None
    problems: list[str] = []
    rows = list(_rows(text, path, problems))
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise InventoryUnreadable(problems[0] + more)
    columns = zip(*rows, strict=True) if rows else ((),) * len(DTYPES)
    return pd.DataFrame(
        {name: pd.Series(list(values), dtype=DTYPES[name]) for name, values in zip(DTYPES, columns, strict=True)}
    )


def no_inventory() -> pd.DataFrame:
    """An inventory without a line."""
    return pd.DataFrame({name: pd.Series([], dtype=dtype) for name, dtype in DTYPES.items()})


def _rows(text: str, path: Path, problems: list[str]) -> Iterator[tuple[Any, ...]]:
    first = next((line for line in text.splitlines() if line.strip(" \t,;")), "")
    delimiter = max(_DELIMITERS, key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    names: list[str | None] | None = None
    lines: dict[str, int] = {}
    line = 1
    try:
        for cells in reader:
            at, line = line, reader.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if names is None:
                names = _names(cells, f"{path}:{at}: ")
                continue
            try:
                row = _row(at, cells, names)
            except ValueError as problem:
                problems.append(f"{path}:{at}: {problem}")
                continue
            if row[1] in lines:
                problems.append(f"{path}:{at}: {row[1]} stands on line {lines[row[1]]} already")
                continue
            lines[row[1]] = at
            yield row
    except csv.Error as problem:
        raise InventoryUnreadable(f"{path}:{line}: is not CSV: {problem}") from None
    if names is None:
        raise InventoryUnreadable(f"{path}:1: has no line that names the columns: ark, expected_url …")


def _names(cells: list[str], at: str) -> list[str | None]:
    """Return what each column is; None for one that is left alone."""
    names = [
        COLUMNS.get(cell.strip().lower()) or COLUMNS.get(_WORDS.sub("_", cell.lower()).strip("_")) for cell in cells
    ]
    named = [name for name in names if name]
    if "ark" not in named:
        raise InventoryUnreadable(f"{at}no column is named ark; the first line names the columns: ark, expected_url …")
    twice = next((name for name in named if named.count(name) > 1), None)
    if twice:
        raise InventoryUnreadable(f"{at}two columns are the {twice}")
    return names


def _row(line: int, cells: list[str], names: list[str | None]) -> tuple[Any, ...]:
    if len(cells) > len(names) and any(cell.strip() for cell in cells[len(names) :]):
        raise ValueError(f"has {len(cells)} cells, and there are {len(names)} columns")
    by_name = {name: cell.strip() for name, cell in zip(names, cells, strict=False) if name}
    written = by_name.get("ark", "")
    try:
        ark = Ark.parse(written)
    except NotAnArk:
        raise ValueError(f"not an ARK: {written!r}") from None
    expected = by_name.get("expected_url") or None
    if expected and not _is_web(expected):
        raise ValueError(f"not an http or https URL: {expected!r}")
    closed = _TRUTHS.get(by_name["closed"].lower()) if "closed" in by_name else None
    if "closed" in by_name and closed is None:
        raise ValueError(f"closed is yes or no, and not {by_name['closed']!r}")
    return (line, str(ark), ark.naan, expected, by_name.get("title") or None, by_name.get("collection") or None, closed)


def _is_web(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme.lower() in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
