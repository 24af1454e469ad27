"""Responses of Scrapy as the plain values that are decided on."""

from __future__ import annotations

import io
from urllib.parse import urlsplit

from scrapy.http import Response

from crawler.model.crawl_requests import CrawlRequest
from crawler.model.observations import Hop
from crawler.sources.link_targets import Headers
from crawler.spiders.document_reading import DocumentSource
from crawler.wire.flags import INCOMPLETE
from extractors.model.formats import parse_content_type


def source_of(crawl_request: CrawlRequest, response: Response, hops: tuple[Hop, ...]) -> DocumentSource:
    """The document that *lead* has led to, in as many *hops*."""
    content_type = (response.headers.get("Content-Type") or b"").decode("latin-1")
    media_type, charset = parse_content_type(content_type) if content_type else (None, None)
    return DocumentSource(
        crawl_request.url,
        io.BytesIO(response.body),
        path=urlsplit(response.url).path,
        found_on=crawl_request.found_on,
        hops=hops,
        media_type=media_type,
        charset=charset,
        flags=response.flags,
    )


def whole_lines(response: Response) -> bytes:
    """The body; of one that was cut off all but the last line, where it has several: half a URL leads elsewhere."""
    return response.body[: response.body.rfind(b"\n") + 1] or response.body if is_cut(response) else response.body


def is_cut(response: Response) -> bool:
    """Return whether only the beginning of the body has arrived."""
    return not INCOMPLETE.isdisjoint(response.flags)


def headers_of(response: Response) -> Headers:
    """Return what the headers of *response* may say about where it leads."""

    def values(name: str) -> tuple[str, ...]:
        return tuple(value.decode("latin-1") for value in response.headers.getlist(name))

    return Headers(values("Link"), values("X-Robots-Tag"), values("Refresh"))
