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
        """Deduct at most *size* bytes; return the number of bytes granted, 0 if none are left."""
        granted_bytes = min(size, self.bytes_left)
        self.bytes_left -= granted_bytes
        self.is_out_of_bytes |= granted_bytes == 0 < size
        return granted_bytes

    def spend_member(self) -> bool:
        """Deduct one member; return False if the budget has run out, so that it must not be read."""
        self.is_out_of_members |= self.members_left <= 0
        self.members_left -= 1
        return not self.is_spent


class Lookahead:
    """A stream that supports peeking and unreading.

    >>> stream = Lookahead(io.BytesIO(b"WARC/1.0 and so on"))
    >>> stream.peek(4), stream.read(8), stream.read(100), stream.read(1)
    (b'WARC', b'WARC/1.0', b' and so on', b'')
    """

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        self._buffer = b""
        self._position = 0

    def peek(self, size: int) -> bytes:
        """Return the next *size* bytes without consuming them; fewer only at the end of the stream."""
        available_bytes = len(self._buffer) - self._position
        if available_bytes < size:
            pieces = [self._buffer[self._position :]]
            while available_bytes < size and (piece := self._stream.read(max(size - available_bytes, PIECE_BYTES))):
                pieces.append(piece)
                available_bytes += len(piece)
            self._buffer, self._position = b"".join(pieces), 0
        return self._buffer[self._position : self._position + size]

    def read(self, size: int, /) -> bytes:
        """Return the next *size* bytes, fewer only at the end of the stream."""
        piece = self._read_once(size)
        if len(piece) in (0, size):
            return piece
        result = io.BytesIO()  # joining a list of pieces would take twice the memory
        while piece:
            result.write(piece)
            piece = self._read_once(size - result.tell())
        return result.getvalue()

    def skip(self, size: int) -> int:
        """Skip *size* bytes; return the number of bytes skipped, fewer only at the end of the stream."""
        bytes_left = size
        while bytes_left > 0 and (piece := self._read_once(min(bytes_left, PIECE_BYTES))):
            bytes_left -= len(piece)
        return size - bytes_left

    def unread(self, data: bytes) -> None:
        """Put *data*, the bytes read last, back before the next byte."""
        self._buffer, self._position = data + self._buffer[self._position :], 0

    def read_to(self, mark: re.Pattern[bytes], mark_bytes: int, keep_bytes: int) -> bytes:
        """Skip to the next match of *mark*, or to the end; return the first *keep_bytes* bytes skipped.

        A match has at most *mark_bytes* bytes.

        >>> stream = Lookahead(io.BytesIO(b"some junk, then PK and more"))
        >>> stream.read_to(re.compile(b"PK"), 2, 9), stream.read(6)
        (b'some junk', b'PK and')
        """
        kept_pieces: list[bytes] = []
        bytes_left = keep_bytes
        while True:
            match = mark.search(self._buffer, self._position)
            end = match.start() if match else max(len(self._buffer) - mark_bytes + 1, self._position)
            kept_pieces.append(self._buffer[self._position : min(end, self._position + bytes_left)])
            bytes_left -= len(kept_pieces[-1])
            self._position = end
            if match:
                break
            piece = self._stream.read(PIECE_BYTES)
            if not piece:
                kept_pieces.append(self.read(mark_bytes)[:bytes_left])
                break
            self._buffer, self._position = self._buffer[self._position :] + piece, 0
        return b"".join(kept_pieces)

    def _read_once(self, size: int) -> bytes:
        """Return up to *size* bytes, from the buffer if it is not empty, else from the stream."""
        if size <= 0:
            return b""
        if self._position == len(self._buffer):
            self._buffer, self._position = self._stream.read(max(size, PIECE_BYTES)), 0
        piece = self._buffer[self._position : self._position + size]
        self._position += len(piece)
        return piece


def remaining_bytes(stream: BinaryIO) -> int:
    """Return the number of bytes between the position of a seekable *stream*, which stays there, and its end."""
    position = stream.tell()
    end = stream.seek(0, io.SEEK_END)
    stream.seek(position)
    return end - position


if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

