"""One walk through the XML of office documents, by the meaning of each element in its format."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from extractors.readers.office.package import EnoughRead, EventTarget, by_local_name
from extractors.readers.running_text import RunningText

_HYPERLINK_FORMULA = re.compile(r'HYPERLINK\(\s*"(?P<target>(?:[^"]|"")*)"', re.IGNORECASE)


@dataclass(slots=True)
class Element:
    """An open element, with the state that ends with it."""

    name: str
    location: str
    format: frozenset[str] = frozenset()
    """The visible properties of its text."""
    run: Element | None = None
    """In Office Open XML, the run of characters with its text; None outside of runs."""
    is_property: bool = False
    """True if it describes its run."""
    shows: bool = False
    """True if text directly in it is visible."""
    pieces: list[str] | None = None
    """The text directly in it, for *at_end*; None if that needs none."""
    at_end: Callable[[str], object] | None = None
    is_paragraph: bool = False
    is_apart: bool = False
    """True if its text, such as a raised footnote mark, is separate from the text before and after it."""
    link: int | None = None
    is_read: bool = False
    """True if the first of its alternative contents was read."""


#: An element that is no part of the text, with its content.
PASSED_OVER = Element("", "")


class Walk(EventTarget, ABC):
    """Reads a part of a document, and writes its visible text to a `RunningText`.

    A subclass knows the elements of a format.
    """

    def __init__(self, text: RunningText, location: str) -> None:
        self.text = text
        self.open = [Element("", location)]
        self._formats = 0

    @abstractmethod
    def begin(self, tag: str, around: Element, attributes: Mapping[str, str]) -> Element:
        """Return the element that begins in *around*: `PASSED_OVER`, or *around* if it has no meaning of its own.

        *attributes* are by local name.
        """

    @abstractmethod
    def write(self, text: str) -> None:
        """Write visible text of the innermost element."""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Begin an element."""
        around = self.open[-1]
        self.open.append(around if around is PASSED_OVER else self.begin(tag, around, by_local_name(attributes)))

    def data(self, text: str) -> None:
        """Read a piece of text."""
        element = self.open[-1]
        if element.pieces is not None:
            element.pieces.append(text)
        elif element.shows:
            self.write(text)

    def end(self, tag: str) -> None:
        """End an element."""
        ended = self.open.pop()
        if not self.open:
            self.open.append(ended)
        elif ended is not self.open[-1]:
            self._end(ended)

    def close(self) -> None:
        """End the part, with the elements that never ended."""
        while len(self.open) > 1:
            self.end("")
        self.text.close()

    def _end(self, ended: Element) -> None:
        if ended.at_end is not None:
            ended.at_end("".join(ended.pieces or ()))
        if ended.is_apart:
            self.text.set_apart()
        if ended.is_paragraph:
            self.text.end()
        if ended.link is not None:
            self.text.close_link(ended.link)

    def begin_format(self, element: Element) -> None:
        """Give the text of *element* a visible format of its own."""
        self._formats += 1
        element.format |= {str(self._formats)}

    def begin_paragraph(self, element: Element, location: str = "") -> None:
        """Begin a paragraph, at a *location* of its own or that of *element*, which ends with the element."""
        if self.text.is_full:
            raise EnoughRead
        element.location = location or element.location
        element.is_paragraph = True
        self.text.begin(element.location)

    def set_apart(self, element: Element) -> None:
        """Separate the text of *element* from the text around it."""
        element.is_apart = True
        self.text.set_apart()

    def open_link(self, element: Element, target: str) -> None:
        """Make the text of *element* that of a link, if there is a *target*."""
        if target:
            element.link = self.text.add_link(target, element.location)
            self.text.open_link(element.link)


def formula_target(formula: str) -> str:
    """Return the target of a formula for a link; empty for another formula, or a target in another cell.

    >>> formula_target('of:=HYPERLINK("https://n2t.net/ark:12148/x5";"scan")')
    'https://n2t.net/ark:12148/x5'
    """
    link = _HYPERLINK_FORMULA.search(formula)
    return link["target"].replace('""', '"') if link else ""


def column_letters(column: int) -> str:
    """Return the letters of a column, counted from 1.

    >>> [column_letters(column) for column in (1, 26, 27, 16384)]
    ['A', 'Z', 'AA', 'XFD']
    """
    letters = ""
    while column > 0:
        column, letter = divmod(column - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters


def number(digits: str, otherwise: int = 0) -> int:
    """Return a number that is not negative; *otherwise* for other text.

    >>> number("12"), number("-1"), number("9" * 5000), number("", 1)
    (12, 0, 0, 1)
    """
    return int(digits) if digits.isdecimal() and len(digits) <= 9 else otherwise
