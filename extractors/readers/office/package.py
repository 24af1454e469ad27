"""Packages, the ZIP archives of XML in office documents and e-books, read member by member within limits.

`zipfile` only lists the members: it trusts the sizes that an archive declares, rejects a whole archive for a fault in
its directory, and decompresses some methods without a limit. `extractors.archives` decompresses the members.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from operator import attrgetter
from typing import Any
from urllib.parse import unquote
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipInfo

from lxml import etree

from extractors.archives.compression import CUT_OFF, Compression, Lookahead, SizeBudget
from extractors.archives.stored_files import (
    ENCRYPTED,
    LOCAL_HEADER,
    LOCAL_SIGNATURE,
    SIZE_FOLLOWS,
    ChecksumStream,
    zip_directory,
)
from extractors.model.documents import Finding
from extractors.readers.markup.xml import faults_of, local_name, without_surrogates

# XML as events, for formats with a known vocabulary: without a tree, a part of any size takes little memory.

#: The tag of the first element, after NULs are removed, because a part may be in UTF-16.
_ROOT = re.compile(rb"<(?:[\w.-]+:)?([A-Za-z][\w.-]*)[\s/>]")
_MOST_ELEMENTS = 200_000


class EnoughRead(Exception):
    """Raised by an `EventTarget` to end the parsing early; the caller of the XML parser catches the exception."""


class EventTarget:
    """A target for the events of a parser; this one ignores all of them."""

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
    """Parse *data*, send the events to *target*, and return findings about faults.

    >>> elements = _Elements()
    >>> send_events(b"<a><b>1</b><c>2</c>", elements)
    (Finding(kind='malformed-markup', detail='line 1: Premature end of data in tag a line 1'),)
    >>> [(element.name, element.text) for element in elements.begun]
    [('a', ''), ('b', '1'), ('c', '2')]
    """
    # lxml's published types are those of version 4, so these two are untyped.
    untyped: Any = target
    # Otherwise, entities in attributes would stay as written, and even "&amp;" would become "&#38;".
    internal: Any = "internal"
    # The source may be hostile: no external entities, and libxml2's own limits on depth, length and amplification.
    parser = etree.XMLParser(
        target=untyped,
        resolve_entities=internal,
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
    """Return the local name of the root element in the first bytes of a part; empty if there is none.

    >>> root_name(b"<?xml version='1.0'?><!-- x --><w:hdr xmlns:w='...'>")
    'hdr'
    """
    root = _ROOT.search(head.replace(b"\0", b""))
    return root[1].decode("ascii", "replace") if root else ""


@dataclass(slots=True)
class XmlElement:
    """An element of a small vocabulary, for parts that fit in memory."""

    name: str
    """The local name."""
    attributes: Mapping[str, str]
    """By local name."""
    around: XmlElement | None
    pieces: list[str] = field(default_factory=list)
    is_leaf: bool = True

    @property
    def text(self) -> str:
        """Its text, without the blanks around it, if it has no child elements."""
        return "".join(self.pieces).strip() if self.is_leaf else ""


class _Elements(EventTarget):
    """Collects all elements in document order."""

    def __init__(self) -> None:
        self.begun: list[XmlElement] = []
        self._open: list[XmlElement] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Begin an element; its parent is not a leaf."""
        if len(self.begun) >= _MOST_ELEMENTS:
            raise EnoughRead
        around = self._open[-1] if self._open else None
        if around is not None:
            around.is_leaf = False
        self._open.append(XmlElement(local_name(tag), by_local_name(attributes), around))
        self.begun.append(self._open[-1])

    def data(self, text: str) -> None:
        """Read a piece of text."""
        if self._open:
            self._open[-1].pieces.append(text)

    def end(self, tag: str) -> None:
        """End an element."""
        if self._open:
            self._open.pop()


# The members of a package.

MOST_MEMBERS = 10_000
MOST_MEMBER_BYTES = 64 * 2**20
MOST_BYTES = 256 * 2**20
"""Maximum for all members together, decompressed."""

#: Maximum number of findings about one package.
_MOST_FINDINGS = 50
_HEAD_BYTES = 4096

