"""Packages: the ZIP archives of XML that office documents and e-books are, read member by member and within bounds.

`zipfile` lists the members, no more: it believes the sizes that an archive states, refuses a whole archive for a
fault in its directory, and inflates some methods without a limit. Archives inflate members, these too.
"""

from __future__ import annotations

import posixpath
import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from operator import attrgetter
from typing import Any
from urllib.parse import unquote
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from lxml import etree

from extractors.archives.compression import CUT_OFF, Compression, Lookahead, SizeBudget
from extractors.archives.stored_files import ENCRYPTED, LOCAL_HEADER, LOCAL_SIGNATURE, SIZE_FOLLOWS, Checked
from extractors.model.documents import Finding
from extractors.readers.markup.recognized import local_name
from extractors.readers.markup.xml import faults_of, without_surrogates

# XML as events, for formats whose vocabulary is known: no tree, so that a part of any size takes little memory.

#: The tag of the first element. NULs are dropped before, for a part may be in UTF-16.
_ROOT = re.compile(rb"<(?:[\w.-]+:)?([A-Za-z][\w.-]*)[\s/>]")
_MOST_ELEMENTS = 200_000


class EnoughRead(Exception):
    """Raised by a target that takes no more events, and caught where they are sent."""


class EventTarget:
    """A target for the events of a parser; this one lets all of them pass."""

    __slots__ = ()

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element begins."""

    def data(self, text: str) -> None:
        """Text, in pieces as the parser likes."""

    def end(self, tag: str) -> None:
        """An element ends; in damaged markup, not every one that began."""

    def close(self) -> None:
        """There is no more."""


def send_events(data: bytes, target: EventTarget) -> tuple[Finding, ...]:
    """Parse *data* as far as it goes, with its events to *target*; what went wrong, if anything.

    >>> elements = _Elements()
    >>> send_events(b"<a><b>1</b><c>2</c>", elements)
    (Finding(kind='malformed-markup', detail='line 1: Premature end of data in tag a line 1'),)
    >>> [(element.name, element.text) for element in elements.begun]
    [('a', ''), ('b', '1'), ('c', '2')]
    """
    # lxml's published types are those of version 4, so these two have none.
    untyped: Any = target
    # Left alone, entities would be in attributes as they are written, and even "&amp;" would be "&#38;".
    internal: Any = "internal"
    # Strangers write this: no entity from outside, and libxml2's own limits on depth, length and amplification.
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
    """The attributes of an element without their namespaces, which differ between the editions of a format."""
    return {local_name(name): value for name, value in attributes.items()}


def root_name(head: bytes) -> str:
    """The local name of the root element, by the first bytes of a part; empty where none is to be seen.

    >>> root_name(b"<?xml version='1.0'?><!-- x --><w:hdr xmlns:w='...'>")
    'hdr'
    """
    root = _ROOT.search(head.replace(b"\0", b""))
    return root[1].decode("ascii", "replace") if root else ""


@dataclass(slots=True)
class XmlElement:
    """An element of a small vocabulary, where all of a part may be in memory."""

    name: str
    """Its local name."""
    attributes: Mapping[str, str]
    """By their local names."""
    around: XmlElement | None
    pieces: list[str] = field(default_factory=list)
    is_leaf: bool = True

    @property
    def text(self) -> str:
        """Its own text, without the blanks around it, if it holds no other element."""
        return "".join(self.pieces).strip() if self.is_leaf else ""


class _Elements(EventTarget):
    """Gathers all elements, in the order in which they begin."""

    def __init__(self) -> None:
        self.begun: list[XmlElement] = []
        self._open: list[XmlElement] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element begins; the one around it is no leaf."""
        if len(self.begun) >= _MOST_ELEMENTS:
            raise EnoughRead
        around = self._open[-1] if self._open else None
        if around is not None:
            around.is_leaf = False
        self._open.append(XmlElement(local_name(tag), by_local_name(attributes), around))
        self.begun.append(self._open[-1])

    def data(self, text: str) -> None:
        """Text, in pieces as the parser likes."""
        if self._open:
            self._open[-1].pieces.append(text)

    def end(self, tag: str) -> None:
        """An element ends."""
        if self._open:
            self._open.pop()


# The members of a package.

MOST_MEMBERS = 10_000
MOST_MEMBER_BYTES = 64 * 2**20
MOST_BYTES = 256 * 2**20
"""Of all members together, as they are read."""

