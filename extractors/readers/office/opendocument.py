"""OpenDocument (ISO/IEC 26300): texts, spreadsheets and presentations, packaged or flat."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from extractors.mentions.labels import may_hold_ark
from extractors.model.documents import Role
from extractors.readers.markup.recognized import local_name
from extractors.readers.office.package import EnoughRead, EventTarget, by_local_name
from extractors.readers.office.spreadsheet import column_letters, number
from extractors.readers.office.wordprocessing import formula_target
from extractors.readers.running_text import RunningText

# Elements are identified by their local name and the last word of their namespace, usually also the prefix; so the
# formats of OpenOffice.org 1 work, too.
_PASSED_OVER = frozenset({"office:scripts", "text:ruby-text", "text:script", "text:tracked-changes"})
_CELLS = frozenset({"table:covered-table-cell", "table:table-cell"})
_STRUCTURE = _CELLS | frozenset(
    """
    drawing:page office:spreadsheet presentation:notes style:properties style:style style:text-properties table:table
    table:table-row
    """.split()  # noqa: SIM905
)
_INLINE = frozenset(
    "drawing:a office:annotation text:a text:h text:note text:p text:s text:span".split()  # noqa: SIM905
)
_CHARACTERS = {"text:line-break": "\n", "text:tab": "\t", "text:tab-stop": "\t"}
_HEADERS = {f"style:{kind}{page}": kind for kind in ("footer", "header") for page in ("", "-first", "-left")}
#: Elements whose text is a value, kept if it may hold an ARK: alternative texts, footers of slides.
_VALUES = frozenset(
    {"presentation:footer-decl", "presentation:header-decl", "svg-compatible:desc", "svg-compatible:title"}
)
#: Elements whose attributes are visible, or contain citations.
_VISIBLE_ATTRIBUTES = frozenset(
    """
    text:bibliography-mark text:conditional-text text:hidden-text text:user-field-decl text:variable-set
    """.split()  # noqa: SIM905
)
#: Properties of text, before a hyphen, that change nothing visible: the editing session, the language.
_UNSEEN_PROPERTIES = frozenset({"country", "display", "language", "paragraph", "rsid"})
_NAMESPACE_WORD = re.compile(r"[A-Za-z-]+")
_RAISED = re.compile(r"super|[1-9]")
_MOST_BLANKS = 100


@dataclass(slots=True)
class _Table:
    """A table and the position of the reader in it, from 1."""

    name: str
    row: int = 0
    next_row: int = 1
    next_column: int = 1


@dataclass(slots=True)
class _Element:
    """An open element, with the state to restore at its end."""

    name: str
    place: str
    is_inline: bool = False
    """True if text directly in it belongs to a paragraph."""
    is_paragraph: bool = False
    is_plain: bool = True
    """True if it doesn't begin and end in a visible way."""
    is_apart: bool = False
    link: int | None = None


@lru_cache(maxsize=1024)
def _prefixed_name(tag: str) -> str:
    words = _NAMESPACE_WORD.findall(tag.rpartition("}")[0])
    return f"{words[-1]}:{local_name(tag)}" if words else tag


