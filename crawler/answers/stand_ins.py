"""Recognize a page that a host sends in place of a document: a robot check, a log-in, a pause of the site."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import unescape

from crawler.answers.notices import PageWords
from crawler.answers.quirks import NOTICE_CHARS, quirks
from crawler.model.outcomes import DocumentOutcome, ObjectOutcome

_PASSWORD = re.compile(rb"<input\b[^>]{0,500}\btype\s*=\s*[\"']?password\b", re.IGNORECASE)
#: Parts of a source that are not shown; the words of ``noscript`` count, because robot checks are there.
_NOT_SHOWN = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|template|title)\b.*?(?:</\1\s*+>|\Z)|<[^<>]*+>", re.IGNORECASE | re.DOTALL
)
#: Limits of a page that replaces a document: its bytes and links.
_MOST_BYTES, _MOST_LINKS = 2**16, 20


@dataclass(frozen=True, slots=True)
class StandIn:
    """A page in place of a document: the document's outcome, and the reason in words."""

    outcome: ObjectOutcome | DocumentOutcome
    reason: str


def stand_in_by_headers(headers: Mapping[str, str]) -> StandIn | None:
    """Return the robot check that the *headers* of an answer name, or None."""
    challenge = quirks().challenge_in_headers(headers)
    return _robot_check(challenge) if challenge else None


def stand_in(title: str, links: int, body: bytes) -> StandIn | None:
    """Return what a page is in place of the document, or None: by its title, its number of links, and its source.

    >>> stand_in("Making sure you're not a bot!", 0, b"<title>Making sure you're not a bot!</title>Loading...").reason
    'the answer is a robot check: Anubis'
    >>> stand_in("Maps of Lyon", 0, b"<title>Maps of Lyon</title>Three hundred maps, 1784 to 1910") is None
    True
    """
    if len(body) > _MOST_BYTES or links > _MOST_LINKS:
        return None
    source = body.decode("utf-8", "replace")
    whole = " ".join([*title.split(), *unescape(_NOT_SHOWN.sub(" ", source)).split()])
    if len(whole) >= NOTICE_CHARS:
        return None
    challenge = quirks().challenge_in_page(source, title, whole)
    if challenge:
        return _robot_check(challenge)
    words = PageWords(title, whole)
    if words.is_titled_log_in and _PASSWORD.search(body):
        return StandIn(ObjectOutcome.BLOCKED, "the answer asks to log in")
    if fault := words.temporary_fault:
        return StandIn(DocumentOutcome.PAUSED, f"the answer is about a pause or a fault of the site: {fault!r}")
    return None


def _robot_check(name: str) -> StandIn:
    return StandIn(ObjectOutcome.BLOCKED, f"the answer is a robot check: {name}")
