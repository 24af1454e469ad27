"""Pure: the record that an answer's body is, whatever its form, judged by its type and by what it looks like."""

from __future__ import annotations

import re

from crawler.answers.erc import Record, parse_erc
from crawler.answers.structured import from_json, from_yaml
from crawler.answers.vocabularies import from_turtle, from_xml

#: Segments that hold a description in another form than an ERC.
STRUCTURED = ("json", "json-ld", "yaml", "rdf", "embedded")

_TURTLE = re.compile(r"\s*(?:#.*\n\s*)*(?:@?(?:prefix|base)\s|<(?:https?|urn|ark|info):[^<>\s]*>\s)", re.IGNORECASE)
_ERROR = re.compile(r"\s*error\s*:\s*(?P<words>\S.{0,500})", re.IGNORECASE)
_NESTED = re.compile(r"^(?:erc(?:-\w+)?|---\s*$).*\n(?:#.*\n)*[ \t]+[\w/-]+\s*:", re.MULTILINE)


def parse_record(media_type: str | None, text: str) -> Record | None:
    """The record that a text is, or None when it is none. Never raises.

    >>> parse_record("text/plain", "erc:\\nwho: Austin, Larry\\nwhat: A Study\\nwhen: 1952\\nwhere: ark:67531/m1\\n")
    {'erc': {'who': 'Austin, Larry', 'what': 'A Study', 'when': '1952', 'where': 'ark:67531/m1'}}
    >>> parse_record("text/html", "<p>erc: no</p>") is None
    True
    """
    kind, start = (media_type or "").lower(), text.lstrip()[:1]
    looks_like_json = start in ("{", "[") and "yaml" not in kind and not re.match(r"\[[^\]]*\]\s*\w+:", text)
    if "json" in kind or "javascript" in kind or looks_like_json:
        return from_json(text)
    if "turtle" in kind or "n-triples" in kind or _TURTLE.match(text):
        return from_turtle(text)
    if start == "<":
        return None if "html" in kind else from_xml(text.encode("utf-8", "replace"))
    if "yaml" in kind:
        return from_yaml(text) or _anvl(text)
    if _NESTED.search(text):
        return from_yaml(text) or _anvl(text)
    return _anvl(text)


def _anvl(text: str) -> Record | None:
    if error := _ERROR.match(text):
        return {"error": {"error": error["words"]}}
    erc = parse_erc(text)
    if erc is None:
        return None
    record = erc.display()
    if "naa" in record and "erc" not in record:
        return {"registry": record["naa"]}
    return record
