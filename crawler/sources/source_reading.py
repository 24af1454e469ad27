"""Pure: what a document is as a source. Its content tells, unless the user has ordered how it is to be read."""

from __future__ import annotations

import re
import zlib

from crawler.model.listing import SourceKind, SourceReading
from crawler.sources.feeds import read_feed
from crawler.sources.iiif import may_be_iiif, read_iiif
from crawler.sources.lists import is_list, read_list
from crawler.sources.oai_pmh import NAMESPACE, Selection, read_oai
from crawler.sources.sitemaps import read_sitemap
from crawler.sources.xml_walk import root_name
from extractors.document_model import Finding

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
        return _kind_of_root(data)
    if _JSON.match(head):
        return SourceKind.IIIF if may_be_iiif(data) else None
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
    try:
        read = _read(kind, data, url, is_ordered=order is SourceKind.LIST, harvests=harvests, selection=selection)
    except MemoryError:  # says something about this process, nothing about the document
        raise
    except Exception as error:
        fault = Finding("unreadable-source", f"its reader failed: {type(error).__name__}")
        return SourceReading(kind or SourceKind.PAGE, findings=(fault,), is_faulty=True)
    if read is None and order is not None:
        fault = Finding("not-a-source", f"it was to be read as a source ({order}), and is none")
        return SourceReading(order, findings=(fault,), is_faulty=True)
    return read


def _read(
    kind: SourceKind | None, data: bytes, url: str, *, is_ordered: bool, harvests: bool, selection: Selection
) -> SourceReading | None:
    match kind:
        case SourceKind.SITEMAP:
            return read_sitemap(data, url=url)
        case SourceKind.OAI:
            return read_oai(data, url=url, selection=selection) if harvests else None
        case SourceKind.FEED:
            return read_feed(data, url=url)
        case SourceKind.IIIF:
            return read_iiif(data, url=url)
        case SourceKind.LIST:
            return read_list(data, url=url, is_ordered=is_ordered)
        case _:
            return None


def unpacked(data: bytes) -> bytes:
    """*data* without gzip around it, as far as it can be had; the row about the document tells of damage.

    >>> import gzip
    >>> unpacked(gzip.compress(b"<urlset/>")), unpacked(gzip.compress(b"<urlset/>")[:-4])
    (b'<urlset/>', b'<urlset/>')
    """
    if not data.startswith(_GZIP):
        return data
    found = bytearray()
    unpacking = zlib.decompressobj(wbits=31)
    for start in range(0, len(data), _PIECE_BYTES):
        try:
            found += unpacking.decompress(data[start : start + _PIECE_BYTES], MOST_BYTES - len(found))
        except zlib.error:
            break
        if unpacking.eof or len(found) >= MOST_BYTES:
            break
    return bytes(found)


def _kind_of_root(data: bytes) -> SourceKind | None:
    found = root_name(data)
    if found is None:
        return None
    namespace, name = found
    if name == "OAI-PMH" and namespace == NAMESPACE:
        return SourceKind.OAI
    if name in _SITEMAP_ROOTS and (not namespace or "sitemap" in namespace.lower()):
        return SourceKind.SITEMAP
    if name == "rss" or (name == "feed" and ("atom" in namespace.lower())):
        return SourceKind.FEED
    return SourceKind.FEED if name == "RDF" and _RSS_1 in data[:4096] else None
