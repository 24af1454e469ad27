"""Pure: what of a page is its own text, and what is the site's: menus, banners, footers and lists of links.

Two pages of one site differ in little else than their own text, so it alone is what pages are compared by, and where
they say that something is not there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crawler.answers.page_tree import Element, Node, Text

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
_SITES_NAMES = frozenset({"title", "nav", "dialog", "select"})
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


def own_part(page: Element) -> Own:
    """The readable text of a parsed page without the site's own and its title; in time that its size allows.

    >>> from crawler.answers.page_tree import parsed
    >>> markup = b"<nav>Home Maps</nav><main><h1>A map</h1><p>Ink on paper</main><footer>Our address</footer>"
    >>> own_part(parsed(markup, None))
    Own(text='A map Ink on paper', headings=('A map',))
    """
    nodes = page.descendants
    weights, sites = _weighed(nodes)
    main = next((node for node in nodes if _is_main(node) and weights[id(node)].letters), None)
    left_out, own = {id(node) for node in sites}, []
    within = {id(page)} if main is None else {id(main)}
    headings: list[Element] = []
    for node in nodes:
        place = id(node.parent)
        if place in left_out:
            left_out.add(id(node))
        elif place in within or (main is not None and bool(node.name == "h1" and not weights[id(main)].has_heading)):
            within.add(id(node))
            if isinstance(node, Text):
                if node.is_shown:
                    own.append(node)
            elif node.name in _HEADINGS and len(headings) < MOST_HEADINGS:
                headings.append(node)
    text = _folded(own)
    if not _LETTER.search(text):
        return Own(
            _folded(
                [node for node in nodes if isinstance(node, Text) and (node.is_shown and node.parent.name != "title")]
            )
        )
    return Own(text, tuple(heading for each in headings if (heading := _folded(each.texts)[:HEADING_CHARS])))


def _weighed(nodes: Sequence[Node]) -> tuple[dict[int, _Weight], list[Element]]:
    """Return what each element weighs, and the elements that are the site's; the innermost are weighed first."""
    weights: dict[int, _Weight] = {}
    sites: list[Element] = []
    articles: set[int] = set()
    if any(node.name == "article" for node in nodes):
        for node in nodes:
            if id(node.parent) in articles or node.name == "article":
                articles.add(id(node))
    for node in reversed(nodes):
        above = weights.get(id(node.parent))
        if above is None:
            above = weights[id(node.parent)] = _Weight()
        if isinstance(node, Text):
            if node.is_shown:
                above.letters += letters_in(node)
            continue
        weight = weights.get(id(node))
        if weight is None:
            weight = weights[id(node)] = _Weight()
        if node.name == "a" and node.get("href"):
            weight.linked, weight.links = weight.letters, 1
        weight.has_heading |= node.name == "h1"
        is_menu = node.name in _BLOCKS and weight.is_menu
        if is_menu or _is_sites(node, in_article=id(node) in articles, has_heading=weight.has_heading):
            sites.append(node)
        else:
            above.add(weight)
    return weights, sites


def letters_in(text: str) -> int:
    """Return how many letters a text has.

    >>> letters_in("Ms. 4_a"), letters_in("4 N_\N{GREEK SMALL LETTER ALPHA}")
    (3, 2)
    """
    if text.isascii():
        return len(str.encode(text).translate(None, _NO_ASCII_LETTERS))
    return len(_NO_LETTERS.sub("", text))


def _is_main(node: Any) -> bool:
    return isinstance(node, Element) and (node.name == "main" or node.get("role") == "main")


def _is_sites(tag: Element, *, in_article: bool, has_heading: bool) -> bool:
    """Return whether an element is the site's by its name or role, or is not shown at all; a header may hold
    the title.
    """
    if tag.name in _SITES_NAMES or "hidden" in tag.attributes:
        return True
    if tag.name == "footer":
        return not in_article
    if (tag.name == "header" and not in_article) or tag.get("role") in _SITES_ROLES:
        return not has_heading
    style = tag.get("style")
    return style is not None and _HIDING.search(style) is not None


def _folded(texts: Sequence[str]) -> str:
    return " ".join("\n".join(texts).split())
