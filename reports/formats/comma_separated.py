"""CSV: one file a table."""

from __future__ import annotations

import csv
from pathlib import PurePosixPath

import pandas as pd

from reports.display import defused
from reports.formats.report import Files, Format, Report
from reports.tables import TABLES


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


def _path(name: str) -> PurePosixPath:
    return PurePosixPath("tables", f"{name}.csv")


def _files(report: Report) -> Files:
    for name, table in report.tables.items():
        yield _path(name), csv_text(table).encode("utf-8", "backslashreplace")


CSV = Format("csv", tuple(_path(table.name) for table in TABLES), _files)
