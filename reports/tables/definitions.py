"""The definition of a report's table, from `tables.toml` and a function. Every format is derived from it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from extractors.model.urls import authority_of
from reports.languages import N_
from reports.languages.display import ColumnType
from reports.store.frames import Frames
from reports.store.typed_columns import text_of_value

#: The key of a verdict: an ARK and the requested URL.
PAIR = ["ark_id", "request_url"]

#: The dtype of a column in a frame, by its type. Words of a vocabulary may be categories, too.
DTYPES = {
    **dict.fromkeys((ColumnType.TEXT, ColumnType.TOKEN, ColumnType.NAAN, ColumnType.ARK, ColumnType.URL), "str"),
    ColumnType.COUNT: "Int64",
    **dict.fromkeys((ColumnType.NUMBER, ColumnType.SHARE), "Float64"),
    ColumnType.TRUTH: "boolean",
    ColumnType.MOMENT: "datetime64[ms, UTC]",
}


@dataclass(frozen=True, slots=True)
class Column:
    """One published column; `tables.toml` explains the fields."""

    name: str
    type: ColumnType
    meaning: str
    unit: str = ""
    varies: bool = False
    is_ours: bool = False
    leads_to: str = ""


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """One published table: its rows, and the function that computes them."""

    name: str
    title: str
    caption: str
    function: Callable[[Frames], pd.DataFrame]
    columns: tuple[Column, ...]
    order: tuple[str, ...] = ()
    is_listing: bool = False
    is_printed: bool = False
    first: tuple[str, ...] = ()
    nothing: str = N_("Nothing to report.")

    def table(self, frames: Frames) -> pd.DataFrame:
        """Return the sorted rows of the table for one run, with its columns only."""
        rows = self.function(frames)
        return self.select_columns(in_order(rows, *self.order) if self.order else rows)

    def select_columns(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the columns of this table from *rows*, each with the dtype of its type; categories stay."""
        columns = rows[[column.name for column in self.columns]]
        dtypes = {
            column.name: DTYPES[column.type]
            for column in self.columns
            if not (column.type is ColumnType.TOKEN and isinstance(columns[column.name].dtype, pd.CategoricalDtype))
        }
        return columns.astype(dtypes)


#: The declarations of all tables, and of the parts of the page and of the Markdown report.
DECLARED = tomllib.loads(files("reports.tables").joinpath("tables.toml").read_text("utf-8"))
_UNITS = {ColumnType.SHARE: "1", ColumnType.MOMENT: "UTC"}


def table_definition(name: str, function: Callable[[Frames], pd.DataFrame]) -> TableDefinition:
    """Return the table that `tables.toml` declares under *name*, whose rows *function* computes."""
    columns = tuple(map(_column, DECLARED[name]["columns"]))
    return TableDefinition(**{**DECLARED[name], "name": name, "function": function, "columns": columns})


def _column(declared: str | Mapping[str, Any]) -> Column:
    """Return the column that `tables.toml` declares by a table of values, or by a name in `shared`."""
    values = {"name": declared, **DECLARED["shared"][declared]} if isinstance(declared, str) else declared
    column_type = ColumnType(values["type"])
    return Column(**{"unit": _UNITS.get(column_type, ""), **values, "type": column_type})


