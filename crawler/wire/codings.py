"""Pure: the content of a body that was sent compressed, as far as it can be had within bounds."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from extractors.archives.compression import PIECE_BYTES, Compression, Decompressed, SizeBudget

#: A body is a bomb when it grows to more than so many bytes, and to so many times what was sent of it.
BOMB_BYTES, BOMB_RATIO = 2**20, 200
_SIP_BYTES = 2**12
#: No one compresses a page more often than that.
MOST_CODINGS = 5

_CODINGS: Mapping[str, tuple[Compression, ...]] = {
    "gzip": (Compression.GZIP,),
    "x-gzip": (Compression.GZIP,),
    "deflate": (Compression.ZLIB, Compression.DEFLATE),  # some servers leave the wrapper out
    "br": (Compression.BROTLI,),
    "zstd": (Compression.ZSTD,),
}


@dataclass(frozen=True, slots=True)
class Content:
    """The decoded content of a body."""

    data: bytes
    fault: str = ""
    """Why this isn't all, in words; empty when it is."""


def codings_of(headers: Sequence[str]) -> list[str]:
    """The content codings that some Content-Encoding headers name, the one applied first in front.

    >>> codings_of(["deflate, GZip", "br"])
    ['deflate', 'gzip', 'br']
    """
    names = (name.strip().lower() for header in headers for name in header.split(","))
    return [name for name in names if name and name != "identity"]


def content(body: bytes, codings: Sequence[str], *, limit: int) -> Content:
    """The content of *body*, no more than *limit* bytes of it. Codings that no one knows are taken for none.

    Of what is damaged or too large the beginning is given; of a bomb, nothing.

    >>> import gzip
    >>> content(gzip.compress(b"ark:/12148/btv1b84"), ["gzip"], limit=100)
    Content(data=b'ark:/12148/btv1b84', fault='')
    >>> content(gzip.compress(b"ark:/12148/btv1b84"), ["gzip"], limit=5)
    Content(data=b'ark:/', fault='only the first 5 bytes were decompressed')
    >>> content(gzip.compress(bytes(10**8)), ["gzip"], limit=10**7)
    Content(data=b'', fault='it grows to more than 200 times its size')
    """
    if not body:
        return Content(b"")
    if len(codings) > MOST_CODINGS:
        return Content(b"", f"it was compressed {len(codings)} times")
    faults: list[str] = []
    given = body
    for coding in reversed(codings):
        ways = _CODINGS.get(coding)
        if ways is None:
            break
        try:
            read = max(
                (_read(given, way, limit) for way in ways), key=lambda content_: len(content_.data)
            )
        except _Bomb:
            return Content(b"", f"it grows to more than {BOMB_RATIO} times its size")
        given = read.data
        faults += [read.fault] if read.fault else []
    return Content(given, "; ".join(faults))


class _Bomb(Exception):
    """Raised over what grows as nothing does that anybody wrote."""


class _Sips:
    """A body in small pieces, so that the ratio of its size to the content is known."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self.taken = 0

    def read(self, size: int, /) -> bytes:
        piece = self._body[self.taken : self.taken + min(size, _SIP_BYTES)]
        self.taken += len(piece)
        return piece


def _read(body: bytes, compression: Compression, limit: int) -> Content:
    sips = _Sips(body)
    stream = Decompressed(sips, compression, SizeBudget(bytes_left=limit, members_left=1))
    data = io.BytesIO()
    while piece := stream.read(PIECE_BYTES):
        data.write(piece)
        size = data.tell()
        if size > BOMB_BYTES and size > BOMB_RATIO * sips.taken:
            raise _Bomb
    if stream.damage:
        return Content(
            data.getvalue(), f"its {compression.value} coding is damaged: {stream.damage}"
        )
    if not stream.is_at_end:
        return Content(data.getvalue(), f"only the first {data.tell()} bytes were decompressed")
    return Content(data.getvalue())
