"""EPUB 2 and 3: the metadata of the package document, then its chapters in the order of the spine.

Its parts are XHTML, left to `extractors.readers.markup.html`. EbookLib, the library there is, is under the AGPL.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from urllib.parse import unquote

from extractors.mentions.label_spellings import may_hold_ark
from extractors.model.documents import Anchor, Block, Finding, Reading, Role
from extractors.readers.markup.html import read_html
from extractors.readers.office.opc import natural_order
from extractors.readers.office.package import NEEDS_PASSWORD, Package, shown
from extractors.readers.office.xml_events import EventTarget, Leaves, by_local_name, local_name

MEDIA_TYPE = "application/epub+zip"

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_CHAPTER_SUFFIXES = (".xhtml", ".html", ".htm", ".xht")
_CHAPTER_TYPES = frozenset({"application/xhtml+xml", "text/html", "text/x-oeb1-document"})
_NCX_TYPE = "application/x-dtbncx+xml"
#: Fonts are garbled by these algorithms so that no one takes them out of the book; it stays readable.
_FONT_ALGORITHMS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_MOST_ITEMS = 10_000
_MOST_BLOCKS = 1_000_000


def read_epub(data: bytes) -> Reading:
    """Metadata, chapters in reading order, and what else of the book is text. Never raises, whatever the bytes.

    >>> read_epub(b"PK no such thing").findings
    (Finding(kind='unreadable', detail='it is no ZIP archive, or damaged beyond repair'),)
    """
    package = Package(data)
    encrypted = _encrypted_members(package)
    book = _Book(package, encrypted)
    rootfiles = _rootfiles(package)
    for rootfile in rootfiles:
        book.read_package_document(rootfile)
    if package.names and not rootfiles:
        package.note(Finding("unreadable", "no package document says what belongs to it; all its pages were read"))
    for name in sorted(package.names, key=natural_order):
        if name.lower().endswith(_CHAPTER_SUFFIXES):
            book.read_chapter(name)
    return book.reading()


class _Book:
    """A book as far as it was read: no member twice, and the links of all chapters, kept distinct."""

    def __init__(self, package: Package, encrypted: set[str]) -> None:
        self._package = package
        self._encrypted = encrypted
        self._names = {name.lower(): name for name in package.names}
        self._done: set[str] = set()
        self._blocks: list[Block] = []
        self._targets: dict[str, None] = {}
        self._links = 0
        self._title = ""

    def read_package_document(self, name: str) -> None:
        """The metadata of a package document, then what its spine and its manifest list."""
        document = _PackageDocument()
        self._package.parse(name, document)
        for leaf in document.metadata:
            self._add([Block(leaf.text, Role.METADATA, place=f"opf/{leaf.place}")])
            if leaf.place == "title" and not self._title:
                self._title = " ".join(leaf.text.split())
        folder = posixpath.dirname(name)
        spine = (document.items[item_id] for item_id in document.spine if item_id in document.items)
        for item in chain(spine, document.items.values()):
            member = self._member(folder, item.href)
            if item.media_type in _CHAPTER_TYPES:
                self.read_chapter(member)
            elif item.media_type == _NCX_TYPE:
                self._read_contents(member)

    def read_chapter(self, name: str) -> None:
        """One XHTML page, if there is one of that name that wasn't read."""
        if not self._begin(name):
            return
        reading = read_html(self._package.read(name))
        self._package.note(
            *(replace(finding, detail=f"{shown(name)}: {finding.detail}") for finding in reading.findings)
        )
        self._add(_renumbered(reading.blocks, name, self._links))
        self._links += 1 + max(_link_numbers(reading.blocks), default=0)
        self._targets |= dict.fromkeys(link for link in reading.links if _is_on_the_web(link))

    def reading(self) -> Reading:
        """All of it."""
        findings = tuple(self._package.findings)
        return Reading(MEDIA_TYPE, tuple(self._blocks), tuple(self._targets), title=self._title, findings=findings)

    def _read_contents(self, name: str) -> None:
        """The table of contents of EPUB 2, whose headings repeat those of the chapters."""
        if self._begin(name):
            leaves = Leaves()
            self._package.parse(name, leaves)
            self._add(Block(leaf.text, place=f"{name}/{leaf.name}") for leaf in leaves.found)

    def _begin(self, name: str) -> bool:
        if name not in self._package or name in self._done:
            return False
        self._done.add(name)
        if name in self._encrypted:
            self._package.note(NEEDS_PASSWORD)
            return False
        return True

    def _add(self, blocks: Iterator[Block] | list[Block]) -> None:
        for block in blocks:
            if len(self._blocks) >= _MOST_BLOCKS:
                self._package.note(Finding("cut-off", f"only the first {_MOST_BLOCKS} pieces of text were kept"))
                return
            self._blocks.append(block)

    def _member(self, folder: str, href: str) -> str:
        """The member that a manifest means: relative to it, percent-encoded, and often in the wrong case."""
        path = posixpath.normpath(posixpath.join("/", folder, unquote(href.partition("#")[0]))).lstrip("/")
        return path if path in self._package else self._names.get(path.lower(), path)


