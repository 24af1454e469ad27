"""Pure: decide what decisions of people about known problems amount to, and whether they still hold.

An *ignored* ARK raises nothing until a day. An *acknowledged* problem is known as it stood: once it is graver than it
was then, or has gone and come back, it is raised again. To be *assigned* changes nothing but whose it is.
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

from crawler.history.ark_status import ArkState, host_of
from crawler.model.observations import Family, ObjectOutcome
from extractors.model.ark import Ark


class TriageAction(StrEnum):
    """The kind of a decision."""

    ACKNOWLEDGE = "acknowledge"
    IGNORE = "ignore"
    ASSIGN = "assign"
    RECHECK = "recheck"
    """Check it now; done by the next check."""


class TriageTarget(StrEnum):
    """The kind of pattern that selects the ARKs."""

    ARK = "ark"
    PATTERN = "pattern"
    """With ``*``; of the ARK in normal form, or of the URL that is asked."""
    HOST = "host"
    """That is asked first, or at which the chain ends."""
    DOCUMENT = "document"
    """An address, its beginning, or a pattern: the citations in there."""


#: What there can be one decision of.
TriageKey: TypeAlias = tuple[TriageAction, TriageTarget, str]

#: What a decision says of a problem that it covers.
PARTICIPLES = {
    TriageAction.ACKNOWLEDGE: "acknowledged",
    TriageAction.IGNORE: "ignored",
    TriageAction.ASSIGN: "assigned",
    TriageAction.RECHECK: "to be checked again",
}


@dataclass(frozen=True, slots=True)
class TriageDecision:
    """A decision of someone about some ARKs."""

    action: TriageAction
    kind: TriageTarget
    target: str
    """As `target_of` gives it."""
    at: datetime
    reason: str = ""
    until: date | None = None
    """The day on which something ignored counts again."""
    assignee: str | None = None
    from_file: bool = False
    """Whether it is in a file that can be reviewed, and goes when it is taken out there."""

    @property
    def key(self) -> TriageKey:
        """Return what there can be one decision of."""
        return (self.action, self.kind, self.target)


def decision_words(decision: TriageDecision) -> str:
    """A decision in words.

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
    """Kept out, or not to be judged: nothing is known."""
    OTHERWISE = 2
    """Reached, though not as it is cited."""
    SILENT = 3
    """No answer."""
    FAILS = 4


@dataclass(frozen=True, slots=True)
class TriageCheck:
    """The result of one check of an ARK at a URL."""

    at: datetime
    object: ObjectOutcome
    is_otherwise: bool = False
    """Whether it was reached in another way than it is cited."""

    @property
    def severity(self) -> Severity:
        """Return how bad that is.

        >>> TriageCheck(datetime(2026, 11, 1), ObjectOutcome.DNS).severity.name
        'SILENT'
        """
        if self.object is ObjectOutcome.WORKS_ELSEWHERE:
            return Severity.OTHERWISE
        if self.object is ObjectOutcome.SKIPPED:  # an example, or a test: no one is to ask, and nothing is amiss
            return Severity.FINE
        return {
            Family.WORKS: Severity.OTHERWISE if self.is_otherwise else Severity.FINE,
            Family.FAILS: Severity.FAILS,
            Family.UNREACHABLE: Severity.SILENT,
            Family.NOT_JUDGED: Severity.UNJUDGED,
        }[self.object.family]


@dataclass(frozen=True, slots=True)
class Problem:
    """An ARK at one URL, as it is."""

    now: TriageCheck
    """The check that counts."""
    state: ArkState | None = None
    """After all checks; None where later ones than this have changed it."""
    since: datetime | None = None
    """Since when it is in this state."""
    before: Sequence[TriageCheck] = ()
    """Its checks up to this one, in the order of their dates."""


@dataclass(frozen=True, slots=True)
class TriageState:
    """The sum of all decisions about a problem."""

    action: TriageAction | None = None
    """By which it is known: acknowledged or ignored; None where it is to be raised."""
    words: str = ""
    """What was decided, and why it is raised all the same, if it is."""
    reason: str = ""
    until: date | None = None
    assignee: str | None = None
    is_silent: bool = False
    """Whether an ignore is in force, whether or not there is a problem now."""


