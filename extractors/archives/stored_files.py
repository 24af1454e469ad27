"""The files in ZIP and tar archives, by `zipfile` and `tarfile`, within limits.

Both libraries trust what an archive declares: they read a directory or a header of any size at once, and decompress
some methods of ZIP without a limit.
"""

from __future__ import annotations

import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any, BinaryIO

from extractors.archives.compression import CUT_OFF, PIECE_BYTES, Lookahead, SizeBudget, remaining_bytes
from extractors.model.documents import Finding
from extractors.model.formats import ZIP_END

#: What the libraries raise for damaged, encrypted (RuntimeError) and unsupported (NotImplementedError) content.
_FAULTS = (
    *(EOFError, NotImplementedError, OSError, OverflowError, RuntimeError, ValueError),
    *(lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile, zlib.error),
)


class StoredFile:
    """The content of a file in an archive; `damage` is the reason why its rest could not be read, or empty."""

    def __init__(self, file: IO[bytes], budget: SizeBudget, piece_bytes: int = PIECE_BYTES) -> None:
        self.damage = ""
        self._file = file
        self._budget = budget
        self._piece_bytes = piece_bytes

    def read(self, size: int, /) -> bytes:
        """Return up to *size* bytes; empty at the end, at damage, or when the budget is spent."""
        granted_bytes = 0 if self.damage else self._budget.spend_bytes(min(size, self._piece_bytes))
        data = b""
        try:
            data = self._file.read(granted_bytes)
        except zipfile.BadZipFile:  # whose message repeats the file's name
            self.damage = "its checksum is wrong"
        except _FAULTS as fault:
            self.damage = str(fault) or CUT_OFF
        self._budget.bytes_left += granted_bytes - len(data)
        return data


Entry = tuple[str, StoredFile | Finding]
"""Name and content of a file, which must be read before the next one; or a finding if it can't be read."""

#: A larger directory is not read: as Python objects, its entries take twenty times as much memory.
_MOST_DIRECTORY_BYTES = 8 * 2**20
_END_RECORD = struct.Struct("<4s4H2LH")
_END_RECORD_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR_64 = struct.Struct("<4sLQL")
_ENCRYPTED_FLAG = 0x1
#: The methods whose output `zipfile` limits. Other data is read little by little: 4 KiB of bzip2 may hold 90 MiB.
_LIMITED_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_SMALL_PIECE_BYTES = 2**12


def open_zip(stream: BinaryIO) -> zipfile.ZipFile | None:
    """Return the ZIP archive in a seekable *stream*; None if its directory is missing, damaged or over 8 MiB."""
    size = _directory_size(stream)
    if size is None or size > _MOST_DIRECTORY_BYTES:
        return None
    stream.seek(0)
    try:
        return zipfile.ZipFile(stream)
    except Exception:  # a damaged directory raises any type
        return None


def zip_entries(archive: zipfile.ZipFile, budget: SizeBudget) -> Iterator[Entry]:
    """Yield the files in *archive*, as many as *budget* allows. Never raises for damage."""
    for info in archive.infolist():
        if info.is_dir():
            continue
        if not budget.spend_member():
            return
        yield info.filename, open_member(archive, info, budget)


def open_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, budget: SizeBudget) -> StoredFile | Finding:
    """Return the content of the file *info* of *archive*, or a finding with the reason why it can't be read."""
    if info.flag_bits & _ENCRYPTED_FLAG:
        return Finding("encrypted", "it needs a password")
    try:
        file = archive.open(info)
    except _FAULTS:
        return Finding("unreadable", "not at its declared place, or unsupported compression")
    return StoredFile(file, budget, PIECE_BYTES if info.compress_type in _LIMITED_METHODS else _SMALL_PIECE_BYTES)


