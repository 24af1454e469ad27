"""A document's bytes go in, everything that it says about ARKs comes out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from extractors.ark import Ark
from extractors.documents import Block, Finding, Reading, Role
from extractors.find import Mention, NamespaceMention, scan
from extractors.formats import read_document
from extractors.wraps import Evidence


@dataclass(frozen=True, slots=True)
class Extraction:
    """What one document holds: its mentions in reading order, and where it leads."""

    reading: Reading
    mentions: tuple[Mention, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What its reader must know about the document."""
        return self.reading.findings


def extract(data: bytes, *, media_type: str | None = None, name: str = "", charset: str | None = None) -> Extraction:
    """Everything about ARKs in a document of any format. Never raises: what goes wrong is a finding.

    >>> [mention] = extract(b"<p>See <a href='https://n2t.net/ark:12148/btv1b84'>it</a>.", name="a.html").mentions
    >>> str(mention.ark), mention.role.value, mention.place
    ('ark:12148/btv1b84', 'link-target', 'a/@href')
    """
    reading = read_document(data, media_type=media_type, name=name, charset=charset)
    found = list(_scan_all(reading.blocks))
    namespaces = {
        Finding("namespace-mention", f"{namespace.as_written!r} names a NAAN, not an object: {namespace.context}")
        for namespace in found
        if isinstance(namespace, NamespaceMention)
    }
    mentions = tuple(mention for mention in found if isinstance(mention, Mention))
    return Extraction(replace(reading, findings=(*reading.findings, *sorted(namespaces))), mentions)


def _scan_all(blocks: Iterable[Block]) -> Iterable[Mention | NamespaceMention]:
    """What stands whole is read first, as evidence for the text, where lines break."""
    blocks = tuple(blocks)
    whole: dict[int, list[Mention | NamespaceMention]] = {}
    arks: list[Ark] = []
    for index, block in enumerate(blocks):
        if block.role is not Role.TEXT:
            whole[index] = list(scan(block, Evidence()))
            arks += (mention.ark for mention in whole[index] if isinstance(mention, Mention))
    evidence = Evidence.of(arks)
    for index, block in enumerate(blocks):
        yield from whole[index] if index in whole else scan(block, evidence)
