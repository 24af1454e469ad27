"""Finds the links of a page, and recognizes URLs that a crawl could follow forever. No I/O.

Links are in the page and in its headers; both may ask crawlers not to follow. URLs are refused by documented rules with
limits. The limits are wide: the URLs of honest repositories (`tests/vectors/honest_urls.json`) pass. Refused URLs are
counted and reported. `--exclude` refuses more. No rule is a verdict about a site.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import chain
from urllib.parse import unquote

from crawler.model.crawl_requests import PRESENTATION_NAME
from crawler.model.resolving import sendable
from extractors.model.documents import Reading
from extractors.model.urls import UrlParts, is_web_url, join_url, refresh_target, split_url

# -- the links of a page

#: Relations of Link headers that lead to documents (RFC 8288; signposting.org): items of a landing page, and metadata.
#: ``cite-as`` is the page's persistent identifier, and leads back to it.
_FOLLOWED_RELATIONS = frozenset({"describedby", "item", "next", "prev"})
#: Names in a directive that address all crawlers, or this one.
_OWN_NAMES = frozenset({"arkaudit", "robots"})

_LINK = re.compile(r'<(?P<target>[^<>]*)>(?P<parameters>(?:[^,"<]|"(?:[^"\\]|\\.)*+"?)*+)')
_PARAMETER = re.compile(r';\s*(?P<name>[a-z*]+)\s*=\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*+)"|(?P<token>[^\s;,"]+))', re.I)
_AGENT = re.compile(r"\s*(?P<agent>[a-z0-9_.-]+)\s*:(?P<rest>.*)\Z", re.IGNORECASE | re.DOTALL)
#: Directives with a value, which look like names of crawlers.
_VALUED = frozenset({"max-image-preview", "max-snippet", "max-video-preview", "unavailable_after"})


@dataclass(frozen=True, slots=True)
class Headers:
    """The headers of an answer that may contain links or directives, each with all its values."""

    link: Sequence[str] = ()
    x_robots_tag: Sequence[str] = ()
    refresh: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """A URL that a page links to."""

    url: str
    """In the form for a request."""
    is_document: bool = False
    """True if the page marks the target as a document: an item, or a PDF that the page cites or embeds."""
    is_part: bool = False
    """True if the target is a part of the page or continues it, as a frame or a refresh does."""
    is_nofollow: bool = False


def page_targets(reading: Reading, *, url: str, headers: Headers) -> list[LinkTarget]:
    """Return the links of the page at *url* without duplicates: those of its headers, then in page order.

    >>> reading = Reading("text/html", links=("b.html", "x.pdf"), base="/a/", documents=("x.pdf",))
    >>> targets = page_targets(reading, url="http://e.example/", headers=Headers())
    >>> [(target.url, target.is_document) for target in targets]
    [('http://e.example/a/b.html', False), ('http://e.example/a/x.pdf', True)]
    """
    targets: dict[str, LinkTarget] = {}
    for link, parameters in chain.from_iterable(map(header_links, headers.link)):
        relations = set(parameters.get("rel", "").lower().split())
        if relations & _FOLLOWED_RELATIONS and (target_url := absolute(url, link)) is not None:
            targets.setdefault(target_url, LinkTarget(target_url, is_document="item" in relations))
    for refresh in filter(None, map(refresh_target, headers.refresh)):
        if (target_url := absolute(url, refresh)) is not None:
            targets.setdefault(target_url, LinkTarget(target_url, is_part=True))
    base = absolute(url, reading.base or "") or url
    site_url = join_url(base, "/") or base
    document_links, part_links, nofollow_links = map(set, (reading.documents, reading.parts, reading.unfollowed))
    for link in reading.links:
        # The pages of a site share most paths in links, which need not be joined for each page.
        target_url = absolute(site_url if link[:1] == "/" and link[1:2].isalnum() else base, link)
        if target_url is not None and target_url not in targets:
            targets[target_url] = LinkTarget(
                target_url, link in document_links, link in part_links, link in nofollow_links
            )
    return list(targets.values())


@lru_cache(maxsize=2**13)
def absolute(base: str, link: str) -> str | None:
    """Return the http or https URL of *link* in the form for a request; None for other schemes and broken links.

    >>> absolute("https://www.bnf.fr/a/", " ../b#c "), absolute("https://www.bnf.fr/", "mailto:x")
    ('https://www.bnf.fr/b', None)
    >>> absolute("https://a.example/", "ark:/12148/x?"), absolute("https://a.example/", "/ark:/12148/x?")
    (None, 'https://a.example/ark:/12148/x?')
    """
    link = link.strip()
    url = join_url(base, link) if link else None
    if url is None or not is_web_url(url) or split_url(url).fault is not None:
        return None
    url = url.partition("#")[0]
    if link.partition("#")[0].endswith("?") and not url.endswith("?"):  # a bare ``?`` asks for metadata of an ARK
        url += "?"
    return sendable(url)


def absolute_urls(base: str, links: Iterable[str]) -> dict[str, None]:
    """Return the URLs of *links* (`absolute`) in their order, without duplicates."""
    return dict.fromkeys(url for link in links if (url := absolute(base, link)) is not None)


def directive_source(directive: str, reading: Reading, headers: Headers) -> str | None:
    """Return the source of *directive* (such as ``nofollow``) for a page: ``meta robots``, ``X-Robots-Tag`` or None."""
    directives = {directive, "none"}
    if any(set(_words(robot)) & directives for robot in reading.robots):
        return "meta robots"
    for header in headers.x_robots_tag:
        agent = _AGENT.match(header)
        is_addressed = agent is not None and agent["agent"].lower() not in _VALUED
        if agent is not None and is_addressed and agent["agent"].lower() not in _OWN_NAMES:
            continue
        if set(_words(agent["rest"] if agent is not None and is_addressed else header)) & directives:
            return "X-Robots-Tag"
    return None


def _words(directives: str) -> Iterator[str]:
    return (word.strip().lower() for word in directives.split(","))


def header_links(value: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the links of a Link header, or of a list in ``application/link-format``, each with its parameters.

    >>> list(header_links('</2>; rel="next", </x.pdf>; rel=item; type="application/pdf"'))
    [('/2', {'rel': 'next'}), ('/x.pdf', {'rel': 'item', 'type': 'application/pdf'})]
    """
    for link in _LINK.finditer(value):
        parameters = _PARAMETER.finditer(link["parameters"])
        yield (link["target"], {part["name"].lower(): part["quoted"] or part["token"] or "" for part in parameters})


