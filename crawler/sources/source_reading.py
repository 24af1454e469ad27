"""Reads documents as sources. Their content decides the kind, unless the user has named one.

XML sources are read by `crawler.sources.xml_sources`, lists of URLs and the JSON of IIIF here.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from crawler.model.crawl_requests import ListedItem, Outlinks, SourceKind, SourceReading
from crawler.sources.links import absolute_urls
from crawler.sources.xml_sources import NAMESPACE, Selection, read_feed, read_oai, read_sitemap, root_name
from extractors.archives.compression import SIGNATURES, Compression, DecompressedStream, Lookahead, SizeBudget
from extractors.find import find_arks
from extractors.model.decoding import decode
from extractors.model.documents import Finding
from extractors.processes.worker import WorkerError, WorkerExecutor

# -- collections and manifests of the IIIF Presentation API, versions 2 and 3
#
# A collection leads to its manifests, directly or by further collections. A manifest leads to the page of its object
# (``related``, ``homepage``), to its metadata (``seeAlso``) and to other forms of the object (``rendering``, mostly a
# PDF). Images, their services, canvases, annotations and the parents of a manifest are not followed.

#: The mark of a JSON document of IIIF, and the number of bytes searched for it.
_CONTEXT = b"iiif.io/api/presentation/"
_IIIF_HEAD_BYTES = 2**14
#: The keys that name documents, in this order; the first two name pages. A manifest may have several of each.
_ABOUT = ("homepage", "related", "rendering", "seeAlso")
_MEMBERS = ("collections", "manifests", "members", "items")
_NO_DOCUMENT_TYPES = ("image/", "audio/", "video/")
MOST_ITEMS = 50_000


def read_iiif(data: bytes, *, url: str) -> SourceReading | None:
    """Return the links of the collection or manifest at *url*; None for other JSON.

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
    collection_urls, manifest_urls = (
        absolute_urls(url, (address for member_kind, address in members if member_kind == wanted_kind))
        for wanted_kind in ("Collection", "Manifest")
    )
    items = [*(manifest_urls | absolute_urls(url, _related_ids(resource)))]
    findings = []
    if len(items) > MOST_ITEMS:
        findings.append(Finding("source-limit", f"only the first {MOST_ITEMS} of {len(items)} manifests are asked for"))
    if kind == "Collection" and not items and not collection_urls:
        findings.append(Finding("empty-source", "this collection lists nothing"))
    return SourceReading(
        SourceKind.IIIF, tuple(map(ListedItem, items[:MOST_ITEMS])), tuple(collection_urls), findings=tuple(findings)
    )


def _listed_members(collection: dict[str, Any]) -> Iterator[tuple[str | None, str]]:
    """Yield the types and URLs of the members at all levels, then those of further pages of the list."""
    pending = [collection]
    while pending:
        parent = pending.pop(0)
        for key in _MEMBERS:
            for member in _as_list(parent.get(key)):
                member_kind = _kind(member) if isinstance(member, dict) else ""
                yield member_kind or _KIND_OF_KEY.get(key), _id(member)
                if member_kind == "Collection" and any(key in member for key in _MEMBERS):
                    pending.append(member)  # embedded
    yield from (("Collection", _id(page)) for key in ("first", "next") for page in _as_list(collection.get(key)))


_KIND_OF_KEY = {"collections": "Collection", "manifests": "Manifest"}


def _related_ids(resource: dict[str, Any]) -> Iterator[str]:
    """Yield the identifiers of documents about a IIIF *resource* and, in version 2, about its sequences."""
    sequences = [related for related in _as_list(resource.get("sequences")) if isinstance(related, dict)]  # version 2
    for part in (resource, *sequences):
        for key in _ABOUT:
            for related in _as_list(part.get(key)):
                media_type = str(related.get("format", "")) if isinstance(related, dict) else ""
                if not media_type.startswith(_NO_DOCUMENT_TYPES):
                    yield _id(related)


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _id(value: Any) -> str:
    """Return the id of a JSON object, or *value* itself if it is a text; otherwise an empty text."""
    address = value.get("id") or value.get("@id") if isinstance(value, dict) else value
    return address if isinstance(address, str) else ""


def _kind(value: dict[str, Any]) -> str:
    """Return the type of a JSON object, such as ``Manifest``, without the prefix of version 2 (``sc:``)."""
    type_name = value.get("type") or value.get("@type")
    return type_name.removeprefix("sc:") if isinstance(type_name, str) else ""


