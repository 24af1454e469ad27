"""Extract the documents of an archive, or a single one, in this process or in one that can be killed.

Such a process imports this module. It must import neither Scrapy nor Twisted, which would take a second each time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from extractors.archives.members import ArchiveMember
from extractors.extraction import Extraction
from extractors.isolated import extraction_in_time, extraction_of_member, failed_extraction, inline_extraction
from extractors.mentions.mention import relative_resolvers
from extractors.model.documents import Finding
from extractors.processes.worker import WorkerError


@dataclass(frozen=True, slots=True)
class MemberExtraction:
    """The extraction of one document, which may be a member of an archive."""

    name: str
    url: str | None
    """Its address on the web, for a member of a web archive."""
    size: int
    sha256: str
    extraction: Extraction
    resolvers: tuple[str | None, ...]
    """The resolver of each mention's page, if a relative link refers to it."""

    @classmethod
    def from_member(cls, member: ArchiveMember, extraction: Extraction, page_url: str | None) -> MemberExtraction:
        """Return the extraction of *member*, which is, or was, at *page_url* on the web."""
        resolvers: Iterable[str | None] = (None,) * len(extraction.mentions)
        if page_url is not None:
            resolvers = relative_resolvers(extraction.mentions, extraction.reading, page_url)
        digest = hashlib.sha256(member.data).hexdigest()
        return cls(member.name, member.url, len(member.data), digest, extraction, tuple(resolvers))


def extract_members(
    parts: Sequence[ArchiveMember | Finding], *, own: str, page_url: str | None
) -> list[MemberExtraction | Finding]:
    """Return the extraction of each member among *parts*; the one named *own* is at *page_url*.

    Texts, and links that are not followed, are left out, to keep the transfer between processes small.
    """
    extracted: list[MemberExtraction | Finding] = []
    for part in parts:
        if isinstance(part, ArchiveMember):
            is_page = part.name == own and page_url is not None
            extraction = extraction_in_time(part)
            member = MemberExtraction.from_member(part, extraction, page_url if is_page else part.url)
            kept = replace(extraction.reading, blocks=(), links=extraction.reading.links if is_page else ())
            extracted.append(replace(member, extraction=replace(extraction, reading=kept)))
        else:
            extracted.append(part)
    return extracted


def extract_inline(
    part: ArchiveMember | Finding, *, own: str, page_url: str | None
) -> MemberExtraction | Finding | None:
    """Return the extraction of a part that can be read in this process, or else None; see `extract_members`."""
    if isinstance(part, Finding):
        return part
    extraction = inline_extraction(part)
    if extraction is None:
        return None
    return MemberExtraction.from_member(part, extraction, page_url if part.name == own else part.url)


def failed_member(part: ArchiveMember | Finding, failure: WorkerError) -> MemberExtraction | Finding:
    """Return the extraction of a document whose process ended, with the reason as its finding."""
    if isinstance(part, Finding):
        return part
    return MemberExtraction.from_member(
        part, extraction_of_member(failed_extraction(failure, part.media_type), part), None
    )
