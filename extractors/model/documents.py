"""The model of a document that was read: blocks of text that know where they are, links, and what went wrong."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from operator import attrgetter

_CONTEXT_CHARS = 60


class Role(StrEnum):
    """In which part a mention plays in its document."""

    TEXT = "text"
    LINK_TARGET = "link-target"
    METADATA = "metadata"
    LINK_ANNOTATION = "link-annotation"
    STRUCTURED_DATA = "structured-data"


@dataclass(frozen=True, slots=True)
class Anchor:
    """A stretch of a block's text that its readers see as a link."""

    start: int
    """Code points in the block's text, as `end`."""
    end: int
    link: int
    """Which link of the document this is: the `Block.link` of its target."""


@dataclass(frozen=True, slots=True)
class Block:
    """A run of text that a human or a program reads as one piece.

    Offsets of mentions are code points in `text`. A `TEXT` block may hold line breaks as the source has them; every
    other role is one value (a link target, a metadata value) as its format decodes it.
    """

    text: str
    role: Role = Role.TEXT
    page: int | None = None
    """The page in a paginated document, counted from 1."""
    place: str = ""
    """Element and attribute (``a/@href``), or a rectangle on the page in points (``rect:72,100,300,112``); a part
    of the document (``footnote:3``, ``comment``, ``Sheet1!B12``, ``attachment:NAME``)."""
    link: int | None = None
    """For a link target whose visible text is known: which link of the document it is, by its reader's count."""
    anchors: tuple[Anchor, ...] = ()
    """Where in a text its links are, in order; a link whose text is broken over columns has several."""
    line_slack: tuple[tuple[int, float], ...] = ()
    """Where geometry is known: the offset at which a line of the text ends (the first character of its line break, or
    PDFium's U+FFFE), and the space that was left in that line, in widths of an average character of it; in order. In
    a text without pages, those of the column that it is."""
    seams: tuple[int, ...] = ()
    """Offsets, in order, at which the gaps on a page or its base lines spoke against the text: where a blank was taken
    out, as from letterspaced words; a blank that is though the gap is hardly one; what was parted by a blank from
    the text before, such as a raised mark. What is found there is never certain by itself."""
    page_breaks: tuple[int, ...] = ()
    """Offsets at which further pages begin, in a text that runs on over them; `page` is that of its first character."""
    following: str = ""
    """The beginning of the unit that comes next (a cell, a box, a paragraph), though nothing joins the two: an ARK at
    the end of this one may go on in it."""
    is_recognized: bool = False
    """True if a program has read it from a picture (OCR): nothing is certain in it by itself."""

    def link_at(self, at: int) -> int | None:
        """Return the link whose target this block is, or whose visible text is at *at*."""
        if self.link is not None or not self.anchors:
            return self.link
        index = bisect_right(self.anchors, at, key=attrgetter("start")) - 1
        return self.anchors[index].link if index >= 0 and at < self.anchors[index].end else None

    def page_at(self, at: int) -> int | None:
        """Return the page of the character at *at*."""
        return self.page if self.page is None else self.page + bisect_right(self.page_breaks, at)

    def context(self, start: int, end: int) -> str:
        """Return what is between two offsets with the text around it, in one line."""
        return " ".join(self.text[max(0, start - _CONTEXT_CHARS) : end + _CONTEXT_CHARS].split())


def links_of(blocks: Iterable[Block]) -> int:
    """Return how many links *blocks* know, by the highest of their numbers."""
    numbers = (number for block in blocks for number in (block.link, *(anchor.link for anchor in block.anchors)))
    return max((number + 1 for number in numbers if number is not None), default=0)


def as_part(block: Block, place: str, links_before: int) -> Block:
    """Return *block* of a part as one of the whole document: at *place*, and its links counted on."""
    anchors = tuple(Anchor(anchor.start, anchor.end, anchor.link + links_before) for anchor in block.anchors)
    link = None if block.link is None else block.link + links_before
    return replace(block, place=place, link=link, anchors=anchors)


def value_block(value: str, location: str, *, alone: Role = Role.STRUCTURED_DATA) -> Block:
    """The block of one value: *alone* if it is a single word, else prose, in which a line may wrap.

    >>> value_block("ark:/12345/x5", "/@id").role.value, value_block("see ark:/12345/x5", "/note").role.value
    ('structured-data', 'text')
    """
    stripped = value.strip()
    is_prose = len(stripped.split(maxsplit=1)) > 1
    return Block(stripped, Role.TEXT if is_prose else alone, place=location)


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """Something about a document that its reader must know: why it could not be read, or what is in it."""

    kind: str
    """A token: ``unreadable``, ``encrypted``, ``unknown-format``, ``parser-crashed``, ``parser-killed``,
    ``parser-timeout``, ``no-text``, ``page-limit``, ``cut-off``, ``time-limit``, ``archive-limit``,
    ``members-skipped``, ``damaged``, ``repaired``, ``picture-page``, ``unreadable-page``, ``unreadable-part``,
    ``duplicate-member``, ``namespace-mention``, ``empty``; and about how it cites: ``link-mismatch``, ``unlinked-ark``,
    ``dead-link``, ``malformed-ark``, ``hidden-ark`` …"""
    detail: str


#: Findings about how a document cites, rather than about how it could be read.
ABOUT_CITATIONS = frozenset(
    {"dead-link", "hidden-ark", "link-mismatch", "malformed-ark", "namespace-mention", "unlinked-ark"}
)


#: Findings that mean that nothing of a document could be read, rather than that something was odd.
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

#: Findings that mean that a document was not read to its end, or has parts that could not be read.
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
    """A document as its reader saw it."""

    media_type: str
    blocks: tuple[Block, ...] = ()
    links: tuple[str, ...] = ()
    """Targets that may lead to further documents, as written, in order, each once."""
    base: str | None = None
    """The base URL that the document declares for its links, if any."""
    title: str = ""
    findings: tuple[Finding, ...] = ()
    documents: tuple[str, ...] = ()
    """Those of the links of which the page says that a document is there: a PDF that it embeds, an item."""
    parts: tuple[str, ...] = ()
    """Those of the links that belong to the page: its frames, and where it goes on by itself (a refresh)."""
    unfollowed: tuple[str, ...] = ()
    """Those of the links that crawlers are asked not to follow wherever they are (``rel=nofollow``)."""
    robots: tuple[str, ...] = ()
    """What the page asks of crawlers in general, or of this one, in its own words: ``noindex, nofollow``."""
