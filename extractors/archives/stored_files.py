"""The files in ZIP and tar archives, read forward.

A ZIP archive is read by its directory, or from one local header to the next if the directory is missing or damaged.
`zipfile` reads the directory but not the contents, because it doesn't limit the output of bzip2 and LZMA.
"""

from __future__ import annotations

import io
import re
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from extractors.archives.compression import (
    BoundedStream,
    Compression,
    DecompressedStream,
    Lookahead,
    Readable,
    SizeBudget,
    size_of,
)

#: A larger directory is not read: as Python objects, its entries take twenty times as much memory.
_DIRECTORY_BYTES = 8 * 2**20
_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR_64 = struct.Struct("<4sLQL")
LOCAL_HEADER = struct.Struct("<4s5H3L2H")
LOCAL_SIGNATURE = b"PK\x03\x04"
_MOST = 0xFFFFFFFF
_LOCAL_HEADER_BEGINS = re.compile(re.escape(LOCAL_SIGNATURE))
ENCRYPTED, SIZE_FOLLOWS, _UTF8 = 0x1, 0x8, 0x800

_COMPRESSIONS: Mapping[int, Compression] = {
    0: Compression.NONE,
    8: Compression.DEFLATE,
    12: Compression.BZIP2,
    93: Compression.ZSTD,
    95: Compression.XZ,
}


@dataclass(frozen=True, slots=True)
class ZipEntry:
    """A file in a ZIP archive; read its content before the next entry."""

    name: str
    is_encrypted: bool
    content: DecompressedStream | None
    """None for an unsupported compression method."""


class ChecksumStream(DecompressedStream):
    """Content that reports damage if its checksum is wrong."""

    def __init__(self, packed: Readable, compression: Compression, budget: SizeBudget, checksum: int | None) -> None:
        super().__init__(packed, compression, budget)
        self._checksum = checksum
        self._sum = 0

    def read(self, size: int, /) -> bytes:
        data = super().read(size)
        self._sum = zlib.crc32(data, self._sum)
        if not data and self.is_at_end and self._checksum not in (None, self._sum):
            self.damage = self.damage or "its checksum is wrong"
        return data


def zip_directory(stream: BinaryIO) -> list[zipfile.ZipInfo] | None:
    """Return the entries in the directory of a ZIP archive; None if it is missing, damaged or too large."""
    size = _directory_size(stream)
    if size is None or size > _DIRECTORY_BYTES:
        return None
    stream.seek(0)
    try:
        with zipfile.ZipFile(stream) as archive:
            return archive.infolist()
    except Exception:  # a damaged directory raises any type
        return None


def zip_entries(stream: BinaryIO, listed: Sequence[zipfile.ZipInfo] | None, budget: SizeBudget) -> Iterator[ZipEntry]:
    """Yield the files in a ZIP archive, a seekable *stream*, as its directory *listed* them. Never raises for damage.

    Without a directory, as in a truncated archive, the local headers are read.
    """
    if listed is None:
        stream.seek(0)
        yield from _entries_by_headers(Lookahead(stream), budget)
        return
    for info in listed:
        if info.is_dir():
            continue
        if not budget.spend_member():
            return
        stream.seek(max(info.header_offset, 0))
        header = stream.read(LOCAL_HEADER.size)
        if len(header) < LOCAL_HEADER.size or not header.startswith(LOCAL_SIGNATURE):
            yield ZipEntry(info.filename, False, None)
            continue
        *_, name_size, extra_size = LOCAL_HEADER.unpack(header)
        stream.seek(name_size + extra_size, io.SEEK_CUR)
        packed = BoundedStream(stream, info.compress_size)
        yield _entry(info.filename, info.flag_bits, info.compress_type, packed, budget, info.CRC)


def _directory_size(stream: BinaryIO) -> int | None:
    """Return the declared size of the archive's directory in bytes; None if unknown."""
    stream.seek(0)
    size = size_of(stream)
    tail_size = min(size, _END.size + _LOCATOR_64.size + 2**16)
    stream.seek(size - tail_size)
    tail = stream.read(tail_size)
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < _END.size:
        return None
    directory_size = int(_END.unpack_from(tail, at)[5])
    locator = tail[max(at - _LOCATOR_64.size, 0) : at]
    if not locator.startswith(b"PK\x06\x07"):
        return directory_size
    stream.seek(min(_LOCATOR_64.unpack(locator)[2], size))
    end = stream.read(_END_64.size)
    return int(_END_64.unpack(end)[8]) if len(end) == _END_64.size else None


