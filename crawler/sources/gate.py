"""Pure: pass every discovered URL through one gate. What is let through is a `CrawlRequest`; what isn't has a reason.

Three reasons are silent, for they say nothing about the crawl: a link that leads out of its scope, one that the user
has excluded, and one to what is no document by its name (a picture, a style). All others are counted, and the page
where the link is has a finding for each of them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

import regex

from crawler.model.crawl_requests import (
    CrawlRequest,
    Extent,
    Outlinks,
    Reach,
    Scope,
    SourceKind,
    SourceReading,
    by_place,
    document_key,
    site_of,
)
from crawler.model.resolving import names_skipped_ark, sendable
from crawler.sources.links import (
    MOST_DEPTH,
    MOST_LINKS,
    Headers,
    LinkTarget,
    Rule,
    Traps,
    absolutes,
    asked_by,
    page_targets,
    refusal_text,
    turns_page,
)
from crawler.sources.xml_sources import Selection, harvest_url
from extractors.archives.members import names_no_document
from extractors.model.documents import Finding, Reading
from extractors.model.errors import ArkauditError

# -- the user's patterns for links, each search under a limit: a careless one may need longer than the world lasts

#: Seconds of processor time that a pattern may take for one URL, which is of 4,096 characters at most.
PATTERN_S = 0.25
#: A pattern that has been cut off so often is searched for no more: none of its links is followed.
MOST_CUT_OFF = 3


class TooSlow(ArkauditError):
    """Raised where a pattern was cut off, so that no one knows whether it is found."""


class LinkPatterns:
    """Patterns of which any may be found in a URL. Raises `regex.error` for what is none.

    >>> LinkPatterns([r"/maps/", r"[.]pdf$"]).is_found("https://a.example/maps/1")
    True
    """

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self._patterns = [regex.compile(pattern) for pattern in patterns]
        self._cut_off: Counter[str] = Counter()

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def is_found(self, url: str) -> bool:
        """Return whether one of them is found in *url*.

        Raises `TooSlow` where none is, but not all could be searched.
        """
        is_sure = True
        for pattern in self._patterns:
            if self._cut_off[pattern.pattern] >= MOST_CUT_OFF:
                is_sure = False
                continue
            try:
                if pattern.search(url, timeout=PATTERN_S):
                    return True
            except TimeoutError:
                self._cut_off[pattern.pattern] += 1
                is_sure = False
        if not is_sure:
            raise TooSlow
        return False


#: Names of files that are documents; the page that links to them is not asked what they are.
_DOCUMENT_SUFFIXES = frozenset(
    """
    .bib .csv .doc .docm .docx .dvi .epub .ged .gz .ics .idml .json .jsonl .latex .ldif .marc .md .mrc .odp .ods .odt .pdf
    .ppt .pptx .ps .rtf .tar .tei .tex .tgz .tsv .txt .vcf .warc .xls .xlsx .xml .zip
    """.split()  # noqa: SIM905 (as a list, thirty lines)
)
#: Names of files that serve how a page looks and works, next to those that no archive is searched for.
_SERVED_SUFFIXES = frozenset({".js", ".mjs", ".svg", ".svgz"})
#: Further parts of one source: a list without end must end somewhere.
MOST_PARTS = 100_000
_LENGTH_OF_EXAMPLE = 300
#: Links of which is remembered what became of them; beyond, they are decided once more.
MOST_KNOWN = 2**13
#: Findings about links that were not followed, and about what pages ask of crawlers: a page has them by the dozen.
ABOUT_LINKS = frozenset({"noindex", "nofollow-page", *map(str, Rule)})


#: What makes a request: URL, where it was found, depth, reach, source and part.
_Found = tuple[str, str, int, Reach, SourceKind | None, int]
#: A link to what is on record: where it was found, and the key of the document that it leads to.
_Known = tuple[str, bytes]


@dataclass(frozen=True, slots=True)
class Rules:
    """The user's rules for how far a crawl goes."""

    depth: int | None = None
    """Steps from a seed; None for the limit that keeps from traps."""
    include: LinkPatterns = field(default_factory=LinkPatterns)
    """A link is followed only if one of these is found in its URL; none lets all through."""
    exclude: LinkPatterns = field(default_factory=LinkPatterns)
    """A link is not followed if one of these is found in its URL."""
    follows_nofollow: bool = False
    """Whether pages and links that ask not to be followed are followed: for one's own sites."""


@dataclass(frozen=True, slots=True)
class Passed:
    """The requests that a document leads to, and why it doesn't lead further."""

    leads: tuple[CrawlRequest, ...] = ()
    """In order, each once; some may be known already."""
    findings: tuple[Finding, ...] = ()
    listed: str | None = None
    """The digest of what it lists, if it is a source."""
    outlinks: tuple[Outlinks, ...] = ()
    """All links that are followed, also those that *leads* leave out as they are on record."""


