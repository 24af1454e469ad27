"""Between the spiders and the wire: records each hop, obeys robots.txt, bounds bodies and tolerates faulty answers.

An answer that Scrapy turns into an exception keeps its status here.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Self

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpcompression import HttpCompressionMiddleware
from scrapy.exceptions import IgnoreRequest, StopDownload
from scrapy.http import Headers, Response
from scrapy.http.cookies import CookieJar
from service_identity import CertificateError, VerificationError
from service_identity.cryptography import verify_certificate_hostname, verify_certificate_ip_address
from twisted.internet.abstract import isIPAddress, isIPv6Address

from crawler.answers.answer import REDIRECT_BYTES, is_textual
from crawler.answers.quirks import quirks
from crawler.model.crawl_requests import is_public_suffix
from crawler.model.observations import VALUE_CHARS, Chain, ChainEnd, Hop, now
from crawler.model.resolving import Follow, Stop, is_too_long, next_step, url_fault
from crawler.politeness.throttle import HostGivenUp
from crawler.wire.failures import UNDECODABLE, UNPACKED_IN_PART, failure_kind, failure_text
from extractors.archives.compression import MOST_CODINGS, PIECE_BYTES, Compression, DecompressedStream, SizeBudget
from extractors.model.formats import parse_content_type
from extractors.model.urls import split_url

logger = logging.getLogger(__name__)

#: Headers stored with every hop, in addition to those that reveal a bot challenge.
KEPT_HEADERS = (
    "Content-Type", "Content-Length", "Link", "THUMP-Status", "Retry-After", "Refresh", "Vary", "Last-Modified",
    "Server", "Memento-Datetime", "Content-Location", "Cache-Control", "Access-Control-Allow-Origin",
)  # fmt: skip
#: The largest ratio of content to body, and the size of a body above which a thread decompresses it.
GROWTH, _UNPACKED_AT_ONCE = 4, 2**16
#: The number of bytes read of a robots.txt (RFC 9309, 2.5).
ROBOTS_LIMIT = 500 * 2**10
_NO_DOCUMENTS = ("image/", "audio/", "video/", "font/")


class RunStopped(IgnoreRequest):
    """Raised for a request that was still queued when the run was stopped. It was not sent, and is not recorded."""


class NotSent(IgnoreRequest):
    """Raised for a request that a middleware held back before it was sent."""


class RobotsUnreachable(IgnoreRequest):
    """Raised if the host gave no answer for robots.txt; the cause is the failure."""


class UnusableUrl(NotSent):
    """Raised for an invalid URL; its host has not been looked up."""


class UrlTooLong(UnusableUrl):
    """Raised for a URL above arkaudit's limit of length (`is_too_long`)."""


