"""Change members of a ZIP package; every other member, and the order of all, stays byte for byte."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from io import BytesIO
from operator import attrgetter
from zipfile import ZIP_DEFLATED, ZipFile

from extractors.archives.stored_files import LOCAL_HEADER, SIZE_FOLLOWS

_DIRECTORY_HEADER = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_MOST = 0xFFFFFFFF


def changed_package(data: bytes, changed: Mapping[str, bytes]) -> bytes:
    """Return the package *data* with new content for the members in *changed*, by name.

    Raises ValueError for a package with 64-bit sizes, or whose directory does not describe the whole file.
    """
    with ZipFile(BytesIO(data)) as archive:
        members, directory = sorted(archive.infolist(), key=attrgetter("header_offset")), archive.start_dir
    end_at = data.rfind(b"PK\5\6")
    fields = _END.unpack_from(data, end_at)
    if fields[6] == _MOST or fields[6] != directory or directory + fields[5] != end_at or fields[4] != len(members):
        raise ValueError("its directory is unusual")
    ends = [*(member.header_offset for member in members), directory][1:]
    pieces = [data[: members[0].header_offset]]
    length = len(pieces[0])
    moved: dict[int, tuple[int, bytes | None, int, int]] = {}
    for member, end in zip(members, ends, strict=True):
        chunk, sizes = data[member.header_offset : end], None
        new = changed.get(member.filename)
        crc = size = 0
        if new is not None:
            packed, crc, size = _packed(new, member.compress_type), zlib.crc32(new), len(new)
            head = list(LOCAL_HEADER.unpack_from(chunk))
            head[2] &= ~SIZE_FOLLOWS
            head[6:9] = crc, len(packed), size
            names = chunk[LOCAL_HEADER.size : LOCAL_HEADER.size + head[9] + head[10]]
            chunk, sizes = LOCAL_HEADER.pack(*head) + names + packed, packed
        moved[member.header_offset] = (length, sizes, crc, size)
        pieces.append(chunk)
        length += len(chunk)
    start, at = length, directory
    while at < end_at:
        entry = list(_DIRECTORY_HEADER.unpack_from(data, at))
        after = at + _DIRECTORY_HEADER.size + entry[10] + entry[11] + entry[12]
        names = data[at + _DIRECTORY_HEADER.size : after]
        offset, packed_now, crc, size = moved[entry[16]]
        entry[16] = offset
        if packed_now is not None:
            entry[3] &= ~SIZE_FOLLOWS
            entry[7:10] = crc, len(packed_now), size
        pieces.append(_DIRECTORY_HEADER.pack(*entry) + names)
        length += after - at
        at = after
    end_record = _END.pack(*fields[:5], length - start, start, fields[7])
    return b"".join((*pieces, end_record, data[end_at + _END.size :]))


def _packed(content: bytes, method: int) -> bytes:
    if method != ZIP_DEFLATED:
        return content
    packer = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION, zlib.DEFLATED, -15)
    return packer.compress(content) + packer.flush()
