"""Pure: elements of a stranger's XML one after the other, in memory that doesn't grow with it."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from lxml import etree

Element: TypeAlias = Any
"""An `lxml.etree._Element`; its published types are those of lxml 4."""

_HEAD_BYTES = 2**16
_BLANKS_BEFORE_MARKUP = re.compile(rb"\A(?:\xef\xbb\xbf)?[\t\n\r ]+(?=<)")
#: Strangers write this: nothing from outside, no entity but the five, and libxml2's own limits.
_SAFELY: Any = {
    "recover": True,
    "resolve_entities": False,
    "no_network": True,
    "huge_tree": False,
    "remove_comments": True,
    "remove_pis": True,
    "collect_ids": False,
}


def root_name(data: bytes) -> tuple[str, str] | None:
    """Namespace and local name of the root element, or None where there is none at the beginning.

    >>> root_name(b"<?xml version='1.0'?><!-- x --><feed xmlns='http://www.w3.org/2005/Atom'>")
    ('http://www.w3.org/2005/Atom', 'feed')
    >>> root_name(b"<")
    """
    parser: Any = etree.XMLPullParser(events=("start",), **_SAFELY)
    try:
        parser.feed(_BLANKS_BEFORE_MARKUP.sub(b"", data[:_HEAD_BYTES]))
        root = next((element for _, element in parser.read_events()), None)
    except etree.XMLSyntaxError:
        return None
    if root is None or not isinstance(root.tag, str):
        return None
    namespace, _, name = root.tag.rpartition("}")
    return namespace.removeprefix("{"), name


def elements(data: bytes, *tags: str) -> Iterator[Element]:
    """The elements with these tags (``{namespace}name``, or ``{*}name``) as they end; each is whole, then emptied.

    >>> [element.text for element in elements(b"<a><loc>1</loc><b><loc>2</loc></b>", "{*}loc")]
    ['1', '2']
    """
    source = io.BytesIO(_BLANKS_BEFORE_MARKUP.sub(b"", data))
    walk: Any = etree.iterparse(source, events=("end",), tag=tags, **_SAFELY)
    try:
        for _, element in walk:
            yield element
            element.clear()
            parent = element.getparent()
            while parent is not None and element.getprevious() is not None:
                del parent[0]
    except etree.XMLSyntaxError:  # what came before the fault has been given
        return


def local_name(element: Element) -> str:
    """The name of an element without its namespace; empty for what is none."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def text_of(element: Element) -> str:
    """The text in an element, without the blanks around it."""
    return "".join(element.itertext()).strip()