class CrawlerPart:
    """A component that Scrapy creates from the crawler alone."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)


class UsableUrls:
    """The first middleware: rejects URLs that Scrapy or Twisted would fail on."""

    def process_request(self, request: Request) -> None:
        fault = url_fault(request.url)
        if fault:
            raise (UrlTooLong if is_too_long(request.url) else UnusableUrl)(fault)


class HopRecorder(CrawlerPart):
    """Records every hop in ``meta["hops"]``, and follows redirects byte for byte.

    The end of the chain is in ``meta["chain_end"]`` and ``meta["chain_detail"]``. With ``meta["follows_refresh"]`` a
    page that does nothing but refresh is a redirect too.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._max_hops = crawler.settings.getint("ARKAUDIT_MAX_HOPS")
        challenge_headers = {
            header.partition(":")[0].lower() for challenge in quirks().challenge for header in challenge.header
        }
        self._kept_headers = (*KEPT_HEADERS, *sorted(challenge_headers - {name.lower() for name in KEPT_HEADERS}))

    def process_request(self, request: Request) -> None:
        if getattr(self._crawler.spider, "is_stopping", False):
            raise RunStopped("the run was stopped")

    def process_response(self, request: Request, response: Response) -> Request | Response:
        header = response.headers.get("Location")
        location = None if header is None else header.decode("latin-1")
        hop = Hop(
            url=request.url,
            method=request.method,
            at=now(),
            status=response.status,
            location=None if location is None else location[:VALUE_CHARS],
            address=None if response.ip_address is None else str(response.ip_address),
            elapsed_s=_latency_s(request),
            headers={
                name: b", ".join(values).decode("latin-1")[:VALUE_CHARS]
                for name in self._kept_headers
                if (values := response.headers.getlist(name))
            },
            body_bytes=len(response.body),
            body_sha256=hashlib.sha256(response.body).hexdigest() if response.body else None,
            certificate_fault=certificate_fault(response),
        )
        _log_hop(hop)
        hops = (*request.meta.get("hops", ()), hop)
        request.meta["hops"] = hops
        if response.headers.get("Set-Cookie") and "jar" in request.meta:
            request.meta["cookie_at"] = len(hops) - 1
        if request.meta.get("dont_redirect"):
            return response
        refresh = _refresh_of(response) if request.meta.get("follows_refresh") else None
        if refresh is not None:
            location = refresh.encode().decode("latin-1")
        urls = [earlier_hop.url for earlier_hop in hops]
        cookie_at = request.meta.get("cookie_at")
        match next_step(
            urls,
            302 if refresh is not None else response.status,
            location,
            max_hops=self._max_hops,
            cookie_at=cookie_at,
        ):
            case Stop(end, detail):
                if refresh is not None and end is not ChainEnd.TOO_MANY_REDIRECTS:
                    # The page is the answer: it has no usable target, or only a script ends its reloads.
                    end, detail = ChainEnd.ANSWERED, ""
                request.meta["chain_end"], request.meta["chain_detail"] = end, detail
                return response
            case Follow(url):
                if refresh is not None:
                    request.meta["hops"] = (*hops[:-1], replace(hop, location=refresh[:VALUE_CHARS]))
                meta = {key: value for key, value in request.meta.items() if key not in _PER_HOP}
                # Ahead of its host's queue: the target may expire soon, and this keeps the order of discovery.
                next_request = request.replace(url=url, dont_filter=True, meta=meta, priority=request.priority + 1)
                for name in ("Cookie", "Proxy-Authorization"):  # the jar and the proxy add those of the next host
                    next_request.headers.pop(name, None)
                return next_request

    def process_exception(self, request: Request, exception: Exception) -> None:
        if isinstance(exception, RunStopped) or isinstance(exception.__cause__, RunStopped):
            request.errback = None
            return
        errors = (exception, exception.__cause__)
        given_up = next((error for error in errors if isinstance(error, HostGivenUp)), None)
        if given_up is not None:  # the host was given up
            end, words = given_up.reason.end, given_up.reason.words
        else:
            end, words = end_and_words(exception)
            if isinstance(exception, RobotsUnreachable) and end is not ChainEnd.REFUSED_ADDRESS:
                words = f"when asked for robots.txt: {words}"
        is_held_back = end in _HELD_BACK or isinstance(exception, NotSent)
        hop = Hop(
            request.url,
            request.method,
            now(),
            elapsed_s=_latency_s(request),
            error=words,
            sent=given_up is None and not is_held_back,
        )
        _log_hop(hop)
        request.meta["hops"] = (*request.meta.get("hops", ()), hop)
        request.meta["chain_end"], request.meta["chain_detail"] = end, words


def _refresh_of(response: Response) -> str | None:
    """Return the target of a refresh in the headers or body of *response*; None if the page does anything else."""
    headers = {str(name, "latin-1"): str(response.headers.get(name) or b"", "latin-1") for name in response.headers}
    media_type, charset = parse_content_type(headers.get("Content-Type", ""))
    is_page = response.status == 200 and len(response.body) <= REDIRECT_BYTES and "html" in (media_type or "html")
    if not is_page or not ("Refresh" in headers or b"refresh" in response.body.lower()):
        return None
    if quirks().challenge_in_headers(headers):
        return None
    from crawler.answers.answer_pages import redirect_in_page  # with beautifulsoup4, when it is needed

    return redirect_in_page(response.body, charset, headers.get("Refresh", ""))