#: Links that were refused, by rule.
_Refused = defaultdict[Rule, list[str]]


class Gate:
    """Decides which URLs a crawl asks for. What it remembers is in its *traps*."""

    def __init__(self, scope: Scope, rules: Rules, traps: Traps) -> None:
        self._scope = scope
        self._rules = rules
        self._traps = traps
        self._listed: set[str] = set()
        """What parts of sources have listed, and where sources went on: to recognize those that go in circles."""
        self._further: set[str] = set()
        self._let_through: dict[str, bytes] = {}
        """The keys of documents that are on record, by the URLs of links to them."""
        self._reach_in_site = lru_cache(maxsize=MOST_KNOWN)(self._reach_of_site)
        """How far a link of a page of the site leads, which doesn't depend on the page: most pages link to the same."""
        self._untold: list[str] = []
        """Links of the page at hand of which a pattern took too long to say whether they are wanted."""
        self.left_out: Counter[str] = Counter()
        """Links that were not followed, by the kind of the finding that says so."""

    def remember(self, crawl_request: CrawlRequest) -> None:
        """Take note of what is asked for, as from the frontier of a crawl that is resumed."""
        self._traps.remember(crawl_request.url)
        if crawl_request.part > 0:
            self._further.add(crawl_request.url)

    def remember_listed(self, digests: Iterable[str]) -> None:
        """Take note of what parts of sources have listed (`Passed.listed`) in a crawl that is resumed."""
        self._listed.update(digests)

    def let_through(self, leads: Iterable[CrawlRequest]) -> None:
        """Take note that *leads* are on record: links to them are passed over from now on."""
        if len(self._let_through) >= MOST_KNOWN:
            self._let_through.clear()
        self._let_through.update((crawl_request.url, crawl_request.key) for crawl_request in leads)

    def sitemaps(self, urls: Iterable[str], *, robots: str) -> tuple[CrawlRequest, ...]:
        """The sitemaps that a *robots* file names: parts of the site wherever they are, for their own pages are not."""
        if self._rules.depth == 0:
            return ()
        return _leads_and_links((url, robots, 0, Reach.SITE, SourceKind.SITEMAP, 1) for url in absolutes(robots, urls))[
            0
        ]

    def page(self, crawl_request: CrawlRequest, reading: Reading, *, url: str, headers: Headers) -> Passed:
        """Return what the page leads to that a request has come to, in the end at *url*."""
        noindex = asked_by("noindex", reading, headers)
        words = f"it asks to stay out of indexes ({noindex}); it was read all the same"
        findings = [Finding("noindex", words)] if noindex else []
        if self._is_dead_end(crawl_request):
            return Passed(findings=tuple(findings))
        targets = page_targets(reading, url=url, headers=headers)
        reached = [
            (target, reach) for target in targets if (reach := self._reach(crawl_request, target, url)) is not None
        ]
        nofollow = None if self._rules.follows_nofollow else asked_by("nofollow", reading, headers)
        if nofollow and reached:
            words = f"links not followed: {len(reached)}, as the page asks ({nofollow})"
            findings.append(Finding("nofollow-page", f"{words}; --ignore-nofollow is for one's own sites"))
            self.left_out["nofollow-page"] += len(reached)
        leads, refused = self._followed(crawl_request, [] if nofollow else reached, url)
        return self._passed(leads, refused, findings)

    def source(self, crawl_request: CrawlRequest, read: SourceReading) -> Passed:
        """Return what a source leads to: its further parts first, then what it lists, in order.

        What the user has named as a source is a list of documents: they are asked for wherever they are, but no site
        is crawled from there. A source that a crawl has come upon only adds to the crawl.
        """
        findings = list(read.findings)
        if self._is_dead_end(crawl_request):
            return Passed(findings=read.findings)
        reach = Reach.ITEM if crawl_request.is_seed else crawl_request.reach
        further = [url for url in read.further if reach is Reach.ITEM or self._is_near(url)]
        listed = _digest(read)
        fault = self._fault_of_chain(crawl_request, read, further, listed)
        if fault is not None:
            findings.append(fault)
            further = []
        leads: list[_Found | _Known] = [
            (url, crawl_request.url, crawl_request.depth, reach, read.kind, crawl_request.part + 1) for url in further
        ]
        leads += ((crawl_request.url, document_key(held.name)) for held in read.records)
        refused: _Refused = defaultdict(list)
        for item in read.items:
            is_in_reach = (reach is Reach.ITEM and item.is_elsewhere) or self._is_near(item.url)
            if is_in_reach and self._is_wanted(item.url) and not self._is_refused(item.url, refused):
                leads.append((item.url, item.found_on or crawl_request.url, crawl_request.depth + 1, reach, None, 0))
        return self._passed(leads, refused, findings, listed)

    def _passed(
        self,
        links: Iterable[_Found | _Known],
        refused: _Refused,
        findings: Iterable[Finding],
        listed: str | None = None,
    ) -> Passed:
        """Return what a document leads to, and count what was refused."""
        for url in self._untold:
            refused[Rule.PATTERN].append(url)
        self._untold.clear()
        refusals = []
        for rule in Rule:
            if urls := refused.get(rule):
                self.left_out[rule] += len(urls)
                first = urls[0]
                if len(first) > _LENGTH_OF_EXAMPLE:
                    first = f"{first[:_LENGTH_OF_EXAMPLE]}…"
                refusals.append(Finding(rule, refusal_text(rule, len(urls), first)))
        leads, outlinks = _leads_and_links(links)
        return Passed(leads, (*findings, *refusals), listed, outlinks)

    def _fault_of_chain(
        self, crawl_request: CrawlRequest, read: SourceReading, further: Sequence[str], listed: str | None
    ) -> Finding | None:
        """Return why a source that goes on is not read further: it goes in circles, or without end."""
        is_known = crawl_request.part > 0 and listed in self._listed
        if listed is not None:
            self._listed.add(listed)
        if further and crawl_request.part >= MOST_PARTS:
            return Finding("source-limit", f"it goes on beyond {MOST_PARTS} parts; left out: {len(further)}")
        if further and is_known:
            return Finding("source-loop", "it lists again what it has listed before, and is not read further")
        is_chain = read.kind in (SourceKind.OAI, SourceKind.FEED)
        if is_chain and any(url == crawl_request.url or url in self._further for url in further):
            return Finding("source-loop", "it goes on where it has been before, and is not read further")
        self._further.update(further)
        return None

    def _is_dead_end(self, crawl_request: CrawlRequest) -> bool:
        return crawl_request.reach is Reach.LEAF or (
            self._rules.depth is not None and crawl_request.depth >= self._rules.depth
        )

    def _followed(
        self, crawl_request: CrawlRequest, targets: Sequence[tuple[LinkTarget, Reach]], url: str
    ) -> tuple[list[_Found | _Known], _Refused]:
        refused: _Refused = defaultdict(list)
        leads: list[_Found | _Known] = []
        for target, reach in targets[:MOST_LINKS]:
            depth = crawl_request.depth if target.is_part or turns_page(url, target.url) else crawl_request.depth + 1
            if target.is_nofollow and not self._rules.follows_nofollow:
                refused[Rule.NOFOLLOW].append(target.url)
            elif depth > MOST_DEPTH and self._rules.depth is None:
                refused[Rule.DEPTH].append(target.url)
            elif (key := self._let_through.get(target.url)) is not None:
                leads.append((crawl_request.url, key))
            elif not self._is_refused(target.url, refused):
                leads.append((target.url, crawl_request.url, depth, reach, None, 0))
        refused[Rule.LINKS] += (target.url for target, _ in targets[MOST_LINKS:])
        return leads, refused

    def _reach(self, crawl_request: CrawlRequest, target: LinkTarget, url: str) -> Reach | None:
        """Return how far a link of the page at *url* may lead; None if it isn't followed, for which no reason
        is needed.
        """
        if crawl_request.reach is Reach.SITE:
            return self._reach_in_site(target.url, target.is_document)
        if not self._is_wanted(target.url):
            return None
        if self._scope.is_content_host(target.url):
            return Reach.LEAF
        is_of_item = crawl_request.reach is Reach.ITEM and _share_site(url, target.url)
        if is_of_item and target.is_part:
            return Reach.ITEM
        is_document = target.is_document or names_document(target.url)
        return Reach.LEAF if is_document and (is_of_item or self._scope.holds_document(target.url)) else None

    def _reach_of_site(self, url: str, is_document: bool) -> Reach | None:
        """As `_reach`, of a link to *url* on a page whose links are followed within the scope."""
        scope = self._scope
        is_document = is_document or names_document(url)
        if scope.holds(url):
            reach = Reach.SITE
        elif scope.is_content_host(url) or (is_document and scope.holds_document(url)):
            reach = Reach.LEAF
        else:
            return None
        return reach if self._is_wanted(url) else None

    def _is_near(self, url: str) -> bool:
        return self._scope.holds(url) or self._scope.is_content_host(url)

    def _is_wanted(self, url: str) -> bool:
        """Return whether *url* may lead to a document, and to one that the user wants."""
        rules = self._rules
        try:
            is_meant = (not rules.include or rules.include.is_found(url)) and not rules.exclude.is_found(url)
        except TooSlow:
            self._untold.append(url)
            return False
        if not is_meant:
            return False
        return not is_no_document(url) and not _is_skipped(url)

    def _is_refused(self, url: str, refused: _Refused) -> bool:
        """Return whether a rule refuses *url*, and then counted; what is not refused is remembered."""
        try:
            rule = self._traps.rule(url)
        except ValueError:  # it is no URL after all
            return True
        if rule is not None:
            refused[rule].append(url)
            return True
        self._traps.remember(url)
        return False


