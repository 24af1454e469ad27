"""The text markup of Office Open XML (ECMA-376, part 1): WordprocessingML, and DrawingML in slides and charts.

Elements are identified by local name: the strict and the transitional edition differ only in their namespaces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from extractors.mentions.labels import may_hold_ark
from extractors.model.documents import Role
from extractors.readers.markup.recognized import local_name
from extractors.readers.office.package import EnoughRead, EventTarget, Relation, XmlElement, by_local_name
from extractors.readers.running_text import RunningText

# Computed links: the target of a field in a text document, or of a formula in a cell.


_HYPERLINK_FIELD = re.compile(r"\s*HYPERLINK\b(?P<arguments>.*)", re.IGNORECASE | re.DOTALL)
_ARGUMENT = re.compile(r'"(?P<quoted>(?:[^"\\]|\\.)*)"?|(?P<bare>[^\s"]+)', re.DOTALL)
_SWITCHES_WITH_ARGUMENT = frozenset({"\\l", "\\o", "\\t"})
_HYPERLINK_FORMULA = re.compile(r'HYPERLINK\(\s*"(?P<target>(?:[^"]|"")*)"', re.IGNORECASE)


def hyperlink_target(code: str) -> str:
    r"""Return the target of a HYPERLINK field; empty for another field, or a place in the same document.

    >>> hyperlink_target(r' HYPERLINK "https://n2t.net/ark:12148/x5" \l "p3" \o "a tip" ')
    'https://n2t.net/ark:12148/x5#p3'
    """
    link = _HYPERLINK_FIELD.match(code)
    target = fragment = switch = ""
    for argument in _ARGUMENT.finditer(link["arguments"]) if link else ():
        bare, quoted = argument["bare"], argument["quoted"]
        if bare and bare.startswith("\\") and len(bare) == 2:
            switch = bare if bare in _SWITCHES_WITH_ARGUMENT else ""
            continue
        value = bare if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
        if switch == "\\l":
            fragment = fragment or value
        elif not switch:
            target = target or value
        switch = ""
    return f"{target}#{fragment}" if target and fragment else target


def formula_target(formula: str) -> str:
    """Return the target of a formula for a link; empty for another formula, or a target in another cell.

    >>> formula_target('of:=HYPERLINK("https://n2t.net/ark:12148/x5";"scan")')
    'https://n2t.net/ark:12148/x5'
    """
    link = _HYPERLINK_FORMULA.search(formula)
    return link["target"].replace('""', '"') if link else ""


#: Elements skipped with their content: deleted or moved text, former formatting, tab stops, phonetic readings.
_PASSED_OVER = frozenset({"del", "moveFrom", "pPrChange", "rPrChange", "rt", "tabLst", "tabs"})
#: Properties of a run, and attributes of DrawingML's, that change nothing visible.
_UNSEEN_PROPERTIES = frozenset({"altLang", "bmk", "dirty", "err", "lang", "noProof", "rPr", "smtClean", "vanish"})
#: Numbered units within a part.
_NUMBERED = frozenset({"comment", "endnote", "footnote"})
_NOTE_MARKS = frozenset({"endnoteRef", "endnoteReference", "footnoteRef", "footnoteReference"})
_RUNS = frozenset({"fld", "r"})
_RAISING = frozenset({"position", "rPr", "rStyle", "vanish", "vertAlign"})
_CHARACTERS = {
    "cr": "\n",
    "noBreakHyphen": "\N{NON-BREAKING HYPHEN}",
    "ptab": "\t",
    "softHyphen": "\N{SOFT HYPHEN}",
    "tab": "\t",
}
_ALTERNATIVE_TEXT = frozenset({"cNvPr", "docPr"})


@dataclass(slots=True)
class _Run:
    """A run of characters with one format."""

    is_apart: bool = False
    is_hidden: bool = False
    link: int | None = None
    format: set[str] = field(default_factory=set)
    """Its visible properties."""


@dataclass(slots=True)
class _Field:
    """A field: its code, and the link of its result."""

    code: list[str] = field(default_factory=list)
    link: int | None = None


def raised_styles(elements: Iterable[XmlElement]) -> Iterator[str]:
    """Yield the character styles that raise or hide text, from the styles part; inheritance between styles is ignored."""
    style = ""
    for element in elements:
        if element.name == "style":
            style = element.attributes.get("styleId", "")
        elif style and _raises(element.name, element.attributes):
            yield style


def _raises(name: str, attributes: Mapping[str, str]) -> bool:
    """Return True if an element of run properties raises the run, as superscript or by half points, or hides it."""
    value = attributes.get("val", "")
    match name:
        case "vertAlign":
            return value == "superscript"
        case "vanish":
            return value not in ("0", "false", "off")
    return name == "position" and value.isdigit() and value != "0"


class MarkupPart(EventTarget):
    """Reads one part, and writes its visible text to a `RunningText`."""

    def __init__(
        self, text: RunningText, location: str, relations: Mapping[str, Relation], raised: Collection[str] = ()
    ) -> None:
        self.used: set[str] = set()
        """The relations used by links of this part."""
        self._text = text
        self._story = self._place = location
        self._relations = relations
        self._raised = raised
        self._passed_over = 0
        self._content = ""
        """The open element whose text counts: ``t`` or ``instrText``."""
        self._in_paragraph_mark = self._in_run_properties = False
        self._alternatives: list[bool] = []
        self._runs: list[_Run] = []
        self._links: list[int | None] = []
        self._fields: list[_Field] = []
        self._codes: list[_Field] = []
        """The fields whose code has not ended."""
        self._paragraph_links: dict[str, int] = {}
        self._starts: dict[str, Callable[[dict[str, str]], None]] = {
            "fldChar": self._field_character,
            "hlinkClick": self._run_link,
            "hyperlink": self._start_hyperlink,
            "sym": self._symbol,
        }

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Begin an element."""
        name = local_name(tag)
        if self._passed_over or self._is_passed_over(name):
            self._passed_over += 1
            return
        if name == "rPr":
            self._in_run_properties = bool(self._runs) and not self._in_paragraph_mark
        if self._in_run_properties:
            properties = sorted(item for item in by_local_name(attributes).items() if item[0] not in _UNSEEN_PROPERTIES)
            if properties or name not in _UNSEEN_PROPERTIES:
                self._runs[-1].format.add(f"{name} {properties}")
        if name in {"t", "instrText"}:
            self._content = name
        elif name in self._starts:
            self._starts[name](by_local_name(attributes))
        elif name == "p":
            self._text.begin(self._place)
            self._paragraph_links = {}
        elif name == "br":
            self._write("\f" if by_local_name(attributes).get("type") == "page" else "\n")
        elif name == "fldSimple":
            self._links.append(self._read_code(by_local_name(attributes).get("instr", "")))
        elif name in _RAISING:
            self._read_raising(name, by_local_name(attributes))
        elif name in _CHARACTERS:
            self._write(_CHARACTERS[name])
        elif name in _NOTE_MARKS:
            self._text.set_apart()
        elif name in _RUNS:
            self._runs.append(_Run(format={name}))
        elif name == "v":  # a category, the name of a series, or a number of a chart
            self._content = "t"
            self._text.begin(self._place)
        elif name in _NUMBERED:
            self._place = f"{name}:{by_local_name(attributes).get('id', '')}"
        elif name == "pPr":
            self._in_paragraph_mark = True
        elif name in _ALTERNATIVE_TEXT:
            for value in (attributes.get("title", ""), attributes.get("descr", "")):
                if may_hold_ark(value):
                    self._text.add_value(value, self._place)
        elif "href" in attributes:  # shapes of VML
            self._text.add_link(attributes["href"], self._place)

    def data(self, text: str) -> None:
        """Read a piece of text."""
        if self._passed_over or not self._content:
            return
        if self._content == "t":
            self._write(text)
        elif self._codes:
            self._codes[-1].code.append(text)

    def end(self, tag: str) -> None:
        """End an element."""
        if self._passed_over:
            self._passed_over -= 1
            return
        name = local_name(tag)
        if name in {"t", "instrText"}:
            self._content = ""
        elif name in {"p", "v"}:
            self._content = ""
            self._end_codes()
            self._text.end()
            if self._text.is_full:
                raise EnoughRead
        elif name in _RUNS and self._runs:
            run = self._runs.pop()
            if run.is_apart:
                self._text.set_apart()
            if run.is_hidden:
                self._text.end()
            self._close_link(run.link)
        elif name in {"fldSimple", "hyperlink"} and self._links:
            self._close_link(self._links.pop())
        elif name == "AlternateContent" and self._alternatives:
            self._alternatives.pop()
        elif name in _NUMBERED:
            self._place = self._story
        elif name == "pPr":
            self._in_paragraph_mark = False
        elif name == "rPr":
            self._in_run_properties = False

    def close(self) -> None:
        """End the part."""
        self._end_codes()
        self._text.close()

    def _is_passed_over(self, name: str) -> bool:
        """Return True if an element is not part of the text; of alternative contents, only the first is."""
        if name == "del" and self._in_paragraph_mark:
            self._text.join_next_paragraph()
        elif name == "AlternateContent":
            self._alternatives.append(False)
        elif name in {"Choice", "Fallback"} and self._alternatives:
            was_chosen, self._alternatives[-1] = self._alternatives[-1], True
            return was_chosen
        return name in _PASSED_OVER

    def _write(self, text: str) -> None:
        if self._codes:
            self._codes[-1].code.append(text)  # the result of a field within the code of another
            return
        properties = self._runs[-1].format - {"r"} if self._runs else set[str]()
        depth = len(self._fields) + len(self._links)
        self._text.set_format(frozenset({*properties, *map(str, range(depth))}))
        self._text.write(text)

    # -- paragraphs and runs

    def _symbol(self, attributes: dict[str, str]) -> None:
        """Write a character by its code; in a symbol font, U+F000 plus an ASCII code."""
        try:
            code = int(attributes.get("char", ""), 16)
            char = chr(code)
        except (ValueError, OverflowError):
            return
        if code == 0xF02D and attributes.get("font") == "Symbol":
            char = "\N{MINUS SIGN}"
        if not 0xD800 <= code <= 0xDFFF:
            self._write(char)

    def _read_raising(self, name: str, attributes: dict[str, str]) -> None:
        """Note that a run is raised or hidden. In DrawingML, `rPr` says so in per mille, or per cent (strict edition).

        A raised 3 after an ARK is a footnote mark, not its last character.
        """
        baseline = attributes.get("baseline", "")
        is_raised = (
            _raises(name, attributes)
            or (name == "rStyle" and attributes.get("val") in self._raised)
            or (name == "rPr" and baseline.rstrip("%").isdigit() and baseline.strip("0%") != "")
        )
        run = self._runs[-1] if self._runs else _Run()
        if name == "vanish" and is_raised and self._runs and not run.is_hidden:  # within a name, too
            run.is_hidden = True
            self._text.begin(self._place)
        elif is_raised and self._runs and not run.is_apart:
            run.is_apart = True
            self._text.set_apart()

    # -- links

    def _start_hyperlink(self, attributes: dict[str, str]) -> None:
        identifier, fragment = attributes.get("id", ""), attributes.get("anchor", "")
        relation = self._relations.get(identifier)
        link = None
        if relation is not None:
            self.used.add(identifier)
            link = self._open_link(f"{relation.target}#{fragment}" if fragment else relation.target)
        self._links.append(link)

    def _run_link(self, attributes: dict[str, str]) -> None:
        """Begin the link of a run in DrawingML, where one link may span several runs, or add that of a picture."""
        identifier = attributes.get("id", "")
        relation = self._relations.get(identifier)
        if relation is None or not relation.is_external:
            return
        self.used.add(identifier)
        if not self._runs or self._runs[-1].link is not None:
            self._text.add_link(relation.target, self._place)
            return
        if identifier not in self._paragraph_links:
            self._paragraph_links[identifier] = self._text.add_link(relation.target, self._place)
        self._runs[-1].link = self._paragraph_links[identifier]
        self._text.open_link(self._paragraph_links[identifier])

    def _open_link(self, target: str) -> int:
        link = self._text.add_link(target, self._place)
        self._text.open_link(link)
        return link

    def _close_link(self, link: int | None) -> None:
        if link is not None:
            self._text.close_link(link)

    # -- fields

    def _field_character(self, attributes: dict[str, str]) -> None:
        match attributes.get("fldCharType"):
            case "begin":
                begun = _Field()
                self._fields.append(begun)
                self._codes.append(begun)
            case "separate":
                self._end_code()
            case "end" if self._fields:
                self._end_code()
                self._close_link(self._fields.pop().link)

    def _end_code(self) -> None:
        """End the code of the innermost field; its result follows."""
        if self._codes and self._codes[-1] is self._fields[-1]:
            ended = self._codes.pop()
            ended.link = self._read_code("".join(ended.code))

    def _end_codes(self) -> None:
        """End all codes at the end of the paragraph, so that a field without an end doesn't hide the text."""
        while self._codes:
            ended = self._codes.pop()
            ended.link = self._read_code("".join(ended.code))

    def _read_code(self, code: str) -> int | None:
        """Return the number of the link that the code of a field makes of its result, or None."""
        target = hyperlink_target(code)
        if target:
            return self._open_link(target)
        if may_hold_ark(code):  # reference managers store citations in the code of their fields
            self._text.add_value(code.strip(), f"{self._place}/field", Role.STRUCTURED_DATA)
        return None
