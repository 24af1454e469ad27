"""Combine people's decisions about known problems, and decide whether they still apply. No I/O.

An *ignored* ARK is not reported until a day. An *acknowledged* problem is reported again once it has become worse, or
has disappeared and come back. An *assigned* problem has a person in charge; nothing else changes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import IntEnum, StrEnum
from fnmatch import fnmatchcase
from typing import TypeAlias

from crawler.history.ark_status import ArkState
from crawler.model.observations import Family, ObjectOutcome
from extractors.model.ark import Ark
from extractors.model.urls import authority_of


class TriageAction(StrEnum):
    """The kind of a decision."""

    ACKNOWLEDGE = "acknowledge"
    IGNORE = "ignore"
    ASSIGN = "assign"
    RECHECK = "recheck"
    """Request a check; the next check fulfils it."""


class TriageTarget(StrEnum):
    """The kind of pattern that selects the ARKs."""

    ARK = "ark"
    PATTERN = "pattern"
    """With ``*``; matches the ARK in normal form, or the requested URL."""
    HOST = "host"
    """The first host, or the host where the chain ends."""
    DOCUMENT = "document"
    """A document's address, its beginning, or a pattern; matches the citations in it."""


#: The key of a decision; a store has at most one decision for each key.
TriageKey: TypeAlias = tuple[TriageAction, TriageTarget, str]

#: The word for a problem under a decision.
PARTICIPLES = {
    TriageAction.ACKNOWLEDGE: "acknowledged",
    TriageAction.IGNORE: "ignored",
    TriageAction.ASSIGN: "assigned",
    TriageAction.RECHECK: "to be checked again",
}


@dataclass(frozen=True, slots=True)
class TriageDecision:
    """A person's decision to acknowledge, ignore, assign or recheck the problems of some ARKs."""

    action: TriageAction
    kind: TriageTarget
    target: str
    """In the form that `target_of` returns."""
    at: datetime
    reason: str = ""
    until: date | None = None
    """The day when an ignored problem is reported again."""
    assignee: str | None = None
    from_file: bool = False
    """True if it comes from a decision file, and is removed when the file no longer has it."""

    @property
    def key(self) -> TriageKey:
        """The key under which a store has at most one decision."""
        return (self.action, self.kind, self.target)


def decision_words(decision: TriageDecision) -> str:
    """Return a decision in words.

    >>> at, until = datetime(2026, 11, 20), date(2027, 1, 1)
    >>> decision_words(TriageDecision(TriageAction.IGNORE, TriageTarget.HOST, "old.example.org", at, "it moves", until))
    'ignored until 2027-01-01 by host old.example.org: it moves'
    """
    done = PARTICIPLES[decision.action]
    until = f" until {decision.until}" if decision.until else ""
    to = f" to {decision.assignee}" if decision.assignee else ""
    return f"{done}{until}{to} by {decision.kind} {decision.target}{_because(decision.reason)}"


class Severity(IntEnum):
    """The severity of a check's result."""

    FINE = 0
    UNJUDGED = 1
    """Access was refused, or no verdict was possible."""
    OTHERWISE = 2
    """Reached, but not as cited."""
    UNREACHABLE = 3
    """No answer."""
    FAILS = 4


def severity_of(outcome: ObjectOutcome, *, is_otherwise: bool = False) -> Severity:
    """Return the severity of an outcome; *is_otherwise* if the ARK was reached in another way than cited."""
    if outcome is ObjectOutcome.WORKS_ELSEWHERE:
        return Severity.OTHERWISE
    # An example or a test, which is never requested, is no problem.
    if outcome is ObjectOutcome.SKIPPED:
        return Severity.FINE
    return {
        Family.WORKS: Severity.OTHERWISE if is_otherwise else Severity.FINE,
        Family.FAILS: Severity.FAILS,
        Family.UNREACHABLE: Severity.UNREACHABLE,
        Family.NOT_JUDGED: Severity.UNJUDGED,
    }[outcome.family]


@dataclass(frozen=True, slots=True)
class TriageCheck:
    """The result of one check of an ARK at a URL."""

    at: datetime
    object: ObjectOutcome
    is_otherwise: bool = False
    """True if it was reached in another way than cited."""

    @property
    def severity(self) -> Severity:
        """The severity of the outcome.

        >>> TriageCheck(datetime(2026, 11, 1), ObjectOutcome.DNS).severity.name
        'UNREACHABLE'
        """
        return severity_of(self.object, is_otherwise=self.is_otherwise)


