"""The tables of a dataset: columns with their names, types and meanings, which must stay compatible."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from extractors.mentions.rows import MENTION_COLUMNS, ColumnKind, FlatColumn


@dataclass(frozen=True, slots=True)
class DatasetTable:
    """A table of a dataset: the meaning of a row, and the columns in order."""

    name: str
    caption: str
    columns: tuple[FlatColumn, ...]


_TEXT, _NUMBER, _LARGE = ColumnKind.TEXT, ColumnKind.NUMBER, ColumnKind.LARGE_NUMBER

_DOCUMENT_COLUMNS = (
    FlatColumn("document", _TEXT, "name as in `arkaudit extract`: a path, or `a.warc!/URL` for a record of an archive"),
    FlatColumn("source", _TEXT, "archive or file as named on the command line: `document` begins with it"),
    FlatColumn("record", _TEXT, "path or URL in the archive; empty for a whole file"),
)

DOCUMENTS = DatasetTable(
    "documents",
    "One row per document, read or unreadable; unique by document. An archive itself has a row only if it, or a part "
    "of it, could not be read.",
    (
        *_DOCUMENT_COLUMNS,
        FlatColumn("url", _TEXT, "URL of its capture in a web archive; missing for others", "", True),
        FlatColumn("outcome", _TEXT, "read, or unreadable (then its findings have the reason)"),
        FlatColumn("media_type", _TEXT, "media type as the reader determined it; may be empty"),
        FlatColumn("title", _TEXT, "title in the document; may be empty"),
        FlatColumn("bytes", _LARGE, "size; missing for a document that was not read", "bytes", True),
        FlatColumn("sha256", _TEXT, "digest in hexadecimal; missing for a document that was not read", "", True),
        FlatColumn("mentions", _NUMBER, "mentions of ARKs in the document", "mentions"),
    ),
)
MENTIONS = DatasetTable(
    "mentions",
    "One row per place that cites an ARK, decided by all documents of the dataset; unique by document and ordinal.",
    (
        *_DOCUMENT_COLUMNS,
        FlatColumn("ordinal", _NUMBER, "place among the mentions of the document", "number from 1"),
        MENTION_COLUMNS[0],
        FlatColumn("naan", _TEXT, "Name Assigning Authority Number"),
        FlatColumn(
            "shoulder", _TEXT, "consonants up to and with the first digit of the name; missing without one", "", True
        ),
        FlatColumn("name", _TEXT, "base name, up to the first slash or dot"),
        FlatColumn("qualifier", _TEXT, "components and variants, each with its delimiter; may be empty"),
        *MENTION_COLUMNS[1:],
        FlatColumn(
            "requested",
            _TEXT,
            "URL that requests its object, for the text of a link that of its target; a path at the resolver of the "
            "check for an ARK that is cited without one",
        ),
        FlatColumn(
            "decided",
            _NUMBER,
            "1 if its own document decided it, 2 if all documents of the dataset changed that decision",
            "number from 1",
        ),
    ),
)
FINDINGS = DatasetTable(
    "findings",
    "One row per problem or remark about a document or an archive.",
    (
        *_DOCUMENT_COLUMNS,
        FlatColumn("kind", _TEXT, "kind of finding: unreadable, encrypted, damaged, namespace-mention …"),
        FlatColumn("detail", _TEXT, "the finding in words"),
    ),
)
DATASET_TABLES = (DOCUMENTS, MENTIONS, FINDINGS)

#: Rows, and bytes if they are known, that are written together.
_ROWS_A_GROUP = 20_000
_GROUP_BYTES = 2**23
_TYPES = {
    ColumnKind.TEXT: pa.string(),
    ColumnKind.NUMBER: pa.int32(),
    ColumnKind.LARGE_NUMBER: pa.int64(),
    ColumnKind.TEXTS: pa.list_(pa.string()),
    ColumnKind.PAIRS: pa.list_(pa.list_(pa.int32())),
}


def schema_of(table: DatasetTable) -> pa.Schema:
    """Return the Arrow schema of a table's files."""
    return pa.schema(
        [pa.field(column.name, _TYPES[column.kind], nullable=column.is_optional) for column in table.columns]
    )


def sound_parquet(file: pa.NativeFile) -> pq.ParquetFile:
    """Return *file*, written by `ParquetFile`, for reading. Reading raises OSError if a checksum is wrong."""
    return pq.ParquetFile(file, page_checksum_verification=True)


class ParquetFile:
    """Writes rows, each a sequence of cells in the order of the columns, into a file."""

    def __init__(self, schema: pa.Schema, path: Path) -> None:
        self._schema = schema
        self._rows: list[Sequence[Any]] = []
        self._weight = 0
        self._writer = pq.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exception_type: type[BaseException] | None, *_: object) -> None:
        """Write the last rows, and close the file."""
        try:
            if exception_type is None:
                self._flush()
            self._writer.close()
        finally:
            # Otherwise its destructor prints a traceback on a full disk.
            self._writer.is_open = False

    def add(self, rows: Iterable[Sequence[Any]], weight: int = 0) -> None:
        """Add *rows* of *weight* bytes together (0: unknown), and write a row group if it is full."""
        self._rows += rows
        self._weight += weight
        if len(self._rows) >= _ROWS_A_GROUP or self._weight >= _GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            arrays = []
            for cells, field in zip(zip(*self._rows, strict=True), self._schema, strict=True):
                try:
                    arrays.append(pa.array(cells, field.type))
                except UnicodeEncodeError:
                    arrays.append(pa.array([_encodable(cell) for cell in cells], field.type))
            self._writer.write_table(pa.table(arrays, schema=self._schema))
            self._rows, self._weight = [], 0


def _encodable(cell: Any) -> Any:
    """Return a text, or a list of texts, with lone surrogates escaped, which UTF-8 can't encode; other cells unchanged.

    >>> _encodable("a\\ud800"), _encodable(["\\udcff"]), _encodable(None)
    ('a\\\\ud800', ['\\\\udcff'], None)
    """
    if isinstance(cell, list):
        return [_encodable(text) for text in cell]
    return cell.encode("utf-8", "backslashreplace").decode() if isinstance(cell, str) else cell
