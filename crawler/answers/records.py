"""Pure: the record that an answer's body is, whatever its form, judged by its type and by what it looks like."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import unquote

from crawler.answers.erc import EZID_ESCAPE, Erc, Record, parse_ercs
from crawler.answers.structured import from_json, from_yaml
from crawler.answers.vocabularies import from_turtle, from_xml
from extractors.ark import Ark
from extractors.find import find_arks

#: Segments that hold a description in another form than an ERC.
STRUCTURED = ("json", "json-ld", "yaml", "rdf", "embedded")

_TURTLE = re.compile(r"\s*(?:#.*\n\s*)*(?:@?(?:prefix|base)\s|<(?:https?|urn|ark|info):[^<>\s]*>\s)", re.IGNORECASE)
_ERROR = re.compile(r"\s*error\s*:\s*(?P<words>\S.{0,500})", re.IGNORECASE)
#: An ERC whose lines are parted for a browser.
_BROKEN = re.compile(r"\s*erc\s*:[^\n<]{0,500}<br\b", re.IGNORECASE)
#: The XML of another profile in an answer of EZID: "crossref: <?xml …", with its line ends escaped.
_PROFILE = re.compile(r"success:\s*(?P<ark>\S+)(?:.*\n)+?(?:crossref|datacite):\s*(?P<xml><.*)")
_BREAK = re.compile(r"<br\s*/?>\s*", re.IGNORECASE)
_NESTED = re.compile(r"^(?:erc(?:-\w+)?|---\s*$).*\n(?:#.*\n)*[ \t]+[\w/-]+\s*:", re.MULTILINE)


def parse_record(media_type: str | None, text: str, ark: Ark | None = None) -> Record | None:
    """The record that a text is, or None when it is none; of a set of ERCs that of *ark*. Never raises.

    >>> parse_record("text/plain", "erc:\\nwho: Austin, Larry\\nwhat: A Study\\nwhen: 1952\\nwhere: ark:67531/m1\\n")
    {'erc': {'who': 'Austin, Larry', 'what': 'A Study', 'when': '1952', 'where': 'ark:67531/m1'}}
    >>> parse_record("text/html", "<p>erc: no</p>") is None
    True
    """
    kind, start = (media_type or "").lower(), text.lstrip()[:1]
    looks_like_json = start in ("{", "[") and "yaml" not in kind and not re.match(r"\[[^\]]*\]\s*\w+:", text)
    if "json" in kind or "javascript" in kind or looks_like_json:
        return from_json(text, ark)
    if "turtle" in kind or "n-triples" in kind or _TURTLE.match(text):
        return from_turtle(text)
    if start == "<":
        return None if "html" in kind else from_xml(text.encode("utf-8", "replace"))
    if "yaml" in kind:
        return from_yaml(text, ark) or _anvl(text, ark)
    if _NESTED.search(text):
        return from_yaml(text, ark) or _anvl(text, ark)
    return _anvl(text, ark)


def _anvl(text: str, ark: Ark | None) -> Record | None:
    if error := _ERROR.match(text):
        return {"error": {"error": error["words"]}}
    if (profile := _PROFILE.match(text)) and (found := from_xml(_unescaped(profile["xml"]), enough=2)):
        return {kind: {**values, "identifier": profile["ark"]} for kind, values in found.items()}
    erc = _of_set(parse_ercs(_BREAK.sub("\n", text) if _BROKEN.match(text) else text), ark)
    if erc is None:
        return None
    record = erc.display()
    if "naa" in record and "erc" not in record:
        return {"registry": record["naa"]}
    return record


def _unescaped(value: str) -> bytes:
    return EZID_ESCAPE.sub(lambda found: unquote(found[0]), value).encode("utf-8", "replace")


def _of_set(ercs: Sequence[Erc], ark: Ark | None) -> Erc | None:
    """The record of a set that names *ark*, or else its first."""
    if len(ercs) > 1 and ark is not None:
        named = (erc for erc in ercs if any(found in (ark, ark.base) for found in _names_in(erc)))
        exact = next((erc for erc in ercs if ark in _names_in(erc)), None)
        return exact or next(named, ercs[0])
    return ercs[0] if ercs else None


def _names_in(erc: Erc) -> set[Ark]:
    """The ARKs by which a record says what it is about."""
    elements = erc.anchoring.display() if erc.anchoring is not None else {}
    return {
        mention.ark for label in ("where", "identifier", "id", "ark") for mention in find_arks(elements.get(label, ""))
    }
