"""The closed vocabularies of what is judged: the outcomes of the three services, and what they amount to.

The values of the enums are the exact strings in the store, in JSON and in tables; new ones may be added, but these
keep their meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class ObjectOutcome(StrEnum):
    """The outcome of the request for the object itself."""

    RESOLVED = "resolved"
    RELATED = "related"
    NON_WEB = "non-web"
    EXPLAINED = "explained"
    WORKS_ELSEWHERE = "works-elsewhere"
    SOFT_404 = "soft-404"
    BROKEN = "broken"
    SERVER_ERROR = "server-error"
    DNS = "dns"
    REFUSED = "refused"
    TIMEOUT = "timeout"
    RESET = "reset"
    TLS = "tls"
    PROTOCOL_ERROR = "protocol-error"
    LOOP = "loop"
    TOO_MANY_REDIRECTS = "too-many-redirects"
    BAD_REDIRECT = "bad-redirect"
    BLOCKED = "blocked"
    ROBOTS = "robots"
    SKIPPED = "skipped"
    REFUSED_ADDRESS = "refused-address"
    INVALID = "invalid"
    UNDETERMINED = "undetermined"

    @property
    def family(self) -> Family:
        """The family in which it is counted: a blocked request is not judged, and an outage is no failure."""
        return FAMILY_OF[self]


class Family(StrEnum):
    """The family of an object outcome, for those who count."""

    WORKS = "works"
    FAILS = "fails"
    UNREACHABLE = "unreachable"
    """No one can say today: the host, not the identifier, gave no answer. Never to be read as link rot."""
    NOT_JUDGED = "not-judged"


FAMILY_OF: Mapping[ObjectOutcome, Family] = {
    ObjectOutcome.RESOLVED: Family.WORKS,
    ObjectOutcome.RELATED: Family.WORKS,
    ObjectOutcome.NON_WEB: Family.WORKS,
    ObjectOutcome.EXPLAINED: Family.WORKS,
    ObjectOutcome.WORKS_ELSEWHERE: Family.WORKS,
    ObjectOutcome.SOFT_404: Family.FAILS,
    ObjectOutcome.BROKEN: Family.FAILS,
    ObjectOutcome.LOOP: Family.FAILS,
    ObjectOutcome.TOO_MANY_REDIRECTS: Family.FAILS,
    ObjectOutcome.BAD_REDIRECT: Family.FAILS,
    ObjectOutcome.SERVER_ERROR: Family.UNREACHABLE,
    ObjectOutcome.DNS: Family.UNREACHABLE,
    ObjectOutcome.REFUSED: Family.UNREACHABLE,
    ObjectOutcome.TIMEOUT: Family.UNREACHABLE,
    ObjectOutcome.RESET: Family.UNREACHABLE,
    ObjectOutcome.TLS: Family.UNREACHABLE,
    ObjectOutcome.PROTOCOL_ERROR: Family.UNREACHABLE,
    ObjectOutcome.BLOCKED: Family.NOT_JUDGED,
    ObjectOutcome.ROBOTS: Family.NOT_JUDGED,
    ObjectOutcome.SKIPPED: Family.NOT_JUDGED,
    ObjectOutcome.REFUSED_ADDRESS: Family.NOT_JUDGED,
    ObjectOutcome.INVALID: Family.NOT_JUDGED,
    ObjectOutcome.UNDETERMINED: Family.NOT_JUDGED,
}


#: Outcomes that someone may want to act on, gravest first: the order of ``--fail-on``.
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


class MetadataOutcome(StrEnum):
    """The outcome of asking the provider to describe the object."""

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


#: Outcomes in which the provider has described the object, in any form.
DESCRIBED = frozenset({MetadataOutcome.ERC, MetadataOutcome.STRUCTURED, MetadataOutcome.HTML})


class CommitmentOutcome(StrEnum):
    """The outcome of asking what the provider promises about the object and its identifier."""

    STATED = "stated"
    PLACEHOLDER = "placeholder"
    ABSENT = "absent"
    UNDETERMINED = "undetermined"
    NOT_ASKED = "not-asked"


class DocumentOutcome(StrEnum):
    """The outcome of a document that answered; one that did not has the object outcome's token of its chain."""

    READ = "read"
    UNREADABLE = "unreadable"
    """Fetched, but no reader could make anything of it; its findings say why."""
    REDIRECTED = "redirected"
    """Its URL leads to another document, which has a row of its own."""
