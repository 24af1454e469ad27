"""Read documents as sources. Their content says what they are, unless the user has ordered how to read them.

Sources in XML are read by `crawler.sources.xml_sources`; lists of URLs, and the JSON of IIIF, here.
"""

from __future__ import annotations

import asyncio
import json
import re
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crawler.model.crawl_requests import ListedItem, Outlinks, SourceKind, SourceReading
from crawler.sources.links import absolutes
from crawler.sources.xml_sources import NAMESPACE, Selection, read_feed, read_oai, read_sitemap, root_name
from extractors.find import find_arks
from extractors.model.decoding import decode
from extractors.model.documents import Finding
from extractors.processes.worker import WorkerError, WorkerExecutor

# -- collections and manifests of the IIIF Presentation API, versions 2 and 3
#
# A collection leads to its manifests, one by one or by further collections; a manifest to what it is about
# (``related``, ``homepage``), to what describes it (``seeAlso``) and to other forms of it (``rendering``, mostly a
# PDF). Images, their services, canvases, annotations and what a manifest is part of lead nowhere.

#: What is looked at to recognize a JSON document of IIIF.
_CONTEXT = b"iiif.io/api/presentation/"
_IIIF_HEAD_BYTES = 2**14
#: Where documents are named, in this order; the first two are pages, and a manifest may have several of each.
_ABOUT = ("homepage", "related", "rendering", "seeAlso")
_MEMBERS = ("collections", "manifests", "members", "items")
_NO_DOCUMENT_TYPES = ("image/", "audio/", "video/")
MOST_ITEMS = 50_000


