"""Decides about every discovered URL: it becomes a `CrawlRequest`, or is refused for a reason. No I/O.

Some links are refused silently: those out of scope, those that the user has excluded, and those whose names show that
they are not documents (an image, a style). All other refusals are counted, and reported as findings of the page.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

import regex

from crawler.model.crawl_requests import (
    CrawlRequest,
    Extent,
    Outlinks,
    Reach,
    Scope,
    SourceKind,
    SourceReading,
    document_key,
    links_by_document,
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
    absolute_urls,
    directive_source,
    page_targets,
    refusal_text,
    turns_page,
)
from crawler.sources.xml_sources import Selection, harvest_url
from extractors.archives.members import names_no_document
from extractors.model.documents import Finding, Reading
from extractors.model.formats import Format, format_of_suffix
from extractors.model.urls import split_url

# -- the user's patterns for links; each search has a time limit, because a careless pattern may take forever

#: Seconds of processor time for searching a pattern in one URL of at most 4,096 characters.
PATTERN_S = 0.25
#: The number of timeouts after which a pattern is not searched any more; links that depend on it are not followed.
MOST_CUT_OFF = 3


class LinkPatterns:
    """Patterns to search in URLs. Raises `regex.error` for an invalid one.

    >>> LinkPatterns([r"/maps/", r"[.]pdf$"]).is_found("https://a.example/maps/1")
    True
    """

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self._patterns = [regex.compile(pattern) for pattern in patterns]
        self._cut_off: Counter[str] = Counter()

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def is_found(self, url: str) -> bool:
        """Return True if one of the patterns matches a part of *url*.

        Raises `TimeoutError` if no pattern matches and some could not be searched in time.
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
            raise TimeoutError
        return False


#: Suffixes of documents and archives that have no format of their own.
_FURTHER_SUFFIXES = frozenset({".doc", ".dvi", ".gz", ".idml", ".ppt", ".ps", ".tar", ".tgz", ".warc", ".xls", ".zip"})
#: Suffixes of files for the looks and function of pages, in addition to those that no archive is searched for.
_SERVED_SUFFIXES = frozenset({".js", ".mjs", ".svg", ".svgz"})
#: The number of further parts of one source, which bounds endless lists.
MOST_PARTS = 100_000
_LENGTH_OF_EXAMPLE = 300
#: The number of links with a cached decision.
MOST_KNOWN = 2**13
#: Kinds of findings about links that were not followed, and about directives for crawlers; a page may have dozens.
ABOUT_LINKS = frozenset({"noindex", "nofollow-page", *map(str, Rule)})


#: The values of a request: URL, finder, depth, reach, source and part.
_NewRequest = tuple[str, str, int, Reach, SourceKind | None, int]
#: A link to a recorded document: its finder, and the key of the document.
_RecordedLink = tuple[str, bytes]


@dataclass(frozen=True, slots=True)
class Rules:
    """The user's rules for the extent of a crawl."""

    depth: int | None = None
    """The maximum number of steps from a seed; None for the limit against traps."""
    include: LinkPatterns = field(default_factory=LinkPatterns)
    """If given, a link is followed only if one of these patterns matches its URL."""
    exclude: LinkPatterns = field(default_factory=LinkPatterns)
    """A link is not followed if one of these patterns matches its URL."""
    follows_nofollow: bool = False
    """True to follow pages and links with ``nofollow``, for the operator's own sites."""


@dataclass(frozen=True, slots=True)
class GateResult:
    """The requests that a document leads to, and the findings about refused links."""

    new_requests: tuple[CrawlRequest, ...] = ()
    """In order, without duplicates; some may be known already."""
    findings: tuple[Finding, ...] = ()
    listed: str | None = None
    """A digest of the items that a source lists, or None. It shows a loop of sources, also after a restart."""
    outlinks: tuple[Outlinks, ...] = ()
    """All followed links, also those to recorded documents, which *new_requests* omits."""


#: Refused links, by rule.
_Refused = defaultdict[Rule, list[str]]


