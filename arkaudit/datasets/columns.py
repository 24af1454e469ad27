"""The tables of a dataset, and their columns: names, types and meanings, which stay as they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


class ColumnKind(StrEnum):
    """The type of a column, as Parquet has it."""

    TEXT = "text"
    NUMBER = "integer"
    """32 bits."""
    LARGE_NUMBER = "large integer"
    """64 bits."""
    TEXTS = "list of text"
    PAIRS = "list of pairs of integers"


@dataclass(frozen=True, slots=True)
class DatasetColumn:
    """One column of a dataset."""

    name: str
    kind: ColumnKind
    meaning: str
    unit: str = ""
    is_optional: bool = False
    """Whether a cell may be missing (NULL)."""


@dataclass(frozen=True, slots=True)
class DatasetTable:
    """One table of a dataset: what a row is, and its columns in their order."""

    name: str
    caption: str
    columns: tuple[DatasetColumn, ...]


_TEXT, _NUMBER, _LARGE = ColumnKind.TEXT, ColumnKind.NUMBER, ColumnKind.LARGE_NUMBER
_TEXTS, _PAIRS = ColumnKind.TEXTS, ColumnKind.PAIRS

_WHERE = (
    DatasetColumn(
        "document", _TEXT, "name as `arkaudit extract` has it: a path, and for what is in an archive `a.warc!/URL`, say"
    ),
    DatasetColumn("source", _TEXT, "archive or file as it was named: `document` begins with it"),
    DatasetColumn("record", _TEXT, "what it is in the archive: a path, a URL; empty for a whole file"),
)

DOCUMENTS = DatasetTable(
    "documents",
    "One row per document that was read, or should have been; unique by document. An archive as such has a row only if "
    "something in it, or all of it, could not be read.",
    (
        *_WHERE,
        DatasetColumn("url", _TEXT, "URL at which a web archive has captured it; missing for others", "", True),
        DatasetColumn("outcome", _TEXT, "read, or unreadable: then its findings say why"),
        DatasetColumn("media_type", _TEXT, "media type as the reader determined it; may be empty"),
        DatasetColumn("title", _TEXT, "title that the document gives itself; may be empty"),
        DatasetColumn("bytes", _LARGE, "size of what was read; missing where nothing was", "bytes", True),
        DatasetColumn("sha256", _TEXT, "digest of what was read, in hexadecimal; missing where nothing was", "", True),
        DatasetColumn("mentions", _NUMBER, "mentions of ARKs in it", "mentions"),
    ),
)
MENTIONS = DatasetTable(
    "mentions",
    "One row per place that cites an ARK, as decided on all documents of the dataset; unique by document and ordinal.",
    (
        *_WHERE,
        DatasetColumn("ordinal", _NUMBER, "place among the mentions of the document", "number from 1"),
        DatasetColumn("ark", _TEXT, "ARK in normal form (draft-kunze-ark-38, 3.2)"),
        DatasetColumn("naan", _TEXT, "Name Assigning Authority Number"),
        DatasetColumn(
            "shoulder", _TEXT, "consonants up to and with the first digit of the name; missing without one", "", True
        ),
        DatasetColumn("name", _TEXT, "base name, up to the first slash or dot"),
        DatasetColumn("qualifier", _TEXT, "components and variants, each with its delimiter; may be empty"),
        DatasetColumn("as_written", _TEXT, "the characters of the document, unchanged"),
        DatasetColumn("repaired", _TEXT, "the same, whole again; hyphens, label and resolver as found"),
        DatasetColumn("role", _TEXT, "text, link-target, metadata, link-annotation or structured-data"),
        DatasetColumn("page", _NUMBER, "page of a paginated document; missing for others", "page number from 1", True),
        DatasetColumn("place", _TEXT, "element and attribute, or rectangle on the page in points; may be empty"),
        DatasetColumn("spans", _PAIRS, "its positions in the reader's block of text: begin and end", "code points"),
        DatasetColumn("context", _TEXT, "text around it"),
        DatasetColumn("repairs", _TEXTS, "repairs that were made, in order"),
        DatasetColumn("resolver", _TEXT, "URL before the label, with its final slash; missing without one", "", True),
        DatasetColumn("inflection", _TEXT, "?info, ??, ? or empty"),
        DatasetColumn("fragment", _TEXT, "what was written after #; may be empty"),
        DatasetColumn("confidence", _TEXT, "certain, likely or ambiguous"),
        DatasetColumn("reason", _TEXT, "rule of the least sure decision"),
        DatasetColumn("alternatives", _TEXTS, "ARKs that the other decisions would have given"),
        DatasetColumn("check", _TEXT, "what its check character says: passes, fails, none or unknown"),
        DatasetColumn("suggestions", _TEXTS, "ARKs that may have been meant where the check character fails"),
        DatasetColumn("spelling", _TEXTS, "how its spelling departs from the specifications"),
        DatasetColumn(
            "citation", _NUMBER, "which citation of the document; a link and its text are one", "number from 1"
        ),
        DatasetColumn(
            "link_resolver",
            _TEXT,
            "where a relative link of a web page leads to: URL before the label, by the URL and the base of the page; "
            "missing for others",
            "",
            True,
        ),
        DatasetColumn(
            "decided",
            _NUMBER,
            "1 when its own document decided it, 2 when all documents of the dataset decided it otherwise",
            "number from 1",
        ),
    ),
)
FINDINGS = DatasetTable(
    "findings",
    "One row per remark that a reader must know about a document, an archive as such, or a folder that was named.",
    (
        *_WHERE,
        DatasetColumn("kind", _TEXT, "kind of finding: unreadable, encrypted, damaged, namespace-mention …"),
        DatasetColumn("detail", _TEXT, "the finding in words"),
    ),
)
#: All of them.
DATASET_TABLES = (DOCUMENTS, MENTIONS, FINDINGS)


# The files of a dataset's tables: rows as Parquet, some thousands at a time in memory.

_ROWS_A_GROUP = 20_000
_TYPES = {
    ColumnKind.TEXT: pa.string(),
    ColumnKind.NUMBER: pa.int32(),
    ColumnKind.LARGE_NUMBER: pa.int64(),
    ColumnKind.TEXTS: pa.list_(pa.string()),
    ColumnKind.PAIRS: pa.list_(pa.list_(pa.int32())),
}


def schema_of(table: DatasetTable) -> pa.Schema:
    """Return the schema of a table's files, with the meaning of each column."""
    fields = [
        pa.field(
            column.name,
            _TYPES[column.kind],
            nullable=column.is_optional,
            metadata={"meaning": column.meaning, **({"unit": column.unit} if column.unit else {})},
        )
        for column in table.columns
    ]
    return pa.schema(fields, metadata={"table": table.name, "row": table.caption})