# -- lists of URLs, one per line, as a file or a sitemap in plain text; they may also contain ARKs

_LINE = re.compile(r"(?=\S++\Z)(?:https?://.|(?:.*?/)?ark:/?.).*+", re.IGNORECASE)
_URL = re.compile(r"https?://", re.IGNORECASE)
#: The number of bytes checked before the whole text: most texts show at once that they are not lists.
_HEAD_BYTES = 2**12


def is_list(data: bytes) -> bool:
    """Return True if a text has only URLs and ARKs, one per line, and at least one URL; ``#`` begins a comment.

    >>> is_list(b"# ours\\nhttp://a.example/x\\n\\nark:/12148/btv1b8\\n"), is_list(b"See http://a.example/x")
    (True, False)
    """
    head = data[:_HEAD_BYTES].rpartition(b"\n")[0] if len(data) > _HEAD_BYTES else data
    if not all(map(_LINE.fullmatch, _lines(head))):
        return False
    lines = list(_lines(data))
    return all(map(_LINE.fullmatch, lines)) and any(map(_URL.match, lines))


def read_list(data: bytes, *, url: str, is_ordered: bool = False) -> SourceReading:
    """Return the URLs of a list at *url*. URLs with ARKs are left out, unless the user named the list (*is_ordered*).

    >>> read = read_list(b"http://a.example/x\\nhttps://n2t.net/ark:/12148/btv1b8", url="urls.txt")
    >>> [item.url for item in read.items]
    ['http://a.example/x']
    """
    url_lines = dict.fromkeys(line for line in _lines(data) if _URL.match(line) and _LINE.fullmatch(line))
    urls = absolute_urls(url, (line for line in url_lines if is_ordered or not any(find_arks(line))))
    odd_count = sum(1 for line in _lines(data) if not _LINE.fullmatch(line))
    findings = (Finding("odd-lines", f"lines that are neither a URL nor an ARK: {odd_count}"),) if odd_count else ()
    return SourceReading(SourceKind.LIST, tuple(map(ListedItem, urls)), findings=findings)


def _lines(data: bytes) -> Iterator[str]:
    stripped_lines = (line.strip() for line in decode(data).text.splitlines())
    return (line for line in stripped_lines if line and not line.startswith("#"))