@dataclass(frozen=True, slots=True)
class Problem:
    """An ARK at one request URL, with the results of all its checks."""

    now: TriageCheck
    """The check that the report is about."""
    state: ArkState | None = None
    """The state after all checks; None if later checks have changed it."""
    since: datetime | None = None
    """When it came to this state."""
    before: Sequence[TriageCheck] = ()
    """The checks up to this one, ordered by date."""


@dataclass(frozen=True, slots=True)
class TriageEffect:
    """The result of all decisions about one problem: whether it is reported, why, and who is in charge."""

    action: TriageAction | None = None
    """The decision that makes it known (acknowledge or ignore); None if it is to be reported."""
    words: str = ""
    """The decision in words, with the reason if the problem is reported nevertheless."""
    reason: str = ""
    until: date | None = None
    assignee: str | None = None
    is_silent: bool = False
    """True if it is being ignored, even if there is no problem at present."""


#: Lasting states, whose beginning is known.
_LASTING = frozenset({ArkState.FAILING, ArkState.CONFIRMED_BROKEN, ArkState.FLAPPING})


def triage_effect(decisions: Iterable[TriageDecision], problem: Problem, today: date) -> TriageEffect:
    """Return the effect of *decisions* about *problem* on the day *today*; all of them match its ARK."""
    latest = sorted(decisions, key=lambda decision: (decision.at, decision.key), reverse=True)
    assigning, ignoring, acknowledging = (
        [decision for decision in latest if decision.action is action]
        for action in (TriageAction.ASSIGN, TriageAction.IGNORE, TriageAction.ACKNOWLEDGE)
    )
    assignee = assigning[0].assignee if assigning else None
    is_problem = problem.now.severity > Severity.FINE
    in_force = [one for one in ignoring if one.until is not None and today < one.until]
    if in_force:
        longest = max(in_force, key=lambda one: one.until or today)
        words = f"ignored until {longest.until}{_because(longest.reason)}"
        action = TriageAction.IGNORE if is_problem else None
        return TriageEffect(action, words, longest.reason, longest.until, assignee, is_silent=True)
    if not is_problem:
        return TriageEffect(assignee=assignee)
    reasons = []
    for decision in acknowledging:
        worse = worse_since(decision.at, problem)
        words = f"acknowledged on {decision.at:%Y-%m-%d}"
        if worse is None:
            words += _because(decision.reason)
            return TriageEffect(TriageAction.ACKNOWLEDGE, words, decision.reason, None, assignee)
        reasons.append(f"{words}, but {worse}")
    passed = [f"ignored until {one.until}, which has passed{_because(one.reason)}" for one in ignoring]
    return TriageEffect(None, "; ".join((*reasons[:1], *passed[:1])), assignee=assignee)


def worse_since(at: datetime, problem: Problem) -> str | None:
    """Return why a problem differs from the one acknowledged at a moment, or None if it is the same.

    It differs if it had not been checked then, or if it worked in between. It also differs if no answer has become a
    failure, or a failure a confirmed one.
    """
    earlier = [check for check in problem.before if check.at <= at]
    if problem.now.at <= at:
        return None
    if not earlier:
        return "it had not been checked then"
    then = earlier[-1]
    if then.severity is Severity.FINE:
        return "it worked then"
    if problem.now.severity > then.severity:
        return f"worse since: {then.object} then, {problem.now.object} now"
    since = problem.since
    if any(at < check.at and check.severity is Severity.FINE for check in problem.before):
        is_flapping_still = problem.state is ArkState.FLAPPING and since is not None and since <= at
        return None if is_flapping_still else "it has worked since, and failed again"
    if problem.state not in _LASTING or since is None or then.severity < Severity.UNREACHABLE:
        return None
    return f"worse since: {problem.state} since {since:%Y-%m-%d}" if since > at else None


def known_words(acknowledged: int, ignored: Sequence[date]) -> str:
    """Return the numbers of known problems in words; empty if there are none. *ignored* has the day of each.

    >>> known_words(8, [date(2027, 1, 1)] * 4), known_words(1, []), known_words(0, [])
    ('12 known: 8 acknowledged, 4 ignored until 2027-01-01', '1 known: 1 acknowledged', '')
    >>> known_words(0, [date(2027, 1, 1), date(2026, 12, 1)])
    '2 known: 2 ignored until 2026-12-01 to 2027-01-01'
    """
    parts = [f"{acknowledged:,} acknowledged"] if acknowledged else []
    if ignored:
        days = dict.fromkeys(map(str, (min(ignored), max(ignored))))
        parts.append(f"{len(ignored):,} ignored until {' to '.join(days)}")
    return f"{acknowledged + len(ignored):,} known: {', '.join(parts)}" if parts else ""


