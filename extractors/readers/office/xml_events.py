"""XML as events, for formats whose vocabulary is known: no tree, so that a part of any size takes little memory."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from lxml import etree

from extractors.model.documents import Finding
from extractors.readers.markup.xml import without_surrogates

#: The tag of the first element. NULs are dropped before, for a part may be in UTF-16.
_ROOT = re.compile(rb"<(?:[\w.-]+:)?([A-Za-z][\w.-]*)[\s/>]")
_MOST_LEAVES = 100_000


class EnoughRead(Exception):
    """Raised by a target that takes no more events, and caught where they are sent."""


class EventTarget:
    """A target for the events of a parser; this one lets all of them pass."""

    __slots__ = ()

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element begins."""

    def data(self, text: str) -> None:
        """Text, in pieces as the parser likes."""

    def end(self, tag: str) -> None:
        """An element ends; in damaged markup, not every one that began."""

    def close(self) -> None:
        """There is no more."""


def send_events(data: bytes, target: EventTarget) -> tuple[Finding, ...]:
    """Parse *data* as far as it goes, with its events to *target*; what went wrong, if anything.

    >>> leaves = Leaves()
    >>> send_events(b"<a><b>1</b><c>2</c>", leaves)
    (Finding(kind='malformed-markup', detail='line 1: Premature end of data in tag a line 1'),)
    >>> [(leaf.name, leaf.text) for leaf in leaves.found]
    [('b', '1'), ('c', '2')]
    """
    # lxml's published types are those of version 4, so these two have none.
    untyped: Any = target
    # Left alone, entities would be in attributes as they are written, and even "&amp;" would be "&#38;".
    internal: Any = "internal"
    # Strangers write this: no entity from outside, and libxml2's own limits on depth, length and amplification.
    parser = etree.XMLParser(
        target=untyped,
        resolve_entities=internal,
        no_network=True,
        huge_tree=False,
        recover=True,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        etree.fromstring(without_surrogates(data), parser)
    except (etree.XMLSyntaxError, EnoughRead):
        target.close()
    faults = [entry for entry in parser.error_log if entry.level == etree.ErrorLevels.FATAL]
    limits = [entry for entry in faults if entry.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT]
    if limits:
        return (Finding("cut-off", f"not read beyond line {limits[0].line}: {limits[0].message}"),)
    return tuple(Finding("malformed-markup", f"line {entry.line}: {entry.message.strip()}") for entry in faults[:1])


@lru_cache(maxsize=1024)  # a document has few names, and each many times
def local_name(qualified: str) -> str:
    """The name without its namespace, or without a prefix that was never bound.

    >>> local_name("{http://www.w3.org/1999/xlink}href"), local_name("dc:identifier")
    ('href', 'identifier')
    """
    return qualified.rpartition("}")[2].rpartition(":")[2]


def by_local_name(attributes: Mapping[str, str]) -> dict[str, str]:
    """The attributes of an element without their namespaces, which differ between the editions of a format."""
    return {local_name(name): value for name, value in attributes.items()}


def root_name(head: bytes) -> str:
    """The local name of the root element, by the first bytes of a part; empty where none is to be seen.

    >>> root_name(b"<?xml version='1.0'?><!-- x --><w:hdr xmlns:w='...'>")
    'hdr'
    """
    root = _ROOT.search(head.replace(b"\0", b""))
    return root[1].decode("ascii", "replace") if root else ""


@dataclass(frozen=True, slots=True)
class Leaf:
    """An element that holds text and no other element."""

    name: str
    """Its local name."""
    text: str
    within: str
    """The attribute ``name`` of the element around it, such as a custom property; mostly empty."""
    attributes: Mapping[str, str]


class Leaves(EventTarget):
    """The elements of a small vocabulary that hold text: metadata, in any of the formats."""

    def __init__(self) -> None:
        self.found: list[Leaf] = []
        self._open: list[Mapping[str, str]] = []
        self._text: list[str] | None = None

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element begins; the one around it is no leaf."""
        self._open.append(by_local_name(attributes))
        self._text = []

    def data(self, text: str) -> None:
        """Text, in pieces as the parser likes."""
        if self._text is not None:
            self._text.append(text)

    def end(self, tag: str) -> None:
        """An element ends; it was a leaf if none ended within it."""
        attributes = self._open.pop() if self._open else {}
        text = "".join(self._text).strip() if self._text is not None else ""
        self._text = None
        if text and len(self.found) < _MOST_LEAVES:
            within = self._open[-1].get("name", "") if self._open else ""
            self.found.append(Leaf(local_name(tag), text, within, attributes))