# -- traps


class Rule(StrEnum):
    """The rule that refuses a link; its value is the kind of the finding."""

    LENGTH = "trap-length"
    REPEATED_PATH = "trap-repeated-path"
    COMBINATIONS = "trap-combinations"
    DEPTH = "trap-depth"
    LINKS = "trap-links"
    """Links of one page beyond the number that is read."""
    NOFOLLOW = "nofollow"
    PATTERN = "slow-pattern"
    """A pattern of `--include` or `--exclude` takes too long, so it is unknown whether the user wants the link."""


#: The description of the links that each rule refuses.
WORDS = {
    Rule.LENGTH: "longer than 4,096 characters, or more than 30 steps in its path",
    Rule.REPEATED_PATH: "its path repeats itself",
    Rule.COMBINATIONS: "one path with too many different queries, or a query that repeats a parameter; give --exclude",
    Rule.DEPTH: "more than 50 steps from the seed; give --depth to go on",
    Rule.LINKS: "after the first 20,000 links of the page",
    Rule.NOFOLLOW: "marked nofollow",
    Rule.PATTERN: "a pattern of --include or --exclude takes too long to search",
}


def refusal_text(rule: Rule, count: int, first_url: str) -> str:
    """Return the text of the finding about *count* links that *rule* refused.

    >>> refusal_text(Rule.REPEATED_PATH, 3, "https://a.example/x/x/x")
    'links not followed: 3, the first https://a.example/x/x/x: its path repeats itself'
    """
    return f"links not followed: {count}, the first {first_url}: {WORDS[rule]}"


MOST_CHARS = 4096
MOST_STEPS = 30
MOST_DEPTH = 50
MOST_LINKS = 20_000
#: The number of different queries of one path: with one parameter, with the same parameters, with parameters that
#: occur in many combinations.
MOST_VALUES, MOST_QUERIES, MOST_COMBINED = 100_000, 20_000, 200
#: The number of sets of parameters from which they count as combined, and the number of sets of one path.
COMBINING, MOST_NAME_SETS = 12, 100
#: The number of times that a query may repeat a parameter.
MOST_REPEATED = 2

#: Query parameters that say which part of a list is shown, by page or by entry.
_PAGING = (
    *("p", "page", "page_number", "paged", "pageno", "pagenum", "pagina", "pg", "seite"),
    *("begin", "first", "from", "offset", "start", "startat", "startrecord"),
)
#: Names whose values are positions, not choices: the page of a list, the path of a page in Open Journal Systems.
_POSITIONS = re.compile(rf"{'|'.join(_PAGING)}|path\[\]", re.IGNORECASE)
_INDEX = re.compile(r"(?:\[[0-9]*\]|_[0-9]+)")
#: Repository software numbers its folders ``/00/00/01/23/``: steps without a word don't count as repetition.
_WORD = re.compile(r"[^\W\d_]{3}")
_PAGE_IN_PATH = re.compile(r"/page[/-]?[0-9]+(?=/|\Z)", re.IGNORECASE)