class Gate:
    """Decides which URLs a crawl requests. The counts of URLs are in its *traps*."""

    def __init__(self, scope: Scope, rules: Rules, traps: Traps) -> None:
        self._scope = scope
        self._rules = rules
        self._traps = traps
        self._listed: set[str] = set()
        """Digests of the lists of all sources so far; a further part that repeats one is a loop."""
        self._further: set[str] = set()
        """URLs of further parts of sources so far; a link back to one is a loop."""
        self._recorded_keys: dict[str, bytes] = {}
        """The keys of recorded documents, by the URLs of links to them."""
        self._reach_in_site = lru_cache(maxsize=MOST_KNOWN)(self._reach_of_site)
        """The reach of a link within the site. It does not depend on the page, and most pages share their links."""
        self._undecided: list[str] = []
        """Links of the current page that a pattern took too long to search."""
        self.left_out: Counter[str] = Counter()
        """The numbers of links that were not followed, by the kind of their finding."""

    def remember(self, crawl_request: CrawlRequest) -> None:
        """Count a request of this crawl in the traps, and note its URL if it is a further part of a source.

        A resumed crawl repeats this for each request in its frontier.
        """
        self._traps.remember(crawl_request.url)
        if crawl_request.part > 0:
            self._further.add(crawl_request.url)

    def remember_listed(self, digests: Iterable[str]) -> None:
        """Note the digests of sources' lists (`GateResult.listed`) in a resumed crawl."""
        self._listed.update(digests)

    def note_recorded(self, new_requests: Iterable[CrawlRequest]) -> None:
        """Note that *new_requests* are recorded, so that links to them need no further decision."""
        if len(self._recorded_keys) >= MOST_KNOWN:
            self._recorded_keys.clear()
        self._recorded_keys.update((crawl_request.url, crawl_request.key) for crawl_request in new_requests)

    def sitemaps(self, urls: Iterable[str], *, robots_url: str) -> tuple[CrawlRequest, ...]:
        """Return the requests for sitemaps at *urls*, which the robots.txt at *robots_url* names, on any host."""
        if self._rules.depth == 0:
            return ()
        return _requests_and_links(
            (url, robots_url, 0, Reach.SITE, SourceKind.SITEMAP, 1) for url in absolute_urls(robots_url, urls)
        )[0]

    def page(self, crawl_request: CrawlRequest, reading: Reading, *, url: str, headers: Headers) -> GateResult:
        """Return the requests for the links of a page with the final URL *url*, and findings about refused links."""
        noindex = directive_source("noindex", reading, headers)
        message = f"it asks to stay out of indexes ({noindex}); it was read nevertheless"
        findings = [Finding("noindex", message)] if noindex else []
        if self._is_dead_end(crawl_request):
            return GateResult(findings=tuple(findings))
        targets = page_targets(reading, url=url, headers=headers)
        reachable_targets = [
            (target, reach) for target in targets if (reach := self._reach(crawl_request, target, url)) is not None
        ]
        nofollow = None if self._rules.follows_nofollow else directive_source("nofollow", reading, headers)
        if nofollow and reachable_targets:
            message = f"links not followed: {len(reachable_targets)}, as the page asks ({nofollow})"
            findings.append(Finding("nofollow-page", f"{message}; --ignore-nofollow is for your own sites"))
            self.left_out["nofollow-page"] += len(reachable_targets)
        new_requests, refused = self._follow(crawl_request, [] if nofollow else reachable_targets, url)
        return self._result(new_requests, refused, findings)

    def source(self, crawl_request: CrawlRequest, listing: SourceReading) -> GateResult:
        """Return the requests for the further parts of a source, then for the items that it lists, in order.

        A source that the user named is a list of documents: they are requested on any host, but their sites are not
        crawled. A source that a crawl has discovered only adds to the crawl.
        """
        findings = list(listing.findings)
        if self._is_dead_end(crawl_request):
            return GateResult(findings=listing.findings)
        reach = Reach.ITEM if crawl_request.is_seed else crawl_request.reach
        further_urls = [url for url in listing.further if reach is Reach.ITEM or self._is_near(url)]
        # A digest of its list, the same in every process. The list of an index is that of its parts.
        items = [(item.url, item.found_on, item.is_elsewhere) for item in listing.items]
        parts = (listing.listed, items) if listing.listed or items else listing.further
        digest = blake2b(repr((listing.kind.value, *parts)).encode(), digest_size=16).hexdigest() if parts else None
        fault = self._fault_of_chain(crawl_request, listing, further_urls, digest)
        if fault is not None:
            findings.append(fault)
            further_urls = []
        new_requests: list[_NewRequest | _RecordedLink] = [
            (url, crawl_request.url, crawl_request.depth, reach, listing.kind, crawl_request.part + 1)
            for url in further_urls
        ]
        new_requests += ((crawl_request.url, document_key(record.name)) for record in listing.records)
        refused: _Refused = defaultdict(list)
        for item in listing.items:
            is_in_reach = (reach is Reach.ITEM and item.is_elsewhere) or self._is_near(item.url)
            if is_in_reach and self.is_wanted(item.url) and not self._is_refused(item.url, refused):
                new_requests.append(
                    (item.url, item.found_on or crawl_request.url, crawl_request.depth + 1, reach, None, 0)
                )
        return self._result(new_requests, refused, findings, digest)

    def _result(
        self,
        links: Iterable[_NewRequest | _RecordedLink],
        refused: _Refused,
        findings: Iterable[Finding],
        list_digest: str | None = None,
    ) -> GateResult:
        """Return the result for a document, with a finding for each rule in *refused*, and count refusals in `left_out`."""
        for url in self._undecided:
            refused[Rule.PATTERN].append(url)
        self._undecided.clear()
        refusals = []
        for rule in Rule:
            if urls := refused.get(rule):
                self.left_out[rule] += len(urls)
                first_url = urls[0]
                if len(first_url) > _LENGTH_OF_EXAMPLE:
                    first_url = f"{first_url[:_LENGTH_OF_EXAMPLE]}…"
                refusals.append(Finding(rule, refusal_text(rule, len(urls), first_url)))
        new_requests, outlinks = _requests_and_links(links)
        return GateResult(new_requests, (*findings, *refusals), list_digest, outlinks)

    def _fault_of_chain(
        self, crawl_request: CrawlRequest, listing: SourceReading, further_urls: Sequence[str], list_digest: str | None
    ) -> Finding | None:
        """Return the finding about a chain of parts that is a loop or too long; None to request *further_urls*.

        Note *list_digest* and, if they are requested, *further_urls*, to recognize later loops.
        """
        is_known = crawl_request.part > 0 and list_digest in self._listed
        if list_digest is not None:
            self._listed.add(list_digest)
        if further_urls and crawl_request.part >= MOST_PARTS:
            return Finding("source-limit", f"it goes on beyond {MOST_PARTS} parts; left out: {len(further_urls)}")
        if further_urls and is_known:
            return Finding("source-loop", "it repeats an earlier list, and is not read further")
        is_chain = listing.kind in (SourceKind.OAI, SourceKind.FEED)
        if is_chain and any(url == crawl_request.url or url in self._further for url in further_urls):
            return Finding("source-loop", "it leads back to an earlier part, and is not read further")
        self._further.update(further_urls)
        return None

    def _is_dead_end(self, crawl_request: CrawlRequest) -> bool:
        return crawl_request.reach is Reach.LEAF or (
            self._rules.depth is not None and crawl_request.depth >= self._rules.depth
        )

    def _follow(
        self, crawl_request: CrawlRequest, targets: Sequence[tuple[LinkTarget, Reach]], url: str
    ) -> tuple[list[_NewRequest | _RecordedLink], _Refused]:
        """Return the requests for the links on a page, and the refused URLs by rule.

        Each of *targets* has the reach of its link, and *url* is that of the page. Links that are recorded already are
        only counted.
        """
        refused: _Refused = defaultdict(list)
        new_requests: list[_NewRequest | _RecordedLink] = []
        for target, reach in targets[:MOST_LINKS]:
            depth = crawl_request.depth if target.is_part or turns_page(url, target.url) else crawl_request.depth + 1
            if target.is_nofollow and not self._rules.follows_nofollow:
                refused[Rule.NOFOLLOW].append(target.url)
            elif depth > MOST_DEPTH and self._rules.depth is None:
                refused[Rule.DEPTH].append(target.url)
            elif (key := self._recorded_keys.get(target.url)) is not None:
                new_requests.append((crawl_request.url, key))
            elif not self._is_refused(target.url, refused):
                new_requests.append((target.url, crawl_request.url, depth, reach, None, 0))
        refused[Rule.LINKS] += (target.url for target, _ in targets[MOST_LINKS:])
        return new_requests, refused

    def _reach(self, crawl_request: CrawlRequest, target: LinkTarget, url: str) -> Reach | None:
        """Return the reach of a link of the page at *url*; None if it isn't followed, without a finding."""
        if crawl_request.reach is Reach.SITE:
            return self._reach_in_site(target.url, target.is_document)
        if not self.is_wanted(target.url):
            return None
        if self._scope.is_content_host(target.url):
            return Reach.LEAF
        is_of_item = crawl_request.reach is Reach.ITEM and site_of(url) == site_of(target.url)
        if is_of_item and target.is_part:
            return Reach.ITEM
        is_document = target.is_document or names_document(target.url)
        return Reach.LEAF if is_document and (is_of_item or self._scope.holds_document(target.url)) else None

    def _reach_of_site(self, url: str, is_document: bool) -> Reach | None:
        """Return the reach of a link to *url* within the scope of the crawl, or None."""
        scope = self._scope
        is_document = is_document or names_document(url)
        if scope.holds(url):
            reach = Reach.SITE
        elif scope.is_content_host(url) or (is_document and scope.holds_document(url)):
            reach = Reach.LEAF
        else:
            return None
        return reach if self.is_wanted(url) else None

    def _is_near(self, url: str) -> bool:
        return self._scope.holds(url) or self._scope.is_content_host(url)

    def is_wanted(self, url: str) -> bool:
        """Return True if *url* may be a document, and the user's patterns allow it.

        If a pattern takes too long, return False, and note *url* for a finding.
        """
        rules = self._rules
        try:
            matches_patterns = (not rules.include or rules.include.is_found(url)) and not rules.exclude.is_found(url)
        except TimeoutError:
            self._undecided.append(url)
            return False
        if not matches_patterns:
            return False
        return not is_no_document(url) and not _is_skipped(url)

    def _is_refused(self, url: str, refused: _Refused) -> bool:
        """Return True if *url* is invalid, or if a trap rule refuses it, and add it to *refused* in the second case.

        Any other URL is counted in the traps.
        """
        if split_url(url).fault is not None:
            return True
        rule = self._traps.rule(url)
        if rule is not None:
            refused[rule].append(url)
            return True
        self._traps.remember(url)
        return False


