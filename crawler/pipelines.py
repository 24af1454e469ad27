"""Records facts about hosts: the result of one TLS probe per host and day, the traffic and the pauses."""

from __future__ import annotations

import asyncio
import hashlib
import socket
import ssl
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self, cast
from urllib.request import getproxies, proxy_bypass

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from crawler.model.observations import NOT_IN_TIME, ChainEnd, DocumentRecord, ObjectOutcome, Observation, TlsResult, now
from crawler.politeness.throttle import HostGivenUp, routes_and_guard, throttle_of
from crawler.spiders.auditing import AuditSpider
from crawler.wire.middlewares import CrawlerPart, RunStopped
from extractors.model.urls import split_url

#: The number of attempts to see a certificate after a timeout.
PROBES = 3


class _Part(CrawlerPart):
    """A component for crawlers whose spider has a store."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not issubclass(crawler.spidercls, AuditSpider):
            raise NotConfigured("this spider has no store")
        return super().from_crawler(crawler)

    @property
    def _spider(self) -> AuditSpider:
        return cast("AuditSpider", self._crawler.spider)


class TlsProbePipeline(_Part):
    """Checks the certificate of every https host in a chain once a day.

    A result of the same day (UTC) and the same means in the store is copied to this run with its own time.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        settings = crawler.settings
        self._routes, self._guard = routes_and_guard(settings)
        self._ca_file: str | None = settings.get("ARKAUDIT_CA_FILE")
        self._timeout_s = settings.getfloat("DOWNLOAD_TIMEOUT")
        self._may_be_proxied = settings.getbool("HTTPPROXY_ENABLED")

    async def process_item(self, item: Any) -> Any:
        spider = self._spider
        for host, port in https_hosts(item):
            if (host, port) in spider.probed_hosts or spider.store_failure is not None:
                continue
            spider.probed_hosts.add((host, port))
            today = datetime.now(UTC).date().isoformat()
            result = spider.store.tls_result_of_day(host, port, day=today, means=self._means(host, port))
            spider.recorder.add(result or await self._probe_repeatedly(host, port))
        return item

    async def _probe_repeatedly(self, host: str, port: int) -> TlsResult:
        """Return the result of a probe in the host's turn, repeated after a timeout, which may be a local delay."""
        name = f"[{host}]" if ":" in host else host
        for _ in range(PROBES):
            try:
                async with throttle_of(self._crawler).slot(f"https://{name}:{port}") as slot:
                    result = await self._probe(host, port, slot.report_sent)
            except (HostGivenUp, RunStopped) as failure:
                return not_probed(host, port, str(failure))
            if not result.is_late or self._spider.is_stopping:
                break
        return result

    async def _probe(self, host: str, port: int, on_sent: Callable[[], None]) -> TlsResult:
        """Return the result for the certificate of *host*, by one verifying handshake without a request. Never raises.

        No handshake is made if the environment names a proxy for the host.
        """
        trusted, reason = None, "not probed: requests go through a proxy"
        try:
            if not self._may_be_proxied or "https" not in getproxies() or proxy_bypass(host):
                async with asyncio.timeout(self._timeout_s):
                    trusted, reason = await self._handshake(host, port, on_sent)
        except TimeoutError:
            return not_probed(host, port, NOT_IN_TIME)
        except (OSError, ValueError) as problem:
            return not_probed(host, port, f"{type(problem).__name__}: {problem}".strip(": "))
        return TlsResult(host, port, trusted, reason, now(), self._means(host, port))

    def _means(self, host: str, port: int) -> str:
        return means(self._routes.target(host, port), self._ca_file)

    async def _handshake(self, host: str, port: int, on_sent: Callable[[], None]) -> tuple[bool | None, str]:
        route = self._routes.target(host, port)
        if route is None and self._routes.only and not self._guard.allows(host):
            return None, "not probed: it has no route"
        context = ssl.create_default_context(cafile=self._ca_file)
        context.options |= _LEGACY_SERVER_CONNECT
        loop = asyncio.get_running_loop()
        addresses = await loop.getaddrinfo(*(route or (host.strip("[]"), port)), type=socket.SOCK_STREAM)
        refusals = [None if route else self._guard.refusal(str(address[0])) for *_, address in addresses]
        if refusals and all(refusals):
            return None, f"not probed: {refusals[0]}"
        problem: OSError = OSError("the name has no address")
        for refusal, (family, kind, protocol, _, address) in zip(refusals, addresses, strict=True):
            if refusal:
                continue
            connection = socket.socket(family, kind, protocol)
            connection.setblocking(False)
            try:
                await loop.sock_connect(connection, address)
            except OSError as unreachable:  # another address of the name may be reachable
                connection.close()
                problem = unreachable
                continue
            on_sent()
            try:
                return await _verify(connection, host, context)
            finally:
                # On a busy machine, the handshake goes out later than the connection is made.
                on_sent()
        raise problem