def _entries_by_headers(ahead: Lookahead, budget: SizeBudget) -> Iterator[ZipEntry]:
    """Yield the entries by their local headers, one after the other."""
    while True:
        ahead.read_to(_LOCAL_HEADER_BEGINS, len(LOCAL_SIGNATURE), 0)
        header = ahead.read(LOCAL_HEADER.size)
        if len(header) < LOCAL_HEADER.size or not budget.spend_member():
            return
        _, _, flags, method, _, _, checksum, packed_size, size, name_size, extra_size = LOCAL_HEADER.unpack(header)
        name = ahead.read(name_size).decode("utf-8" if flags & _UTF8 else "cp437", "replace")
        extra = ahead.read(extra_size)
        if _MOST in (packed_size, size):
            packed_size = _packed_size_64(extra, size == _MOST)
        is_sized = not flags & SIZE_FOLLOWS or packed_size > 0
        packed = BoundedStream(ahead, packed_size) if is_sized else ahead
        entry = _entry(name, flags, method, packed, budget, None if flags & SIZE_FOLLOWS else checksum)
        if not name.endswith("/"):
            yield entry
        if isinstance(packed, BoundedStream):
            ahead.skip(packed.left)
        elif entry.content is not None and method:
            while entry.content.read(2**16):
                pass
            ahead.unread(entry.content.rest)


def _entry(
    name: str, flags: int, method: int, packed: BoundedStream | Lookahead, budget: SizeBudget, checksum: int | None
) -> ZipEntry:
    compression = _COMPRESSIONS.get(method)
    # Without a declared size, only compressed content has a recognizable end.
    is_readable = isinstance(packed, BoundedStream) or method != 0
    content = ChecksumStream(packed, compression, budget, checksum) if compression and is_readable else None
    return ZipEntry(name, bool(flags & ENCRYPTED), content)


def _packed_size_64(extra: bytes, has_size: bool) -> int:
    """Return the packed size in the extra field for ZIP64 (4.5.3 of APPNOTE); 0 if missing."""
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<2H", extra, at)
        values = extra[at + 4 : at + 4 + size]
        skipped = 8 if has_size else 0
        if kind == 1 and len(values) >= skipped + 8:
            return int.from_bytes(values[skipped : skipped + 8], "little")
        at += 4 + size
    return 0


# Tar archives. `tarfile` decodes the headers but doesn't walk the archive: it reads a PAX header of any size at once,
# keeps every entry in memory, and before Python 3.12.6 takes quadratic time over a hostile header.

_BLOCK_BYTES = tarfile.BLOCKSIZE
#: Longer names and PAX headers are skipped.
_NAME_BYTES = 2**16
#: Regular files only: no links, devices or pipes, and no sparse files, whose declared size is not bounded.
_REGULAR = frozenset({tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE})
_LONG_NAME = tarfile.GNUTYPE_LONGNAME
_PAX = frozenset({tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE})
#: Types without content, whatever size they declare.
_EMPTY = frozenset(
    {tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE}
)


@dataclass(frozen=True, slots=True)
class TarEntry:
    """A file in a tar archive; read its content before the next entry."""

    name: str
    content: BoundedStream


def tar_entries(ahead: Lookahead, budget: SizeBudget) -> Iterator[TarEntry | str]:
    """Yield the regular files of a tar archive, and a message for damage. Never raises for damage.

    After a damaged header, the next good one is searched for.
    """
    name = ""
    is_damaged = False
    while block := ahead.read(_BLOCK_BYTES):
        if block.count(0) == len(block):
            continue
        header = _tar_header(block)
        if header is None:
            if not is_damaged:
                yield (
                    "a header in it is damaged" if len(block) == _BLOCK_BYTES else "it ends in the middle of a header"
                )
            is_damaged = True
            continue
        if not budget.spend_member():
            return
        size = 0 if header.type in _EMPTY else max(header.size, 0)
        content = BoundedStream(ahead, size)
        if header.type == _LONG_NAME or header.type in _PAX:
            value = Lookahead(content).read(_NAME_BYTES) if size <= _NAME_BYTES else b""
            name = (
                value.partition(b"\0")[0].decode("utf-8", "surrogateescape")
                if header.type == _LONG_NAME
                else _pax_path(value)
            )
        else:
            if header.type in _REGULAR:
                yield TarEntry(name or header.name, content)
            name = ""
        if ahead.skip(content.left) < content.left:
            yield "it ends too early"
        ahead.skip(-size % _BLOCK_BYTES)


def is_tar(head: bytes) -> bool:
    """Return True if *head* begins with a tar header of any version."""
    block = head[:_BLOCK_BYTES]
    if len(block) < _BLOCK_BYTES or block[:1] == b"\0" or b"\0" not in block:  # fields are padded with NUL
        return False
    return _tar_header(block) is not None


def _tar_header(block: bytes) -> tarfile.TarInfo | None:
    try:
        return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except (tarfile.HeaderError, ValueError, OverflowError):
        return None


def _pax_path(value: bytes) -> str:
    """Return the name in a PAX header; empty if it has no name.

    >>> _pax_path(b"18 path=a/b.html\\n\\n")
    'a/b.html'
    """
    for line in value.split(b"\n"):
        length, _, record = line.partition(b" ")
        keyword, _, path = record.partition(b"=")
        if keyword == b"path" and length.isdigit():
            return path.decode("utf-8", "surrogateescape")
    return ""
