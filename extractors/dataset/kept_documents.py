"""Documents between the two passes of a dataset: one line of JSON each, with its mentions and doubts about them."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa

from extractors.archives.members import INSIDE, ArchiveMember
from extractors.codec import decoded, encoded
from extractors.documents import Document

#: The codec of the files that hold them.
_CODEC = "zstd"


@dataclass(frozen=True, slots=True)
class Origin:
    """What a document was before it was read."""

    source: str
    """The archive or file that it is, or is in."""
    url: str | None = None
    size: int | None = None
    """Its bytes; None for what has none of its own."""
    sha256: str | None = None
    link_resolvers: Mapping[int, str] = field(default_factory=dict)
    """The resolvers that relative links mean, by the places of their mentions."""

    @classmethod
    def of(
        cls, source: str, part: ArchiveMember | Document, link_resolvers: Mapping[int, str] = MappingProxyType({})
    ) -> Origin:
        """Return the origin of *part*, a document that is to be read, or what else is to be said of *source*."""
        if isinstance(part, Document):
            return cls(source)
        return cls(source, part.url, len(part.data), hashlib.sha256(part.data).hexdigest(), link_resolvers)

    def record(self, document: str) -> str:
        """Return what *document* is in its source: nothing for a whole file.

        >>> Origin("a.warc").record("a.warc!/http://b.example/c"), Origin("a.pdf").record("a.pdf")
        ('http://b.example/c', '')
        """
        return document.removeprefix(self.source).removeprefix(INSIDE) if document != self.source else ""


@dataclass(frozen=True, slots=True)
class _Line:
    document: Document
    origin: Origin


def line_of(document: Document, origin: Origin) -> bytes:
    """Return a line that `document_in` reads; lone surrogates stay what they are."""
    return encoded(_Line(document, origin)) + b"\n"


def document_in(line: bytes) -> tuple[Document, Origin]:
    """Return the document in a line that `line_of` has made."""
    read: _Line = decoded(line, _Line)
    return read.document, read.origin


def write_lines(lines: Iterable[bytes], path: Path) -> None:
    """Write *lines* into a compressed file."""
    with pa.CompressedOutputStream(pa.OSFile(str(path), "wb"), _CODEC) as file:
        for line in lines:
            file.write(line)


@contextmanager
def lines_in(path: Path) -> Iterator[Iterator[bytes]]:
    """Give the lines of a compressed file, one by one."""
    with pa.CompressedInputStream(pa.OSFile(str(path), "rb"), _CODEC) as file, io.BufferedReader(file) as lines:
        yield iter(lines.readline, b"")
