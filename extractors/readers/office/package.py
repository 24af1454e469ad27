"""Packages: the ZIP archives that office documents and e-books are, read member by member and within bounds.

`zipfile` lists the members, no more: it believes the sizes that an archive states, refuses a whole archive for a
fault in its directory, and inflates some methods without a limit. The inflating is done here, by `zlib`.
"""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from io import BytesIO

from extractors.model.documents import Finding
from extractors.readers.office.xml_events import EventTarget, send_events

MOST_MEMBERS = 10_000
MOST_MEMBER_BYTES = 64 * 2**20
MOST_BYTES = 256 * 2**20
"""Of all members together, as they are read."""

#: The findings that one package may have; the rest would say the same again.
_MOST_FINDINGS = 50
_HEAD_BYTES = 4096
#: Small, for the output of the piece in which a stream turns out to be damaged is lost.
_PIECE_BYTES = 1024

_DIRECTORY_ENTRY = b"PK\x01\x02"
_LOCAL_HEADER = struct.Struct("<4s5H3L2H")
_LOCAL_SIGNATURE = b"PK\x03\x04"
_RECORD = re.compile(rb"PK(?:\x03\x04|\x07\x08|\x01\x02|\x05\x06)")
_ENCRYPTED, _SIZES_FOLLOW = 0x1, 0x8
_STORED, _DEFLATED = 0, 8

#: What `zipfile` raises over a damaged directory.
_DAMAGE = (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError, EOFError, OSError, struct.error)

#: An Office document under a password is no ZIP archive: the encrypted package is a stream of a compound file.
_COMPOUND_FILE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")

NEEDS_PASSWORD = Finding("encrypted", "it asks for a password")


@dataclass(frozen=True, slots=True)
class PackageMember:
    """A member of an archive, as its headers describe it."""

    name: str
    header: int
    """Offset of the local header."""
    size: int
    """Of its compressed bytes, as stated; what is deflated knows its own end."""
    method: int
    is_encrypted: bool
    crc: int | None = None
    """The checksum of its bytes, where the headers state it."""
    bound: int = 0
    """Offset at which its compressed bytes end, at the latest."""


class Package:
    """The members of an archive by name, and what is wrong with it. Never raises, whatever the bytes.

    >>> Package(b"no such thing").findings
    [Finding(kind='unreadable', detail='it is no ZIP archive, or damaged beyond repair')]
    """

    def __init__(self, data: bytes) -> None:
        self.findings: list[Finding] = []
        self._data = data
        self._bytes_left = MOST_BYTES
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
        return b"" if member is None or member.is_encrypted else _content(self._data, member, _HEAD_BYTES).data

    def read(self, name: str) -> bytes:
        """All of a member that can be had; what can't, and why, is a finding. No such member is no bytes."""
        member = self._members.get(name)
        if member is None:
            return b""
        if member.is_encrypted:
            self.note(NEEDS_PASSWORD)
            return b""
        limit = min(MOST_MEMBER_BYTES, self._bytes_left)
        if not limit:
            self.note(Finding("cut-off", f"its members were not read beyond {MOST_BYTES} bytes"))
            return b""
        content = _content(self._data, member, limit + 1)
        self._bytes_left -= min(max(len(content.data), member.bound - member.header), limit)  # inflating nothing costs
        if len(content.data) > limit:
            self.note(Finding("cut-off", f"only the first {limit} bytes of {shown(name)} were read"))
        elif content.fault:
            self.note(Finding("unreadable-part", f"{shown(name)}: {content.fault}"))
        return content.data[:limit]

    def parse(self, name: str, target: EventTarget) -> None:
        """Send the events of an XML member to *target*; its faults are findings."""
        data = self.read(name)
        if data:
            faults = send_events(data, target)
            self.note(*(Finding(fault.kind, f"{shown(name)}: {fault.detail}") for fault in faults))

    def note(self, *findings: Finding) -> None:
        """Add what a reader found wrong with the package or its members; each once, and not without end."""
        for finding in findings:
            if len(self.findings) < _MOST_FINDINGS and finding not in self.findings:
                self.findings.append(finding)

    def _listed(self) -> list[PackageMember]:
        """The members by the directory, or by their own headers where the directory is of no use."""
        entries = self._data.count(_DIRECTORY_ENTRY)  # an object each, before anything could stop `zipfile`
        if entries > MOST_MEMBERS:
            self.note(Finding("cut-off", f"only the first {MOST_MEMBERS} of about {entries} members were listed"))
        else:
            try:
                with zipfile.ZipFile(BytesIO(self._data)) as archive:
                    listed = [_member(info) for info in archive.infolist()]
                if listed and self._covers(listed):
                    return listed
            except _DAMAGE:
                pass
        met = list(_members_met(self._data))
        if not met:
            is_encrypted = self._data.startswith(_COMPOUND_FILE) and _ENCRYPTED_PACKAGE in self._data
            damaged = Finding("unreadable", "it is no ZIP archive, or damaged beyond repair")
            self.note(NEEDS_PASSWORD if is_encrypted else damaged)
        elif entries <= MOST_MEMBERS:
            self.note(Finding("unreadable", "its directory of members is damaged; they were looked for one by one"))
        return met

    def _covers(self, listed: list[PackageMember]) -> bool:
        """Return whether a directory is that of the whole archive, not of another one that is stored in it."""
        return min(member.header for member in listed) <= self._data.find(_LOCAL_SIGNATURE)

    def _by_name(self, members: Iterable[PackageMember]) -> dict[str, PackageMember]:
        """The members by name, the last of a name as unzippers have it, and no byte in more than one of them.

        Archive bombs let members overlap; kept apart, to read them all takes time linear in the archive.
        """
        in_order = sorted(filter(self._is_there, members), key=lambda member: member.header)
        ends = [*(member.header for member in in_order), len(self._data)][1:]
        by_name: dict[str, PackageMember] = {}
        for member, end in zip(in_order, ends, strict=True):
            if member.header == end:
                self.note(Finding("unreadable-part", f"{shown(member.name)}: it overlaps with another member"))
                continue
            if member.name in by_name:
                self.note(Finding("duplicate-member", f"{shown(member.name)}: the last of this name was read"))
            by_name[member.name] = replace(member, bound=end)
        return by_name

    def _is_there(self, member: PackageMember) -> bool:
        is_there = member.header >= 0 and self._data.startswith(_LOCAL_SIGNATURE, member.header)
        if not is_there:
            self.note(Finding("unreadable-part", f"{shown(member.name)}: it is not where it should be"))
        return is_there


