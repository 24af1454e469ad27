"""Mentions as rows of plain values: the output of `arkaudit extract`, and the columns in stores and datasets."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any

from extractors.mentions.mention import Mention
from extractors.model.ark import Ark
from extractors.wraps.rules import Confidence


class ColumnKind(StrEnum):
    """The type of a column."""

    TEXT = "text"
    NUMBER = "integer"
    """32 bits."""
    LARGE_NUMBER = "large integer"
    """64 bits."""
    TEXTS = "list of text"
    PAIRS = "list of pairs of integers"


@dataclass(frozen=True, slots=True)
class FlatColumn:
    """A column of the rows of mentions."""

    name: str
    kind: ColumnKind
    meaning: str
    unit: str = ""
    is_optional: bool = False
    """True if cells may be missing (NULL)."""

    @property
    def field(self) -> str:
        """The name of the column's attribute of `Mention`, and of the column in a store."""
        return "remarks" if self.name == "spelling" else self.name


_TEXT, _NUMBER, _TEXTS, _PAIRS = ColumnKind.TEXT, ColumnKind.NUMBER, ColumnKind.TEXTS, ColumnKind.PAIRS
#: The columns of a mention after its document, in order. Stores and datasets have them too.
MENTION_COLUMNS = (
    FlatColumn("ark", _TEXT, "ARK in normal form (draft-kunze-ark-38, 3.2)"),
    FlatColumn("as_written", _TEXT, "the characters of the document, unchanged"),
    FlatColumn("repaired", _TEXT, "the characters after repairs; hyphens, label and resolver as found"),
    FlatColumn("role", _TEXT, "text, link-target, metadata, link-annotation or structured-data"),
    FlatColumn("page", _NUMBER, "page of a paginated document; missing for others", "page number from 1", True),
    FlatColumn("line", _NUMBER, "line of a text document; missing for others", "number from 1", True),
    FlatColumn("place", _TEXT, "element and attribute, or rectangle on the page in points; may be empty"),
    FlatColumn("spans", _PAIRS, "start and end in the reader's block of text, several across a gap", "code points"),
    FlatColumn("context", _TEXT, "surrounding text"),
    FlatColumn("repairs", _TEXTS, "repairs, in order"),
    FlatColumn("resolver", _TEXT, "URL before the label, with its final slash; missing without one", "", True),
    FlatColumn("inflection", _TEXT, "?info, ??, ? or empty"),
    FlatColumn("fragment", _TEXT, "text after #, which is never sent; may be empty"),
    FlatColumn("confidence", _TEXT, "certain, likely or ambiguous"),
    FlatColumn("reason", _TEXT, "reason of the least certain decision, one of the terms under *Reasons*"),
    FlatColumn("alternatives", _TEXTS, "ARKs that other decisions would have given"),
    FlatColumn("check", _TEXT, "result of the check character: passes, fails, none or unknown"),
    FlatColumn("suggestions", _TEXTS, "ARKs that may have been meant if the check character fails"),
    FlatColumn("spelling", _TEXTS, "deviations of its spelling from the specifications"),
    FlatColumn(
        "citation", _NUMBER, "number of the citation in the document; a link and its text are one", "number from 1"
    ),
)
#: The names of the columns of a row.
ALL_COLUMNS = ("document", *(column.name for column in MENTION_COLUMNS))
#: The columns that most users need.
MAIN_COLUMNS = ("document", "page", "ark", "repaired", "repairs", "confidence", "check")


def mention_row(document_name: str, mention: Mention) -> dict[str, Any]:
    """Return the row of one mention in a document, by `ALL_COLUMNS`, with values that JSON can represent."""
    values = {column.name: _plain_value(getattr(mention, column.field)) for column in MENTION_COLUMNS}
    return {"document": document_name, **values}


def _plain_value(value: Any) -> Any:
    """Return a value of a mention as JSON: texts for ARKs and enumerations, lists for tuples."""
    match value:
        case Ark():
            return str(value)
        case Confidence():
            return value.token
        case Enum():
            return value.value
        case tuple():
            return [_plain_value(part) for part in value]
    return value
