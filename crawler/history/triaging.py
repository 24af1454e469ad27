"""Keep decisions of people in the store, and tell what they amount to for the ARKs that they are about."""

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
    TriageState,
    TriageTarget,
    treatment,
)
from crawler.model import schema
from crawler.model.observations import ObjectOutcome, Question, moment
from crawler.verdicts.verdict import WAYS

Pair = tuple[int, str]
"""An ARK by its number, and the URL that is asked for it."""

_ark, _latest, _observation = schema.ark.c, schema.latest.c, schema.observation.c
_run, _verdict = schema.run.c, schema.verdict.c
_OTHERWISE = frozenset(remark for _, remark in WAYS.values())
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Treated:
    """The decisions about an ARK at one URL."""

    whole: TriageState
    """Wherever it is cited."""
    is_problem: bool
    in_documents: Mapping[str, TriageState] = field(default_factory=dict)
    """What holds in single documents, where that is something else."""

    @property
    def is_known(self) -> bool:
        """True if it is a problem that is not to be raised."""
        return self.whole.action is not None


# -- the decisions


def decisions(connection: Connection) -> list[TriageDecision]:
    """Everything that has been decided, in the order of the actions, of what is meant, and of its name."""
    rows = connection.execute(select(schema.triage)).all()
    order = [*TriageAction]
    return sorted(
        map(decision_of, rows), key=lambda decision: (order.index(decision.action), decision.kind, decision.target)
    )


def keep(connection: Connection, decided: Iterable[TriageDecision]) -> None:
    """Keep decisions, each in place of an earlier one of its kind about the same."""
    for decision in decided:
        until = decision.until.isoformat() if decision.until else None
        connection.execute(
            schema.replacing(schema.triage, "action", "kind", "target"),
            {**asdict(decision), "at": moment(decision.at), "until": until},
        )


def keep_file(connection: Connection, decided: Iterable[TriageDecision], *, at: datetime) -> tuple[int, int]:
    """Make the decisions of the reviewed file these; returns how many are new or changed, and how many are gone.

    Those that have no moment of their own there come with the moment *at*; one that is as it was keeps its own.
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
    """Take a decision back; returns whether there was one."""
    action, kind, target = key
    row = schema.triage.c
    done = connection.execute(delete(schema.triage).where(row.action == action, row.kind == kind, row.target == target))
    return bool(done.rowcount)


def decision_of(row: Row[Any]) -> TriageDecision:
    """The decision in a row."""
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


# -- what they amount to


def treated(
    connection: Connection, verdicts: Select[Any], run_id: int, *, until: int | None = None
) -> dict[Pair, Treated]:
    """Return what was decided of the ARKs of *verdicts* (their numbers), which count for a run; those with a decision
    alone.

    It is stated as of the day on which the run began, or the run *until* whose checks are the last that count: a report
    about a run stays what it is.
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
    lives = _lives(connection, about, begun)
    result = {}
    for pair, (row, whole, in_documents) in about.items():
        life = lives.get(pair, {})
        problem = Problem(
            life.get(row.verdict_id) or _found(row),
            ArkState(row.state) if row.state else None,
            datetime.fromisoformat(row.since) if row.since else None,
            [*life.values()],
        )
        result[pair] = _together(whole, in_documents, problem, today)
    return result


def _together(
    whole: Sequence[TriageDecision], in_documents: Mapping[str, Sequence[TriageDecision]], problem: Problem, today: date
) -> Treated:
    """Return what holds wherever an ARK is cited, and what in single documents; what holds in all of them holds
    anywhere.
    """
    everywhere = treatment(whole, problem, today)
    is_problem = problem.now.severity > Severity.FINE
    if not any(in_documents.values()):
        return Treated(everywhere, is_problem)
    single = {url: treatment([*whole, *more], problem, today) for url, more in in_documents.items()}
    first = next(iter(single.values()))
    is_known = all(of_one.action is not None or of_one.is_silent for of_one in single.values())
    whole_state = first if everywhere.action is None and is_known else everywhere
    return Treated(whole_state, is_problem, single)


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
            _latest.state,
            _latest.since,
        )
        .join_from(schema.verdict, schema.ark)
        .join(schema.run, _run.run_id == _verdict.run_id)
        .outerjoin(schema.latest, _latest.verdict_id == _verdict.verdict_id)
        .where(_verdict.verdict_id.in_(verdicts))
        .order_by(_ark.ark, _verdict.request_url)
    )


def _chain_ends(connection: Connection, verdicts: Select[Any]) -> Mapping[Pair, Collection[str]]:
    """Return where the objects' chains ended, answered or not."""
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
    """The *rows* about which something was decided: what holds wherever each is cited, and in single documents.

    *verdicts* are those of the rows, and *run_id* the run whose documents count.
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


def citing(*columns: Any) -> Select[Any]:
    """The query for an ARK's number, its URL and *columns* of documents that cite it now; in the order of their names."""
    document, mention = schema.document.c, schema.mention.c
    return (
        select(mention.ark_id, mention.request_url, document.url, *columns)
        .join_from(schema.mention, schema.document)
        .where(schema.is_current_mention, mention.request_url.is_not(None))
        .distinct()
        .order_by(document.url, *columns)
    )


def in_last_run(query: Select[Any]) -> Select[Any]:
    """Of a query for what cites ARKs that of the last run that read anything which cites them."""
    same = schema.at_one_url(_latest, schema.mention.c)
    return query.join(schema.latest, same).where(_latest.cited_in == schema.document.c.run_id)


