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
_DEFENDED_CHAR = re.compile("-([2-7][0-9A-F])")
_INVISIBLE = "\N{WORD JOINER}"
_BEFORE_CHARS = 100
_LONG_BEFORE_CHARS = 700
_AFTER_CHARS = 120
_MOST_REGION_CHARS = 2**15
_REST_OF_WORD = re.compile(r"[^\s<>\"'|,;()\[\]{}]*+")
#: Labels that are read inside one ARK; a text with more is not a citation.
MOST_LABELS_IN_ARK = 4
_AROUND_BREAK = re.compile(r"(?:(?<! )[ ]++)?+\n[ ]*+")
_BETWEEN_WORDS = re.compile(r"\S \S")


def find_arks(text: str | None, *, evidence: Evidence | None = None) -> list[Mention]:
    """Return the mentions of ARKs in running *text*, in the order of their labels.

    A missing value of a column (None, NaN, `pandas.NA`) gives an empty list. Raises TypeError for other types, such as
    bytes. *evidence* is that of other documents.

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
    block: Block, evidence: Evidence, arks_by_link: Mapping[int, Ark] | None = None
) -> Iterator[Mention | NamespaceMention]:
    """Yield the mentions of ARKs and of bare NAANs in *block*, in the order of their labels.

    *arks_by_link* maps the link numbers of the document to the ARKs in link targets.
    """
    unwrapped_text = _unwrap_urls(block.text)
    if unwrapped_text != block.text:
        for mention in scan(replace(block, text=unwrapped_text), evidence, arks_by_link):
            yield _with_written_chars(mention, block.text)
        return
    value_mention = clean_value(block, evidence.zones)
    if value_mention is not None:
        yield value_mention
        return
    if block.role is not Role.TEXT:
        yield from read_block(block, evidence, arks_by_link or {})
        return
    if holds_no_label(block.text):
        return
    columns = _columns_in(block)
    if not columns:
        yield from read_block(block, evidence, arks_by_link or {})
        return
    last_start = -1  # columns with ragged edges may share lines; yield each offset once
    for mention in sorted(_scan_columns(block, columns, evidence), key=attrgetter("start")):
        if mention.start > last_start:
            last_start = mention.start
            yield mention


def _with_written_chars(mention: Mention | NamespaceMention, text: str) -> Mention | NamespaceMention:
    """Return *mention*, which was read in the result of `_unwrap_urls`, with the characters of the original *text*."""
    if isinstance(mention, NamespaceMention):
        return replace(mention, as_written=text[slice(*mention.span)])
    written_text = text[mention.start : mention.end]
    escapes = {"invisible character": "percent-encoding"} if _INVISIBLE not in written_text else {}
    return replace(
        mention, as_written=written_text, repairs=tuple(escapes.get(repair, repair) for repair in mention.repairs)
    )


def _unwrap_urls(text: str) -> str:
    """Return *text* with URLs decoded that URL Defense (version 2) encoded in its own; `_INVISIBLE` keeps their lengths.

    >>> _unwrap_urls("https://urldefense.proofpoint.com/v2/url?u=https-3A__n2t.net_ark-3A_1&d").replace(_INVISIBLE, "")
    'https://urldefense.proofpoint.com/v2/url?u=https://n2t.net/ark:/1&d'
    """

    def decoded(wrapped: re.Match[str]) -> str:
        return _DEFENDED_CHAR.sub(lambda escape: chr(int(escape[1], 16)) + 2 * _INVISIBLE, wrapped[0].replace("_", "/"))

    return _URL_DEFENSE.sub(decoded, text) if _DEFENDER in text else text


def _columns_in(block: Block) -> list[TextColumn]:
    """Return the columns of *block*, if it is plain text without pages and links; else empty."""
    has_columns = block.role is Role.TEXT and block.page is None and not block.anchors
    return columns_of(block.text) if has_columns else []


def _read_column(column_block: Block, evidence: Evidence) -> Iterator[Mention | NamespaceMention]:
    """Yield the mentions in *column_block* (`TextColumn.own_text`), without the blanks between its lines."""
    for mention in read_block(column_block, evidence, {}):
        if isinstance(mention, Mention):
            lines = (lines_between(column_block.text, *span) for span in mention.spans)
            mention = replace(mention, spans=tuple(chain.from_iterable(lines)))
        yield replace(mention, as_written=_AROUND_BREAK.sub("\n", mention.as_written))


def _scan_columns(
    block: Block, columns: Sequence[TextColumn], evidence: Evidence
) -> Iterator[Mention | NamespaceMention]:
    """Yield the mentions of *block* outside of *columns*, then those in *columns*, which are read separately."""
    for mention in read_block(block, evidence, {}):
        if not any(column.contains(mention.start) for column in columns):
            yield mention
    for column in columns:
        for mention in _read_column(replace(block, text=column.own_text(), interruptions=()), evidence):
            yield mention.shift(column.start)


def read_block(
    block: Block, evidence: Evidence, arks_by_link: Mapping[int, Ark]
) -> Iterator[Mention | NamespaceMention]:
    """Yield the mentions in *block*: clean ARKs by one pattern, all others step by step."""
    text = block.text
    has_hint = None
    read_end = 0
    for region in _regions(text):
        if has_hint is None:
            has_hint = has_hints(text)
        mentions = None
        if not has_hint or not may_hide_label(text, region.start, region.end):
            mentions = _clean_mentions(block, region, read_end, evidence, arks_by_link)
        if mentions is not None:
            yield from mentions
        else:
            read_end = yield from _read_region(block, region, read_end, evidence, arks_by_link)
        read_end = max(read_end, region.signs[-1])


def _clean_mentions(
    block: Block, region: _Region, read_end: int, evidence: Evidence, arks_by_link: Mapping[int, Ark]
) -> list[Mention] | None:
    """Return the mentions in *region* from *read_end* on; None if a sign there may be of a label without a clean ARK."""
    mentions = []
    for sign in region.signs:
        if block.text[sign] != ":":
            return None
        if is_no_label(block.text, sign):
            continue
        start = sign - len("ark")
        mention = clean_mention(block, start, region.start, region.end, evidence.zones) if start >= 0 else None
        if mention is None or _is_linked_otherwise(mention, arks_by_link):
            return None
        if start >= read_end:
            mentions.append(mention)
    return mentions


def _is_linked_otherwise(mention: Mention, arks_by_link: Mapping[int, Ark]) -> bool:
    """Return True if *mention* is in the text of a link to another ARK."""
    return mention.link is not None and arks_by_link.get(mention.link, mention.ark) != mention.ark


def _read_region(
    block: Block, region: _Region, read_end: int, evidence: Evidence, arks_by_link: Mapping[int, Ark]
) -> Generator[Mention | NamespaceMention, None, int]:
    """Yield the mentions in *region* with labels from the offset *read_end* on; return the next *read_end*."""
    text = block.text
    ark_end = label_count = 0
    while True:
        is_on_one_page = text.find("\f", region.start, region.end) < 0
        offsets = offset_map(text, region.start, region.end, interruptions_of(block))
        reread_from = None
        for label in _labels(offsets.text):
            label_start = offsets.source_offset(label.start())
            if label_start < read_end:
                continue
            if is_on_one_page and label[0] in _PLAIN_LABELS:
                mention = clean_mention(block, label_start, region.start, region.end, evidence.zones)
                if mention is not None and not _is_linked_otherwise(mention, arks_by_link):
                    read_end = label_start + 1
                    yield mention
                    continue
            if label_start < ark_end:
                label_count += 1
                if label_count > MOST_LABELS_IN_ARK:
                    read_end = ark_end
                    span = (label_start, ark_end)
                    shown_text = text[label_start : min(ark_end, label_start + _BEFORE_CHARS)]
                    yield NamespaceMention(shown_text, span, shown_text, is_overlong=True)
                    continue
            else:
                label_count = 0
            reader = MentionReader(block, offsets, label, evidence, arks_by_link)
            next_mention = reader.read()
            if reader.reached_end and region.end < len(text):
                is_in_next_region = region.signs[-1] < label_start and region.next_sign < offsets.source_end(
                    label.end()
                )
                if is_in_next_region:  # the next region has it whole
                    return read_end
                reread_from = label_start
                break
            read_end = label_start + 1
            if isinstance(next_mention, NamespaceMention) and next_mention.is_overlong:
                read_end = _REST_OF_WORD.match(text, next_mention.end).end()  # type: ignore[union-attr]
            if next_mention is not None:
                ark_end = next_mention.end if label_start >= ark_end else ark_end
                yield next_mention
        if reread_from is None:
            return read_end
        region = region.longer(reread_from)


def _labels(text: str) -> Iterator[regex.Match[str]]:
    """Yield the matches of `_LABEL` in the repaired *text*; `_LETTERS` finds the candidates fast."""
    label_end = 0
    for word_match in _LETTERS.finditer(text):
        if word_match.start() >= label_end:
            label = _LABEL.match(text, word_match.start())
            if label:
                label_end = label.end()
                yield label


@dataclass(frozen=True, slots=True)
class _Region:
    """A stretch of the text around `signs` (`label_signs`), with context on both sides; all fields are offsets in the text."""

    start: int
    end: int
    signs: Sequence[int]
    next_sign: int
    """The first sign of the next region, or the end of the text."""

    def longer(self, label_start: int) -> _Region:
        """Return a region that extends at least twice as far after the label at *label_start*."""
        length = max(_AFTER_CHARS, self.end - label_start)
        return _Region(max(0, label_start - _LONG_BEFORE_CHARS), label_start + 2 * length, self.signs, self.next_sign)


def _regions(text: str) -> Iterator[_Region]:
    """Yield the stretches of *text* that may contain labels, in order; they may overlap."""
    start = last_sign = -1
    signs: list[int] = []
    for sign in label_signs(text):
        if start >= 0 and sign - last_sign < _AFTER_CHARS and sign - start < _MOST_REGION_CHARS:
            last_sign = sign
            signs.append(sign)
            continue
        if start >= 0:
            yield _Region(start, min(len(text), last_sign + _AFTER_CHARS), signs, sign)
        start, last_sign, signs = _region_start(text, sign), sign, [sign]
    if start >= 0:
        yield _Region(start, min(len(text), last_sign + _AFTER_CHARS), signs, len(text))


def _region_start(text: str, sign: int) -> int:
    """Return the start of a region whose first label has this *sign*, with room for a whole resolver."""
    start = max(0, sign - _BEFORE_CHARS)
    return start if _BETWEEN_WORDS.search(text, start, sign) else max(0, sign - _LONG_BEFORE_CHARS)


# Doubtful mentions, stored with the text around them, to be decided again by the ARKs of a whole audit. Certain
# mentions don't change.

#: The lines near a mention, whose lengths and numbers are evidence.
_LINES_BEFORE = regex.compile(rf"(?r)(?:[^\n]*+\n){{0,{NEAR_LINES}}}[^\n]*+")
_LINES_AFTER = regex.compile(rf"[^\n]*+(?:\n[^\n]*+){{0,{NEAR_LINES}}}+")
#: Rules that no evidence overrules: no part of an ARK can follow.
_FINAL_REASONS = frozenset({Reason.ENDS_BEFORE_IDENTIFIER, Reason.ENDS_BEFORE_OTHER_TEXT})


@dataclass(frozen=True, slots=True)
class UnresolvedMention:
    """A mention that was not certain, with the text and links that are needed to decide it again."""

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
    """Yield those of *mentions* that more evidence may change, each with the text around it.

    *mentions* are pairs of the index of a block in *blocks* and a mention in it.
    """
    arks_by_link = linked_arks(mention for _, mention in mentions)
    columns_by_block: dict[int, list[TextColumn]] = {}
    for index, (block_index, mention) in enumerate(mentions):
        if mention.confidence is Confidence.CERTAIN or mention.reason in _FINAL_REASONS:
            continue
        if block_index not in columns_by_block:
            columns_by_block[block_index] = _columns_in(blocks[block_index])
        mention_columns = [column for column in columns_by_block[block_index] if column.contains(mention.start)]
        block, block_start = blocks[block_index], 0
        if mention_columns:
            block_start = mention_columns[0].start
            block = replace(block, text=mention_columns[0].own_text(), interruptions=())
        has_readings = mention.alternatives or mention.reason is not Reason.CHECK_CHARACTER_FAILS
        near_chars = NEAR_CHARS if has_readings else 2 * _AFTER_CHARS
        start, end = mention.start - block_start, mention.end - block_start
        start = _LINES_BEFORE.match(block.text, max(0, start - near_chars), start).start()
        window = _window(block, start, _LINES_AFTER.match(block.text, end, end + near_chars).end())
        links = dict.fromkeys(anchor.link for anchor in window.anchors)
        yield UnresolvedMention(
            index,
            window,
            block_start + start,
            tuple((link, arks_by_link[link]) for link in links if link in arks_by_link),
            in_column=bool(mention_columns),
        )


def decide_again(unresolved: UnresolvedMention, mention: Mention, evidence: Evidence) -> Mention:
    """Return *mention* as decided by more *evidence* and completed by its link; the same object if ARK and reason stay."""
    start = mention.start - unresolved.offset
    arks_by_link = dict(unresolved.linked)
    window = unresolved.window
    for new_mention in _read_column(window, evidence) if unresolved.in_column else scan(window, evidence, arks_by_link):
        if isinstance(new_mention, Mention) and new_mention.start == start:
            # By the links of the window: a store keeps no link numbers.
            complete = next(complete_mentions([new_mention], arks_by_link))
            if (complete.ark, complete.reason) == (mention.ark, mention.reason):
                return mention
            # The resolver was decided by the others of its document, which are not in *evidence*.
            resolver, own_text = mention.resolver or "", complete.repaired.removeprefix(complete.resolver or "")
            return replace(
                complete.shift(unresolved.offset),
                repaired=resolver + own_text,
                resolver=mention.resolver,
                link=mention.link,
                citation=mention.citation,
            )
    return mention


def _window(block: Block, start: int, end: int) -> Block:
    """Return the piece of *block* from *start* to *end*, with the block's attributes for that piece."""
    return replace(
        block,
        text=block.text[start:end],
        page=None if block.page is None else block.page + sum(offset <= start for offset in block.page_breaks),
        anchors=tuple(
            Anchor(max(0, anchor.start - start), anchor.end - start, anchor.link)
            for anchor in block.anchors
            if anchor.end > start and anchor.start < end
        ),
        line_slack=tuple((offset - start, slack) for offset, slack in block.line_slack if start <= offset < end),
        seams=tuple(offset - start for offset in block.seams if start <= offset < end),
        page_breaks=tuple(offset - start for offset in block.page_breaks if start < offset < end),
        interruptions=tuple(
            (stretch_start - start, stretch_end - start)
            for stretch_start, stretch_end in interruptions_of(block).items()
            if start < stretch_start and stretch_end < end
        ),
        following=block.following if end >= len(block.text) else "",
    )