def _directory_size(stream: BinaryIO) -> int | None:
    """Return the declared size of a ZIP archive's directory in bytes; None if *stream* has no end record."""
    stream.seek(0)
    size = remaining_bytes(stream)
    tail_size = min(size, _END_RECORD.size + _LOCATOR_64.size + 2**16)
    stream.seek(size - tail_size)
    tail = stream.read(tail_size)
    end_offset = tail.rfind(ZIP_END)
    if end_offset < 0 or len(tail) - end_offset < _END_RECORD.size:
        return None
    directory_size = int(_END_RECORD.unpack_from(tail, end_offset)[5])
    locator = tail[max(end_offset - _LOCATOR_64.size, 0) : end_offset]
    if not locator.startswith(b"PK\x06\x07"):
        return directory_size
    stream.seek(min(_LOCATOR_64.unpack(locator)[2], size))
    end_record = stream.read(_END_RECORD_64.size)
    return int(_END_RECORD_64.unpack(end_record)[8]) if len(end_record) == _END_RECORD_64.size else None


#: Most bytes of headers before the header of a file: names and PAX records, which `tarfile` reads at once.
_MOST_HEADER_BYTES = 2**14
_TYPES_WITHOUT_CONTENT = frozenset(tarfile.SUPPORTED_TYPES) - frozenset(tarfile.REGULAR_TYPES)

_DAMAGED_HEADER: Entry = ("", Finding("damaged", "a header in it is damaged, or data follows its end"))


class _Blocks:
    """A stream of the blocks of a tar archive, up to the position `limit` (bytes)."""

    def __init__(self, stream: Lookahead) -> None:
        self._stream = stream
        self._position = 0
        self.limit = _MOST_HEADER_BYTES
        self._is_at_end = False
        self.last_block = b""
        """The last block that was read."""

    def read(self, size: int, /) -> bytes:
        """Return the next *size* bytes, fewer only at the end.

        Raises `tarfile.ReadError` at the limit. It also raises it after the end: `tarfile` would read on there if a header
        declares a larger size.
        """
        if self._position >= self.limit:
            raise tarfile.ReadError("a header in it is too long")
        if self._is_at_end:
            raise tarfile.ReadError(CUT_OFF)
        self.last_block = self._stream.read(size)
        self._position += len(self.last_block)
        self._is_at_end = not self.last_block
        return self.last_block


def tar_entries(stream: Lookahead, budget: SizeBudget) -> Iterator[Entry]:
    """Yield the regular files of the tar archives in *stream*, as many as *budget* allows.

    Findings about damage have an empty name. After a damaged header, the next valid header is searched for. Never
    raises for damage.
    """
    is_damaged = False
    while (block := stream.peek(tarfile.BLOCKSIZE)) and not budget.is_out_of_members:
        if is_tar(block):
            yield from _entries_to_end_mark(stream, budget)
        else:
            is_damaged |= any(block)
            stream.skip(tarfile.BLOCKSIZE)
    if is_damaged:
        yield _DAMAGED_HEADER


def _entries_to_end_mark(stream: Lookahead, budget: SizeBudget) -> Iterator[Entry]:
    """Yield names and contents of the tar archive in *stream* up to its end mark, with a finding for each unread part."""
    blocks: Any = _Blocks(stream)
    try:
        with tarfile.open(fileobj=blocks, mode="r|", bufsize=tarfile.BLOCKSIZE) as archive:
            while (entry := archive.next()) is not None:
                archive.members = []  # type: ignore[attr-defined] # or it would keep all of them in memory
                if not budget.spend_member():
                    return
                size = 0 if entry.type in _TYPES_WITHOUT_CONTENT else entry.size
                blocks.limit = entry.offset_data + size + _MOST_HEADER_BYTES
                if entry.issparse():
                    yield entry.name, Finding("unreadable", "a sparse file, whose size has no limit")
                elif entry.isreg() and (file := archive.extractfile(entry)) is not None:
                    yield entry.name, StoredFile(file, SizeBudget(size, 1))
            if any(blocks.last_block):
                yield _DAMAGED_HEADER
    except _FAULTS as fault:
        yield "", Finding("damaged", f"{fault}, and the rest was skipped")


def is_tar(head: bytes) -> bool:
    """Return True if *head* begins with a tar header of any version."""
    block = head[: tarfile.BLOCKSIZE]
    if len(block) < tarfile.BLOCKSIZE or block[:1] == b"\0" or b"\0" not in block:  # fields are padded with NUL
        return False
    try:
        tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except (tarfile.HeaderError, ValueError, OverflowError):
        return False
    return True
