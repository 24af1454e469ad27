"""Mentions, and doubts about them, as JSON, to be read again as what they were."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from extractors.ark import Ark
from extractors.checkchar import CheckCharacter
from extractors.conformance import Remark
from extractors.document_model import Anchor, Block, Role
from extractors.mentions.mention import Mention
from extractors.mentions.unresolved import UnresolvedMention
from extractors.wraps.wrap import Confidence


def mention_json(mention: Mention) -> list[Any]:
    """Return *mention* as JSON: its fields in their order, the parts of its ARK first.

    >>> from extractors.find import find_arks
    >>> [mention] = find_arks("see ark:/12148/bpt6k10\\n7371t.")
    >>> mention_of_json(mention_json(mention)) == mention
    True
    """
    ark = mention.ark
    return [
        [ark.naan, ark.name, ark.qualifier], mention.as_written, mention.spans, mention.repaired, mention.resolver,
        mention.inflection, mention.role.value, mention.page, mention.place, mention.context, mention.repairs,
        mention.confidence.value, mention.reason, mention.alternatives, mention.fragment, mention.link,
        mention.check.value, mention.suggestions, [remark.value for remark in mention.remarks], mention.citation,
    ]  # fmt: skip


def mention_of_json(kept: list[Any]) -> Mention:
    """Return the mention that `mention_json` made *kept* of."""
    (
        ark, as_written, spans, repaired, resolver, inflection, role, page, place, context, repairs, confidence, reason,
        alternatives, fragment, link, check, suggestions, remarks, citation,
    ) = kept  # fmt: skip
    return Mention(
        Ark(*ark), as_written, tuple((start, end) for start, end in spans), repaired, resolver, inflection, Role(role),
        page, place, context, tuple(repairs), Confidence(confidence), reason, tuple(alternatives), fragment, link,
        CheckCharacter(check), tuple(suggestions), tuple(map(Remark, remarks)), citation,
    )  # fmt: skip


def unresolved_json(unresolved: UnresolvedMention) -> dict[str, Any]:
    """Return *unresolved* as JSON, to be read again by `unresolved_of`; the slack of lines is stored as "rooms"."""
    window = asdict(unresolved.window)
    window["rooms"] = window.pop("line_slack")
    linked = [[link, str(ark)] for link, ark in unresolved.linked]
    return {**asdict(unresolved), "window": window, "linked": linked}


def unresolved_of(kept: Mapping[str, Any]) -> UnresolvedMention:
    """Return the unresolved mention that `unresolved_json` made *kept* of.

    >>> mention = UnresolvedMention(3, Block("see ark:/12345/x5", page=2, line_slack=((4, 1.5),)), 40)
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
        seams=tuple(window.get("seams", ())),
        page_breaks=tuple(window["page_breaks"]),
        following=window.get("following", ""),
        is_recognized=window.get("is_recognized", False),
    )
    linked = tuple((link, Ark.parse(ark)) for link, ark in kept.get("linked", ()))
    return UnresolvedMention(kept["index"], block, kept["offset"], linked, kept.get("in_column", False))
