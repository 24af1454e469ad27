"""Pure: answers in ANVL, ERC and JSON become segments of who, what, when and where (draft-kunze-ark-10, 7).

A record is a mapping from segment (``erc``, ``erc-support`` …) to a mapping from label to value, in display form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

Record = dict[str, dict[str, str]]

_LINE = re.compile(r"(?P<label>[A-Za-z_][\w./ -]{0,63}?)\s*:(?:\s+|$)(?P<value>.*)\Z")
_SHORT_FORM = ("who", "what", "when", "where")
_BASIC = frozenset({*_SHORT_FORM, "how", "policy"})
_DUBLIN_CORE = {
    "creator": "who",
    "contributor": "who",
    "publisher": "who",
    "title": "what",
    "date": "when",
    "identifier": "where",
}
_CODE = re.compile(r"\(:(?P<code>[a-z]{2,5})\)\s*(?P<words>.*)\Z", re.DOTALL)
_EXPANSIONS = {"%!": "|", "%%": "%", "%.": ",", "%_": ""}
_EXPANSION = re.compile(r"%\{(?P<block>.*?)%\}|%[!%._]", re.DOTALL)
_SEGMENT_KEY = re.compile(r"(?P<segment>erc(?:-[a-z]+)?)\.(?P<label>\w+)\Z")

#: Codes for a value that is missing (7.6); ``unap`` and ``unal`` say on purpose that there is none.
MISSING = frozenset({"unac", "unal", "unap", "unas", "unav", "unkn", "none", "null", "tba"})


def parse_record(media_type: str | None, text: str) -> Record | None:
    """The record that an answer's body is, or None when it is none.

    >>> parse_record("text/plain", "erc:\\nwho: Austin, Larry\\nwhat: A Study\\nwhen: 1952\\nwhere: ark:67531/m1\\n")
    {'erc': {'who': 'Austin, Larry', 'what': 'A Study', 'when': '1952', 'where': 'ark:67531/m1'}}
    >>> parse_record("text/html", "<p>erc: no</p>") is None
    True
    """
    kind = (media_type or "").lower()
    if "json" in kind or (not kind and text.lstrip()[:1] == "{"):
        return _from_json(text)
    if "html" in kind or "xml" in kind or text.lstrip()[:1] == "<":
        return None
    return _from_anvl(text)


def _from_anvl(text: str) -> Record | None:
    record: Record = {}
    segment, opened = "erc", False
    for label, value in _elements(text):
        key = _SEGMENT_KEY.match(label)
        if key:
            opened = True
            record.setdefault(key["segment"], {}).setdefault(_plain_label(key["label"]), display(value))
        elif label.lower().startswith("erc"):
            segment, opened = label.lower(), True
            fields = [display(part) for part in value.split("|")] if value else []
            record.setdefault(segment, {}).update(zip(_SHORT_FORM, fields, strict=False))
        else:
            plain = _plain_label(label)
            if plain in _BASIC or segment in record:
                record.setdefault(segment, {}).setdefault(plain, display(value))
    return record if _is_record(record, opened=opened) else None


def _is_record(record: Record, *, opened: bool) -> bool:
    """Whether lines that look like a record are one: many texts have a colon.

    What is *opened* by ``erc`` must tell who, what or when; a stub, which nothing opens, three of the four.
    """
    told = {label for label, value in record.get("erc", {}).items() if value and not missing_code(value)}
    if opened:
        return bool(told.intersection(("who", "what", "when"))) or any(name != "erc" for name in record)
    return len(told.intersection(_SHORT_FORM)) >= 3


def _elements(text: str) -> Iterator[tuple[str, str]]:
    """Labels and unfolded values of ANVL lines; a comment in column 1 is as if it were absent (7.1)."""
    label, value = "", ""
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        if line.startswith("#"):
            continue
        if line[:1] in (" ", "\t") and label and line.strip():
            value = f"{value} {line.strip()}".strip()
            continue
        if label:
            yield label, value
        found = _LINE.match(line)
        label, value = (found["label"], found["value"].strip()) if found else ("", "")
    if label:
        yield label, value


def _plain_label(label: str) -> str:
    """A label without its qualifier, Dublin Core elements as their kernel equivalents (7.4, 7.5).

    >>> _plain_label("who/published"), _plain_label("dc.title")
    ('who', 'what')
    """
    plain = label.lower().partition("/")[0].removeprefix("dc.").removeprefix("dc:").strip()
    return _DUBLIN_CORE.get(plain, plain)


#: Keys of which a description has some, in whatever vocabulary; the part behind a prefix counts.
_DESCRIPTIVE = frozenset(
    {"who", "what", "when", "title", "name", "creator", "author", "contributor", "publisher", "date"}
    | {"identifier", "description", "subject", "label", "headline", "about"}
)


def _from_json(text: str) -> Record | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, Mapping):
        return None
    segments = {
        key.lower(): _strings(inner)
        for key, inner in value.items()
        if key.lower().startswith("erc") and isinstance(inner, Mapping)
    }
    if segments:
        return segments if _is_record(segments, opened=True) else None
    if "definition" in value or {"prefix", "target"} <= value.keys():
        return {"registry": _strings(value)}
    described = {re.split(r"[:./#]", str(key).lower())[-1] for key, inner in value.items() if inner}
    status = value.get("status", value.get("code"))
    is_error = described & {"error", "errors"} or (isinstance(status, int) and status >= 400)
    if not described & _DESCRIPTIVE or is_error:
        return None
    return {"json": _strings(value)}


def _strings(mapping: Mapping[str, Any]) -> dict[str, str]:
    """The values as text, keys in lower case; what no text can hold is replaced."""
    return {
        _encodable(str(key).lower()): _encodable(
            value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        )
        for key, value in mapping.items()
        if value is not None
    }


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def display(value: str) -> str:
    """A value as people read it: sort-friendly commas turned round, then its encoding undone (7.7, 7.8).

    >>> display(", van Gogh, Vincent")
    'Vincent van Gogh'
    >>> display(",Howell, III, PhD, 1922-1987, Thurston")
    'Thurston Howell, III, PhD, 1922-1987'
    >>> display(", McCartney, Paul, Sir,")
    'Sir Paul McCartney'
    """
    text = value.strip()
    if text.startswith(",") and len(text) > 1:
        parts = [part.strip() for part in text[1:].split(",")]
        if parts[-1] == "":
            text = " ".join(reversed(parts[:-1]))
        elif len(parts) > 1:
            text = f"{parts[-1]} {', '.join(parts[:-1])}"
        else:
            text = parts[0]
    return _EXPANSION.sub(
        lambda found: re.sub(r"\s", "", found["block"]) if found["block"] is not None else _EXPANSIONS[found[0]],
        text,
    )


def missing_code(value: str) -> str | None:
    """The code when a value is one for "there is none", with or without words behind it; else None.

    >>> missing_code("(:unkn) Anonymous"), missing_code("(:etal)"), missing_code("1952")
    ('unkn', None, None)
    """
    found = _CODE.match(value.strip())
    return found["code"] if found and found["code"] in MISSING else None
