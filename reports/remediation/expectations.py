"""Pure: whether an ARK does what its own institution expects: where it lands, and whether it lets people in.

What could not be judged is never called wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from urllib.parse import unquote

from crawler.history.ark_status import place
from crawler.model.observations import FAMILY_OF, Family, ObjectOutcome
from crawler.model.resolving import sendable


class Presence(StrEnum):
    """The presence of an ARK of the inventory: whether it has ever been met."""

    NEVER_SEEN = "never-seen"
    """No document cites it, and it was never checked."""
    NEVER_CHECKED = "never-checked"
    """Cited, and never checked."""
    NEVER_CITED = "never-cited"
    """Checked, though no document cites it."""
    SEEN = "seen"


class LandingMatch(StrEnum):
    """The landing page of an ARK, compared with the one expected."""

    ELSEWHERE = "elsewhere"
    """At another object."""
    EXPECTED = "expected"
    UNDETERMINED = "undetermined"
    NOT_STATED = "not-stated"
    """The inventory says nothing about it."""


class AccessMatch(StrEnum):
    """The access that people have, compared with the access that they should have."""

    WRONGLY_OPEN = "wrongly-open"
    WRONGLY_CLOSED = "wrongly-closed"
    AS_MEANT = "as-meant"
    UNDETERMINED = "undetermined"
    NOT_STATED = "not-stated"


#: Statuses that ask for a right. A 403 or 429 may only be meant for programs.
_ASKS_FOR_A_RIGHT = frozenset({401, 407, 451})
_ESCAPE = re.compile(r"%[0-9a-fA-F]{2}")
#: Characters that mean the same in a path, escaped or not; no program distinguishes them there.
_PLAIN = re.compile(r"[A-Za-z0-9._~:@!$'()*,-]")
#: An ARK in a path: both forms of its label are one, and hyphens mean nothing in it.
_ARK = re.compile(r"/ark:/*([0-9b-z]+/[^?]*)", re.IGNORECASE)


def same_object(one: str, other: str) -> bool:
    """Return whether two URLs name one object, as far as URLs show.

    Without meaning are the scheme, the case of the host, ``www.``, the default port, a trailing slash, the fragment,
    the order of the query, names of sessions and campaigns, whether a plain character is escaped and a foreign one is
    not, and how an ARK in the path is written.

    >>> same_object("http://Library.example:80/view/a%7Eb/", "https://www.library.example/view/a~b?utm_source=x#top")
    True
    >>> same_object("https://library.example/ark:/12148/x5-7", "https://library.example/ark%3A12148/x57")
    True
    >>> same_object("https://library.example/view/7", "https://library.example/view/8")
    False
    """
    return _canonical(one) == _canonical(other)


def _canonical(url: str) -> str:
    plain = _ESCAPE.sub(_unescape_plain, sendable(url.strip()))
    as_one = _ARK.sub(lambda ark_path: "/ark:" + ark_path[1].replace("-", ""), plain)
    return place(as_one).removeprefix("www.")


def _unescape_plain(escape: re.Match[str]) -> str:
    char = unquote(escape[0])
    return char if _PLAIN.fullmatch(char) else escape[0].upper()


def classify_presence(*, is_cited: bool, is_checked: bool) -> Presence:
    """Return whether an ARK has been met.

    >>> classify_presence(is_cited=False, is_checked=True).value
    'never-cited'
    """
    if is_checked:
        return Presence.SEEN if is_cited else Presence.NEVER_CITED
    return Presence.NEVER_CHECKED if is_cited else Presence.NEVER_SEEN


def compare_landing(
    expected: str | None, outcome: ObjectOutcome | None, final_url: str | None, passed: Iterable[str] = ()
) -> LandingMatch:
    """Return where an ARK lands; one of the URLs *passed* on the way suffices, for a page may lead on to its newest
    form.

    Only what led to an object that was found can be at the wrong one.
    """
    if expected is None:
        return LandingMatch.NOT_STATED
    if outcome is None or FAMILY_OF[outcome] is not Family.WORKS or not final_url:
        return LandingMatch.UNDETERMINED
    if any(same_object(expected, url) for url in (final_url, *passed)):
        return LandingMatch.EXPECTED
    return LandingMatch.ELSEWHERE if outcome is ObjectOutcome.RESOLVED else LandingMatch.UNDETERMINED


def compare_access(
    closed: bool | None, outcome: ObjectOutcome | None, status: int | None = None, *, asks_password: bool = False
) -> AccessMatch:
    """Return whether people are let in as it is meant.

    An answer for the object is open; a notice that explains why it can't be had, and a refusal that asks for a right,
    are closed. Nothing else says either.
    """
    if closed is None:
        return AccessMatch.NOT_STATED
    if outcome is ObjectOutcome.RESOLVED:
        return AccessMatch.WRONGLY_OPEN if closed else AccessMatch.AS_MEANT
    asks = status in _ASKS_FOR_A_RIGHT or asks_password
    if outcome is ObjectOutcome.EXPLAINED or (outcome is ObjectOutcome.BLOCKED and asks):
        return AccessMatch.AS_MEANT if closed else AccessMatch.WRONGLY_CLOSED
    return AccessMatch.UNDETERMINED
