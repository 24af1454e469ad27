"""The content of a document, as a reader of its format returns it: text blocks, links and findings."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from operator import attrgetter

_CONTEXT_CHARS = 60
_NOT_BLANK = re.compile(r"\S")


class Role(StrEnum):
    """The part of a document that a block or mention belongs to."""

    TEXT = "text"
    LINK_TARGET = "link-target"
    METADATA = "metadata"
    LINK_ANNOTATION = "link-annotation"
    STRUCTURED_DATA = "structured-data"


@dataclass(frozen=True, slots=True)
class Anchor:
    """A stretch of a block's text that is shown as a link."""

    start: int
    """Start and end are offsets in the block's text, in code points."""
    end: int
    link: int
    """The number of the link in the document, from 0: the `Block.link` of its target."""


@dataclass(frozen=True, slots=True)
class Block:
    """A text that a human or a program reads as one piece: a paragraph, a page, a metadata value.

    Offsets of mentions are code points in `text`. A `TEXT` block keeps the line breaks of the source; a block of any
    other role is one value (a link target, a metadata value), decoded by the rules of its format.
    """

    text: str
    role: Role = Role.TEXT
    page: int | None = None
    """The page in a paginated document, from 1."""
    place: str = ""
    """Element and attribute (``a/@href``), a rectangle on the page in points (``rect:72,100,300,112``), or a part of
    the document (``footnote:3``, ``comment``, ``Sheet1!B12``, ``attachment:NAME``)."""
    link: int | None = None
    """For a link target with known visible text: the number of the link in the document."""
    anchors: tuple[Anchor, ...] = ()
    """The links in a text, in order; a link over several columns has several anchors."""
    line_slack: tuple[tuple[int, float], ...] = ()
    """For each line of a text with known geometry, in order: the offset of its end (the first character of its line
    break, or PDFium's U+FFFE), and the free space in it, in average character widths. In a text without pages, for the
    lines of its column."""
    seams: tuple[int, ...] = ()
    """Offsets, in order, where gaps or base lines on a page contradict the text: a removed blank in letterspaced words,
    a blank at a very narrow gap, or a blank before a raised mark. A mention there is never certain without other evidence."""
    page_breaks: tuple[int, ...] = ()
    """Offsets at which further pages begin in a text that spans pages; `page` is the page of its first character."""
    interruptions: tuple[tuple[int, int], ...] | None = None
    """For a piece of a text without pages: start and end of each stretch between two lines over which an ARK may
    continue: rules, page numbers, running heads, line numbers (`extractors.mentions.open_ends`)."""
    following: str = ""
    """The beginning of the next unit (a cell, a box, a paragraph): an ARK at the end of this one may continue in it."""
    is_recognized: bool = False
    """True if a program read it from a picture (OCR). An ARK in it is never certain without other evidence."""

    def link_at(self, offset: int) -> int | None:
        """Return the number of the link with this block as target, or with text at *offset*; None without a link."""
        if self.link is not None or not self.anchors:
            return self.link
        index = bisect_right(self.anchors, offset, key=attrgetter("start")) - 1
        return self.anchors[index].link if index >= 0 and offset < self.anchors[index].end else None

    def page_at(self, offset: int) -> int | None:
        """Return the page of the character at *offset*, from 1; None without pages."""
        return self.page if self.page is None else self.page + bisect_right(self.page_breaks, offset)

    def is_blank_after(self, offset: int) -> bool:
        """Return True if only white space is at *offset* and after it."""
        return _NOT_BLANK.search(self.text, offset) is None

    def context(self, start: int, end: int) -> str:
        """Return the text from *start* to *end* with up to 60 characters on each side, on one line."""
        return " ".join(self.text[max(0, start - _CONTEXT_CHARS) : end + _CONTEXT_CHARS].split())


def link_count(blocks: Iterable[Block]) -> int:
    """Return the highest link number in *blocks* plus 1; 0 without links."""
    numbers = (number for block in blocks for number in (block.link, *(anchor.link for anchor in block.anchors)))
    return max((number + 1 for number in numbers if number is not None), default=0)


def block_of_part(block: Block, place: str, first_link: int) -> Block:
    """Return *block* of a part as a block of the document: at *place*, with *first_link* added to its link numbers."""
    anchors = tuple(Anchor(anchor.start, anchor.end, anchor.link + first_link) for anchor in block.anchors)
    link = None if block.link is None else block.link + first_link
    return replace(block, place=place, link=link, anchors=anchors)


def value_block(value: str, location: str, *, single_word_role: Role = Role.STRUCTURED_DATA) -> Block:
    """Return the block of one *value* at *location*, its `Block.place`; several words are prose, where lines may wrap.

    >>> value_block("ark:/12345/x5", "/@id").role.value, value_block("see ark:/12345/x5", "/note").role.value
    ('structured-data', 'text')
    """
    text = value.strip()
    is_prose = len(text.split(maxsplit=1)) > 1
    return Block(text, Role.TEXT if is_prose else single_word_role, place=location)


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A problem with reading a document, or with how it cites ARKs."""

    kind: str
    """A token: ``unreadable``, ``encrypted``, ``unknown-format``, ``parser-crashed``, ``parser-killed``,
    ``parser-timeout``, ``no-text``, ``page-limit``, ``cut-off``, ``time-limit``, ``archive-limit``,
    ``members-skipped``, ``damaged``, ``repaired``, ``picture-page``, ``unreadable-page``, ``unreadable-part``,
    ``duplicate-member``, ``namespace-mention``, ``empty``; and about how it cites: ``link-mismatch``, ``unlinked-ark``,
    ``dead-link``, ``malformed-ark``, ``hidden-ark`` …"""
    detail: str


#: Kinds of findings about how a document cites, not about how it was read.
ABOUT_CITATIONS = frozenset(
    {"dead-link", "hidden-ark", "link-mismatch", "malformed-ark", "namespace-mention", "unlinked-ark"}
)


#: Kinds of findings that mean that the whole document was unreadable.
NOTHING_READ = frozenset(
    {
        "unreadable",
        "encrypted",
        "unknown-format",
        "parser-crashed",
        "parser-killed",
        "parser-timeout",
        "parser-out-of-memory",
        "empty",
        "undecodable",
        "no-text",
    }
)

#: Kinds of findings that mean that parts of a document were not read.
READ_IN_PART = frozenset(
    {
        "archive-limit",
        "cut-off",
        "damaged",
        "incomplete",
        "no-text",
        "page-limit",
        "picture-page",
        "time-limit",
        "unreadable-page",
        "unreadable-part",
    }
)


@dataclass(frozen=True, slots=True)
class Reading:
    """The content of a document."""

    media_type: str
    blocks: tuple[Block, ...] = ()
    links: tuple[str, ...] = ()
    """Link targets that may lead to other documents, as written, in order, without duplicates."""
    base: str | None = None
    """The base URL that the document declares for its links."""
    title: str = ""
    findings: tuple[Finding, ...] = ()
    documents: tuple[str, ...] = ()
    """Links to documents, by the page's own markup: an embedded PDF, an item."""
    parts: tuple[str, ...] = ()
    """Links to parts of the page: its frames, and the target of a refresh."""
    unfollowed: tuple[str, ...] = ()
    """Links that crawlers should not follow (``rel=nofollow``)."""
    robots: tuple[str, ...] = ()
    """The page's instructions to crawlers, verbatim: ``noindex, nofollow``."""
