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
from crawler.model.resolving import request_url, sendable
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
#: The path in the request of an object.
_PATH = re.compile(r"(?:GET|HEAD) (/[^ ?#]*)")
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

    path: str
    """The path of a GET or HEAD, without the query; empty for other requests."""
    status: int
    referer: str


def request_in(line: bytes) -> Request | None:
    r"""Return the request in a log's *line* (common, combined or Caddy's JSON format), or None.

    >>> request_in(b'192.0.2.7 - - [10/Oct/2026:13:55:36 +0000] "GET /ark:/12148/x5 HTTP/1.1" 404 9 "http://a.example/"')
    Request(path='/ark:/12148/x5', status=404, referer='http://a.example/')
    """
    if line.startswith(b"{"):
        try:
            entry = _CaddyLine.model_validate_json(line)
        except ValidationError:
            return None
        request = f"{entry.request.method} {entry.request.uri}"
        status, referer = entry.status, "".join(entry.request.headers.get("Referer", []))
    elif match := _LINE.fullmatch(line):
        request, referer = _unescape(match[1]), _unescape(match[3] or b"")
        status = int(match[2])
    else:
        return None
    path = _PATH.match(request)
    return Request(path[1] if path else "", status, referer)


def _unescape(value: bytes) -> str:
    """Return a value without the escapes of nginx (``\\xC3``) and Apache (``\\"``, ``\\t``), which are also Python's."""
    return value.decode("unicode_escape", "replace").encode("latin-1", "replace").decode(errors="replace")


@lru_cache(maxsize=2**14)
def requested_ark(path: str, resolver: str) -> CitedMention | None:
    """Return the ARK in the *path* of a request to *resolver*, with the URL that requests it; None without an ARK.

    >>> requested_ark("/ark:/12148/x5", "https://a.example/").request_url
    'https://a.example/ark:/12148/x5'
    """
    origin = "" if resolver == GLOBAL_RESOLVER else origin_of(resolver)
    for mention in scan(Block(origin + path, Role.LINK_TARGET), Evidence()):
        if isinstance(mention, Mention):
            ark_text = mention.as_written.removeprefix(origin)
            mention = replace(
                mention,
                as_written=ark_text,
                spans=((0, len(ark_text)),),
                context="",
                confidence=Confidence.CERTAIN,  # the request itself is the evidence
                reason=Reason.VISITOR_REQUEST,
                alternatives=(),
            )
            return CitedMention(mention, request_url(mention.repaired, mention.resolver, resolver))
    return None


def citing_page(referer: str, asked_url: str) -> str | None:
    """Return the URL of a Referer without query and parameters, or its origin if not on the site of *asked_url*.

    None if the host of the Referer is not a name with a dot.

    >>> citing_page("https://anna:pw@www.ours.example/3;v=1?token=secret#top", "https://ark.ours.example")
    'https://www.ours.example/3'
    >>> citing_page("https://mail.example/inbox/anna", "https://ark.ours.example"), citing_page("http://192.0.2.7/me", "")
    ('https://mail.example', None)
    """
    url = sendable(referer)
    if not is_web_url(url) or not _NAME.fullmatch(host_name_of(url)):
        return None
    path = split_url(url).path.partition(";")[0] or "/"
    return origin_of(url) + (path if site_of(url) == site_of(asked_url) else "")


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
    _counts: Counter[tuple[str, CitedMention, int]] = field(default_factory=Counter)
    """The number of requests by citing document, ARK and status."""

    def read_log(self, path: Path, name: str) -> None:
        """Read a log, compressed if its name ends with ``.gz``; faults become findings. Never raises."""
        line_count = odd_count = 0
        findings: list[Finding] = []
        try:
            with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
                while line := file.readline(MOST_LINE_BYTES):
                    request = request_in(line.rstrip(b"\r\n"))
                    if request is None:
                        odd_count += 1
                    else:
                        line_count += 1
                        self.add(request, name)
        except (OSError, EOFError, zlib.error) as problem:
            findings.append(Finding("unreadable-part" if line_count else "unreadable", str(problem)))
        if odd_count:
            findings.append(
                Finding("odd-lines", f"lines in no known format (common, combined, Caddy's JSON): {odd_count}")
            )
        outcome = DocumentOutcome.READ if line_count or not findings else DocumentOutcome.UNREADABLE
        self.logs[name] = DocumentRecord(name, None, now(), outcome, findings=tuple(findings))

    def add(self, request: Request, log: str) -> None:
        """Count a request for an ARK in the log named *log*, unless `MOST_DISTINCT` requests are counted."""
        cited_mention = requested_ark(request.path, self.resolver)
        if cited_mention is None:
            return
        key = (citing_page(request.referer, cited_mention.request_url) or log, cited_mention, request.status)
        if key in self._counts or len(self._counts) < MOST_DISTINCT:
            self._counts[key] += 1

    def records(self) -> list[DocumentRecord]:
        """Return the logs and the pages in Referers, each as a document that cites the ARKs requested from it."""
        records = dict(self.logs)
        mentions: defaultdict[str, list[CitedMention]] = defaultdict(list)
        citations: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for (document, cited_mention, status), count in self._counts.items():
            number = citations[document].setdefault(cited_mention.request_url, len(citations[document]) + 1)
            mention = replace(cited_mention.mention, citation=number)
            mentions[document].append(replace(cited_mention, mention=mention, requests=LoggedRequests(count, status)))
            records.setdefault(document, DocumentRecord(document, None, now(), DocumentOutcome.REFERER))
        return [replace(record, mentions=tuple(mentions[name])) for name, record in records.items()]
