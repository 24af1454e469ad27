"""A page as a tree of elements and texts, by the parser that Beautiful Soup takes, without what we don't use of it.

Of the time that a large page took, more than half went to building Beautiful Soup's tree. The trees are the same: the
charsets are tried in its order, by its detector, white space between elements is folded as there, and so on. Tests
compare the two.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from itertools import zip_longest
from typing import Any, TypeAlias

from bs4.dammit import EncodingDetector
from bs4.exceptions import ParserRejectedMarkup
from lxml import etree

_KEEPING_SPACE = frozenset({"pre", "textarea"})
#: Elements whose texts are none of the page's.
_APART = frozenset({"script", "style", "template", "rt", "rp"})
_ASCII_SPACES = " \n\t\f\r"


class Text(str):
    """A text between tags, or a comment."""

    __slots__ = ("after", "is_shown", "parent")

    name = None
    parent: Element
    after: Node | None
    is_shown: bool
    """Whether it is the page's text, and neither a comment nor a script."""


class Element:
    """An element, with what it holds."""

    __slots__ = ("after", "attributes", "contents", "name", "parent")

    def __init__(self, name: str, attributes: dict[str, str], parent: Element | None) -> None:
        self.name = name
        self.attributes = attributes
        self.parent = parent
        self.contents: list[Node] = []
        self.after: Node | None = None

    def get(self, name: str, default: str | None = None) -> str | None:
        """Return the value of an attribute."""
        return self.attributes.get(name, default)

    @property
    def descendants(self) -> list[Node]:
        """All that it holds, in the order of the page."""
        nodes: list[Node] = []
        unread = self.contents[::-1]
        while unread:
            node = unread.pop()
            nodes.append(node)
            if isinstance(node, Element):
                unread += node.contents[::-1]
        return nodes

    @property
    def texts(self) -> list[Text]:
        """The texts in it that the page shows."""
        return [node for node in self.descendants if isinstance(node, Text) and node.is_shown]

    @property
    def only_text(self) -> str | None:
        """The text that is all it holds, in however many elements, if it is."""
        node: Node = self
        while isinstance(node, Element):
            if len(node.contents) != 1:
                return None
            node = node.contents[0]
        return node

    def next_element(self, name: str | None = None) -> Element | None:
        """The next element after it in the same one, of that name if one is given."""
        node = self.after
        while node is not None and not (isinstance(node, Element) and name in (None, node.name)):
            node = node.after
        return node if isinstance(node, Element) else None

    def children_named(self, *names: str) -> list[Element]:
        """The elements of these names right in it."""
        return [node for node in self.contents if isinstance(node, Element) and node.name in names]

    def remove_all(self, *names: str) -> None:
        """Take the elements of these names out of it, wherever they are."""
        removed = [node for node in self.descendants if node.name in names and node.parent is not None]
        for holder in {id(node.parent): node.parent for node in removed}.values():
            if holder is not None:
                holder.contents = [node for node in holder.contents if node.name not in names]
                for node, after in zip_longest(holder.contents, holder.contents[1:]):
                    node.after = after


Node: TypeAlias = Text | Element


def parsed(markup: bytes, charset: str | None) -> Element:
    """The page that *markup* is, in *charset* if it can be, or else in the one that it names or looks like.

    >>> page = parsed(b"<title>A map</title><p>Ink <b>on</b> paper", None)
    >>> [str(text) for text in page.texts]
    ['A map', 'Ink ', 'on', ' paper']
    """
    charsets = [charset] if charset else []
    detector = EncodingDetector(markup, known_definite_encodings=charsets, is_html=True)
    for encoding in detector.encodings:
        builder: Any = _Builder()
        try:
            parser = etree.HTMLParser(target=builder, recover=True, encoding=encoding)
            parser.feed(detector.markup)
            parser.close()
        except (UnicodeDecodeError, LookupError, etree.ParserError):
            continue
        root: Element = builder.root
        return root
    raise ParserRejectedMarkup("no charset fits")


class _Builder:
    """What lxml reports of a page, as a tree."""

    def __init__(self) -> None:
        self.root = Element("[document]", {}, None)
        self._open = [self.root]
        self._keeping_space = 0
        self._apart = 0
        self._texts: list[str] = []

    def start(self, name: str, attributes: Any) -> None:
        if self._texts:
            self._end_text()
        own = {_local(key) if key[:1] == "{" else key: value for key, value in attributes.items()} if attributes else {}
        element = Element(name, own, self._open[-1])
        self._append(element)
        self._open.append(element)
        self._keeping_space += name in _KEEPING_SPACE
        self._apart += name in _APART

    def end(self, name: str) -> None:
        if self._texts:
            self._end_text()
        if self._open[-1].name == name or any(element.name == name for element in self._open):
            while self._pop().name != name:
                pass

    def data(self, text: str) -> None:
        self._texts.append(text)

    def comment(self, text: str) -> None:
        self._end_text()
        self._texts.append(text)
        self._end_text(is_shown=False)

    def pi(self, target: str, data: str | None) -> None:
        self.comment(target)

    def doctype(self, name: str, public_id: str, system_id: str) -> None:
        self.comment("doctype")

    def close(self) -> Element:
        self._end_text()
        return self.root

    def _pop(self) -> Element:
        element = self._open.pop()
        self._keeping_space -= element.name in _KEEPING_SPACE
        self._apart -= element.name in _APART
        return element

    def _end_text(self, *, is_shown: bool = True) -> None:
        if not self._texts:
            return
        text = "".join(self._texts)
        self._texts = []
        if not self._keeping_space and not text.strip(_ASCII_SPACES):
            text = "\n" if "\n" in text else " "
        node = Text(text)
        node.parent, node.is_shown = self._open[-1], is_shown and not self._apart
        self._append(node)

    def _append(self, node: Node) -> None:
        siblings = self._open[-1].contents
        node.after = None
        if siblings:
            siblings[-1].after = node
        siblings.append(node)


# For each page lxml asks whether `start` takes namespaces, and to work out its signature takes longer than to parse.
_Builder.start.__signature__ = signature(_Builder.start)  # type: ignore[attr-defined]


def _local(name: str) -> str:
    """The name of an attribute that looks as if it had a namespace."""
    return name.partition("}")[2] or name


# Pure: what of a page is its own text, and what is the site's: menus, banners, footers and lists of links.

#: Blocks that hold at least so many links, and hardly anything next to them, are menus.
MENU_LINKS = 4
#: The share of a block's letters that are in links when it is a menu.
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
        parent_id = id(node.parent)
        if parent_id in left_out:
            left_out.add(id(node))
        elif parent_id in within or (
            main is not None and bool(node.name == "h1" and not weights[id(main)].has_heading)
        ):
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
    return Own(
        text,
        tuple(heading for heading_element in headings if (heading := _folded(heading_element.texts)[:HEADING_CHARS])),
    )


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
