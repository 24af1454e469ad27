"""Pure: Atom and RSS feeds, as far as they lead somewhere.

Read here and not by a library for feeds: those that are kept hand out addresses which they have put right, and an
address is asked for as it was found.
"""

from __future__ import annotations

from collections.abc import Iterator

from crawler.model.listing import ListedItem, SourceKind, SourceReading
from crawler.sources.link_targets import absolute
from crawler.sources.xml_walk import Element, elements, local_name, text_of
from extractors.document_model import Finding

#: Where a feed goes on (RFC 5005, 3 and 4).
_FURTHER = frozenset({"next", "prev-archive"})
#: What an entry is about or brings along; ``self``, ``edit``, ``replies`` and others are about the entry.
_CONTENT = frozenset({"alternate", "enclosure"})


def read_feed(data: bytes, *, url: str) -> SourceReading:
    """Return what the feed at *url* lists: the pages of its entries, what they enclose, and where the feed goes on.

    >>> feed = b'<entry><link href="/a"/></entry><link rel="next" href="?p=2"/>'
    >>> read = read_feed(b'<feed xmlns="http://www.w3.org/2005/Atom">' + feed, url="http://a.example/feed")
    >>> [item.url for item in read.items], read.further
    (['http://a.example/a'], ('http://a.example/feed?p=2',))
    """
    items: dict[str, None] = {}
    for entry in elements(data, "{*}entry", "{*}item"):
        items |= dict.fromkeys(_joined(url, _entry_targets(entry)))
    further = dict.fromkeys(_joined(url, _further_targets(data)))
    findings = () if items else (Finding("empty-source", "this feed lists nothing"),)
    return SourceReading(SourceKind.FEED, tuple(map(ListedItem, items)), tuple(further), findings=findings)


def _entry_targets(entry: Element) -> Iterator[tuple[Element, str]]:
    """Return what the links of an entry point to; its permanent id only where it has no link."""
    has_link = False
    permanent: Element | None = None
    for child in entry:
        name = local_name(child)
        if name == "link" and child.get("href"):  # Atom
            if _relation(child) in _CONTENT:
                has_link = True
                yield child, child.get("href")
        elif name == "link" and text_of(child):  # RSS
            has_link = True
            yield child, text_of(child)
        elif name == "enclosure" and child.get("url"):
            yield child, child.get("url")
        elif name == "content" and child.get("src"):
            yield child, child.get("src")
        elif name == "guid" and child.get("isPermaLink", "true").strip().lower() == "true":
            permanent = child
    if permanent is not None and not has_link:
        yield permanent, text_of(permanent)


def _further_targets(data: bytes) -> Iterator[tuple[Element, str]]:
    """The links of the feed itself that lead to its next part; those of entries are about these."""
    for link in elements(data, "{*}link"):
        parent = link.getparent()
        is_own = parent is not None and local_name(parent) in ("feed", "channel", "rss")
        if is_own and _relation(link) in _FURTHER and link.get("href"):
            yield link, link.get("href")


def _relation(link: Element) -> str:
    return str(link.get("rel") or "alternate").strip().lower()


def _joined(url: str, targets: Iterator[tuple[Element, str]]) -> Iterator[str]:
    for element, target in targets:
        found = absolute(absolute(url, element.base or "") or url, target)
        if found is not None:
            yield found