def in_order(rows: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Return *rows* sorted by *columns*; a "-" in front of a column means descending."""
    names = [column.removeprefix("-") for column in columns]
    is_ascending = [not column.startswith("-") for column in columns]
    return rows.sort_values(names, ascending=is_ascending, kind="stable", ignore_index=True)


def side_by_side(by: list[str], *tables: pd.DataFrame) -> pd.DataFrame:
    """Return one row per group that occurs in any of *tables*, with the columns of all tables.

    *by* are the columns that identify a group; each table has at most one row per group.
    """
    return pd.concat([table.set_index(by) for table in tables], axis="columns").reset_index()


def rows_of(table: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table as plain values, None for missing ones."""
    return zip(*(values_of(table.iloc[:, position]) for position in range(table.shape[1])), strict=True)


def records_of(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table as dictionaries of plain values by column, None for missing ones."""
    # Iterating over the index would recreate its texts for each row.
    names = list(table.columns)
    return (dict(zip(names, row, strict=True)) for row in rows_of(table))


# Columns that follow from one other column: computed once for each different value.

_TEXT = pa.large_string()
#: A URL with a path; the group is the part that names the host.
_WITH_PATH = r"(?s)^([^/?#]*//[^/?#]*)[/?#].*$"


def hosts_of(urls: pd.Series) -> pd.Series:
    """Return the host of each of *urls* as `authority_of` returns it; missing for a missing URL."""
    return map_distinct(urls.astype("str").str.replace(_WITH_PATH, r"\1", regex=True), authority_of)


def map_distinct(values: pd.Series, function: Callable[[Any], Any]) -> pd.Series:
    """Return the result of *function* for each of *values*, as text; *function* is called once per distinct value."""
    results = {value: function(value) for value in values.dropna().unique()}
    return values.map(results).astype("str")


def tally(
    rows: pd.DataFrame, by: list[str], column: str, *, most: int | None = None, weight_column: str = ""
) -> pd.Series:
    """Return, by group, how often each value of *column* occurs, as text: ``2 erc, 1 query-ignored``.

    *by* are the columns that define a group. The most frequent values come first, equal counts in alphabetical order; at
    most *most* values. Each row counts once, or as often as its *weight_column* states.
    """
    groups = rows.groupby([*by, column], observed=True)
    counts = (groups[weight_column].sum() if weight_column else groups.size()).rename("count").reset_index()
    counts = counts.assign(text=counts[column].astype("str")).sort_values(["count", "text"], ascending=[False, True])
    most_frequent = counts.groupby(by, sort=False, observed=True).head(most) if most is not None else counts
    texts = most_frequent["count"].astype("str") + " " + most_frequent["text"]
    return texts.groupby([most_frequent[name] for name in by], observed=True).agg(", ".join)


def map_parsed(values: pd.Series, function: Callable[[Any], Any]) -> pd.Series:
    """Return the result of *function* for each parsed JSON object in *values*, as text; missing for any other value."""
    return values.map(lambda value: function(value) if isinstance(value, dict) and value else None).astype("str")


def first_commitment_field(promises: pd.Series, *names: str) -> pd.Series:
    """Return, for each parsed commitment, its first field in *names* as text; missing without any."""

    def first_field(promise: Mapping[str, Any]) -> str | None:
        fields = {str(name).lower(): value for name, value in promise.items()}
        return next((text_of_value(fields[name]) for name in names if fields.get(name)), None)

    return map_parsed(promises, first_field)


def number_texts(numbers: pd.Series) -> pa.Array:
    """Return *numbers* as text in Python's notation; missing values stay missing."""
    values = pa.array(numbers, from_pandas=True)
    if pa.types.is_integer(values.type):
        return values.cast(_TEXT)
    encoded = values.dictionary_encode()
    texts = [str(number) for number in encoded.dictionary.to_pylist()]
    return pa.array(texts, _TEXT).take(encoded.indices)


def values_of(column: pd.Series) -> list[Any]:
    """Return the cells of a column as plain values, None for missing ones."""
    if isinstance(column.dtype, pd.StringDtype):
        texts: list[Any] = arrow_texts(column).to_numpy(zero_copy_only=False).tolist()
        return texts
    if isinstance(column.dtype, pd.CategoricalDtype):
        words = np.array([*column.cat.categories, None], dtype=object)
        return list(words[column.cat.codes.to_numpy()])
    values: list[Any] = column.astype("object").where(column.notna(), None).tolist()
    return values


def arrow_moments(values: pd.Series) -> pa.Array:
    """Return a column of times as one Arrow array, to the millisecond."""
    naive_moments = values.dt.tz_localize(None).dt.as_unit("ms")
    return pa.array(naive_moments, pa.timestamp("ms"), from_pandas=True)


def arrow_texts(values: pd.Series) -> pa.Array:
    """Return a column of text as one Arrow array."""
    texts = pa.array(values.astype("str"), _TEXT, from_pandas=True)
    return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
