"""Stores people's decisions about known problems, and finds their effect on ARKs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date, datetime
from itertools import chain
from typing import Any

from sqlalchemy import Connection, Row, Select, delete, exists, func, select

from crawler.history.ark_status import ArkState
from crawler.history.rechecking import KnownArk
from crawler.history.triage import (
    Problem,
    Severity,
    TriageAction,
    TriageCheck,
    TriageDecision,
    TriageDecisions,
    TriageEffect,
    TriageTarget,
    known_words,
    triage_effect,
)
from crawler.model import schema
from crawler.model.observations import ObjectOutcome, Question, moment
from crawler.verdicts.verdict import WAYS

Pair = tuple[int, str]
"""The key of an ARK, and the URL requested for it."""

_ark, _latest, _observation = schema.ark.c, schema.latest.c, schema.observation.c
_run, _verdict = schema.run.c, schema.verdict.c
_OTHERWISE = frozenset(remark for _, remark in WAYS.values())
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class TriagedArk:
    """The effect of the decisions about an ARK at one URL."""

    whole: TriageEffect
    """The effect in all documents."""
    is_problem: bool
    in_documents: Mapping[str, TriageEffect] = field(default_factory=dict)
    """The effect in single documents where it differs."""

    @property
    def is_known(self) -> bool:
        """True if it is a problem that is not to be reported."""
        return self.whole.action is not None


# -- the decisions


def decisions(connection: Connection) -> list[TriageDecision]:
    """Return all decisions, ordered by action, kind of target and target."""
    rows = connection.execute(select(schema.triage)).all()
    order = [*TriageAction]
    return sorted(
        map(decision_of, rows), key=lambda decision: (order.index(decision.action), decision.kind, decision.target)
    )


def keep(connection: Connection, decided: Iterable[TriageDecision]) -> None:
    """Record decisions; each replaces an earlier one with the same key."""
    for decision in decided:
        until = decision.until.isoformat() if decision.until else None
        connection.execute(
            schema.upsert(schema.triage, "action", "kind", "target"),
            {**asdict(decision), "at": moment(decision.at), "until": until},
        )


def keep_file(connection: Connection, decided: Iterable[TriageDecision], *, at: datetime) -> tuple[int, int]:
    """Replace the decisions from the reviewed file. Return the numbers of new or changed ones, and of removed ones.

    Decisions without a time of their own get the time *at*; unchanged ones keep the stored time.
    """
    wanted = {decision.key: decision for decision in decided}
    there = {decision.key: decision for decision in decisions(connection)}

    def is_kept(given: TriageDecision) -> bool:
        kept = there.get(given.key)
        return kept is not None and given.at in (at, kept.at) and replace(given, at=kept.at) == kept

    changed = [decision for decision in wanted.values() if not is_kept(decision)]
    gone = [key for key, decision in there.items() if decision.from_file and key not in wanted]
    keep(connection, changed)
    for key in gone:
        forget(connection, key)
    return len(changed), len(gone)


def forget(connection: Connection, key: tuple[TriageAction, TriageTarget, str]) -> bool:
    """Remove a decision. Return False if it did not exist."""
    action, kind, target = key
    row = schema.triage.c
    done = connection.execute(delete(schema.triage).where(row.action == action, row.kind == kind, row.target == target))
    return bool(done.rowcount)


def decision_of(row: Row[Any]) -> TriageDecision:
    """Return the decision in a row."""
    return TriageDecision(
        TriageAction(row.action),
        TriageTarget(row.kind),
        row.target,
        datetime.fromisoformat(row.at),
        row.reason,
        date.fromisoformat(row.until) if row.until else None,
        row.assignee,
        row.from_file,
    )


# -- the effect of decisions


def triaged_arks(
    connection: Connection, verdicts: Select[Any], run_id: int, *, until: int | None = None
) -> dict[Pair, TriagedArk]:
    """Return the decisions about the ARKs of *verdicts* (a query for keys) in a run; ARKs without one are left out.

    The effect is that of the day when the run began, or the run *until*, the last whose checks count. So a report
    about a run stays the same.
    """
    made = decisions(connection)
    last = run_id if until is None else until
    begun = connection.scalar(select(_run.started_at).where(_run.run_id == last))
    if not made or begun is None:
        return {}
    today = datetime.fromisoformat(begun).date()
    rows = connection.execute(_status(verdicts)).all()
    about = {}
    for row, whole, in_documents in _decided_about(connection, made, rows, verdicts, run_id):
        about[row.ark_id, row.request_url] = row, whole, in_documents
    histories = _check_histories(connection, about, begun)
    result = {}
    for pair, (row, whole, in_documents) in about.items():
        history = histories.get(pair, {})
        problem = Problem(
            history.get(row.verdict_id) or _check_of(row),
            ArkState(row.state) if row.state else None,
            datetime.fromisoformat(row.since) if row.since else None,
            [*history.values()],
        )
        result[pair] = _together(whole, in_documents, problem, today)
    return result


def _together(
    whole: Sequence[TriageDecision], in_documents: Mapping[str, Sequence[TriageDecision]], problem: Problem, today: date
) -> TriagedArk:
    """Return the effect on *problem* of the decisions for all documents (*whole*) and for single documents.

    A problem that is known in each citing document is known in all.
    """
    everywhere = triage_effect(whole, problem, today)
    is_problem = problem.now.severity > Severity.FINE
    if not any(in_documents.values()):
        return TriagedArk(everywhere, is_problem)
    single = {url: triage_effect([*whole, *more], problem, today) for url, more in in_documents.items()}
    first = next(iter(single.values()))
    is_known = all(of_one.action is not None or of_one.is_silent for of_one in single.values())
    whole_state = first if everywhere.action is None and is_known else everywhere
    return TriagedArk(whole_state, is_problem, single)


def count_words(decided: Mapping[tuple[Any, str], TriagedArk]) -> str:
    """Return the number of ARKs that are known problems, in words; empty if none. Acknowledged takes precedence."""
    known_problems = [(ark, triaged.whole) for (ark, _), triaged in decided.items() if triaged.is_known]
    acknowledged = {ark for ark, triaged in known_problems if triaged.action is TriageAction.ACKNOWLEDGE}
    ignored: dict[Any, date] = {}
    for ark, triaged in known_problems:
        if ark not in acknowledged and triaged.until is not None:
            ignored[ark] = min(triaged.until, ignored.get(ark, triaged.until))
    return known_words(len(acknowledged), [*ignored.values()])


def _status(verdicts: Select[Any]) -> Select[Any]:
    return (
        select(
            _verdict.verdict_id,
            _verdict.ark_id,
            _ark.ark,
            _verdict.request_url,
            _verdict.object,
            _verdict.remarks,
            _verdict.final_url,
            _run.started_at.label("at"),
            _verdict.state,
            _latest.since,
        )
        .join_from(schema.verdict, schema.ark)
        .join(schema.run, _run.run_id == _verdict.run_id)
        .outerjoin(schema.latest, _latest.verdict_id == _verdict.verdict_id)
        .where(_verdict.verdict_id.in_(verdicts))
        .order_by(_ark.ark, _verdict.request_url)
    )


def _chain_ends(connection: Connection, verdicts: Select[Any]) -> Mapping[Pair, Collection[str]]:
    """Return the final URLs of the object's chains, answered or not."""
    together = (_observation.run_id == _verdict.run_id) & (_observation.request_url == _verdict.request_url)
    query = (
        select(_verdict.ark_id, _verdict.request_url, _observation.final_url)
        .join_from(schema.verdict, schema.observation, together)
        .where(_verdict.verdict_id.in_(verdicts), _observation.question == Question.OBJECT)
    )
    ends: defaultdict[Pair, set[str]] = defaultdict(set)
    for ark_id, url, final_url in connection.execute(query):
        ends[ark_id, url].add(final_url)
    return ends


