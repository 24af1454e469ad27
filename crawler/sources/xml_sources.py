"""Reads sources in XML: answers of OAI-PMH repositories (version 2.0), feeds and sitemaps. No I/O.

Elements are read one after the other, in bounded memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, quote

from lxml import etree

from crawler.model.crawl_requests import ListedItem, ListedRecord, SourceKind, SourceReading
from crawler.sources.links import absolute
from extractors.archives.members import INSIDE
from extractors.model.decoding import without_surrogates
from extractors.model.documents import Finding
from extractors.model.urls import split_url

Element: TypeAlias = Any
"""An `lxml.etree._Element`; the published types are those of lxml 4."""

_HEAD_BYTES = 2**16
_BLANKS_BEFORE_MARKUP = re.compile(rb"\A(?:\xef\xbb\xbf)?[\t\n\r ]+(?=<)")
_PIECE_BYTES = 2**18
_BARE_AMPERSAND = re.compile(
    rb"(?P<cdata><!\[CDATA\[.*?(?:\]\]>|\Z))|&(?!(?:[A-Za-z_][A-Za-z0-9_.-]*|#[0-9]+|#x[0-9A-Fa-f]+);)", re.DOTALL
)
#: Settings for untrusted XML: no external resources, only the five standard entities, libxml2's own limits.
_SAFELY: Any = {
    "recover": True,
    "resolve_entities": False,
    "no_network": True,
    "huge_tree": False,
    "remove_comments": True,
    "remove_pis": True,
    "collect_ids": False,
}


def root_name(data: bytes) -> tuple[str, str] | None:
    """Return namespace and local name of the root element, or None if there is none at the beginning.

    >>> root_name(b"<?xml version='1.0'?><!-- x --><feed xmlns='http://www.w3.org/2005/Atom'>")
    ('http://www.w3.org/2005/Atom', 'feed')
    >>> root_name(b"<")
    """
    parser: Any = etree.XMLPullParser(events=("start",), **_SAFELY)
    try:
        parser.feed(without_surrogates(_BLANKS_BEFORE_MARKUP.sub(b"", data[:_HEAD_BYTES])))
        root = next((element for _, element in parser.read_events()), None)
    except etree.XMLSyntaxError:
        return None
    if root is None or not isinstance(root.tag, str):
        return None
    namespace, _, name = root.tag.rpartition("}")
    return namespace.removeprefix("{"), name


def elements(data: bytes, *tags: str) -> Iterator[Element]:
    """Yield the elements with these tags (``{namespace}name`` or ``{*}name``) as they end; each is emptied afterwards.

    An element that is open at the end of *data* was cut off. It is left out, because half a URL leads elsewhere.

    >>> [element.text for element in elements(b"<a><loc>1&2</loc><b><loc>3</loc></b><loc>4", "{*}loc")]
    ['1&2', '3']
    """
    parser: Any = etree.XMLPullParser(events=("end",), tag=tags, **_SAFELY)
    data = _with_ampersands(without_surrogates(_BLANKS_BEFORE_MARKUP.sub(b"", data)))
    for start in range(0, len(data), _PIECE_BYTES):
        try:
            parser.feed(data[start : start + _PIECE_BYTES])
        except etree.XMLSyntaxError:  # the elements before the fault have been yielded
            return
        for _, element in parser.read_events():
            yield element
            element.clear()
            parent = element.getparent()
            while parent is not None and element.getprevious() is not None:
                del parent[0]


def _with_ampersands(data: bytes) -> bytes:
    """Return *data* with bare ampersands escaped; otherwise libxml2 would drop the text after them as a "reference".

    >>> _with_ampersands(b"<a>x?1&2&amp;3</a><![CDATA[x?1&2]]>")
    b'<a>x?1&amp;2&amp;3</a><![CDATA[x?1&2]]>'
    """
    return _BARE_AMPERSAND.sub(lambda match: match[0] if match["cdata"] else b"&amp;", data)


def local_name(element: Element) -> str:
    """Return the name of an element without its namespace; empty for comments and processing instructions."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def text_of(element: Element) -> str:
    """Return the text in an element, without surrounding spaces."""
    return "".join(element.itertext()).strip()


