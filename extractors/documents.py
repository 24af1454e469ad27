"""What a reader makes of a document: blocks of text that know where they stand, links, and what went wrong."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """In which part a mention plays in its document."""

    TEXT = "text"
    LINK_TARGET = "link-target"
    METADATA = "metadata"
    LINK_ANNOTATION = "link-annotation"
    STRUCTURED_DATA = "structured-data"


@dataclass(frozen=True, slots=True)
class Block:
    """A run of text that a human or a program reads as one piece.

    Offsets of mentions are code points in `text`. A `TEXT` block may hold line breaks as the source has them; every
    other role is one value (a link target, a metadata value) as its format decodes it.
    """

    text: str
    role: Role = Role.TEXT
    page: int | None = None
    """The page in a paginated document, counted from 1."""
    place: str = ""
    """Element and attribute (``a/@href``), or a rectangle on the page in points (``rect:72,100,300,112``)."""


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """Something about a document that its reader must know: why it could not be read, or what stands in it."""

    kind: str
    """A token: ``unreadable``, ``encrypted``, ``unknown-format``, ``parser-crashed``, ``parser-timeout``,
    ``page-limit``, ``size-limit``, ``namespace-mention``, ``empty`` …"""
    detail: str


@dataclass(frozen=True, slots=True)
class Reading:
    """A document as its reader saw it."""

    media_type: str
    blocks: tuple[Block, ...] = ()
    links: tuple[str, ...] = ()
    """Targets that may lead to further documents, as written, in order, each once."""
    base: str | None = None
    """The base URL that the document declares for its links, if any."""
    title: str = ""
    findings: tuple[Finding, ...] = ()
