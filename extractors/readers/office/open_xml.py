"""Parts of Office Open XML (ECMA-376, part 1): WordprocessingML, DrawingML in slides and charts, SpreadsheetML.

Elements are identified by local name: the strict and the transitional edition differ only in their namespaces.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from extractors.mentions.possible_labels import may_hold_ark
from extractors.model.documents import Anchor, Role
from extractors.readers.markup.xml import local_name
from extractors.readers.office.package import Relation, XmlElement
from extractors.readers.office.walk import SKIPPED_ELEMENT, Element, Walk, column_letters, formula_target, parse_number
from extractors.readers.running_text import RunningText

_HYPERLINK_FIELD = re.compile(r"\s*HYPERLINK\b(?P<arguments>.*)", re.IGNORECASE | re.DOTALL)
_ARGUMENT = re.compile(r'"(?P<quoted>(?:[^"\\]|\\.)*)"?|(?P<bare>[^\s"]+)', re.DOTALL)
_SWITCHES_WITH_ARGUMENT = frozenset({"\\l", "\\o", "\\t"})


def hyperlink_target(code: str) -> str:
    r"""Return the target of a HYPERLINK field, given its *code*; empty for another field, or a target in the document.

    >>> hyperlink_target(r' HYPERLINK "https://n2t.net/ark:12148/x5" \l "p3" \o "a tip" ')
    'https://n2t.net/ark:12148/x5#p3'
    """
    link = _HYPERLINK_FIELD.match(code)
    target = fragment = switch = ""
    for argument in _ARGUMENT.finditer(link["arguments"]) if link else ():
        bare_value, quoted_value = argument["bare"], argument["quoted"]
        if bare_value and bare_value.startswith("\\") and len(bare_value) == 2:
            switch = bare_value if bare_value in _SWITCHES_WITH_ARGUMENT else ""
            continue
        value = bare_value if quoted_value is None else re.sub(r"\\(.)", r"\1", quoted_value)
        if switch == "\\l":
            fragment = fragment or value
        elif not switch:
            target = target or value
        switch = ""
    return f"{target}#{fragment}" if target and fragment else target


#: Elements passed over with their content: deleted or moved text, former formatting, tab stops, phonetic readings.
_SKIPPED_ELEMENTS = frozenset({"del", "moveFrom", "pPrChange", "rPh", "rPrChange", "rt", "tabLst", "tabs"})
#: Properties of a run, and attributes of DrawingML's, that change nothing visible.
_INVISIBLE_PROPERTIES = frozenset({"altLang", "bmk", "dirty", "err", "lang", "noProof", "rPr", "smtClean", "vanish"})
_CHARACTERS = {
    "cr": "\n",
    "noBreakHyphen": "\N{NON-BREAKING HYPHEN}",
    "ptab": "\t",
    "softHyphen": "\N{SOFT HYPHEN}",
    "tab": "\t",
}
#: Codes in the header or footer of a sheet: position, font, size, colour, fields.
_HEADER_CODE = re.compile(r'&(?:"[^"]*"|K[0-9A-Fa-f]{6}|[0-9]{1,3}|[A-Za-z])')
_CELL_REFERENCE = re.compile(r"[A-Z]{1,3}[0-9]{1,7}")


@dataclass(slots=True)
class _Field:
    """An open field: its code, and then the text of its result."""

    result: Element
    code: list[str] = field(default_factory=list)
    is_code: bool = True
    """True until its code ends, and its result begins."""


def raised_styles(elements: Iterable[XmlElement]) -> Iterator[str]:
    """Yield the ids of styles that themselves raise or hide text; *elements* are those of the styles part."""
    style = ""
    for element in elements:
        if element.name == "style":
            style = element.attributes.get("styleId", "")
        elif style and _is_raising(element.name, element.attributes):
            yield style


def _is_raising(name: str, attributes: Mapping[str, str]) -> bool:
    """Return True if the run property *name* with *attributes* raises the text of its run or hides it.

    In WordprocessingML, `vertAlign` and `position` raise it; in DrawingML, the ``baseline`` of `rPr` does.
    """
    value, baseline = attributes.get("val", ""), attributes.get("baseline", "")
    match name:
        case "vertAlign":
            return value == "superscript"
        case "vanish":
            return value not in ("0", "false", "off")
        case "position":
            return value.isdigit() and value != "0"
    return name == "rPr" and baseline.rstrip("%").isdigit() and baseline.strip("0%") != ""


class MarkupPart(Walk):
    """Reads one part of a text document or a presentation, a drawing, or a chart.

    *relations* are those of the part by id, *raised_styles* the ids of styles that raise or hide text.
    """

    def __init__(
        self, text: RunningText, location: str, relations: Mapping[str, Relation], raised_styles: Collection[str] = ()
    ) -> None:
        super().__init__(text, location)
        self._relations = relations
        self._used_ids: set[str] = set()
        self._raised_styles = raised_styles
        self._fields: list[_Field] = []
        self._paragraph_links: dict[str, int] = {}

    def begin(self, tag: str, parent: Element, attributes: Mapping[str, str]) -> Element:
        """Return the element for *tag* in *parent*, as `Walk.begin`.

        Of the contents of an ``AlternateContent`` element, only the first is read.
        """
        name = local_name(tag)
        if name in _SKIPPED_ELEMENTS:
            if name == "del" and parent.name == "mark":
                self.text.join_next_paragraph()
            return SKIPPED_ELEMENT
        if parent.is_property:
            self._read_property(name, parent, attributes)
            return parent
        if name == "rPr" and parent.name == "pPr":
            return Element("mark", parent.location)
        element = Element(name, parent.location, parent.format, parent.run)
        if name == "rPr" and element.run is not None:
            element.is_property = True
            self._read_property(name, element, attributes)
        elif parent.name == "AlternateContent":
            is_first, parent.is_read = not parent.is_read, True
            return element if is_first else SKIPPED_ELEMENT
        elif not self.begin_known_element(element, attributes):
            return parent
        return element

    def write(self, text: str) -> None:
        """Write visible *text*; within the code of a field, add it to the code, also if it is the result of a nested field."""
        if self._fields and (field := self._open_code_field()) is not None:
            field.code.append(text)
        else:
            self.text.set_format(self.open_elements[-1].format.union("link" for _ in self._fields))
            self.text.write(text)

    def close(self) -> None:
        """End the part, and add link targets without visible text: of pictures, linked files, and unused relations."""
        self._end_codes()
        super().close()
        relations, self._relations = self._relations, {}
        for identifier, relation in relations.items():
            is_link = relation.kind == "hyperlink"
            if identifier not in self._used_ids and relation.is_external and (is_link or may_hold_ark(relation.target)):
                self.text.add_link(relation.target, self.open_elements[0].location, is_followed=is_link)

    def begin_known_element(self, element: Element, attributes: Mapping[str, str]) -> bool:
        """Begin *element*, which is no run property; return False if this reader ignores such elements, but not their text."""
        name, location = element.name, element.location
        match name:
            case "t":
                element.has_visible_text = True
            case "r" | "fld":
                element.run = element
                element.format |= {name} - {"r"}
            case "p" | "v":  # in a chart, v is a category, the name of a series, or a number
                element.has_visible_text = name == "v"
                element.at_end = self._end_codes
                self._paragraph_links = {}
                self.begin_paragraph(element)
            case "instrText":
                element.has_visible_text = self._open_code_field() is not None
            case "br":
                self.write("\f" if attributes.get("type") == "page" else "\n")
            case "sym":
                self.write(_symbol(attributes))
            case "endnoteRef" | "endnoteReference" | "footnoteRef" | "footnoteReference":
                self.text.set_apart()
            case "comment" | "endnote" | "footnote":
                element.location = f"{name}:{attributes.get('id', '')}"
            case "hyperlink":
                element.format |= {"link"}
                self.open_link(element, self._relation_target(attributes, "anchor"))
            case "fldSimple":
                element.format |= {"link"}
                self._read_code(element, attributes.get("instr", ""))
            case "fldChar":
                self._read_field(attributes.get("fldCharType"))
            case "hlinkClick":  # of a picture
                self._link_run(element, attributes)
            case "cNvPr" | "docPr":
                for value in (attributes.get("title", ""), attributes.get("descr", "")):
                    if may_hold_ark(value):
                        self.text.add_value(value, location)
            case "AlternateContent" | "pPr":
                pass
            case _ if name in _CHARACTERS:
                self.write(_CHARACTERS[name])
            case _:
                if "href" in attributes:  # shapes of VML
                    self.text.add_link(attributes["href"], location)
                return False
        return True

    def _read_property(self, name: str, properties: Element, attributes: Mapping[str, str]) -> None:
        """Read the property *name* among the *properties* of a run: its format, its link, or that it is raised or hidden.

        Raised text is separated, because a raised 3 after an ARK is a footnote mark.
        """
        run = properties.run
        assert run is not None
        visible = sorted(item for item in attributes.items() if item[0] not in _INVISIBLE_PROPERTIES)
        if visible or name not in _INVISIBLE_PROPERTIES:
            run.format |= {f"{name} {visible}"}
        match name:
            case "hlinkClick":
                self._link_run(properties, attributes)
            case "vanish" if _is_raising(name, attributes) and not run.is_paragraph:  # within a name, too
                self.begin_paragraph(run)
            case "rStyle" if attributes.get("val") in self._raised_styles:
                self.raise_run(run)
            case "position" | "rPr" | "vertAlign" if _is_raising(name, attributes):
                self.raise_run(run)

    def raise_run(self, run: Element) -> None:
        """Separate a raised run from the text around it."""
        if not run.is_apart:
            self.set_apart(run)

    # -- links and fields

    def _relation_target(self, attributes: Mapping[str, str], fragment_name: str) -> str:
        """Return the target of the relation whose id is in *attributes*, and count it as used; empty without a relation.

        If the attribute *fragment_name* has a value, it is added as the fragment.
        """
        identifier, fragment = attributes.get("id", ""), attributes.get(fragment_name, "")
        relation = self._relations.get(identifier)
        if relation is None:
            return ""
        self._used_ids.add(identifier)
        return f"{relation.target}#{fragment}" if fragment else relation.target

    def _link_run(self, element: Element, attributes: Mapping[str, str]) -> None:
        """Begin the link of a run in DrawingML, or add the link of a picture.

        Runs of one paragraph with the same relation share a link.
        """
        identifier = attributes.get("id", "")
        relation, run = self._relations.get(identifier), element.run
        if relation is None or not relation.is_external:
            return
        self._used_ids.add(identifier)
        if not element.is_property or run is None or run.link is not None:
            self.text.add_link(relation.target, element.location)
            return
        if identifier not in self._paragraph_links:
            self._paragraph_links[identifier] = self.text.add_link(relation.target, element.location)
        run.link = self._paragraph_links[identifier]
        self.text.open_link(run.link)

    def _open_code_field(self) -> _Field | None:
        """Return the innermost field whose code has not ended, or None."""
        return next((field for field in reversed(self._fields) if field.is_code), None)

    def _read_field(self, kind: str | None) -> None:
        """Begin a field, begin its result after its code, or end it, by the *kind* of a ``fldChar`` element."""
        if kind == "begin":
            self._fields.append(_Field(Element("fldChar", self.open_elements[-1].location)))
        elif kind in {"separate", "end"} and self._fields:
            innermost = self._fields[-1]
            if innermost.is_code:
                self._end_code(innermost)
            if kind == "end":
                self._fields.pop()
                if innermost.result.link is not None:
                    self.text.close_link(innermost.result.link)

    def _end_code(self, field: _Field) -> None:
        field.is_code = False
        self._read_code(field.result, "".join(field.code))

    def _end_codes(self, _: str = "") -> None:
        """End the codes of all open fields, because a field without an end would hide the following paragraphs."""
        while (field := self._open_code_field()) is not None:
            self._end_code(field)

    def _read_code(self, result: Element, code: str) -> None:
        """Make *result* the text of a link if the *code* of its field is HYPERLINK; add other code with an ARK as a value."""
        target = hyperlink_target(code)
        self.open_link(result, target)
        if not target and may_hold_ark(code):  # reference managers store citations in the code of their fields
            self.text.add_value(code.strip(), f"{result.location}/field", Role.STRUCTURED_DATA)


def _symbol(attributes: Mapping[str, str]) -> str:
    """Return the character of a ``sym`` element by its hexadecimal code; empty if that is no character.

    In a symbol font, the code is U+F000 plus an ASCII code.
    """
    code = attributes.get("char", "")
    if code.upper() == "F02D" and attributes.get("font") == "Symbol":
        return "\N{MINUS SIGN}"
    try:
        char = chr(int(code, 16))
    except (ValueError, OverflowError):
        return ""
    return "" if "\ud800" <= char <= "\udfff" else char


class SheetPart(MarkupPart):
    """Reads one sheet, the comments on it, or the table of strings that the cells of all sheets share.

    A cell with a string is a text at the location ``Sheet1!B12``. In the table of strings, the location is the number of
    the string. *strings* are the shared strings by their numbers.
    """

    def __init__(
        self, text: RunningText, sheet: str, relations: Mapping[str, Relation], strings: Mapping[str, str]
    ) -> None:
        super().__init__(text, sheet, relations)
        self._sheet = sheet
        self._strings = strings
        self._first_block = len(text.blocks)
        self._row = self._column = self._shared_count = 0
        self._cell_type = ""
        self._link_of_cell: dict[str, int] = {}

    def begin_known_element(self, element: Element, attributes: Mapping[str, str]) -> bool:
        """Begin *element* of a sheet; return False if it has no meaning here."""
        name, parent = element.name, self.open_elements[-1]
        match name:
            case "row":
                self._row = parse_number(attributes.get("r", "")) or self._row + 1
                self._column = 0
            case "c":
                self._column += 1
                self._cell_type = attributes.get("t", "n")
                cell = attributes.get("r") or column_letters(self._column) + str(self._row)
                self.begin_paragraph(element, f"{self._sheet}!{cell}")
            case "f":
                element.pieces, element.at_end = [], lambda code: self.open_link(parent, formula_target(code))
            case "v":
                element.pieces, element.at_end = [], self._write_value
            case "si":
                self.begin_paragraph(element, str(self._shared_count))
                self._shared_count += 1
            case "comment" | "threadedComment":
                self.begin_paragraph(element, f"{self._sheet}!{attributes.get('ref', '')}/comment")
            case "text":
                element.has_visible_text = True
            case "r":
                element.run = element
                self.begin_format(element)
            case "hyperlink":
                self._read_link(attributes)
            case _ if name.endswith(("Header", "Footer")):
                element.pieces = []
                element.at_end = lambda text: self.text.write(_HEADER_CODE.sub(" ", text))
                self.begin_paragraph(element, f"{self._sheet}/{name[-6:].lower()}")
            case _:
                return super().begin_known_element(element, attributes)
        return True

    def raise_run(self, run: Element) -> None:
        """Separate a raised run from the text before it by a space."""
        self.text.write(" ")

    def close(self) -> None:
        """End the sheet, and make the texts of cells those of their links, which come after the cells in the file."""
        super().close()
        for index in range(self._first_block, len(self.text.blocks)):
            block = self.text.blocks[index]
            link = self._link_of_cell.get(block.place)
            if link is not None and block.role is Role.TEXT and not block.anchors:
                block = replace(block, anchors=(Anchor(0, len(block.text), link),))
            self.text.blocks[index] = replace(block, seams=()) if block.seams else block  # as in shared strings

    def _write_value(self, value: str) -> None:
        """Write the value of a cell, unless it is a number, a Boolean or an error."""
        if self._cell_type == "s":
            self.text.write(self._strings.get(value.strip(), ""))
        elif self._cell_type == "str":
            self.text.write(value)

    def _read_link(self, attributes: Mapping[str, str]) -> None:
        """Read the link of a cell, or that of a range as the link of its first cell."""
        target, cell = self._relation_target(attributes, "location"), _CELL_REFERENCE.match(attributes.get("ref", ""))
        if target and cell is not None:
            location = f"{self._sheet}!{cell[0]}"
            self._link_of_cell.setdefault(location, self.text.add_link(target, location))