#: States that last, and of which one can say since when they do.
_LASTING = frozenset({ArkState.FAILING, ArkState.CONFIRMED_BROKEN, ArkState.FLAPPING})


def treatment(decisions: Iterable[TriageDecision], problem: Problem, today: date) -> TriageState:
    """Return what *decisions*, which are all about this ARK, amount to on a day."""
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
        return TriageState(action, words, longest.reason, longest.until, assignee, is_silent=True)
    if not is_problem:
        return TriageState(assignee=assignee)
    reasons = []
    for decision in acknowledging:
        worse = worse_since(decision.at, problem)
        words = f"acknowledged on {decision.at:%Y-%m-%d}"
        if worse is None:
            words += _because(decision.reason)
            return TriageState(TriageAction.ACKNOWLEDGE, words, decision.reason, None, assignee)
        reasons.append(f"{words}, but {worse}")
    passed = [f"ignored until {one.until}, which has passed{_because(one.reason)}" for one in ignoring]
    return TriageState(None, "; ".join((*reasons[:1], *passed[:1])), assignee=assignee)


def worse_since(at: datetime, problem: Problem) -> str | None:
    """Return why a problem is no longer the one that was acknowledged at a moment; None if it is.

    It is another one when it had not been seen then, when it has gone from no answer to a failure or from a failure to
    a confirmed one, and when it worked in between.
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
        return None if is_flapping_still else "it has worked since, and broke anew"
    if problem.state not in _LASTING or since is None or then.severity < Severity.SILENT:
        return None
    return f"worse since: {problem.state} since {since:%Y-%m-%d}" if since > at else None


def known_words(acknowledged: int, ignored: Sequence[date]) -> str:
    """Return what is known and not raised, in words; empty for nothing. Of each that is ignored the day is given.

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


# -- which ARKs are meant


def target_of(kind: TriageTarget, text: str) -> str:
    """*text* as the target of a decision: in the form in which it is compared. Raises ValueError if it can't be one.

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
            host = host_of(text if "://" in text else f"https://{text}/")
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
            rest = text[4:].lstrip("/")  # in normal form, in which hyphens mean nothing
            return "ark:" + (rest if "[" in rest else rest.replace("-", ""))
        case TriageTarget.DOCUMENT:
            if not text:
                raise ValueError("not a document: it is empty")
            return text


def fits_document(url: str, pattern: str) -> bool:
    """Return whether a document is meant: by its whole address, its beginning, or a pattern with ``*``.

    Nothing else is special in it: addresses have question marks, and names of files have brackets.

    >>> fits_document("https://a.example/maps/1.html", "https://a.example/maps/"), fits_document("a/b.pdf", "*.pdf")
    (True, True)
    >>> fits_document("scans/page [1].pdf", "scans/page [1].pdf"), fits_document("a/view?id=7", "a/view?id=")
    (True, True)
    """
    if "*" not in pattern:
        return url.startswith(pattern)
    return fnmatchcase(url, re.sub(r"[?[]", r"[\g<0>]", pattern))


class TriageDecisions:
    """The decisions of a store, found by what they are about."""

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
        """True if it matters which documents cite an ARK."""
        return bool(self._documents)

    @property
    def asks_for_hosts(self) -> bool:
        """True if it matters where chains end."""
        return any(kind is TriageTarget.HOST for kind, _ in self._exact)

    def about(self, ark: str, urls: Iterable[str]) -> Iterator[TriageDecision]:
        """Those about an ARK at the first of these URLs; chains end at the others."""
        asked, *_ = (*urls, "")
        yield from self._exact.get((TriageTarget.ARK, ark), ())
        for host in dict.fromkeys(host for host in map(host_of, urls) if host):
            yield from self._exact.get((TriageTarget.HOST, host), ())
        for decision in self._patterns:
            if fnmatchcase(ark, decision.target) or fnmatchcase(asked, decision.target):
                yield decision

    def in_document(self, url: str) -> Iterator[TriageDecision]:
        """Those about what a document cites."""
        return (document for document in self._documents if fits_document(url, document.target))