# -- OAI-PMH
#
# The maintained harvesters (oaipmh-scythe, oaipmh) send their requests themselves and can't be changed to use this
# crawler's polite requests.
# A harvest is a chain of answers to ``ListRecords``. It ends with an answer without a resumption token, or with an
# error, which becomes a finding: half a harvest must not pass for a whole one.


NAMESPACE = "http://www.openarchives.org/OAI/2.0/"
_RECORD, _ERROR, _TOKEN, _HEADER, _METADATA = (
    f"{{{NAMESPACE}}}{name}" for name in ("record", "error", "resumptionToken", "header", "metadata")
)
#: Verbs whose answers contain records with metadata; after any other verb the harvest has yet to begin.
_RECORD_VERBS = frozenset({"listrecords", "getrecord"})
_ARGUMENTS = frozenset({"verb", "metadataprefix", "set", "from", "until", "resumptiontoken", "identifier"})
#: Elements that contain the address of the object in some format; compared in lower case.
_ADDRESS_FIELDS = frozenset({"identifier", "url", "isshownat", "isshownby"})
_HTTP = re.compile(r"https?://\S+\Z", re.IGNORECASE)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}:[0-9]{2}Z)?\Z")
#: The end of an answer, and the sign that it continues: half a harvest must not pass for a whole one.
_END = re.compile(rb"</(?:[\w.-]+:)?OAI-PMH\s*>\s*\Z")
_END_BYTES = 4096
_TOKEN_TAG = re.compile(rb"<(?:[\w.-]+:)?resumptionToken\b")
#: Errors that are valid answers: an empty set.
_NO_FAULT = frozenset({"noRecordsMatch"})


@dataclass(frozen=True, slots=True)
class Selection:
    """The selection of records in a repository."""

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
    """Return the URL of the first request of a harvest at *url*; a URL that requests records is returned unchanged.

    >>> harvest_url("https://a.example/oai?verb=Identify", Selection(set="maps", since="2020-01-01"))
    'https://a.example/oai?verb=ListRecords&metadataPrefix=oai_dc&set=maps&from=2020-01-01'
    """
    if _argument(url, "verb").lower() in _RECORD_VERBS:
        return url
    arguments = {"metadataPrefix": selection.prefix, "set": selection.set}
    arguments |= {"from": selection.since, "until": selection.until}
    return _with_arguments(url, {"verb": "ListRecords", **{name: value for name, value in arguments.items() if value}})


def next_url(url: str, token: str) -> str:
    """Return the URL of the request after that of *url*; the resumption *token*, as received, is its only argument.

    >>> next_url("https://a.example/oai?verb=ListRecords&metadataPrefix=oai_dc", "a/b +=&c")
    'https://a.example/oai?verb=ListRecords&resumptionToken=a%2Fb%20%2B%3D%26c'
    """
    return _with_arguments(url, {"verb": _argument(url, "verb") or "ListRecords", "resumptionToken": token})


