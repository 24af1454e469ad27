"""Compressed streams, decompressed piece by piece within a budget; only damaged parts are lost."""

from __future__ import annotations

import bz2
import io
import lzma
import re
import sys
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import BinaryIO, Protocol

import brotli  # type: ignore[import-untyped]

# Streams that are read forward, piece by piece, within a budget.


#: Bytes read from a stream at a time.
PIECE_BYTES = 2**16


class Readable(Protocol):
    """A stream of bytes that may return fewer bytes than requested; only an empty result means its end."""

    def read(self, size: int, /) -> bytes: ...


@dataclass(slots=True)
class SizeBudget:
    """The remaining budget for an archive and everything nested in it."""

    bytes_left: int
    """Bytes that decompression may still produce; bytes that are read twice count twice."""
    members_left: int
    is_out_of_bytes: bool = False
    is_out_of_members: bool = False

    @property
    def is_spent(self) -> bool:
        """True if something was refused because the budget ran out."""
        return self.is_out_of_bytes or self.is_out_of_members

    def spend_bytes(self, size: int) -> int:
        """Return how many of *size* bytes are granted; 0 means that the budget is spent."""
        granted = min(size, self.bytes_left)
        self.bytes_left -= granted
        self.is_out_of_bytes |= granted == 0 < size
        return granted

    def spend_member(self) -> bool:
        """Return True if another member may be read."""
        self.is_out_of_members |= self.members_left <= 0
        self.members_left -= 1
        return not self.is_spent


class Lookahead:
    """A stream that supports peeking and unreading.

    >>> ahead = Lookahead(io.BytesIO(b"WARC/1.0 and so on"))
    >>> ahead.peek(4), ahead.read(8), ahead.read(100), ahead.read(1)
    (b'WARC', b'WARC/1.0', b' and so on', b'')
    """

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        self._held = b""
        self._at = 0

    def peek(self, size: int) -> bytes:
        """Return the next *size* bytes without consuming them; fewer only at the end of the stream."""
        held = len(self._held) - self._at
        if held < size:
            pieces = [self._held[self._at :]]
            while held < size and (piece := self._stream.read(max(size - held, PIECE_BYTES))):
                pieces.append(piece)
                held += len(piece)
            self._held, self._at = b"".join(pieces), 0
        return self._held[self._at : self._at + size]

    def read(self, size: int, /) -> bytes:
        """Return the next *size* bytes, fewer only at the end of the stream."""
        piece = self._read_once(size)
        if len(piece) in (0, size):
            return piece
        whole = io.BytesIO()  # joining a list of pieces would take twice the memory
        while piece:
            whole.write(piece)
            piece = self._read_once(size - whole.tell())
        return whole.getvalue()

    def skip(self, size: int) -> int:
        """Skip *size* bytes; return how many there were."""
        left = size
        while left > 0 and (piece := self._read_once(min(left, PIECE_BYTES))):
            left -= len(piece)
        return size - left

    def unread(self, data: bytes) -> None:
        """Put back *data*, which was read last, to be read again."""
        self._held, self._at = data + self._held[self._at :], 0

    def read_to(self, mark: re.Pattern[bytes], mark_bytes: int, keep_bytes: int) -> bytes:
        """Skip to the next *mark*, or to the end; return the first *keep_bytes* of the bytes before it.

        A mark has at most *mark_bytes*.

        >>> ahead = Lookahead(io.BytesIO(b"some junk, then PK and more"))
        >>> ahead.read_to(re.compile(b"PK"), 2, 9), ahead.read(6)
        (b'some junk', b'PK and')
        """
        kept: list[bytes] = []
        bytes_left = keep_bytes
        while True:
            match = mark.search(self._held, self._at)
            end = match.start() if match else max(len(self._held) - mark_bytes + 1, self._at)
            kept.append(self._held[self._at : min(end, self._at + bytes_left)])
            bytes_left -= len(kept[-1])
            self._at = end
            if match:
                break
            piece = self._stream.read(PIECE_BYTES)
            if not piece:
                kept.append(self.read(mark_bytes)[:bytes_left])
                break
            self._held, self._at = self._held[self._at :] + piece, 0
        return b"".join(kept)

    def _read_once(self, size: int) -> bytes:
        """Return up to *size* bytes, from the buffer if it is not empty, else from the stream."""
        if size <= 0:
            return b""
        if self._at == len(self._held):
            self._held, self._at = self._stream.read(max(size, PIECE_BYTES)), 0
        piece = self._held[self._at : self._at + size]
        self._at += len(piece)
        return piece


