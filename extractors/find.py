"""Find the mentions of ARKs in text, each with its spans in the source and its repairs.

A cheap scan (`extractors.mentions.labels`) selects regions of the text. Only there a tolerant pattern looks for damaged
labels. From a label, the ARK is read forward and its resolver backward.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter

import regex

from extractors.mentions.columns import TextColumn, columns_of, lines_between
from extractors.mentions.fast_path import (
    clean_mention,
    clean_value,
    has_hints,
    holds_no_label,
    is_no_label,
    may_hide_label,
)
from extractors.mentions.labels import BEFORE_LABEL, PERCENT, A, K, R, label_signs
from extractors.mentions.mention import Mention, NamespaceMention, complete_mentions, linked_arks
from extractors.mentions.mention_reader import MentionReader
from extractors.mentions.open_ends import interruptions_of
from extractors.model.ark import Ark
from extractors.model.documents import Anchor, Block, Role
from extractors.model.offset_map import ODD_BLANK, offset_map
from extractors.wraps.evidence import Evidence
from extractors.wraps.reasons import Reason
from extractors.wraps.rules import NEAR_CHARS, NEAR_LINES, Confidence

__all__ = ["Mention", "NamespaceMention", "find_arks", "scan"]

_GAP = r"(?:-?\n)?"  # a line wrap in repaired text
_BLANK = rf"[\ {ODD_BLANK}]"
_LABEL = regex.compile(
    rf"""
    {BEFORE_LABEL}
    (?P<word> {A} {_GAP} {R} {_GAP} {K} )
    (?: {_GAP} {_BLANK}?                       # French typography: a thin space before the colon
        (?P<colon> : | {PERCENT} 3a )
        (?P<slashes> (?: {_GAP} [\n\ {ODD_BLANK}]{{0,2}} (?: / | {PERCENT} 2f ) ){{0,3}} )
      | (?<= info (?: : | {PERCENT} 3a ) ark ) (?P<slashes> / | {PERCENT} 2f )
      | (?P<mapped> /?\+=? | _ )               # ark+=12148=btv1b8 in pairtrees, ark_12148_btv1b8 in file names
    )
    {_GAP} {_BLANK}?
    (?= [0-9a-z] )
    """,
    regex.VERBOSE | regex.IGNORECASE | regex.VERSION1,
)
#: Where a label may begin: wider than `_LABEL` but much faster, because `re` skips to the next first letter.
_LETTERS = re.compile(f"{A}{_GAP}{R}{_GAP}{K}")
_PLAIN_LABELS = ("ark:/", "ark:")
#: https://urldefense.proofpoint.com/v2/url?u=https-3A__n2t.net_ark-3A_12148_btv1b84&d=…
_DEFENDER = "urldefense.proofpoint.com/v2/url?u="
_URL_DEFENSE = re.compile(rf"(?<={re.escape(_DEFENDER)})[0-9A-Za-z._~-]+")
_DEFENDED = re.compile("-([2-7][0-9A-F])")
_UNSEEN = "\N{WORD JOINER}"
_BEFORE_CHARS = 100
_LONG_BEFORE_CHARS = 700
_BEHIND_CHARS = 120
_MOST_REGION_CHARS = 2**15
_REST_OF_WORD = re.compile(r"[^\s<>\"'|,;()\[\]{}]*+")
#: Labels that are read inside one ARK; a text with more is not a citation.
MOST_WITHIN = 4
_AROUND_BREAK = re.compile(r"(?:(?<! )[ ]++)?+\n[ ]*+")
_BETWEEN_WORDS = re.compile(r"\S \S")


def find_arks(text: str | None, *, evidence: Evidence | None = None) -> list[Mention]:
    """Return all ARKs in running *text*, in the order of their labels.

    A missing value of a column (None, NaN, `pandas.NA`) gives an empty list. Raises TypeError for other types, such as
    bytes.

    >>> [mention] = find_arks("The scan (see ark:/12148/bpt6k10\\n7371t).")
    >>> str(mention.ark), mention.repairs, mention.confidence.token
    ('ark:12148/bpt6k107371t', ('line wrap',), 'certain')
    """
    if not isinstance(text, str):
        if text is None or text is (unequal := text != text) or (isinstance(text, float) and unequal):  # NA, NaN
            return []
        raise TypeError(f"find_arks takes text, not {type(text).__name__}: decode bytes, or use extract")
    return [mention for mention in scan(Block(text), evidence or Evidence()) if isinstance(mention, Mention)]


def scan(
    block: Block, evidence: Evidence, linked: Mapping[int, Ark] | None = None
) -> Iterator[Mention | NamespaceMention]:
    """Yield all mentions of ARKs and of bare NAANs in one *block*, in the order of their labels.

    *linked* maps the number of each link in the document to the ARK in its target.
    """
    unwrapped = _unwrap_urls(block.text)
    if unwrapped != block.text:
        for mention in scan(replace(block, text=unwrapped), evidence, linked):
            yield _as_written(mention, block.text)
        return
    value = clean_value(block, evidence.zones)
    if value is not None:
        yield value
        return
    if block.role is not Role.TEXT:
        yield from read_block(block, evidence, linked or {})
        return
    if holds_no_label(block.text):
        return
    columns = _columns_in(block)
    if not columns:
        yield from read_block(block, evidence, linked or {})
        return
    last = -1  # columns with ragged edges may share lines; yield each offset once
    for mention in sorted(_scan_columns(block, columns, evidence), key=attrgetter("start")):
        if mention.start > last:
            last = mention.start
            yield mention


def _as_written(mention: Mention | NamespaceMention, text: str) -> Mention | NamespaceMention:
    """Return a mention found in the unwrapped form of *text*, with the characters of *text* as written."""
    if isinstance(mention, NamespaceMention):
        return replace(mention, as_written=text[slice(*mention.span)])
    written = text[mention.start : mention.end]
    escapes = {"invisible character": "percent-encoding"} if _UNSEEN not in written else {}
    return replace(mention, as_written=written, repairs=tuple(escapes.get(name, name) for name in mention.repairs))


def _unwrap_urls(text: str) -> str:
    """Return *text* with the URLs inside URL Defense (version 2) decoded, without changing any offset.

    >>> _unwrap_urls("https://urldefense.proofpoint.com/v2/url?u=https-3A__n2t.net_ark-3A_1&d=x").replace(_UNSEEN, "")
    'https://urldefense.proofpoint.com/v2/url?u=https://n2t.net/ark:/1&d=x'
    """

    def in_clear(wrapped: re.Match[str]) -> str:
        return _DEFENDED.sub(lambda escape: chr(int(escape[1], 16)) + 2 * _UNSEEN, wrapped[0].replace("_", "/"))

    return _URL_DEFENSE.sub(in_clear, text) if _DEFENDER in text else text


def _columns_in(block: Block) -> list[TextColumn]:
    """Return the columns of *block* to read separately."""
    has_columns = block.role is Role.TEXT and block.page is None and not block.anchors
    return columns_of(block.text) if has_columns else []


def _read_column(alone: Block, evidence: Evidence) -> Iterator[Mention | NamespaceMention]:
    """Yield the mentions in a column *alone*, with the spans of its lines and without the gaps between them."""
    for mention in read_block(alone, evidence, {}):
        if isinstance(mention, Mention):
            lines = (lines_between(alone.text, *span) for span in mention.spans)
            mention = replace(mention, spans=tuple(chain.from_iterable(lines)))
        yield replace(mention, as_written=_AROUND_BREAK.sub("\n", mention.as_written))


def _scan_columns(
    block: Block, columns: Sequence[TextColumn], evidence: Evidence
) -> Iterator[Mention | NamespaceMention]:
    """Yield the mentions in each of *columns*, read separately, and those outside of them."""
    for mention in read_block(block, evidence, {}):
        if not any(column.contains(mention.start) for column in columns):
            yield mention
    for column in columns:
        for mention in _read_column(replace(block, text=column.own_text(), interruptions=()), evidence):
            yield mention.shift(column.start)


def read_block(block: Block, evidence: Evidence, linked: Mapping[int, Ark]) -> Iterator[Mention | NamespaceMention]:
    """Yield the mentions in *block*: clean ARKs by one pattern, all others step by step."""
    text = block.text
    may_hide = None
    read_up_to = 0
    for region in _regions(text):
        if may_hide is None:
            may_hide = has_hints(text)
        clean = None
        if not may_hide or not may_hide_label(text, region.start, region.end):
            clean = _clean_in(block, region, read_up_to, evidence, linked)
        if clean is not None:
            yield from clean
        else:
            read_up_to = yield from _read_region(block, region, read_up_to, evidence, linked)
        read_up_to = max(read_up_to, region.signs[-1])


def _clean_in(
    block: Block, region: _Region, read_up_to: int, evidence: Evidence, linked: Mapping[int, Ark]
) -> list[Mention] | None:
    """Return the mentions in *region* if each sign in it is a clean ARK or no label; None otherwise."""
    mentions = []
    for sign in region.signs:
        if block.text[sign] != ":":
            return None
        if is_no_label(block.text, sign):
            continue
        first = sign - len("ark")
        mention = clean_mention(block, first, region.start, region.end, evidence.zones) if first >= 0 else None
        if mention is None or _is_linked_otherwise(mention, linked):
            return None
        if first >= read_up_to:
            mentions.append(mention)
    return mentions


def _is_linked_otherwise(mention: Mention, linked: Mapping[int, Ark]) -> bool:
    """Return True if *mention* is in the text of a link to another ARK."""
    return mention.link is not None and linked.get(mention.link, mention.ark) != mention.ark


def _read_region(
    block: Block, region: _Region, read_up_to: int, evidence: Evidence, linked: Mapping[int, Ark]
) -> Generator[Mention | NamespaceMention, None, int]:
    """Yield the mentions in *region* after *read_up_to*; return the offset where reading ended."""
    text = block.text
    covered = within = 0
    while True:
        is_on_one_page = text.find("\f", region.start, region.end) < 0
        offsets = offset_map(text, region.start, region.end, interruptions_of(block))
        reread_from = None
        for label in _labels(offsets.text):
            at = offsets.source_offset(label.start())
            if at < read_up_to:
                continue
            if is_on_one_page and label[0] in _PLAIN_LABELS:
                mention = clean_mention(block, at, region.start, region.end, evidence.zones)
                if mention is not None and not _is_linked_otherwise(mention, linked):
                    read_up_to = at + 1
                    yield mention
                    continue
            if at < covered:
                within += 1
                if within > MOST_WITHIN:
                    read_up_to = covered
                    span = (at, covered)
                    shown = text[at : min(covered, at + _BEFORE_CHARS)]
                    yield NamespaceMention(shown, span, shown, is_overlong=True)
                    continue
            else:
                within = 0
            reader = MentionReader(block, offsets, label, evidence, linked)
            found = reader.read()
            if reader.reached_end and region.end < len(text):
                is_of_next = region.signs[-1] < at and region.next_sign < offsets.source_end(label.end())
                if is_of_next:  # the next region has it whole
                    return read_up_to
                reread_from = at
                break
            read_up_to = at + 1
            if isinstance(found, NamespaceMention) and found.is_overlong:
                read_up_to = _REST_OF_WORD.match(text, found.end).end()  # type: ignore[union-attr]
            if found is not None:
                covered = found.end if at >= covered else covered
                yield found
        if reread_from is None:
            return read_up_to
        region = region.longer(reread_from)


def _labels(text: str) -> Iterator[regex.Match[str]]:
    """Yield the labels in a repaired text; `_LETTERS` finds the candidates fast."""
    end = 0
    for word in _LETTERS.finditer(text):
        if word.start() >= end:
            label = _LABEL.match(text, word.start())
            if label:
                end = label.end()
                yield label


@dataclass(frozen=True, slots=True)
class _Region:
    """A stretch of the text around signs of labels, with context on both sides."""

    start: int
    end: int
    signs: Sequence[int]
    next_sign: int
    """The first sign of the next region, or the end of the text."""

    def longer(self, label_at: int) -> _Region:
        """Return a region with at least twice the space after the label at *label_at*."""
        length = max(_BEHIND_CHARS, self.end - label_at)
        return _Region(max(0, label_at - _LONG_BEFORE_CHARS), label_at + 2 * length, self.signs, self.next_sign)


def _regions(text: str) -> Iterator[_Region]:
    """Yield the stretches of *text* that may contain labels, in order; they may overlap."""
    start = last = -1
    near: list[int] = []
    for sign in label_signs(text):
        if start >= 0 and sign - last < _BEHIND_CHARS and sign - start < _MOST_REGION_CHARS:
            last = sign
            near.append(sign)
            continue
        if start >= 0:
            yield _Region(start, min(len(text), last + _BEHIND_CHARS), near, sign)
        start, last, near = _region_start(text, sign), sign, [sign]
    if start >= 0:
        yield _Region(start, min(len(text), last + _BEHIND_CHARS), near, len(text))


def _region_start(text: str, sign: int) -> int:
    """Return a start that leaves room for the whole resolver before the label."""
    near = max(0, sign - _BEFORE_CHARS)
    return near if _BETWEEN_WORDS.search(text, near, sign) else max(0, sign - _LONG_BEFORE_CHARS)


# Doubtful mentions, stored with the text around them, to be decided again by the ARKs of a whole audit. Certain
# mentions don't change.

#: The lines that count as evidence.
_LINES_BEFORE = regex.compile(rf"(?r)(?:[^\n]*+\n){{0,{NEAR_LINES}}}[^\n]*+")
_LINES_AFTER = regex.compile(rf"[^\n]*+(?:\n[^\n]*+){{0,{NEAR_LINES}}}+")
#: Rules that no evidence overrules: no part of an ARK can follow.
_PLAIN = frozenset({Reason.ENDS_BEFORE_IDENTIFIER, Reason.ENDS_BEFORE_OTHER_TEXT})


@dataclass(frozen=True, slots=True)
class UnresolvedMention:
    """A mention that was not certain, with the input of its decisions."""

    index: int
    """Its index among the mentions of its document."""
    window: Block
    """The text around it, with its links and lines."""
    offset: int
    """The offset of the window in the reader's block."""
    linked: tuple[tuple[int, Ark], ...] = ()
    """The numbers of the links in the window, with the ARK in the target of each."""
    in_column: bool = False
    """True if the window is one column of a plain text."""


