"""Pure: what an HTTP status, or the end of a chain without one, means for the object (2020, 7.1.2)."""

from __future__ import annotations

from collections.abc import Mapping

from crawler.model.observations import ChainEnd, ObjectOutcome
from crawler.model.resolving import SUCCESSES

BLOCKED = frozenset({401, 403, 407, 429, 451, 999})
#: What a chain that got no last answer means for the object; complete over the ends that are no answer.
OUTCOME_OF_END: Mapping[ChainEnd, ObjectOutcome] = {
    ChainEnd.NON_WEB: ObjectOutcome.NON_WEB,
    ChainEnd.LOOP: ObjectOutcome.LOOP,
    ChainEnd.TOO_MANY_REDIRECTS: ObjectOutcome.TOO_MANY_REDIRECTS,
    ChainEnd.BAD_REDIRECT: ObjectOutcome.BAD_REDIRECT,
    ChainEnd.DNS: ObjectOutcome.DNS,
    ChainEnd.REFUSED: ObjectOutcome.REFUSED,
    ChainEnd.TIMEOUT: ObjectOutcome.TIMEOUT,
    ChainEnd.RESET: ObjectOutcome.RESET,
    ChainEnd.TLS: ObjectOutcome.TLS,
    ChainEnd.PROTOCOL_ERROR: ObjectOutcome.PROTOCOL_ERROR,
    ChainEnd.ROBOTS: ObjectOutcome.ROBOTS,
    ChainEnd.REFUSED_ADDRESS: ObjectOutcome.REFUSED_ADDRESS,
    ChainEnd.SKIPPED: ObjectOutcome.SKIPPED,
    ChainEnd.UNDETERMINED: ObjectOutcome.UNDETERMINED,
}
#: Statuses by which a resolver says that it knows no such name (2020, 7.1.2).
NOT_FOUND = frozenset({400, 404, 410})
#: Statuses of success that come without a body.
WITHOUT_BODY = frozenset({204, 304})
#: Ends by which nothing is known of the name, only that this way to it is closed.
DEAD_ENDS = frozenset(
    {
        ChainEnd.DNS,
        ChainEnd.REFUSED,
        ChainEnd.TIMEOUT,
        ChainEnd.RESET,
        ChainEnd.TLS,
        ChainEnd.PROTOCOL_ERROR,
        ChainEnd.LOOP,
        ChainEnd.TOO_MANY_REDIRECTS,
        ChainEnd.BAD_REDIRECT,
    }
)
#: Ends after which the same host is not asked in yet another way.
SILENT_ENDS = frozenset({ChainEnd.DNS, ChainEnd.REFUSED, ChainEnd.TIMEOUT, ChainEnd.TLS})
#: Statuses by which a host asks for a right that few have; 429 and 999 ask programs to stay away.
ASKING_FOR_A_RIGHT = frozenset({401, 403, 407, 451})

#: Statuses below 500 that speak of the identifier; others speak of the request, and leave the object undetermined.
_SAYS_BROKEN = frozenset({400, 404, 410, 414})


def status_outcome(status: int) -> ObjectOutcome:
    """The outcome that a last HTTP status means for the object, before its page has been looked at (2020, 7.1.2).

    >>> [status_outcome(status).value for status in (200, 404, 403, 503, 408, 405)]
    ['resolved', 'broken', 'blocked', 'server-error', 'timeout', 'undetermined']
    """
    if status in SUCCESSES:
        return ObjectOutcome.RESOLVED
    if status in BLOCKED:
        return ObjectOutcome.BLOCKED
    if status == 408:
        return ObjectOutcome.TIMEOUT
    if status in _SAYS_BROKEN:
        return ObjectOutcome.BROKEN
    if 500 <= status < 600:
        return ObjectOutcome.SERVER_ERROR
    return ObjectOutcome.UNDETERMINED
