"""Queries for the rows of a run, and for rows of earlier runs about the ARKs that it cites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Integer, Row, Select, and_, case, column, func, or_, select, table
from sqlalchemy.sql import operators
from sqlalchemy.sql.expression import UnaryExpression

from crawler.history.ark_status import EventKind
from crawler.model.observations import FAMILY_OF, Family
from crawler.model.outcomes import READABLE
from crawler.model.schema import (
    FINISHED,
    assessment,
    document,
    event,
    is_current_mention,
    mention,
    observation,
    run,
    verdict,
)

#: A run number that does not exist.
NO_RUN = -1
#: Object outcomes of ARKs that work.
WORKING = [str(outcome) for outcome, family in FAMILY_OF.items() if family is Family.WORKS]
#: Object outcomes of ARKs that fail or gave no answer.
AILING = [str(outcome) for outcome, family in FAMILY_OF.items() if family in (Family.FAILS, Family.UNREACHABLE)]


@dataclass(frozen=True, slots=True)
class ReportScope:
    """The run that a report is about, alone or with all later checks of its ARKs."""

    run_id: int
    until: int
    """The last run whose checks count; the run itself if it is reported alone."""
    is_all: bool = False
    """True if the report covers every ARK ever checked, because the store holds no documents."""

    @property
    def is_alone(self) -> bool:
        """True if only checks up to this run count."""
        return self.until == self.run_id and not self.is_all


def load_runs(connection: Connection) -> dict[int, Row[Any]]:
    """Return all runs by number, the oldest first, with what each holds: a document, a readable one, a verdict."""
    has_document = select(document.c.run_id).where(document.c.run_id == run.c.run_id)
    has_verdict = select(verdict.c.run_id).where(verdict.c.run_id == run.c.run_id)
    query = select(
        *(run.c.run_id, run.c.started_at, run.c.state, run.c.command, run.c.seeds),
        has_document.exists().label("has_document"),
        has_document.where(document.c.outcome.in_(READABLE)).exists().label("has_read"),
        has_verdict.exists().label("has_verdict"),
    )
    return {row.run_id: row for row in connection.execute(query.order_by(run.c.started_at, run.c.run_id))}


def current_scope(connection: Connection) -> ReportScope:
    """Return the newest finished run that has read a document, with all later checks of its ARKs.

    Without such a run, take an unfinished one, or one that read nothing. In a store with checks only, take all ARKs.
    In an empty store it is `NO_RUN`.
    """
    newest_first = [*reversed(load_runs(connection).values())]
    last = newest_first[0].run_id if newest_first else NO_RUN
    finished = [row for row in newest_first if row.state == FINISHED and row.has_read]
    read = [row for row in newest_first if row.has_read]
    for row in (*finished, *read, *(row for row in newest_first if row.has_document)):
        return ReportScope(row.run_id, last)
    checked = (ReportScope(row.run_id, last, is_all=True) for row in newest_first if row.has_verdict)
    return next(checked, ReportScope(last, last))


def run_before(runs: Mapping[int, Row[Any]], run_id: int) -> int | None:
    """Return the last finished run before *run_id* with the same command and seeds, or None.

    A run that had documents and could read none of them shows nothing to compare with.
    """
    this = runs.get(run_id)
    earlier = [
        row.run_id
        for row in runs.values()
        if this is not None
        and (row.command, row.seeds, row.state) == (this.command, this.seeds, FINISHED)
        and row.started_at < this.started_at
        and (row.has_read or not row.has_document)
    ]
    return earlier[-1] if earlier else None


_other = run.alias()
#: Runs that overlap with another: each began before the other ended. An interrupted run may resume days after a
#: later one; the end of a run that never ended is unknown.
_overlapping = (
    select(run.c.run_id)
    .join(_other, run.c.run_id != _other.c.run_id)
    .where(or_(_other.c.ended_at.is_(None), run.c.started_at <= _other.c.ended_at))
    .where(or_(run.c.ended_at.is_(None), _other.c.started_at <= run.c.ended_at))
)
#: The time of the last answer of a verdict; looked up only for overlapping runs, whose order does not follow from
#: their start.
_answered_at = case(
    (
        verdict.c.run_id.in_(_overlapping.scalar_subquery()),
        func.coalesce(
            select(func.min(func.max(observation.c.at), func.coalesce(run.c.ended_at, "9")))
            .where(observation.c.run_id == verdict.c.run_id, observation.c.request_url == verdict.c.request_url)
            .correlate(verdict, run)
            .scalar_subquery(),
            run.c.started_at,
        ),
    ),
    else_=run.c.started_at,
)


def without_index(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """Return *column* in a form for which SQLite uses no index but scans the table.

    A report needs most rows. Seeking each by an index and then sorting them takes twice as long.
    """
    return UnaryExpression(column, operator=operators.custom_op("+"))


def counting_verdicts(reported: ReportScope) -> Select[Any]:
    """Return the query for the verdicts that count: the last one for each URL that the run cites or has judged.

    These are the verdicts of the run itself, and the last earlier one for each URL that it cites but did not request,
    because a run requests only the ARKs that are due. Unless the run is reported alone, later verdicts replace them.
    """
    run_id, last = reported.run_id, start_of(reported.until)
    # With the index, SQLite would seek every cited URL in every run.
    request_url = without_index(verdict.c.request_url)
    cited = select(mention.c.request_url).join(document).where(document.c.run_id == run_id, is_current_mention)
    judged = select(verdict.c.request_url).where(verdict.c.run_id == run_id)
    by_run = (run.c.started_at.desc(), run.c.run_id.desc(), verdict.c.verdict_id.desc())

    def aged_by(*order: Any) -> Select[Any]:
        age = func.row_number().over(partition_by=verdict.c.request_url, order_by=order)
        return select(verdict.c.verdict_id, age.label("age")).join(run)

    if not reported.is_alone:
        meant = aged_by(_answered_at.desc(), *by_run).where(run.c.started_at <= last)
        if not reported.is_all:
            meant = meant.where(or_(verdict.c.request_url.in_(cited), verdict.c.request_url.in_(judged)))
        aged = meant.subquery()
        return select(aged.c.verdict_id).where(aged.c.age == 1)
    numbered = select(run.c.run_id, func.row_number().over(order_by=(run.c.started_at, run.c.run_id)).label("place"))
    places = numbered.where(run.c.started_at < last).subquery()
    # With max(), SQLite returns the row of the maximum in each group; sorting all rows takes longer.
    earlier = (
        select(verdict.c.verdict_id, func.max(places.c.place))
        .join(places, places.c.run_id == verdict.c.run_id)
        .where(request_url.in_(cited.except_(judged)))
        .group_by(verdict.c.request_url)
        .subquery()
    )
    own = select(verdict.c.verdict_id).where(verdict.c.run_id == run_id)
    return own.union_all(select(earlier.c.verdict_id)).subquery().select()


def cache_numbers(connection: Connection, name: str, numbers: Select[Any]) -> Select[Any]:
    """Store the result of *numbers* in a temporary table of this connection; return a query for it."""
    statement = numbers.compile(connection, compile_kwargs={"literal_binds": True})
    connection.exec_driver_sql(f"DROP TABLE IF EXISTS temp.{name}")
    connection.exec_driver_sql(f"CREATE TEMP TABLE {name} (number INTEGER PRIMARY KEY)")
    connection.exec_driver_sql(f"INSERT OR IGNORE INTO temp.{name} {statement}")
    return select(table(name, column("number", Integer), schema="temp").c.number)


def start_of(run_id: int | None) -> Any:
    """Return the start time of a run as a subquery; NULL for None."""
    return select(run.c.started_at).where(run.c.run_id == run_id).scalar_subquery()


#: The most runs in which the former failures of recovered ARKs are diagnosed.
_MOST_FAILED = 2


def runs_before_recovery(
    connection: Connection, reported: ReportScope, since: int | None, previous: int | None
) -> Sequence[int]:
    """Return the runs in which ARKs failed last whose recovery is an event of the report; the latest first."""
    begun, failed = run.alias(), run.alias()
    last = (
        select(verdict.c.run_id, func.max(failed.c.started_at).label("at"))
        .join_from(event, begun, begun.c.run_id == event.c.run_id)
        .join(verdict, (verdict.c.ark_id == event.c.ark_id) & (verdict.c.request_url == event.c.request_url))
        .join(failed, failed.c.run_id == verdict.c.run_id)
        .join(assessment, assessment.c.run_id == verdict.c.run_id)
        .where(is_event_since(reported, since, previous), event.c.event == EventKind.RECOVERED)
        # An outage is not the failure that has ended.
        .where(assessment.c.is_suspect.is_(False))
        .where(failed.c.started_at < begun.c.started_at, verdict.c.object.in_(AILING))
        .group_by(event.c.event_id)
        .subquery()
    )
    return connection.scalars(
        select(last.c.run_id).group_by(last.c.run_id).order_by(func.max(last.c.at).desc()).limit(_MOST_FAILED)
    ).all()


def is_event_since(reported: ReportScope, since: int | None, previous: int | None) -> ColumnElement[bool]:
    """Return a condition for events of this run, and of runs after *since* and before it.

    Without *since* they are the events after the *previous* run about URLs that the run cites or has judged, because
    another run, such as a recheck, may have recorded them. If later checks count, their events about these URLs are
    included.
    """
    run_id, until = reported.run_id, reported.until
    happened = [event.c.run_id == run_id]
    if since is not None:
        between = select(run.c.run_id).where(run.c.started_at > start_of(since), run.c.started_at <= start_of(run_id))
        happened.append(event.c.run_id.in_(between))
    first = run_id if since is not None or previous is None else previous
    if first != until:
        others = select(run.c.run_id).where(run.c.started_at > start_of(first), run.c.started_at <= start_of(until))
        about = select(verdict.c.request_url).where(verdict.c.verdict_id.in_(counting_verdicts(reported)))
        happened.append(and_(event.c.run_id.in_(others), event.c.request_url.in_(about)))
    return or_(*happened)
