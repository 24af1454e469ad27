r"""Reads requests for ARKs from the logs of web servers: the ARK, the referring page and the status.

Personal data of visitors never leaves this module. Of a line, only method, target, host, status, Referer and User-Agent
are read. Of these, only the ARK, the status, and the public part of the referring URL are kept. Repeated requests are
counted, so memory grows with the variety of requests, not with the log.

The library apachelogs 0.6.1 is not used. A request of some hundred unprintable bytes keeps its regular expressions busy
for years (``\x16`` is an escape, and another one before ``16``).
"""

from __future__ import annotations

import gzip
import json
import os
import re
import unicodedata
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote

from crawler.model.crawl_requests import site_of
from crawler.model.observations import CitedMention, DocumentOutcome, DocumentRecord, LoggedRequests, now
from crawler.model.resolving import GLOBAL_RESOLVER, mention_url, sendable, url_fault
from extractors.find import scan
from extractors.mentions.fast_path import holds_no_label
from extractors.mentions.mention import Mention
from extractors.model.documents import Block, Finding, Role
from extractors.model.urls import split_url
from extractors.wraps.evidence import Evidence
from extractors.wraps.reasons import Reason
from extractors.wraps.rules import Confidence

# -- line formats

#: The fields to read of a line, by Apache's directives and nginx's variables.
_FIELDS = {
    "request": ("r", "request"),
    "method": ("m", "request_method"),
    "target": ("U", "request_uri"),
    "status": ("s", "status"),
    "host": ("v", "V", "{host}i", "host", "http_host", "server_name"),
    "port": ("p", "server_port"),
    "referer": ("{referer}i", "http_referer"),
    "agent": ("{user-agent}i", "http_user_agent"),
}
_FIELD_OF = {name: field for field, names in _FIELDS.items() for name in names}
_DIRECTIVE = re.compile(
    r"%[<>!,0-9]*(?P<directive>(?:\{[^}]*\})?(?:\^[A-Za-z]{2}|[A-Za-z%]))|\$(?P<braced>\{)?(?P<variable>\w+)(?(braced)\})"
)
#: Apache's ``vhost_combined``, ``combined`` (the same in nginx), and ``common`` with and without a host.
_FORMATS = (
    '%v:%p %h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i"',
    '%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i"',
    '%v:%p %h %l %u %t "%r" %>s %b',
    '%h %l %u %t "%r" %>s %b',
)


def line_pattern(log_format: str) -> re.Pattern[bytes]:
    """Return the pattern of a line in a format of Apache (``%h … "%r" %>s``) or nginx (``$remote_addr … "$request"``).

    It never backtracks, so its time grows with the line. Text after a quoted last field is skipped. Raises ValueError
    for a format without request or status.

    >>> line_pattern('%>s "%r"').fullmatch(b'404 "GET /ark:/12148/x5"')["request"]
    b'GET /ark:/12148/x5'
    """
    parts: list[str] = []
    fields: set[str] = set()
    end = 0
    for match in _DIRECTIVE.finditer(log_format):
        parts.append(re.escape(log_format[end : match.start()]))
        end = match.end()
        name = match["variable"] or match["directive"]
        value = _value_pattern(name, log_format[end : end + 1])
        named = _FIELD_OF.get(name.lower() if name.startswith("{") else name)
        if named and named not in fields:
            fields.add(named)
            value = f"(?P<{named}>{value})"
        parts.append(value)
    if "status" not in fields or not fields & {"request", "target"}:
        raise ValueError("a format of logs names the request (%r or $request) and the status (%>s or $status)")
    rest = "(?: .*+)?" if log_format.endswith('"') else ""
    pattern = f"{''.join(parts)}{re.escape(log_format[end:])}{rest}"
    return re.compile(pattern.encode(), re.DOTALL)


def _value_pattern(name: str, following: str) -> str:
    """Return the pattern of one value that ends before the character *following*."""
    match name, following:
        case "%", _:
            return "%"
        case "t", _:
            return r"\[[^\]]*+\]"
        case "p" | "server_port", _:
            return r"\d++"
        case "s" | "status", _:
            return r"\d{3}"
        case (("u" | "remote_user"), " "):  # the only unquoted value that may contain spaces
            return r"[^\[]*?"
        case _, '"':
            return r'(?:[^"\\]|\\.)*+'
        case _, "":
            return ".*+"
        case _, ("%" | "$"):  # %U%q
            return r"[^\s?]*+"
    return rf"[^\s{re.escape(following)}]++" if following != "]" else r"[^\]]*+"