def _decided_about(
    connection: Connection, made: Iterable[TriageDecision], rows: Sequence[Any], verdicts: Select[Any], run_id: int
) -> Iterator[tuple[Any, list[TriageDecision], dict[str, list[TriageDecision]]]]:
    """Yield the *rows* with decisions, each with the decisions for all documents, and with those for single documents.

    *verdicts* are those of the rows; the documents are those of the run *run_id*.
    """
    decided = TriageDecisions(made)
    pairs = {(row.ark_id, row.request_url) for row in rows}
    ends = _chain_ends(connection, verdicts) if decided.asks_for_hosts else {}
    places = _documents(connection, run_id, pairs) if decided.asks_for_documents else {}
    for row in rows:
        pair = (row.ark_id, row.request_url)
        final_urls = filter(None, (row.final_url, *ends.get(pair, ())))
        whole = list(decided.about(row.ark, [row.request_url, *final_urls]))
        in_documents = {url: list(decided.in_document(url)) for url in places.get(pair, ())}
        if whole or any(in_documents.values()):
            yield row, whole, in_documents


def citation_query(*columns: Any) -> Select[Any]:
    """Return the query for the key and URL of each cited ARK, its documents and *columns*, ordered by document."""
    document, mention = schema.document.c, schema.mention.c
    return (
        select(mention.ark_id, mention.request_url, document.url, *columns)
        .join_from(schema.mention, schema.document)
        .where(schema.is_current_mention, mention.request_url.is_not(None))
        .distinct()
        .order_by(document.url, *columns)
    )


