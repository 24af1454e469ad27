"""Queries for the rows of a run, and for rows of earlier runs about the ARKs that it cites."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Integer, Row, Select, and_, case, column, func, or_, select, table
from sqlalchemy.sql import operators
from sqlalchemy.sql.expression import UnaryExpression

from crawler.model.observations import FAMILY_OF, Family
from crawler.model.outcomes import READABLE
from crawler.model.schema import FINISHED, document, event, is_current_mention, mention, observation, run, verdict

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
    """Return all runs by number, the oldest first, with `has_document`, `has_read` (a readable one), `has_verdict`."""
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
    """Return the scope of the newest finished run that has read a document, with all later checks of its ARKs.

    Without such a run, take the newest unfinished one, else one that read nothing. In a store without documents, the
    scope covers all ARKs. In an empty store, its `run_id` is `NO_RUN`.
    """
    newest_first = [*reversed(load_runs(connection).values())]
    last_run_id = newest_first[0].run_id if newest_first else NO_RUN
    finished_runs = [row for row in newest_first if row.state == FINISHED and row.has_read]
    runs_with_text = [row for row in newest_first if row.has_read]
    for row in (*finished_runs, *runs_with_text, *(row for row in newest_first if row.has_document)):
        return ReportScope(row.run_id, last_run_id)
    check_scopes = (ReportScope(row.run_id, last_run_id, is_all=True) for row in newest_first if row.has_verdict)
    return next(check_scopes, ReportScope(last_run_id, last_run_id))


def run_before(runs: Mapping[int, Row[Any]], run_id: int) -> int | None:
    """Return the last finished run before *run_id* with the same command and seeds, or None.

    A run that had documents and could read none of them is left out. *runs* is the result of `load_runs`.
    """
    reported_run = runs.get(run_id)
    earlier_run_ids = [
        row.run_id
        for row in runs.values()
        if reported_run is not None
        and (row.command, row.seeds, row.state) == (reported_run.command, reported_run.seeds, FINISHED)
        and row.started_at < reported_run.started_at
        and (row.has_read or not row.has_document)
    ]
    return earlier_run_ids[-1] if earlier_run_ids else None


_other_run = run.alias()
#: Runs that overlap with another: each began before the other ended. An interrupted run may resume days after a
#: later one; the end of a run that never ended is unknown.
_overlapping_runs = (
    select(run.c.run_id)
    .join(_other_run, run.c.run_id != _other_run.c.run_id)
    .where(or_(_other_run.c.ended_at.is_(None), run.c.started_at <= _other_run.c.ended_at))
    .where(or_(run.c.ended_at.is_(None), _other_run.c.started_at <= run.c.ended_at))
)
#: The time of the last answer of a verdict; looked up only for overlapping runs, whose order does not follow from
#: their start.
_answered_at = case(
    (
        verdict.c.run_id.in_(_overlapping_runs.scalar_subquery()),
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
    """Return the query for the keys of the verdicts to report: one for each URL that the run cites or has judged.

    These are the verdicts of the run, and the last earlier verdict for each URL that it cites but did not request. (A
    run requests only the ARKs that are due.) Unless the run is reported alone, later verdicts replace these.
    """
    run_id = reported.run_id
    cited_urls = select(mention.c.request_url).join(document).where(document.c.run_id == run_id, is_current_mention)
    judged_urls = select(verdict.c.request_url).where(verdict.c.run_id == run_id)
    newest_first = (run.c.started_at.desc(), run.c.run_id.desc(), verdict.c.verdict_id.desc())
    first = (verdict.c.run_id == run_id) if reported.is_alone else _answered_at
    age = func.row_number().over(partition_by=verdict.c.request_url, order_by=(first.desc(), *newest_first))
    ranked_verdicts = (
        select(verdict.c.verdict_id, age.label("age")).join(run).where(run.c.started_at <= start_of(reported.until))
    )
    if not reported.is_all:
        ranked_verdicts = ranked_verdicts.where(
            or_(verdict.c.request_url.in_(cited_urls), verdict.c.request_url.in_(judged_urls))
        )
    ranked = ranked_verdicts.subquery()
    return select(ranked.c.verdict_id).where(ranked.c.age == 1)


def cache_numbers(connection: Connection, name: str, numbers: Select[Any]) -> Select[Any]:
    """Store the integers that the query *numbers* returns in the temporary table *name*; return a query for them."""
    statement = numbers.compile(connection, compile_kwargs={"literal_binds": True})
    connection.exec_driver_sql(f"DROP TABLE IF EXISTS temp.{name}")
    connection.exec_driver_sql(f"CREATE TEMP TABLE {name} (number INTEGER PRIMARY KEY)")
    connection.exec_driver_sql(f"INSERT OR IGNORE INTO temp.{name} {statement}")
    return select(table(name, column("number", Integer), schema="temp").c.number)


def start_of(run_id: int | None) -> Any:
    """Return the start time of a run as a subquery; NULL for None."""
    return select(run.c.started_at).where(run.c.run_id == run_id).scalar_subquery()


def is_event_since(reported: ReportScope, since: int | None, previous: int | None) -> ColumnElement[bool]:
    """Return a condition for the events of the reported run, and of the runs between run *since* and this run.

    Without *since*, events of runs after the *previous* run, such as a recheck, are included for some URLs. These are
    the URLs that the reported run cites or has judged. If later checks count, so do their events about these URLs.
    """
    run_id, until = reported.run_id, reported.until
    conditions = [event.c.run_id == run_id]
    if since is not None:
        runs_between = select(run.c.run_id).where(
            run.c.started_at > start_of(since), run.c.started_at <= start_of(run_id)
        )
        conditions.append(event.c.run_id.in_(runs_between))
    first_run_id = run_id if since is not None or previous is None else previous
    if first_run_id != until:
        later_runs = select(run.c.run_id).where(
            run.c.started_at > start_of(first_run_id), run.c.started_at <= start_of(until)
        )
        counting_urls = select(verdict.c.request_url).where(verdict.c.verdict_id.in_(counting_verdicts(reported)))
        conditions.append(and_(event.c.run_id.in_(later_runs), event.c.request_url.in_(counting_urls)))
    return or_(*conditions)