def size_of(stream: BinaryIO) -> int:
    """Return the number of bytes after the position of a seekable stream, which doesn't move."""
    here = stream.tell()
    end = stream.seek(0, io.SEEK_END)
    stream.seek(here)
    return end - here


if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

#: The memory limit for an XZ stream; `xz -9` needs 65 MiB.
_XZ_MEMORY_BYTES = 128 * 2**20
#: The damage of a stream without an end.
CUT_OFF = "it ends too early"
#: Faults after which no further member is searched for.
_FAULTS_AT_MOST = 1000
_FAULTS = (zlib.error, lzma.LZMAError, zstd.ZstdError, brotli.error, OSError, EOFError, ValueError)


class Compression(StrEnum):
    """The compression of a stream; the values are the content codings of HTTP where they exist."""

    GZIP = "gzip"
    ZLIB = "deflate"
    DEFLATE = "raw deflate"
    BZIP2 = "bzip2"
    XZ = "xz"
    ZSTD = "zstd"
    BROTLI = "br"


#: More codings of one body than this are an attack.
MOST_CODINGS = 5

#: The first bytes of a stream; the other compressions have no signature.
SIGNATURES: Mapping[Compression, bytes] = {
    Compression.GZIP: b"\x1f\x8b\x08",
    Compression.BZIP2: b"BZh",
    Compression.XZ: b"\xfd7zXZ\0",
    Compression.ZSTD: b"(\xb5/\xfd",
}


