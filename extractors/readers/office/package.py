"""Packages, the ZIP archives of XML in office documents and e-books, read member by member within limits.

`zipfile` reads the archive; `extractors.archives` limits its directory and the decompressed bytes.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any
from urllib.parse import unquote
from zipfile import ZipInfo

from lxml import etree

from extractors.archives.compression import Lookahead, SizeBudget
from extractors.archives.stored_files import open_member, open_zip
from extractors.model.decoding import without_surrogates
from extractors.model.documents import Finding
from extractors.readers.markup.xml import faults_of, local_name

# XML as events, for formats with a known vocabulary: without a tree, a part of any size takes little memory.

#: The tag of the first element, after NULs are removed, because a part may be in UTF-16.
_ROOT = re.compile(rb"<(?:[\w.-]+:)?([A-Za-z][\w.-]*)[\s/>]")
_MOST_ELEMENTS = 200_000


class EnoughRead(Exception):
    """Raised by an `EventTarget` to end the parsing early; the caller of the XML parser catches the exception."""


class EventTarget:
    """A target for the events of an XML parser; subclasses override the methods, which do nothing here."""

    __slots__ = ()

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Begin an element."""

    def data(self, text: str) -> None:
        """Read a piece of text."""

    def end(self, tag: str) -> None:
        """End an element; in damaged markup, some elements never end."""

    def close(self) -> None:
        """End the document."""