def certificate_fault(response: Response) -> str | None:
    """Return the fault of the certificate of an https answer, such as "has expired"; None without a fault.

    Dates and names are compared; the signature of the authority is not verified.
    """
    url = split_url(response.url)
    if response.certificate is None or url.scheme != "https":  # plain http may have the certificate of a proxy
        return None
    certificate, now = response.certificate.original.to_cryptography(), datetime.now(UTC)
    if certificate.not_valid_after_utc < now:
        return "has expired"
    if certificate.not_valid_before_utc > now:
        return "is not valid yet"
    is_address = isIPAddress(url.hostname) or isIPv6Address(url.hostname)
    verify = verify_certificate_ip_address if is_address else verify_certificate_hostname
    try:
        verify(certificate, url.hostname)
    except (CertificateError, VerificationError):
        return "is for another host"
    return None


def _log_hop(hop: Hop) -> None:
    """Log a request at the level of debugging."""
    names = ("url", "status", "elapsed_s", "address", "error")
    fields = {name: getattr(hop, name) for name in names}
    words = hop.error if hop.status is None else f"{hop.status} {hop.location or ''}".strip()
    logger.debug("%s: %s (%s s)", hop.url, words, hop.elapsed_s, extra=fields)


#: Values of one hop, not of the chain: the next host has its own slot and proxy, and its own count of bytes.
_PER_HOP = frozenset(
    {"download_slot", "download_latency", "body_bytes_received", "proxy", "_scheme_proxy", "_auth_proxy"}
)


#: Ends of chains for requests that the crawler's own rules held back.
_HELD_BACK = frozenset({ChainEnd.ROBOTS, ChainEnd.REFUSED_ADDRESS})


def end_and_words(failure: Exception) -> tuple[ChainEnd, str]:
    """Return the chain end and the message for a request that failed with *failure*."""
    kind = failure_kind(list(exception_names(failure)))
    return kind.end, failure_text(kind, failure_words(failure))


def exception_names(exception: BaseException) -> Iterator[str]:
    """Yield the class names of an exception, its causes and its reasons, which distinguish failures."""
    pending: list[BaseException | None] = [exception]
    visited: list[BaseException] = []
    while pending:
        current = pending.pop(0)
        if current is None or current in visited:
            continue
        visited.append(current)
        classes = [class_ for class_ in type(current).__mro__ if class_ not in (Exception, BaseException, object)]
        yield from (class_.__name__ for class_ in classes)
        if type(current).__module__ == "OpenSSL.SSL":
            yield "SSL.Error"
        reasons: Any = getattr(current, "reasons", None) or ()
        pending += [getattr(reason, "value", None) for reason in reasons]
        pending += [current.__cause__, current.__context__]


def failure_words(exception: BaseException) -> str:
    """Return the message of a failure; if Scrapy only lists the reasons inside, the messages of these."""
    if isinstance(exception, RobotsUnreachable) and exception.__cause__ is not None:
        return failure_words(exception.__cause__)
    cause = exception.__cause__ or exception
    reasons: Any = getattr(cause, "reasons", None) or ()
    messages = [str(reason.value) or type(reason.value).__name__ for reason in reasons if hasattr(reason, "value")]
    return "; ".join(messages) or str(exception) or type(exception).__name__


# -- bodies: bounded decompression, and the number of bytes read

#: A body is a bomb if it grows to more bytes than this, and to more than this multiple of its compressed size.
BOMB_BYTES, BOMB_RATIO = 2**20, 200
_PIECE_OF_BODY_BYTES = 2**12
_CODINGS: Mapping[str, tuple[Compression, ...]] = {
    "gzip": (Compression.GZIP,),
    "x-gzip": (Compression.GZIP,),
    "deflate": (Compression.ZLIB, Compression.DEFLATE),  # some servers leave the wrapper out
    "br": (Compression.BROTLI,),
    "zstd": (Compression.ZSTD,),
}


