"""A document's bytes go in, everything that it says about ARKs comes out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from extractors.documents import Block, Finding, Reading, Role
from extractors.find import STANDS_WHOLE, Mention, NamespaceMention, scan
from extractors.formats import read_document
from extractors.shapes import Shapes
from extractors.wraps import Evidence

Found = Mention | NamespaceMention


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
    found = _scan_all(reading.blocks)
    namespaces = {
        Finding("namespace-mention", f"{namespace.as_written!r} names a NAAN, not an object: {namespace.context}")
        for namespace in found
        if isinstance(namespace, NamespaceMention)
    }
    mentions = tuple(_mentions(found))
    return Extraction(replace(reading, findings=(*reading.findings, *sorted(namespaces))), mentions)


def _scan_all(blocks: tuple[Block, ...]) -> list[Found]:
    """Everything found, in the order of the blocks.

    What stands whole is read first, for it is evidence: link targets and metadata, where no line breaks, and then
    those names in the text that touch no line's end. Only a text with a wrap inside an ARK is read a second time.
    """
    targets = {
        index: list(scan(block, Evidence())) for index, block in enumerate(blocks) if block.role is not Role.TEXT
    }
    whole = [mention.ark for found in targets.values() for mention in _mentions(found)]
    evidence = Evidence.of(whole)
    found = [targets[index] if index in targets else list(scan(block, evidence)) for index, block in enumerate(blocks)]
    unbroken = [mention.ark for each in found for mention in _mentions(each) if mention.reason == STANDS_WHOLE]
    shapes = Shapes.learned(unbroken)
    if shapes.lengths:
        evidence = Evidence.of(whole, shapes=shapes)
        for index, each in enumerate(found):
            if index not in targets and any(mention.reason != STANDS_WHOLE for mention in _mentions(each)):
                found[index] = list(scan(blocks[index], evidence))
    return [each for in_block in found for each in in_block]


def _mentions(found: Iterable[Found]) -> Iterator[Mention]:
    return (each for each in found if isinstance(each, Mention))
