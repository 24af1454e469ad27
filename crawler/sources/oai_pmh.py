"""Pure: answers of an OAI-PMH repository (version 2.0), and what is asked of it next.

The harvesters that are kept (oaipmh-scythe, oaipmh) send their requests themselves, and there is no other way into
them; ours go through the one polite spider. What is left to read is a flat list, and is read here.

A harvest is a chain of answers to ``ListRecords``. It ends with an answer without a resumption token, or with an error,
which is then a finding: no one must take half a harvest for a whole one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import quote, unquote_plus, urlsplit

from lxml import etree

from crawler.model.listing import ListedItem, ListedRecord, SourceKind, SourceReading
from crawler.sources.link_targets import absolute
from crawler.sources.xml_walk import Element, elements, local_name, text_of
from extractors.archives.members import INSIDE
from extractors.model.documents import Finding

NAMESPACE = "http://www.openarchives.org/OAI/2.0/"
_RECORD, _ERROR, _TOKEN, _HEADER, _METADATA = (
    f"{{{NAMESPACE}}}{name}" for name in ("record", "error", "resumptionToken", "header", "metadata")
)
#: Verbs that give records with their metadata; after any other the harvest has yet to begin.
_RECORD_VERBS = frozenset({"listrecords", "getrecord"})
_ARGUMENTS = frozenset({"verb", "metadataprefix", "set", "from", "until", "resumptiontoken", "identifier"})
#: Elements in which a format says where its object is; compared in lower case.
_PLACES = frozenset({"identifier", "url", "isshownat", "isshownby"})
_HTTP = re.compile(r"https?://\S+\Z", re.IGNORECASE)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)?\Z")
#: How an answer ends, and what shows that it goes on: half a harvest must not pass for a whole one.
_END = re.compile(rb"</(?:[\w.-]+:)?OAI-PMH\s*>\s*\Z")
_END_BYTES = 4096
_TOKEN_TAG = re.compile(rb"<(?:[\w.-]+:)?resumptionToken\b")
#: An empty set is an answer like any other.
_NO_FAULT = frozenset({"noRecordsMatch"})


@dataclass(frozen=True, slots=True)
class Selection:
    """The records of a repository that are asked for."""

    prefix: str = "oai_dc"
    set: str | None = None
    since: str | None = None
    """The argument ``from``: a day, or a moment in UTC (``2026-11-21T10:00:00Z``)."""
    until: str | None = None

    def __post_init__(self) -> None:
        for date in (self.since, self.until):
            if date is not None and not _DATE.match(date):
                raise ValueError(f"neither a day (2026-11-21) nor a moment (2026-11-21T10:00:00Z): {date!r}")


def harvest_url(url: str, selection: Selection) -> str:
    """The first request of a harvest at *url*; one that asks for records already, or resumes them, stays as it is.

    >>> harvest_url("https://a.example/oai?verb=Identify", Selection(set="maps", since="2020-01-01"))
    'https://a.example/oai?verb=ListRecords&metadataPrefix=oai_dc&set=maps&from=2020-01-01'
    """
    if _argument(url, "verb").lower() in _RECORD_VERBS:
        return url
    arguments = {"metadataPrefix": selection.prefix, "set": selection.set}
    arguments |= {"from": selection.since, "until": selection.until}
    return _with_arguments(url, {"verb": "ListRecords", **{name: value for name, value in arguments.items() if value}})


def next_url(url: str, token: str) -> str:
    """The request that goes on after the answer of *url*: the token is its only argument, and exactly as given.

    >>> next_url("https://a.example/oai?verb=ListRecords&metadataPrefix=oai_dc", "a/b +=&c")
    'https://a.example/oai?verb=ListRecords&resumptionToken=a%2Fb%20%2B%3D%26c'
    """
    return _with_arguments(url, {"verb": _argument(url, "verb") or "ListRecords", "resumptionToken": token})


def read_oai(data: bytes, *, url: str, selection: Selection) -> SourceReading:
    """Return what the answer of the repository at *url* holds: each record is a document, and where it goes on."""
    if _argument(url, "verb").lower() not in _RECORD_VERBS:  # an error or a greeting: the harvest begins after it
        return SourceReading(SourceKind.OAI, further=(harvest_url(url, selection),), is_document=False)
    harvest = _Found()
    for element in elements(data, _RECORD, _ERROR, _TOKEN):
        if element.tag == _ERROR:
            harvest.faults.append(_fault(element))
        elif element.tag == _TOKEN:
            harvest.token = text_of(element)
        else:
            harvest.add(element, url)
    if (b"\0" not in data[:100] and not _END.search(data, max(0, len(data) - _END_BYTES))) or (
        harvest.token is None and _TOKEN_TAG.search(data)
    ):
        harvest.faults.append(Finding("oai-error", "it breaks off, or is malformed: what follows is missing"))
    elif not harvest.listed and not harvest.faults:
        harvest.faults.append(Finding("oai-error", "it is an answer without records and without an error"))
    return SourceReading(
        SourceKind.OAI,
        items=tuple(harvest.items),
        further=(next_url(url, harvest.token),) if harvest.token else (),
        records=tuple(harvest.records),
        listed=tuple(harvest.listed),
        findings=(*harvest.remarks(), *harvest.faults),
        is_faulty=any(fault.detail.partition(":")[0] not in _NO_FAULT for fault in harvest.faults),
        is_document=False,
    )


@dataclass(slots=True)
class _Found:
    """The content of an answer, as far as it was read."""

    records: list[ListedRecord] = field(default_factory=list)
    items: list[ListedItem] = field(default_factory=list)
    listed: list[str] = field(default_factory=list)
    faults: list[Finding] = field(default_factory=list)
    token: str | None = None
    deleted: int = 0
    without_metadata: int = 0

    def add(self, record: Element, url: str) -> None:
        """Take one record."""
        header = record.find(_HEADER)
        identifiers = (
            (text_of(child) for child in header if local_name(child) == "identifier") if header is not None else ()
        )
        identifier = next(iter(identifiers), "")
        self.listed.append(identifier)
        holder = record.find(_METADATA)
        metadata = (
            next((element for element in holder if isinstance(element.tag, str)), None) if holder is not None else None
        )
        if header is not None and header.get("status") == "deleted":
            self.deleted += 1
        elif metadata is None:
            self.without_metadata += 1
        else:
            name = _name(identifier, url, len(self.listed))
            self.records.append(ListedRecord(name, etree.tostring(metadata, encoding="utf-8", with_tail=False)))
            self.items += _items(metadata, name, url)

    def remarks(self) -> Iterator[Finding]:
        """Return what became of the records that are no documents."""
        if self.deleted:
            yield Finding("oai-deleted", f"records that the repository has deleted: {self.deleted}")
        if self.without_metadata:
            yield Finding("oai-no-metadata", f"records without metadata: {self.without_metadata}")


def _fault(error: Element) -> Finding:
    code, words = error.get("code") or "an error without a code", " ".join(text_of(error).split())
    return Finding("oai-error", f"{code}: {words[:500]}" if words else code)


def _items(metadata: Element, name: str, url: str) -> list[ListedItem]:
    """Return what the metadata of the record *name* leads to, each once."""
    places: dict[str, bool] = {}
    for item_url, is_own in _places(metadata):
        absolute_url = absolute(url, item_url)
        if absolute_url is not None:
            places[absolute_url] = places.get(absolute_url, False) or is_own
    return [ListedItem(item_url, name, is_elsewhere=is_own) for item_url, is_own in places.items()]


def _name(identifier: str, url: str, number: int) -> str:
    """Return what a record is called as a document; one whose identifier is a URL must not take the name of
    that page.
    """
    if not identifier:
        return f"{url}{INSIDE}{number}"
    return f"{url.partition('?')[0]}{INSIDE}{identifier}" if _HTTP.match(identifier) else identifier


def _places(metadata: Element) -> Iterator[tuple[str, bool]]:
    """The URLs in the metadata of a record, whatever its format, and whether each says where the object itself is."""
    for element in metadata.iter("*"):
        name = local_name(element).lower()
        is_own = name in _PLACES or _is_marc_place(element)
        text = text_of(element) if len(element) == 0 else ""
        if _HTTP.match(text):
            yield text, is_own
        for attribute, value in element.attrib.items():
            is_reference = attribute.rpartition("}")[2] in ("href", "resource")
            if is_reference and _HTTP.match(str(value)):
                yield str(value), is_own


def _is_marc_place(element: Element) -> bool:
    """Return whether it is MARC 21's 856 $u, the location of an electronic resource."""
    parent = element.getparent()
    return (
        local_name(element) == "subfield"
        and element.get("code") == "u"
        and (parent is not None and parent.get("tag") == "856")
    )


def _argument(url: str, name: str) -> str:
    for pair in urlsplit(url).query.split("&"):
        key, _, value = pair.partition("=")
        if key.lower() == name.lower():
            return unquote_plus(value)
    return ""


def _with_arguments(url: str, arguments: dict[str, str]) -> str:
    """*url* with these arguments of the protocol in place of those that it has; what else it says stays."""
    before, _, query = url.partition("#")[0].partition("?")
    others = [pair for pair in query.split("&") if pair and pair.partition("=")[0].lower() not in _ARGUMENTS]
    own = [f"{name}={quote(value, safe='')}" for name, value in arguments.items()]
    return f"{before}?{'&'.join([*others, *own])}"
