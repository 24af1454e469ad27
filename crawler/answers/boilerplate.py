"""Pure: what of a page is its own text, and what is the site's: menus, banners, footers and lists of links.

Two pages of one site differ in little else than their own text, so it alone is what pages are compared by, and where
they say that something is not there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from bs4.element import CData, NavigableString, Tag

#: Blocks that hold at least so many links, and hardly anything beside them, are menus.
MENU_LINKS = 4
#: The share of a block's letters that stand in links when it is a menu.
MENU_SHARE = 0.7
#: Headings that are kept, and how much of each.
MOST_HEADINGS = 4
HEADING_CHARS = 200

_SITES_ROLES = frozenset(
    {"navigation", "banner", "contentinfo", "search", "dialog", "alertdialog", "menu", "menubar"},
)
_BLOCKS = frozenset({"ul", "ol", "dl", "table", "tr", "td", "div", "section", "aside", "p", "map", "center"})
_HEADINGS = frozenset({"h1", "h2", "h3"})
_HIDING = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")
_NO_LETTERS = re.compile(r"[\W\d_]+")
#: The same in ASCII: to leave out single octets is quicker by a factor of ten.
_NO_ASCII_LETTERS = bytes(octet for octet in range(128) if not chr(octet).isalpha())


@dataclass(slots=True)
class _Weight:
    """The weight of an element's content, without the menus in it."""

    letters: int = 0
    linked: int = 0
    links: int = 0
    has_heading: bool = False

    def add(self, other: _Weight) -> None:
        self.letters += other.letters
        self.linked += other.linked
        self.links += other.links
        self.has_heading |= other.has_heading

    @property
    def is_menu(self) -> bool:
        return self.links >= MENU_LINKS and self.linked >= MENU_SHARE * self.letters


@dataclass(frozen=True, slots=True)
class Own:
    """The page's own words, white space folded."""

    text: str
    headings: tuple[str, ...] = ()
    """The first of its headings."""


def own_part(soup: Any) -> Own:
    """The readable text of a parsed page without the site's own and its title; in time that its size allows.

    >>> from bs4 import BeautifulSoup
    >>> markup = "<nav>Home Maps</nav><main><h1>A map</h1><p>Ink on paper</main><footer>Our address</footer>"
    >>> own_part(BeautifulSoup(markup, "lxml"))
    Own(text='A map Ink on paper', headings=('A map',))
    """
    nodes = list(soup.descendants)
    weights, sites = _weighed(nodes)
    main = next((node for node in nodes if _is_main(node) and weights[id(node)].letters), None)
    left_out, own = {id(node) for node in sites}, []
    within = {id(soup)} if main is None else {id(main)}
    headings: list[Tag] = []
    for node in nodes:
        place = id(node.parent)
        if place in left_out:
            left_out.add(id(node))
        elif place in within or (main is not None and _is_outer_heading(node, main, weights)):
            within.add(id(node))
            if type(node) in (NavigableString, CData):
                own.append(str(node))
            elif node.name in _HEADINGS and len(headings) < MOST_HEADINGS:
                headings.append(node)
    text = _folded(own)
    if not _LETTER.search(text):
        return Own(_folded([str(node) for node in nodes if _is_shown(node)]))
    return Own(text, tuple(heading for each in headings if (heading := _folded([each.get_text("\n")])[:HEADING_CHARS])))


def _weighed(nodes: list[Any]) -> tuple[dict[int, _Weight], list[Any]]:
    """Return what each element weighs, and the elements that are the site's; the innermost are weighed first."""
    weights: dict[int, _Weight] = {}
    sites: list[Any] = []
    articles: set[int] = set()
    for node in nodes:
        if id(node.parent) in articles or getattr(node, "name", None) == "article":
            articles.add(id(node))
    for node in reversed(nodes):
        weight = weights.setdefault(id(node), _Weight())
        if not isinstance(node, Tag):
            weight.letters = letters_in(node) if type(node) in (NavigableString, CData) else 0
        elif node.name == "a" and node.get("href"):
            weight.linked, weight.links = weight.letters, 1
        weight.has_heading |= node.name == "h1"
        is_menu = node.name in _BLOCKS and weight.is_menu
        if isinstance(node, Tag) and (
            is_menu or _is_sites(node, in_article=id(node) in articles, has_heading=weight.has_heading)
        ):
            sites.append(node)
        else:
            weights.setdefault(id(node.parent), _Weight()).add(weight)
    return weights, sites


def letters_in(text: str) -> int:
    """Return how many letters a text has.

    >>> letters_in("Ms. 4_a"), letters_in("4 N_\N{GREEK SMALL LETTER ALPHA}")
    (3, 2)
    """
    if text.isascii():
        return len(str.encode(text).translate(None, _NO_ASCII_LETTERS))
    return len(_NO_LETTERS.sub("", text))


def _is_shown(node: Any) -> bool:
    return type(node) in (NavigableString, CData) and node.parent.name != "title"


def _is_main(node: Any) -> bool:
    return isinstance(node, Tag) and (node.name == "main" or node.get("role") == "main")


def _is_outer_heading(node: Any, main: Any, weights: dict[int, _Weight]) -> bool:
    """Return whether this is the heading of a page whose main part has none."""
    return bool(node.name == "h1" and not weights[id(main)].has_heading)


def _is_sites(tag: Tag, *, in_article: bool, has_heading: bool) -> bool:
    """Return whether an element is the site's by its name or role, or is not shown at all; a header may hold
    the title.
    """
    if tag.name in ("title", "nav", "dialog", "select") or tag.has_attr("hidden"):
        return True
    if tag.name == "footer":
        return not in_article
    if tag.get("role") in _SITES_ROLES or (tag.name == "header" and not in_article):
        return not has_heading
    return bool(_HIDING.search(str(tag.get("style", ""))))


def _folded(texts: list[str]) -> str:
    return " ".join("\n".join(texts).split())
