"""EPUB 2 and 3: the metadata of the package document, then its chapters in the order of the spine.

The chapters are read by `extractors.readers.markup.html`. The existing library, EbookLib, is under the AGPL.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import replace
from urllib.parse import unquote

from extractors.mentions.labels import may_hold_ark
from extractors.model.documents import Block, Finding, Reading, Role, as_part, links_of
from extractors.model.urls import is_web_url
from extractors.readers.markup.html import read_html
from extractors.readers.office.package import (
    NEEDS_PASSWORD,
    Package,
    XmlElement,
    member_path,
    natural_order,
    printable_name,
)

MEDIA_TYPE = "application/epub+zip"

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_CHAPTER_SUFFIXES = (".xhtml", ".html", ".htm", ".xht")
_CHAPTER_TYPES = frozenset({"application/xhtml+xml", "text/html", "text/x-oeb1-document"})
_NCX_TYPE = "application/x-dtbncx+xml"
#: Font obfuscation, which leaves the book readable.
_FONT_ALGORITHMS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_MOST_BLOCKS = 1_000_000


def read_epub(data: bytes) -> Reading:
    """Return metadata, chapters in reading order, and other text of a book. Never raises.

    >>> read_epub(b"PK no such thing").findings
    (Finding(kind='unreadable', detail='not a ZIP archive, or damaged beyond repair'),)
    """
    package = Package(data)
    book = _Book(package)
    # The package documents are listed in the container file; without one, they are all `.opf` members.
    listed = (element for element in package.elements(_CONTAINER) if element.name == "rootfile")
    paths = dict.fromkeys(unquote(element.attributes.get("full-path", "")).lstrip("/") for element in listed)
    rootfiles = [name for name in paths if name in package]
    rootfiles = rootfiles or [name for name in package.names if name.lower().endswith(".opf")]
    for rootfile in rootfiles:
        book.read_package_document(rootfile)
    if package.names and not rootfiles:
        package.note(Finding("unreadable", "it has no package document; all its pages were read"))
    for name in sorted(package.names, key=natural_order):
        if name.lower().endswith(_CHAPTER_SUFFIXES):
            book.read_chapter(name)
    return book.to_reading()


class _Book:
    """The content of a book; each member is read once, and link numbers are unique over all chapters."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self._encrypted: set[str] = set()
        algorithm = ""
        for element in package.elements(_ENCRYPTION):  # each entry has the method before the member
            if element.name == "EncryptedData":
                algorithm = ""
            elif element.name == "EncryptionMethod":
                algorithm = algorithm or element.attributes.get("Algorithm", "")
            elif element.name == "CipherReference" and algorithm not in _FONT_ALGORITHMS:
                self._encrypted.add(unquote(element.attributes.get("URI", "")).lstrip("/"))
        self._names = {name.lower(): name for name in package.names}
        self._done: set[str] = set()
        self._blocks: list[Block] = []
        self._targets: dict[str, None] = {}
        self._links = 0
        self._title = ""

    def read_package_document(self, name: str) -> None:
        """Read the metadata of a package document, then the members of its spine and manifest."""
        items: dict[str, Mapping[str, str]] = {}
        spine: list[str] = []
        metadata: set[int] = set()
        for element in self._package.elements(name):
            named = element.attributes
            if element.name == "metadata" or id(element.around) in metadata:
                metadata.add(id(element))
                self._read_metadata(element)
            elif element.name == "item":
                items.setdefault(named.get("id", ""), named)
            elif element.name == "itemref":
                spine.append(named.get("idref", ""))
        folder = posixpath.dirname(name)
        for item in (*(items[key] for key in spine if key in items), *items.values()):
            media_type = item.get("media-type", "")
            member = member_path(folder, item.get("href", "").partition("#")[0])
            if member not in self._package:  # the case of references is often wrong
                member = self._names.get(member.lower(), member)
            if media_type in _CHAPTER_TYPES:
                self.read_chapter(member)
            elif media_type == _NCX_TYPE and self._begin(member):  # in EPUB 2; repeats the headings of the chapters
                headings = (leaf for leaf in self._package.elements(member) if leaf.text)
                self._add(Block(heading.text, place=f"{member}/{heading.name}") for heading in headings)

    def _read_metadata(self, element: XmlElement) -> None:
        """Add the values of an element in the metadata: its text, and what its attributes name."""
        name, named = element.name, element.attributes
        href = named.get("href", "")
        values = (
            (named.get("name", name), named.get("content", "")),
            (name, href if may_hold_ark(href) else ""),
            (named.get("property", "") or name, element.text),
        )
        for place, value in values:
            if value.strip():
                self._add([Block(value, Role.METADATA, place=f"opf/{place}")])
                self._title = self._title or (" ".join(value.split()) if place == "title" else "")

    def read_chapter(self, name: str) -> None:
        """Read one XHTML page, if it exists and was not read yet."""
        if not self._begin(name):
            return
        reading = read_html(self._package.read(name))
        self._package.note(
            *(replace(finding, detail=f"{printable_name(name)}: {finding.detail}") for finding in reading.findings)
        )
        self._add(as_part(block, f"{name}/{block.place}", self._links) for block in reading.blocks)
        self._links += links_of(reading.blocks)
        self._targets |= dict.fromkeys(link for link in reading.links if is_web_url(link.strip()))

    def to_reading(self) -> Reading:
        """Return the content of the book."""
        findings = tuple(self._package.findings)
        return Reading(MEDIA_TYPE, tuple(self._blocks), tuple(self._targets), title=self._title, findings=findings)

    def _begin(self, name: str) -> bool:
        if name not in self._package or name in self._done:
            return False
        self._done.add(name)
        if name in self._encrypted:
            self._package.note(NEEDS_PASSWORD)
            return False
        return True

    def _add(self, blocks: Iterable[Block]) -> None:
        for block in blocks:
            if len(self._blocks) >= _MOST_BLOCKS:
                self._package.note(Finding("cut-off", f"only the first {_MOST_BLOCKS} pieces of text were kept"))
                return
            self._blocks.append(block)