@lru_cache(maxsize=MOST_KNOWN)
def is_no_document(url: str) -> bool:
    """Return True if *url* has the suffix of an image, a film, a style or the like.

    Page names with a colon (as in wikis) and names in a query don't count.

    >>> is_no_document("http://a.example/scan.JPG?w=100"), is_no_document("http://a.example/show?file=scan.jpg")
    (True, False)
    >>> is_no_document("http://a.example/wiki/File:Scan.jpg")
    False
    """
    name = _file_name(url)
    return ":" not in name and (names_no_document(name) or PurePosixPath(name).suffix.lower() in _SERVED_SUFFIXES)


@lru_cache(maxsize=MOST_KNOWN)
def names_document(url: str) -> bool:
    """Return True if the path of *url* has the suffix of a document, readable or not, which is no page.

    >>> names_document("http://a.example/thesis.PDF"), names_document("http://a.example/thesis")
    (True, False)
    """
    suffix = PurePosixPath(_file_name(url)).suffix.lower()
    return suffix in _FURTHER_SUFFIXES or format_of_suffix(suffix) not in (None, Format.HTML)


_is_skipped = lru_cache(maxsize=MOST_KNOWN)(names_skipped_ark)


def _file_name(url: str) -> str:
    return unquote(split_url(url).path).rpartition("/")[2]


