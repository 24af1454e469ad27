"""Mentions as flat rows: what `arkaudit extract` prints, and a dataset holds."""

from __future__ import annotations

from typing import Any

from extractors.documents import Document
from extractors.mentions.mention import Mention

#: The columns of a row, in their order.
MENTION_COLUMNS = (
    "document", "ark", "as_written", "repaired", "role", "page", "place", "spans", "context", "repairs",
    "resolver", "inflection", "fragment", "confidence", "reason", "alternatives", "check", "suggestions", "spelling",
    "citation",
)  # fmt: skip


#: Those of them that most people want.
MAIN_COLUMNS = ("document", "page", "ark", "repaired", "repairs", "confidence", "check")


def mention_row(document: str, mention: Mention) -> dict[str, Any]:
    """One mention, as `arkaudit extract` gives it."""
    return {
        "document": document,
        "ark": str(mention.ark),
        "as_written": mention.as_written,
        "repaired": mention.repaired,
        "role": mention.role.value,
        "page": mention.page,
        "place": mention.place,
        "spans": [list(span) for span in mention.spans],
        "context": mention.context,
        "repairs": list(mention.repairs),
        "resolver": mention.resolver,
        "inflection": mention.inflection,
        "fragment": mention.fragment,
        "confidence": mention.confidence.token,
        "reason": mention.reason,
        "alternatives": list(mention.alternatives),
        "check": mention.check.value,
        "suggestions": list(mention.suggestions),
        "spelling": [remark.value for remark in mention.remarks],
        "citation": mention.citation,
    }


def mention_rows(document: Document) -> list[dict[str, Any]]:
    """The mentions of a document, as `arkaudit extract` gives them."""
    return [mention_row(document.name, mention) for mention in document.mentions]
