"""XML of any vocabulary: TEI, JATS, EAD, METS, Dublin Core, IDML, SVG, the storage format of Confluence …"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeAlias

from lxml import etree

from extractors.mentions.possible_labels import may_hold_ark
from extractors.model.budget import ReadingStage, has_time
from extractors.model.decoding import decode, first_bytes, without_surrogates
from extractors.model.documents import Block, Finding, Reading, Role
from extractors.model.urls import is_web_url, leads_to_document
from extractors.readers.running_text import InlineText

Element: TypeAlias = Any
"""An `lxml.etree._Element`; its published types are those of lxml 4, with bytes for text and no entities."""


@lru_cache(maxsize=1024)  # a document has few names, and each many times
def local_name(qualified_name: str) -> str:
    """Return *qualified_name* without its namespace, or without an unbound prefix.

    >>> local_name("{http://www.w3.org/1999/xlink}href"), local_name("dc:identifier")
    ('href', 'identifier')
    """
    return qualified_name.rpartition("}")[2].rpartition(":")[2]


MEDIA_TYPE = "application/xml"
MOST_BYTES = 64 * 2**20
#: Every element takes memory and time, and a document may consist of tags only.
MOST_TAGS = 1_000_000

# Elements by their local names in lower case, because vocabularies differ in case and prefix.
_IDENTIFIERS = frozenset(
    """
    alternateidentifier article-id eadid identifier idno object-id recordid recordidentifier
    relatedidentifier self-uri unitid
    """.split()  # noqa: SIM905 (as lists, these run to sixty lines)
)
#: Identifiers also, but only outside of sentences.
_IDENTIFIERS_ALONE = _IDENTIFIERS | {"ext-link", "extref", "guid", "id", "link", "loc", "uri"}
#: Elements that are not part of the surrounding sentence.
_SEPARATE_ELEMENTS = _IDENTIFIERS | frozenset(
    """
    ParagraphStyleRange ab caption cell def div entry figdesc figure fn footnote head item l lg list listitem note p
    para row sec section sup superscript table td th tr
    """.split()  # noqa: SIM905
)
#: Elements outside of a link even inside its element.
_NOTES = frozenset({"fn", "footnote", "note"})
#: Elements that are no part of the text around them, which continues: notes, hidden and deleted text of IDML, and the
#: running heads of TEI.
_ASIDE_ELEMENTS = frozenset({"Change", "HiddenText", "Note", "fw"})
#: Elements for the appearance of text; adjacent ones form one text.
_INLINE_ELEMENTS = frozenset(
    "b bold em emph hi highlight i italic rend sc span strong style tspan u underline".split()  # noqa: SIM905
)
#: Adobe's IDML and ICML: a range of paragraphs of one style. Its text is in `Content` elements, its paragraphs end with
#: `Br`, and blanks between elements have no meaning.
_IDML_RANGE, _IDML_TEXT, _IDML_PARAGRAPH_END = "ParagraphStyleRange", "Content", "Br"
#: Elements that neither begin nor end in a visible way.
_WITHOUT_EDGES = frozenset({"Change", "wbr", _IDML_TEXT})
#: Texts and pieces of texts in SVG, which have positions instead of lines.
_SVG_TEXT_ELEMENTS = frozenset({"text", "tspan"})
_LINE_BREAKS = frozenset({"br", "break", "cb", "lb", "pb"})
_TITLES = frozenset({"article-title", "title", "titleproper"})
_LINK_ATTRIBUTES = frozenset({"destinationurl", "facs", "href", "instanceurl", "ref", "src", "target", "uri", "url"})

#: The root elements of text that a program recognized in pictures: ALTO, PAGE XML and ABBYY's XML. Their elements are
#: lines, words or characters, so a value may be a part of an ARK.
_RECOGNIZED_ROOT = re.compile(r"(?:\{.*\})?(?:alto|PcGts)\Z|\{http://www\.abbyy\.com/FineReader_xml/")

_SCHEMA_INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"
_XML_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_MANY_ATTRIBUTES = 100
_ALL_ATTRIBUTES: Any = etree.XPath("@*")
_BLANKS_BEFORE_MARKUP = re.compile(rb"\A[\t\n\r ]+(?=<)")
#: Characters that end a word; a tag may be inside a word.
_BETWEEN_WORDS = frozenset(b" \t\r\n<>")
_TAG = re.compile(rb"</?(?:[A-Za-z0-9_.-]+:)?(?P<name>[A-Za-z0-9_.-]+)(?:\s[^<>]*)?>")
_MOST_TAIL = 8192
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
#: The beginning of a possible fragment with several roots: no document type, and not UTF-16.
_FRAGMENT = re.compile(rb"(?:\xef\xbb\xbf)?(?:<\?xml[^>]*+>)?\s*+(?=<[^!?\0])")
_WRAPPED_FRAGMENT, _WRAPPER = b"%b<fragment>%b</fragment>", "fragment"
_DOCUMENT_NAME = re.compile(r"\.(?:x?html?|pdf|txt|xml)(?:[?#]|\Z)", re.IGNORECASE)


def read_xml(data: bytes) -> Reading:
    """Return the text of every element with text, identifiers, and attributes with a URL or an ARK.

    >>> reading = read_xml(b"<TEI><idno>ark:/12345/x5</idno><p>See <hi>ark:/</hi>12345/x6<lb/>now</p></TEI>")
    >>> [(block.role.value, block.place, block.text) for block in reading.blocks]
    [('metadata', 'idno', 'ark:/12345/x5'), ('text', 'p', 'See ark:/12345/x6\\nnow')]
    """
    data, cut_findings = first_bytes(data, MOST_BYTES)
    if len(data) > MOST_TAGS and data.count(b"<") > MOST_TAGS:
        data = b"<".join(data.split(b"<", MOST_TAGS)[:MOST_TAGS])
        cut_findings = cut_findings or [Finding("cut-off", f"not read beyond tag {MOST_TAGS}")]
    source = without_surrogates(_BLANKS_BEFORE_MARKUP.sub(b"", _whole_words(data)))
    root, parser = _parse(source)
    fragment = _FRAGMENT.match(source) if parser.error_log else None  # an undeclared prefix hides the fault
    if fragment:
        wrapper_root, wrapped_parser = _parse(_WRAPPED_FRAGMENT % (fragment[0], source[fragment.end() :]))
        if wrapper_root is not None and len(wrapper_root.findall("*")) > 1:
            root, parser = wrapper_root, wrapped_parser
    findings = tuple(cut_findings) or faults_of(parser)  # truncated XML is malformed, too
    if root is None:
        decoded = decode(data)
        text_blocks = (Block(decoded.text),) if decoded.text.strip() else ()
        return Reading(MEDIA_TYPE, text_blocks, findings=findings + decoded.findings)
    document = _Document(root)
    links = tuple(dict.fromkeys(document.targets))
    blocks: tuple[Block, ...] = tuple(document.blocks())
    if _RECOGNIZED_ROOT.match(root.tag):
        blocks = tuple(replace(block, is_recognized=True) for block in blocks)
        findings += (Finding("unreadable-part", "recognized text is read by element; convert it to PDF or plain text"),)
    return Reading(MEDIA_TYPE, blocks, links, root.get(_XML_BASE), document.title, findings)


def _parse(source: bytes) -> tuple[Element | None, etree.XMLParser]:
    """Return the root element of *source*, or None if there is none, and the parser with its error log."""
    # The source may be hostile: no external entities, internal ones as plain text only, and libxml2's own limits, such
    # as a total size of entities of five times the document.
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        huge_tree=False,
        recover=True,
        remove_comments=False,
        remove_pis=True,
        collect_ids=False,
    )
    try:
        return etree.fromstring(source, parser), parser
    except etree.XMLSyntaxError:
        return None, parser


def _whole_words(data: bytes) -> bytes:
    """Return *data* without the last word or tag, which may be incomplete, because half an ARK is a wrong ARK.

    Data that ends with a tag is unchanged. Inline tags don't divide a word.

    >>> _whole_words(b"<p>See ark:/12345/x5 and <hi>ark:/</hi>12345/x"), _whole_words(b"<p>x</p> \\n")
    (b'<p>See ark:/12345/x5 and ', b'<p>x</p> \\n')
    """
    tail = data[-_MOST_TAIL:]
    if tail.replace(b"\0", b"").rstrip().endswith(b">"):
        return data
    if data.startswith(_UTF_16):
        return _whole_words(data.decode("utf-16", "ignore").encode()).decode().encode("utf-16")
    end = tail.rfind(b"<") if tail.rfind(b"<") > tail.rfind(b">") else len(tail)
    while True:
        while end and tail[end - 1] not in _BETWEEN_WORDS:
            end -= 1
        tag = _TAG.fullmatch(tail, max(tail.rfind(b"<", 0, end), 0), end)
        if tag is None or tag["name"].decode("ascii").lower() in _SEPARATE_ELEMENTS | _LINE_BREAKS:
            return data[: len(data) - len(tail) + end]
        end = tag.start()


def faults_of(parser: etree.XMLParser) -> tuple[Finding, ...]:
    """Return a finding about the limit that ended the parsing, or the first fault; empty if *parser* has neither."""
    faults = [entry for entry in parser.error_log if entry.level == etree.ErrorLevels.FATAL]
    limit_faults = [entry for entry in faults if entry.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT]
    if limit_faults:
        return (Finding("cut-off", f"not read beyond line {limit_faults[0].line}: {limit_faults[0].message}"),)
    return tuple(Finding("malformed-markup", f"line {entry.line}: {entry.message.strip()}") for entry in faults[:1])


class _Document:
    """The blocks, link targets and title of a tree. Recursion is safe: the parser allows a depth of 256."""

    def __init__(self, root: Element) -> None:
        self._blocks: list[Block] = []
        self.targets: list[str] = []
        self.title = ""
        dtd = root.getroottree().docinfo.internalDTD
        contents = {entity.name: entity.content or "" for entity in dtd.iterentities()} if dtd is not None else {}
        # Only those of plain text, because nested ones may be a bomb.
        self._entities = {name: text for name, text in contents.items() if "&" not in text and "<" not in text}
        self._prefixes: dict[str, str] = {}
        self._link_count = 0
        self._unit_name = ""
        """The name of the element whose text is being collected; empty between such elements."""
        self._text = InlineText()
        self._baseline: str | None = None
        """The `y` of the last line of an SVG text."""
        for comment in reversed(list(root.itersiblings(etree.Comment, preceding=True))):
            self._read_comment(comment)
        self._read(root, None)
        for comment in root.itersiblings(etree.Comment):
            self._read_comment(comment)

    def blocks(self) -> Iterator[Block]:
        """Yield all blocks in order. The target of a link without a text is skipped, unless it has an ARK or ``://``."""
        shown_links = {anchor.link for block in self._blocks for anchor in block.anchors}
        for block in self._blocks:
            if block.link is None or block.link in shown_links:
                yield block
            elif may_hold_ark(block.text) or "://" in block.text:
                yield replace(block, link=None)

    def _read(self, element: Element, link: int | None) -> None:
        """Add the texts and links of *element*; *link* is the number of the link around it, or None."""
        text = self._text
        name = local_name(element.tag)
        own_link = self._read_attributes(element)
        outer_unit = self._unit_name
        opens_unit = not outer_unit or name in _SEPARATE_ELEMENTS
        if opens_unit:
            self._end_block()
            self._unit_name = name if name == _IDML_RANGE or _has_own_text(element) else ""
        if name not in _WITHOUT_EDGES:
            text.begin_element()
        inner_link = None if name in _NOTES else link if own_link is None else own_link
        if inner_link != link:
            text.set_link(inner_link)
        is_break = name in _LINE_BREAKS and element.get("break") != "no"
        if name in _SVG_TEXT_ELEMENTS:  # a piece of an SVG text on another line than the piece before it
            previous_baseline, self._baseline = self._baseline, element.get("y", self._baseline)
            is_break = self._baseline != previous_baseline or element.get("dy", "").strip("0.") != ""
        if is_break:
            text.break_line()
        elif name == _IDML_PARAGRAPH_END and self._unit_name == _IDML_RANGE:
            self._end_block()
        if self._unit_name != _IDML_RANGE or name == _IDML_TEXT:
            text.write(element.text or "")
        for child in element:
            if not has_time(ReadingStage.READING, "the document was not read to its end"):
                break
            if child.tag is etree.Entity:
                text.write(self._entities.get(child.name) or html.unescape(child.text))
            elif child.tag is etree.Comment:
                self._read_comment(child)
            elif local_name(child.tag) in _ASIDE_ELEMENTS and child.get("ChangeType", "DeletedText") == "DeletedText":
                self._read_aside(child)
            else:
                self._read(child, inner_link)
            if self._unit_name != _IDML_RANGE or name == _IDML_TEXT:
                text.write(child.tail or "")
        if opens_unit:
            self._end_block()
            self._unit_name = outer_unit
        if name not in _WITHOUT_EDGES:
            text.end_element()
        if inner_link != link:
            text.set_link(link)

    def _read_aside(self, element: Element) -> None:
        """Add the texts of *element* as separate blocks; the text around it continues after it as one block."""
        outer_text, outer_unit = self._text, self._unit_name
        outer_text.add_edge()
        self._text, self._unit_name = InlineText(), ""
        self._read(element, None)
        self._text, self._unit_name = outer_text, outer_unit

    def _read_comment(self, comment: Element) -> None:
        """Add the text of an XML *comment* as a block if it may hold an ARK."""
        text = comment.text or ""
        if may_hold_ark(text):
            self._blocks.append(Block(text, place="comment"))

    def _end_block(self) -> None:
        name = self._unit_name.lower()
        block = self._text.block(self._unit_name, Role.METADATA if name in _IDENTIFIERS_ALONE else Role.TEXT)
        if block is None:
            return
        self._blocks.append(block)
        if name in _TITLES and not self.title:
            self.title = " ".join(block.text.split())

    def _read_attributes(self, element: Element) -> int | None:
        """Add attributes with targets or ARKs; return the number of the link around the text of *element*, or None."""
        link = None
        if len(element.attrib) < _MANY_ATTRIBUTES:
            attributes = element.attrib.items()
        else:  # the list of lxml would take quadratic time
            attributes = [(value.attrname, str(value)) for value in _ALL_ATTRIBUTES(element)]
        for qualified_name, value in attributes:
            name = local_name(qualified_name).lower()
            if qualified_name.startswith(f"{{{_SCHEMA_INSTANCE}}}"):
                continue
            is_target = name in _LINK_ATTRIBUTES
            document_targets = list(filter(_is_document_target, value.split())) if is_target else []
            self.targets += document_targets  # TEI: several targets, one attribute
            has_url_or_ark = may_hold_ark(value) or "://" in value
            if not has_url_or_ark and not document_targets:
                continue
            if is_target and link is None:
                link, self._link_count = self._link_count, self._link_count + 1
            location = f"{self._written_name(element, element.tag)}/@{self._written_name(element, qualified_name)}"
            role = Role.LINK_TARGET if is_target else Role.METADATA
            self._blocks.append(Block(value, role, place=location, link=link if is_target else None))
        return link

    def _written_name(self, element: Element, qualified_name: str) -> str:
        """Return *qualified_name*, of *element* or its attribute, as the document has it: ``xlink:href``."""
        namespace, _, local = qualified_name.rpartition("}")
        if qualified_name == element.tag:
            prefix = element.prefix
        elif namespace:
            if namespace not in self._prefixes:  # an element may declare thousands, and have as many attributes
                self._prefixes |= {f"{{{uri}": prefix for prefix, uri in element.nsmap.items() if prefix}
            prefix = self._prefixes.get(namespace)
        else:
            prefix = None
        return f"{prefix}:{local}" if prefix else local


def _is_document_target(target: str) -> bool:
    """Return True if *target* leads to a document on the web, or is a relative path with the suffix of a document.

    >>> list(filter(_is_document_target, ["https://a.org/x", "b.html#c", "#d", "page12", "viaf:5"]))
    ['https://a.org/x', 'b.html#c']
    """
    return leads_to_document(target) and (is_web_url(target) or _DOCUMENT_NAME.search(target) is not None)


def _has_own_text(element: Element) -> bool:
    """Return True if *element* has text outside of its children."""
    pieces = [element.text]
    for child in element:
        pieces.append(child.tail)
        is_inline = isinstance(child.tag, str) and local_name(child.tag) in _INLINE_ELEMENTS
        if child.tag is etree.Entity or (is_inline and element.tag != _WRAPPER):
            pieces.append(child.text)
    return any(piece and not piece.isspace() for piece in pieces)
