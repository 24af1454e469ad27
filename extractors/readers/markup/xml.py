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
from extractors.readers.running_text import TextRun

Element: TypeAlias = Any
"""An `lxml.etree._Element`; its published types are those of lxml 4, with bytes for text and no entities."""


@lru_cache(maxsize=1024)  # a document has few names, and each many times
def local_name(qualified: str) -> str:
    """Return the name without its namespace, or without an unbound prefix.

    >>> local_name("{http://www.w3.org/1999/xlink}href"), local_name("dc:identifier")
    ('href', 'identifier')
    """
    return qualified.rpartition("}")[2].rpartition(":")[2]


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
_APART = _IDENTIFIERS | frozenset(
    """
    ParagraphStyleRange ab caption cell def div entry figdesc figure fn footnote head item l lg list listitem note p
    para row sec section sup superscript table td th tr
    """.split()  # noqa: SIM905
)
#: Elements outside of a link even inside its element.
_NOTES = frozenset({"fn", "footnote", "note"})
#: Elements that are no part of the text around them, which continues: notes, hidden and deleted text of IDML, and the
#: running heads of TEI.
_ASIDE = frozenset({"Change", "HiddenText", "Note", "fw"})
#: Elements for the appearance of text; adjacent ones form one text.
_INLINE = frozenset(
    "b bold em emph hi highlight i italic rend sc span strong style tspan u underline".split()  # noqa: SIM905
)
#: Adobe's IDML and ICML: a range of paragraphs of one style. Its text is in `Content` elements, its paragraphs end with
#: `Br`, and blanks between elements have no meaning.
_IDML_RANGE, _IDML_TEXT, _IDML_PARAGRAPH_END = "ParagraphStyleRange", "Content", "Br"
#: Elements that neither begin nor end in a visible way.
_WITHOUT_EDGES = frozenset({"Change", "wbr", _IDML_TEXT})
#: Texts and pieces of texts in SVG, which have positions instead of lines.
_PLACED = frozenset({"text", "tspan"})
_LINE_BREAKS = frozenset({"br", "break", "cb", "lb", "pb"})
_TITLES = frozenset({"article-title", "title", "titleproper"})
_LINK_ATTRIBUTES = frozenset({"destinationurl", "facs", "href", "instanceurl", "ref", "src", "target", "uri", "url"})

#: The root elements of text that a program recognized in pictures: ALTO, PAGE XML and ABBYY's XML. Their elements are
#: lines, words or characters, so a value may be a part of an ARK.
_RECOGNIZED = re.compile(r"(?:\{.*\})?(?:alto|PcGts)\Z|\{http://www\.abbyy\.com/FineReader_xml/")

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
_WRAPPED, _WRAPPER = b"%b<fragment>%b</fragment>", "fragment"
_DOCUMENT_NAME = re.compile(r"\.(?:x?html?|pdf|txt|xml)(?:[?#]|\Z)", re.IGNORECASE)


def read_xml(data: bytes) -> Reading:
    """Return the text of every element with text, identifiers, and attributes with a URL or an ARK.

    >>> reading = read_xml(b"<TEI><idno>ark:/12345/x5</idno><p>See <hi>ark:/</hi>12345/x6<lb/>now</p></TEI>")
    >>> [(block.role.value, block.place, block.text) for block in reading.blocks]
    [('metadata', 'idno', 'ark:/12345/x5'), ('text', 'p', 'See ark:/12345/x6\\nnow')]
    """
    data, cut = first_bytes(data, MOST_BYTES)
    if len(data) > MOST_TAGS and data.count(b"<") > MOST_TAGS:
        data = b"<".join(data.split(b"<", MOST_TAGS)[:MOST_TAGS])
        cut = cut or [Finding("cut-off", f"not read beyond tag {MOST_TAGS}")]
    source = without_surrogates(_BLANKS_BEFORE_MARKUP.sub(b"", _whole_words(data)))
    root, parser = _parse(source)
    fragment = _FRAGMENT.match(source) if parser.error_log else None  # an undeclared prefix hides the fault
    if fragment:
        root_of_all, wrapped_parser = _parse(_WRAPPED % (fragment[0], source[fragment.end() :]))
        if root_of_all is not None and len(root_of_all.findall("*")) > 1:
            root, parser = root_of_all, wrapped_parser
    findings = tuple(cut) or faults_of(parser)  # truncated XML is malformed, too
    if root is None:
        decoded = decode(data)
        text = (Block(decoded.text),) if decoded.text.strip() else ()
        return Reading(MEDIA_TYPE, text, findings=findings + decoded.findings)
    document = _Document(root)
    links = tuple(dict.fromkeys(document.targets))
    blocks: tuple[Block, ...] = tuple(document.blocks())
    if _RECOGNIZED.match(root.tag):
        blocks = tuple(replace(block, is_recognized=True) for block in blocks)
        findings += (Finding("unreadable-part", "recognized text is read by element; convert it to PDF or plain text"),)
    return Reading(MEDIA_TYPE, blocks, links, root.get(_XML_BASE), document.title, findings)


