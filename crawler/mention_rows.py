"""Mentions and doubts about them, as they stand in the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import IntEnum
from typing import Any

from extractors.ark import Ark
from extractors.conformance import Remark
from extractors.documents import Anchor, Block, Role
from extractors.mentions.doubts import Doubt
from extractors.mentions.mention import Mention
from extractors.wraps.evidence import Cutting
from extractors.wraps.wrap import Confidence


class Decided(IntEnum):
    """What a row about a mention was decided on; of several rows about one mention the last counts."""

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
class DoubtfulMention(KeptMention):
    """A mention that wasn't certain when its document was read."""

    doubt: Doubt


def doubt_json(doubt: Doubt) -> dict[str, Any]:
    """*doubt* as JSON, to be read again by `doubt_of`."""
    return {**asdict(doubt), "cutting": doubt.cutting.value}


def doubt_of(kept: Mapping[str, Any]) -> Doubt:
    """The doubt that `doubt_json` made *kept* of.

    >>> doubt = Doubt(3, Block("see ark:/12345/x5", page=2, rooms=((4, 1.5),)), 40, Cutting.UNKNOWN)
    >>> doubt_of(doubt_json(doubt)) == doubt
    True
    """
    window = dict(kept["window"])
    block = Block(
        text=window["text"],
        role=Role(window["role"]),
        page=window["page"],
        place=window["place"],
        link=window["link"],
        anchors=tuple(Anchor(**anchor) for anchor in window["anchors"]),
        rooms=tuple((at, room) for at, room in window["rooms"]),
        seams=tuple(window.get("seams", ())),
        page_breaks=tuple(window["page_breaks"]),
    )
    return Doubt(kept["index"], block, kept["offset"], Cutting(kept["cutting"]))


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