def send_events(data: bytes, target: EventTarget) -> tuple[Finding, ...]:
    """Parse the XML *data*, send its events to *target*, and return findings about faults.

    >>> elements = _Elements()
    >>> send_events(b"<a><b>1</b><c>2</c>", elements)
    (Finding(kind='malformed-markup', detail='line 1: Premature end of data in tag a line 1'),)
    >>> [(element.name, element.text) for element in elements.elements]
    [('a', ''), ('b', '1'), ('c', '2')]
    """
    # lxml's published types are those of version 4, so these two are untyped.
    untyped_target: Any = target
    # Otherwise, entities in attributes would stay as written, and even "&amp;" would become "&#38;".
    internal_only: Any = "internal"
    # The source may be hostile: no external entities, and libxml2's own limits on depth, length and amplification.
    parser = etree.XMLParser(
        target=untyped_target,
        resolve_entities=internal_only,
        no_network=True,
        huge_tree=False,
        recover=True,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        etree.fromstring(without_surrogates(data), parser)
    except (etree.XMLSyntaxError, EnoughRead):
        target.close()
    return faults_of(parser)


def by_local_name(attributes: Mapping[str, str]) -> dict[str, str]:
    """Return the attributes by local name: namespaces differ between the editions of a format."""
    return {local_name(name): value for name, value in attributes.items()}


def root_name(head: bytes) -> str:
    """Return the local name of the root element in *head*, the first bytes of an XML part; empty if it has none.

    >>> root_name(b"<?xml version='1.0'?><!-- x --><w:hdr xmlns:w='...'>")
    'hdr'
    """
    root = _ROOT.search(head.replace(b"\0", b""))
    return root[1].decode("ascii", "replace") if root else ""


@dataclass(slots=True)
class XmlElement:
    """An XML element of a part that fits in memory."""

    name: str
    """The local name."""
    attributes: Mapping[str, str]
    """By local name."""
    parent: XmlElement | None
    pieces: list[str] = field(default_factory=list)
    is_leaf: bool = True

    @property
    def text(self) -> str:
        """Its text, without the blanks around it; empty if it has child elements."""
        return "".join(self.pieces).strip() if self.is_leaf else ""


class _Elements(EventTarget):
    """Collects all elements in document order."""

    def __init__(self) -> None:
        self.elements: list[XmlElement] = []
        self._open_elements: list[XmlElement] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Begin an element; its parent is not a leaf."""
        if len(self.elements) >= _MOST_ELEMENTS:
            raise EnoughRead
        parent = self._open_elements[-1] if self._open_elements else None
        if parent is not None:
            parent.is_leaf = False
        self._open_elements.append(XmlElement(local_name(tag), by_local_name(attributes), parent))
        self.elements.append(self._open_elements[-1])

    def data(self, text: str) -> None:
        """Read a piece of text."""
        if self._open_elements:
            self._open_elements[-1].pieces.append(text)

    def end(self, tag: str) -> None:
        """End an element."""
        if self._open_elements:
            self._open_elements.pop()


# The members of a package.

MOST_MEMBER_BYTES = 64 * 2**20
MOST_BYTES = 256 * 2**20
"""Maximum for all members together, decompressed."""

#: Maximum number of findings about one package.
_MOST_FINDINGS = 50
_HEAD_BYTES = 4096

NEEDS_PASSWORD = Finding("encrypted", "it asks for a password")


class Package:
    """The members of an archive by name, with findings about damage. Never raises for damage.

    >>> Package(b"no such thing").findings
    [Finding(kind='unreadable', detail='not a ZIP archive, or damaged beyond repair')]
    """

    def __init__(self, data: bytes) -> None:
        self.findings: list[Finding] = []
        self._bytes_left = MOST_BYTES
        self.members: dict[str, ZipInfo] = {}
        """The members by name, in storage order."""
        self._archive = open_zip(BytesIO(data))
        if self._archive is None:
            self.add_findings(Finding("unreadable", "not a ZIP archive, or damaged beyond repair"))
            return
        for member in self._archive.infolist():
            name = _member_name(member.filename)
            if name in self.members:
                self.add_findings(
                    Finding("duplicate-member", f"{printable_name(name)}: the last of this name was read")
                )
            self.members[name] = member

    def head(self, name: str) -> bytes:
        """Return the first bytes of a member; empty if they are missing or encrypted."""
        return self._content(name, _HEAD_BYTES)[0]

    def read(self, name: str) -> bytes:
        """Return the readable bytes of a member, and add findings about the rest; empty for a missing member."""
        limit = min(MOST_MEMBER_BYTES, self._bytes_left)
        if not limit:
            self.add_findings(Finding("cut-off", f"its members were not read beyond {MOST_BYTES} bytes"))
            return b""
        content, finding = self._content(name, limit)
        if name in self.members:
            # A member that decompresses to nothing still costs its stored bytes.
            self._bytes_left -= min(max(len(content), self.members[name].compress_size), limit)
        if finding is not None:
            self.add_findings(finding)
        return content

    def parse(self, name: str, target: EventTarget) -> None:
        """Send the events of the XML member *name* to *target*; add findings about its faults."""
        data = self.read(name)
        if not data:
            target.close()
            return
        for fault in send_events(data, target):
            self.add_findings(Finding(fault.kind, f"{printable_name(name)}: {fault.detail}"))

    def elements(self, name: str) -> list[XmlElement]:
        """Return the elements of the XML member *name*, in document order, up to a limit."""
        elements = _Elements()
        self.parse(name, elements)
        return elements.elements

    def add_findings(self, *findings: Finding) -> None:
        """Add findings about the package or its members, without duplicates, up to a limit."""
        for finding in findings:
            if len(self.findings) < _MOST_FINDINGS and finding not in self.findings:
                self.findings.append(finding)

    def _content(self, name: str, limit: int) -> tuple[bytes, Finding | None]:
        """Return the first *limit* bytes of a member, or those before damage, and a finding about the rest."""
        member = self.members.get(name)
        if self._archive is None or member is None:
            return b"", None
        member_file = open_member(self._archive, member, SizeBudget(limit + 1, 1))
        if isinstance(member_file, Finding):
            is_encrypted = member_file.kind == NEEDS_PASSWORD.kind
            damage_finding = Finding("unreadable-part", f"{printable_name(name)}: {member_file.detail}")
            return b"", NEEDS_PASSWORD if is_encrypted else damage_finding
        content = Lookahead(member_file).read(limit + 1)
        if len(content) > limit:
            return content[:limit], Finding(
                "cut-off", f"only the first {limit} bytes of {printable_name(name)} were read"
            )
        damage_finding = Finding("unreadable-part", f"{printable_name(name)}: {member_file.damage}")
        return content, damage_finding if member_file.damage else None


def _member_name(stored_name: str) -> str:
    r"""Return *stored_name* with slashes: some programs on Windows store ``word\document.xml``.

    >>> _member_name("word\\document.xml"), _member_name("/word/document.xml")
    ('word/document.xml', 'word/document.xml')
    """
    return stored_name.replace("\\", "/").lstrip("/")


def printable_name(name: str) -> str:
    r"""Return a member's name for a finding, with unsafe characters replaced.

    >>> printable_name("word/\x1bdocument.xml")
    'word/?document.xml'
    """
    return "".join(char if char.isprintable() else "?" for char in name[:100])


# Parts of a package and their relations (ECMA-376, part 2).

_DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation from a part to another one, or to a URL outside of the package."""

    target: str
    """As written if external, else the name of a member."""
    is_external: bool
    kind: str
    """The last segment of its type: ``hyperlink``, ``image``, ``attachedTemplate`` …"""


def member_path(folder: str, reference: str) -> str:
    """Return the name of the member that *reference*, a relative URL in a part in *folder*, refers to.

    >>> member_path("word", "../media/a%20b.png"), member_path("word", "/customXml/item1.xml")
    ('media/a b.png', 'customXml/item1.xml')
    """
    return posixpath.normpath(posixpath.join("/", folder, unquote(reference))).lstrip("/")


def relations_of(package: Package, part: str) -> Mapping[str, Relation]:
    """Return the relations of the member *part* by their ids."""
    folder, name = posixpath.split(part)
    relations: dict[str, Relation] = {}
    for element in package.elements(posixpath.join(folder, "_rels", f"{name}.rels")):
        target = element.attributes.get("Target", "").strip()
        if element.name != "Relationship" or not target:
            continue
        kind = element.attributes.get("Type", "").rpartition("/")[2]
        is_external = element.attributes.get("TargetMode", "").lower() == "external" or kind == "hyperlink"
        if not is_external:
            target = member_path(folder, target)
        relations[element.attributes.get("Id", "")] = Relation(target, is_external, kind)
    return relations


def natural_order(name: str) -> tuple[tuple[int, str], ...]:
    """Return a sort key that puts ``slide10`` after ``slide9``.

    >>> sorted(["s10", "s9", "a"], key=natural_order)
    ['a', 's9', 's10']
    """
    pieces = enumerate(_DIGITS.split(name))
    return tuple((int(piece[:18]), piece) if index % 2 else (0, piece) for index, piece in pieces)


def trailing_number(name: str) -> str:
    """Return the last number in the file name of a part; empty if it has none.

    >>> trailing_number("word/header2.xml"), trailing_number("word/kopf.xml")
    ('2', '')
    """
    digits = _DIGITS.findall(posixpath.basename(name))
    return digits[-1] if digits else ""
