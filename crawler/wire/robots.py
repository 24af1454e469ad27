"""Obeys robots.txt, also if it is unavailable: then nothing may be requested (RFC 9309, 2.3.1)."""

from __future__ import annotations

import asyncio
import codecs
import math
import re
from collections import defaultdict
from datetime import UTC, datetime
from itertools import chain

from protego import Protego
from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.robotstxt import RobotParser
from scrapy.utils.misc import build_from_crawler

from crawler.model.resolving import PASSING_STATUSES, wait_s
from crawler.politeness.throttle import HostGivenUp, patience_of, throttle_of
from crawler.wire.endpoints import NoAnswerInTime
from crawler.wire.failures import BODY_TIMEOUT
from crawler.wire.middlewares import RobotsUnreachable, content, header_of
from extractors.archives.compression import SIGNATURES, Compression
from extractors.model.urls import origin_of

#: The number of bytes read of compressed rules; the same as of others (RFC 9309, 2.5).
_MOST_BYTES = 500 * 2**10
#: The largest number of rules with wildcards; each may scan a whole URL.
MOST_WILDCARDS = 5_000
#: The kinds of lines that Protego recognizes, in its spellings, without surrounding spaces and comments.
_AGENT_LINE = re.compile(r"(?:user-agent|useragent|user\s++agent)(?:\s*+:|\s)\s*+(?P<agent>.*+)", re.IGNORECASE)
_SITE_LINE = re.compile(r"(?:sitemaps?|site-map|host)(?:\s*+:|\s)", re.IGNORECASE)
_RULE_LINE = re.compile(
    r"(?P<is_allow>allow)(?:\s*+:|\s)|(?:dis{1,2}al{1,2}ow|diasllow|disallaw)(?:\s*+:|\s)"
    r"|(?:crawl[- ]delay|request[- ]rate|visit[- ]time)\s|[^:]++:",
    re.IGNORECASE,
)
#: The name of this crawler with more text after it, as copied from a log with the version.
_NAMED_AT_LENGTH = re.compile(r"arkaudit(?![\w-])", re.IGNORECASE)


class RobotsForbidden(IgnoreRequest):
    """Raised if robots.txt forbids a request; it has not been sent."""


class RobotsUnavailable(IgnoreRequest):
    """Raised if robots.txt may exist, but the host can't deliver it: then nothing may be requested."""


class RobotsTooSlow(IgnoreRequest):
    """Raised if robots.txt requires longer intervals than any that is granted; then nothing is requested."""


