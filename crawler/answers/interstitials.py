"""Recognize an interstitial page, in place of a document: a robot check, a log-in, a pause of the site."""

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
class Interstitial:
    """A page in place of a document: the document's outcome, and the reason in words."""

    outcome: ObjectOutcome | DocumentOutcome
    reason: str


def interstitial_by_headers(headers: Mapping[str, str]) -> Interstitial | None:
    """Return the robot check that the *headers* of an answer name, or None."""
    check_name = quirks().challenge_in_headers(headers)
    return _robot_check(check_name) if check_name else None


def interstitial_in(title: str, link_count: int, body: bytes) -> Interstitial | None:
    """Return the robot check, log-in or pause that a page shows in place of a document, or None.

    A page with many links, or a source (*body*) of more than 64 KiB, is none.

    >>> interstitial_in("Making sure you're not a bot!", 0, b"<title>Making sure you're not a bot!</title>Loading...").reason
    'the answer is a robot check: Anubis'
    >>> interstitial_in("Maps of Lyon", 0, b"<title>Maps of Lyon</title>Three hundred maps, 1784 to 1910") is None
    True
    """
    if len(body) > _MOST_BYTES or link_count > _MOST_LINKS:
        return None
    source = body.decode("utf-8", "replace")
    page_text = " ".join([*title.split(), *unescape(_NOT_SHOWN.sub(" ", source)).split()])
    if len(page_text) >= NOTICE_CHARS:
        return None
    check_name = quirks().challenge_in_page(source, title, page_text)
    if check_name:
        return _robot_check(check_name)
    words = PageWords(title, page_text)
    if words.is_titled_log_in and _PASSWORD.search(body):
        return Interstitial(ObjectOutcome.BLOCKED, "the answer asks to log in")
    if fault := words.temporary_fault:
        return Interstitial(DocumentOutcome.PAUSED, f"the answer is about a pause or a fault of the site: {fault!r}")
    return None


def _robot_check(name: str) -> Interstitial:
    return Interstitial(ObjectOutcome.BLOCKED, f"the answer is a robot check: {name}")
