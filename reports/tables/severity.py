"""The severity of outcomes, states and events: the basis of ``--fail-on``."""

from __future__ import annotations

from collections.abc import Iterable

from crawler.history.ark_status import SEVERITY as STATE_SEVERITY
from crawler.history.ark_status import EventKind
from crawler.model.observations import SEVERITY as OUTCOME_SEVERITY
from crawler.model.observations import DocumentOutcome

#: The events, gravest first.
EVENT_SEVERITY = (
    EventKind.BROKE,
    EventKind.GONE,
    EventKind.MOVED,
    EventKind.CHANGED,
    EventKind.RECOVERED,
    EventKind.NEW,
)
#: What can be asked for, by kind, the gravest of each first; nothing of one kind is graver than anything of another.
SEVERITY = {
    "state": tuple(str(state) for state in STATE_SEVERITY),
    "event": tuple(str(event) for event in EVENT_SEVERITY),
    "outcome": tuple(str(outcome) for outcome in OUTCOME_SEVERITY),
    "document": (str(DocumentOutcome.UNREADABLE),),
}
#: A word that is both a state and an outcome means both.
TOKENS = tuple(dict.fromkeys(token for tokens in SEVERITY.values() for token in tokens))


def at_least(token: str) -> frozenset[str]:
    """The tokens that are as grave as *token* or graver, of its own kind.

    >>> sorted(at_least("flapping")), sorted(at_least("gone"))
    (['confirmed-broken', 'flapping'], ['broke', 'gone'])
    """
    orders = [tokens[: tokens.index(token) + 1] for tokens in SEVERITY.values() if token in tokens]
    return frozenset(grave for order in orders for grave in order)


def is_reached(fail_on: Iterable[str], occurring: Iterable[str]) -> bool:
    """Return whether anything *occurring* is as grave as one of *fail_on*, or graver.

    >>> is_reached(["dns"], ["resolved", "broken"]), is_reached(["confirmed-broken"], ["broken"])
    (True, False)
    """
    grave = frozenset(token for asked in fail_on for token in at_least(asked))
    return not grave.isdisjoint(occurring)
