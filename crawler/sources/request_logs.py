r"""Counts requests for ARKs in the access logs of web servers: common, combined, and JSON lines of Caddy.

Of a line only the ARK, the status and the citing page are kept: no address, user, User-Agent or query of a visitor. The
library apachelogs 0.6.1 is not used: a truncated line of thirty ``\x16``, as TLS to a plain port leaves it, takes it
half an hour.
"""

from __future__ import annotations

import gzip
import re
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from crawler.model.crawl_requests import site_of
from crawler.model.defaults import GLOBAL_RESOLVER
from crawler.model.observations import CitedMention, DocumentOutcome, DocumentRecord, LoggedRequests, now
from crawler.model.resolving import mention_url, sendable, url_fault
from extractors.archives.compression import SIGNATURES, Compression
from extractors.find import scan
from extractors.mentions.mention import Mention
from extractors.model.documents import Block, Finding, Role
from extractors.model.urls import host_name_of, is_web_url, origin_of, split_url
from extractors.wraps.evidence import Evidence
from extractors.wraps.reasons import Reason
from extractors.wraps.rules import Confidence

#: A line in common or combined format, also with host and port before it (Apache's ``vhost_combined``).
_LINE = re.compile(
    rb'(?:([^\s:]++:\d++) )?+\S++ \S++ [^\[]*+\[[^\]]*+\] "((?:[^"\\]|\\.)*+)" (\d{3}) \S++(?: "((?:[^"\\]|\\.)*+)".*+)?',
    re.DOTALL,
)
_ESCAPE = re.compile(rb"\\(?:x([0-9A-Fa-f]{2})|(.))", re.DOTALL)
#: The control characters that Apache writes as a letter.
_CONTROLS = {b"b": b"\b", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
#: A host that can be cited: a name with a dot, not an IP address.
_NAME = re.compile(r"(?=.*[a-z])[a-z0-9-]+(?:\.[a-z0-9-]+)+")


class _CaddyRequest(BaseModel):
    method: str
    uri: str
    host: str = ""
    tls: Any = None
    headers: dict[str, list[str]] = {}


class _CaddyLine(BaseModel):
    request: _CaddyRequest
    status: int


@dataclass(frozen=True, slots=True)
class Request:
    """The request in one line."""

    method: str
    target: str
    status: int
    origin: str
    """Scheme and host that were asked; empty if the line does not name them."""
    referer: str


def request_in(line: bytes) -> Request | None:
    r"""Return the request in a line, or None if no format matches.

    >>> request_in(b'192.0.2.7 - - [10/Oct/2026:13:55:36 +0000] "GET /ark:/12148/x5 HTTP/1.1" 404 9 "http://a.example/"')
    Request(method='GET', target='/ark:/12148/x5', status=404, origin='', referer='http://a.example/')
    """
    if line.startswith(b"{"):
        try:
            entry = _CaddyLine.model_validate_json(line)
        except ValidationError:
            return None
        asked = entry.request
        origin = _named_origin(f"{'https' if asked.tls else 'http'}://{asked.host}")
        return Request(asked.method, asked.uri, entry.status, origin, "".join(asked.headers.get("Referer", [])))
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    host, request, status, referer = (_unescape(value or b"") for value in match.groups())
    method, _, target = request.partition(" ")
    scheme = "https" if host.endswith(":443") else "http"
    return Request(method, target.partition(" HTTP/")[0], int(status), _named_origin(f"{scheme}://{host}"), referer)


def _unescape(value: bytes) -> str:
    """Return a value without the escapes of nginx (``\\xC3``) and Apache (``\\"``, ``\\t``)."""

    def escaped(match: re.Match[bytes]) -> bytes:
        return bytes.fromhex(match[1].decode()) if match[1] else _CONTROLS.get(match[2], match[2])

    return _ESCAPE.sub(escaped, value).decode(errors="replace")


def _named_origin(url: str) -> str:
    return origin_of(url) if is_web_url(url) and _NAME.fullmatch(host_name_of(url)) else ""


@lru_cache(maxsize=2**14)
def requested_ark(target: str, origin: str) -> Mention | None:
    """Return the ARK in the path of a request *target* at *origin*. Of the query only an inflection is kept.

    >>> requested_ark("/ark:/12148/x5?token=secret", "https://a.example").repaired
    'https://a.example/ark:/12148/x5'
    """
    path, mark, query = target.partition("?")
    inflection = f"?{query}" if mark and query in ("", "?", "info") else ""
    for mention in scan(Block(origin + path + inflection, Role.LINK_TARGET), Evidence()):
        if isinstance(mention, Mention):
            written = mention.as_written.removeprefix(origin)
            return replace(
                mention,
                as_written=written,
                spans=((0, len(written)),),
                context="",
                fragment="",
                confidence=Confidence.CERTAIN,  # the request itself is the evidence
                reason=Reason.VISITOR_REQUEST,
                alternatives=(),
            )
    return None


@lru_cache(maxsize=2**14)
def citing_page(referer: str, asked: str) -> str | None:
    """Return the page of a Referer on the site of *asked*, without query and parameters; on other sites the origin.

    >>> citing_page("https://anna:pw@www.ours.example/3;v=1?token=secret#top", "https://ark.ours.example")
    'https://www.ours.example/3'
    >>> citing_page("https://mail.example/inbox/anna", "https://ark.ours.example"), citing_page("http://192.0.2.7/me", "")
    ('https://mail.example', None)
    """
    url = sendable(referer)
    origin = "" if url_fault(url) else _named_origin(url)
    if not origin or site_of(origin) != site_of(asked):
        return origin or None
    return origin + (split_url(url).path.partition(";")[0] or "/")


#: The largest length of a line in bytes; servers reject longer requests.
MOST_LINE_BYTES = 2**17
#: The number of different requests that are counted; further ones are left out.
MOST_DISTINCT = 250_000
_SHOWN_EVERY = 2**14


@dataclass(slots=True)
class RequestLogs:
    """The requests for ARKs in one or more logs, counted."""

    resolver: str
    """The resolver that was asked if a log doesn't name the host."""
    show: Callable[[int], None] = lambda lines: None
    """Called from time to time with the number of lines read of a log."""
    logs: dict[str, DocumentRecord] = field(default_factory=dict)
    """The logs that were read, by name, without citations."""
    _counts: Counter[tuple[Mention, str, str, int]] = field(default_factory=Counter)
    """Requests by ARK, URL for it, citing document and status."""

    def read_log(self, path: Path, name: str) -> None:
        """Read a log, compressed by gzip or not, up to its size at opening; faults become findings. Never raises."""
        lines = odd = counted = 0
        findings: list[Finding] = []
        try:
            with path.open("rb") as file:
                is_packed = file.peek(3).startswith(SIGNATURES[Compression.GZIP])
                left = sys.maxsize if is_packed else path.stat().st_size
                stream = gzip.GzipFile(fileobj=file) if is_packed else file
                while line := stream.readline(min(left, MOST_LINE_BYTES)):
                    left -= len(line)
                    lines += 1
                    request = request_in(line.rstrip(b"\r\n"))
                    odd += request is None
                    counted += request is not None and self.add(request, name)
                    if lines % _SHOWN_EVERY == 0:
                        self.show(lines)
        except (OSError, EOFError, zlib.error) as problem:
            findings.append(Finding("unreadable-part" if lines > odd else "unreadable", str(problem)))
        is_read = lines > odd or not (lines or findings)
        findings.append(Finding("log-read", f"{counted} requests for ARKs in {lines} lines"))
        if odd:
            findings.append(Finding("odd-lines", f"lines in no known format (common, combined, Caddy's JSON): {odd}"))
        outcome = DocumentOutcome.READ if is_read else DocumentOutcome.UNREADABLE
        self.logs[name] = DocumentRecord(name, None, now(), outcome, findings=tuple(findings))

    def add(self, request: Request, log: str) -> bool:
        """Count a request; return False for one that asks for no ARK, or is one too many."""
        origin = request.origin
        if not origin and self.resolver != GLOBAL_RESOLVER:
            origin = origin_of(self.resolver)
        is_asking = (
            request.method in ("GET", "HEAD") and request.target.startswith("/") and 100 <= request.status < 1000
        )
        mention = requested_ark(request.target, origin) if is_asking else None
        if mention is None:
            return False
        url = mention_url(mention.repaired, mention.resolver, None, self.resolver)
        key = (mention, url, citing_page(request.referer, origin) or log, request.status)
        if key not in self._counts and len(self._counts) >= MOST_DISTINCT:
            return False
        self._counts[key] += 1
        return True

    def records(self) -> list[DocumentRecord]:
        """Return the logs and the citing pages, as documents with their citations."""
        records = dict(self.logs)
        cited: defaultdict[str, list[CitedMention]] = defaultdict(list)
        citations: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for (mention, url, document, status), count in self._counts.items():
            number = citations[document].setdefault(url, len(citations[document]) + 1)
            requests = LoggedRequests(count, status)
            cited[document].append(CitedMention(replace(mention, citation=number), url, requests=requests))
            records.setdefault(document, DocumentRecord(document, None, now(), DocumentOutcome.REFERER))
        return [replace(record, mentions=tuple(cited[name])) for name, record in records.items()]

    def requested_urls(self) -> dict[str, list[str]]:
        """Return the URLs for the ARKs, most requested first, with their citing documents and numbers of requests."""
        pages: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for (_, url, document, _), count in self._counts.items():
            pages[url][document] += count
        ordered = sorted(pages.items(), key=lambda item: -item[1].total())
        return {url: [f"{page} ({count})" for page, count in of_url.most_common()] for url, of_url in ordered}