def _link_numbers(blocks: tuple[Block, ...]) -> Iterator[int]:
    """Those by which targets and texts of a chapter know their links."""
    for block in blocks:
        if block.link is not None:
            yield block.link
        yield from (anchor.link for anchor in block.anchors)


def _renumbered(blocks: tuple[Block, ...], chapter: str, links_before: int) -> Iterator[Block]:
    """The blocks of a chapter as those of the book."""
    for block in blocks:
        anchors = tuple(Anchor(anchor.start, anchor.end, anchor.link + links_before) for anchor in block.anchors)
        link = None if block.link is None else block.link + links_before
        yield replace(block, place=f"{chapter}/{block.place}", link=link, anchors=anchors)


def _is_on_the_web(target: str) -> bool:
    """Return whether a link leads out of the book.

    >>> _is_on_the_web("https://n2t.net/ark:12148/x5"), _is_on_the_web("chapter2.xhtml#p3")
    (True, False)
    """
    return target.strip().lower().startswith(("http://", "https://"))


def _rootfiles(package: Package) -> list[str]:
    """The package documents by the container file; without one, those that there are."""
    container = _Container()
    package.parse(_CONTAINER, container)
    listed = [name for name in dict.fromkeys(container.rootfiles) if name in package]
    return listed or [name for name in package.names if name.lower().endswith(".opf")]


def _encrypted_members(package: Package) -> set[str]:
    """The members that no one can read without a key."""
    encryption = _Encryption()
    package.parse(_ENCRYPTION, encryption)
    return encryption.found


@dataclass(frozen=True, slots=True)
class _Metadatum:
    text: str
    place: str


@dataclass(frozen=True, slots=True)
class _Item:
    """An entry of the manifest."""

    href: str
    media_type: str


@dataclass(slots=True)
class _PackageDocument(EventTarget):
    """Takes the events of a package document."""

    metadata: list[_Metadatum] = field(default_factory=list)
    items: dict[str, _Item] = field(default_factory=dict)
    spine: list[str] = field(default_factory=list)
    _is_metadata: bool = False
    _text: list[str] = field(default_factory=list)
    _property: str = ""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element begins."""
        name, named = local_name(tag), by_local_name(attributes)
        self._text.clear()
        if name == "metadata":
            self._is_metadata = True
        elif name == "item" and len(self.items) < _MOST_ITEMS:
            self.items.setdefault(named.get("id", ""), _Item(named.get("href", ""), named.get("media-type", "")))
        elif name == "itemref" and len(self.spine) < _MOST_ITEMS:
            self.spine.append(named.get("idref", ""))
        elif self._is_metadata:
            self._property = named.get("property", "")
            self._keep(named.get("content", ""), named.get("name", name))
            if may_hold_ark(named.get("href", "")):
                self._keep(named["href"], name)

    def data(self, text: str) -> None:
        """Text, in pieces as the parser likes."""
        if self._is_metadata:
            self._text.append(text)

    def end(self, tag: str) -> None:
        """An element ends."""
        name = local_name(tag)
        if name == "metadata":
            self._is_metadata = False
        elif self._is_metadata:
            self._keep("".join(self._text).strip(), self._property or name)
        self._text.clear()

    def _keep(self, value: str, location: str) -> None:
        if value.strip() and len(self.metadata) < _MOST_ITEMS:
            self.metadata.append(_Metadatum(value, location))


@dataclass(slots=True)
class _Container(EventTarget):
    """Takes the events of the container file: where the package documents are."""

    rootfiles: list[str] = field(default_factory=list)

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """A root file has no content: all of it is in its attributes."""
        if local_name(tag) == "rootfile" and len(self.rootfiles) < _MOST_ITEMS:
            self.rootfiles.append(unquote(by_local_name(attributes).get("full-path", "")).lstrip("/"))


@dataclass(slots=True)
class _Encryption(EventTarget):
    """Takes the events of the encryption file: which members are encrypted, fonts apart."""

    found: set[str] = field(default_factory=set)
    _algorithm: str = ""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element begins: in each entry the method is before the member."""
        name = local_name(tag)
        if name == "EncryptedData":
            self._algorithm = ""
        elif name == "EncryptionMethod" and not self._algorithm:
            self._algorithm = attributes.get("Algorithm", "")
        elif name == "CipherReference" and self._algorithm not in _FONT_ALGORITHMS:
            self.found.add(unquote(attributes.get("URI", "")).lstrip("/"))