def read_iiif(data: bytes, *, url: str) -> SourceReading | None:
    """Return what the collection or manifest at *url* leads to; None for any other JSON.

    >>> manifest = b'{"@context": "http://iiif.io/api/presentation/3/context.json", "type": "Manifest",'
    >>> read = read_iiif(manifest + b' "rendering": [{"id": "/x.pdf"}]}', url="https://a.example/m.json")
    >>> [item.url for item in read.items]
    ['https://a.example/x.pdf']
    """
    try:
        resource = json.loads(decode(data).text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(resource, dict) or "iiif.io/api/presentation/" not in str(resource.get("@context", "")):
        return None
    kind = _kind(resource)
    if kind not in ("Collection", "Manifest"):
        return None
    members = list(_listed_members(resource)) if kind == "Collection" else []
    further, listed = (
        absolutes(url, (address for of_kind, address in members if of_kind == wanted))
        for wanted in ("Collection", "Manifest")
    )
    items = [*(listed | absolutes(url, _about(resource)))]
    findings = []
    if len(items) > MOST_ITEMS:
        findings.append(Finding("source-limit", f"only the first {MOST_ITEMS} of {len(items)} manifests are asked for"))
    if kind == "Collection" and not items and not further:
        findings.append(Finding("empty-source", "this collection lists nothing"))
    return SourceReading(
        SourceKind.IIIF, tuple(map(ListedItem, items[:MOST_ITEMS])), tuple(further), findings=tuple(findings)
    )


def _listed_members(collection: dict[str, Any]) -> Iterator[tuple[str | None, str]]:
    """The kinds and addresses of the members, at whatever level they are within; and where the list goes on."""
    pending = [collection]
    while pending:
        within = pending.pop(0)
        for key in _MEMBERS:
            for member in _several(within.get(key)):
                of_kind = _kind(member) if isinstance(member, dict) else ""
                yield of_kind or _KIND_OF_KEY.get(key), _id(member)
                if of_kind == "Collection" and any(other in member for other in _MEMBERS):
                    pending.append(member)  # written out in place
    yield from (("Collection", _id(page)) for key in ("first", "next") for page in _several(collection.get(key)))


_KIND_OF_KEY = {"collections": "Collection", "manifests": "Manifest"}


def _about(resource: dict[str, Any]) -> Iterator[str]:
    sequences = [related for related in _several(resource.get("sequences")) if isinstance(related, dict)]  # version 2
    for part in (resource, *sequences):
        for key in _ABOUT:
            for related in _several(part.get(key)):
                media_type = str(related.get("format", "")) if isinstance(related, dict) else ""
                if not media_type.startswith(_NO_DOCUMENT_TYPES):
                    yield _id(related)


def _several(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _id(value: Any) -> str:
    """The address that something has, or is; empty where that is no text."""
    address = value.get("id") or value.get("@id") if isinstance(value, dict) else value
    return address if isinstance(address, str) else ""


def _kind(value: dict[str, Any]) -> str:
    """The type without the prefix that it has in version 2: ``Collection``, ``Manifest`` …"""
    type_name = value.get("type") or value.get("@type")
    return type_name.removeprefix("sc:") if isinstance(type_name, str) else ""


# -- lists of URLs, one a line, as a file or as a sitemap in plain text; ARKs may be in it as well

_LINE = re.compile(r"(?=\S++\Z)(?:https?://.|(?:.*?/)?ark:/?.).*+", re.IGNORECASE)
_URL = re.compile(r"https?://", re.IGNORECASE)
#: What is looked at before a whole text is: most texts aren't lists, and say so at once.
_HEAD_BYTES = 2**12


def is_list(data: bytes) -> bool:
    """Return whether a text holds nothing but URLs and ARKs, one a line, at least one of them a URL; ``#`` begins a
    comment.

    >>> is_list(b"# ours\\nhttp://a.example/x\\n\\nark:/12148/btv1b8\\n"), is_list(b"See http://a.example/x")
    (True, False)
    """
    head = data[:_HEAD_BYTES].rpartition(b"\n")[0] if len(data) > _HEAD_BYTES else data
    if not all(map(_LINE.fullmatch, _lines(head))):
        return False
    lines = list(_lines(data))
    return all(map(_LINE.fullmatch, lines)) and any(map(_URL.match, lines))


def read_list(data: bytes, *, url: str, is_ordered: bool = False) -> SourceReading:
    """The URLs of a list; *is_ordered* says that the user has called it one, so that ARKs in it are fetched as well.

    >>> read = read_list(b"http://a.example/x\\nhttps://n2t.net/ark:/12148/btv1b8", url="urls.txt")
    >>> [item.url for item in read.items]
    ['http://a.example/x']
    """
    lines = dict.fromkeys(line for line in _lines(data) if _URL.match(line) and _LINE.fullmatch(line))
    urls = absolutes(url, (line for line in lines if is_ordered or not any(find_arks(line))))
    odd = sum(1 for line in _lines(data) if not _LINE.fullmatch(line))
    findings = (Finding("odd-lines", f"lines that are neither a URL nor an ARK: {odd}"),) if odd else ()
    return SourceReading(SourceKind.LIST, tuple(map(ListedItem, urls)), findings=findings)


def _lines(data: bytes) -> Iterator[str]:
    stripped = (line.strip() for line in decode(data).text.splitlines())
    return (line for line in stripped if line and not line.startswith("#"))


#: What a compressed source may grow to; sitemaps have 50 MiB at most (sitemaps.org).
MOST_BYTES = 64 * 2**20
_GZIP = b"\x1f\x8b"
_PIECE_BYTES = 2**16
_HTML = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html)\b", re.IGNORECASE)
_MARKUP = re.compile(rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?[\s\0]*<")
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{")
_SITEMAP_ROOTS = frozenset({"urlset", "sitemapindex"})
_RSS_1 = b"http://purl.org/rss/1.0/"


def source_kind(data: bytes) -> SourceKind | None:
    """Return what *data* is as a source by its content, or None for a document like any other.

    >>> source_kind(b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'), source_kind(b"<p>See x</p>")
    (<SourceKind.SITEMAP: 'sitemap'>, None)
    """
    head = data[:4096]
    if _HTML.match(head):
        return None
    if _MARKUP.match(head):
        namespace, name = root_name(data) or ("", "")
        if name == "OAI-PMH" and namespace == NAMESPACE:
            return SourceKind.OAI
        if name in _SITEMAP_ROOTS and (not namespace or "sitemap" in namespace.lower()):
            return SourceKind.SITEMAP
        is_rss_1 = name == "RDF" and _RSS_1 in head
        is_feed = name == "rss" or (name == "feed" and "atom" in namespace.lower())
        return SourceKind.FEED if is_feed or is_rss_1 else None
    if _JSON.match(head):
        is_iiif = _CONTEXT in data[:_IIIF_HEAD_BYTES].replace(b"\\/", b"/")
        return SourceKind.IIIF if is_iiif else None
    return SourceKind.LIST if is_list(data) else None


def read_source(
    data: bytes, *, url: str, order: SourceKind | None, harvests: bool, selection: Selection
) -> SourceReading | None:
    """Return what the document that was found at *url* leads to as a source; None if it is a document like any other.

    *order* is how the user wants it to be read, or what it is part of. A repository's OAI-PMH is harvested only with
    *harvests*: a link to it on some page is no reason to. Never raises, whatever the bytes (but `MemoryError`).
    """
    if order is SourceKind.PAGE:
        return None
    data = unpacked(data)
    kind = SourceKind.LIST if order is SourceKind.LIST else source_kind(data)
    read: SourceReading | None
    try:
        match kind:
            case SourceKind.SITEMAP:
                read = read_sitemap(data, url=url)
            case SourceKind.OAI:
                read = read_oai(data, url=url, selection=selection) if harvests else None
            case SourceKind.FEED:
                read = read_feed(data, url=url)
            case SourceKind.IIIF:
                read = read_iiif(data, url=url)
            case SourceKind.LIST:
                read = read_list(data, url=url, is_ordered=order is SourceKind.LIST)
            case _:
                read = None
    except MemoryError:  # says something about this process, nothing about the document
        raise
    except Exception as error:
        fault = Finding("unreadable-source", f"its reader failed: {type(error).__name__}")
        return SourceReading(kind or SourceKind.PAGE, findings=(fault,), is_faulty=True)
    if read is None and order is not None:
        fault = Finding("not-a-source", f"it was to be read as a source ({order}), and is none")
        return SourceReading(order, findings=(fault,), is_faulty=True)
    return read


def unpacked(data: bytes) -> bytes:
    """*data* without gzip around it, as far as it can be had; the row about the document speaks of damage.

    >>> import gzip
    >>> unpacked(gzip.compress(b"<urlset/>")), unpacked(gzip.compress(b"<urlset/>")[:-4])
    (b'<urlset/>', b'<urlset/>')
    """
    if not data.startswith(_GZIP):
        return data
    data_out = bytearray()
    unpacking = zlib.decompressobj(wbits=31)
    for start in range(0, len(data), _PIECE_BYTES):
        try:
            data_out += unpacking.decompress(data[start : start + _PIECE_BYTES], MOST_BYTES - len(data_out))
        except zlib.error:
            break
        if unpacking.eof or len(data_out) >= MOST_BYTES:
            break
    return bytes(data_out)


# Reads documents as sources, the large ones in a process that can be killed.

#: Larger sources are read in that process.
_INLINE_BYTES = 2**16


@dataclass(frozen=True, slots=True)
class SourceReader:
    """Reads each document as a source, if it is one, and the links that it leads to."""

    executor: WorkerExecutor
    selection: Selection
    """Of the records of repositories."""

    async def read(self, data: bytes, *, url: str, order: SourceKind | None, harvests: bool) -> SourceReading | None:
        """As `read_source`; what kills its reader is a finding."""
        if len(data) <= _INLINE_BYTES:
            return read_source(data, url=url, order=order, harvests=harvests, selection=self.selection)
        if order is None and not may_be_source(data):
            return None
        reading = self.executor.submit(
            read_source, data, url=url, order=order, harvests=harvests, selection=self.selection
        )
        try:
            return await asyncio.wrap_future(reading)
        except WorkerError as failure:
            fault = Finding("unreadable-source", f"its reader failed: {failure}")
            return SourceReading(order or SourceKind.PAGE, findings=(fault,), is_faulty=True)


def may_be_source(data: bytes) -> bool:
    """Return whether *data* is a source by its beginning.

    A list is recognized by all of its lines; of a long one the first must do here, and the reader looks at the rest.
    """
    head = unpacked(data[:_INLINE_BYTES])
    return source_kind(head[:_INLINE_BYTES].rpartition(b"\n")[0] or head) is not None


# -- which of all documents that link to another has found it, whichever was read first

#: So many documents are looked at together: that many lists of links are in memory.
AT_ONCE = 500

Key = bytes
#: Returns the links of documents, by their keys.
ReadLinks = Callable[[Sequence[Key]], Mapping[Key, Sequence[Outlinks]]]


def finders(seeds: Iterable[Key], documents: Mapping[Key, Key | None], links_of: ReadLinks) -> dict[Key, str | None]:
    """Return where each document was found: on which of those from which the fewest links lead to it from a seed.

    Of several the first, and these are in the order in which they are found themselves: seeds as given, then what
    links lead to, in the order of the links. A redirect is no step: *documents* has the key of where each one's
    redirects led, and that was found where the first that leads there was. A seed was found nowhere (None); what no
    links lead to from a seed is left out.

    >>> from crawler.model.crawl_requests import document_key as key
    >>> home, near, far = map(key, ("home", "near", "far"))
    >>> targets = {home: ("home", near), near: ("near", far + home), far: ("far", near)}
    >>> links = {each: [Outlinks.to(*targets[each])] for each in targets}
    >>> found = finders([home], dict.fromkeys(links), lambda keys: {each: links[each] for each in keys})
    >>> found[home], found[near], found[far]
    (None, 'home', 'near')
    """
    finder_of: dict[Key, str | None] = {}
    queue: deque[Key] = deque()

    def find(key: Key | None, finder: str | None) -> None:
        while key is not None and key in documents and key not in finder_of:
            finder_of[key] = finder
            queue.append(key)
            key = documents[key]

    for seed in seeds:
        find(seed, None)
    while queue:
        some = [queue.popleft() for _ in range(min(len(queue), AT_ONCE))]
        links = links_of(some)
        for document in some:
            for outlinks in links.get(document, ()):
                for target in outlinks.target_keys():
                    find(target, outlinks.found_on)
    return finder_of