def _parse(source: bytes) -> tuple[Element | None, etree.XMLParser]:
    """Return the root element, or None if there is none, and the parser with its error log."""
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
    """Return *data* without the incomplete word or tag at its end: half an ARK is a wrong ARK.

    A whole document ends with a tag. Markup inside a word doesn't divide it.

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
        if tag is None or tag["name"].decode("ascii").lower() in _APART | _LINE_BREAKS:
            return data[: len(data) - len(tail) + end]
        end = tag.start()


def faults_of(parser: etree.XMLParser) -> tuple[Finding, ...]:
    """Return a finding about the limit that cut the document short, or the first fault; empty if there is neither."""
    faults = [entry for entry in parser.error_log if entry.level == etree.ErrorLevels.FATAL]
    limits = [entry for entry in faults if entry.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT]
    if limits:
        return (Finding("cut-off", f"not read beyond line {limits[0].line}: {limits[0].message}"),)
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
        self._links = 0
        self._unit = ""
        """The element whose text is being collected; empty between such elements."""
        self._run = TextRun()
        self._baseline: str | None = None
        """The `y` of the last line of an SVG text."""
        for before in reversed(list(root.itersiblings(etree.Comment, preceding=True))):
            self._read_comment(before)
        self._read(root, None)
        for after in root.itersiblings(etree.Comment):
            self._read_comment(after)

    def blocks(self) -> Iterator[Block]:
        """Yield all blocks in order. Targets without a link text are skipped if they only name a file."""
        shown = {anchor.link for block in self._blocks for anchor in block.anchors}
        for block in self._blocks:
            if block.link is None or block.link in shown:
                yield block
            elif may_hold_ark(block.text) or "://" in block.text:
                yield replace(block, link=None)

    def _read(self, element: Element, link: int | None) -> None:
        """Read *element*, inside the link *link* if it is not None."""
        run = self._run
        name = local_name(element.tag)
        own_link = self._read_attributes(element)
        outer_unit = self._unit
        opens_unit = not outer_unit or name in _APART
        if opens_unit:
            self._end_run()
            self._unit = name if name == _IDML_RANGE or _has_own_text(element) else ""
        if name not in _WITHOUT_EDGES:
            run.begin_element()
        inner_link = None if name in _NOTES else link if own_link is None else own_link
        if inner_link != link:
            run.link(inner_link)
        is_break = name in _LINE_BREAKS and element.get("break") != "no"
        if name in _PLACED:  # a piece of an SVG text on another line than the piece before it
            before, self._baseline = self._baseline, element.get("y", self._baseline)
            is_break = self._baseline != before or element.get("dy", "").strip("0.") != ""
        if is_break:
            run.break_line()
        elif name == _IDML_PARAGRAPH_END and self._unit == _IDML_RANGE:
            self._end_run()
        if self._unit != _IDML_RANGE or name == _IDML_TEXT:
            run.write(element.text or "")
        for child in element:
            if not has_time(ReadingStage.READING, "the document was not read to its end"):
                break
            if child.tag is etree.Entity:
                run.write(self._entities.get(child.name) or html.unescape(child.text))
            elif child.tag is etree.Comment:
                self._read_comment(child)
            elif local_name(child.tag) in _ASIDE and child.get("ChangeType", "DeletedText") == "DeletedText":
                self._read_aside(child)
            else:
                self._read(child, inner_link)
            if self._unit != _IDML_RANGE or name == _IDML_TEXT:
                run.write(child.tail or "")
        if opens_unit:
            self._end_run()
            self._unit = outer_unit
        if name not in _WITHOUT_EDGES:
            run.end_element()
        if inner_link != link:
            run.link(link)

    def _read_aside(self, element: Element) -> None:
        """Read *element* apart from the text around it."""
        around, unit = self._run, self._unit
        around.add_edge()
        self._run, self._unit = TextRun(), ""
        self._read(element, None)
        self._run, self._unit = around, unit

    def _read_comment(self, comment: Element) -> None:
        """Read an editor's comment, which is not part of the surrounding sentence."""
        text = comment.text or ""
        if may_hold_ark(text):
            self._blocks.append(Block(text, place="comment"))

    def _end_run(self) -> None:
        name = self._unit.lower()
        block = self._run.block(self._unit, Role.METADATA if name in _IDENTIFIERS_ALONE else Role.TEXT)
        if block is None:
            return
        self._blocks.append(block)
        if name in _TITLES and not self.title:
            self.title = " ".join(block.text.split())

    def _read_attributes(self, element: Element) -> int | None:
        """Read the attributes; return the number of the link that they make of the element's text, or None."""
        link = None
        if len(element.attrib) < _MANY_ATTRIBUTES:
            attributes = element.attrib.items()
        else:  # the list of lxml would take quadratic time
            attributes = [(value.attrname, str(value)) for value in _ALL_ATTRIBUTES(element)]
        for qualified, value in attributes:
            name = local_name(qualified).lower()
            if qualified.startswith(f"{{{_SCHEMA_INSTANCE}}}"):
                continue
            is_target = name in _LINK_ATTRIBUTES
            documents = list(filter(_names_document, value.split())) if is_target else []
            self.targets += documents  # TEI: several targets, one attribute
            is_telling = may_hold_ark(value) or "://" in value
            if not is_telling and not documents:
                continue
            if is_target and link is None:
                link, self._links = self._links, self._links + 1
            location = f"{self._written_name(element, element.tag)}/@{self._written_name(element, qualified)}"
            role = Role.LINK_TARGET if is_target else Role.METADATA
            self._blocks.append(Block(value, role, place=location, link=link if is_target else None))
        return link

    def _written_name(self, element: Element, qualified: str) -> str:
        """Return the name as written in the document, with its prefix if it has one: ``xlink:href``."""
        namespace, _, local = qualified.rpartition("}")
        if qualified == element.tag:
            prefix = element.prefix
        elif namespace:
            if namespace not in self._prefixes:  # an element may declare thousands, and have as many attributes
                self._prefixes |= {f"{{{uri}": prefix for prefix, uri in element.nsmap.items() if prefix}
            prefix = self._prefixes.get(namespace)
        else:
            prefix = None
        return f"{prefix}:{local}" if prefix else local


def _names_document(target: str) -> bool:
    """Return True if a target leads to a document on the web, or next to this one.

    >>> list(filter(_names_document, ["https://a.org/x", "b.html#c", "#d", "page12", "viaf:5"]))
    ['https://a.org/x', 'b.html#c']
    """
    return leads_to_document(target) and (is_web_url(target) or _DOCUMENT_NAME.search(target) is not None)


def _has_own_text(element: Element) -> bool:
    """Return True if *element* has text outside of its children."""
    pieces = [element.text]
    for child in element:
        pieces.append(child.tail)
        is_inline = isinstance(child.tag, str) and local_name(child.tag) in _INLINE
        if child.tag is etree.Entity or (is_inline and element.tag != _WRAPPER):
            pieces.append(child.text)
    return any(piece and not piece.isspace() for piece in pieces)