def unresolved_mentions(
    blocks: Sequence[Block], mentions: Sequence[tuple[int, Mention]]
) -> Iterator[UnresolvedMention]:
    """Yield those of *mentions* (each with the index of its block) that more evidence may change."""
    linked = linked_arks(mention for _, mention in mentions)
    columns: dict[int, list[TextColumn]] = {}
    for index, (block_index, mention) in enumerate(mentions):
        if mention.confidence is Confidence.CERTAIN or mention.reason in _PLAIN:
            continue
        if block_index not in columns:
            columns[block_index] = _columns_in(blocks[block_index])
        around = [column for column in columns[block_index] if column.contains(mention.start)]
        block, block_start = blocks[block_index], 0
        if around:
            block_start = around[0].start
            block = replace(block, text=around[0].own_text(), interruptions=())
        has_readings = mention.alternatives or mention.reason is not Reason.CHECK_CHARACTER_FAILS
        near = NEAR_CHARS if has_readings else 2 * _BEHIND_CHARS
        start, end = mention.start - block_start, mention.end - block_start
        start = _LINES_BEFORE.match(block.text, max(0, start - near), start).start()
        window = _window(block, start, _LINES_AFTER.match(block.text, end, end + near).end())
        links = dict.fromkeys(anchor.link for anchor in window.anchors)
        yield UnresolvedMention(
            index,
            window,
            block_start + start,
            tuple((link, linked[link]) for link in links if link in linked),
            in_column=bool(around),
        )


