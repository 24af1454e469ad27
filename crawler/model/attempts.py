"""Pure: whether a question is asked again within a run, and how long to wait before."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from crawler.model.observations import ACCESS, ChainEnd, Hop, Observation

#: Statuses that speak of this moment, and not of what was asked for.
PASSING_STATUSES = frozenset({429, 502, 503, 504})
#: How the failures of a look-up that took too long are worded: the next one may be in time, as an address may be known.
SLOW_LOOK_UPS = (
    "the name could not be looked up in time",
    "our own machine did not get to looking the name up, which says nothing of the host",
)
_PASSING_ENDS = frozenset({ChainEnd.TIMEOUT, ChainEnd.RESET})
_SECONDS = re.compile(r"(?P<whole>[0-9]+)(?P<part>\.[0-9]+)?(?:\s*,.*)?\Z", re.ASCII)
_SPOKEN = re.compile(r"(?:(?P<h>[0-9]+)\s*h)?\s*(?:(?P<m>[0-9]+)\s*m)?\s*(?:(?P<s>[0-9]+)\s*s)?\Z", re.I)

#: A year; anyone who asks for more, or for more digits than a number has, wants not to be asked today.
LONGEST_WISH_S = 366 * 86_400.0
#: A date in a year that no calendar of Python has.
_BEYOND_CALENDARS = re.compile(r"\b[A-Z][a-z]{2}[ -][0-9]{5,} [0-9]{2}:", re.ASCII)


@dataclass(frozen=True, slots=True)
class Patience:
    """The limits for asking a question again: how often, and how long."""

    attempts: int = 3
    """How often at most; 1 means never again."""
    backoff_s: float = 2.0
    """Seconds before the second attempt; each further wait is twice as long."""
    longest_wait_s: float = 60.0
    """A host that wants a longer pause is not asked again in this run."""

    def backoff(self, attempt: int) -> float:
        """The seconds after the attempt with this number, which is 1 for the first.

        >>> [Patience(backoff_s=2).backoff(attempt) for attempt in (1, 2, 3)]
        [2.0, 4.0, 8.0]
        """
        return self.backoff_s * float(2 ** (attempt - 1))


def next_attempt(answer: Observation, patience: Patience) -> float | None:
    """The seconds to wait before the question of *answer* is put once more, or None when that answer is.

    Only what may pass is tried again: timeouts, broken connections, 429, 502, 503 and 504; not what was never sent,
    because its host seems dead. The host's own wish (Retry-After, RFC 9110, 10.2.3) is heeded; one beyond our patience
    is on record with the answer, and not waited for.
    """
    # A verdict about the object rests on the questions of access; the others are asked twice at most.
    most = patience.attempts if answer.question in ACCESS else min(patience.attempts, 2)
    return next_fetch(answer.hops, answer.end, answer.attempt, patience, most=most)


def next_fetch(
    hops: Sequence[Hop], end: ChainEnd, attempt: int, patience: Patience, *, most: int | None = None
) -> float | None:
    """The seconds to wait before a chain that ended so, at this attempt of *most*, is gone through once more, or None.

    >>> hops = (Hop("https://n2t.net/", "GET", "2026-11-21T12:00:00+00:00", 503),)
    >>> next_fetch(hops, ChainEnd.ANSWERED, 1, Patience(backoff_s=2.0))
    2.0
    """
    last = hops[-1] if hops else None
    has_had_enough = attempt >= (patience.attempts if most is None else most)
    if last is None or not last.sent or has_had_enough or not (may_pass(end, last.status) or _is_slow(last)):
        return None
    return wait_s(last.headers.get("Retry-After"), attempt, patience, at=last.at)


def _is_slow(hop: Hop) -> bool:
    """Return whether a look-up took too long, by what was kept of it."""
    return hop.status is None and (hop.error or "").startswith(SLOW_LOOK_UPS)


def wait_s(retry_after: str | None, attempt: int, patience: Patience, *, at: str) -> float | None:
    """The seconds to wait after an *attempt* that was answered *at* a moment; None when that is beyond *patience*."""
    wish = retry_after_s(retry_after, at=at)
    seconds = max(patience.backoff(attempt), wish or 0.0)
    return seconds if seconds <= patience.longest_wait_s else None


def may_pass(end: ChainEnd, status: int | None) -> bool:
    """Return whether a chain that ended so may end otherwise in a moment.

    >>> may_pass(ChainEnd.ANSWERED, 503), may_pass(ChainEnd.ANSWERED, 500), may_pass(ChainEnd.DNS, None)
    (True, False, False)
    """
    return end in _PASSING_ENDS or (end is ChainEnd.ANSWERED and status in PASSING_STATUSES)


def retry_after_s(header: str | None, *, at: str) -> float | None:
    """The seconds that a Retry-After asks for, counted from the moment *at* (ISO 8601); None when it says nothing.

    It is seconds or a date; ``2.7``, ``3s``, ``1m`` and ``1m30s`` are seen as well. However long it is, it is no more
    than `LONGEST_WISH_S`.

    >>> [retry_after_s(text, at="2026-11-21T10:00:00+00:00") for text in ("120", "1m30s", "soon", None)]
    [120.0, 90.0, None, None]
    >>> retry_after_s("Sat, 21 Nov 2026 10:00:20 GMT", at="2026-11-21T10:00:00.000+00:00")
    20.0
    """
    text = (header or "").strip()
    if match := _SECONDS.match(text):
        return min(_bounded(match["whole"]) + float((match["part"] or ".0")[:9]), LONGEST_WISH_S)
    spoken = _SPOKEN.match(text) if text else None
    if spoken:
        hours, minutes, seconds = (_bounded(spoken[unit] or "0") for unit in "hms")
        return min(hours * 3600 + minutes * 60 + seconds, LONGEST_WISH_S)
    if _BEYOND_CALENDARS.search(text):
        return LONGEST_WISH_S
    try:
        date, moment = parsedate_to_datetime(text), datetime.fromisoformat(at)
        date = date if date.tzinfo else date.replace(tzinfo=UTC)
        return min(max((date - moment).total_seconds(), 0.0), LONGEST_WISH_S)
    except (ValueError, TypeError, OverflowError):
        return None


def _bounded(digits: str) -> float:
    """A number of seconds, however many digits it has."""
    significant = digits.lstrip("0")
    return min(float(significant or 0), LONGEST_WISH_S) if len(significant) < 20 else LONGEST_WISH_S