class ParquetFile:
    """One file of a table, to which rows are added; each is a list of its cells, in the order of the columns."""

    def __init__(self, table: DatasetTable, path: Path) -> None:
        self.rows = 0
        self._schema = schema_of(table)
        self._rows: list[Sequence[Any]] = []
        self._writer = pq.ParquetWriter(path, self._schema, compression="zstd", write_page_checksum=True)

    def add(self, rows: Iterable[Sequence[Any]]) -> None:
        """Add *rows*."""
        for row in rows:
            self._rows.append(row)
            self.rows += 1
            if len(self._rows) >= _ROWS_A_GROUP:
                self._flush()

    def close(self) -> None:
        """Write what is left, and the end of the file."""
        try:
            self._flush()
            self._writer.close()
        finally:
            self._writer.is_open = False  # or its end prints a traceback of its own, on a full disk

    def _flush(self) -> None:
        if self._rows:
            columns = zip(*self._rows, strict=True)
            arrays = [_array(cells, field.type) for cells, field in zip(columns, self._schema, strict=True)]
            self._writer.write_table(pa.table(arrays, schema=self._schema))
            self._rows = []


def _array(cells: Sequence[Any], kind: pa.DataType) -> pa.Array:
    try:
        return pa.array(cells, kind)
    except UnicodeEncodeError:
        return pa.array([_sound(cell) for cell in cells], kind)


def _sound(cell: Any) -> Any:
    """Text with lone surrogates spelled out, which no file in UTF-8 can hold; likewise in a list.

    >>> _sound("a\\ud800"), _sound(["\\udcff"]), _sound(None)
    ('a\\\\ud800', ['\\\\udcff'], None)
    """
    if isinstance(cell, list):
        return [_sound(text) for text in cell]
    return cell.encode("utf-8", "backslashreplace").decode() if isinstance(cell, str) else cell
