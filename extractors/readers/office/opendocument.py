"""OpenDocument (ISO/IEC 26300): texts, spreadsheets and presentations, packaged or flat."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache, partial

from extractors.mentions.possible_labels import may_hold_ark
from extractors.readers.markup.xml import local_name
from extractors.readers.office.walk import SKIPPED_ELEMENT, Element, Walk, column_letters, formula_target, parse_number
from extractors.readers.running_text import RunningText

# Elements are identified by their local name and the last word of their namespace, usually also the prefix; so the
# formats of OpenOffice.org 1 work, too.
_SKIPPED_ELEMENTS = frozenset({"office:scripts", "text:ruby-text", "text:script", "text:tracked-changes"})
_CELLS = frozenset({"table:covered-table-cell", "table:table-cell"})
_CHARACTERS = {"text:line-break": "\n", "text:tab": "\t", "text:tab-stop": "\t"}
_HEADERS = {f"style:{kind}{page}": kind for kind in ("footer", "header") for page in ("", "-first", "-left")}
#: Elements whose text is a value, kept if it may hold an ARK: alternative texts, footers of slides.
_VALUE_ELEMENTS = frozenset(
    {"presentation:footer-decl", "presentation:header-decl", "svg-compatible:desc", "svg-compatible:title"}
)
#: Elements whose attributes are visible, or contain citations.
_VISIBLE_ATTRIBUTES = frozenset(
    """
    text:bibliography-mark text:conditional-text text:hidden-text text:user-field-decl text:variable-set
    """.split()  # noqa: SIM905
)
#: Properties of text, before a hyphen, that change nothing visible: the editing session, the language.
_INVISIBLE_PROPERTIES = frozenset({"country", "display", "language", "paragraph", "rsid"})
_NAMESPACE_WORD = re.compile(r"[A-Za-z-]+")
_RAISED_POSITION = re.compile(r"super|[1-9]")
_MOST_BLANKS = 100


@dataclass(slots=True)
class _Table:
    """An open table with the number of its current row, and those of the next row and column, from 1."""

    name: str
    row: int = 0
    next_row: int = 1
    next_column: int = 1


@lru_cache(maxsize=1024)
def _prefixed_name(tag: str) -> str:
    words = _NAMESPACE_WORD.findall(tag.rpartition("}")[0])
    return f"{words[-1]}:{local_name(tag)}" if words else tag


class OpenDocumentPart(Walk):
    """Reads the events of ``content.xml``, ``styles.xml``, ``meta.xml``, or of a flat file with all of these."""

    def __init__(self, text: RunningText) -> None:
        super().__init__(text, "body")
        self.title = ""
        self._tables: list[_Table] = []
        self._is_spreadsheet = False
        self._counts: Counter[str] = Counter()
        self._style_name = ""
        self._raised_styles: set[str] = set()
        self._hidden_styles: set[str] = set()
        self._visible_styles: set[str] = set()
        """The names of styles that change something visible."""

    def begin(self, tag: str, parent: Element, attributes: Mapping[str, str]) -> Element:
        """Return the element for *tag* in *parent*, as `Walk.begin`."""
        name = _prefixed_name(tag)
        if name in _SKIPPED_ELEMENTS:
            return SKIPPED_ELEMENT
        is_inline = parent.has_visible_text and name.startswith(("text:", "loext:"))
        element = Element(name, parent.location, parent.format, has_visible_text=is_inline)
        style = attributes.get("style-name", "")
        if is_inline and (name != "text:span" or style in self._visible_styles):
            self.begin_format(element)
        if parent.name == "office:meta":
            self._begin_value(element, f"meta/{attributes.get('name') or local_name(tag)}")
        else:
            self._begin_meaningful(element, attributes, style)
        if name in _VISIBLE_ATTRIBUTES:
            for value in filter(may_hold_ark, attributes.values()):
                self.text.add_value(value, element.location)
        return element

    def write(self, text: str) -> None:
        """Write visible text of the innermost element, with collapsed blanks."""
        self.text.set_format(self.open_elements[-1].format)
        self.text.write_collapsed(text)

    def _begin_meaningful(self, element: Element, attributes: Mapping[str, str], style: str) -> None:
        """Begin *element*, in the style named *style*, if it is a style, table, slide, paragraph, or a part of these."""
        name, table = element.name, self._tables[-1] if self._tables else _Table("")
        match name:
            case "style:style":
                self._style_name = attributes.get("name", "")
            case "style:text-properties" | "style:properties":
                if _RAISED_POSITION.match(attributes.get("text-position", "")):
                    self._raised_styles.add(self._style_name)
                if attributes.get("display") == "none":
                    self._hidden_styles.add(self._style_name)
                if any(name.partition("-")[0] not in _INVISIBLE_PROPERTIES for name in attributes):
                    self._visible_styles.add(self._style_name)
            case "office:spreadsheet":
                self._is_spreadsheet = True
            case "table:table":
                self._tables.append(_Table(attributes.get("name", "")))
                element.at_end = lambda _: self._tables.pop()
                if self._is_spreadsheet:
                    element.location = attributes.get("name", "")
            case "table:table-row":
                table.row, table.next_column = table.next_row, 1
                table.next_row += parse_number(attributes.get("number-rows-repeated", ""), 1)
            case "table:table-cell" | "table:covered-table-cell" if self._is_spreadsheet and self._tables:
                # One paragraph for all lines of the cell. A repeated cell is read once.
                element.location = f"{table.name}!{column_letters(table.next_column)}{table.row}"
                table.next_column += parse_number(attributes.get("number-columns-repeated", ""), 1)
                self.open_link(element, formula_target(attributes.get("formula", "")))
                self.begin_paragraph(element)
            case "drawing:page":
                element.location = self._numbered_location("slide")
            case "presentation:notes":
                element.location = f"notes{self._counts['slide']}"
            case "text:h" | "text:p":  # in a spreadsheet cell, a line of its text
                element.has_visible_text = True
                if self.open_elements[-1].is_paragraph and self.open_elements[-1].name in _CELLS:
                    self.text.break_line()
                else:
                    self.begin_paragraph(element)
            case "text:span":  # a raised 3 after an ARK is a footnote mark, and hidden text isn't a part of it
                if style in self._raised_styles:
                    self.set_apart(element)
                if style in self._hidden_styles:  # within a name, too
                    self.begin_paragraph(element)
            case "text:note":
                self.set_apart(element)
                element.has_visible_text = False
                element.location = self._numbered_location(f"{attributes.get('note-class', 'footnote')}:")
            case "office:annotation":
                element.location = (
                    f"{element.location}/comment" if self._is_spreadsheet else self._numbered_location("comment:")
                )
            case "text:a" | "drawing:a":
                target = attributes.get("href", "").strip()
                self.open_link(element, "" if target.startswith("#") else target)
            case "text:s" if element.has_visible_text:
                self.text.write(" " * min(parse_number(attributes.get("c", ""), 1), _MOST_BLANKS))
            case _ if name in _HEADERS:
                element.location = _HEADERS[name]
            case _ if name in _VALUE_ELEMENTS:
                self._begin_value(element, element.location)
            case _ if name in _CHARACTERS and element.has_visible_text:
                self.text.write(_CHARACTERS[name])

    def _numbered_location(self, kind: str) -> str:
        self._counts[kind] += 1
        return f"{kind}{self._counts[kind]}"

    def _begin_value(self, element: Element, location: str) -> None:
        """Make the text of *element* a value at *location*; outside of metadata, only if it may hold an ARK."""
        element.pieces, element.at_end = [], partial(self._end_value, location)

    def _end_value(self, location: str, value: str) -> None:
        if location.startswith("meta/") or may_hold_ark(value):
            self.text.add_value(value.strip(), location)
        if location == "meta/title" and not self.title:
            self.title = " ".join(value.split())