class _Decompressor(Protocol):
    """The interface shared by `bz2`, `lzma` and `zstd`; the classes below adapt the others to it."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /, max_length: int = -1) -> bytes: ...


class DecompressedStream:
    """The content of a compressed stream with one or more members or frames.

    Damage is skipped if another member begins after it; `damage` describes it.

    >>> import io
    >>> stream = io.BytesIO(zlib.compress(b"ark:/12148/btv1b8")[:-6])
    >>> content = DecompressedStream(stream, Compression.ZLIB, SizeBudget(bytes_left=100, members_left=1))
    >>> content.read(100), content.read(100), content.damage
    (b'ark:/12148/btv1b', b'', 'it ends too early')
    """

    def __init__(self, stream: Readable, compression: Compression, budget: SizeBudget) -> None:
        self.damage = ""
        self._stream = stream
        self._compression = compression
        self._budget = budget
        self._input = b""
        self._decompressor: _Decompressor | None = _DECOMPRESSORS[compression]()
        self._faults_left = _FAULTS_AT_MOST

    @property
    def is_at_end(self) -> bool:
        """True if the content has been read to its end."""
        return self._decompressor is None

    def read(self, size: int, /) -> bytes:
        """Return up to *size* bytes (at most 64 KiB); empty at the end, or when the budget is spent."""
        while (decompressor := self._decompressor) is not None:
            if decompressor.eof:
                self._input = decompressor.unused_data
                self._next_member()
                continue
            if decompressor.needs_input and not self._input:
                self._input = self._stream.read(PIECE_BYTES)
                if not self._input:
                    self._decompressor = None
                    self.damage = self.damage or CUT_OFF
                    return b""
            granted = self._budget.spend_bytes(min(size, PIECE_BYTES))
            if not granted:
                return b""
            data = self._decompress(decompressor, granted)
            self._budget.bytes_left = max(self._budget.bytes_left + granted - len(data), 0)  # Brotli may give more
            if data:
                return data
        return b""

    def _decompress(self, decompressor: _Decompressor, size: int) -> bytes:
        given, self._input = self._input, b""
        try:
            return decompressor.decompress(given, size)
        except _FAULTS as fault:
            self.damage = self.damage or str(fault) or type(fault).__name__
            self._faults_left -= 1
            salvaged = b""
            if isinstance(decompressor, _Zlib):
                salvaged, self._input = decompressor.salvage(given, size, SIGNATURES.get(self._compression))
            self._next_member()
            return salvaged

    def _next_member(self) -> None:
        """Start the next member, if there is one."""
        self._decompressor = None
        signature = SIGNATURES.get(self._compression)
        if signature is None or not self._faults_left:
            return
        while True:
            signature_at = self._input.find(signature)
            if signature_at >= 0:
                if self._input[:signature_at].strip(b"\0"):
                    self.damage = self.damage or "junk between its members"
                self._input = self._input[signature_at:]
                self._decompressor = _DECOMPRESSORS[self._compression]()
                return
            tail = self._input[-len(signature) + 1 :]
            following = self._stream.read(PIECE_BYTES)
            if not following:
                return
            self._input = tail + following


class _Zlib:
    """`zlib` as a `_Decompressor` that can recover the content before damage."""

    def __init__(self, window_bits: int) -> None:
        self._zlib = zlib.decompressobj(window_bits)
        self._before = self._zlib
        """Its state before the last piece."""
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def unused_data(self) -> bytes:
        return self._zlib.unused_data

    def decompress(self, data: bytes, /, max_length: int = -1) -> bytes:
        self._before = self._zlib.copy()
        given = self._zlib.unconsumed_tail + data
        content = self._zlib.decompress(given, max_length)
        self.needs_input = not self._zlib.unconsumed_tail and len(content) < max_length
        return content

    def salvage(self, data: bytes, max_length: int, signature: bytes | None) -> tuple[bytes, bytes]:
        """Return the content before the damage, and the bytes after it.

        A truncated member runs into the next one, so that the fault appears only after that one's beginning.
        """
        before = self._before
        given = before.unconsumed_tail + data
        following = given.find(signature, 1) if signature else -1
        content: list[bytes] = []
        for at in range(len(given)):
            if at == following:
                return b"".join(content)[:max_length], given[at:]
            try:
                content.append(before.decompress(given[at : at + 1]))
            except zlib.error:
                return b"".join(content)[:max_length], given[at + 1 :]
        return b"".join(content)[:max_length], b""


class _Brotli:
    """`brotli` as a `_Decompressor`; it doesn't return the bytes after its end."""

    unused_data = b""

    def __init__(self) -> None:
        self._brotli = brotli.Decompressor()

    @property
    def eof(self) -> bool:
        return bool(self._brotli.is_finished())

    @property
    def needs_input(self) -> bool:
        return bool(self._brotli.can_accept_more_data())

    def decompress(self, data: bytes, /, max_length: int = -1) -> bytes:
        content: bytes = self._brotli.process(data, output_buffer_limit=max_length)
        return content


_DECOMPRESSORS: Mapping[Compression, Callable[[], _Decompressor]] = {
    Compression.GZIP: lambda: _Zlib(16 + zlib.MAX_WBITS),
    Compression.ZLIB: lambda: _Zlib(zlib.MAX_WBITS),
    Compression.DEFLATE: lambda: _Zlib(-zlib.MAX_WBITS),
    Compression.BZIP2: bz2.BZ2Decompressor,
    Compression.XZ: lambda: lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=_XZ_MEMORY_BYTES),
    Compression.ZSTD: zstd.ZstdDecompressor,
    Compression.BROTLI: _Brotli,
}
