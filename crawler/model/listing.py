"""Pure: what a document is as a source, and what it lists."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from extractors.model.documents import Finding


class SourceKind(StrEnum):
    """The kind of a document as a source of further ones; before a seed (``oai:https://…``) it is an order."""

    PAGE = "page"
    SITEMAP = "sitemap"
    OAI = "oai"
    FEED = "feed"
    IIIF = "iiif"
    LIST = "list"


@dataclass(frozen=True, slots=True)
class ListedItem:
    """One item that a source lists."""

    url: str
    """As it is sent."""
    found_on: str | None = None
    """The document within the source that names it, such as a record; None for the source itself."""
    is_elsewhere: bool = True
    """Whether it is asked for wherever it is; otherwise only within the scope of the crawl."""


@dataclass(frozen=True, slots=True)
class ListedRecord:
    """A document within a source: the metadata of one OAI record."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class SourceReading:
    """The reading of one document as a source."""

    kind: SourceKind
    items: tuple[ListedItem, ...] = ()
    """What it lists, in order."""
    further: tuple[str, ...] = ()
    """Where the source goes on: the next page, the sitemaps of an index, nested collections."""
    records: tuple[ListedRecord, ...] = ()
    listed: tuple[str, ...] = ()
    """Names of what it holds next to its items, such as the identifiers of all records: two parts of a source that list
    the same are one and the same part."""
    findings: tuple[Finding, ...] = ()
    is_faulty: bool = False
    """Whether it says that it can't give what it was asked for, or says nothing at all."""
    is_document: bool = True
    """Whether it is also read as a document itself; one of records is not, or each would be read twice."""