_DIRECTORY_ENTRY = b"PK\x01\x02"
_RECORD = re.compile(rb"PK(?:\x03\x04|\x07\x08|\x01\x02|\x05\x06)")
_COMPRESSIONS = {ZIP_STORED: Compression.NONE, ZIP_DEFLATED: Compression.DEFLATE}

NEEDS_PASSWORD = Finding("encrypted", "it asks for a password")


class Package:
    """The members of an archive by name, with findings about damage. Never raises for damage.

    >>> Package(b"no such thing").findings
    [Finding(kind='unreadable', detail='not a ZIP archive, or damaged beyond repair')]
    """

    def __init__(self, data: bytes) -> None:
        self.findings: list[Finding] = []
        self._data = data
        self._bytes_left = MOST_BYTES
        self._bounds: dict[str, int] = {}
        """The latest possible end of the compressed bytes of each member."""
        self._members = self._by_name(self._list_members())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all members, in storage order."""
        return tuple(self._members)

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def head(self, name: str) -> bytes:
        """Return the first bytes of a member; empty if they are missing or encrypted."""
        member = self._members.get(name)
        if member is None or member.flag_bits & ENCRYPTED:
            return b""
        return self._content(member, _HEAD_BYTES)[0]

    def read(self, name: str) -> bytes:
        """Return the readable bytes of a member, and note findings about the rest; empty for a missing member."""
        member = self._members.get(name)
        if member is None:
            return b""
        if member.flag_bits & ENCRYPTED:
            self.note(NEEDS_PASSWORD)
            return b""
        limit = min(MOST_MEMBER_BYTES, self._bytes_left)
        if not limit:
            self.note(Finding("cut-off", f"its members were not read beyond {MOST_BYTES} bytes"))
            return b""
        content, fault = self._content(member, limit + 1)
        # A member that decompresses to nothing still costs its stored bytes.
        self._bytes_left -= min(max(len(content), self._bounds[name] - member.header_offset), limit)
        if len(content) > limit:
            self.note(Finding("cut-off", f"only the first {limit} bytes of {printable_name(name)} were read"))
        elif fault:
            self.note(Finding("unreadable-part", f"{printable_name(name)}: {fault}"))
        return content[:limit]

    def parse(self, name: str, target: EventTarget) -> None:
        """Send the events of an XML member to *target*; note its faults as findings."""
        data = self.read(name)
        if data:
            faults = send_events(data, target)
            self.note(*(Finding(fault.kind, f"{printable_name(name)}: {fault.detail}") for fault in faults))

    def elements(self, name: str) -> list[XmlElement]:
        """Return the elements of an XML member with a small vocabulary, in document order."""
        elements = _Elements()
        self.parse(name, elements)
        return elements.begun

    def note(self, *findings: Finding) -> None:
        """Add findings about the package or its members, without duplicates, up to a limit."""
        for finding in findings:
            if len(self.findings) < _MOST_FINDINGS and finding not in self.findings:
                self.findings.append(finding)

    def _list_members(self) -> list[ZipInfo]:
        """Return the members by the directory, or by their local headers if it is damaged."""
        entries = self._data.count(_DIRECTORY_ENTRY)  # checked first, because `zipfile` makes an object of each
        if entries > MOST_MEMBERS:
            self.note(Finding("cut-off", f"only the first {MOST_MEMBERS} of about {entries} members were listed"))
        else:
            listed = zip_directory(BytesIO(self._data))
            # The directory must be that of the whole archive, not of an archive stored in it.
            if listed and min(member.header_offset for member in listed) <= self._data.find(LOCAL_SIGNATURE):
                return listed
        met = list(_members_by_headers(self._data))
        if not met:
            self.note(Finding("unreadable", "not a ZIP archive, or damaged beyond repair"))
        elif entries <= MOST_MEMBERS:
            self.note(Finding("unreadable", "its directory is damaged; its members were found one by one"))
        return met

    def _by_name(self, members: Iterable[ZipInfo]) -> dict[str, ZipInfo]:
        """Return the members by name, the last one of each name as in unzippers, without overlaps.

        Archive bombs overlap their members; without overlaps, reading all members takes time linear in the archive.
        """
        in_order: list[ZipInfo] = []
        for member in members:
            if member.header_offset >= 0 and self._data.startswith(LOCAL_SIGNATURE, member.header_offset):
                in_order.append(member)
            else:
                fault = f"{printable_name(_member_name(member.filename))}: missing at its declared place"
                self.note(Finding("unreadable-part", fault))
        in_order.sort(key=attrgetter("header_offset"))
        ends = [*(member.header_offset for member in in_order), len(self._data)][1:]
        by_name: dict[str, ZipInfo] = {}
        for member, end in zip(in_order, ends, strict=True):
            name = _member_name(member.filename)
            if member.header_offset == end:
                fault = f"{printable_name(name)}: it overlaps with another member"
                self.note(Finding("unreadable-part", fault))
                continue
            if name in by_name:
                fault = f"{printable_name(name)}: the last of this name was read"
                self.note(Finding("duplicate-member", fault))
            by_name[name], self._bounds[name] = member, end
        return by_name

    def _content(self, member: ZipInfo, limit: int) -> tuple[bytes, str]:
        """Return the first *limit* bytes of a member, or those before damage, and the damage or empty."""
        bound = self._bounds[_member_name(member.filename)]
        method, start = member.compress_type, member.header_offset + LOCAL_HEADER.size
        if start > bound:
            return b"", CUT_OFF
        if method not in _COMPRESSIONS:
            return b"", f"compression method {method} is not allowed in such a package"
        *_, name_bytes, extra_bytes = LOCAL_HEADER.unpack_from(self._data, member.header_offset)
        start += name_bytes + extra_bytes
        # Deflated data has an end of its own.
        end = min(start + member.compress_size, bound) if method == ZIP_STORED else bound
        packed = BytesIO(self._data[start:end])
        content = ChecksumStream(packed, _COMPRESSIONS[method], SizeBudget(limit, 1), member.CRC)
        return Lookahead(content).read(limit), content.damage


def _member_name(stored: str) -> str:
    r"""Return the name in the form of the formats: some writers on Windows store ``word\document.xml``.

    >>> _member_name("word\\document.xml"), _member_name("/word/document.xml")
    ('word/document.xml', 'word/document.xml')
    """
    return stored.replace("\\", "/").lstrip("/")


def _members_by_headers(data: bytes) -> Iterator[ZipInfo]:
    """Yield the members by their local headers, in order, without the directory."""
    met = position = 0
    while met < MOST_MEMBERS:
        position = data.find(LOCAL_SIGNATURE, position)
        if position == -1 or position + LOCAL_HEADER.size > len(data):
            return
        _, _, flags, method, _, _, crc, size, _, name_bytes, extra_bytes = LOCAL_HEADER.unpack_from(data, position)
        start = position + LOCAL_HEADER.size + name_bytes + extra_bytes
        name = data[position + LOCAL_HEADER.size : start - extra_bytes].decode("utf-8", "replace")
        if flags & SIZE_FOLLOWS or not start + size <= len(data):
            following = _RECORD.search(data, start)
            end, crc = following.start() if following else len(data), None
        else:
            end = start + size
        if name and method in _COMPRESSIONS:
            member = ZipInfo(name)
            member.header_offset, member.compress_size = position, end - start
            member.compress_type, member.flag_bits, member.CRC = method, flags, crc
            yield member
            met += 1
        position = max(end, position + len(LOCAL_SIGNATURE))


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
    """Return the name of the member that a URL in a part of *folder* refers to.

    >>> member_path("word", "../media/a%20b.png"), member_path("word", "/customXml/item1.xml")
    ('media/a b.png', 'customXml/item1.xml')
    """
    return posixpath.normpath(posixpath.join("/", folder, unquote(reference))).lstrip("/")


def relations_of(package: Package, part: str) -> Mapping[str, Relation]:
    """Return the relations of a part by their ids."""
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


def number_of(name: str) -> str:
    """Return the number at the end of a part's name; empty if it has none.

    >>> number_of("word/header2.xml"), number_of("word/kopf.xml")
    ('2', '')
    """
    digits = _DIGITS.findall(posixpath.basename(name))
    return digits[-1] if digits else ""