@lru_cache(maxsize=MOST_KNOWN)
def is_no_document(url: str) -> bool:
    """Return whether *url* names a picture, a film, a style or the like.

    A wiki has pages that are named for files, and a query may name what it asks a page for.

    >>> is_no_document("http://a.example/scan.JPG?w=100"), is_no_document("http://a.example/show?file=scan.jpg")
    (True, False)
    >>> is_no_document("http://a.example/wiki/File:Scan.jpg")
    False
    """
    name = _file_name(url)
    return ":" not in name and (names_no_document(name) or PurePosixPath(name).suffix.lower() in _SERVED_SUFFIXES)


@lru_cache(maxsize=MOST_KNOWN)
def names_document(url: str) -> bool:
    """Return whether the path of *url* ends like the name of a document.

    >>> names_document("http://a.example/thesis.PDF"), names_document("http://a.example/thesis")
    (True, False)
    """
    return PurePosixPath(_file_name(url)).suffix.lower() in _DOCUMENT_SUFFIXES


_is_skipped = lru_cache(maxsize=MOST_KNOWN)(names_skipped_ark)


def _file_name(url: str) -> str:
    try:
        return unquote(urlsplit(url).path).rpartition("/")[2]
    except ValueError:
        return ""


def _leads_and_links(links: Iterable[_Found | _Known]) -> tuple[tuple[CrawlRequest, ...], tuple[Outlinks, ...]]:
    """Return the requests in their order, once each by the form in which URLs are compared, and all links.

    What is no URL leads nowhere.
    """
    leads: dict[str, CrawlRequest] = {}
    keys: list[tuple[str, bytes]] = []
    for target in links:
        if len(target) == 2:
            found_on, key = target
        else:
            url, found_on, depth, reach, source, part = target
            try:
                crawl_request = CrawlRequest.to_page(
                    url, depth=depth, found_on=found_on, reach=reach, source=source, part=part
                )
            except ValueError:
                continue
            if crawl_request.canonical in leads:
                continue
            leads[crawl_request.canonical] = crawl_request
            key = crawl_request.key
        keys.append((found_on, key))
    return tuple(leads.values()), by_place(keys)


