"""Mentions and doubts about them, as they stand in the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import IntEnum
from typing import Any

from extractors.ark import Ark
from extractors.conformance import Remark
from extractors.document_model import Anchor, Block, Role
from extractors.mentions.mention import Mention
from extractors.mentions.unresolved import UnresolvedMention
from extractors.wraps.evidence import Cutting
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


def unresolved_json(unresolved: UnresolvedMention) -> dict[str, Any]:
    """Return *unresolved* as JSON, to be read again by `unresolved_of`; the slack of lines is stored as "rooms"."""
    window = asdict(unresolved.window)
    window["rooms"] = window.pop("line_slack")
    linked = [[link, str(ark)] for link, ark in unresolved.linked]
    return {**asdict(unresolved), "window": window, "cutting": unresolved.cutting.value, "linked": linked}


def unresolved_of(kept: Mapping[str, Any]) -> UnresolvedMention:
    """Return the unresolved mention that `unresolved_json` made *kept* of.

    >>> mention = UnresolvedMention(3, Block("see ark:/12345/x5", page=2, line_slack=((4, 1.5),)), 40, Cutting.UNKNOWN)
    >>> unresolved_of(unresolved_json(mention)) == mention
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
        line_slack=tuple((at, slack) for at, slack in window["rooms"]),
        jumps=tuple(window.get("jumps", ())),
        seams=tuple(window.get("seams", ())),
        page_breaks=tuple(window["page_breaks"]),
    )
    linked = tuple((link, Ark.parse(ark)) for link, ark in kept.get("linked", ()))
    return UnresolvedMention(kept["index"], block, kept["offset"], Cutting(kept["cutting"]), linked)


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