def _requests_and_links(
    links: Iterable[_NewRequest | _RecordedLink],
) -> tuple[tuple[CrawlRequest, ...], tuple[Outlinks, ...]]:
    """Return the requests in *links* in order, without duplicates by canonical form, and all links."""
    new_requests: dict[str, CrawlRequest] = {}
    keys: list[tuple[str, bytes]] = []
    for target in links:
        if len(target) == 2:
            found_on, key = target
        else:
            url, found_on, depth, reach, source, part = target
            crawl_request = CrawlRequest.to_page(
                url, depth=depth, found_on=found_on, reach=reach, source=source, part=part
            )
            if crawl_request.canonical in new_requests:
                continue
            new_requests[crawl_request.canonical] = crawl_request
            key = crawl_request.key
        keys.append((found_on, key))
    return tuple(new_requests.values()), links_by_document(keys)


# -- the user's plan of a crawl, as one value


@dataclass(frozen=True, slots=True)
class CrawlPlan:
    """The plan of a crawl: its seeds, how to read them, and its extent."""

    urls: tuple[str, ...] = ()
    named_kinds: Mapping[str, SourceKind] = field(default_factory=dict)
    """The kinds of sources that the user has named for seeds, by URL or path; otherwise the content decides."""
    depth: int | None = None
    max_pages: int | None = None
    max_time: float | None = None
    """In seconds."""
    scope: Extent = Extent.SITE
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    content_hosts: Sequence[str] = ()
    ignore_nofollow: bool = False
    sitemaps: bool = True
    """True to read the sitemaps in the robots.txt of a site."""
    oai: Selection = field(default_factory=Selection)
    """The selection of records in repositories."""

    @classmethod
    def from_urls(cls, urls: Iterable[str], named_kinds: Mapping[str, SourceKind], **options: Any) -> CrawlPlan:
        """Return the plan of a crawl from *urls* as the user wrote them, converted to the form for requests.

        *options* are the settings of a crawl, by name.
        """
        sent_kinds = {sendable(name) if "://" in name else name: kind for name, kind in named_kinds.items()}
        return cls(urls=tuple(map(sendable, urls)), named_kinds=sent_kinds, **options)

    def gate(self) -> Gate:
        """Return a new gate for the URLs that the crawl discovers."""
        scope = Scope.from_seeds(self.urls, extent=self.scope, content_hosts=self.content_hosts)
        rules = Rules(self.depth, LinkPatterns(self.include), LinkPatterns(self.exclude), self.ignore_nofollow)
        return Gate(scope, rules, Traps())

    def seeds(self) -> Iterable[CrawlRequest]:
        """Yield the requests for the URLs, in their order; for a repository, the first request of its harvest."""
        for url in self.urls:
            named_kind = self.named_kinds.get(url)
            yield CrawlRequest.to_page(
                harvest_url(url, self.oai) if named_kind is SourceKind.OAI else url, source=named_kind
            )
