"""Read the documents of an archive, or a single one, in a process that can be killed.

Such a process imports this module. It must import neither Scrapy nor Twisted, which would take a second each time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from extractors.archives.members import ArchiveMember
from extractors.extraction import Extraction
from extractors.isolated import extraction_in_time
from extractors.mentions.mention import relative_resolvers
from extractors.model.documents import Finding


@dataclass(frozen=True, slots=True)
class MemberReading:
    """The reading of one document."""

    name: str
    url: str | None
    """Its address on the web, for a member of a web archive."""
    size: int
    sha256: str
    extraction: Extraction
    resolvers: tuple[str | None, ...]
    """The resolver of each mention's page, if a relative link refers to it."""

    @classmethod
    def from_member(cls, member: ArchiveMember, extraction: Extraction, page_url: str | None) -> MemberReading:
        """Return the reading of *member*, which is, or was, at *page_url* on the web."""
        resolvers: Iterable[str | None] = (None,) * len(extraction.mentions)
        if page_url is not None:
            resolvers = relative_resolvers(extraction.mentions, extraction.reading, page_url)
        digest = hashlib.sha256(member.data).hexdigest()
        return cls(member.name, member.url, len(member.data), digest, extraction, tuple(resolvers))


def read_members(
    parts: Sequence[ArchiveMember | Finding], *, own: str, page_url: str | None
) -> list[MemberReading | Finding]:
    """Return the reading of each member among *parts*; the one named *own* is at *page_url*.

    Texts, and links that are not followed, are left out, to keep the transfer between processes small.
    """
    readings: list[MemberReading | Finding] = []
    for part in parts:
        if isinstance(part, ArchiveMember):
            is_page = part.name == own and page_url is not None
            extraction = extraction_in_time(part)
            member = MemberReading.from_member(part, extraction, page_url if is_page else part.url)
            kept = replace(extraction.reading, blocks=(), links=extraction.reading.links if is_page else ())
            readings.append(replace(member, extraction=replace(extraction, reading=kept)))
        else:
            readings.append(part)
    return readings
