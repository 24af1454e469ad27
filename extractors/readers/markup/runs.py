"""Runs of text in markup: what is written side by side in inline elements, and which part of it is a link."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import regex

from extractors.document_model import Anchor, Block, Role

_LABEL_OR_URL = regex.compile(r"(?:(?:info:|urn:)?a\W?r\W?k\W{0,2}:|https?://)", regex.IGNORECASE)
#: The beginning of an ARK, and what it does not go on over.
_ARK_BEGINS = regex.compile(r"a\W{0,3}r\W{0,3}k\W{0,6}[0-9]", regex.IGNORECASE)
_ARK_ENDS = regex.compile(r"[\s<>\"]")
#: Two letters or more: a single one is rather the last of a name, marked for its being a check character.
_WORD = regex.compile(r"\p{L}{2,40}+(?!\p{L})(?![\p{N}\p{Pd}~*+=@_$%/&]|[.?:][\p{L}\p{N}])")
_LONGEST_ARK = 400
_LINE_BREAK_AT_END = regex.compile(r"\n[ \t]*\Z")


class TextRun:
    """Text as far as it has been read, with the places where elements begin or end, and its links.

    Elements don't part words: ``ark:/12148/<b>btv1b8</b>449691v`` is one ARK. But where an ARK or URL begins, directly
    behind a word of another element, or a word stands directly behind an ARK, a line break comes between them: an
    identifier ends there, or the evidence for what goes on over a line break decides.

    >>> run = TextRun()
    >>> run.write("ARK"); run.element(); run.write("ark:/12148/btv1b8"); run.element(); run.write("449691v")
    >>> run.element(); run.write("Copy")
    >>> run.block("p").text
    'ARK\\nark:/12148/btv1b8449691v\\nCopy'
    """

    def __init__(self) -> None:
        self._link: int | None = None
        self._begin()

    def _begin(self) -> None:
        self._pieces: list[str] = []
        self._is_at_break = False
        self._length = 0
        self._edges: list[int] = []
        self._anchors: list[Anchor] = []
        self._link_start = 0

    def write(self, text: str) -> None:
        """Go on with *text*."""
        if self._is_at_break:
            text = text.lstrip(" \t\r\n")
            if not text:
                return
            self._is_at_break = False
        self._pieces.append(text)
        self._length += len(text)

    def break_line(self) -> None:
        """Go on in a new line; the blanks of the source on either side are none of the text's."""
        text = self._pieces[-1] if self._pieces else ""
        if self._is_at_break or not _LINE_BREAK_AT_END.search(text):
            self._is_at_break = False
            self.write("\n")
        self._is_at_break = True

    def element(self) -> None:
        """Here an element begins or ends."""
        self._edges.append(self._length)

    def link(self, number: int | None) -> None:
        """From here on, what is written is the text of the link *number*, or of none."""
        if self._link is not None and self._length > self._link_start:
            before = self._anchors[-1] if self._anchors else None
            if before and (before.end, before.link) == (self._link_start, self._link):
                self._anchors[-1] = Anchor(before.start, self._length, self._link)
            else:
                self._anchors.append(Anchor(self._link_start, self._length, self._link))
        self._link, self._link_start = number, self._length

    def block(self, place: str, role: Role = Role.TEXT) -> Block | None:
        """All that was written, without the blanks around it, or None if nothing was; the next run begins.

        A link that is open goes on in it.
        """
        self.link(self._link)
        text, edges, anchors = "".join(self._pieces), self._edges, self._anchors
        self._begin()
        if not text or text.isspace():
            return None
        breaks = _breaks(text, edges, anchors)
        parted = "\n".join(text[start:end] for start, end in pairwise([0, *breaks, len(text)])) if breaks else text
        stripped = parted.strip()
        if not anchors:
            return Block(stripped, role, place=place)
        if not breaks and len(stripped) == len(text):
            return Block(stripped, role, place=place, anchors=tuple(anchors))
        moved = _moved(anchors, breaks, len(parted) - len(parted.lstrip()), len(stripped))
        return Block(stripped, role, place=place, anchors=tuple(moved))


def _breaks(text: str, edges: list[int], anchors: list[Anchor]) -> list[int]:
    """The edges of elements that part what stands on either side of them without a blank."""
    within_words = [
        edge
        for edge in dict.fromkeys(edges)
        if 0 < edge < len(text) and text[edge - 1].isalnum() and text[edge].isalnum()
    ]
    if not within_words:
        return []
    link_edges = {anchor.start for anchor in anchors} | {anchor.end for anchor in anchors}
    return [
        edge for edge in within_words if (_LABEL_OR_URL.match(text, edge) or _ends_ark(text, edge, edge in link_edges))
    ]


def _ends_ark(text: str, edge: int, at_link: bool) -> bool:
    """Return whether an ARK before *edge* may end there, because a link does or because a word follows."""
    if not at_link and not _WORD.match(text, edge):
        return False
    before = text[max(0, edge - _LONGEST_ARK) : edge]
    begins = max((found.end() for found in _ARK_BEGINS.finditer(before)), default=None)
    return begins is not None and "/" in before[begins:] and not _ARK_ENDS.search(before, begins)


def _moved(anchors: list[Anchor], breaks: list[int], stripped: int, length: int) -> Iterator[Anchor]:
    """*anchors* where they are when line breaks were put in, and blanks were taken away."""
    added = 0
    pending = iter([*breaks, None])
    following = next(pending)
    for anchor in anchors:
        while following is not None and following <= anchor.start:
            added, following = added + 1, next(pending)
        start = anchor.start + added - stripped
        while following is not None and following < anchor.end:
            added, following = added + 1, next(pending)
        start, end = max(0, start), min(length, anchor.end + added - stripped)
        if start < end:
            yield Anchor(start, end, anchor.link)
