"""Mentions that could be decided otherwise, kept with the text around them, to be decided again when more is known.

The ARKs of a whole audit are better evidence than those of one document: names that are whole in another one, the
shape of a shoulder's names, its check characters. What was sure stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from extractors.find import column_alone, columns_in, moved, read_column, scan
from extractors.mentions.citations import completed, linked_arks
from extractors.mentions.columns import TextColumn
from extractors.mentions.mention import Mention
from extractors.model.ark import Ark
from extractors.model.documents import Anchor, Block
from extractors.wraps.evidence import Evidence
from extractors.wraps.rules import ANOTHER_BEGINS, NEAR_CHARS, NOTHING_FOLLOWS, Confidence

#: Rules that no evidence overrules: an ARK ends where nothing follows that could be part of it.
_PLAIN = frozenset({ANOTHER_BEGINS, NOTHING_FOLLOWS})


@dataclass(frozen=True, slots=True)
class UnresolvedMention:
    """A mention that was not certain, and what its decisions were made on."""

    index: int
    """Which of its document's mentions it is, from 0."""
    window: Block
    """The text around it, with what is known of its links and lines."""
    offset: int
    """Where in the reader's block the window begins."""
    linked: tuple[tuple[int, Ark], ...] = ()
    """The links in the window, by their numbers, and the ARK in the target of each."""
    in_column: bool = False
    """True if the window has nothing but the column of a plain text that the mention is in."""


def unresolved_mentions(
    blocks: Sequence[Block], mentions: Sequence[tuple[int, Mention]]
) -> Iterator[UnresolvedMention]:
    """Yield those of *mentions*, each with the index of its block, that more evidence may decide otherwise."""
    linked = linked_arks(mention for _, mention in mentions)
    columns: dict[int, list[TextColumn]] = {}
    for index, (block_index, mention) in enumerate(mentions):
        if mention.confidence is Confidence.CERTAIN or mention.reason in _PLAIN:
            continue
        if block_index not in columns:
            columns[block_index] = columns_in(blocks[block_index])
        column = next((candidate for candidate in columns[block_index] if candidate.holds(mention.spans[0][0])), None)
        block, block_start = blocks[block_index], 0
        if column is not None:
            block, block_start = column_alone(block, column), column.start
        start = max(0, mention.spans[0][0] - block_start - NEAR_CHARS)
        window = _window(block, start, mention.spans[-1][1] - block_start + NEAR_CHARS)
        links = dict.fromkeys(anchor.link for anchor in window.anchors)
        yield UnresolvedMention(
            index,
            window,
            block_start + start,
            tuple((link, linked[link]) for link in links if link in linked),
            in_column=column is not None,
        )


def decided_again(unresolved: UnresolvedMention, mention: Mention, evidence: Evidence) -> Mention:
    """*mention* as more *evidence* decides it, made whole by its own link; itself where nothing changes."""
    at = mention.spans[0][0] - unresolved.offset
    linked = dict(unresolved.linked)
    window = unresolved.window
    for again in read_column(window, evidence) if unresolved.in_column else scan(window, evidence, linked):
        if isinstance(again, Mention) and again.spans[0][0] == at:
            whole = next(completed([again], linked))  # by the link of the window: a store keeps none of a mention
            if (whole.ark, whole.reason) == (mention.ark, mention.reason):
                return mention
            return replace(moved(whole, unresolved.offset), link=mention.link, citation=mention.citation)
    return mention


def _window(block: Block, start: int, end: int) -> Block:
    """The piece of *block* from *start* to *end*, with all that is in it."""
    return replace(
        block,
        text=block.text[start:end],
        page=None if block.page is None else block.page + sum(at <= start for at in block.page_breaks),
        anchors=tuple(
            Anchor(max(0, anchor.start - start), anchor.end - start, anchor.link)
            for anchor in block.anchors
            if anchor.end > start and anchor.start < end
        ),
        line_slack=tuple((at - start, slack) for at, slack in block.line_slack if start <= at < end),
        seams=tuple(at - start for at in block.seams if start <= at < end),
        page_breaks=tuple(at - start for at in block.page_breaks if start < at < end),
        following=block.following if end >= len(block.text) else "",
    )