#: The findings that one package may have; the rest would say the same again.
_MOST_FINDINGS = 50
_HEAD_BYTES = 4096

_DIRECTORY_ENTRY = b"PK\x01\x02"
_RECORD = re.compile(rb"PK(?:\x03\x04|\x07\x08|\x01\x02|\x05\x06)")
_COMPRESSIONS = {ZIP_STORED: Compression.NONE, ZIP_DEFLATED: Compression.DEFLATE}

#: What `zipfile` raises over a damaged directory.
_DAMAGE = (BadZipFile, NotImplementedError, ValueError, OverflowError, EOFError, OSError, struct.error)

NEEDS_PASSWORD = Finding("encrypted", "it asks for a password")


class Package:
    """The members of an archive by name, and what is wrong with it. Never raises, whatever the bytes.

    >>> Package(b"no such thing").findings
    [Finding(kind='unreadable', detail='it is no ZIP archive, or damaged beyond repair')]
    """

    def __init__(self, data: bytes) -> None:
        self.findings: list[Finding] = []
        self._data = data
        self._bytes_left = MOST_BYTES
        self._bounds: dict[str, int] = {}
        """Where the compressed bytes of each member end, at the latest."""
        self._members = self._by_name(self._listed())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all members, in the order in which they are stored."""
        return tuple(self._members)

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def head(self, name: str) -> bytes:
        """The first bytes of a member, to see what it is; empty where there are none to be had."""
        member = self._members.get(name)
        if member is None or member.flag_bits & ENCRYPTED:
            return b""
        return self._content(member, _HEAD_BYTES)[0]

    def read(self, name: str) -> bytes:
        """All of a member that can be had; what can't, and why, is a finding. No such member is no bytes."""
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
        self._bytes_left -= min(
            max(len(content), self._bounds[name] - member.header_offset), limit
        )  # inflating nothing costs
        if len(content) > limit:
            self.note(Finding("cut-off", f"only the first {limit} bytes of {shown(name)} were read"))
        elif fault:
            self.note(Finding("unreadable-part", f"{shown(name)}: {fault}"))
        return content[:limit]

    def parse(self, name: str, target: EventTarget) -> None:
        """Send the events of an XML member to *target*; its faults are findings."""
        data = self.read(name)
        if data:
            faults = send_events(data, target)
            self.note(*(Finding(fault.kind, f"{shown(name)}: {fault.detail}") for fault in faults))

    def elements(self, name: str) -> list[XmlElement]:
        """The elements of an XML member with a small vocabulary, in the order in which they begin."""
        elements = _Elements()
        self.parse(name, elements)
        return elements.begun

    def note(self, *findings: Finding) -> None:
        """Add what a reader found wrong with the package or its members; each once, and not without end."""
        for finding in findings:
            if len(self.findings) < _MOST_FINDINGS and finding not in self.findings:
                self.findings.append(finding)

    def _listed(self) -> list[ZipInfo]:
        """The members by the directory, or by their own headers where the directory is of no use."""
        entries = self._data.count(_DIRECTORY_ENTRY)  # an object each, before anything could stop `zipfile`
        if entries > MOST_MEMBERS:
            self.note(Finding("cut-off", f"only the first {MOST_MEMBERS} of about {entries} members were listed"))
        else:
            try:
                with ZipFile(BytesIO(self._data)) as archive:
                    listed = archive.infolist()
                # of the whole archive, and not of another one that is stored in it
                first = self._data.find(LOCAL_SIGNATURE)
                if listed and min(member.header_offset for member in listed) <= first:
                    return listed
            except _DAMAGE:
                pass
        met = list(_members_met(self._data))
        if not met:
            self.note(Finding("unreadable", "it is no ZIP archive, or damaged beyond repair"))
        elif entries <= MOST_MEMBERS:
            self.note(Finding("unreadable", "its directory of members is damaged; they were looked for one by one"))
        return met

    def _by_name(self, members: Iterable[ZipInfo]) -> dict[str, ZipInfo]:
        """The members by name, the last of a name as unzippers have it, and no byte in more than one of them.

        Archive bombs let members overlap; kept apart, to read them all takes time linear in the archive.
        """
        in_order = sorted(filter(self._is_there, members), key=attrgetter("header_offset"))
        ends = [*(member.header_offset for member in in_order), len(self._data)][1:]
        by_name: dict[str, ZipInfo] = {}
        for member, end in zip(in_order, ends, strict=True):
            name = _member_name(member.filename)
            if member.header_offset == end:
                fault = f"{shown(name)}: it overlaps with another member"
                self.note(Finding("unreadable-part", fault))
                continue
            if name in by_name:
                fault = f"{shown(name)}: the last of this name was read"
                self.note(Finding("duplicate-member", fault))
            by_name[name], self._bounds[name] = member, end
        return by_name

    def _is_there(self, member: ZipInfo) -> bool:
        at = member.header_offset
        is_there = at >= 0 and self._data.startswith(LOCAL_SIGNATURE, at)
        if not is_there:
            fault = f"{shown(_member_name(member.filename))}: it is not where it should be"
            self.note(Finding("unreadable-part", fault))
        return is_there

    def _content(self, member: ZipInfo, limit: int) -> tuple[bytes, str]:
        """The first *limit* bytes of a member, or those before damage; and what is wrong with it."""
        bound = self._bounds[_member_name(member.filename)]
        method, start = member.compress_type, member.header_offset + LOCAL_HEADER.size
        if start > bound:
            return b"", CUT_OFF
        if method not in _COMPRESSIONS:
            return b"", f"compression method {method} has no place in such a package"
        *_, name_bytes, extra_bytes = LOCAL_HEADER.unpack_from(self._data, member.header_offset)
        start += name_bytes + extra_bytes
        # what is deflated knows its own end
        end = min(start + member.compress_size, bound) if method == ZIP_STORED else bound
        packed = BytesIO(self._data[start:end])
        content = Checked(packed, _COMPRESSIONS[method], SizeBudget(limit, 1), member.CRC)
        return Lookahead(content).read(limit), content.damage