class Traps:
    """The rules against traps, with bounded counts of the accepted URLs.

    A resumed crawl repeats its URLs (`remember`), and so continues with the same counts.
    """

    def __init__(self) -> None:
        self._queries: defaultdict[tuple[str, str], dict[tuple[str, ...], set[int]]] = defaultdict(dict)
        """By host and path, hashes of the queries with each set of parameters."""

    def rule(self, url: str) -> Rule | None:
        """Return the rule that refuses *url*, or None."""
        parts = split_url(url)
        steps = parts.path.split("/")
        if len(url) > MOST_CHARS or len(steps) > MOST_STEPS + 1:
            return Rule.LENGTH
        if repeats_itself(steps):
            return Rule.REPEATED_PATH
        return Rule.COMBINATIONS if parts.query and self._is_one_too_many(parts) else None

    def _is_one_too_many(self, parts: UrlParts) -> bool:
        """Return True if the parameters or the query of a URL exceed the limits for its path."""
        names = parameters_of(parts.query)
        if any(names.count(name) > MOST_REPEATED for name in names):
            return True
        queries = self._queries.get((parts.netloc, parts.path), {})
        accepted_queries = queries.get(names)
        if accepted_queries is None:
            return len(queries) >= MOST_NAME_SETS
        query_limit = MOST_VALUES
        if len(names) > 1:
            query_limit = MOST_COMBINED if len(queries) >= COMBINING else MOST_QUERIES
        return len(accepted_queries) >= query_limit and hash(parts.query) not in accepted_queries

    def remember(self, url: str) -> None:
        """Count *url*, which is going to be requested."""
        parts = split_url(url)
        if parts.query:
            queries = self._queries[parts.netloc, parts.path]
            queries.setdefault(parameters_of(parts.query), set()).add(hash(parts.query))


def repeats_itself(steps: list[str]) -> bool:
    """Return True if *steps* of a path repeat three times in a row, or a step with a word occurs five times.

    >>> repeats_itself("/a/news/item/news/item/news/item".split("/")), repeats_itself("/00/00/00/01/x.pdf".split("/"))
    (True, False)
    """
    words = [step for step in steps if _WORD.search(step)]
    if len(set(words)) == len(words):
        return False
    if any(words.count(word) >= 5 for word in set(words)):
        return True
    for length in range(1, len(steps) // 3 + 1):
        for start in range(len(steps) - 3 * length + 1):
            group = steps[start : start + length]
            is_worded = any(_WORD.search(step) for step in group)
            if (
                is_worded
                and group
                == steps[start + length : start + 2 * length]
                == steps[start + 2 * length : start + 3 * length]
            ):
                return True
    return False


def parameters_of(query: str) -> tuple[str, ...]:
    """Return the names of the parameters in *query* that have a value, sorted, with repetitions.

    Those for paging and ordering are left out, and an index, such as ``[0]``, becomes ``[]``.

    >>> parameters_of("f[0]=subject:maps&f[1]=year:1784&sort_by=title&page=3")
    ('f[]', 'f[]')
    """
    names = (_INDEX.sub("[]", unquote(name)) for name, value in _parameters(query) if value)
    return tuple(
        sorted(name for name in names if not _POSITIONS.fullmatch(name) and not PRESENTATION_NAME.fullmatch(name))
    )


def turns_page(url: str, next_url: str) -> bool:
    """Return True if *next_url* is another page of the list at *url*.

    >>> turns_page("http://a.example/browse?c=5", "http://a.example/browse?c=5&page=2")
    True
    >>> turns_page("http://a.example/news/page/2/", "http://a.example/news/page/3/")
    True
    >>> turns_page("http://a.example/browse?c=5", "http://a.example/browse?c=6&page=2")
    False
    """
    url_parts, next_parts = split_url(url), split_url(next_url)
    if url_parts.netloc.lower() != next_parts.netloc.lower() or url == next_url:
        return False
    paths = [_PAGE_IN_PATH.sub("", parts.path).rstrip("/") for parts in (url_parts, next_parts)]
    if paths[0] != paths[1]:
        return False
    list_parameters = [
        {pair for pair in _parameters(parts.query) if pair[0].lower() not in _PAGING}
        for parts in (url_parts, next_parts)
    ]
    return list_parameters[0] == list_parameters[1] and (_page_of(url_parts) != _page_of(next_parts))


def _page_of(parts: UrlParts) -> tuple[object, ...]:
    path_match = _PAGE_IN_PATH.search(parts.path)
    query_pairs = (pair for pair in _parameters(parts.query) if pair[0].lower() in _PAGING)
    return (path_match[0] if path_match else "", *query_pairs)


def _parameters(query: str) -> Iterator[tuple[str, str]]:
    for pair in filter(None, query.replace("&amp;", "&").split("&")):
        name, _, value = pair.partition("=")
        yield name, value
