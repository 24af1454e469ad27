"""Running text in the making: paragraphs, which may be within one another, and the links that run through them."""

from __future__ import annotations

import re

from extractors.mentions.labels import leads_to_document
from extractors.model.documents import Anchor, Block, Finding, Role

MOST_BLOCKS = 1_000_000
MOST_CHARS = 256 * 2**20
"""Of all blocks together: a spreadsheet may show one long string in every cell."""

_XML_BLANKS = re.compile(r"[\t\n\r ]+")
_FULL = Finding("cut-off", "not read beyond a million blocks, or 256 MiB of text")


class _Paragraph:
    """The text of a paragraph as far as it was written, and where its links are."""

    def __init__(self, location: str) -> None:
        self.place = location
        self.pieces: list[str] = []
        self.length = 0
        self.anchors: list[Anchor] = []
        self.goes_on = False
        """Whether its end is struck out, so that the next one belongs to it."""


class RunningText:
    """Takes the text of a document piece by piece, and keeps it as blocks.

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
        """The link targets that may lead to further documents, in order, each once."""
        return tuple(self._targets)

    @property
    def is_full(self) -> bool:
        """True if it takes no more blocks."""
        return bool(self.findings)

    def begin(self, location: str) -> None:
        """A paragraph begins, within another if one is open."""
        goes_on, self._unended = self._unended, None
        self._open.append(goes_on or _Paragraph(location))

    def end(self) -> None:
        """The innermost paragraph ends."""
        if not self._open:
            return
        paragraph = self._open.pop()
        if paragraph.goes_on:
            paragraph.goes_on = False
            self._unended = paragraph
        else:
            self._keep(paragraph)

    def let_go_on(self) -> None:
        """The end of the innermost paragraph is struck out: what comes next belongs to it."""
        if self._open:
            self._open[-1].goes_on = True

    def write(self, text: str) -> None:
        """More text of the innermost paragraph; text outside of any is none that a reader sees."""
        if not self._open or not text:
            return
        paragraph = self._open[-1]
        start = paragraph.length
        paragraph.pieces.append(text)
        paragraph.length += len(text)
        if self._open_links:
            link = self._open_links[-1]
            last = paragraph.anchors[-1] if paragraph.anchors else None
            if last and last.link == link and last.end == start:
                start = last.start
                paragraph.anchors.pop()
            paragraph.anchors.append(Anchor(start, paragraph.length, link))

    def write_collapsed(self, text: str) -> None:
        """As `write`, for formats in which a run of blanks is one blank, and at the start of a paragraph none."""
        text = _XML_BLANKS.sub(" ", text)
        if text.startswith(" ") and self._open:
            pieces = self._open[-1].pieces
            if not pieces or pieces[-1][-1] in " \n":
                text = text[1:]
        self.write(text)

    def break_line(self) -> None:
        """A new line of the innermost paragraph, unless it is its first."""
        if self._open and self._open[-1].length:
            self.write("\n")

    def set_apart(self) -> None:
        """Return what comes next is apart from the text before, though in the same paragraph: a footnote mark."""
        if self._open:
            paragraph = self._open[-1]
            self._keep(paragraph)
            self._open[-1] = _Paragraph(paragraph.place)
            self._open[-1].goes_on = paragraph.goes_on

    def add_link(self, target: str, location: str, *, leads_on: bool = True) -> int:
        """The number of a new link to *target*, whose visible text comes next if `open_link` says so."""
        self._links += 1
        if leads_on and leads_to_document(target):
            self._targets[target] = None
        self._append(Block(target, Role.LINK_TARGET, place=location, link=self._links))
        return self._links

    def open_link(self, link: int) -> None:
        """The text that is written from here on is that of this link."""
        self._open_links.append(link)

    def close_link(self, link: int) -> None:
        """The text of this link ends."""
        for index in range(len(self._open_links) - 1, -1, -1):  # nearly always the last one
            if self._open_links[index] == link:
                del self._open_links[index]
                return

    def add_value(self, value: str, location: str, role: Role = Role.METADATA) -> None:
        """A value that is no running text."""
        if value.strip():
            self._append(Block(value, role, place=location))

    def close(self) -> None:
        """There is no more: whatever was begun has ended."""
        while self._open:
            self._open[-1].goes_on = False
            self.end()
        if self._unended is not None:
            self._keep(self._unended)
            self._unended = None
        self._open_links.clear()

    def _keep(self, paragraph: _Paragraph) -> None:
        text = "".join(paragraph.pieces)
        if text.strip():
            self._append(Block(text, place=paragraph.place, anchors=tuple(paragraph.anchors)))

    def _append(self, block: Block) -> None:
        self._chars_left -= len(block.text)
        if len(self.blocks) < MOST_BLOCKS and self._chars_left >= 0:
            self.blocks.append(block)
        else:
            self.findings = (_FULL,)
