"""Pure: find what a page leads to, by its links and by its headers, and whether it asks crawlers not to follow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from urllib.parse import urljoin

from crawler.model.resolving import sendable
from extractors.model.documents import Reading
from extractors.readers.markup.page import refresh_target

#: Links of a header that lead to documents (RFC 8288; signposting.org): the items of a landing page, its metadata.
#: ``cite-as`` is the persistent identifier of the page and leads back to it.
_FOLLOWED = frozenset({"describedby", "item", "next", "prev"})
#: The crawlers that a directive may be addressed to, where it is about all or about us.
_US = frozenset({"arkaudit", "robots"})

_LINK = re.compile(r'<(?P<target>[^<>]*)>(?P<parameters>(?:[^,"<]|"(?:[^"\\]|\\.)*+"?)*+)')
_PARAMETER = re.compile(
    r';\s*(?P<name>[a-z*]+)\s*=\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*+)"|(?P<token>[^\s;,"]+))', re.I
)
_AGENT = re.compile(r"\s*(?P<agent>[a-z0-9_.-]+)\s*:(?P<rest>.*)\Z", re.IGNORECASE | re.DOTALL)
#: Directives with a value are no names of crawlers.
_VALUED = frozenset({"max-image-preview", "max-snippet", "max-video-preview", "unavailable_after"})


@dataclass(frozen=True, slots=True)
class Headers:
    """The headers of an answer that may hold links, each as often as it came."""

    link: Sequence[str] = ()
    x_robots_tag: Sequence[str] = ()
    refresh: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """A URL that a page leads to."""

    url: str
    """As it is sent."""
    is_document: bool = False
    """Whether the page says that a document is there: an item, a PDF that it cites or embeds."""
    is_part: bool = False
    """Whether it is part of the page, or where the page goes on by itself: a frame, a refresh."""
    is_nofollow: bool = False


def page_targets(reading: Reading, *, url: str, headers: Headers) -> list[LinkTarget]:
    """Return what the page at *url* leads to, in page order, each once; what its headers name comes first.

    >>> reading = Reading("text/html", links=("b.html", "x.pdf"), base="/a/", documents=("x.pdf",))
    >>> [(each.url, each.is_document) for each in page_targets(reading, url="http://e.example/", headers=Headers())]
    [('http://e.example/a/b.html', False), ('http://e.example/a/x.pdf', True)]
    """
    targets: dict[str, LinkTarget] = {}
    for link, parameters in chain.from_iterable(map(header_links, headers.link)):
        relations = set(parameters.get("rel", "").lower().split())
        if relations & _FOLLOWED and (there := absolute(url, link)) is not None:
            targets.setdefault(there, LinkTarget(there, is_document="item" in relations))
    for refresh in filter(None, map(refresh_target, headers.refresh)):
        if (there := absolute(url, refresh)) is not None:
            targets.setdefault(there, LinkTarget(there, is_part=True))
    base = absolute(url, reading.base or "") or url
    documents, parts, unfollowed = (
        set(reading.documents),
        set(reading.parts),
        set(reading.unfollowed),
    )
    for link in reading.links:
        there = absolute(base, link)
        if there is not None and there not in targets:
            targets[there] = LinkTarget(there, link in documents, link in parts, link in unfollowed)
    return list(targets.values())


@lru_cache(maxsize=2**13)
def absolute(base: str, link: str) -> str | None:
    """The http or https URL that *link* means, as it is sent; what is none, or is broken, leads nowhere.

    >>> absolute("https://www.bnf.fr/a/", " ../b#c "), absolute("https://www.bnf.fr/", "mailto:x")
    ('https://www.bnf.fr/b', None)
    >>> absolute("https://a.example/", "ark:/12148/x?"), absolute("https://a.example/", "/ark:/12148/x?")
    (None, 'https://a.example/ark:/12148/x?')
    """
    link = link.strip()
    try:
        url = urljoin(base, link) if link else ""
    except ValueError:
        return None
    if not url.lower().startswith(("http://", "https://")):
        return None
    url = url.partition("#")[0]
    if link.partition("#")[0].endswith("?") and not url.endswith(
        "?"
    ):  # of an ARK a bare question mark is a question
        url += "?"
    return sendable(url)


def asked_by(directive: str, reading: Reading, headers: Headers) -> str | None:
    """By what a page asks for *directive*, ``nofollow`` or ``noindex``: ``meta robots`` or ``X-Robots-Tag``; None if it
    doesn't.
    """
    directives = {directive, "none"}
    if any(set(_words(robot)) & directives for robot in reading.robots):
        return "meta robots"
    for header in headers.x_robots_tag:
        agent = _AGENT.match(header)
        is_addressed = agent is not None and agent["agent"].lower() not in _VALUED
        if agent is not None and is_addressed and agent["agent"].lower() not in _US:
            continue
        if (
            set(_words(agent["rest"] if agent is not None and is_addressed else header))
            & directives
        ):
            return "X-Robots-Tag"
    return None


def _words(directives: str) -> Iterator[str]:
    return (word.strip().lower() for word in directives.split(","))


def header_links(value: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The links of a Link header, or of a list in ``application/link-format``, in order, each with its parameters.

    >>> list(header_links('</2>; rel="next", </x.pdf>; rel=item; type="application/pdf"'))
    [('/2', {'rel': 'next'}), ('/x.pdf', {'rel': 'item', 'type': 'application/pdf'})]
    """
    for link in _LINK.finditer(value):
        parameters = _PARAMETER.finditer(link["parameters"])
        yield (
            link["target"],
            {part["name"].lower(): part["quoted"] or part["token"] or "" for part in parameters},
        )