def decide_again(unresolved: UnresolvedMention, mention: Mention, evidence: Evidence) -> Mention:
    """Return *mention* as decided by more *evidence* and completed by its own link; itself if nothing changes."""
    at = mention.start - unresolved.offset
    linked = dict(unresolved.linked)
    window = unresolved.window
    for again in _read_column(window, evidence) if unresolved.in_column else scan(window, evidence, linked):
        if isinstance(again, Mention) and again.start == at:
            whole = next(
                complete_mentions([again], linked)
            )  # by the links of the window: a store keeps no link numbers
            if (whole.ark, whole.reason) == (mention.ark, mention.reason):
                return mention
            # The resolver was decided by the others of its document, which are not in *evidence*.
            before, own = mention.resolver or "", whole.repaired.removeprefix(whole.resolver or "")
            return replace(
                whole.shift(unresolved.offset),
                repaired=before + own,
                resolver=mention.resolver,
                link=mention.link,
                citation=mention.citation,
            )
    return mention


def _window(block: Block, start: int, end: int) -> Block:
    """Return the piece of *block* from *start* to *end*, with its annotations."""
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
        interruptions=tuple(
            (first - start, last - start)
            for first, last in interruptions_of(block).items()
            if start < first and last < end
        ),
        following=block.following if end >= len(block.text) else "",
    )
