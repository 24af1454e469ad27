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
    """The visible properties of its text, by any names."""
    run: Element | None = None
    """In Office Open XML, the run of characters with its text; None outside of runs."""
    is_property: bool = False
    """True if it describes its run."""
    has_visible_text: bool = False
    """True if text directly in it is visible."""
    pieces: list[str] | None = None
    """The pieces of the text directly in it, for `at_end`; None if `at_end` needs no text."""
    at_end: Callable[[str], object] | None = None
    is_paragraph: bool = False
    is_apart: bool = False
    """True if its text, such as a raised footnote mark, is separate from the text before and after it."""
    link: int | None = None
    is_read: bool = False
    """True if the first of its alternative contents was read."""


#: Any element that is skipped with its content.
SKIPPED_ELEMENT = Element("", "")


class Walk(EventTarget, ABC):
    """Reads a part of a document, at *location*, and writes its visible text to a `RunningText`.

    A subclass defines the meaning of elements in a format.
    """

    def __init__(self, text: RunningText, location: str) -> None:
        self.text = text
        self.open_elements = [Element("", location)]
        self._formats = 0

    @abstractmethod
    def begin(self, tag: str, parent: Element, attributes: Mapping[str, str]) -> Element:
        """Return a new element for *tag* in *parent*, or *parent* itself if the tag means nothing in this format.

        For an element to skip with its content, return `SKIPPED_ELEMENT`. *attributes* are by local name.
        """

    @abstractmethod
    def write(self, text: str) -> None:
        """Write visible text of the innermost element."""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Begin an element; *tag* and *attributes* are those of lxml."""
        parent = self.open_elements[-1]
        self.open_elements.append(
            parent if parent is SKIPPED_ELEMENT else self.begin(tag, parent, by_local_name(attributes))
        )

    def data(self, text: str) -> None:
        """Read a piece of text directly in the innermost element."""
        element = self.open_elements[-1]
        if element.pieces is not None:
            element.pieces.append(text)
        elif element.has_visible_text:
            self.write(text)

    def end(self, tag: str) -> None:
        """End the innermost element, whatever its *tag*; the outermost element stays open."""
        element = self.open_elements.pop()
        if not self.open_elements:
            self.open_elements.append(element)
        elif element is not self.open_elements[-1]:
            self._end_element(element)

    def close(self) -> None:
        """End the part, with the elements that never ended."""
        while len(self.open_elements) > 1:
            self.end("")
        self.text.close()

    def _end_element(self, element: Element) -> None:
        """End the text, paragraph and link that an element has begun."""
        if element.at_end is not None:
            element.at_end("".join(element.pieces or ()))
        if element.is_apart:
            self.text.set_apart()
        if element.is_paragraph:
            self.text.end()
        if element.link is not None:
            self.text.close_link(element.link)

    def begin_format(self, element: Element) -> None:
        """Give the text of *element* a visible property that no other element has."""
        self._formats += 1
        element.format |= {str(self._formats)}

    def begin_paragraph(self, element: Element, location: str = "") -> None:
        """Begin the paragraph of *element*, which ends with it, at *location*, or else at that of *element*."""
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
    """Return the target of a HYPERLINK *formula*; empty for another formula, or if another cell has the target.

    >>> formula_target('of:=HYPERLINK("https://n2t.net/ark:12148/x5";"scan")')
    'https://n2t.net/ark:12148/x5'
    """
    link = _HYPERLINK_FORMULA.search(formula)
    return link["target"].replace('""', '"') if link else ""


def column_letters(column: int) -> str:
    """Return the letters of a spreadsheet's *column*, counted from 1.

    >>> [column_letters(column) for column in (1, 26, 27, 16384)]
    ['A', 'Z', 'AA', 'XFD']
    """
    letters = ""
    while column > 0:
        column, letter = divmod(column - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters


def parse_number(digits: str, default: int = 0) -> int:
    """Return the number that *digits* spells, if it has at most nine digits; *default* for any other text.

    >>> parse_number("12"), parse_number("-1"), parse_number("9" * 5000), parse_number("", 1)
    (12, 0, 0, 1)
    """
    return int(digits) if digits.isdecimal() and len(digits) <= 9 else default
