"""Tables and cells as the page shows them: links, badges, and the rows included as HTML."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

import pandas as pd
import pyarrow as pa

from crawler.history.ark_status import ArkState, EventKind
from crawler.model.observations import DESCRIBED, FAMILY_OF, CommitmentOutcome, Family, MetadataOutcome
from reports.languages import N_, Language
from reports.languages.display import ColumnType, escape_invisible, heading, link
from reports.remediation.causes import FAULT_OF, Fault, Grade
from reports.store.frames import Frames
from reports.tables.definitions import Column, TableDefinition, arrow_moments, records_of, values_of
from reports.tables.wording import TOKEN_NAMES

#: Rows of a table included as HTML, for readers without scripts and for print; the embedded data has more.
MOST_ROWS = 60
MOST_LISTED = 15
#: Longer texts are clamped; `tables.js` has the same number.
LONGEST = 120


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table as the page shows it."""

    text: str
    kind: ColumnType
    href: str | None = None
    tone: str | None = None
    """The family whose colour the badge has; None for no badge."""

    @property
    def is_long(self) -> bool:
        """True if the text is too long for a row: only its beginning is shown."""
        return self.kind is ColumnType.TEXT and len(self.text) > LONGEST


@dataclass(frozen=True, slots=True)
class ShownTable:
    """The parts of a table that the page needs after the table is dropped from memory."""

    definition: TableDefinition
    columns: tuple[Column, ...]
    """The columns that are not empty, in the order of the page."""
    rows: tuple[tuple[Cell, ...], ...]
    """The first rows."""
    row_count: int
    embedded_count: int
    """Number of rows embedded in the page, at most `MOST_EMBEDDED`."""
    nothing: str
    """The text shown instead of a table without rows or news; else empty."""
    packed: str
    """The rows embedded in the page, as `pack_rows` returns them."""
    sentences: tuple[str, ...]
    """The sentences of arkaudit in its cells, which scripts translate."""


def shown_table(definition: TableDefinition, table: pd.DataFrame, frames: Frames, language: Language) -> ShownTable:
    """Return the parts of *table* that the page needs, with the first rows as cells in *language*."""
    columns = tuple(column for column in columns_of(definition) if table[column.name].notna().any())
    first_rows = table.head(MOST_LISTED if definition.is_listing else MOST_ROWS)
    records = records_of(first_rows[[column.name for column in columns]])
    rows = tuple(tuple(_cell_in(row, column, language) for column in columns) for row in records)
    embedded_count = min(len(table), MOST_EMBEDDED)
    nothing = definition.nothing if table.empty else ""
    if definition.name == "changes" and not frames.compared_run and table["event"].eq(EventKind.NEW).all():
        nothing = _FIRST_TIME
    own_texts = (table[column.name].dropna().unique() for column in definition.columns if column.is_ours)
    return ShownTable(
        definition,
        columns,
        rows,
        len(table),
        embedded_count,
        language.gettext(nothing),
        pack_rows(table, columns_of(definition)),
        tuple(str(text) for texts in own_texts for text in texts),
    )


def _cell_in(row: Mapping[str, Any], column: Column, language: Language) -> Cell:
    value = row[column.name]
    if column.is_ours:
        return Cell(language.gettext(escape_invisible(value or "")), column.type)
    cell = cell_of(value, column.type, language)
    table, _, key = column.leads_to.partition("?")
    return replace(cell, href=f"#{table}?{urlencode({key: escape_invisible(row[key])})}") if table and value else cell


def cell_of(value: Any, type_name: str, language: Language) -> Cell:
    """Return a value as a cell: a web address becomes a link, a word of a vocabulary a badge."""
    kind = ColumnType(type_name)
    text = language.format_cell(value, kind)
    if kind is ColumnType.URL:
        return Cell(text, kind, href=link(value or ""))
    if kind is ColumnType.TOKEN:
        name = language.gettext(TOKEN_NAMES[text]) if text in TOKEN_NAMES else text
        return Cell(name, kind, tone=TONES.get(text))
    return Cell(text, kind)


_TONES: Mapping[Any, Family] = {
    **dict.fromkeys((*EventKind, *ArkState, *MetadataOutcome, *CommitmentOutcome), Family.NOT_JUDGED),
    **dict.fromkeys((*DESCRIBED, CommitmentOutcome.STATED, ArkState.HEALTHY, EventKind.RECOVERED), Family.WORKS),
    **dict.fromkeys((ArkState.FAILING, ArkState.FLAPPING), Family.UNREACHABLE),
    **dict.fromkeys((ArkState.CONFIRMED_BROKEN, EventKind.CONFIRMED), Family.FAILS),
    **{cause: Family.UNREACHABLE if fault is Fault.NOBODY else Family.FAILS for cause, fault in FAULT_OF.items()},
    **FAMILY_OF,
    **{family: family for family in Family},
}
#: Every token shown as a badge, with the class of its colour: a family or a grade.
TONES = {str(token): family.value for token, family in _TONES.items()}
TONES |= {str(grade): f"grade-{grade}" for grade in Grade}


