"""What a page says in each language: what differs from the language that it is written in, and where that stands.

A page is rendered in every language from the same tables. Its tags are then the same, and what differs are texts
between them and attributes in them; these, with their places, are all that the page holds of another language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Any, Final

#: Tags, whose attributes hold no ``<`` and no ``>``: what is not of the template is escaped.
_TAG: Final = re.compile(r"(<[^>]*>)")
#: Elements that say something; what else there is, a browser or what is added to it may have put there, too.
_COUNTED: Final = re.compile(r"<(?!(?:script|style|link|meta)\b)[a-z]")
_ATTRIBUTE: Final = re.compile(r'([\w-]+)="([^"]*)"')


def differences(written: str, other: str) -> dict[str, Any]:
    """The texts and attributes of the HTML *other* that differ from *written*, by their places.

    ``texts`` has them by the number of the text among those of the page that are not blank; ``attributes`` by the
    number of the element among all, and their name. Raises ValueError where the tags of both are not the same.

    >>> differences('<p title="a">one</p> <b>x</b>', '<p title="b">two</p> <b>x</b>')
    {'texts': {0: 'two'}, 'attributes': {0: {'title': 'b'}}}
    """
    texts: dict[int, str] = {}
    attributes: dict[int, dict[str, str]] = {}
    element = text = -1
    for one, two in zip(_TAG.split(written), _TAG.split(other), strict=True):
        if one.startswith("<"):
            element += bool(_COUNTED.match(one))
            if one != two:
                attributes[element] = _attributes(one, two)
        elif not _is_blank(one):
            text += 1
            if one != two:
                texts[text] = unescape(two).removeprefix("\n")
        elif one != two:
            raise ValueError(f"a text that is blank in one language only: {two!r}")
    return {"texts": texts, "attributes": attributes}


def _is_blank(text: str) -> bool:
    return not text.strip()


def _attributes(one: str, two: str) -> dict[str, str]:
    """The attributes of a tag that differ from those of the same one in another language."""
    first, second = (dict(_ATTRIBUTE.findall(tag)) for tag in (one, two))
    if first.keys() != second.keys() or _ATTRIBUTE.sub("", one) != _ATTRIBUTE.sub("", two):
        raise ValueError(f"not the same tag in both languages: {one} and {two}")
    return {name: unescape(value) for name, value in second.items() if value != first[name]}


def changes(written: Any, other: Any) -> list[list[Any]]:
    """The leaves of *other* that differ from those of *written*, plain values of one shape, each behind its way there.

    >>> changes({"a": [1, {"b": "x"}]}, {"a": [1, {"b": "y"}]})
    [['a', 1, 'b', 'y']]
    """
    return [[*way, leaf] for way, leaf in _changed(written, other)]


def _changed(written: Any, other: Any) -> Iterator[tuple[list[Any], Any]]:
    match written, other:
        case (Mapping(), Mapping()) if written.keys() == other.keys():
            steps = [(key, written[key], other[key]) for key in written]
        case (list() | tuple(), list() | tuple()) if len(written) == len(other):
            steps = [(place, *each) for place, each in enumerate(zip(written, other, strict=True))]
        case _:
            if written != other:
                yield [], other
            return
    for step, one, two in steps:
        for way, leaf in _changed(one, two):
            yield [step, *way], leaf
