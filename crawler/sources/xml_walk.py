"""Pure: elements of a stranger's XML one after the other, in memory that doesn't grow with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeAlias

from lxml import etree

from extractors.readers.markup.xml import without_surrogates

Element: TypeAlias = Any
"""An `lxml.etree._Element`; its published types are those of lxml 4."""

_HEAD_BYTES = 2**16
_BLANKS_BEFORE_MARKUP = re.compile(rb"\A(?:\xef\xbb\xbf)?[\t\n\r ]+(?=<)")
_PIECE_BYTES = 2**18
_BARE_AMPERSAND = re.compile(
    rb"(?P<cdata><!\[CDATA\[.*?(?:\]\]>|\Z))|&(?!(?:[A-Za-z_][A-Za-z0-9_.-]*|#[0-9]+|#x[0-9A-Fa-f]+);)", re.DOTALL
)
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
        parser.feed(without_surrogates(_BLANKS_BEFORE_MARKUP.sub(b"", data[:_HEAD_BYTES])))
        root = next((element for _, element in parser.read_events()), None)
    except etree.XMLSyntaxError:
        return None
    if root is None or not isinstance(root.tag, str):
        return None
    namespace, _, name = root.tag.rpartition("}")
    return namespace.removeprefix("{"), name


def elements(data: bytes, *tags: str) -> Iterator[Element]:
    """The elements with these tags (``{namespace}name``, or ``{*}name``) as they end; each is whole, then emptied.

    What is still open when *data* ends was cut off: it is not given, for half a URL leads somewhere else.

    >>> [element.text for element in elements(b"<a><loc>1&2</loc><b><loc>3</loc></b><loc>4", "{*}loc")]
    ['1&2', '3']
    """
    parser: Any = etree.XMLPullParser(events=("end",), tag=tags, **_SAFELY)
    data = _with_ampersands(without_surrogates(_BLANKS_BEFORE_MARKUP.sub(b"", data)))
    for start in range(0, len(data), _PIECE_BYTES):
        try:
            parser.feed(data[start : start + _PIECE_BYTES])
        except etree.XMLSyntaxError:  # what came before the fault has been given
            return
        for _, element in parser.read_events():
            yield element
            element.clear()
            parent = element.getparent()
            while parent is not None and element.getprevious() is not None:
                del parent[0]


def _with_ampersands(data: bytes) -> bytes:
    """*data* with each bare ampersand escaped: with the rest of its "reference", libxml2 would pass over it.

    >>> _with_ampersands(b"<a>x?1&2&amp;3</a><![CDATA[x?1&2]]>")
    b'<a>x?1&amp;2&amp;3</a><![CDATA[x?1&2]]>'
    """
    return _BARE_AMPERSAND.sub(lambda match: match[0] if match["cdata"] else b"&amp;", data)


def local_name(element: Element) -> str:
    """The name of an element without its namespace; empty for what is none."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def text_of(element: Element) -> str:
    """The text in an element, without the blanks around it."""
    return "".join(element.itertext()).strip()