@dataclass(frozen=True, slots=True)
class Content:
    """The decoded content of a body."""

    data: bytes
    fault: str = ""
    """Why the content is incomplete, in words; empty if it is complete."""


def codings_of(headers: Sequence[str]) -> list[str]:
    """Return the content codings of Content-Encoding headers, in the order of application.

    >>> codings_of(["deflate, GZip", "br"])
    ['deflate', 'gzip', 'br']
    """
    names = (name.strip().lower() for header in headers for name in header.split(","))
    return [name for name in names if name and name != "identity"]


def content(body: bytes, codings: Sequence[str], *, limit: int) -> Content:
    """Return at most *limit* bytes of the decompressed *body*; *codings* are in the order in which they were applied.

    The last codings are removed until one is unknown. Of a damaged or too large body, the beginning is returned, and of
    a decompression bomb, nothing.

    >>> import gzip
    >>> content(gzip.compress(b"ark:/12148/btv1b84"), ["gzip"], limit=100)
    Content(data=b'ark:/12148/btv1b84', fault='')
    >>> content(gzip.compress(b"ark:/12148/btv1b84"), ["gzip"], limit=5)
    Content(data=b'ark:/', fault='only the first 5 bytes were decompressed')
    >>> content(gzip.compress(bytes(10**8)), ["gzip"], limit=10**7)
    Content(data=b'', fault='it grows to more than 200 times its size')
    """
    if not body:
        return Content(b"")
    if len(codings) > MOST_CODINGS:
        return Content(b"", f"it was compressed {len(codings)} times")
    faults: list[str] = []
    data = body
    for coding in reversed(codings):
        compressions = _CODINGS.get(coding)
        if compressions is None:
            break
        contents = [_decompress(data, compression, limit) for compression in compressions]
        if None in contents:
            return Content(b"", f"it grows to more than {BOMB_RATIO} times its size")
        longest = max(filter(None, contents), key=lambda content: len(content.data))
        data = longest.data
        faults += [longest.fault] if longest.fault else []
    return Content(data, "; ".join(faults))


class _PiecewiseBody:
    """A body read in small pieces, so that the ratio of its size to its content is known at any time."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self.taken = 0

    def read(self, size: int, /) -> bytes:
        piece = self._body[self.taken : self.taken + min(size, _PIECE_OF_BODY_BYTES)]
        self.taken += len(piece)
        return piece


def _decompress(body: bytes, compression: Compression, limit: int) -> Content | None:
    """Return at most *limit* bytes of a *body* that was compressed once; None for a decompression bomb."""
    piecewise_body = _PiecewiseBody(body)
    stream = DecompressedStream(piecewise_body, compression, SizeBudget(bytes_left=limit, members_left=1))
    data = bytearray()
    while piece := stream.read(PIECE_BYTES):
        data += piece
        if len(data) > BOMB_BYTES and len(data) > BOMB_RATIO * piecewise_body.taken:
            return None
    fault = ""
    if stream.damage:
        fault = f"its {compression.value} coding is damaged: {stream.damage}"
    elif not stream.is_at_end:
        fault = f"only the first {len(data)} bytes were decompressed"
    return Content(bytes(data), fault)


class BoundedCompression(HttpCompressionMiddleware):
    """Requests compressed bodies and decompresses them. Damaged or too large ones keep their status and beginning.

    Flags show whether there is a beginning. The content may be `GROWTH` times as long as a body may be.
    """

    def __init__(self, *, crawler: Crawler) -> None:
        super().__init__(crawler=crawler)
        self._content_limit = crawler.settings.getint("ARKAUDIT_DECOMPRESSED_LIMIT")
        self._body_limit = crawler.settings.getint("ARKAUDIT_DOCUMENT_LIMIT")

    async def process_response(  # type: ignore[override]
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Response:
        codings = codings_of([header.decode("latin-1") for header in response.headers.getlist("Content-Encoding")])
        if not codings or not response.body:
            return response
        limit = min(self._content_limit, GROWTH * body_limit_of(request, self._body_limit))
        if len(response.body) > _UNPACKED_AT_ONCE:
            body = await asyncio.to_thread(content, response.body, codings, limit=limit)
        else:
            body = content(response.body, codings, limit=limit)
        if not body.fault:
            return response.replace(body=body.data)
        if not body.data and request.meta.get("dont_obey_robotstxt"):
            return response  # rules that are not compressed in spite of their header are obeyed
        logger.info("%s: %s", response.url, body.fault)
        flag = UNPACKED_IN_PART if body.data else UNDECODABLE
        return response.replace(body=body.data, flags=[*response.flags, flag])


class BodyBounds(CrawlerPart):
    """An extension that stops a download when no more of the body is needed; the status is kept.

    ``meta["body_limit"]`` is in bytes on the wire. ``meta["text_only"]`` skips bodies that are not text, and
    ``meta["documents_only"]`` those that no reader could read: images, audio, video and fonts.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._body_limit = crawler.settings.getint("ARKAUDIT_DOCUMENT_LIMIT")
        crawler.signals.connect(self.headers_received, signal=signals.headers_received)
        crawler.signals.connect(self.bytes_received, signal=signals.bytes_received)

    def headers_received(self, headers: Headers, request: Request) -> None:
        content_type = header_of(headers, "Content-Type")
        media_type = parse_content_type(content_type)[0] if content_type else None
        if request.meta.get("text_only") and not is_textual(media_type):
            raise StopDownload(fail=False)
        if request.meta.get("documents_only") and (media_type or "").startswith(_NO_DOCUMENTS):
            raise StopDownload(fail=False)

    def bytes_received(self, data: bytes, request: Request) -> None:
        limit = body_limit_of(request, self._body_limit)
        received = request.meta.get("body_bytes_received", 0) + len(data)
        request.meta["body_bytes_received"] = received
        if received >= limit:
            raise StopDownload(fail=False)


