"""The parts of a page, beside plain links, that lead to further documents; and its requests to those who follow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from extractors.readers.markup.page import attributes_of

Element: TypeAlias = Any
"""An `lxml.etree._Element`; its published types are those of lxml 4."""

#: Relations of a ``link`` element that lead to another document, or another part of this one. Not among them are
#: ``canonical`` and ``cite-as`` (this page again), ``search``, ``license`` and whatever serves how a page looks.
_FOLLOWED = frozenset({"chapter", "contents", "describedby", "item", "next", "prev", "previous", "section"})
#: An alternate is followed only where it is for readers. Repositories name two dozen exports of each record so, and
#: feeds and oEmbed say what is on the pages themselves.
_FOR_READERS = re.compile(
    r"|text/html|application/(?:xhtml\+xml|pdf|epub\+zip|msword|vnd\.(?:ms-|oasis\.|openxmlformats-).*)", re.IGNORECASE
)
#: ``meta`` elements that name the document itself, as library catalogues and Google Scholar read them.
_DOCUMENT_META = frozenset({"bepress_citation_pdf_url", "citation_pdf_url", "eprints.document_url"})
_CRAWLERS = frozenset({"arkaudit", "robots"})
_REFRESH = re.compile(r"\s*[0-9.]*\s*[;,]\s*(?:url\s*=\s*)?(?P<quote>[\"']?)(?P<url>.+?)(?P=quote)\s*\Z", re.I | re.S)
_MOST_CHARS = 4096
#: From f to f, which `re` leaps to; to lower a page that is not ASCII takes five times as long.
_NOFOLLOW = tuple(re.compile(rf"{letter}(?<=[nN][oO].)[oO][lL]{{2}}[oO][wW]") for letter in "fF")
_ANCHOR = re.compile(r"<a(?:rea)?( [^>]*)>")


@dataclass(slots=True)
class Following:
    """Gathered from the elements of a page in order."""

    links: list[str] = field(default_factory=list)
    documents: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    robots: list[str] = field(default_factory=list)

    def read(self, element: Element) -> None:
        """Take what a ``link``, ``meta``, ``embed``, ``object``, ``frame`` or ``iframe`` element says."""
        match element.tag:
            case "link":
                self._link(element)
            case "meta":
                self._meta(element)
            case "frame" | "iframe":  # their place among the links is that of the element
                self._add(element.get("src"), self.parts, is_link=False)
            case "embed":
                self._add(element.get("src"), self.documents)
            case "object":
                self._add(element.get("data"), self.documents)

    def _link(self, element: Element) -> None:
        relations = set((element.get("rel") or "").lower().split())
        media_type = (element.get("type") or "").partition(";")[0].strip()
        is_alternate = "alternate" in relations and "stylesheet" not in relations
        if "item" in relations:
            self._add(element.get("href"), self.documents)
        elif relations & _FOLLOWED or (is_alternate and _FOR_READERS.fullmatch(media_type)):
            self._add(element.get("href"), None)

    def _meta(self, element: Element) -> None:
        name = (element.get("name") or "").strip().lower()
        content = element.get("content") or ""
        if name in _CRAWLERS:
            self.robots.append(content)
        elif name in _DOCUMENT_META:
            self._add(content, self.documents)
        elif (element.get("http-equiv") or "").strip().lower() == "refresh":
            self._add(refresh_target(content), self.parts)

    def _add(self, target: str | None, among: list[str] | None, *, is_link: bool = True) -> None:
        if not target:
            return
        if is_link:
            self.links.append(target)
        if among is not None:
            among.append(target)


def refresh_target(content: str) -> str | None:
    """Return where a refresh goes to, as a header or a meta element says it; None for one that only loads the page
    again.

    >>> refresh_target("5; url='/b'"), refresh_target("0;/c"), refresh_target("30")
    ('/b', '/c', None)
    """
    found = _REFRESH.match(content[:_MOST_CHARS])
    return found["url"] if found else None


def unfollowed_links(markup: str) -> Iterator[str]:
    """The targets in well-formed *markup* that stand only in links with ``rel=nofollow``.

    >>> list(unfollowed_links('<a rel="nofollow" href="/a">1</a><a href="/b">2</a><a href="/b" rel="NoFollow">3</a>'))
    ['/a']
    """
    if not any(spelled.search(markup) for spelled in _NOFOLLOW):
        return
    unfollowed: dict[str, bool] = {}
    for anchor in _ANCHOR.finditer(markup):
        attributes = attributes_of(anchor[1])
        if target := attributes.get("href"):
            is_nofollow = "nofollow" in attributes.get("rel", "").lower().split()
            unfollowed[target] = unfollowed.get(target, True) and is_nofollow
    yield from (target for target, is_nofollow in unfollowed.items() if is_nofollow)
