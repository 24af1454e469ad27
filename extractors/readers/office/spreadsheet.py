"""SpreadsheetML (ECMA-376, part 1, 18): the strings in the cells of a workbook, and their links."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from extractors.model.documents import Anchor, Role
from extractors.readers.markup.recognized import local_name
from extractors.readers.office.package import EnoughRead, EventTarget, Relation, by_local_name
from extractors.readers.office.wordprocessing import formula_target
from extractors.readers.running_text import MOST_BLOCKS, RunningText, TextRun

_TEXTS = frozenset({"f", "t", "text", "v"})
_NOTES = frozenset({"comment", "threadedComment"})
_HEADERS = frozenset({"evenFooter", "evenHeader", "firstFooter", "firstHeader", "oddFooter", "oddHeader"})
#: Codes in a header or footer: position, font, size, colour, fields.
_HEADER_CODE = re.compile(r'&(?:"[^"]*"|K[0-9A-Fa-f]{6}|[0-9]{1,3}|[A-Za-z])')
_CELL = re.compile(r"[A-Z]{1,3}[0-9]{1,7}")


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


def _is_raised(name: str, attributes: Mapping[str, str]) -> bool:
    """Return True if an element raises the following text: a raised 3 after an ARK is not part of it."""
    return name == "vertAlign" and by_local_name(attributes).get("val") == "superscript"


def text_of_run(run: TextRun) -> str:
    """Return the text of *run*, without the blanks around it, and begin the next run."""
    block = run.block("")
    return block.text if block is not None else ""


class SharedStrings(EventTarget):
    """Reads the table of strings that the cells of all sheets refer to."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._run = TextRun()
        self._is_text = False
        self._readings = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Begin an element; the phonetic reading of a string is skipped."""
        name = local_name(tag)
        self._is_text = name == "t" and not self._readings
        self._readings += name == "rPh"
        if _is_raised(name, attributes):
            self._run.write(" ")
        elif name == "r":
            self._run.begin_element()

    def data(self, text: str) -> None:
        """Read a piece of text."""
        if self._is_text:
            self._run.write(text)

    def end(self, tag: str) -> None:
        """End an element."""
        name = local_name(tag)
        self._is_text = False
        self._readings -= name == "rPh"
        if name == "r":
            self._run.end_element()
        elif name == "si":
            text = text_of_run(self._run)
            if len(self.found) < MOST_BLOCKS:
                self.found.append(text)


class SheetPart(EventTarget):
    """Reads one sheet, or the comments on it, and writes its strings to a `RunningText`."""

    def __init__(
        self, text: RunningText, sheet: str, relations: Mapping[str, Relation], strings: list[str] | None = None
    ) -> None:
        self.used: set[str] = set()
        """The relations used by links of this sheet."""
        self._text = text
        self._sheet = sheet
        self._relations = relations
        self._strings = strings or []
        self._first_block = len(text.blocks)
        self._row = self._column = 0
        self._place = ""
        self._kind = ""
        self._element = ""
        self._runs: dict[str, TextRun] = defaultdict(TextRun)
        self._linked: dict[str, int] = {}
        self._readings = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Begin an element."""
        name = local_name(tag)
        if name == "row":
            self._row = number(attributes.get("r", "")) or self._row + 1
            self._column = 0
        elif name == "c":
            self._column += 1
            self._place = f"{self._sheet}!{attributes.get('r') or column_letters(self._column) + str(self._row)}"
            self._kind = attributes.get("t", "n")
            self._runs.clear()
        elif name in _NOTES:
            self._place = f"{self._sheet}!{attributes.get('ref', '')}/comment"
            self._runs.clear()
        elif name == "hyperlink":
            self._read_link(by_local_name(attributes))
        elif name in _HEADERS:
            self._runs.clear()
            self._element = "t"
        elif _is_raised(name, attributes):
            self._runs["t"].write(" ")
        elif name == "r":
            self._runs["t"].begin_element()
        elif name == "rPh":
            self._readings += 1
        elif name in _TEXTS and not self._readings:
            self._element = "t" if name == "text" else name

    def data(self, text: str) -> None:
        """Read a piece of text."""
        if self._element:
            self._runs[self._element].write(text)

    def end(self, tag: str) -> None:
        """End an element."""
        name = local_name(tag)
        self._element = ""
        if name == "c":
            value, formula = text_of_run(self._runs["v"]), text_of_run(self._runs["f"])
            if self._kind == "s":
                index = number(value)
                value = self._strings[index] if index < len(self._strings) else ""
            elif self._kind == "inlineStr":
                value = text_of_run(self._runs["t"])
            elif self._kind != "str":  # a number, a Boolean or an error
                value = ""
            target = formula_target(formula)
            self._show(value, self._text.add_link(target, self._place) if target else None)
        elif name in _NOTES:
            self._show(text_of_run(self._runs["t"]))
        elif name in _HEADERS:
            self._place = f"{self._sheet}/header" if name.endswith("Header") else f"{self._sheet}/footer"
            self._show(_HEADER_CODE.sub(" ", text_of_run(self._runs["t"])))
        elif name == "r":
            self._runs["t"].end_element()
        elif name == "rPh":
            self._readings -= 1
        if self._text.is_full:
            raise EnoughRead

    def close(self) -> None:
        """End the sheet, and connect the links, which come after the cells, with the text of their cells."""
        self._text.close()
        for index in range(self._first_block, len(self._text.blocks)):
            block = self._text.blocks[index]
            link = self._linked.get(block.place)
            if link is not None and block.role is Role.TEXT and not block.anchors:
                self._text.blocks[index] = replace(block, anchors=(Anchor(0, len(block.text), link),))
        self._linked.clear()

    def _show(self, text: str, link: int | None = None) -> None:
        self._text.begin(self._place)
        if link is not None:
            self._text.open_link(link)
        self._text.write(text)
        self._text.end()
        if link is not None:
            self._text.close_link(link)

    def _read_link(self, attributes: Mapping[str, str]) -> None:
        """Read the link of a cell, or of a range, as that of its first cell."""
        identifier, fragment = attributes.get("id", ""), attributes.get("location", "")
        relation = self._relations.get(identifier)
        cell = _CELL.match(attributes.get("ref", ""))
        if relation is None or cell is None:
            return
        self.used.add(identifier)
        location = f"{self._sheet}!{cell[0]}"
        target = f"{relation.target}#{fragment}" if fragment else relation.target
        self._linked.setdefault(location, self._text.add_link(target, location))


def number(digits: str, otherwise: int = 0) -> int:
    """Return a number that is not negative; *otherwise* for other text.

    >>> number("12"), number("-1"), number("9" * 5000), number("", 1)
    (12, 0, 0, 1)
    """
    return int(digits) if digits.isdecimal() and len(digits) <= 9 else otherwise
