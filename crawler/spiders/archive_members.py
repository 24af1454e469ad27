"""The extraction of a document of an archive, or of a single one, as far as the crawler uses it.

A process that reads documents imports this module. It must import neither Scrapy nor Twisted, which would take a second
each time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace

from extractors.archives.members import ArchiveMember
from extractors.extraction import Extraction
from extractors.mentions.mention import relative_resolvers
from extractors.model.documents import Finding


@dataclass(frozen=True, slots=True)
class MemberExtraction:
    """The extraction of one document, which may be a member of an archive."""

    name: str
    url: str | None
    """The URL of a member of a web archive; None for other members."""
    size: int
    sha256: str
    extraction: Extraction
    resolvers: tuple[str | None, ...]
    """For each mention, the resolver of its page if the mention is a relative link, otherwise None."""

    @classmethod
    def from_member(cls, member: ArchiveMember, extraction: Extraction, page_url: str | None) -> MemberExtraction:
        """Return the extraction of *member*, whose URL is, or was, *page_url* (None for a file)."""
        resolvers: Iterable[str | None] = (None,) * len(extraction.mentions)
        if page_url is not None:
            resolvers = relative_resolvers(extraction.mentions, extraction.reading, page_url)
        digest = hashlib.sha256(member.data).hexdigest()
        return cls(member.name, member.url, len(member.data), digest, extraction, tuple(resolvers))


def member_extraction(
    part: ArchiveMember | Finding, extraction: Extraction | None, *, own_name: str, page_url: str | None
) -> MemberExtraction | Finding:
    """Return the *extraction* of *part*, or *part* itself if it is a finding.

    The member named *own_name* is the fetched document itself, whose URL is *page_url*.

    Texts, and links that are not followed, are left out, to keep the transfer between processes small.
    """
    if isinstance(part, Finding):
        return part
    assert extraction is not None
    is_page = part.name == own_name and page_url is not None
    member = MemberExtraction.from_member(part, extraction, page_url if is_page else part.url)
    transferred_reading = replace(extraction.reading, blocks=(), links=extraction.reading.links if is_page else ())
    return replace(member, extraction=replace(extraction, reading=transferred_reading))