def read_oai(data: bytes, *, url: str, selection: Selection) -> SourceReading:
    """Return the records of an OAI-PMH answer from *url*, and the URL of the next part, if any.

    If *url* does not request records, return only the URL of the first request of a harvest.
    """
    if _argument(url, "verb").lower() not in _RECORD_VERBS:  # an error or an introduction: the harvest begins now
        return SourceReading(SourceKind.OAI, further=(harvest_url(url, selection),), is_document=False)
    harvest = _Harvest()
    for element in elements(data, _RECORD, _ERROR, _TOKEN):
        if element.tag == _ERROR:
            code, message = element.get("code") or "an error without a code", " ".join(text_of(element).split())
            harvest.faults.append(Finding("oai-error", f"{code}: {message[:500]}" if message else code))
        elif element.tag == _TOKEN:
            harvest.token = text_of(element)
        else:
            harvest.add(element, url)
    if (b"\0" not in data[:100] and not _END.search(data, max(0, len(data) - _END_BYTES))) or (
        harvest.token is None and _TOKEN_TAG.search(data)
    ):
        harvest.faults.append(Finding("oai-error", "it breaks off, or is malformed: the rest is missing"))
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
class _Harvest:
    """The content of an OAI-PMH answer, as far as read."""

    records: list[ListedRecord] = field(default_factory=list)
    items: list[ListedItem] = field(default_factory=list)
    listed: list[str] = field(default_factory=list)
    faults: list[Finding] = field(default_factory=list)
    token: str | None = None
    deleted: int = 0
    without_metadata: int = 0

    def add(self, record: Element, url: str) -> None:
        """Add one record."""
        identifier = (record.findtext(f"{_HEADER}/{{*}}identifier") or "").strip()
        self.listed.append(identifier)
        metadata = record.find(f"{_METADATA}/*")
        if record.find(f"{_HEADER}[@status='deleted']") is not None:
            self.deleted += 1
        elif metadata is None:
            self.without_metadata += 1
        else:
            name = identifier or f"{url}{INSIDE}{len(self.listed)}"
            if _HTTP.match(identifier):  # it must differ from the name of that page
                name = f"{url.partition('?')[0]}{INSIDE}{identifier}"
            self.records.append(ListedRecord(name, etree.tostring(metadata, encoding="utf-8", with_tail=False)))
            addresses: dict[str, bool] = {}
            for link, is_own in _metadata_urls(metadata):
                address = absolute(url, link)
                if address is not None:
                    addresses[address] = addresses.get(address, False) or is_own
            self.items += [ListedItem(address, name, is_elsewhere=is_own) for address, is_own in addresses.items()]

    def remarks(self) -> Iterator[Finding]:
        """Yield the findings about records that are not documents."""
        if self.deleted:
            yield Finding("oai-deleted", f"records that the repository has deleted: {self.deleted}")
        if self.without_metadata:
            yield Finding("oai-no-metadata", f"records without metadata: {self.without_metadata}")


def _metadata_urls(metadata: Element) -> Iterator[tuple[str, bool]]:
    """Yield the URLs in the metadata of a record, in any format, with True for the object's own address."""
    for element in metadata.iter("*"):
        name = local_name(element).lower()
        parent = element.getparent()
        is_field = name == "subfield" and element.get("code") == "u" and parent is not None
        is_own = name in _ADDRESS_FIELDS or (is_field and parent.get("tag") == "856")  # MARC 21's 856 $u
        text = text_of(element) if len(element) == 0 else ""
        if _HTTP.match(text):
            yield text, is_own
        for attribute, value in element.attrib.items():
            is_reference = attribute.rpartition("}")[2] in ("href", "resource")
            if is_reference and _HTTP.match(str(value)):
                yield str(value), is_own


def _argument(url: str, name: str) -> str:
    arguments = parse_qsl(split_url(url).query)
    return next((value for key, value in arguments if key.lower() == name), "")


def _with_arguments(url: str, arguments: dict[str, str]) -> str:
    """Return *url* with *arguments* in place of its arguments of OAI-PMH; other parameters stay."""
    base, _, query = url.partition("#")[0].partition("?")
    other_parameters = [pair for pair in query.split("&") if pair and pair.partition("=")[0].lower() not in _ARGUMENTS]
    encoded_arguments = [f"{name}={quote(value, safe='')}" for name, value in arguments.items()]
    return f"{base}?{'&'.join([*other_parameters, *encoded_arguments])}"


# -- links of Atom and RSS feeds

#: Relations of a feed's further parts (RFC 5005, 3 and 4).
_FURTHER = frozenset({"next", "prev-archive"})
#: Relations of an entry's content; ``self``, ``edit``, ``replies`` and others lead to the entry itself.
_CONTENT = frozenset({"alternate", "enclosure"})


