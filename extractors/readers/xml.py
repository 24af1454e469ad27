"""XML of any vocabulary: TEI, JATS, EAD, METS, Dublin Core and what else there is."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from lxml import etree

from extractors.documents import Block, Finding, Reading, Role
from extractors.readers.plain import read_plain
from extractors.readers.targets import leads_to_document, may_hold_ark

MEDIA_TYPE = "application/xml"

Element: TypeAlias = Any
"""An `lxml.etree._Element`; its published types are those of lxml 4, with bytes for text and no entities."""

# Elements by their local names in lower case: vocabularies differ in case and prefix more than in words.
_IDENTIFIERS = frozenset(
    """
    alternateidentifier article-id eadid identifier idno object-id recordid recordidentifier
    relatedidentifier self-uri unitid
    """.split()  # noqa: SIM905 (as lists, these run to sixty lines)
)
#: Identifiers too where they stand alone; within a sentence they are part of it.
_IDENTIFIERS_ALONE = _IDENTIFIERS | {"ext-link"}
#: Elements that are no part of the sentence in which they stand.
_APART = _IDENTIFIERS | frozenset(
    """
    ab caption cell def div entry figdesc figure fn footnote head item l lg list listitem note p para row sec
    section sup superscript table td th tr
    """.split()  # noqa: SIM905
)
_LINE_BREAKS = frozenset({"br", "break", "cb", "lb", "pb"})
_TITLES = frozenset({"article-title", "title", "titleproper"})
_LINK_ATTRIBUTES = frozenset({"facs", "href", "ref", "src", "target", "uri", "url"})

_SCHEMA_INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"
_XML_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_BLANKS_BEFORE_MARKUP = re.compile(rb"\A[\t\n\r ]+(?=<)")
_DOCUMENT_NAME = re.compile(r"\.(?:x?html?|pdf|txt|xml)(?:[?#]|\Z)", re.IGNORECASE)


def read_xml(data: bytes) -> Reading:
    """The text of every element that holds any, identifiers, and attributes that hold a URL or an ARK.

    >>> reading = read_xml(b"<TEI><idno>ark:/12345/x5</idno><p>See <hi>ark:/</hi>12345/x6<lb/>now</p></TEI>")
    >>> [(block.role.value, block.place, block.text) for block in reading.blocks]
    [('metadata', 'idno', 'ark:/12345/x5'), ('text', 'p', 'See ark:/12345/x6\\nnow')]
    """
    # Strangers write this: no entity from outside, none from inside but plain text, and libxml2's own limits.
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        huge_tree=False,
        recover=True,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root = etree.fromstring(_BLANKS_BEFORE_MARKUP.sub(b"", data), parser)
    except etree.XMLSyntaxError:
        root = None
    findings = _faults(parser)
    if root is None:
        as_text = read_plain(data)
        return Reading(MEDIA_TYPE, as_text.blocks, findings=findings + as_text.findings)
    document = _Document(root)
    links = tuple(dict.fromkeys(document.targets))
    return Reading(MEDIA_TYPE, tuple(document.blocks), links, root.get(_XML_BASE), document.title, findings)


def _faults(parser: etree.XMLParser) -> tuple[Finding, ...]:
    """What went wrong, if anything: the limit that cut the document short, or the first fault in it."""
    faults = [entry for entry in parser.error_log if entry.level == etree.ErrorLevels.FATAL]
    limits = [entry for entry in faults if entry.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT]
    findings = []
    if limits:
        findings.append(Finding("size-limit", f"not read beyond line {limits[0].line}: {limits[0].message}"))
    elif faults:
        findings.append(Finding("malformed-markup", f"line {faults[0].line}: {faults[0].message.strip()}"))
    return tuple(findings)


class _Document:
    """The blocks, link targets and title of a tree. Recursion is safe: the parser allows a depth of 256."""

    def __init__(self, root: Element) -> None:
        self.blocks: list[Block] = []
        self.targets: list[str] = []
        self.title = ""
        self._entities = _declared_entities(root)
        self._unit = ""
        """The element whose text is being gathered; empty between such elements."""
        self._run: list[str] = []
        self._read(root)

    def _read(self, element: Element) -> None:
        name = _local_name(element.tag)
        self._read_attributes(element)
        outer_unit = self._unit
        opens_unit = not outer_unit or name in _APART
        if opens_unit:
            self._end_run()
            self._unit = name if _has_own_text(element) else ""
        if name in _LINE_BREAKS and element.get("break") != "no":
            self._run.append("\n")
        self._run.append(element.text or "")
        for child in element:
            if child.tag is etree.Entity:
                self._run.append(self._entities.get(child.name) or html.unescape(child.text))
            else:
                self._read(child)
            self._run.append(child.tail or "")
        if opens_unit:
            self._end_run()
            self._unit = outer_unit

    def _end_run(self) -> None:
        text = "".join(self._run).strip()
        self._run.clear()
        if not text:
            return
        name = self._unit.lower()
        role = Role.METADATA if name in _IDENTIFIERS_ALONE else Role.TEXT
        self.blocks.append(Block(text, role, place=self._unit))
        if name in _TITLES and not self.title:
            self.title = " ".join(text.split())

    def _read_attributes(self, element: Element) -> None:
        for qualified, value in element.attrib.items():
            name = _local_name(qualified).lower()
            if qualified.startswith(f"{{{_SCHEMA_INSTANCE}}}"):
                continue
            if name in _LINK_ATTRIBUTES:
                self.targets += filter(_names_document, value.split())  # TEI: several targets, one attribute
            if may_hold_ark(value) or "://" in value:
                place = f"{_written_name(element, element.tag)}/@{_written_name(element, qualified)}"
                role = Role.LINK_TARGET if name in _LINK_ATTRIBUTES else Role.METADATA
                self.blocks.append(Block(value, role, place=place))


def _names_document(target: str) -> bool:
    """Whether a target leads to a document on the web, or beside this one.

    >>> list(filter(_names_document, ["https://a.org/x", "b.html#c", "#d", "page12", "viaf:5"]))
    ['https://a.org/x', 'b.html#c']
    """
    is_absolute = target.lower().startswith(("http://", "https://"))
    return leads_to_document(target) and (is_absolute or _DOCUMENT_NAME.search(target) is not None)


def _has_own_text(element: Element) -> bool:
    """Whether *element* is more than a container: it has text beside its children."""
    pieces = [element.text]
    for child in element:
        pieces.append(child.tail)
        if child.tag is etree.Entity:
            pieces.append(child.text)
    return any(piece and not piece.isspace() for piece in pieces)


def _declared_entities(root: Element) -> Mapping[str, str]:
    """The entities that the document declares as plain text; those that hold others may explode."""
    dtd = root.getroottree().docinfo.internalDTD
    if dtd is None:
        return {}
    contents = {entity.name: entity.content or "" for entity in dtd.iterentities()}
    return {name: content for name, content in contents.items() if "&" not in content and "<" not in content}


def _local_name(qualified: str) -> str:
    """The name without its namespace, or without a prefix that was never bound.

    >>> _local_name("{http://www.w3.org/1999/xlink}href"), _local_name("dc:identifier")
    ('href', 'identifier')
    """
    return qualified.rpartition("}")[2].rpartition(":")[2]


def _written_name(element: Element, qualified: str) -> str:
    """The name as the document writes it, with its prefix if it has one: ``xlink:href``."""
    namespace, _, local = qualified.rpartition("}")
    prefixes = {uri: prefix for prefix, uri in element.nsmap.items() if prefix}
    prefix = element.prefix if qualified == element.tag else prefixes.get(namespace.lstrip("{"))
    return f"{prefix}:{local}" if prefix else local
