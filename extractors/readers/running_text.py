"""Running text under construction: the texts of inline elements, with their edges and links, and paragraphs of them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise

import regex

from extractors.model.documents import Anchor, Block, Finding, Reading, Role, block_of_part, link_count
from extractors.model.urls import is_web_url, leads_to_document

# The text of adjacent inline elements.

_LABEL_OR_URL = regex.compile(r"(?:(?:info:|urn:)?a\W?r\W?k\W{0,2}:|https?://)", regex.IGNORECASE)
#: The beginning of an ARK, and the characters that end it.
_ARK_BEGINNING = regex.compile(r"a\W{0,3}r\W{0,3}k\W{0,6}[0-9]", regex.IGNORECASE)
_ARK_END = regex.compile(r"[\s<>\"]")
_NAME_BEGINNING = regex.compile(r"/\W?\w")
#: Two letters or more, because a single one may be a check character with markup of its own.
_WORD = regex.compile(r"\p{L}{2,40}+(?!\p{L})(?![\p{N}\p{Pd}~*+=@_$%/&]|[.?:][\p{L}\p{N}])")
#: The first number after the end of an element: ``<span>ark:/…</span><span>12 leaves</span>``, ``<i>ark:/…/</i>1936``.
_NUMBER = regex.compile(r"\p{N}{1,4}\p{L}?(?![\p{L}\p{N}_])")
#: Signs at the end of an ARK after which the end of an element separates it from the next word.
_DELIMITERS = "/.-"
_MOST_ARK_CHARS = 400
_LINE_BREAK_AT_END = regex.compile(r"\n[ \t]*\Z")


class InlineText:
    r"""The text of adjacent inline elements, with the edges of elements and the links in it.

    Inline elements don't separate words: ``ark:/12148/<b>btv1b8</b>449691v`` is one ARK. But a line break is inserted at
    an edge before an ARK or URL. So it is between an ARK and a word, or a number in another element. There the ARK
    ends, unless the rules for line wraps join it again.

    >>> text = InlineText()
    >>> text.write("ARK"); text.begin_element(); text.write("ark:/12148/btv1b8"); text.begin_element()
    >>> text.write("449691v"); text.end_element(); text.end_element(); text.write("Copy")
    >>> text.block("p").text
    'ARK\nark:/12148/btv1b8449691v\nCopy'
    """

    def __init__(self) -> None:
        self._link: int | None = None
        self._open_starts: list[int] = []
        """The offsets where the open elements begin, the outermost first."""
        self._begin()

    def _begin(self) -> None:
        """Begin an empty paragraph."""
        self._pieces: list[str] = []
        self._is_at_break = False
        self.length = 0
        self._edges: list[tuple[int, int]] = []
        """For each edge of an element, its offset and the offset at which the element begins.

        The second is smaller at the end of an element, and larger at an element that is no part of the text.
        """
        self._anchors: list[Anchor] = []
        self._link_start = 0
        self._open_starts = [0] * len(self._open_starts)

    def write(self, text: str) -> None:
        """Append *text*. Its leading blanks are left out if a line break was written last."""
        if self._is_at_break:
            text = text.lstrip(" \t\r\n")
            if not text:
                return
            self._is_at_break = False
        self._pieces.append(text)
        self.length += len(text)

    def break_line(self) -> None:
        """Append a line break; blanks of the source on both sides are dropped."""
        if self._is_at_break or not _LINE_BREAK_AT_END.search(self.last_piece):
            self._is_at_break = False
            self.write("\n")
        self._is_at_break = True

    @property
    def last_piece(self) -> str:
        """The text of the last call of `write`; empty without one."""
        return self._pieces[-1] if self._pieces else ""

    def add_edge(self) -> None:
        """Add an edge here for an element that is no part of the text, such as a note."""
        self._edges.append((self.length, self.length + 1))

    def begin_element(self) -> None:
        """Begin an inline element."""
        self._open_starts.append(self.length)
        self._edges.append((self.length, self.length))

    def end_element(self) -> None:
        """End the innermost inline element; an empty one has no edges."""
        begin = self._open_starts.pop() if self._open_starts else 0
        if begin == self.length and self._edges and self._edges[-1] == (begin, begin):
            self._edges.pop()
        else:
            self._edges.append((self.length, begin))

    def set_link(self, number: int | None) -> None:
        """Begin the text of the link with this *number*; None for text outside of links."""
        if number != self._link:
            self.add_edge()
        if self._link is not None and self.length > self._link_start:
            last_anchor = self._anchors[-1] if self._anchors else None
            if last_anchor and (last_anchor.end, last_anchor.link) == (self._link_start, self._link):
                self._anchors[-1] = Anchor(last_anchor.start, self.length, self._link)
            else:
                self._anchors.append(Anchor(self._link_start, self.length, self._link))
        self._link, self._link_start = number, self.length

    def block(self, location: str, role: Role = Role.TEXT, *, following: str = "") -> Block | None:
        """Return the text as a block, without the blanks around it (None if empty), and begin the next text.

        An open link and open elements continue in the next text. *location*, *role* and *following* are those of the block.
        """
        self.set_link(self._link)
        text, edges, anchors = "".join(self._pieces), self._edges, self._anchors
        self._begin()
        if not text or text.isspace():
            return None
        separators, seams = _separators(text, edges, anchors)
        separator_offsets = sorted(separators)
        stretches = pairwise([0, *separator_offsets, len(text)])
        separated_text = "".join(text[start:end] + separators.get(end, "") for start, end in stretches)
        stripped_text, leading_blanks = separated_text.strip(), len(separated_text) - len(separated_text.lstrip())
        anchor_spans = (
            (
                max(0, anchor.start + bisect_right(separator_offsets, anchor.start) - leading_blanks),
                min(len(stripped_text), anchor.end + bisect_left(separator_offsets, anchor.end) - leading_blanks),
                anchor.link,
            )
            for anchor in anchors
        )
        return Block(
            stripped_text, role, place=location, following=following,
            anchors=tuple(Anchor(*span) for span in anchor_spans if span[0] < span[1]),
            seams=tuple(seam + bisect_left(separator_offsets, seam) - leading_blanks for seam in seams),
        )  # fmt: skip


def _separators(
    text: str, edges: Sequence[tuple[int, int]], anchors: Sequence[Anchor]
) -> tuple[dict[int, str], list[int]]:
    """Return the separators to insert at *edges* where an ARK or URL begins or ends, by offset, and the seams.

    A separator is a line break, or a blank after a delimiter. Seams are the offsets of edges within an ARK.
    """
    element_starts: dict[int, int] = {}
    for edge, begin in edges:
        if (
            0 < edge < len(text)
            and text[edge].isalnum()
            and (text[edge - 1].isalnum() or text[edge - 1] in _DELIMITERS)
        ):
            element_starts[edge] = min(begin, element_starts.get(edge, edge))
    if not element_starts:
        return {}, []
    link_edges = {anchor.start for anchor in anchors} | {anchor.end for anchor in anchors}
    adjacent_edges = {edge for edge, begin in edges if begin == edge and element_starts.get(edge, edge) < edge}
    naan_offsets = [beginning.end() for beginning in _ARK_BEGINNING.finditer(text)]
    separators: dict[int, str] = {}
    seams: list[int] = []
    for edge, begin in element_starts.items():
        ark_start = _ark_start_before(text, edge, naan_offsets)
        ends_ark = ark_start is not None and (
            edge in link_edges
            or _WORD.match(text, edge)
            or ((edge in adjacent_edges or begin < ark_start) and _NUMBER.match(text, edge))
        )
        is_in_word = text[edge - 1].isalnum()
        if ends_ark or (is_in_word and _LABEL_OR_URL.match(text, edge)):
            separators[edge] = "\n" if is_in_word else " "
        elif ark_start is not None and is_in_word and text[edge].isascii():
            seams.append(edge)
    return separators, seams


def _ark_start_before(text: str, edge: int, naan_offsets: Sequence[int]) -> int | None:
    """Return the item of *naan_offsets* for the last ARK before *edge*, if its name has begun and may continue at *edge*.

    None without such an ARK. *naan_offsets* are the offsets after the first digit of each NAAN, in order.
    """
    next_index = bisect_left(naan_offsets, edge)
    start = naan_offsets[next_index - 1] if next_index else edge
    is_near = edge - start <= _MOST_ARK_CHARS and not _ARK_END.search(text, start, edge)
    return start if is_near and _NAME_BEGINNING.search(text, start, edge) else None


# Paragraphs, which may be nested, and the links in them.

MOST_BLOCKS = 1_000_000
MOST_CHARS = 256 * 2**20
"""Maximum for all blocks together: a spreadsheet may show one long string in every cell."""

_XML_BLANKS = re.compile(r"[\t\n\r ]+")
_CUT_OFF_FINDING = Finding("cut-off", "not read beyond a million blocks, or 256 MiB of text")


class _Paragraph:
    """The beginning of a paragraph, without a block yet."""

    def __init__(self, location: str) -> None:
        self.place = location
        self.inline_text = InlineText()
        self.formats: list[frozenset[str]] = []
        """The visible properties of the open elements, the outermost first."""
        self.continues = False
        """True if its end is deleted and the next paragraph belongs to it."""


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
        self._link_count = 0
        self._open_link_numbers: list[int] = []
        self._open_paragraphs: list[_Paragraph] = []
        self._continued_paragraph: _Paragraph | None = None
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
        """Begin a paragraph at *location*, inside the innermost open paragraph if there is one."""
        continued_paragraph, self._continued_paragraph = self._continued_paragraph, None
        if self._open_paragraphs:
            self._open_paragraphs[-1].inline_text.add_edge()
        self._open_paragraphs.append(continued_paragraph or _Paragraph(location))

    def end(self) -> None:
        """End the innermost paragraph."""
        if not self._open_paragraphs:
            return
        paragraph = self._open_paragraphs.pop()
        if paragraph.continues:
            paragraph.continues = False
            self._continued_paragraph = paragraph
        else:
            self._add_block_of(paragraph)

    def join_next_paragraph(self) -> None:
        """Make the next paragraph continue the innermost one, as if the end of that was deleted."""
        if self._open_paragraphs:
            self._open_paragraphs[-1].continues = True

    def write(self, text: str) -> None:
        """Append *text* to the innermost paragraph; text outside of paragraphs is invisible and dropped."""
        if not self._open_paragraphs or not text:
            return
        paragraph_text = self._open_paragraphs[-1].inline_text
        paragraph_text.set_link(self._open_link_numbers[-1] if self._open_link_numbers else None)
        paragraph_text.write(text)

    def begin_element(self) -> None:
        """Begin an inline element of the innermost paragraph."""
        if self._open_paragraphs:
            self._open_paragraphs[-1].inline_text.begin_element()

    def end_element(self) -> None:
        """End the innermost inline element."""
        if self._open_paragraphs:
            self._open_paragraphs[-1].inline_text.end_element()

    def set_format(self, properties: frozenset[str]) -> None:
        """Set the visible *properties* of the text that follows; a change begins or ends inline elements."""
        formats = self._open_paragraphs[-1].formats if self._open_paragraphs else []
        if not properties and not formats:
            return
        while formats and not formats[-1] <= properties:
            formats.pop()
            self.end_element()
        if self._open_paragraphs and properties and properties not in formats[-1:]:
            formats.append(properties)
            self.begin_element()

    def write_collapsed(self, text: str) -> None:
        """Append *text* like `write`, with one space for successive blanks, and none at the start of a paragraph."""
        text = _XML_BLANKS.sub(" ", text)
        if text.startswith(" ") and self._open_paragraphs:
            last_piece = self._open_paragraphs[-1].inline_text.last_piece
            if not last_piece or last_piece[-1] in " \n":
                text = text[1:]
        self.write(text)

    def break_line(self) -> None:
        """Begin a new line of the innermost paragraph, unless that is empty."""
        if self._open_paragraphs and self._open_paragraphs[-1].inline_text.length:
            self.write("\n")

    def set_apart(self) -> None:
        """End the current block, but not its paragraph. The next text, such as a footnote mark, joins no word before it."""
        if self._open_paragraphs:
            self._add_block_of(self._open_paragraphs[-1])

    def add_link(self, target: str, location: str, *, is_followed: bool = True) -> int:
        """Add a link to *target* and return its number, for the visible text between `open_link` and `close_link`.

        If *is_followed* is False, `targets` doesn't include it.
        """
        self._link_count += 1
        if is_followed and leads_to_document(target):
            self._targets[target] = None
        self._append(Block(target, Role.LINK_TARGET, place=location, link=self._link_count))
        return self._link_count

    def open_link(self, number: int) -> None:
        """Begin the text of the link with this *number* (from `add_link`)."""
        self._open_link_numbers.append(number)

    def close_link(self, number: int) -> None:
        """End the text of the link with this *number*, if it is open."""
        for index in range(len(self._open_link_numbers) - 1, -1, -1):  # usually the last one
            if self._open_link_numbers[index] == number:
                del self._open_link_numbers[index]
                return

    def add_value(self, value: str, location: str, role: Role = Role.METADATA) -> None:
        """Add *value* as a separate block, unless it is blank."""
        if value.strip():
            self._append(Block(value, role, place=location))

    def add_part(self, reading: Reading, location: str) -> None:
        """Add the blocks and links of *reading*, which is that of a part; *location* precedes their locations."""
        for block in reading.blocks:
            self._append(block_of_part(block, f"{location}/{block.place}", self._link_count))
        self._link_count += link_count(reading.blocks)
        self._targets |= dict.fromkeys(link for link in reading.links if is_web_url(link.strip()))

    def close(self) -> None:
        """End the text, with its open paragraphs and links."""
        while self._open_paragraphs:
            self._open_paragraphs[-1].continues = False
            self.end()
        if self._continued_paragraph is not None:
            self._add_block_of(self._continued_paragraph)
            self._continued_paragraph = None
        self._open_link_numbers.clear()

    def _add_block_of(self, paragraph: _Paragraph) -> None:
        block = paragraph.inline_text.block(paragraph.place)
        if block is not None:
            self._append(block)

    def _append(self, block: Block) -> None:
        self._chars_left -= len(block.text)
        if len(self.blocks) < MOST_BLOCKS and self._chars_left >= 0:
            self.blocks.append(block)
        else:
            self.findings = (_CUT_OFF_FINDING,)