class ObeyRobots(RobotsTxtMiddleware):
    """Scrapy's middleware with an exception for each kind of refusal, and with errors of robots.txt obeyed.

    4xx means that there are no rules. 429 and 5xx mean that everything is forbidden (2.3.1.4), after a few more
    attempts for the rest of the run. A host that gives no answer at all is recorded as such, and asked again.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._patience = patience_of(crawler.settings)
        self._throttle = throttle_of(crawler)
        self._rules = self._throttle.rules
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """Requests that waited for the rules of a host are released in their order, before newer ones."""

    async def robot_parser(self, request: Request) -> RobotParser | None:
        """Return the rules of the host of *request*, fetched once; None if there are none.

        If the host gave no answer, each waiting request tries to fetch the rules again, and raises only its own failure.
        If the host was given up, all of them fail with that reason.
        """
        host = origin_of(request.url)
        while True:
            is_first = host not in self._rules
            if is_first:
                self._rules[host] = asyncio.ensure_future(self._fetch(f"{host}/robots.txt"))
            rules = self._rules[host]
            try:
                async with self._turns[host]:
                    return await asyncio.shield(rules)
            except RobotsUnreachable as failure:
                if self._rules.get(host) is rules:
                    del self._rules[host]
                if is_first or isinstance(failure.__cause__, IgnoreRequest | HostGivenUp):
                    raise

    def process_request_2(self, rp: RobotParser | None, request: Request) -> None:
        """Raise `RobotsForbidden` if the rules forbid *request*."""
        try:
            super().process_request_2(rp, request)
        except IgnoreRequest as forbidden:
            raise RobotsForbidden(request.url) from forbidden

    async def _fetch(self, url: str) -> RobotParser | None:
        """Return the rules of a robots.txt after repeated attempts, and observe its crawl delay.

        Raises `RobotsUnavailable` or `RobotsTooSlow`, which forbid all requests.
        """
        attempt = 1
        while True:
            response = await self._answer(url)
            if response.status < 500 and response.status != 429:
                body = rules_text(response.body) if 200 <= response.status < 300 else b""
                if self._robotstxt_useragent:  # otherwise each request may have its own
                    body = applicable_rules(body, self._robotstxt_useragent)
                parser: RobotParser = build_from_crawler(self._parserimpl, self.crawler, body)
                await self.crawler.signals.send_catch_log_async(
                    signals.robots_parsed, robotparser=parser, request=Request(url)
                )
                agent = self._robotstxt_useragent or self._default_useragent
                interval_s = wanted_interval_s(parser, agent)
                if not self._throttle.set_crawl_delay(url, interval_s):
                    longest_s = self._patience.longest_wait_s
                    raise RobotsTooSlow(f"{interval_s:g} s between two requests; we wait {longest_s:g} s")
                return parser
            header = header_of(response.headers, "Retry-After")
            pause_s = wait_s(header, attempt, self._patience, at=datetime.now(UTC).isoformat())
            is_temporary = response.status in PASSING_STATUSES and attempt < self._patience.attempts
            if pause_s is None or not is_temporary:
                times = f", asked {attempt} times" if attempt > 1 else ""
                raise RobotsUnavailable(f"{url} answered {response.status}{times}")
            await getattr(self.crawler.spider, "pause", asyncio.sleep)(pause_s)
            attempt += 1

    async def _answer(self, url: str) -> Response:
        """Return the answer for a robots.txt. Raises `RobotsUnreachable`."""
        meta = {"dont_obey_robotstxt": True, "dont_merge_cookies": True}
        request = Request(url, priority=self.DOWNLOAD_PRIORITY, meta=meta, callback=NO_CALLBACK)
        assert self.crawler.engine is not None
        try:
            response = await self.crawler.engine.download_async(request)
            if BODY_TIMEOUT in response.flags:
                raise NoAnswerInTime(f"only the beginning of {url} came")
        except Exception as failure:
            raise RobotsUnreachable(url) from failure
        return response


def applicable_rules(text: bytes, agent: str) -> bytes:
    r"""Return a robots.txt with only the rules for *agent*, under one name, and the lines for the whole site.

    Groups are those of Protego and RFC 9309, 2.2.1. Names in a row share the rules after them, groups with the same
    name are merged, and the longest name wins. Protego stores each rule once for each name before it, so its time and
    memory grow with the square of the text. With more than `MOST_WILDCARDS`, rules become stricter and allow nothing.

    >>> applicable_rules(b"User-agent: x\nUser-agent: *\nDisallow: /y\n\nUser-agent: z\nDisallow: /", "arkaudit")
    b'User-agent: *\nDisallow: /y'
    """
    lines = [
        line
        for full_line in text.decode("utf-8-sig", "ignore").splitlines()
        if (line := full_line.partition("#")[0].strip())
    ]
    names = [_agent_names(line) for line in lines]
    # A name counts by its length if a word of *agent* begins with it; "*" counts 1.
    scores = {
        name: 1 if name == "*" else len(name) if re.search(rf"(?<![^\W]){re.escape(name)}", agent.lower()) else 0
        for name in dict.fromkeys(chain.from_iterable(names))
    }
    best_name = max(scores, key=lambda name: scores[name], default="")
    is_for_agent, is_group_open = False, False
    site_lines: list[str] = []
    rules: list[str] = []
    for line, line_names in zip(lines, names, strict=True):
        if _AGENT_LINE.match(line):
            is_for_agent = (is_for_agent and is_group_open) or best_name in line_names
            is_group_open = True
        elif _SITE_LINE.match(line):
            site_lines.append(line)
        elif _RULE_LINE.match(line):
            is_group_open = False
            rules += [line] if is_for_agent else []
    if not scores.get(best_name):
        rules = []
    if sum("*" in rule for rule in rules) > MOST_WILDCARDS:
        rules = [_without_wildcards(rule) for rule in rules if not _is_allow(rule)]
    group = [f"User-agent: {best_name}", *rules] if rules else []
    return "\n".join([*site_lines, *group]).encode()


def _agent_names(line: str) -> tuple[str, ...]:
    """Return the names in a User-agent line as Protego reads them, also without asterisks; empty for other lines."""
    match = _AGENT_LINE.match(line)
    if match is None:
        return ()
    # Protego compares the bare name (RFC 9309, 2.2.1).
    name = "arkaudit" if _NAMED_AT_LENGTH.match(match["agent"]) else match["agent"].lower()
    names = (name,) if name == "*" else (name, name.replace("*", ""))
    return tuple(filter(None, names))


def _is_allow(rule: str) -> bool:
    match = _RULE_LINE.match(rule)
    return match is not None and match["is_allow"] is not None


def _without_wildcards(rule: str) -> str:
    """Return *rule* as a Disallow that ends before its first wildcard, and so forbids at least as much.

    A rule without a wildcard is returned unchanged.
    """
    prefix, star, _ = rule.partition("*")
    return f"Disallow: {prefix.partition(':')[2].strip() or '/'}" if star else rule


def rules_text(body: bytes) -> bytes:
    r"""Return rules in UTF-8 (RFC 9309, 2.3), converted from UTF-16 or UTF-32, or decompressed.

    >>> rules_text("\ufeffDisallow: /".encode("utf-16-le")), rules_text(b"\xef\xbb\xbfDisallow: /")
    (b'Disallow: /', b'Disallow: /')
    """
    if body.startswith(SIGNATURES[Compression.GZIP]):
        body = content(body, ["gzip"], limit=_MOST_BYTES).data
    for mark, charset in _BYTE_ORDER_MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(charset, "replace").encode()
    if 2 * body[:400].count(0) >= len(body[:400]) > 0:  # every other byte is zero, because rules are ASCII
        return body.decode("utf-16-le" if body[1:2] == b"\0" else "utf-16-be", "replace").encode()
    return body


_BYTE_ORDER_MARKS = (  # longer ones first, because that of UTF-32 begins like that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def wanted_interval_s(parser: RobotParser, agent: str) -> float:
    """Return the seconds between two requests that robots.txt requires of *agent*, or 0.

    This is the larger of Crawl-delay and Request-rate; a rate for some hours of the day is kept at all hours.
    """
    intervals_s = [parser.crawl_delay(agent) or 0.0]
    rules = getattr(parser, "rp", None)
    if isinstance(rules, Protego) and (rate := rules.request_rate(agent)) is not None and rate.requests > 0:
        intervals_s.append(rate.seconds / rate.requests)
    return max((interval_s for interval_s in intervals_s if math.isfinite(interval_s) and interval_s > 0), default=0.0)