def _digest(read: SourceReading) -> str | None:
    """Return what a source lists as a short text, which is the same in every process; None where it lists nothing.

    An index lists its parts.
    """
    items = [(item.url, item.found_on, item.is_elsewhere) for item in read.items]
    listed = (read.listed, items) if read.listed or items else read.further
    return blake2b(repr((read.kind.value, *listed)).encode(), digest_size=16).hexdigest() if listed else None


def _share_site(one: str, other: str) -> bool:
    try:
        return site_of(one) == site_of(other)
    except ValueError:
        return False


# -- what the user has said of where a crawl goes, as one value


@dataclass(frozen=True, slots=True)
class CrawlPlan:
    """The plan of a crawl: where it begins, how its seeds are to be read, and how far it goes."""

    year: int
    """Of the day on which it began: what a calendar's future is counted from."""
    urls: tuple[str, ...] = ()
    orders: Mapping[str, SourceKind] = field(default_factory=dict)
    """How seeds are to be read, by URL or path, where the user has said so; else their content says."""
    rules: Rules = field(default_factory=Rules)
    extent: Extent = Extent.SITE
    content_hosts: tuple[str, ...] = ()
    selection: Selection = field(default_factory=Selection)
    """Which records of a repository are harvested."""
    has_sitemaps: bool = True
    """Whether the sitemaps that the robots.txt of a site names are read."""
    max_pages: int | None = None
    max_time_s: float | None = None

    @classmethod
    def of(cls, urls: Iterable[str], orders: Mapping[str, SourceKind], **options: Any) -> CrawlPlan:
        """The plan of a crawl from *urls* as the user has written them, in the form in which they are sent."""
        sent = {sendable(name) if "://" in name else name: order for name, order in orders.items()}
        return cls(urls=tuple(map(sendable, urls)), orders=sent, **options)

    def gate(self) -> Gate:
        """The gate that every URL passes which the crawl discovers, as it is at the beginning."""
        scope = Scope.of(self.urls, extent=self.extent, content_hosts=self.content_hosts)
        return Gate(scope, self.rules, Traps(self.year))

    def seeds(self) -> Iterable[CrawlRequest]:
        """The requests for the URLs, in their order; of a repository the first request of its harvest."""
        for url in self.urls:
            order = self.orders.get(url)
            yield CrawlRequest.to_page(
                harvest_url(url, self.selection) if order is SourceKind.OAI else url, source=order
            )
