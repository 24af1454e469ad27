"""The closed vocabularies of verdicts: the outcomes of the three services, their families, and the states of an ARK.

The values of the enums are the exact strings in the store, in JSON and in tables. New ones may be added, but these keep
their meaning.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Family(StrEnum):
    """The family of an object outcome, for counts."""

    WORKS = "works"
    FAILS = "fails"
    UNREACHABLE = "unreachable"
    """The host gave no answer about the identifier, so that nothing is known today. This is not link rot."""
    NOT_JUDGED = "not-judged"


class ObjectOutcome(StrEnum):
    """The outcome of the request for the object itself."""

    family: Family
    """The family that counts it, such as `Family.UNREACHABLE` for an outage."""

    def __new__(cls, token: str, family: Family = Family.NOT_JUDGED) -> Self:
        """Return an outcome with its token and family."""
        outcome = str.__new__(cls, token)
        outcome._value_, outcome.family = token, family
        return outcome

    RESOLVED = "resolved", Family.WORKS
    RELATED = "related", Family.WORKS
    NON_WEB = "non-web", Family.WORKS
    EXPLAINED = "explained", Family.WORKS
    WORKS_ELSEWHERE = "works-elsewhere", Family.WORKS
    SOFT_404 = "soft-404", Family.FAILS
    BROKEN = "broken", Family.FAILS
    SERVER_ERROR = "server-error", Family.UNREACHABLE
    DNS = "dns", Family.UNREACHABLE
    REFUSED = "refused", Family.UNREACHABLE
    TIMEOUT = "timeout", Family.UNREACHABLE
    RESET = "reset", Family.UNREACHABLE
    TLS = "tls", Family.UNREACHABLE
    PROTOCOL_ERROR = "protocol-error", Family.UNREACHABLE
    LOOP = "loop", Family.FAILS
    TOO_MANY_REDIRECTS = "too-many-redirects", Family.FAILS
    BAD_REDIRECT = "bad-redirect", Family.FAILS
    BLOCKED = "blocked", Family.NOT_JUDGED
    ROBOTS = "robots", Family.NOT_JUDGED
    SKIPPED = "skipped", Family.NOT_JUDGED
    REFUSED_ADDRESS = "refused-address", Family.NOT_JUDGED
    INVALID = "invalid", Family.NOT_JUDGED
    UNDETERMINED = "undetermined", Family.NOT_JUDGED


FAMILY_OF = {outcome: outcome.family for outcome in ObjectOutcome}

#: Outcomes that may need action, most severe first: the order of ``--fail-on``.
SEVERITY: tuple[ObjectOutcome, ...] = (
    ObjectOutcome.BROKEN,
    ObjectOutcome.SOFT_404,
    ObjectOutcome.LOOP,
    ObjectOutcome.TOO_MANY_REDIRECTS,
    ObjectOutcome.BAD_REDIRECT,
    ObjectOutcome.DNS,
    ObjectOutcome.REFUSED,
    ObjectOutcome.TLS,
    ObjectOutcome.PROTOCOL_ERROR,
    ObjectOutcome.SERVER_ERROR,
    ObjectOutcome.RESET,
    ObjectOutcome.TIMEOUT,
    ObjectOutcome.INVALID,
    ObjectOutcome.UNDETERMINED,
    ObjectOutcome.BLOCKED,
    ObjectOutcome.ROBOTS,
    ObjectOutcome.REFUSED_ADDRESS,
)

#: The first of these outcomes counts for an ARK. An uncertain outcome (no answer, no permission to ask) comes before a
#: failure, because the ARK may persist at that URL: an ARK fails only if every URL of it fails.
BEST_FIRST = (
    ObjectOutcome.RESOLVED,
    ObjectOutcome.RELATED,
    ObjectOutcome.NON_WEB,
    ObjectOutcome.WORKS_ELSEWHERE,
    ObjectOutcome.EXPLAINED,
    ObjectOutcome.SERVER_ERROR,
    ObjectOutcome.TIMEOUT,
    ObjectOutcome.RESET,
    ObjectOutcome.TLS,
    ObjectOutcome.PROTOCOL_ERROR,
    ObjectOutcome.REFUSED,
    ObjectOutcome.DNS,
    ObjectOutcome.BLOCKED,
    ObjectOutcome.ROBOTS,
    ObjectOutcome.REFUSED_ADDRESS,
    ObjectOutcome.UNDETERMINED,
    ObjectOutcome.INVALID,
    ObjectOutcome.SKIPPED,
    ObjectOutcome.SOFT_404,
    ObjectOutcome.BAD_REDIRECT,
    ObjectOutcome.TOO_MANY_REDIRECTS,
    ObjectOutcome.LOOP,
    ObjectOutcome.BROKEN,
)


#: The token of `arkaudit extract` for citations with a wrong check character; no other command has it.
MISTYPED = "mistyped"


class MetadataOutcome(StrEnum):
    """The outcome of the requests for a description of the object."""

    ERC = "erc"
    STRUCTURED = "structured"
    HTML = "html"
    REGISTRY_LEVEL = "registry-level"
    QUERY_IGNORED = "query-ignored"
    QUERY_DROPPED = "query-dropped"
    ANSWERS_ANYTHING = "answers-anything"
    UNSUPPORTED = "unsupported"
    BLOCKED = "blocked"
    UNDETERMINED = "undetermined"
    NOT_ASKED = "not-asked"


#: Outcomes with a description of the object, in any form.
DESCRIBED = frozenset({MetadataOutcome.ERC, MetadataOutcome.STRUCTURED, MetadataOutcome.HTML})


class CommitmentOutcome(StrEnum):
    """The outcome of the requests for the provider's promise about the object and its identifier."""

    STATED = "stated"
    PLACEHOLDER = "placeholder"
    ABSENT = "absent"
    UNDETERMINED = "undetermined"
    NOT_ASKED = "not-asked"


