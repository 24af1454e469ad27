"""A report as files: a CSV file for each table, and the page. The same run gives the same bytes."""

from __future__ import annotations

import csv
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from reports.display import defused
from reports.frames import Frames
from reports.page import page
from reports.tables import TABLES, tables_of

__all__ = ["ReportPaths", "ReportUnwritable", "check_out", "csv_text", "defused", "write_report"]


class ReportUnwritable(Exception):
    """Raised by `write_report` when the files of a report can't be put where they belong."""


@dataclass(frozen=True, slots=True)
class ReportPaths:
    """Where the files of a report are."""

    index: Path
    tables: Mapping[str, Path]


INDEX = "index.html"
TABLES_FOLDER = "tables"


def write_report(frames: Frames, out: Path) -> ReportPaths:
    """Put the report of one run into the folder *out*, which is made if need be; foreign files in it stay.

    Everything is first written into a folder of its own inside *out*, which is surely on the same disk, and
    then moved into place, the page last: no file is ever half written. Raises `ReportUnwritable`, before
    anything in *out* has changed wherever that can be known.
    """
    check_out(out)
    tables = tables_of(frames)
    contents = {_table_path(name): csv_text(table) for name, table in tables.items()}
    contents[Path(INDEX)] = page(frames, tables)
    try:
        _write_all(out, contents)
    except OSError as error:
        raise ReportUnwritable(f"{out}: the report can't be written: {error.strerror or error}") from error
    return ReportPaths(out / INDEX, {name: out / _table_path(name) for name in tables})


def check_out(out: Path) -> None:
    """Raise `ReportUnwritable` if it can be known that no report can be put into *out*; write nothing.

    An audit asks before it sends its first request.
    """
    for folder in (out, out / TABLES_FOLDER):
        there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
        if not there.is_dir():
            raise ReportUnwritable(f"{there}: is not a folder")
        if not os.access(there, os.W_OK | os.X_OK):
            raise ReportUnwritable(f"{there}: the folder can't be written to")
    for place in (out / INDEX, *(out / _table_path(table.name) for table in TABLES)):
        if place.is_dir():
            raise ReportUnwritable(f"{place}: is a folder, where a file of the report belongs")


def _table_path(name: str) -> Path:
    return Path(TABLES_FOLDER, f"{name}.csv")


def _write_all(out: Path, contents: Mapping[Path, str]) -> None:
    is_new = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix=".arkaudit-", dir=out) as folder:
            _stage(Path(folder), contents)
            (out / TABLES_FOLDER).mkdir(exist_ok=True)
            for place in contents:
                Path(folder, place).replace(out / place)
    except OSError:
        if is_new:
            shutil.rmtree(out, ignore_errors=True)
        raise


def _stage(folder: Path, contents: Mapping[Path, str]) -> None:
    (folder / TABLES_FOLDER).mkdir()
    for place, text in contents.items():
        (folder / place).write_bytes(text.encode("utf-8", errors="backslashreplace"))


def csv_text(table: pd.DataFrame) -> str:
    r"""The table as CSV: a header, text quoted, numbers bare, moments in ISO 8601, LF at line ends.

    All text is quoted: Python 3.11 would leave a bare CR unquoted, and many readers end a row there.

    >>> csv_text(pd.DataFrame({"title": ["=1+1", None], "arks": pd.array([2, None], dtype="Int64")}))
    '"title","arks"\n"\'=1+1",2\n"",""\n'
    """
    written = pd.DataFrame({name: _written(table[name]) for name in table.columns})
    return written.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)


def _written(column: pd.Series) -> pd.Series:
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        moments: pd.Series = column.dt.strftime("%Y-%m-%dT%H:%M:%S.%f").str.removesuffix("000") + "Z"
        return moments
    if isinstance(column.dtype, pd.BooleanDtype):
        return column.astype("str").str.lower()
    if isinstance(column.dtype, pd.StringDtype | pd.CategoricalDtype):
        return column.astype("str").map(defused, na_action="ignore")
    return column
