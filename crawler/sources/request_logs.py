r"""Counts requests for ARKs in the access logs of web servers: common, combined, and JSON lines of Caddy.

Of a line only the ARK, the status and the citing page are kept: no address, user, User-Agent or query of a visitor. The
library apachelogs 0.6.1 is not used: a truncated line of thirty ``\x16``, as TLS to a plain port leaves it, takes it
half an hour.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from crawler.model.crawl_requests import site_of
from crawler.model.defaults import GLOBAL_RESOLVER
from crawler.model.observations import CitedMention, DocumentOutcome, DocumentRecord, LoggedRequests, now
from crawler.model.resolving import mention_url, sendable, url_fault
from extractors.find import scan
from extractors.mentions.mention import Mention
from extractors.model.documents import Block, Finding, Role
from extractors.model.urls import host_name_of, is_web_url, origin_of, split_url
from extractors.wraps.evidence import Evidence
from extractors.wraps.reasons import Reason
from extractors.wraps.rules import Confidence

#: A line in common or combined format.
_LINE = re.compile(
    rb'\S++ \S++ [^\[]*+\[[^\]]*+\] "((?:[^"\\]|\\.)*+)" ([1-9]\d\d) \S++(?: "((?:[^"\\]|\\.)*+)".*+)?', re.DOTALL
)
#: A host that can be cited: a name with a dot, not an IP address.
_NAME = re.compile(r"(?=.*[a-z])[a-z0-9-]+(?:\.[a-z0-9-]+)+")


class _CaddyRequest(BaseModel):
    method: str
    uri: str
    headers: dict[str, list[str]] = {}


class _CaddyLine(BaseModel):
    request: _CaddyRequest
    status: int = Field(ge=100, lt=1000)


@dataclass(frozen=True, slots=True)
class Request:
    """The request in one line."""

    method: str
    target: str
    status: int
    referer: str


def request_in(line: bytes) -> Request | None:
    r"""Return the request in a line, or None if no format matches.

    >>> request_in(b'192.0.2.7 - - [10/Oct/2026:13:55:36 +0000] "GET /ark:/12148/x5 HTTP/1.1" 404 9 "http://a.example/"')
    Request(method='GET', target='/ark:/12148/x5', status=404, referer='http://a.example/')
    """
    if line.startswith(b"{"):
        try:
            entry = _CaddyLine.model_validate_json(line)
        except ValidationError:
            return None
        asked = entry.request
        return Request(asked.method, asked.uri, entry.status, "".join(asked.headers.get("Referer", [])))
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    request, status, referer = (_unescape(value or b"") for value in match.groups())
    method, _, target = request.partition(" ")
    return Request(method, target.partition(" HTTP/")[0], int(status), referer)


def _unescape(value: bytes) -> str:
    """Return a value without the escapes of nginx (``\\xC3``) and Apache (``\\"``, ``\\t``), which are also Python's."""
    return value.decode("unicode_escape", "replace").encode("latin-1", "replace").decode(errors="replace")


@lru_cache(maxsize=2**14)
def requested_ark(path: str, origin: str) -> Mention | None:
    """Return the ARK in the *path* of a request at *origin*.

    >>> requested_ark("/ark:/12148/x5", "https://a.example").repaired
    'https://a.example/ark:/12148/x5'
    """
    mentions = scan(Block(origin + path, Role.LINK_TARGET), Evidence())
    mention = next((mention for mention in mentions if isinstance(mention, Mention)), None)
    if mention is None:
        return None
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


def citing_page(referer: str, asked: str) -> str | None:
    """Return the page of a Referer on the site of *asked*, without query and parameters; on other sites the origin.

    >>> citing_page("https://anna:pw@www.ours.example/3;v=1?token=secret#top", "https://ark.ours.example")
    'https://www.ours.example/3'
    >>> citing_page("https://mail.example/inbox/anna", "https://ark.ours.example"), citing_page("http://192.0.2.7/me", "")
    ('https://mail.example', None)
    """
    url = sendable(referer)
    if not is_web_url(url) or url_fault(url) or not _NAME.fullmatch(host_name_of(url)):
        return None
    path = split_url(url).path.partition(";")[0] or "/"
    return origin_of(url) + (path if site_of(url) == site_of(asked) else "")


#: The largest length of a line in bytes; servers reject longer requests.
MOST_LINE_BYTES = 2**17
#: The number of different requests that are counted; further ones are left out.
MOST_DISTINCT = 250_000


@dataclass(slots=True)
class RequestLogs:
    """The requests for ARKs in one or more logs, counted."""

    resolver: str
    """The resolver that was asked."""
    logs: dict[str, DocumentRecord] = field(default_factory=dict)
    """The logs that were read, by name, without citations."""
    _counts: Counter[tuple[Mention, str, str, int]] = field(default_factory=Counter)
    """Requests by ARK, URL for it, citing document and status."""

    def read_log(self, path: Path, name: str) -> None:
        """Read a log, compressed if its name ends with ``.gz``; faults become findings. Never raises."""
        lines = odd = counted = 0
        findings: list[Finding] = []
        try:
            with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
                while line := file.readline(MOST_LINE_BYTES):
                    lines += 1
                    request = request_in(line.rstrip(b"\r\n"))
                    if request is None:
                        odd += 1
                    else:
                        counted += self.add(request, name)
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
        if request.method not in ("GET", "HEAD") or not request.target.startswith("/"):
            return False
        origin = "" if self.resolver == GLOBAL_RESOLVER else origin_of(self.resolver)
        mention = requested_ark(request.target.partition("?")[0], origin)
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

    def requested_urls(self) -> dict[str, Counter[str]]:
        """Return the URLs for the ARKs, most requested first, with the number of requests by citing document."""
        pages: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for (_, url, document, _), count in self._counts.items():
            pages[url][document] += count
        return dict(sorted(pages.items(), key=lambda item: -item[1].total()))
