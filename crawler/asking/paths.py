"""Pure: what a host says of itself, where its resolver is: ``/.well-known/ark`` (draft-kunze-ark-40, 3.4)."""

from __future__ import annotations

import re

from crawler.asking.controls import place_of
from crawler.model.observations import ChainEnd, Observation
from extractors.normalize import LABEL

_ORIGIN = re.compile(r"https?://[^/?#]*", re.IGNORECASE)
_PATH = re.compile(r"/(?:[\x21-\x7e]{0,2000}/)?\Z")


def origin_of(url: str) -> str:
    """The scheme, host and port of an http or https URL, in lower case.

    >>> origin_of("https://Journal.example/index.php/ark:/12148/x5")
    'https://journal.example'
    """
    found = _ORIGIN.match(url)
    return found[0].lower() if found else ""


def well_known_url(url: str) -> str:
    """Return where the host of *url* says under which path its resolver is.

    >>> well_known_url("https://journal.example/ark:/12148/x5")
    'https://journal.example/.well-known/ark'
    """
    return f"{origin_of(url)}/.well-known/ark"


def resolver_path(answer: Observation) -> str | None:
    """The path of the resolver by a host's own word, which is a line of plain text between slashes; else None."""
    if answer.end is not ChainEnd.ANSWERED or answer.status != 200 or answer.media_type not in ("text/plain", None):
        return None
    words = (answer.text or "").split()
    return words[0] if len(words) == 1 and _PATH.match(words[0]) and not {"?", "#"} & set(words[0]) else None


def at_path(url: str, path: str) -> str | None:
    """*url* with its resolver under *path* of the same host; None when it is there already, or holds no label.

    >>> at_path("https://journal.example/ark:/12148/x5", "/index.php/ids/")
    'https://journal.example/index.php/ids/ark:/12148/x5'
    >>> at_path("https://journal.example/index.php/ids/ark:/12148/x5", "/index.php/ids/") is None
    True
    """
    label = LABEL.search(url)
    if label is None:
        return None
    moved = f"{origin_of(url)}{path}"
    return None if moved == origin_of(url) + place_of(url)[len(origin_of(url)) :] else moved + url[label.start() :]
