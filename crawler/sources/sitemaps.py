"""Pure: sitemaps and indexes of sitemaps in XML (sitemaps.org); those in plain text are lists.

Only addresses of pages count: images, films and other languages of a page have elements of their own, and lead nowhere.
A sitemap may name 50,000 addresses; what is behind these is counted and left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from crawler.model.listing import ListedItem, SourceKind, SourceReading
from crawler.sources.link_targets import absolute
from crawler.sources.xml_walk import elements, local_name, text_of
from extractors.document_model import Finding

MOST_ENTRIES = 50_000


def read_sitemap(data: bytes, *, url: str) -> SourceReading:
    """Return what the sitemap at *url* lists: pages, or further sitemaps where it is an index.

    >>> read = read_sitemap(b"<urlset><url><loc> http://a.example/x </loc></url></urlset>", url="http://a.example/")
    >>> [item.url for item in read.items]
    ['http://a.example/x']
    """
    pages: dict[str, None] = {}
    sitemaps: dict[str, None] = {}
    left_out = 0
    for name, address in _addresses(data, url):
        if len(pages) + len(sitemaps) >= MOST_ENTRIES:
            left_out += 1
        elif name == "sitemap":
            sitemaps[address] = None
        else:
            pages[address] = None
    findings = []
    if left_out:
        findings.append(Finding("source-limit", f"a sitemap lists {MOST_ENTRIES} at most; left out: {left_out}"))
    if not pages and not sitemaps:
        findings.append(Finding("empty-source", "this sitemap lists nothing"))
    return SourceReading(
        SourceKind.SITEMAP, tuple(ListedItem(page) for page in pages), tuple(sitemaps), findings=tuple(findings)
    )


def _addresses(data: bytes, url: str) -> Iterator[tuple[str, str]]:
    """Each address in order, with the name of the element that holds it: ``url`` or ``sitemap``."""
    for entry in elements(data, "{*}url", "{*}sitemap"):
        place = next((child for child in entry if local_name(child) == "loc"), None)
        address = absolute(url, text_of(place)) if place is not None else None
        if address is not None:
            yield local_name(entry), address