#: The memory limit for an XZ stream; `xz -9` needs 65 MiB.
_XZ_MEMORY_BYTES = 128 * 2**20
#: The damage of a stream without an end.
CUT_OFF = "it ends too early"
#: Faults after which no further member is searched for.
_MOST_FAULTS = 1000
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


#: Maximum number of content codings of one body; more are an attack.
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

    Damage is skipped if another member begins after it. `damage` describes the first damage, or is empty.

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
        self._faults_left = _MOST_FAULTS

    @property
    def is_at_end(self) -> bool:
        """True if the content has been read to its end."""
        return self._decompressor is None

    def read(self, size: int, /) -> bytes:
        """Return up to *size* bytes (at most 64 KiB); empty at the end, or when the budget is spent."""
        while (decompressor := self._decompressor) is not None:
            if decompressor.eof:
                self._input = decompressor.unused_data
                self._begin_next_member()
                continue
            if decompressor.needs_input and not self._input:
                self._input = self._stream.read(PIECE_BYTES)
                if not self._input:
                    self._decompressor = None
                    self.damage = self.damage or CUT_OFF
                    return b""
            granted_bytes = self._budget.spend_bytes(min(size, PIECE_BYTES))
            if not granted_bytes:
                return b""
            data = self._decompress(decompressor, granted_bytes)
            # Brotli may give more.
            self._budget.bytes_left = max(self._budget.bytes_left + granted_bytes - len(data), 0)
            if data:
                return data
        return b""

    def _decompress(self, decompressor: _Decompressor, size: int) -> bytes:
        """Return up to *size* decompressed bytes of the input. At damage, return those before it that can be saved.

        Damage is described in `damage`. Decompression continues with the next member of the input, if there is one.
        """
        compressed_data, self._input = self._input, b""
        try:
            return decompressor.decompress(compressed_data, size)
        except _FAULTS as fault:
            self.damage = self.damage or str(fault) or type(fault).__name__
            self._faults_left -= 1
            content = b""
            if isinstance(decompressor, _Zlib):
                content, self._input = decompressor.salvage(compressed_data, size, SIGNATURES.get(self._compression))
            self._begin_next_member()
            return content

    def _begin_next_member(self) -> None:
        """Search the input for the next member, and begin to decompress it."""
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
            piece = self._stream.read(PIECE_BYTES)
            if not piece:
                return
            self._input = tail + piece


class _Zlib:
    """`zlib` as a `_Decompressor` that can recover the content before damage."""

    def __init__(self, window_bits: int) -> None:
        self._zlib = zlib.decompressobj(window_bits)
        self._previous_state = self._zlib
        """A copy of the decompressor from before the last piece of data, for `salvage`."""
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def unused_data(self) -> bytes:
        return self._zlib.unused_data

    def decompress(self, data: bytes, /, max_length: int = -1) -> bytes:
        self._previous_state = self._zlib.copy()
        compressed_data = self._zlib.unconsumed_tail + data
        content = self._zlib.decompress(compressed_data, max_length)
        self.needs_input = not self._zlib.unconsumed_tail and len(content) < max_length
        return content

    def salvage(self, data: bytes, max_length: int, signature: bytes | None) -> tuple[bytes, bytes]:
        """Return at most *max_length* bytes of content before the damage in *data*, and the compressed bytes after it.

        If a *signature* comes before the failure, the compressed bytes begin with it. A truncated member fails only
        within the next member, which begins there.
        """
        decompressor = self._previous_state
        compressed_data = decompressor.unconsumed_tail + data
        next_member = compressed_data.find(signature, 1) if signature else -1
        pieces: list[bytes] = []
        for offset in range(len(compressed_data)):
            if offset == next_member:
                return b"".join(pieces)[:max_length], compressed_data[offset:]
            try:
                pieces.append(decompressor.decompress(compressed_data[offset : offset + 1]))
            except zlib.error:
                return b"".join(pieces)[:max_length], compressed_data[offset + 1 :]
        return b"".join(pieces)[:max_length], b""


class _Brotli:
    """`brotli` as a `_Decompressor`, without the bytes after its end."""

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