#: The largest size of a decompressed source; sitemaps have at most 50 MiB (sitemaps.org).
MOST_BYTES = 64 * 2**20
_HTML = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html)\b", re.IGNORECASE)
_MARKUP = re.compile(rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?[\s\0]*<")
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{")
_SITEMAP_ROOTS = frozenset({"urlset", "sitemapindex"})
_RSS_1 = b"http://purl.org/rss/1.0/"


def source_kind(data: bytes) -> SourceKind | None:
    """Return the kind of source of *data* by its content, or None if it is not a source.

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
    data: bytes, *, url: str, named_kind: SourceKind | None, harvests: bool, selection: Selection
) -> SourceReading | None:
    """Return the links of the document at *url* as a source; None if it is not a source.

    *named_kind* is the kind that the user named, or that of its index. OAI-PMH is harvested only with *harvests*: a
    link on a page is no reason to harvest. Raises only `MemoryError`, for any bytes.
    """
    if named_kind is SourceKind.PAGE:
        return None
    data = decompress(data)
    kind = SourceKind.LIST if named_kind is SourceKind.LIST else source_kind(data)
    source_reading: SourceReading | None
    try:
        match kind:
            case SourceKind.SITEMAP:
                source_reading = read_sitemap(data, url=url)
            case SourceKind.OAI:
                source_reading = read_oai(data, url=url, selection=selection) if harvests else None
            case SourceKind.FEED:
                source_reading = read_feed(data, url=url)
            case SourceKind.IIIF:
                source_reading = read_iiif(data, url=url)
            case SourceKind.LIST:
                source_reading = read_list(data, url=url, is_ordered=named_kind is SourceKind.LIST)
            case _:
                source_reading = None
    except MemoryError:  # a fault of this process, not of the document
        raise
    except Exception as error:
        fault = Finding("unreadable-source", f"its reader failed: {type(error).__name__}")
        return SourceReading(kind or SourceKind.PAGE, findings=(fault,), is_faulty=True)
    if source_reading is None and named_kind is not None:
        fault = Finding("not-a-source", f"it was given as a source ({named_kind}), but is not one")
        return SourceReading(named_kind, findings=(fault,), is_faulty=True)
    return source_reading


def decompress(data: bytes) -> bytes:
    """Return *data* without its gzip coding, as far as it can be read; damage is reported with the document itself.

    >>> import gzip
    >>> decompress(gzip.compress(b"<urlset/>")), decompress(gzip.compress(b"<urlset/>")[:-4])
    (b'<urlset/>', b'<urlset/>')
    """
    if not data.startswith(SIGNATURES[Compression.GZIP]):
        return data
    content = DecompressedStream(BytesIO(data), Compression.GZIP, SizeBudget(MOST_BYTES, 1))
    return Lookahead(content).read(MOST_BYTES)


# Reads documents as sources; large ones in a process that can be killed.

#: The largest source that is read in this process.
_INLINE_BYTES = 2**16


@dataclass(frozen=True, slots=True)
class SourceReader:
    """Reads each document as a source if it is one, and returns its links."""

    executor: WorkerExecutor
    selection: Selection
    """The selection of records in repositories."""

    async def read(
        self, data: bytes, *, url: str, named_kind: SourceKind | None, harvests: bool
    ) -> SourceReading | None:
        """Return the result of `read_source`, which runs in another process for large documents. A finding reports a crash.

        None if *data* is no source. *named_kind* is the kind by which the user named the source, or None.
        """
        if len(data) <= _INLINE_BYTES:
            return read_source(data, url=url, named_kind=named_kind, harvests=harvests, selection=self.selection)
        if named_kind is None and not may_be_source(data):
            return None
        reading = self.executor.submit(
            read_source, data, url=url, named_kind=named_kind, harvests=harvests, selection=self.selection
        )
        try:
            return await asyncio.wrap_future(reading)
        except WorkerError as failure:
            fault = Finding("unreadable-source", f"its reader failed: {failure}")
            return SourceReading(named_kind or SourceKind.PAGE, findings=(fault,), is_faulty=True)


def may_be_source(data: bytes) -> bool:
    """Return True if the first lines of *data* are those of a source.

    `read_source` decides by the whole: a text may begin with a list of URLs.
    """
    head = decompress(data[:_INLINE_BYTES])
    return source_kind(head[:_INLINE_BYTES].rpartition(b"\n")[0] or head) is not None


# -- the document that counts as the finder of another, independent of the order of reading

#: The number of documents processed together, whose links are in memory.
AT_ONCE = 500

Key = bytes
#: Returns the links of documents, by their keys.
ReadLinks = Callable[[Sequence[Key]], Mapping[Key, Sequence[Outlinks]]]


def finders(
    seeds: Iterable[Key], redirect_targets: Mapping[Key, Key | None], links_of: ReadLinks
) -> dict[Key, str | None]:
    """Return, by key, the finder of each document: `found_on` of the link on the shortest path from a seed.

    Of several, the first in the order of discovery counts: seeds as given, then the targets of links in their order.
    Redirects are no steps: *redirect_targets* has, for each document, the key of the document that it redirects to, or
    None. A target has the finder of the first redirecting document. Seeds have no finder (None). Documents without a
    path from a seed are left out.

    >>> from crawler.model.crawl_requests import document_key as key
    >>> home, near, far = map(key, ("home", "near", "far"))
    >>> targets = {home: ("home", near), near: ("near", far + home), far: ("far", near)}
    >>> links = {source: [Outlinks.to(*targets[source])] for source in targets}
    >>> finder_of = finders([home], dict.fromkeys(links), lambda keys: {source: links[source] for source in keys})
    >>> finder_of[home], finder_of[near], finder_of[far]
    (None, 'home', 'near')
    """
    finder_of: dict[Key, str | None] = {}
    queue: deque[Key] = deque()

    def find(key: Key | None, finder: str | None) -> None:
        while key is not None and key in redirect_targets and key not in finder_of:
            finder_of[key] = finder
            queue.append(key)
            key = redirect_targets[key]

    for seed in seeds:
        find(seed, None)
    while queue:
        batch = [queue.popleft() for _ in range(min(len(queue), AT_ONCE))]
        links = links_of(batch)
        for document in batch:
            for outlinks in links.get(document, ()):
                for target in outlinks.target_keys():
                    find(target, outlinks.found_on)
    return finder_of