def _member_name(stored: str) -> str:
    r"""The name as the formats mean it: some writers on Windows store ``word\document.xml``.

    >>> _member_name("word\\document.xml"), _member_name("/word/document.xml")
    ('word/document.xml', 'word/document.xml')
    """
    return stored.replace("\\", "/").lstrip("/")


def _members_met(data: bytes) -> Iterator[ZipInfo]:
    """The members that local headers announce, in order, whatever a directory says."""
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


def shown(name: str) -> str:
    r"""A member's name for a finding: strangers choose it.

    >>> shown("word/\x1bdocument.xml")
    'word/?document.xml'
    """
    return "".join(char if char.isprintable() else "?" for char in name[:100])


# Parts of a package, and how they relate (ECMA-376, part 2).

_DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class Relation:
    """From a part to another one, or to something outside of the package."""

    target: str
    """As written if external, else the name of a member."""
    is_external: bool
    kind: str
    """The last piece of its type: ``hyperlink``, ``image``, ``attachedTemplate`` …"""


def relations_of(package: Package, part: str) -> Mapping[str, Relation]:
    """The relations of a part by their ids; none if it has none."""
    folder, name = posixpath.split(part)
    relations: dict[str, Relation] = {}
    for element in package.elements(posixpath.join(folder, "_rels", f"{name}.rels")):
        target = element.attributes.get("Target", "").strip()
        if element.name != "Relationship" or not target:
            continue
        kind = element.attributes.get("Type", "").rpartition("/")[2]
        is_external = element.attributes.get("TargetMode", "").lower() == "external" or kind == "hyperlink"
        if not is_external:
            target = posixpath.normpath(posixpath.join("/", folder, unquote(target))).lstrip("/")
        relations[element.attributes.get("Id", "")] = Relation(target, is_external, kind)
    return relations


def natural_order(name: str) -> tuple[tuple[int, str], ...]:
    """A key by which ``slide10`` comes after ``slide9``.

    >>> sorted(["s10", "s9", "a"], key=natural_order)
    ['a', 's9', 's10']
    """
    pieces = enumerate(_DIGITS.split(name))
    return tuple((int(piece[:18]), piece) if index % 2 else (0, piece) for index, piece in pieces)


def number_of(name: str) -> str:
    """The number at the end of a part's name, if it has one.

    >>> number_of("word/header2.xml"), number_of("word/kopf.xml")
    ('2', '')
    """
    digits = _DIGITS.findall(posixpath.basename(name))
    return digits[-1] if digits else ""