def _because(reason: str) -> str:
    return f": {reason}" if reason else ""


# -- matching ARKs


def target_of(kind: TriageTarget, text: str) -> str:
    """Return *text* as the target of a decision, in the form used for comparison. Raises ValueError if it is unusable.

    >>> target_of(TriageTarget.ARK, "https://n2t.net/ark:/12148/btv1-b84"), target_of(TriageTarget.HOST, "https://N2T.net:443/")
    ('ark:12148/btv1b84', 'n2t.net')
    >>> target_of(TriageTarget.PATTERN, "ARK:/12148/btv1-*")
    'ark:12148/btv1*'
    """
    text = text.strip()
    match kind:
        case TriageTarget.ARK:
            return str(Ark.parse(text))
        case TriageTarget.HOST:
            host = authority_of(text if "://" in text else f"https://{text}/")
            if not host or set(host) & set("*? "):
                raise ValueError(f"not a host: {text!r}")
            return host
        case TriageTarget.PATTERN:
            if not set(text) & set("*?["):
                raise ValueError(f"a pattern has a * in it: {text!r}")
            if not re.match(r"ark:|https?://|\*", text, re.IGNORECASE):
                raise ValueError(f"a pattern begins with ark:, http or *: {text!r}")
            if not text.lower().startswith("ark:"):
                return text
            rest = text[4:].lstrip("/")  # in the normal form, hyphens are dropped
            return "ark:" + (rest if "[" in rest else rest.replace("-", ""))
        case TriageTarget.DOCUMENT:
            if not text:
                raise ValueError("not a document: it is empty")
            return text


def fits_document(url: str, pattern: str) -> bool:
    """Return True if a document matches by its address, by its beginning, or by a pattern with ``*``.

    Only ``*`` is special, because addresses contain question marks and file names contain brackets.

    >>> fits_document("https://a.example/maps/1.html", "https://a.example/maps/"), fits_document("a/b.pdf", "*.pdf")
    (True, True)
    >>> fits_document("scans/page [1].pdf", "scans/page [1].pdf"), fits_document("a/view?id=7", "a/view?id=")
    (True, True)
    """
    if "*" not in pattern:
        return url.startswith(pattern)
    return fnmatchcase(url, re.sub(r"[?[]", r"[\g<0>]", pattern))


class TriageDecisions:
    """The decisions of a store, indexed by their targets."""

    def __init__(self, decisions: Iterable[TriageDecision]) -> None:
        self._exact: defaultdict[tuple[TriageTarget, str], list[TriageDecision]] = defaultdict(list)
        self._patterns: list[TriageDecision] = []
        self._documents: list[TriageDecision] = []
        for decision in decisions:
            match decision.kind:
                case TriageTarget.PATTERN:
                    self._patterns.append(decision)
                case TriageTarget.DOCUMENT:
                    self._documents.append(decision)
                case kind:
                    self._exact[kind, decision.target].append(decision)

    @property
    def asks_for_documents(self) -> bool:
        """True if some decision selects ARKs by the documents that cite them."""
        return bool(self._documents)

    @property
    def asks_for_hosts(self) -> bool:
        """True if some decision selects ARKs by the hosts where redirects end."""
        return any(kind is TriageTarget.HOST for kind, _ in self._exact)

    def about(self, ark: str, urls: Iterable[str]) -> Iterator[TriageDecision]:
        """Yield the decisions about an ARK requested at the first of these URLs; its chains end at the others."""
        asked, *_ = (*urls, "")
        yield from self._exact.get((TriageTarget.ARK, ark), ())
        for host in dict.fromkeys(host for host in map(authority_of, urls) if host):
            yield from self._exact.get((TriageTarget.HOST, host), ())
        for decision in self._patterns:
            if fnmatchcase(ark, decision.target) or fnmatchcase(asked, decision.target):
                yield decision

    def in_document(self, url: str) -> Iterator[TriageDecision]:
        """Yield the decisions about the citations in a document."""
        return (document for document in self._documents if fits_document(url, document.target))