def https_hosts(item: Any) -> Iterator[tuple[str, int]]:
    """Yield the https hosts in an item's chain that answered, or failed at the TLS handshake."""
    match item:
        case Observation():
            hops, has_failed = item.hops, item.end is ChainEnd.TLS
        case DocumentRecord():
            hops = tuple(hop for row in item.rows for hop in row.hops)
            has_failed = item.outcome == ObjectOutcome.TLS
        case _:
            return
    for number, hop in enumerate(hops, start=1):
        parts = split_url(hop.url)
        is_reported = hop.status is not None or (has_failed and number == len(hops))
        if parts.scheme == "https" and parts.hostname and is_reported:
            yield parts.hostname, parts.port or 443


# An extension that records the traffic to each host, and the pauses that hosts asked for.


class TrafficRecorder(_Part):
    """Records the pauses of hosts when they are asked for, and the traffic with other records.

    A turn is counted before its request is sent. It is recorded within `crawler.store.feeding.COMMIT_AFTER_S`, even
    without an answer, and never later than its answer. A killed run may lose the turns of this time.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._throttle = throttle_of(crawler)
        crawler.signals.connect(self.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(self.spider_closed, signal=signals.spider_closed)

    def spider_opened(self) -> None:
        recorder = self._spider.recorder
        recorder.further_items = lambda: [self._spider.redact(traffic) for traffic in self._throttle.take_traffic()]
        self._throttle.on_turn = recorder.add
        self._throttle.on_pause = self._record_pauses

    def spider_closed(self) -> None:
        self._throttle.on_turn = self._throttle.on_pause = lambda: None
        self._record_pauses()

    def _record_pauses(self) -> None:
        recorder = self._spider.recorder
        recorder.add(*self._throttle.take_pauses())
        recorder.commit()


#: The reasons for OpenSSL's verify codes.
REASONS = {
    9: "not-yet-valid",
    10: "expired",
    18: "self-signed",
    19: "self-signed",
    20: "unknown-issuer",
    21: "unknown-issuer",
    62: "wrong-host",
    64: "wrong-host",
}


#: Admits servers without RFC 5746, as browsers and the crawl do, so that their certificates are seen. Python 3.12 has a
#: name for it.
_LEGACY_SERVER_CONNECT = 0x4


def not_probed(host: str, port: int, why: str) -> TlsResult:
    """Return the result for a host whose certificate was not seen."""
    return TlsResult(host, port, None, f"not probed: {why}", now())


def means(route: tuple[str, int] | None, ca_file: str | None) -> str:
    """Return the means of a probe: its certificate authorities, and its *route* to the host.

    >>> means(("127.0.0.1", 8443), None)
    "the system's authorities, at 127.0.0.1:8443"
    """
    trusted = "the system's authorities"
    if ca_file:
        trusted = f"authorities {hashlib.sha256(Path(ca_file).read_bytes()).hexdigest()[:16]}"
    return trusted + (f", at {route[0]}:{route[1]}" if route else "")


async def _verify(connection: socket.socket, host: str, context: ssl.SSLContext) -> tuple[bool | None, str]:
    """Return the result of the handshake over a new connection, which is closed afterwards."""
    try:
        _, writer = await asyncio.open_connection(sock=connection, ssl=context, server_hostname=host.strip("[]"))
    except ssl.SSLCertVerificationError as problem:
        connection.close()
        return False, REASONS.get(problem.verify_code, problem.verify_message)
    except ssl.SSLError as problem:
        connection.close()
        return None, f"no handshake: {problem.reason or problem}"
    except BaseException:
        connection.close()
        raise
    writer.close()
    return True, "ok"
