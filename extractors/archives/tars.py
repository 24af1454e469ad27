"""The files in a tar archive, read forward.

The headers are `tarfile`'s to decode. Walking is not: it reads a PAX header of any size at once, keeps every entry in
memory, and before Python 3.12.6 takes quadratic time over a hostile header.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass

from extractors.archives.compression import Limited, Lookahead, SizeBudget

BLOCK_BYTES = tarfile.BLOCKSIZE
#: A longer name, or a longer PAX header, is passed over.
_NAME_BYTES = 2**16
#: Only what a shell would call a file: no link, device or pipe, and no sparse file, whose size is up to its header.
_REGULAR = frozenset({tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE})
_LONG_NAME = tarfile.GNUTYPE_LONGNAME
_PAX = frozenset({tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE})
#: Types whose size announces no content.
_EMPTY = frozenset(
    {
        tarfile.LNKTYPE,
        tarfile.SYMTYPE,
        tarfile.CHRTYPE,
        tarfile.BLKTYPE,
        tarfile.DIRTYPE,
        tarfile.FIFOTYPE,
    }
)


@dataclass(frozen=True, slots=True)
class TarEntry:
    """A file in a tar archive; its content is to be read before the next entry is asked for."""

    name: str
    content: Limited


def entries(ahead: Lookahead, budget: SizeBudget) -> Iterator[TarEntry | str]:
    """The regular files of a tar archive, and in words what was wrong with it, once; never raises.

    After a damaged header the next good one is looked for.
    """
    name = ""
    is_damaged = False
    while block := ahead.read(BLOCK_BYTES):
        if block.count(0) == len(block):
            continue
        header = _header(block)
        if header is None:
            if not is_damaged:
                yield (
                    "a header in it is damaged"
                    if len(block) == BLOCK_BYTES
                    else "it ends in the middle of a header"
                )
            is_damaged = True
            continue
        if not budget.spend_member():
            return
        size = 0 if header.type in _EMPTY else max(header.size, 0)
        content = Limited(ahead, size)
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
        ahead.skip(-size % BLOCK_BYTES)


def is_tar(head: bytes) -> bool:
    """Return whether *head* begins with the header of a tar archive, of any age."""
    block = head[:BLOCK_BYTES]
    if (
        len(block) < BLOCK_BYTES or block[:1] == b"\0" or b"\0" not in block
    ):  # with which its fields are filled up
        return False
    return _header(block) is not None


def _header(block: bytes) -> tarfile.TarInfo | None:
    try:
        return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except (tarfile.HeaderError, ValueError, OverflowError):
        return None


def _pax_path(value: bytes) -> str:
    """The name in a PAX header, empty if it holds none.

    >>> _pax_path(b"18 path=a/b.html\\n\\n")
    'a/b.html'
    """
    for line in value.split(b"\n"):
        length, _, record = line.partition(b" ")
        keyword, _, path = record.partition(b"=")
        if keyword == b"path" and length.isdigit():
            return path.decode("utf-8", "surrogateescape")
    return ""