def body_limit_of(request: Request, default_limit: int) -> int:
    """Return the limit of the answer to *request* in bytes, as ``body_limit`` in its meta states.

    Without this key it is `ROBOTS_LIMIT` for robots.txt, else *default_limit*.
    """
    is_robots_txt = request.meta.get("dont_obey_robotstxt")
    return int(request.meta.get("body_limit", ROBOTS_LIMIT if is_robots_txt else default_limit))


def header_of(headers: Headers, name: str) -> str:
    """Return the first header of that *name*, decoded as Latin-1; empty if there is none."""
    return (headers.get(name) or b"").decode("latin-1")


def chain_of(request: Request) -> tuple[Chain, ChainEnd, str]:
    """Return the hops of the chain that ended with *request*, its end, and the message about the end."""
    return (
        request.meta.get("hops", ()),
        request.meta.get("chain_end", ChainEnd.UNDETERMINED),
        request.meta.get("chain_detail", ""),
    )


def _latency_s(request: Request) -> float | None:
    latency = request.meta.get("download_latency")
    return None if latency is None else round(float(latency), 3)


# Cookies live within one chain of requests. Some hosts redirect in circles without them.

#: The largest size of an answer's Set-Cookie headers, in bytes; browsers store less.
_MOST_COOKIE_BYTES = 2**16


class ChainCookies:
    """Keeps the cookies of a chain in ``meta["jar"]``, so that they are gone with it.

    Scrapy's own middleware keeps every jar until the end, and fetches the list of public suffixes without this handler.
    """

    def process_request(self, request: Request) -> None:
        jar: CookieJar | None = request.meta.get("jar")
        if jar is not None:
            jar.add_cookie_header(request)

    def process_response(self, request: Request, response: Response) -> Response:
        cookies = response.headers.getlist("Set-Cookie")
        if cookies and not request.meta.get("dont_merge_cookies") and sum(map(len, cookies)) <= _MOST_COOKIE_BYTES:
            jar: CookieJar = request.meta.setdefault("jar", CookieJar())
            for cookie in jar.make_cookies(response, request):
                if not is_public_suffix(cookie.domain):
                    jar.set_cookie_if_ok(cookie, request)
        return response
