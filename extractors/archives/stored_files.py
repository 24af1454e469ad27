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

from extractors.archives.compression import CUT_OFF, PIECE_BYTES, Lookahead, SizeBudget, size_of
from extractors.model.documents import Finding
from extractors.model.formats import ZIP_END

#: What the libraries raise for damaged, encrypted (RuntimeError) and unsupported (NotImplementedError) content.
_FAULTS = (
    *(EOFError, NotImplementedError, OSError, OverflowError, RuntimeError, ValueError),
    *(lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile, zlib.error),
)


class StoredFile:
    """The content of a file in an archive; `damage` is the reason why its rest could not be read."""

    def __init__(self, file: IO[bytes], budget: SizeBudget, piece_bytes: int = PIECE_BYTES) -> None:
        self.damage = ""
        self._file = file
        self._budget = budget
        self._piece_bytes = piece_bytes

    def read(self, size: int, /) -> bytes:
        """Return up to *size* bytes; empty at the end, at damage, or when the budget is spent."""
        granted = 0 if self.damage else self._budget.spend_bytes(min(size, self._piece_bytes))
        data = b""
        try:
            data = self._file.read(granted)
        except zipfile.BadZipFile:  # whose message repeats the file's name
            self.damage = "its checksum is wrong"
        except _FAULTS as fault:
            self.damage = str(fault) or CUT_OFF
        self._budget.bytes_left += granted - len(data)
        return data


Entry = tuple[str, StoredFile | Finding]
"""Name and content of a file, which must be read before the next one; or a finding if it can't be read."""

#: A larger directory is not read: as Python objects, its entries take twenty times as much memory.
_DIRECTORY_BYTES = 8 * 2**20
_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR_64 = struct.Struct("<4sLQL")
_ENCRYPTED = 0x1
#: The methods whose output `zipfile` limits. Other data is read little by little: 4 KiB of bzip2 may hold 90 MiB.
_LIMITED = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_LITTLE_BYTES = 2**12


def open_zip(stream: BinaryIO) -> zipfile.ZipFile | None:
    """Return a ZIP archive by its directory; None if that is missing, damaged or too large."""
    size = _directory_size(stream)
    if size is None or size > _DIRECTORY_BYTES:
        return None
    stream.seek(0)
    try:
        return zipfile.ZipFile(stream)
    except Exception:  # a damaged directory raises any type
        return None


def zip_entries(archive: zipfile.ZipFile, budget: SizeBudget) -> Iterator[Entry]:
    """Yield the files in a ZIP archive. Never raises for damage."""
    for info in archive.infolist():
        if info.is_dir():
            continue
        if not budget.spend_member():
            return
        yield info.filename, open_member(archive, info, budget)


def open_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, budget: SizeBudget) -> StoredFile | Finding:
    """Return a file in a ZIP archive, or a finding with the reason why it can't be read."""
    if info.flag_bits & _ENCRYPTED:
        return Finding("encrypted", "it needs a password")
    try:
        file = archive.open(info)
    except _FAULTS:
        return Finding("unreadable", "not at its declared place, or unsupported compression")
    return StoredFile(file, budget, PIECE_BYTES if info.compress_type in _LIMITED else _LITTLE_BYTES)


def _directory_size(stream: BinaryIO) -> int | None:
    """Return the declared size of the archive's directory in bytes; None if unknown."""
    stream.seek(0)
    size = size_of(stream)
    tail_size = min(size, _END.size + _LOCATOR_64.size + 2**16)
    stream.seek(size - tail_size)
    tail = stream.read(tail_size)
    at = tail.rfind(ZIP_END)
    if at < 0 or len(tail) - at < _END.size:
        return None
    directory_size = int(_END.unpack_from(tail, at)[5])
    locator = tail[max(at - _LOCATOR_64.size, 0) : at]
    if not locator.startswith(b"PK\x06\x07"):
        return directory_size
    stream.seek(min(_LOCATOR_64.unpack(locator)[2], size))
    end = stream.read(_END_64.size)
    return int(_END_64.unpack(end)[8]) if len(end) == _END_64.size else None


#: Most bytes of headers before the header of a file: names and PAX records, which `tarfile` reads at once.
_HEADER_BYTES = 2**14
_WITHOUT_CONTENT = frozenset(tarfile.SUPPORTED_TYPES) - frozenset(tarfile.REGULAR_TYPES)

_DAMAGED_HEADER: Entry = ("", Finding("damaged", "a header in it is damaged, or data follows its end"))


class _Blocks:
    """The blocks of a tar archive, up to a limit of the position."""

    def __init__(self, ahead: Lookahead) -> None:
        self._ahead = ahead
        self._at = 0
        self.limit = _HEADER_BYTES
        self._is_at_end = False
        self.last = b""
        """The last block that was read."""

    def read(self, size: int, /) -> bytes:
        """Return the next *size* bytes, fewer only at the end. Raises `tarfile.ReadError` at the limit, and after the end,
        where `tarfile` would go on for the size that a header declares."""
        if self._at >= self.limit:
            raise tarfile.ReadError("a header in it is too long")
        if self._is_at_end:
            raise tarfile.ReadError(CUT_OFF)
        self.last = self._ahead.read(size)
        self._at += len(self.last)
        self._is_at_end = not self.last
        return self.last


def tar_entries(ahead: Lookahead, budget: SizeBudget) -> Iterator[Entry]:
    """Yield the regular files of a tar archive, or of several in one file, and findings about damage, without a name.

    After a damaged header, the next good one is searched for. Never raises for damage.
    """
    is_damaged = False
    while (block := ahead.peek(tarfile.BLOCKSIZE)) and not budget.is_out_of_members:
        if is_tar(block):
            yield from _entries_to_end_mark(ahead, budget)
        else:
            is_damaged |= any(block)
            ahead.skip(tarfile.BLOCKSIZE)
    if is_damaged:
        yield _DAMAGED_HEADER


def _entries_to_end_mark(ahead: Lookahead, budget: SizeBudget) -> Iterator[Entry]:
    blocks: Any = _Blocks(ahead)
    try:
        with tarfile.open(fileobj=blocks, mode="r|", bufsize=tarfile.BLOCKSIZE) as archive:
            while (entry := archive.next()) is not None:
                archive.members = []  # type: ignore[attr-defined] # or it would keep all of them in memory
                if not budget.spend_member():
                    return
                size = 0 if entry.type in _WITHOUT_CONTENT else entry.size
                blocks.limit = entry.offset_data + size + _HEADER_BYTES
                if entry.issparse():
                    yield entry.name, Finding("unreadable", "a sparse file, whose size has no limit")
                elif entry.isreg() and (file := archive.extractfile(entry)) is not None:
                    yield entry.name, StoredFile(file, SizeBudget(size, 1))
            if any(blocks.last):
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