@dataclass(frozen=True, slots=True)
class _Content:
    """The bytes of a member, and what is wrong with them, if anything."""

    data: bytes
    fault: str = ""


def _member(info: zipfile.ZipInfo) -> PackageMember:
    is_encrypted = bool(info.flag_bits & _ENCRYPTED)
    name = _member_name(info.filename)
    return PackageMember(name, info.header_offset, info.compress_size, info.compress_type, is_encrypted, info.CRC)


def _member_name(stored: str) -> str:
    r"""The name as the formats mean it: some writers on Windows store ``word\document.xml``.

    >>> _member_name("word\\document.xml"), _member_name("/word/document.xml")
    ('word/document.xml', 'word/document.xml')
    """
    return stored.replace("\\", "/").lstrip("/")


def _members_met(data: bytes) -> Iterator[PackageMember]:
    """The members that local headers announce, in order, whatever a directory says."""
    met = position = 0
    while met < MOST_MEMBERS:
        position = data.find(_LOCAL_SIGNATURE, position)
        if position == -1 or position + _LOCAL_HEADER.size > len(data):
            return
        _, _, flags, method, _, _, crc, size, _, name_bytes, extra_bytes = _LOCAL_HEADER.unpack_from(data, position)
        start = position + _LOCAL_HEADER.size + name_bytes + extra_bytes
        name = data[position + _LOCAL_HEADER.size : start - extra_bytes].decode("utf-8", "replace")
        if flags & _SIZES_FOLLOW or not start + size <= len(data):
            following = _RECORD.search(data, start)
            end, crc = following.start() if following else len(data), None
        else:
            end = start + size
        if name and method in (_STORED, _DEFLATED):
            yield PackageMember(_member_name(name), position, end - start, method, bool(flags & _ENCRYPTED), crc)
            met += 1
        position = max(end, position + len(_LOCAL_SIGNATURE))


def _content(data: bytes, member: PackageMember, limit: int) -> _Content:
    """The first *limit* bytes of a member, or those before the place where it is damaged."""
    start = member.header + _LOCAL_HEADER.size
    if start > member.bound:
        return _Content(b"", "it is cut off")
    *_, name_bytes, extra_bytes = _LOCAL_HEADER.unpack_from(data, member.header)
    start += name_bytes + extra_bytes
    if member.method == _STORED:
        content = _Content(data[start : min(start + min(member.size, limit), member.bound)])
    elif member.method == _DEFLATED:
        content = _inflated(memoryview(data)[start : member.bound], limit)
    else:
        return _Content(b"", f"compression method {member.method} has no place in such a package")
    is_whole = not content.fault and len(content.data) < limit
    if is_whole and member.crc is not None and zlib.crc32(content.data) != member.crc:
        return _Content(content.data, "its checksum is wrong")
    return content


def _inflated(deflated: memoryview, limit: int) -> _Content:
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    pieces: list[bytes] = []
    left = limit
    for start in range(0, len(deflated), _PIECE_BYTES):
        try:
            piece = stream.decompress(deflated[start : start + _PIECE_BYTES], left)
        except zlib.error:
            return _Content(b"".join(pieces), "its compressed bytes are damaged")
        pieces.append(piece)
        left -= len(piece)
        if stream.eof or not left:
            return _Content(b"".join(pieces))
    return _Content(b"".join(pieces), "it is cut off")


def shown(name: str) -> str:
    r"""A member's name for a finding: strangers choose it.

    >>> shown("word/\x1bdocument.xml")
    'word/?document.xml'
    """
    return "".join(char if char.isprintable() else "?" for char in name[:100])
