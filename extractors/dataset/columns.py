"""The tables of a dataset, and their columns: names, types and meanings, which stay as they are."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


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

_WHERE: Final = (
    DatasetColumn(
        "document", _TEXT, "name as `arkaudit extract` has it: a path, and for what is in an archive `a.warc!/URL`, say"
    ),
    DatasetColumn("source", _TEXT, "archive or file as it was named: `document` begins with it"),
    DatasetColumn("record", _TEXT, "what it is in the archive: a path, a URL; empty for a whole file"),
)

DOCUMENTS: Final = DatasetTable(
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
MENTIONS: Final = DatasetTable(
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
        DatasetColumn("as_written", _TEXT, "what stands in the document, unchanged"),
        DatasetColumn("repaired", _TEXT, "the same, whole again; hyphens, label and resolver as found"),
        DatasetColumn("role", _TEXT, "text, link-target, metadata, link-annotation or structured-data"),
        DatasetColumn("page", _NUMBER, "page of a paginated document; missing for others", "page number from 1", True),
        DatasetColumn("place", _TEXT, "element and attribute, or rectangle on the page in points; may be empty"),
        DatasetColumn("spans", _PAIRS, "where it stands in the reader's block of text: begin and end", "code points"),
        DatasetColumn("context", _TEXT, "text around it"),
        DatasetColumn("repairs", _TEXTS, "repairs that were made, in order"),
        DatasetColumn("resolver", _TEXT, "URL before the label, with its final slash; missing without one", "", True),
        DatasetColumn("inflection", _TEXT, "?info, ??, ? or empty"),
        DatasetColumn("fragment", _TEXT, "what was written behind #; may be empty"),
        DatasetColumn("confidence", _TEXT, "certain, likely or ambiguous"),
        DatasetColumn("reason", _TEXT, "rule behind the least sure decision"),
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
            "1 when what stands in its document decided it, 2 when all documents of the dataset decided it otherwise",
            "number from 1",
        ),
    ),
)
FINDINGS: Final = DatasetTable(
    "findings",
    "One row per remark that a reader must know about a document, an archive as such, or a folder that was named.",
    (
        *_WHERE,
        DatasetColumn("kind", _TEXT, "kind of finding: unreadable, encrypted, damaged, namespace-mention …"),
        DatasetColumn("detail", _TEXT, "the finding in words"),
    ),
)
#: All of them.
DATASET_TABLES: Final = (DOCUMENTS, MENTIONS, FINDINGS)
