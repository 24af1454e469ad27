"""A page as a tree of elements and texts, by the parser that Beautiful Soup takes, without what we don't use of it.

Of the time that a large page took, more than half went to building Beautiful Soup's tree. The trees are the same: the
charsets are tried in its order, by its detector, white space between elements is folded as there, and so on. Tests
compare the two.
"""

from __future__ import annotations

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
        found: list[Node] = []
        unread = self.contents[::-1]
        while unread:
            node = unread.pop()
            found.append(node)
            if isinstance(node, Element):
                unread += node.contents[::-1]
        return found

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
        """The next element behind it in the same one, of that name if one is given."""
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
    known = [charset] if charset else []
    detector = EncodingDetector(markup, known_definite_encodings=known, is_html=True)
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
    """What lxml tells of a page, as a tree."""

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
