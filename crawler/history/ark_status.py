"""Derive the status of an ARK at one URL from its dated verdicts. One failure is never called link rot. No I/O.

`step` adds one check to a status. The failures of a run in which most hosts fail do not count (`assess`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qsl

from crawler.answers.likeness import likeness
from crawler.model.defaults import STRIKE_DAYS, STRIKES
from crawler.model.observations import DESCRIBED, ChainEnd, CommitmentOutcome, Family, MetadataOutcome, ObjectOutcome
from crawler.model.outcomes import ArkState as ArkState
from crawler.model.outcomes import EventKind as EventKind
from extractors.model.urls import authority_of, split_url

#: A host is expected to answer unless it gave no answer in this many runs in a row.
MISSES_EXPECTED = 2
#: The smallest number of silent hosts that makes a run suspect: a single one is at fault itself.
LEAST_MISSING = 2

_MET = frozenset({ChainEnd.REFUSED, ChainEnd.RESET, ChainEnd.TLS, ChainEnd.PROTOCOL_ERROR})
_SILENT = frozenset({ChainEnd.DNS, ChainEnd.TIMEOUT})


@dataclass(slots=True)
class Contact:
    """The contact of a run with one host."""

    host: str
    answered: int = 0
    """Requests that got an HTTP answer, whatever its status."""
    met: int = 0
    """Requests that were refused, cut off or answered with nonsense. These show that the host exists."""
    silent: int = 0
    """Requests without a sign that the host exists, such as a name without an address or a timeout."""
    first_at: str = ""
    last_at: str = ""
    failure: str | None = None
    """The last failure."""


def contacts_of(chains: Iterable[tuple[str, Sequence[Mapping[str, Any]]]]) -> dict[str, Contact]:
    """Return the contact with each host on *chains*, by host.

    *chains* are pairs of a chain's end (a `ChainEnd`) and its hops as JSON objects. Requests that the address guard or
    robots.txt held back are not counted.
    """
    contacts: dict[str, Contact] = {}
    for end, hops in chains:
        for number, hop in enumerate(hops, start=1):
            host = authority_of(hop["url"])
            is_failure = hop.get("status") is None
            if not host or (is_failure and (number < len(hops) or end not in _MET | _SILENT)):
                continue
            contact = contacts.setdefault(host, Contact(host))
            contact.first_at = min(contact.first_at or hop["at"], hop["at"])
            contact.last_at = max(contact.last_at, hop["at"])
            contact.answered += not is_failure
            if is_failure:
                contact.failure = end
                contact.met += end in _MET
                contact.silent += end in _SILENT
    return contacts


@dataclass(frozen=True, slots=True)
class Assessment:
    """The assessment of a run: whether its failures count, and why not."""

    is_suspect: bool
    reason: str


def assess(contacts: Collection[Contact], misses: Mapping[str, int]) -> Assessment:
    """Assess a run with these *contacts*.

    *misses* has, by host, the number of runs in a row without an answer; other hosts were never asked before. A run is
    suspect if no host gave a sign of life. It is also suspect if at least two hosts, and more than half of those
    expected to answer, did not. Hosts that have long been dead are not expected to answer.

    >>> assess([Contact("a.example", silent=2)], {}).reason
    'no host gave a sign of life'
    >>> assess([Contact("a.example", silent=2), Contact("n2t.net", answered=1)], {}).is_suspect
    False
    """
    expected_contacts = [contact for contact in contacts if misses.get(contact.host, 0) < MISSES_EXPECTED]
    missing_count = sum(not contact.answered for contact in expected_contacts)
    if contacts and not any(contact.answered or contact.met for contact in contacts):
        return Assessment(True, "no host gave a sign of life")
    if missing_count >= LEAST_MISSING and 2 * missing_count > len(expected_contacts):
        return Assessment(
            True, f"{missing_count} of {len(expected_contacts)} hosts that were expected to answer did not"
        )
    return Assessment(False, "")


# -- differences between two checks of a working ARK: its place, its content and its metadata

#: The fields for comparing metadata and commitments.
_COMPARED_FIELDS = ("who", "what", "when")
#: The number of characters of a value that are compared.
_COMPARED_CHARS = 200
#: Outcomes that show that the provider does not describe the object. Other failures leave that open.
_UNDESCRIBED = frozenset(
    {
        MetadataOutcome.REGISTRY_LEVEL,
        MetadataOutcome.QUERY_IGNORED,
        MetadataOutcome.QUERY_DROPPED,
        MetadataOutcome.ANSWERS_ANYTHING,
        MetadataOutcome.UNSUPPORTED,
    }
)
_UNSTATED = frozenset({CommitmentOutcome.PLACEHOLDER, CommitmentOutcome.ABSENT})
#: Query parameters that identify a visit, not an object.
_VISIT_PARAMETER = re.compile(
    r"(?:j|php|asp)?_?sess(?:ion)?_?id|sid|utm_\w+|_ga|timestamp|nonce|cfid|cftoken", re.IGNORECASE
)

MetadataValues = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ObjectFeatures:
    """The observed features of a working object; None for those not observed."""

    landing: str | None = None
    sketch: str | None = None
    """`crawler.answers.likeness.sketch` of the complete readable text."""
    digest: str | None = None
    """The digest of the body in hexadecimal; None if the body was not read completely."""
    description: MetadataValues | None = None
    """Empty if the provider does not describe the object."""
    promise: MetadataValues | None = None
    """Empty if the provider states no commitment."""

    def filled_from(self, earlier: ObjectFeatures) -> ObjectFeatures:
        """Return these features, completed by features of an *earlier* check where this check observed none."""
        text_features = self if self.sketch or self.digest else earlier
        return ObjectFeatures(
            earlier.landing if self.landing is None else self.landing,
            text_features.sketch,
            text_features.digest,
            earlier.description if self.description is None else self.description,
            earlier.promise if self.promise is None else self.promise,
        )

    def differs_in_text(self, later: ObjectFeatures, least_likeness: float) -> bool:
        """Return True if a *later* check shows another text or other bytes.

        The result is also True if these features have no text and no digest to compare. Texts differ if their likeness
        is below *least_likeness* (0 to 1).
        """
        has_text = bool(self.sketch or self.digest)
        return not has_text or _object_change(self, later, least_likeness) is not None


def metadata_to_compare(outcome: str, parsed: Mapping[str, Any]) -> MetadataValues | None:
    """Return the fields of *parsed* metadata to compare with other checks.

    The result is empty if *outcome* shows that there is no description. It is None if *outcome* shows nothing, such as
    ``blocked``.

    >>> metadata_to_compare("erc", {"who": "A  Library", "what": "A map", "where": "x"}), metadata_to_compare("blocked", {})
    ({'who': 'A Library', 'what': 'A map'}, None)
    """
    if outcome in DESCRIBED:
        return _metadata_values(parsed)
    return {} if outcome in _UNDESCRIBED else None


def commitment_to_compare(outcome: str, parsed: Mapping[str, Any]) -> MetadataValues | None:
    """Return the fields of a *parsed* commitment to compare with other checks.

    The result is empty if *outcome* shows that there is no commitment. It is None if *outcome* shows nothing, such as
    ``blocked``.

    >>> commitment_to_compare("stated", {"who": "A Library", "what": "Not Guaranteed"}), commitment_to_compare("absent", {})
    ({'who': 'A Library', 'what': 'Not Guaranteed'}, {})
    """
    if outcome == CommitmentOutcome.STATED:
        return _metadata_values(parsed)
    return {} if outcome in _UNSTATED else None


def comparable_landing_url(url: str) -> str:
    """Return a landing *url* without scheme, default port, last slash, fragment and session, for comparisons.

    >>> comparable_landing_url("http://A.example:80/view/7/?sid=9&page=2"), comparable_landing_url("https://a.example/view/7?page=2")
    ('a.example/view/7?page=2', 'a.example/view/7?page=2')
    """
    host = authority_of(url)
    if not host:
        return url
    parts = split_url(url)
    path = re.sub(r";jsessionid=[^/;]*", "", parts.path, flags=re.IGNORECASE).rstrip("/")
    query = sorted(parse_qsl(parts.query, keep_blank_values=True))
    object_query = "&".join(f"{key}={value}" for key, value in query if not _VISIT_PARAMETER.fullmatch(key))
    return f"{host}{path}{'?' if object_query else ''}{object_query}"


def compare(
    last_good: ObjectFeatures, previous: ObjectFeatures, current: ObjectFeatures, *, least_likeness: float
) -> tuple[ObjectFeatures, list[Event]]:
    """Return the features to compare with the next check, and the changes from *last_good* to *current*.

    A difference counts only if the *previous* check showed it too, because some parts of a page vary at each check.
    Another host or path counts at once. Texts differ if their likeness is below *least_likeness* (0 to 1). Texts are
    compared with that of the first check or of the last change, so that many small changes add up.
    """
    differences: list[Event] = []
    landing = last_good.landing
    if landing is None or current.landing is None:
        landing = landing or current.landing
    elif _has_moved(landing, previous.landing, current.landing):
        differences.append(Event(EventKind.MOVED, f"from {landing} to {current.landing}"))
        landing = current.landing
    text_change = _object_change(last_good, current, least_likeness)
    if text_change and not previous.differs_in_text(current, least_likeness):
        differences.append(Event(EventKind.CHANGED, f"object: {text_change}"))
        shown_text = current
    else:
        shown_text = last_good if last_good.sketch or last_good.digest else current
    compared_metadata: dict[str, MetadataValues | None] = {}
    for name, service in (("description", "metadata"), ("promise", "commitment")):
        good_values, previous_values, new_values = (
            getattr(features, name) for features in (last_good, previous, current)
        )
        is_certain = good_values is None or previous_values == new_values
        if good_values is not None and new_values is not None and is_certain:
            differences += [
                Event(EventKind.CHANGED, f"{service}: {change}")
                for change in _metadata_changes(good_values, new_values)
            ]
        compared_metadata[name] = new_values if new_values is not None and is_certain else good_values
    return ObjectFeatures(
        landing, shown_text.sketch, shown_text.digest, compared_metadata["description"], compared_metadata["promise"]
    ), differences


def _has_moved(landing: str, previous: str | None, current: str) -> bool:
    first_landing, previous_landing, current_landing = (
        comparable_landing_url(url) for url in (landing, previous or landing, current)
    )
    has_new_path = first_landing.partition("?")[0] != current_landing.partition("?")[0]
    return current_landing != first_landing and (has_new_path or current_landing == previous_landing)


def _object_change(old: ObjectFeatures, new: ObjectFeatures, least_likeness: float) -> str | None:
    if old.digest is not None and old.digest == new.digest:
        return None
    if old.sketch is not None and new.sketch is not None:
        share = likeness(old.sketch, new.sketch)
        return f"{share:.0%} of its text is as it was" if share < least_likeness else None
    if old.sketch is None and new.sketch is None and old.digest and new.digest:
        return "its bytes are others"
    return None


def _metadata_changes(earlier_values: MetadataValues, later_values: MetadataValues) -> Iterator[str]:
    if earlier_values and not later_values:
        yield "given no more"
    elif later_values and not earlier_values:
        yield "given now"
    for name in dict.fromkeys((*earlier_values, *later_values)) if earlier_values and later_values else ():
        old, new = earlier_values.get(name, ""), later_values.get(name, "")
        if old != new:
            yield f"{name}: {old!r}, now {new!r}"


def _metadata_values(parsed: Mapping[str, Any]) -> MetadataValues:
    values = {name: _fold_value(parsed[name]) for name in _COMPARED_FIELDS if parsed.get(name)}
    if values:
        return values
    whole = repr(sorted((key, _fold_value(value)) for key, value in parsed.items()))
    return {"record": sha256(whole.encode("utf-8", "replace")).hexdigest()[:16]}


def _fold_value(value: Any) -> str:
    return " ".join(str(value).split())[:_COMPARED_CHARS]


@dataclass(frozen=True, slots=True)
class StatusPolicy:
    """The rules for confirming a failure, for flapping, and for changes of content."""

    strikes: int = STRIKES
    days: float = STRIKE_DAYS
    """The least number of days from the first strike to the last."""
    turns: int = 4
    """The number of changes between working and failing within `turn_days` that make an ARK flapping."""
    turn_days: float = 60.0
    """Number of days before a check. Changes between working and failing count in these days."""
    likeness: float = 0.3
    """A text has changed if it shares less than this part of its phrases (0 to 1) with its earlier version."""


@dataclass(frozen=True, slots=True)
class DatedVerdict:
    """One verdict on an ARK at one URL, with its date."""

    at: datetime
    object: ObjectOutcome
    is_suspect: bool = False
    """True for a verdict of a suspect run, whose failures do not count (`assess`)."""
    features: ObjectFeatures = field(default_factory=ObjectFeatures)

    @property
    def works(self) -> bool:
        """True if the object service works."""
        return self.object.family is Family.WORKS

    @property
    def is_strike(self) -> bool:
        """True if the outcome is a failure of the identifier or of its provider."""
        return self._is_failure and not self.is_suspect

    @property
    def _is_failure(self) -> bool:
        return self.object.family in (Family.FAILS, Family.UNREACHABLE)

    @property
    def is_inconclusive(self) -> bool:
        """True if the outcome allows no conclusion about the ARK.

        That is a failure in a suspect run, a request that arkaudit refused, or one that reached no host for an unknown
        reason.
        """
        is_local_fault = self.object in (ObjectOutcome.REFUSED_ADDRESS, ObjectOutcome.INVALID)
        has_reached_no_host = self.object is ObjectOutcome.UNDETERMINED and self.features.landing is None
        return (self._is_failure and self.is_suspect) or is_local_fault or has_reached_no_host


@dataclass(frozen=True, slots=True)
class Event:
    """An event of an ARK that a check shows, with a text that describes it."""

    kind: EventKind
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ArkStatus:
    """The status of an ARK at one URL after a check, with all that the next step needs."""

    state: ArkState
    since: datetime
    """The time of the first check with this state."""
    reason: str
    checked_at: datetime
    object: ObjectOutcome
    strikes: int = 0
    """The number of failures since the ARK last worked."""
    first_strike_at: datetime | None = None
    last_strike_at: datetime | None = None
    worked_at: datetime | None = None
    turns: tuple[datetime, ...] = ()
    """The times of changes between working and failing, within `StatusPolicy.turn_days`."""
    reference: ObjectFeatures = field(default_factory=ObjectFeatures)
    """The features at the first working check, or at the last change; the next check is compared with them."""
    last: ObjectFeatures = field(default_factory=ObjectFeatures)
    """The features at the last working check."""


#: The state after a check that shows neither success nor failure, for an ARK without strikes; else `UNDETERMINED`.
_STATE_OF = {
    ObjectOutcome.BLOCKED: ArkState.BLOCKED,
    ObjectOutcome.ROBOTS: ArkState.BLOCKED,
    ObjectOutcome.SKIPPED: ArkState.SKIPPED,
}
_DEFAULT = StatusPolicy()


def step(
    status: ArkStatus | None, check: DatedVerdict, policy: StatusPolicy = _DEFAULT
) -> tuple[ArkStatus, tuple[Event, ...]]:
    """Return the status after one more *check*, and the events that it shows; *status* is None before the first."""
    events = [] if status is not None else [Event(EventKind.NEW)]
    earlier_status = status or ArkStatus(ArkState.UNDETERMINED, check.at, "", check.at, check.object)
    if check.works:
        new_status, shown_events = _after_success(earlier_status, check, policy)
    elif check.is_strike:
        new_status, shown_events = _after_strike(earlier_status, check, policy)
    else:
        new_status, shown_events = _after_inconclusive(earlier_status, check), []
    new_status = replace(new_status, checked_at=check.at, object=check.object)
    if earlier_status.state is not new_status.state:
        new_status = replace(new_status, since=check.at)
    return new_status, (*events, *shown_events)


def _after_success(
    earlier_status: ArkStatus, check: DatedVerdict, policy: StatusPolicy
) -> tuple[ArkStatus, list[Event]]:
    turns = _turns(earlier_status, check, policy, has_turned=earlier_status.strikes > 0)
    is_flapping = len(turns) >= policy.turns
    reference, differences = compare(
        earlier_status.reference, earlier_status.last, check.features, least_likeness=policy.likeness
    )
    new_status = replace(
        earlier_status,
        state=ArkState.FLAPPING if is_flapping else ArkState.HEALTHY,
        reason=_flapping_words(turns, policy) if is_flapping else f"it works: {check.object}",
        strikes=0,
        first_strike_at=None,
        last_strike_at=None,
        worked_at=check.at,
        turns=turns,
        reference=reference,
        last=check.features.filled_from(earlier_status.last),
    )
    if earlier_status.strikes:
        confirmed_note = "; it had been confirmed broken" if earlier_status.state is ArkState.CONFIRMED_BROKEN else ""
        detail = f"after {_times(earlier_status.strikes)} since {_day(earlier_status.first_strike_at)}{confirmed_note}"
        differences.insert(0, Event(EventKind.RECOVERED, detail))
    return new_status, differences


def _after_strike(
    earlier_status: ArkStatus, check: DatedVerdict, policy: StatusPolicy
) -> tuple[ArkStatus, list[Event]]:
    strikes, first_at = earlier_status.strikes + 1, earlier_status.first_strike_at or check.at
    turns = _turns(earlier_status, check, policy, has_turned=strikes == 1 and earlier_status.worked_at is not None)
    was_confirmed = earlier_status.state is ArkState.CONFIRMED_BROKEN
    is_confirmed = was_confirmed or (strikes >= policy.strikes and check.at - first_at >= timedelta(days=policy.days))
    summary = f"{_times(strikes)} since {_day(first_at)}, the last with {check.object}"
    if is_confirmed:
        state, reason = ArkState.CONFIRMED_BROKEN, summary
    elif len(turns) >= policy.turns:
        state, reason = ArkState.FLAPPING, _flapping_words(turns, policy)
    else:
        state = ArkState.FAILING
        reason = f"{summary}; confirmed after {_times(policy.strikes)} over {policy.days:g} days"
    new_status = replace(
        earlier_status,
        state=state,
        reason=reason,
        strikes=strikes,
        first_strike_at=first_at,
        last_strike_at=check.at,
        turns=turns,
    )
    is_newly_confirmed = is_confirmed and not was_confirmed
    return new_status, [Event(EventKind.CONFIRMED, summary)] if is_newly_confirmed else []


def _after_inconclusive(earlier_status: ArkStatus, check: DatedVerdict) -> ArkStatus:
    """Return the status after an inconclusive check, which neither adds nor removes strikes."""
    reason = f"the check of {_day(check.at)} shows nothing: {check.object}"
    if check.is_inconclusive and check.is_suspect:
        reason = f"the check of {_day(check.at)} proves nothing: most hosts failed in its run"
    if not earlier_status.strikes and not check.is_inconclusive:
        return replace(earlier_status, state=_STATE_OF.get(check.object, ArkState.UNDETERMINED), reason=reason)
    if not earlier_status.strikes and earlier_status.state is ArkState.UNDETERMINED:
        return replace(earlier_status, reason=reason)
    return replace(earlier_status, reason=f"{earlier_status.reason.partition(' (')[0]} ({reason})")


def _turns(
    earlier_status: ArkStatus, check: DatedVerdict, policy: StatusPolicy, *, has_turned: bool
) -> tuple[datetime, ...]:
    window_start = check.at - timedelta(days=policy.turn_days)
    turns = (*earlier_status.turns, check.at) if has_turned else earlier_status.turns
    return tuple(turn for turn in turns if turn > window_start)


def _flapping_words(turns: tuple[datetime, ...], policy: StatusPolicy) -> str:
    return f"it turned {len(turns)} times between working and failing within {policy.turn_days:g} days"


def _times(count: int) -> str:
    return "1 failure" if count == 1 else f"{count} failures"


def _day(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d}" if at else "?"