class OpenDocumentPart(EventTarget):
    """Reads the events of ``content.xml``, ``styles.xml``, ``meta.xml``, or of a flat file with all of these."""

    def __init__(self, text: RunningText) -> None:
        self.title = ""
        self._text = text
        self._passed_over = 0
        self._open = [_Element("", "body")]
        self._tables: list[_Table] = []
        self._is_spreadsheet = False
        self._counts: Counter[str] = Counter()
        self._style = ""
        self._raised: set[str] = set()
        self._hidden: set[str] = set()
        self._visible: set[str] = set()
        """The styles that change something visible."""
        self._value: list[str] | None = None
        self._value_place = ""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Begin an element."""
        name = _prefixed_name(tag)
        if self._passed_over or name in _PASSED_OVER:
            self._passed_over += 1
            return
        around = self._open[-1]
        is_inline = around.is_inline and name.startswith(("text:", "loext:"))
        element = _Element(name, around.place, is_inline, is_plain=not is_inline)
        if around.name == "office:meta":
            named = by_local_name(attributes)
            self._begin_value(f"meta/{named.get('name') or local_name(tag)}")
        elif name in _STRUCTURE:
            self._start_structure(element, by_local_name(attributes))
        elif name in _INLINE:
            self._start_inline(element, by_local_name(attributes))
        elif name in _HEADERS:
            element.place = _HEADERS[name]
        elif name in _VALUES:
            self._begin_value(around.place)
        elif name in _CHARACTERS and is_inline:
            self._text.write(_CHARACTERS[name])
        if name in _VISIBLE_ATTRIBUTES:
            for value in filter(may_hold_ark, attributes.values()):
                self._text.add_value(value, element.place)
        if element.is_apart:
            self._text.set_apart()
        if not element.is_plain:
            self._text.begin_element()
        self._open.append(element)

    def data(self, text: str) -> None:
        """Read a piece of text."""
        if self._passed_over:
            return
        if self._value is not None:
            self._value.append(text)
        elif self._open[-1].is_inline:
            self._text.write_collapsed(text)

    def end(self, tag: str) -> None:
        """End an element."""
        if self._passed_over:
            self._passed_over -= 1
            return
        if len(self._open) == 1:
            return
        ended = self._open.pop()
        if self._value is not None:
            value, self._value = "".join(self._value).strip(), None
            if self._open[-1].name == "office:meta" or may_hold_ark(value):
                self._text.add_value(value, self._value_place, Role.METADATA)
            if self._value_place == "meta/title" and not self.title:
                self.title = " ".join(value.split())
        if not ended.is_plain:
            self._text.end_element()
        if ended.is_apart:
            self._text.set_apart()
        if ended.is_paragraph:
            self._text.end()
        if ended.link is not None:
            self._text.close_link(ended.link)
        if ended.name == "table:table" and self._tables:
            self._tables.pop()
        if self._text.is_full:
            raise EnoughRead

    def close(self) -> None:
        """End the text."""
        self._text.close()

    def _start_structure(self, element: _Element, attributes: Mapping[str, str]) -> None:
        """Begin a style, a table, a slide, or a part of them."""
        match element.name:
            case "style:style":
                self._style = attributes.get("name", "")
            case "style:text-properties" | "style:properties":
                if _RAISED.match(attributes.get("text-position", "")):
                    self._raised.add(self._style)
                if attributes.get("display") == "none":
                    self._hidden.add(self._style)
                if any(name.partition("-")[0] not in _UNSEEN_PROPERTIES for name in attributes):
                    self._visible.add(self._style)
            case "office:spreadsheet":
                self._is_spreadsheet = True
            case "table:table":
                self._tables.append(_Table(attributes.get("name", "")))
                if self._is_spreadsheet:
                    element.place = attributes.get("name", "")
            case "table:table-row" if self._tables:
                table = self._tables[-1]
                table.row, table.next_column = table.next_row, 1
                table.next_row += number(attributes.get("number-rows-repeated", ""), 1)
            case "table:table-cell" | "table:covered-table-cell" if self._is_spreadsheet and self._tables:
                # One paragraph for all lines of the cell. A repeated cell is read once.
                table = self._tables[-1]
                element.place = f"{table.name}!{column_letters(table.next_column)}{table.row}"
                table.next_column += number(attributes.get("number-columns-repeated", ""), 1)
                self._open_link(element, formula_target(attributes.get("formula", "")))
                element.is_paragraph = True
                self._text.begin(element.place)
            case "drawing:page":
                self._counts["slide"] += 1
                element.place = f"slide{self._counts['slide']}"
            case "presentation:notes":
                element.place = f"notes{self._counts['slide']}"

    def _start_inline(self, element: _Element, attributes: Mapping[str, str]) -> None:
        """Begin a paragraph or an element in it; in a spreadsheet cell, a paragraph is a line of its text."""
        match element.name:
            case "text:h" | "text:p":
                element.is_inline = True
                if self._open[-1].is_paragraph and self._open[-1].name in _CELLS:
                    self._text.break_line()
                else:
                    element.is_paragraph = True
                    self._text.begin(element.place)
            case "text:span":  # a raised 3 after an ARK is a footnote mark, and hidden text isn't a part of it
                style = attributes.get("style-name", "")
                element.is_apart, element.is_plain = style in self._raised, style not in self._visible
                if style in self._hidden:  # within a name, too
                    element.is_paragraph = True
                    self._text.begin(element.place)
            case "text:note":
                element.is_apart, element.is_inline = True, False
                element.place = self._next_place(attributes.get("note-class", "footnote"))
            case "office:annotation":
                element.place = f"{element.place}/comment" if self._is_spreadsheet else self._next_place("comment")
            case "text:a" | "drawing:a":
                target = attributes.get("href", "").strip()
                if not target.startswith("#"):
                    self._open_link(element, target)
            case "text:s" if element.is_inline:
                self._text.write(" " * min(number(attributes.get("c", ""), 1), _MOST_BLANKS))

    def _open_link(self, element: _Element, target: str) -> None:
        """Make the text of *element* that of a link, if there is a *target*."""
        if target:
            element.link = self._text.add_link(target, element.place)
            self._text.open_link(element.link)

    def _next_place(self, kind: str) -> str:
        self._counts[kind] += 1
        return f"{kind}:{self._counts[kind]}"

    # -- values

    def _begin_value(self, location: str) -> None:
        self._value, self._value_place = [], location