class ArkState(StrEnum):
    """The state of an ARK after its last check."""

    HEALTHY = "healthy"
    FAILING = "failing"
    """It failed by its own or its provider's fault, but not yet often and long enough."""
    CONFIRMED_BROKEN = "confirmed-broken"
    FLAPPING = "flapping"
    """It has recently changed too often between working and failing to be called healthy or broken."""
    BLOCKED = "blocked"
    """The provider refuses access to programs; it may work for people."""
    SKIPPED = "skipped"
    UNDETERMINED = "undetermined"


#: The first of these states counts for an ARK with several URLs, as in `BEST_FIRST`: a failure at one URL does not hide
#: that another could not be judged.
BEST_STATE_FIRST = (
    ArkState.HEALTHY,
    ArkState.FLAPPING,
    ArkState.BLOCKED,
    ArkState.UNDETERMINED,
    ArkState.SKIPPED,
    ArkState.FAILING,
    ArkState.CONFIRMED_BROKEN,
)
#: States that need attention, most severe first.
STATE_SEVERITY = (
    ArkState.CONFIRMED_BROKEN,
    ArkState.FLAPPING,
    ArkState.FAILING,
    ArkState.UNDETERMINED,
    ArkState.BLOCKED,
)


class EventKind(StrEnum):
    """An event in the history of an ARK, in addition to its state."""

    NEW = "new"
    GONE = "gone"
    """It is no longer cited in any readable document."""
    RECOVERED = "recovered"
    MOVED = "moved"
    CHANGED = "changed"
    CONFIRMED = "confirmed"


class DocumentOutcome(StrEnum):
    """The outcome of a document that answered.

    Without an answer, or with refused access, the document has an `ObjectOutcome`.
    """

    READ = "read"
    UNREADABLE = "unreadable"
    """Fetched, but no reader could read it; its findings give the reason."""
    INCOMPLETE = "incomplete"
    """Its body was cut off; what arrived was read."""
    PAUSED = "paused"
    """Its site is closed for a time: the answer is a page about maintenance or a fault."""
    REDIRECTED = "redirected"
    """Its URL redirects to another document, which has a row of its own."""
    REFERER = "referer"
    """Not requested: a server's log names it as the page that visitors came from."""


#: Outcomes of documents of which at least a part was read.
READABLE = frozenset({DocumentOutcome.READ.value, DocumentOutcome.INCOMPLETE.value})


class MementoOutcome(StrEnum):
    """The outcome of a request for a capture."""

    CAPTURED = "captured"
    """There is a capture, and it shows the page itself, as far as it was opened."""
    NO_CAPTURE = "no-capture"
    """The archive has no capture, or the one of that day shows an error."""
    NO_ANSWER = "no-answer"
    """The archive gave no usable answer: it is down, refuses programs, or is not a TimeGate. The next run repeats it.
    """