KNOWN_FORMATS = tuple(map(line_pattern, _FORMATS))
_ESCAPE = re.compile(rb"\\(?:x([0-9A-Fa-f]{2})|(.))", re.DOTALL)
_ESCAPED = bytes.maketrans(b"nrtbvf", b"\n\r\t\b\v\f")


@dataclass(frozen=True, slots=True)
class Request:
    """The request in one line; None for fields that its format doesn't have."""

    method: str
    target: str
    status: int
    origin: str
    """Scheme and host of the request, if the line has them; else empty."""
    referer: str | None
    agent: str | None


#: A request without an ARK.
_OTHER = Request("", "", 0, "", None, None)


def request_in(line: bytes, patterns: Sequence[re.Pattern[bytes]] = KNOWN_FORMATS) -> Request | None:
    r"""Return the request of a line in the first matching format, or in Caddy's JSON; None if no format matches.

    >>> line = b'192.0.2.7 - - [10/Oct/2026:13:55:36 +0000] "GET /ark:/12148/x5 HTTP/1.1" 404 9 "-" "a \\x22b\\x22"'
    >>> request_in(line)
    Request(method='GET', target='/ark:/12148/x5', status=404, origin='', referer='-', agent='a "b"')
    """
    if line.startswith(b"{"):
        return _request_in_json(line)
    match = next((match for pattern in patterns if (match := pattern.fullmatch(line))), None)
    if match is None:
        return None
    if b"%" not in line and b"ark" not in line.lower():
        return _OTHER  # early, because most requests have no ARK
    values = {name: _unescape(value) for name, value in match.groupdict().items()}
    method, _, rest = values.get("request", "").partition(" ")
    target = values.get("target") or rest.rpartition(" HTTP/")[0] or rest
    return Request(
        values.get("method", method),
        target,
        int(values["status"]),
        _origin(None, values.get("host", ""), values.get("port")),
        values.get("referer"),
        values.get("agent"),
    )


def _request_in_json(line: bytes) -> Request | None:
    try:
        entry = json.loads(line.decode("utf-8", "replace"))
        request, headers = entry["request"], entry["request"].get("headers", {})
        given = [request["method"], request["uri"], request.get("host", "")]
        given += [next(iter(headers.get(name) or ("",))) for name in ("Referer", "User-Agent")]
        texts = (str(text).encode("utf-8", "replace").decode() for text in given)
        method, target, host, referer, agent = texts
        origin = _origin("https" if request.get("tls") else "http", host, None)
        return Request(method, target, int(str(entry["status"])), origin, referer, agent)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _unescape(value: bytes) -> str:
    def octets(match: re.Match[bytes]) -> bytes:
        return bytes.fromhex(match[1].decode()) if match[1] else match[2].translate(_ESCAPED)

    return _ESCAPE.sub(octets, value).decode("utf-8", "replace")


_NAME = re.compile(r"(?=.*[a-z])[a-z0-9-]+(?:\.[a-z0-9-]+)+", re.IGNORECASE)


def _origin(scheme: str | None, host: str, port: str | None) -> str:
    """Return scheme and host of the request; empty for an IP address, which is not a name to cite."""
    host, _, own_port = host.partition(":")
    port = port or own_port
    if not _NAME.fullmatch(host):
        return ""
    scheme = scheme or ("http" if port not in (None, "", "443") else "https")
    is_default = port in (None, "", {"http": "80", "https": "443"}.get(scheme))
    return f"{scheme}://{host.lower()}{'' if is_default else f':{port}'}"


# -- personal data

#: An IP address in text, possibly that of a visitor.
_ADDRESS = re.compile(
    r"(?<!\d)(?:\d{1,3}\.){3}\d{1,3}(?!\d)|(?<![\w:])[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?![\w:])", re.IGNORECASE
)
_AUTHORITY = re.compile(r"https?://[^/?#]*", re.IGNORECASE)
#: The size of caches: most requests repeat others.
_MOST_KNOWN = 2**14
#: Names of programs in a User-Agent; browsers use other names.
_ROBOT = re.compile(
    r"(?<!cu)bot|crawl|spider|slurp|archive|scrap|fetch|preview|monitor|check|scan|feed|headless|arkaudit|facebookexternal"
    r"|curl|wget|python|java/|perl|ruby|go-http|okhttp|httpclient|axios|node",
    re.IGNORECASE,
)


