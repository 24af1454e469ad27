"""Running text under construction: the texts of inline elements, with their edges and links, and paragraphs of these."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise

import regex

from extractors.model.documents import Anchor, Block, Finding, Reading, Role, as_part, links_of
from extractors.model.urls import is_web_url, leads_to_document

# Runs of text: the text of adjacent inline elements.

_LABEL_OR_URL = regex.compile(r"(?:(?:info:|urn:)?a\W?r\W?k\W{0,2}:|https?://)", regex.IGNORECASE)
#: The beginning of an ARK, and the characters that end it.
_ARK_BEGINS = regex.compile(r"a\W{0,3}r\W{0,3}k\W{0,6}[0-9]", regex.IGNORECASE)
_ARK_ENDS = regex.compile(r"[\s<>\"]")
_NAME_BEGUN = regex.compile(r"/\W?\w")
#: Two letters or more, because a single one may be a check character with markup of its own.
_WORD = regex.compile(r"\p{L}{2,40}+(?!\p{L})(?![\p{N}\p{Pd}~*+=@_$%/&]|[.?:][\p{L}\p{N}])")
#: The first number after the end of an element: ``<span>ark:/…</span><span>12 leaves</span>``, ``<i>ark:/…/</i>1936``.
_NUMBER = regex.compile(r"\p{N}{1,4}\p{L}?(?![\p{L}\p{N}_])")
#: Signs at the end of an ARK after which the end of an element separates it from the next word.
_DELIMITERS = "/.-"
_LONGEST_ARK = 400
_LINE_BREAK_AT_END = regex.compile(r"\n[ \t]*\Z")


class TextRun:
    r"""Text with the edges of elements and the links in it.

    Inline elements don't separate words: ``ark:/12148/<b>btv1b8</b>449691v`` is one ARK. But a line break is inserted at
    an edge between a word and an ARK or URL, and between an ARK and a word, or a number after an element with the ARK.
    There an identifier ends, unless the evidence for line breaks joins it.

    >>> run = TextRun()
    >>> run.write("ARK"); run.begin_element(); run.write("ark:/12148/btv1b8"); run.begin_element()
    >>> run.write("449691v"); run.end_element(); run.end_element(); run.write("Copy")
    >>> run.block("p").text
    'ARK\nark:/12148/btv1b8449691v\nCopy'
    """

    def __init__(self) -> None:
        self._link: int | None = None
        self._open: list[int] = []
        """Where the open elements begin."""
        self._begin()

    def _begin(self) -> None:
        self._pieces: list[str] = []
        self._is_at_break = False
        self.length = 0
        self._edges: list[tuple[int, int]] = []
        """The offset of each edge, and where its element begins: before it, if it ends there; after it, if it is no part
        of the text."""
        self._anchors: list[Anchor] = []
        self._link_start = 0
        self._open = [0] * len(self._open)

    def write(self, text: str) -> None:
        """Append *text*."""
        if self._is_at_break:
            text = text.lstrip(" \t\r\n")
            if not text:
                return
            self._is_at_break = False
        self._pieces.append(text)
        self.length += len(text)

    def break_line(self) -> None:
        """Append a line break; blanks of the source on both sides are dropped."""
        if self._is_at_break or not _LINE_BREAK_AT_END.search(self.last):
            self._is_at_break = False
            self.write("\n")
        self._is_at_break = True

    @property
    def last(self) -> str:
        """The last piece of text, or empty."""
        return self._pieces[-1] if self._pieces else ""

    def add_edge(self) -> None:
        """Note that there is something here that is no part of the text."""
        self._edges.append((self.length, self.length + 1))

    def begin_element(self) -> None:
        """Begin an inline element."""
        self._open.append(self.length)
        self._edges.append((self.length, self.length))

    def end_element(self) -> None:
        """End the innermost inline element; an empty one has no edges."""
        begin = self._open.pop() if self._open else 0
        if begin == self.length and self._edges and self._edges[-1] == (begin, begin):
            self._edges.pop()
        else:
            self._edges.append((self.length, begin))

    def link(self, number: int | None) -> None:
        """Begin the text of the link *number*; None for text outside of links."""
        if number != self._link:
            self.add_edge()
        if self._link is not None and self.length > self._link_start:
            before = self._anchors[-1] if self._anchors else None
            if before and (before.end, before.link) == (self._link_start, self._link):
                self._anchors[-1] = Anchor(before.start, self.length, self._link)
            else:
                self._anchors.append(Anchor(self._link_start, self.length, self._link))
        self._link, self._link_start = number, self.length

    def block(self, location: str, role: Role = Role.TEXT, *, following: str = "") -> Block | None:
        """Return the text as a block, without the blanks around it (None if empty), and begin the next run.

        An open link, and open elements, continue in the next run. *following* is the beginning of the next text.
        """
        self.link(self._link)
        text, edges, anchors = "".join(self._pieces), self._edges, self._anchors
        self._begin()
        if not text or text.isspace():
            return None
        breaks, seams = _breaks(text, edges, anchors)
        offsets = sorted(breaks)
        stretches = pairwise([0, *offsets, len(text)])
        parted = "".join(text[start:end] + breaks.get(end, "") for start, end in stretches)
        stripped, removed = parted.strip(), len(parted) - len(parted.lstrip())
        spans = (
            (
                max(0, anchor.start + bisect_right(offsets, anchor.start) - removed),
                min(len(stripped), anchor.end + bisect_left(offsets, anchor.end) - removed),
                anchor.link,
            )
            for anchor in anchors
        )
        return Block(
            stripped, role, place=location, following=following,
            anchors=tuple(Anchor(*span) for span in spans if span[0] < span[1]),
            seams=tuple(seam + bisect_left(offsets, seam) - removed for seam in seams),
        )  # fmt: skip


def _breaks(text: str, edges: Sequence[tuple[int, int]], anchors: Sequence[Anchor]) -> tuple[dict[int, str], list[int]]:
    """Return the separator to insert at each edge of an element where an ARK or URL begins or ends, and the seams.

    The separator is a line break, or a blank after a delimiter. Seams are the offsets of edges within an ARK.
    """
    begins: dict[int, int] = {}
    for edge, begin in edges:
        if (
            0 < edge < len(text)
            and text[edge].isalnum()
            and (text[edge - 1].isalnum() or text[edge - 1] in _DELIMITERS)
        ):
            begins[edge] = min(begin, begins.get(edge, edge))
    if not begins:
        return {}, []
    link_edges = {anchor.start for anchor in anchors} | {anchor.end for anchor in anchors}
    between = {edge for edge, begin in edges if begin == edge and begins.get(edge, edge) < edge}
    naans = [beginning.end() for beginning in _ARK_BEGINS.finditer(text)]
    breaks: dict[int, str] = {}
    seams: list[int] = []
    for edge, begin in begins.items():
        ark = _ark_around(text, edge, naans)
        ends_ark = ark is not None and (
            edge in link_edges
            or _WORD.match(text, edge)
            or ((edge in between or begin < ark) and _NUMBER.match(text, edge))
        )
        is_in_word = text[edge - 1].isalnum()
        if ends_ark or (is_in_word and _LABEL_OR_URL.match(text, edge)):
            breaks[edge] = "\n" if is_in_word else " "
        elif ark is not None and is_in_word and text[edge].isascii():
            seams.append(edge)
    return breaks, seams


def _ark_around(text: str, edge: int, naans: Sequence[int]) -> int | None:
    """Return the offset in *naans* of the ARK whose name begins before *edge* and may continue there, or None.

    *naans* are the sorted offsets after the beginnings of ARKs.
    """
    before = bisect_left(naans, edge)
    start = naans[before - 1] if before else edge
    is_near = edge - start <= _LONGEST_ARK and not _ARK_ENDS.search(text, start, edge)
    return start if is_near and _NAME_BEGUN.search(text, start, edge) else None


# Paragraphs, which may be nested, and the links in them.

MOST_BLOCKS = 1_000_000
MOST_CHARS = 256 * 2**20
"""Maximum for all blocks together: a spreadsheet may show one long string in every cell."""

_XML_BLANKS = re.compile(r"[\t\n\r ]+")
_FULL = Finding("cut-off", "not read beyond a million blocks, or 256 MiB of text")


class _Paragraph:
    """The text of a paragraph written up to now."""

    def __init__(self, location: str) -> None:
        self.place = location
        self.run = TextRun()
        self.formats: list[frozenset[str]] = []
        """The open formats, each within the one before."""
        self.continues = False
        """True if its end is deleted, so that the next paragraph belongs to it."""


class RunningText:
    """Collects the text of a document piece by piece as blocks.

    >>> text = RunningText()
    >>> text.begin("body")
    >>> link = text.add_link("https://n2t.net/ark:12148/x5", "body")
    >>> text.open_link(link); text.write("ark:/12148"); text.write("/x5"); text.close_link(link); text.end()
    >>> [(block.role.value, block.text, block.anchors) for block in text.blocks][1:]
    [('text', 'ark:/12148/x5', (Anchor(start=0, end=13, link=1),))]
    """

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.findings: tuple[Finding, ...] = ()
        self._targets: dict[str, None] = {}
        self._links = 0
        self._open_links: list[int] = []
        self._open: list[_Paragraph] = []
        self._unended: _Paragraph | None = None
        self._chars_left = MOST_CHARS

    @property
    def targets(self) -> tuple[str, ...]:
        """The link targets that may lead to other documents, in order, without duplicates."""
        return tuple(self._targets)

    @property
    def is_full(self) -> bool:
        """True if a limit was reached and no more blocks are added."""
        return bool(self.findings)

    def begin(self, location: str) -> None:
        """Begin a paragraph, inside another one if that is open."""
        continued, self._unended = self._unended, None
        if self._open:
            self._open[-1].run.add_edge()
        self._open.append(continued or _Paragraph(location))

    def end(self) -> None:
        """End the innermost paragraph."""
        if not self._open:
            return
        paragraph = self._open.pop()
        if paragraph.continues:
            paragraph.continues = False
            self._unended = paragraph
        else:
            self._keep(paragraph)

    def join_next_paragraph(self) -> None:
        """Delete the end of the innermost paragraph, so that the next one belongs to it."""
        if self._open:
            self._open[-1].continues = True

    def write(self, text: str) -> None:
        """Append text to the innermost paragraph; text outside of paragraphs is invisible and dropped."""
        if not self._open or not text:
            return
        run = self._open[-1].run
        run.link(self._open_links[-1] if self._open_links else None)
        run.write(text)

    def begin_element(self) -> None:
        """Begin an inline element of the innermost paragraph."""
        if self._open:
            self._open[-1].run.begin_element()

    def end_element(self) -> None:
        """End the innermost inline element."""
        if self._open:
            self._open[-1].run.end_element()

    def set_format(self, properties: frozenset[str]) -> None:
        """Set the visible format of the following text of the innermost paragraph, as elements within one another."""
        formats = self._open[-1].formats if self._open else []
        if not properties and not formats:
            return
        while formats and not formats[-1] <= properties:
            formats.pop()
            self.end_element()
        if self._open and properties and properties not in formats[-1:]:
            formats.append(properties)
            self.begin_element()

    def write_collapsed(self, text: str) -> None:
        """Append text like `write`, with runs of blanks collapsed, and without blanks at the start of a paragraph."""
        text = _XML_BLANKS.sub(" ", text)
        if text.startswith(" ") and self._open:
            last = self._open[-1].run.last
            if not last or last[-1] in " \n":
                text = text[1:]
        self.write(text)

    def break_line(self) -> None:
        """Begin a new line of the innermost paragraph, unless it is empty."""
        if self._open and self._open[-1].run.length:
            self.write("\n")

    def set_apart(self) -> None:
        """Separate the following text, such as a footnote mark, from the text before in the same paragraph."""
        if self._open:
            self._keep(self._open[-1])

    def add_link(self, target: str, location: str, *, leads_on: bool = True) -> int:
        """Add a link to *target* and return its number, for the visible text between `open_link` and `close_link`."""
        self._links += 1
        if leads_on and leads_to_document(target):
            self._targets[target] = None
        self._append(Block(target, Role.LINK_TARGET, place=location, link=self._links))
        return self._links

    def open_link(self, link: int) -> None:
        """Begin the text of a link."""
        self._open_links.append(link)

    def close_link(self, link: int) -> None:
        """End the text of a link."""
        for index in range(len(self._open_links) - 1, -1, -1):  # usually the last one
            if self._open_links[index] == link:
                del self._open_links[index]
                return

    def add_value(self, value: str, location: str, role: Role = Role.METADATA) -> None:
        """Add a value that is not running text."""
        if value.strip():
            self._append(Block(value, role, place=location))

    def add_part(self, reading: Reading, location: str) -> None:
        """Add the texts and links of a part that was read on its own."""
        for block in reading.blocks:
            self._append(as_part(block, f"{location}/{block.place}", self._links))
        self._links += links_of(reading.blocks)
        self._targets |= dict.fromkeys(link for link in reading.links if is_web_url(link.strip()))

    def close(self) -> None:
        """End the text, with everything open."""
        while self._open:
            self._open[-1].continues = False
            self.end()
        if self._unended is not None:
            self._keep(self._unended)
            self._unended = None
        self._open_links.clear()

    def _keep(self, paragraph: _Paragraph) -> None:
        block = paragraph.run.block(paragraph.place)
        if block is not None:
            self._append(block)

    def _append(self, block: Block) -> None:
        self._chars_left -= len(block.text)
        if len(self.blocks) < MOST_BLOCKS and self._chars_left >= 0:
            self.blocks.append(block)
        else:
            self.findings = (_FULL,)
