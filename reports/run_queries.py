"""Which rows of the store belong to a run, as queries: its own, and what earlier runs know of what it cites."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Integer, Select, and_, column, func, or_, select, table

from crawler.observations import FAMILY_OF, Family
from crawler.schema import ark, document, event, is_current_mention, latest, mention, observation, run, verdict

#: The number that no run has.
NO_RUN: Final = -1
_WORKING: Final = [str(outcome) for outcome, family in FAMILY_OF.items() if family is Family.WORKS]
_AILING: Final = [str(outcome) for outcome, family in FAMILY_OF.items() if family in (Family.FAILS, Family.UNREACHABLE)]


def newest_run(connection: Connection) -> int | None:
    """The newest run that holds a document or a verdict, or else the newest; none in an empty store."""
    newest = select(func.max(run.c.run_id))
    busy = (run.c.run_id.in_(select(each.c.run_id)) for each in (document, verdict))
    found: int | None = connection.scalar(newest.where(or_(*busy)))
    return connection.scalar(newest) if found is None else found


def has_run(connection: Connection, run_id: int) -> bool:
    """Whether the store has a run of this number."""
    return connection.scalar(select(run.c.run_id).where(run.c.run_id == run_id)) is not None


def run_before(connection: Connection, run_id: int | None) -> int | None:
    """The last run before *run_id* that finished and did the same: the same command on the same seeds."""
    if run_id is None:
        return None
    this = connection.execute(select(run.c.command, run.c.seeds, run.c.started_at).where(run.c.run_id == run_id)).one()
    earlier = connection.execute(
        select(run.c.run_id, run.c.seeds)
        .where(run.c.started_at < this.started_at, run.c.command == this.command, run.c.state == "finished")
        .order_by(run.c.started_at.desc(), run.c.run_id.desc())
    )
    return next((row.run_id for row in earlier if row.seeds == this.seeds), None)


def cited_arks(run_id: int) -> Select[Any]:
    """The ARKs that documents of a run cite."""
    return select(mention.c.ark_id).join(document).where(document.c.run_id == run_id, is_current_mention)


def asked_arks(run_id: int) -> Select[Any]:
    """The ARKs that a run asked about."""
    return select(observation.c.ark_id).where(observation.c.run_id == run_id)


def counting_verdicts(run_id: int) -> Select[Any]:
    """The verdicts that count for a run: its own, and of what it cites and did not ask, the last one before it.

    A run that asks only what is due leaves the others as they were found last.
    """
    cited = (
        select(mention.c.request_url).join(document).where(document.c.run_id == run_id, is_current_mention).distinct()
    )
    judged = select(verdict.c.request_url).where(verdict.c.run_id == run_id)
    age = func.row_number().over(
        partition_by=verdict.c.request_url, order_by=(run.c.started_at.desc(), verdict.c.verdict_id.desc())
    )
    earlier = (
        select(verdict.c.verdict_id, age.label("age"))
        .join(run)
        .where(
            run.c.started_at < _started(run_id),
            verdict.c.request_url.in_(cited),
            verdict.c.request_url.not_in(judged),
        )
        .subquery()
    )
    own = select(verdict.c.verdict_id).where(verdict.c.run_id == run_id)
    return own.union_all(select(earlier.c.verdict_id).where(earlier.c.age == 1)).subquery().select()


def kept(connection: Connection, name: str, numbers: Select[Any]) -> Select[Any]:
    """The same numbers, found once and kept in memory beside the store, for as long as the connection lasts."""
    connection.exec_driver_sql("PRAGMA temp_store = MEMORY")
    statement = numbers.compile(connection, compile_kwargs={"literal_binds": True})
    connection.exec_driver_sql(f"DROP TABLE IF EXISTS temp.{name}")
    connection.exec_driver_sql(f"CREATE TEMP TABLE {name} (number INTEGER PRIMARY KEY)")
    connection.exec_driver_sql(f"INSERT OR IGNORE INTO temp.{name} {statement}")
    return select(table(name, column("number", Integer), schema="temp").c.number)


def _started(run_id: int) -> Any:
    return select(run.c.started_at).where(run.c.run_id == run_id).scalar_subquery()


def behind(verdicts: Select[Any], run_id: int) -> ColumnElement[bool]:
    """Whether an observation was made in a run, or stands behind one of *verdicts* of an earlier run."""
    earlier = (
        select(verdict.c.verdict_id)
        .where(
            verdict.c.verdict_id.in_(verdicts),
            verdict.c.run_id == observation.c.run_id,
            verdict.c.request_url == observation.c.request_url,
        )
        .exists()
    )
    return or_(observation.c.run_id == run_id, earlier)


def life_of(arks: Select[Any], run_id: int) -> ColumnElement[bool]:
    """Whether a verdict of a run is about one of *arks*, and of that run or an earlier one."""
    return and_(verdict.c.ark_id.in_(arks), run.c.started_at <= _started(run_id))


def last_good_of(verdicts: Select[Any], run_id: int) -> ColumnElement[bool]:
    """Whether a verdict of an earlier run is a good one about an ARK that fails or is silent in *verdicts*."""
    ailing = select(verdict.c.ark_id).where(verdict.c.verdict_id.in_(verdicts), verdict.c.object.in_(_AILING))
    return and_(
        verdict.c.ark_id.in_(ailing.subquery().select()),
        run.c.started_at < _started(run_id),
        verdict.c.object.in_(_WORKING),
    )


def standing_in(verdicts: Select[Any]) -> ColumnElement[bool]:
    """Whether a row of `latest` was so when a run ended: its last check is among *verdicts*."""
    return latest.c.verdict_id.in_(verdicts)


def happened_since(run_id: int, since: int | None) -> ColumnElement[bool]:
    """Whether an event was noted in a run, or in one after the run *since* and before it."""
    own = event.c.run_id == run_id
    if since is None:
        return own
    between = select(run.c.run_id).where(run.c.started_at > _started(since), run.c.started_at <= _started(run_id))
    return or_(own, event.c.run_id.in_(between))


def arks_of(parts: Sequence[Select[Any]]) -> ColumnElement[bool]:
    """Whether an ARK is among those of any of *parts*."""
    return or_(*(ark.c.ark_id.in_(ids) for ids in parts))