@lru_cache(maxsize=_MOST_KNOWN)
def requested_ark(target: str, origin: str) -> Mention | None:
    """Return the ARK in a request *target* at *origin*: in its path, or as the complete value of a parameter.

    Of a query, which may contain anything, only an inflection is kept.

    >>> requested_ark("/ark:/12148/x5?token=secret", "https://a.example").repaired
    'https://a.example/ark:/12148/x5'
    >>> str(requested_ark("/dataset?id=ark:/12148/x5", "").ark), requested_ark("/search?q=is+ark:/12148/x5+there", "")
    ('ark:12148/x5', None)
    """
    target = _AUTHORITY.sub("", target, count=1)
    path, mark, query = target.partition("?")
    inflection = f"?{query}" if mark and query in ("", "?", "info") else ""
    mention = _first_ark(origin + path + inflection) or _ark_of_query(query)
    if mention is None or "@" in (mention.resolver or ""):  # the URL has a user and password
        return None
    if _holds_address(mention.repaired.removeprefix(origin)):
        return None
    as_written = mention.as_written.removeprefix(origin)
    return replace(
        mention,
        as_written=as_written,
        spans=((0, len(as_written)),),
        context="",
        fragment="",
        confidence=Confidence.CERTAIN,  # the request itself is the evidence
        alternatives=(),
        reason=Reason.VISITOR_REQUEST,
    )


def _first_ark(text: str) -> Mention | None:
    block = Block(text, Role.LINK_TARGET)
    return next((one for one in scan(block, Evidence()) if isinstance(one, Mention)), None)


def _ark_of_query(query: str) -> Mention | None:
    """Return the ARK that is the complete value of a parameter, or None."""
    for parameter in query.split("&"):
        value = unquote(parameter.partition("=")[2])
        mention = _first_ark(value)
        if mention is not None and (mention.start, mention.end) == (0, len(value)):
            return mention
    return None


#: The last label of a public name: neither one of local networks (RFC 6761, 6762, 8375), nor that of addresses.
_PUBLIC = re.compile(
    r"(?!(?:arpa|corp|home|internal|intranet|lan|local|localdomain|localhost|private)\Z)(?:[a-z]{2,}|xn--[a-z0-9-]+)"
)
#: An IP address in a host name, as providers name the machines of their customers.
_ADDRESS_IN_NAME = re.compile(
    r"""
    (?:\d{1,4}[-._x]+){2}\d                # three octets, decimal or octal: 203-0-113-9.dyn.isp.example
    | 0x[0-9a-f]
    | (?=[a-f]*\d)[0-9a-f]{8}              # one number, decimal or hexadecimal: p5cb07109.dip.isp.example
    | (?<![0-9a-z])(?=[a-f.-]*\d)          # IPv6: 2001-db8--77.isp.example
      [0-9a-f]{1,4}(?:[-.][0-9a-f]{0,4}){2,}(?![0-9a-z])
    """,
    re.VERBOSE,
)
_LONGEST_HOST = 253
#: Segments of a path before a person's name.
_BEFORE_NAMES = re.compile(
    r"accounts?|benutzer|home|inbox|(?:web)?mail|mailbox|members?|nutzer|patrons?|profiles?|u|users?"
    r"|usuarios?|utent[ei]|utilisateurs?",
    re.IGNORECASE,
)
#: A user's folder, a session of ASP.NET, a mail address, a parameter, a remaining escape, or an IPv4 address.
_PERSONAL = re.compile(r"\A~|\A\([A-Z]\(|[@?;=]|%[0-9A-Fa-f]{2}|(?<!\d)\d{1,3}(?:[.-]\d{1,3}){3}(?!\d)")
_MOST_ESCAPES = 5


@lru_cache(maxsize=_MOST_KNOWN)
def citing_page(referer: str | None, asked: str = "") -> str | None:
    """Return the public part of a Referer: the page on the site of *asked*, the origin on other sites, or None.

    The host must have a public name without an IP address in it. A page is given without query and parameters, and up
    to the first segment that may be about its reader.

    >>> citing_page("https://anna:pw@www.ours.example/3;v=1?token=secret#top", "https://ark.ours.example")
    'https://www.ours.example/3'
    >>> citing_page("https://mail.example/inbox/anna"), citing_page("http://203-0-113-9.dyn.isp.example/")
    ('https://mail.example', None)
    >>> citing_page("http://192.0.2.7/me"), citing_page("-"), citing_page("android-app://com.example")
    (None, None, None)
    """
    if not referer or not _AUTHORITY.match(referer):
        return None
    url = sendable(referer)
    if url_fault(url):
        return None
    parts = split_url(url)
    host = parts.hostname
    is_public = len(host) <= _LONGEST_HOST and _PUBLIC.fullmatch(host.rpartition(".")[2])
    if not is_public or _ADDRESS_IN_NAME.search(host):
        return None
    origin = _origin(parts.scheme, parts.netloc, None)
    if not origin or site_of(origin) != site_of(asked):
        return origin or None
    return origin + (_public_path(parts.path) or "/")