# The comparison with an earlier run: lists of ARKs, from the table of changes.


def change_lists(changes: pd.DataFrame) -> dict[str, list[str]]:
    """Return the ARKs, as shown, by kind of change; only the list of `EventKind.CONFIRMED` is left out if empty."""
    arks = changes["ark"].map(escape_invisible).groupby(changes["event"].astype("str")).unique()
    lists = {str(event): list(arks.get(event, ())) for event in _CHANGE_LISTS}
    return {
        event: arks_of_event for event, arks_of_event in lists.items() if arks_of_event or event != EventKind.CONFIRMED
    }


_CHANGE_LISTS = (EventKind.CONFIRMED, ArkState.FAILING, EventKind.RECOVERED, EventKind.NEW, EventKind.GONE)


#: Rows of one table that the page embeds; the files have all.
MOST_EMBEDDED = 500_000


def pack_rows(table: pd.DataFrame, columns: tuple[Column, ...]) -> str:
    """Return the first rows of a table as Base64 of gzip of JSON, ``{"rows": 2, "columns": [...]}``.

    A text column is ``{"d": texts, "i": indexes}``, with -1 for missing and invisible characters spelled out. A column
    of numbers, booleans or times (milliseconds since 1970) is ``{"v": values}``, with null for missing.
    """
    compressor = zlib.compressobj(6, wbits=_GZIP)
    parts = [compressor.compress(piece.encode()) for piece in _pieces(table.head(MOST_EMBEDDED), columns)]
    return base64.b64encode(b"".join([*parts, compressor.flush()])).decode("ascii")


#: zlib's option for gzip with the largest window.
_GZIP = 16 + zlib.MAX_WBITS


def _pieces(table: pd.DataFrame, columns: tuple[Column, ...]) -> Iterator[str]:
    """Yield the JSON of a table, column by column, in pieces of `_PIECE` values."""
    yield f'{{"rows":{len(table)},"columns":['
    for column_index, column in enumerate(columns):
        yield ",{" if column_index else "{"
        for list_index, (name, lists) in enumerate(_packed_column(table[column.name], column).items()):
            yield f'{"," if list_index else ""}"{name}":['
            for part_index, values in enumerate(lists):
                piece = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
                yield ("," if part_index else "") + piece[1:-1]
            yield "]"
        yield "}"
    yield "]}"


#: Number of values that exist as Python objects at once: a column may have half a million.
_PIECE = 10_000


def _packed_column(values: pd.Series, column: Column) -> dict[str, Iterator[list[Any]]]:
    """Return the lists of a column by their names in `pack_rows`, each in parts of `_PIECE` values."""
    match column.type:
        case ColumnType.MOMENT:
            return {"v": (arrow_moments(part).cast(pa.int64()).to_pylist() for part in _parts(values))}
        case ColumnType.TRUTH:
            return {"v": (values_of(part.astype("boolean").astype("Int64")) for part in _parts(values))}
        case ColumnType.COUNT | ColumnType.NUMBER | ColumnType.SHARE:
            return {"v": map(values_of, _parts(values))}
    indexes, texts = pd.factorize(values)
    return {
        "d": ([escape_invisible(text) for text in values_of(part)] for part in _parts(pd.Series(texts, dtype="str"))),
        "i": (part.tolist() for part in _parts(pd.Series(indexes))),
    }


def _parts(values: pd.Series) -> Iterator[pd.Series]:
    """Yield a column in parts of `_PIECE` values, in order."""
    return (values.iloc[start : start + _PIECE] for start in range(0, len(values), _PIECE))


def table_description(definition: TableDefinition) -> dict[str, Any]:
    """Return the properties of a table that the page's scripts need."""
    return {
        "name": definition.name,
        "title": definition.title,
        "columns": [
            {
                "name": column.name,
                "heading": heading(column.name),
                "type": str(column.type),
                **({"ours": True} if column.is_ours else {}),
                **({"leads_to": column.leads_to.split("?")} if column.leads_to else {}),
            }
            for column in columns_of(definition)
        ],
    }


def columns_of(definition: TableDefinition) -> tuple[Column, ...]:
    """Return the columns of a table in the order of the page."""
    order = [*definition.first, *(column.name for column in definition.columns)]
    return tuple(sorted(definition.columns, key=lambda column: order.index(column.name)))


_FIRST_TIME = N_("Nothing to compare with yet: this is the first audit of its kind in the store.")
