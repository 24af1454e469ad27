"""Documents between the two passes of a dataset: one line of JSON each, with its mentions and doubts about them."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from extractors.archives.members import INSIDE, ArchiveMember
from extractors.document_model import Finding
from extractors.documents import Document
from extractors.mentions.kept import mention_json, mention_of_json, unresolved_json, unresolved_of

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


def line_of(document: Document, origin: Origin) -> bytes:
    """Return a line that `document_in` reads; lone surrogates stay what they are."""
    kept = {
        "name": document.name,
        "source": origin.source,
        "url": origin.url,
        "bytes": origin.size,
        "sha256": origin.sha256,
        "link_resolvers": [*origin.link_resolvers.items()],
        "media_type": document.media_type,
        "title": document.title,
        "is_folder": document.is_folder,
        "findings": [[finding.kind, finding.detail] for finding in document.findings],
        "mentions": [mention_json(mention) for mention in document.mentions],
        "unresolved": [unresolved_json(each) for each in document.unresolved],
    }
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass") + b"\n"


def document_in(line: bytes) -> tuple[Document, Origin]:
    """Return the document in a line that `line_of` has made."""
    kept: dict[str, Any] = json.loads(line.decode("utf-8", "surrogatepass"))
    document = Document(
        kept["name"],
        tuple(mention_of_json(each) for each in kept["mentions"]),
        tuple(Finding(kind, detail) for kind, detail in kept["findings"]),
        tuple(unresolved_of(each) for each in kept["unresolved"]),
        kept["media_type"],
        kept["title"],
        kept["is_folder"],
    )
    link_resolvers = dict(kept.get("link_resolvers", ()))
    return document, Origin(kept["source"], kept["url"], kept["bytes"], kept["sha256"], link_resolvers)


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