def _public_path(path: str) -> str:
    """Return *path* without parameters, up to the first segment that may be about a person.

    >>> _public_path("/view;token=abc/3"), _public_path("/inbox/anna%2540example.org/3"), _public_path("/~anna/cv")
    ('/view/3', '/inbox/', '/')
    """
    kept: list[str] = []
    before = ""
    for segment in path.split("/"):
        plain = segment.partition(";")[0]
        for part in re.split(r"[/\\]", _decode(plain)):
            if part and (_BEFORE_NAMES.fullmatch(before) or _PERSONAL.search(part) or _holds_address(part)):
                return "/".join([*kept, ""])
            before = part
        kept.append(plain)
    return "/".join(kept)


def _decode(text: str) -> str:
    for _ in range(_MOST_ESCAPES):
        text = unquote(text)
    return unicodedata.normalize("NFKC", text)


def _holds_address(text: str) -> bool:
    return any(_ADDRESS.search(form) for form in {text, unquote(text)})


# -- whole logs

#: The largest length of a line in bytes; servers reject longer requests.
MOST_LINE_BYTES = 2**17
#: The number of requests with different ARK, page or status that are counted separately; further ones are only counted.
MOST_DISTINCT = 250_000
_MOST_NAMED = 5
_SHOWN_EVERY = 2**14
_GZIP = b"\x1f\x8b"


@dataclass(slots=True)
class _Count:
    """The number of equal requests, and the log and line of the first."""

    log: str
    line: int
    people: int = 0
    robots: int = 0


@dataclass(slots=True)
class RequestLogs:
    """The requests for ARKs in one or more logs, counted."""

    resolver: str
    """The resolver that was asked if a log doesn't name the host."""
    formats: Sequence[re.Pattern[bytes]] = KNOWN_FORMATS
    """The possible formats of lines."""
    most_distinct: int = MOST_DISTINCT
    show: Callable[[int], None] = lambda lines: None
    """Called from time to time with the number of lines read in all logs."""
    _lines: int = 0
    _counts: dict[tuple[str, str, int], _Count] = field(default_factory=dict)
    """By the URL for the ARK, the citing document, and the status."""
    _mentions: dict[str, Mention] = field(default_factory=dict)
    logs: dict[str, DocumentRecord] = field(default_factory=dict)
    """The logs that were read, by name, without citations."""
    _files: set[tuple[int, int]] = field(default_factory=set)

    def read_log(self, path: Path, name: str) -> None:
        """Read a log, compressed by gzip or not, up to its present end; faults become findings. Never raises."""
        counts, odd = Counter[str](), list[int]()
        fault = None
        try:
            with path.open("rb") as stream:
                status = os.fstat(stream.fileno())
                if (status.st_dev, status.st_ino) in self._files:  # the log was rotated meanwhile
                    return
                self._files.add((status.st_dev, status.st_ino))
                is_packed = stream.peek(2).startswith(_GZIP)
                size = None if is_packed else status.st_size
                unpacked = gzip.GzipFile(fileobj=stream) if is_packed else stream
                for line, is_whole in _lines(unpacked, size):
                    is_read = len(line) <= MOST_LINE_BYTES
                    request = request_in(line, self.formats) if is_read else None
                    if request is None and not is_whole and not is_packed:
                        continue  # the line is being written
                    counts["lines"] += 1
                    if counts["lines"] % _SHOWN_EVERY == 0:
                        self.show(self._lines + counts["lines"])
                    if request is None:
                        counts["odd"] += 1
                        odd += [counts["lines"]] * (len(odd) < _MOST_NAMED)
                    else:
                        counts[self.add(request, name, counts["lines"])] += 1
        except (OSError, EOFError, zlib.error) as problem:
            kind = "unreadable-part" if counts["lines"] > counts["odd"] else "unreadable"
            fault = Finding(kind, str(getattr(problem, "strerror", None) or problem))
        self._lines += counts["lines"]
        self.logs[name] = _log_record(name, counts, odd, fault)

    def add(self, request: Request, log: str, line: int) -> str:
        """Count one request, and return the name of the count of its log that it adds to."""
        is_asking = request.method in ("GET", "HEAD") and request.status in range(100, 1000)
        if not is_asking or holds_no_label(request.target):
            return "others"
        origin = request.origin
        if not origin and self.resolver != GLOBAL_RESOLVER:
            origin = "/".join(self.resolver.split("/")[:3])
        mention = requested_ark(request.target, origin)
        if mention is None:
            return "others"
        url = mention_url(mention.repaired, mention.resolver, None, self.resolver)
        key = (url, citing_page(request.referer, origin) or log, request.status)
        if key not in self._counts and len(self._counts) >= self.most_distinct:
            return "beyond"
        self._mentions.setdefault(url, mention)
        count = self._counts.setdefault(key, _Count(log, line))
        # Browsers identify themselves. In a format without User-Agent, all requests count as those of people.
        if request.agent is not None and (request.agent in ("", "-") or _ROBOT.search(request.agent)):
            count.robots += 1
            return "robots"
        count.people += 1
        return "people"

    def records(self) -> list[DocumentRecord]:
        """Return the logs and the referring pages, as documents with their citations."""
        records = dict(self.logs)
        cited: defaultdict[str, list[CitedMention]] = defaultdict(list)
        citations: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for (url, document, status), count in self._counts.items():
            of_page = citations[document]
            mention = replace(
                self._mentions[url],
                citation=of_page.setdefault(url, len(of_page) + 1),
                place=f"line {count.line} of {count.log}",
            )
            requests = LoggedRequests(count.people, count.robots, status)
            cited[document].append(CitedMention(mention, url, requests=requests))
            record = DocumentRecord(document, count.log, now(), DocumentOutcome.REFERER)
            records.setdefault(document, record)
        return [replace(record, mentions=tuple(cited[name])) for name, record in records.items()]

    def requested_urls(self) -> dict[str, list[str]]:
        """Return the URLs for the ARKs, most requested first, each with its referring pages and their counts."""
        pages: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for (url, document, _), count in self._counts.items():
            pages[url][document] += count.people
        ordered = sorted(pages.items(), key=lambda item: -item[1].total())
        return {url: [f"{page} ({number})" for page, number in of_url.most_common()] for url, of_url in ordered}


