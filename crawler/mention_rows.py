"""Mentions, as they stand in the store."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from extractors.ark import Ark
from extractors.conformance import Remark
from extractors.document_model import Role
from extractors.mentions.mention import Mention
from extractors.mentions.unresolved import UnresolvedMention
from extractors.wraps.wrap import Confidence


class DecidedOn(IntEnum):
    """The basis on which a mention's row was decided; of several rows about one mention the last counts."""

    READ = 1
    """On its document."""
    TOGETHER = 2
    """On all documents of the run."""
    SETTLED = 3
    """On what resolvers answered about its readings."""


@dataclass(frozen=True, slots=True)
class KeptMention:
    """A mention and its place in the store."""

    document_id: int
    ordinal: int
    request_url: str
    mention: Mention


@dataclass(frozen=True, slots=True)
class KeptUnresolvedMention(KeptMention):
    """A mention that wasn't certain when its document was read."""

    unresolved: UnresolvedMention


def mention_of(row: Any) -> Mention:
    """The mention in a row of the store that has the columns of its ARK as well."""
    return Mention(
        ark=Ark(row.naan, row.name, row.qualifier),
        as_written=row.as_written,
        spans=tuple((start, end) for start, end in row.spans),
        repaired=row.repaired,
        resolver=row.resolver,
        inflection=row.inflection,
        role=Role(row.role),
        page=row.page,
        place=row.place,
        context=row.context,
        repairs=tuple(row.repairs),
        confidence=Confidence[row.confidence.upper()],
        reason=row.reason,
        alternatives=tuple(row.alternatives),
        fragment=row.fragment,
        citation=row.citation,
        remarks=tuple(map(Remark, row.remarks)),
    )