def _documents(connection: Connection, run_id: int, wanted: Collection[Pair]) -> Mapping[Pair, list[str]]:
    """The documents that cite each pair: those of the run, or of the last run that had any, where this one has none."""
    of_run = schema.document.c.run_id == run_id
    is_there = connection.scalar(select(exists().where(of_run)))
    query = citing().where(of_run) if is_there else in_last_run(citing())
    places: defaultdict[Pair, list[str]] = defaultdict(list)
    for ark_id, url, name in connection.execute(query):
        if (ark_id, url) in wanted:
            places[ark_id, url].append(name)
    return places


def _lives(connection: Connection, pairs: Collection[Pair], until: str) -> Mapping[Pair, dict[int, TriageCheck]]:
    """The checks of each pair in the runs up to a moment, in their order, by the numbers of their verdicts.

    A check is of the moment of its last answer: a run may take days, and what it finds on the last of them was not
    known to anyone who decided on the first.
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
    lives: defaultdict[Pair, dict[int, TriageCheck]] = defaultdict(dict)
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
                lives[row.ark_id, row.request_url][row.verdict_id] = _found(row)
    return lives


def _found(row: Any) -> TriageCheck:
    is_otherwise = any(remark in _OTHERWISE for remark in row.remarks)
    return TriageCheck(datetime.fromisoformat(row.at), ObjectOutcome(row.object), is_otherwise)


# -- what is to be checked now


def wanted(connection: Connection) -> dict[Pair, datetime]:
    """Return what someone has asked to be checked and no one has checked since, with the moment at which it was asked
    for.
    """
    waiting = _waiting(connection, _rechecks(connection))
    return {pair: max(decision.at for decision in still) for pair, still in waiting}


def use_up(connection: Connection) -> None:
    """Forget the requests for a check that have been met; those of a file stay there, and mean nothing more."""
    made = _rechecks(connection)
    waiting = {decision.key for _, still in _waiting(connection, made) for decision in still}
    for decision in made:
        if decision.key not in waiting and not decision.from_file:
            forget(connection, decision.key)


def _rechecks(connection: Connection) -> list[TriageDecision]:
    return [decision for decision in decisions(connection) if decision.action is TriageAction.RECHECK]


def _waiting(connection: Connection, made: Sequence[TriageDecision]) -> Iterator[tuple[Pair, list[TriageDecision]]]:
    """Each pair that requests for a check are about, with those that have not been met since."""
    for row, about in touched(connection, made):
        checked_at = datetime.fromisoformat(row.checked_at) if row.checked_at else None
        still = [one for one in about if checked_at is None or checked_at < one.at]
        if still and row.state != ArkState.SKIPPED:
            yield (row.ark_id, row.request_url), still


def idle(connection: Connection) -> list[TriageDecision]:
    """The decisions that are about no ARK of the store."""
    made = decisions(connection)
    met = {decision for _, about in touched(connection, made) for decision in about}
    return [decision for decision in made if decision not in met]


def touched(connection: Connection, made: Sequence[TriageDecision]) -> Iterator[tuple[Any, list[TriageDecision]]]:
    """The ARKs and URLs of the store that decisions are about, as rows with their status, each with its decisions."""
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


# -- the user's choice among the ARKs that a store knows: by NAAN, by the beginning of the ARK, by host

_BEGINNING = re.compile(r"(?:ark:/?)?(?P<naan>[0-9a-z]{5,})(?:/(?P<name>.*))?", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class KnownSelection:
    """What an ARK must be to be chosen: one of each kind that is named; nothing named leaves nothing out."""

    naans: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    """Beginnings of normal forms (`beginning_of`)."""
    hosts: tuple[str, ...] = ()
    """Hosts that are asked first."""

    def __bool__(self) -> bool:
        return any((self.naans, self.prefixes, self.hosts))

    @property
    def words(self) -> str:
        """The choice in words.

        >>> KnownSelection(naans=("12148",), hosts=("n2t.net",)).words
        'NAAN 12148; host n2t.net'
        """
        parts = (("NAAN", self.naans), ("prefix", self.prefixes), ("host", self.hosts))
        return "; ".join(f"{name} {', '.join(given)}" for name, given in parts if given)

    def names(self, ark: str, naan: str) -> bool:
        """Return whether an ARK, in normal form, is of the NAANs and prefixes."""
        is_of_naan = not self.naans or naan in self.naans
        return is_of_naan and (not self.prefixes or ark.startswith(self.prefixes))

    def holds(self, known_ark: KnownArk) -> bool:
        """Return whether an ARK of a store is chosen."""
        is_at_host = not self.hosts or known_ark.host in self.hosts
        return is_at_host and self.names(known_ark.ark, known_ark.naan)


def beginning_of(text: str) -> str:
    """Return the beginning of normal forms that a user may have written as of ARKs (draft-kunze-ark-38, 3.2).

    Raises ValueError for what is no beginning of an ARK.

    >>> beginning_of("ark:/12148/bpt6-k"), beginning_of("12148/"), beginning_of("12148")
    ('ark:12148/bpt6k', 'ark:12148/', 'ark:12148/')
    """
    match = _BEGINNING.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"no ARK begins with {text!r}: write ark:NAAN/NAME, as far as it is the same")
    return f"ark:{match['naan'].lower()}/{(match['name'] or '').replace('-', '')}"