def read_feed(data: bytes, *, url: str) -> SourceReading:
    """Return the links of the feed at *url*: the pages of its entries, their enclosures, and its further parts.

    >>> feed = b'<entry><link href="/a"/></entry><link rel="next" href="?p=2"/>'
    >>> read = read_feed(b'<feed xmlns="http://www.w3.org/2005/Atom">' + feed, url="http://a.example/feed")
    >>> [item.url for item in read.items], read.further
    (['http://a.example/a'], ('http://a.example/feed?p=2',))
    """
    items: dict[str, None] = {}
    for entry in elements(data, "{*}entry", "{*}item"):
        items |= dict.fromkeys(_absolute_targets(url, _entry_targets(entry)))
    further = dict.fromkeys(_absolute_targets(url, _further_targets(data)))
    findings = () if items else (Finding("empty-source", "this feed lists nothing"),)
    return SourceReading(SourceKind.FEED, tuple(map(ListedItem, items)), tuple(further), findings=findings)


def _entry_targets(entry: Element) -> Iterator[tuple[Element, str]]:
    """Yield the link elements of an entry with their targets. The permanent id of RSS counts only without any link."""
    has_link = False
    permanent_id: Element | None = None
    for child in entry:
        name = local_name(child)
        if name == "link" and child.get("href"):  # Atom
            if _relation(child) in _CONTENT:
                has_link = True
                yield child, child.get("href")
        elif name == "link" and text_of(child):  # RSS
            has_link = True
            yield child, text_of(child)
        elif name == "enclosure" and child.get("url"):
            yield child, child.get("url")
        elif name == "content" and child.get("src"):
            yield child, child.get("src")
        elif name == "guid" and child.get("isPermaLink", "true").strip().lower() == "true":
            permanent_id = child
    if permanent_id is not None and not has_link:
        yield permanent_id, text_of(permanent_id)


def _further_targets(data: bytes) -> Iterator[tuple[Element, str]]:
    """Yield the link elements of the feed itself to further parts, with their targets, without those of entries."""
    for link in elements(data, "{*}link"):
        parent = link.getparent()
        is_own = parent is not None and local_name(parent) in ("feed", "channel", "rss")
        if is_own and _relation(link) in _FURTHER and link.get("href"):
            yield link, link.get("href")


def _relation(link: Element) -> str:
    return str(link.get("rel") or "alternate").strip().lower()


def _absolute_targets(url: str, targets: Iterator[tuple[Element, str]]) -> Iterator[str]:
    for element, target in targets:
        absolute_url = absolute(absolute(url, element.base or "") or url, target)
        if absolute_url is not None:
            yield absolute_url


# -- sitemaps and indexes of sitemaps in XML (sitemaps.org); those in plain text are lists

MOST_ENTRIES = 50_000


def read_sitemap(data: bytes, *, url: str) -> SourceReading:
    """Return the links of the sitemap at *url*: pages, or further sitemaps of an index.

    >>> read = read_sitemap(b"<urlset><url><loc> http://a.example/x </loc></url></urlset>", url="http://a.example/")
    >>> [item.url for item in read.items]
    ['http://a.example/x']
    """
    pages: dict[str, None] = {}
    sitemaps: dict[str, None] = {}
    left_out_count = 0
    for entry in elements(data, "{*}url", "{*}sitemap"):
        location = entry.find("{*}loc")
        address = absolute(url, text_of(location)) if location is not None else None
        if address is None:
            continue
        if len(pages) + len(sitemaps) >= MOST_ENTRIES:
            left_out_count += 1
        elif local_name(entry) == "sitemap":
            sitemaps[address] = None
        else:
            pages[address] = None
    findings = []
    if left_out_count:
        findings.append(Finding("source-limit", f"a sitemap lists {MOST_ENTRIES} at most; left out: {left_out_count}"))
    if not pages and not sitemaps:
        findings.append(Finding("empty-source", "this sitemap lists nothing"))
    return SourceReading(
        SourceKind.SITEMAP, tuple(ListedItem(page) for page in pages), tuple(sitemaps), findings=tuple(findings)
    )
