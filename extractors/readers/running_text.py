"""Running text under construction: paragraphs, which may be nested, and the links in them."""

from __future__ import annotations

import re

from extractors.mentions.labels import leads_to_document
from extractors.model.documents import Anchor, Block, Finding, Role

MOST_BLOCKS = 1_000_000
MOST_CHARS = 256 * 2**20
"""Maximum for all blocks together: a spreadsheet may show one long string in every cell."""

_XML_BLANKS = re.compile(r"[\t\n\r ]+")
_FULL = Finding("cut-off", "not read beyond a million blocks, or 256 MiB of text")


class _Paragraph:
    """The text of a paragraph written up to now, with its links."""

    def __init__(self, location: str) -> None:
        self.place = location
        self.pieces: list[str] = []
        self.length = 0
        self.anchors: list[Anchor] = []
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
        """Append text like `write`, with runs of blanks collapsed, and without blanks at the start of a paragraph."""
        text = _XML_BLANKS.sub(" ", text)
        if text.startswith(" ") and self._open:
            pieces = self._open[-1].pieces
            if not pieces or pieces[-1][-1] in " \n":
                text = text[1:]
        self.write(text)

    def break_line(self) -> None:
        """Begin a new line of the innermost paragraph, unless it is empty."""
        if self._open and self._open[-1].length:
            self.write("\n")

    def set_apart(self) -> None:
        """Separate the following text, such as a footnote mark, from the text before in the same paragraph."""
        if self._open:
            paragraph = self._open[-1]
            self._keep(paragraph)
            self._open[-1] = _Paragraph(paragraph.place)
            self._open[-1].continues = paragraph.continues

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
        text = "".join(paragraph.pieces)
        if text.strip():
            self._append(Block(text, place=paragraph.place, anchors=tuple(paragraph.anchors)))

    def _append(self, block: Block) -> None:
        self._chars_left -= len(block.text)
        if len(self.blocks) < MOST_BLOCKS and self._chars_left >= 0:
            self.blocks.append(block)
        else:
            self.findings = (_FULL,)
