"""Compare an ARK with the expectations of its institution: its landing page, and who has access.

ARKs that could not be judged are never reported as wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from urllib.parse import unquote

from crawler.history.ark_status import comparable_landing_url
from crawler.model.observations import FAMILY_OF, Family, ObjectOutcome
from crawler.model.resolving import sendable


class Presence(StrEnum):
    """Where an ARK of the inventory was found: in documents, in checks, in both or not at all."""

    NEVER_SEEN = "never-seen"
    """No document cites it, and it was never checked."""
    NEVER_CHECKED = "never-checked"
    """Cited, but never checked."""
    NEVER_CITED = "never-cited"
    """Checked, but not cited by any document."""
    SEEN = "seen"


class LandingMatch(StrEnum):
    """The landing page of an ARK compared with the expected one."""

    ELSEWHERE = "elsewhere"
    """The ARK leads to another object."""
    EXPECTED = "expected"
    UNDETERMINED = "undetermined"
    NOT_STATED = "not-stated"
    """The inventory gives no landing page."""


class AccessMatch(StrEnum):
    """The access that people have, compared with the access that they should have."""

    WRONGLY_OPEN = "wrongly-open"
    WRONGLY_CLOSED = "wrongly-closed"
    AS_MEANT = "as-meant"
    UNDETERMINED = "undetermined"
    NOT_STATED = "not-stated"


#: Statuses that ask for authorization. A 403 or 429 may concern programs only.
_ASKS_FOR_A_RIGHT = frozenset({401, 407, 451})
_ESCAPE = re.compile(r"%[0-9a-fA-F]{2}")
#: Characters that mean the same in a path whether or not they are percent-encoded.
_PLAIN = re.compile(r"[A-Za-z0-9._~:@!$'()*,-]")
#: An ARK in a path. Both forms of its label are equivalent, and hyphens are ignored.
_ARK = re.compile(r"/ark:/*([0-9b-z]+/[^?]*)", re.IGNORECASE)


def same_object(one: str, other: str) -> bool:
    """Return True if two URLs identify the same object, as far as the URLs show.

    The comparison ignores: the scheme, the case of the host, ``www.``, the default port, a trailing slash, the
    fragment, the order of query parameters, session and campaign parameters, percent-encoding of plain characters, and
    the spelling of an ARK in the path.

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
    return comparable_landing_url(as_one).removeprefix("www.")


def _unescape_plain(escape: re.Match[str]) -> str:
    char = unquote(escape[0])
    return char if _PLAIN.fullmatch(char) else escape[0].upper()


def classify_presence(*, is_cited: bool, is_checked: bool) -> Presence:
    """Return where an ARK was found.

    >>> classify_presence(is_cited=False, is_checked=True).value
    'never-cited'
    """
    if is_checked:
        return Presence.SEEN if is_cited else Presence.NEVER_CITED
    return Presence.NEVER_CHECKED if is_cited else Presence.NEVER_SEEN


def compare_landing(
    expected: str | None, outcome: ObjectOutcome | None, final_url: str | None, passed: Iterable[str] = ()
) -> LandingMatch:
    """Return how the landing page matches *expected*. One of the URLs *passed* on the way is enough.

    A page may redirect to its newest version, so intermediate URLs count. Only an ARK whose object was found can land
    at a wrong one.
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
    """Return how the access to an object matches the intention of the inventory.

    An answer with the object means open. A notice that explains why it is not available, or a refusal that asks for
    authorization, means closed. Any other answer is undetermined.
    """
    if closed is None:
        return AccessMatch.NOT_STATED
    if outcome is ObjectOutcome.RESOLVED:
        return AccessMatch.WRONGLY_OPEN if closed else AccessMatch.AS_MEANT
    asks = status in _ASKS_FOR_A_RIGHT or asks_password
    if outcome is ObjectOutcome.EXPLAINED or (outcome is ObjectOutcome.BLOCKED and asks):
        return AccessMatch.AS_MEANT if closed else AccessMatch.WRONGLY_CLOSED
    return AccessMatch.UNDETERMINED
