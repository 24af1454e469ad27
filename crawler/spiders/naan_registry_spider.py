"""Fetches the NAAN registry by one request, through the same guard, routes and redirects as all others."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import scrapy
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from twisted.python.failure import Failure

from crawler.model.observations import ChainEnd, Hop
from crawler.model.registry import REGISTRY_LIMIT
from crawler.model.resolving import sendable
from crawler.wire.credentialed import verifying_policy
from crawler.wire.failures import STOPPED, incomplete
from crawler.wire.handlers import ExactDownloadHandler
from crawler.wire.middlewares import chain_of


@dataclass(frozen=True, slots=True)
class RegistryAnswer:
    """The end of a chain of requests for the registry."""

    hops: tuple[Hop, ...]
    end: ChainEnd
    detail: str = ""
    status: int | None = None
    flags: tuple[str, ...] = ()
    etag: str | None = None
    last_modified: str | None = None
    body: bytes = b""

    @property
    def fault(self) -> str | None:
        """Return why this is no answer to rely on; None when it is."""
        if self.end is not ChainEnd.ANSWERED:
            return f"{self.end.value}: {self.detail}" if self.detail else self.end.value
        secure = [hop.url.lower().startswith("https:") for hop in self.hops]
        if secure[:1] == [True] and not all(secure):
            return f"a redirect from https to {self.hops[secure.index(False)].url}"
        if self.status not in (200, 304):
            return f"{self.hops[-1].url} answered {self.status}"
        if STOPPED in self.flags:
            return f"more than {REGISTRY_LIMIT} bytes"
        return next((finding.detail for finding in incomplete(self.flags, len(self.body))), None)


class VerifyingDownloadHandler(ExactDownloadHandler):
    """Trusts only certificates that a known authority has signed: what comes is believed, not just observed."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._contextFactory = verifying_policy(crawler.settings.get("ARKAUDIT_CA_FILE"))


class RegistrySpider(scrapy.Spider):
    """One chain; what it ended in is delivered, whatever it is."""

    name = "registry"

    def __init__(
        self,
        *,
        url: str,
        headers: Mapping[str, str],
        deliver: Callable[[RegistryAnswer], None],
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._url = url
        self._headers = dict(headers)
        self._deliver = deliver

    async def start(self) -> AsyncIterator[Request]:
        yield Request(
            sendable(self._url),
            headers=self._headers,
            callback=self.answered,
            errback=self.failed,
            dont_filter=True,
            meta={
                "verbatim_url": True,
                "dont_merge_cookies": True,
                "body_limit": REGISTRY_LIMIT + 1,
            },
        )

    def answered(self, response: Response) -> None:
        request = response.request
        assert request is not None
        hops, end, detail = chain_of(request)
        self._deliver(
            RegistryAnswer(
                hops,
                end,
                detail,
                status=response.status,
                flags=tuple(response.flags),
                etag=_header(response, "ETag"),
                last_modified=_header(response, "Last-Modified"),
                body=response.body,
            )
        )

    def failed(self, failure: Failure) -> None:
        request: Request = failure.request  # type: ignore[attr-defined]
        self._deliver(RegistryAnswer(*chain_of(request)))


def _header(response: Response, name: str) -> str | None:
    value = response.headers.get(name)
    return value.decode("latin-1") if value else None
