"""Streams that are read forward, piece by piece, and never further than a budget allows."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import BinaryIO, Protocol

#: What is read from a stream at a time.
PIECE_BYTES = 2**16


class Readable(Protocol):
    """A stream of bytes; fewer than asked for are no sign of its end, none are."""

    def read(self, size: int, /) -> bytes: ...


@dataclass(slots=True)
class SizeBudget:
    """The bytes that may still be spent on an archive and all that is nested in it."""

    bytes_left: int
    """Bytes that may come out of decompression; those that are read a second time count as well."""
    members_left: int
    is_out_of_bytes: bool = False
    is_out_of_members: bool = False

    @property
    def is_spent(self) -> bool:
        """True if something was refused for lack of budget."""
        return self.is_out_of_bytes or self.is_out_of_members

    def spend_bytes(self, size: int) -> int:
        """Return how many of *size* bytes are granted; once that is none, the budget is spent."""
        granted = min(size, self.bytes_left)
        self.bytes_left -= granted
        self.is_out_of_bytes |= granted == 0 < size
        return granted

    def spend_member(self) -> bool:
        """Return whether another member may be looked at."""
        self.is_out_of_members |= self.members_left <= 0
        self.members_left -= 1
        return not self.is_spent


class Limited:
    """The next *size* bytes of a stream, or as many of them as there are."""

    def __init__(self, stream: Readable, size: int) -> None:
        self._stream = stream
        self.left = size

    def read(self, size: int, /) -> bytes:
        """Up to *size* bytes; none at the end."""
        data = self._stream.read(min(size, self.left))
        self.left -= len(data)
        return data


class Lookahead:
    """A stream that can be looked into before it is read, and given back what was read too much.

    >>> ahead = Lookahead(io.BytesIO(b"WARC/1.0 and so on"))
    >>> ahead.peek(4), ahead.read(8), ahead.read(100), ahead.read(1)
    (b'WARC', b'WARC/1.0', b' and so on', b'')
    """

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        self._held = b""
        self._at = 0

    def peek(self, size: int) -> bytes:
        """The next *size* bytes, fewer only where the stream ends; they stay unread."""
        held = len(self._held) - self._at
        if held < size:
            pieces = [self._held[self._at :]]
            while held < size and (piece := self._stream.read(max(size - held, PIECE_BYTES))):
                pieces.append(piece)
                held += len(piece)
            self._held, self._at = b"".join(pieces), 0
        return self._held[self._at : self._at + size]

    def read(self, size: int, /) -> bytes:
        """The next *size* bytes, fewer only where the stream ends."""
        piece = self._some(size)
        if len(piece) in (0, size):
            return piece
        whole = io.BytesIO()  # where pieces and a join would take the memory twice
        while piece:
            whole.write(piece)
            piece = self._some(size - whole.tell())
        return whole.getvalue()

    def skip(self, size: int) -> int:
        """Pass over *size* bytes; returns how many there were."""
        left = size
        while left > 0 and (piece := self._some(min(left, PIECE_BYTES))):
            left -= len(piece)
        return size - left

    def unread(self, data: bytes) -> None:
        """Give back what was read last; it is what comes next again."""
        self._held, self._at = data + self._held[self._at :], 0

    def read_to(self, mark: bytes, keep_bytes: int) -> bytes:
        """Return what stands before the next *mark*, or before the end; of that, the first *keep_bytes*.

        >>> ahead = Lookahead(io.BytesIO(b"some junk, then PK and more"))
        >>> ahead.read_to(b"PK", 9), ahead.read(6)
        (b'some junk', b'PK and')
        """
        kept: list[bytes] = []
        room = keep_bytes
        while True:
            found = self._held.find(mark, self._at)
            end = found if found >= 0 else max(len(self._held) - len(mark) + 1, self._at)
            kept.append(self._held[self._at : min(end, self._at + room)])
            room -= len(kept[-1])
            self._at = end
            if found >= 0:
                break
            piece = self._stream.read(PIECE_BYTES)
            if not piece:
                kept.append(self.read(len(mark))[:room])
                break
            self._held, self._at = self._held[self._at :] + piece, 0
        return b"".join(kept)

    def _some(self, size: int) -> bytes:
        """Up to *size* bytes: what is held, else what the stream gives."""
        if size <= 0:
            return b""
        if self._at == len(self._held):
            self._held, self._at = self._stream.read(max(size, PIECE_BYTES)), 0
        piece = self._held[self._at : self._at + size]
        self._at += len(piece)
        return piece


def size_of(stream: BinaryIO) -> int:
    """Return how many bytes a seekable stream has behind its position, which stays."""
    here = stream.tell()
    end = stream.seek(0, io.SEEK_END)
    stream.seek(here)
    return end - here