def in_last_run(query: Select[Any]) -> Select[Any]:
    """Restrict a query for citations of ARKs to the last run that read documents citing each."""
    same = schema.at_one_url(_latest, schema.mention.c)
    return query.join(schema.latest, same).where(_latest.cited_in == schema.document.c.run_id)


def _documents(connection: Connection, run_id: int, wanted: Collection[Pair]) -> Mapping[Pair, list[str]]:
    """Return the documents that cite each pair: those of the run, or if it has none, those of the last run with any."""
    of_run = schema.document.c.run_id == run_id
    is_there = connection.scalar(select(exists().where(of_run)))
    query = citation_query().where(of_run) if is_there else in_last_run(citation_query())
    places: defaultdict[Pair, list[str]] = defaultdict(list)
    for ark_id, url, name in connection.execute(query):
        if (ark_id, url) in wanted:
            places[ark_id, url].append(name)
    return places


def _check_histories(
    connection: Connection, pairs: Collection[Pair], until: str
) -> Mapping[Pair, dict[int, TriageCheck]]:
    """Return the checks of each pair in the runs up to a moment, in order, by the keys of their verdicts.

    A check is dated by its last answer. A run may take days, and a decision on the first day was made without the
    answers of the last.
    """
    answered = (
        select(func.max(_observation.at))
        .where(
            _observation.run_id == _verdict.run_id,
            _observation.request_url == _verdict.request_url,
            _observation.question == Question.OBJECT,
        )
        .scalar_subquery()
    )
    histories: defaultdict[Pair, dict[int, TriageCheck]] = defaultdict(dict)
    arks = sorted({ark_id for ark_id, _ in pairs})
    for some in (arks[first : first + _AT_ONCE] for first in range(0, len(arks), _AT_ONCE)):
        query = (
            select(_verdict.verdict_id, _verdict.ark_id, _verdict.request_url, _verdict.object, _verdict.remarks)
            .add_columns(func.coalesce(func.nullif(answered, ""), _run.started_at).label("at"))
            .join_from(schema.verdict, schema.run)
            .where(_verdict.ark_id.in_(some), _run.started_at <= until)
            .order_by(_run.started_at, _run.run_id)
        )
        for row in connection.execute(query):
            if (row.ark_id, row.request_url) in pairs:
                histories[row.ark_id, row.request_url][row.verdict_id] = _check_of(row)
    return histories


def _check_of(row: Any) -> TriageCheck:
    is_otherwise = any(remark in _OTHERWISE for remark in row.remarks)
    return TriageCheck(datetime.fromisoformat(row.at), ObjectOutcome(row.object), is_otherwise)


# -- requested checks


def requested_rechecks(connection: Connection) -> dict[Pair, datetime]:
    """Return the ARKs with an open request for a check, with the time of the request."""
    waiting = _open_rechecks(connection, _rechecks(connection))
    return {pair: max(decision.at for decision in still) for pair, still in waiting}


def drop_fulfilled_rechecks(connection: Connection) -> None:
    """Delete the fulfilled requests for a check; those from a file stay, without effect."""
    made = _rechecks(connection)
    waiting = {decision.key for _, still in _open_rechecks(connection, made) for decision in still}
    for decision in made:
        if decision.key not in waiting and not decision.from_file:
            forget(connection, decision.key)


def _rechecks(connection: Connection) -> list[TriageDecision]:
    return [decision for decision in decisions(connection) if decision.action is TriageAction.RECHECK]