def _log_record(name: str, counts: Counter[str], odd: Sequence[int], fault: Finding | None) -> DocumentRecord:
    """Return the record of a log, without citations."""
    words = f"{counts['people']} requests for ARKs by people and {counts['robots']} by robots"
    words = f"{words}, in {counts['lines']} lines; only this reading is counted"
    findings = [Finding("log-read", words)]
    if odd:
        first = f"{', '.join(map(str, odd))}{' …' * (counts['odd'] > len(odd))}"
        words = f"lines that are not requests in a known format: {counts['odd']} ({first})"
        findings.append(Finding("odd-lines", words))
    if counts["beyond"]:
        words = f"requests that are not recorded, because too many differ: {counts['beyond']}"
        findings.append(Finding("log-limit", words))
    is_read = counts["lines"] > counts["odd"] or not (counts["lines"] or fault)
    if not counts["lines"] and is_read:
        fault = Finding("empty", "there is no line in this log")
    elif not is_read and fault is None:
        advice = "give the format with --access-log-format"
        fault = Finding("unknown-format", f"no line is a request in a known format: {advice}")
    findings += [fault] if fault else []
    outcome = DocumentOutcome.READ if is_read else DocumentOutcome.UNREADABLE
    return DocumentRecord(name, None, now(), outcome, findings=tuple(findings))


def _lines(stream: BinaryIO | gzip.GzipFile, size: int | None) -> Iterator[tuple[bytes, bool]]:
    """Yield the lines of a log, each with True if it is complete; of overlong lines the beginning.

    *size* is the number of bytes at opening, or None if unknown.
    """
    left = size
    while line := stream.readline(MOST_LINE_BYTES + 1 if left is None else min(left, MOST_LINE_BYTES + 1)):
        read = len(line)
        piece = line
        while not piece.endswith(b"\n") and len(piece) > MOST_LINE_BYTES and piece:
            piece = stream.readline(MOST_LINE_BYTES + 1)
            read += len(piece)
        left = None if left is None else max(0, left - read)
        yield line.rstrip(b"\r\n"), piece.endswith(b"\n")