def _open_rechecks(
    connection: Connection, made: Sequence[TriageDecision]
) -> Iterator[tuple[Pair, list[TriageDecision]]]:
    """Yield each pair with an open request for a check, with these requests."""
    for row, about in matched_arks(connection, made):
        checked_at = datetime.fromisoformat(row.checked_at) if row.checked_at else None
        still = [one for one in about if checked_at is None or checked_at < one.at]
        if still and row.state != ArkState.SKIPPED:
            yield (row.ark_id, row.request_url), still


def unmatched_decisions(connection: Connection) -> list[TriageDecision]:
    """Return the decisions that match no ARK in the store."""
    made = decisions(connection)
    met = {decision for _, about in matched_arks(connection, made) for decision in about}
    return [decision for decision in made if decision not in met]


def matched_arks(connection: Connection, made: Sequence[TriageDecision]) -> Iterator[tuple[Any, list[TriageDecision]]]:
    """Yield the ARKs and URLs that decisions match, as rows with their status, each with its decisions."""
    if not made:
        return
    query = (
        select(_latest.ark_id, _ark.ark, _latest.request_url, _latest.checked_at, _latest.state, _verdict.final_url)
        .join_from(schema.latest, schema.ark)
        .outerjoin(schema.verdict, _verdict.verdict_id == _latest.verdict_id)
        .order_by(_latest.latest_id)
    )
    rows = connection.execute(query).all()
    of_latest = select(_latest.verdict_id)
    for row, whole, in_documents in _decided_about(connection, made, rows, of_latest, -1):
        yield row, [*whole, *chain.from_iterable(in_documents.values())]


# -- the user's selection among the ARKs of a store: by NAAN, by prefix, by host

_BEGINNING = re.compile(r"(?:ark:/?)?(?P<naan>[0-9a-z]{5,})(?:/(?P<name>.*))?", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class KnownSelection:
    """The criteria for selecting ARKs: one of each given kind must match; without criteria, all ARKs match."""

    naans: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    """Beginnings of normal forms, as `beginning_of` returns them."""
    hosts: tuple[str, ...] = ()
    """Hosts that receive the first request."""
    arks: tuple[str, ...] = ()
    """ARKs in normal form."""
    causes: Mapping[str, frozenset[tuple[str, str]]] = field(default_factory=dict)
    """The ARKs and request URLs of causes of failures, by the key of the cause."""

    def __bool__(self) -> bool:
        return any((self.naans, self.prefixes, self.hosts, self.arks, self.causes))

    @property
    def words(self) -> str:
        """The selection in words.

        >>> KnownSelection(naans=("12148",), hosts=("n2t.net",)).words
        'NAAN 12148; host n2t.net'
        """
        parts: tuple[tuple[str, Iterable[str]], ...] = (
            *(("NAAN", self.naans), ("prefix", self.prefixes), ("host", self.hosts)),
            *(("ARK", self.arks), ("cause", self.causes)),
        )
        return "; ".join(f"{name} {', '.join(given)}" for name, given in parts if given)

    def names(self, ark: str, naan: str) -> bool:
        """Return True if an ARK in normal form matches the NAANs and prefixes."""
        is_of_naan = not self.naans or naan in self.naans
        return is_of_naan and (not self.prefixes or ark.startswith(self.prefixes))

    def holds(self, known_ark: KnownArk) -> bool:
        """Return True if an ARK of a store is selected."""
        is_at_host = not self.hosts or known_ark.host in self.hosts
        is_of_cause = not self.causes or any(
            (known_ark.ark, known_ark.request_url) in pairs for pairs in self.causes.values()
        )
        is_named = not self.arks or known_ark.ark in self.arks
        return is_at_host and is_of_cause and is_named and self.names(known_ark.ark, known_ark.naan)


def beginning_of(text: str) -> str:
    """Return the beginning of normal forms for a prefix as a user wrote it (draft-kunze-ark-38, 3.2).

    Raises ValueError if no ARK can begin with it.

    >>> beginning_of("ark:/12148/bpt6-k"), beginning_of("12148/"), beginning_of("12148")
    ('ark:12148/bpt6k', 'ark:12148/', 'ark:12148/')
    """
    match = _BEGINNING.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"no ARK begins with {text!r}: write ark:NAAN/ and the common beginning of the names")
    return f"ark:{match['naan'].lower()}/{(match['name'] or '').replace('-', '')}"
