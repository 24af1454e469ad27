"""Prune old runs of a store: their verdicts, events and the evidence of failures stay, their other answers go.

The history can still be rebuilt: each pruned run keeps its contacts with hosts, its citations, and a digest of each
answer about an object.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from sqlalchemy import Connection, and_, delete, exists, func, insert, null, or_, select, update

from crawler.history.latest import PRUNED, is_pruned
from crawler.model import schema
from crawler.model.observations import ACCESS, DocumentOutcome, Family, ObjectOutcome
from crawler.store.store import Store

#: The commands whose runs are pruned.
_COMMANDS = ("crawl", "run", "check")
_FAILING = [outcome for outcome in ObjectOutcome if outcome.family is Family.FAILS]
_run, _observation, _verdict, _document = schema.run.c, schema.observation.c, schema.verdict.c, schema.document.c


def prunable_runs(connection: Connection, *, runs: int | None, since: datetime | None) -> list[int]:
    """Return the ended runs, oldest first, other than the last *runs* and those that began *since* a moment.

    The last ended run is never among them. Other commands, such as features, have no verdicts: their answers are all
    that they found.
    """
    query = select(_run.run_id, _run.started_at).where(_run.ended_at.is_not(None), _run.command.in_(_COMMANDS))
    ended = connection.execute(query.order_by(_run.started_at.desc(), _run.run_id.desc())).all()
    old = [
        row.run_id
        for index, row in enumerate(ended)
        if index and index >= (runs or 0) and (since is None or datetime.fromisoformat(row.started_at) < since)
    ]
    pruned = set(connection.scalars(select(_run.run_id).where(is_pruned())))
    return [run_id for run_id in reversed(old) if run_id not in pruned]


def prune(store: Store, *, now: datetime, runs: int | None = None, days: int | None = None) -> Iterator[int]:
    """Prune the runs before the last *runs* or *days*, each in one transaction, and yield their numbers.

    Raises `crawler.store.StoreUnwritable`. Call `Store.shrink` afterwards.
    """
    since = None if days is None else now - timedelta(days=days)
    with store.read_connection() as connection:
        old = prunable_runs(connection, runs=runs, since=since)
    for run_id in old:
        with store.transaction() as connection:
            _prune_run(connection, run_id, day=f"{now:%Y-%m-%d}")
        yield run_id


def _prune_run(connection: Connection, run_id: int, *, day: str) -> None:
    of_run = _observation.run_id == run_id
    failing = (_verdict.run_id == run_id, _verdict.object.in_(_FAILING))
    resting = func.json_each(_verdict.rests_on).table_valued("value", joins_implicitly=True)
    evidence = or_(
        _observation.request_url.in_(select(_verdict.request_url).where(*failing)),
        _observation.asked_url.in_(select(resting.c.value).select_from(schema.verdict, resting).where(*failing)),
    )
    is_judged = exists().where(_verdict.run_id == run_id, _verdict.request_url == _observation.request_url)
    is_digest = and_(_observation.question.in_(ACCESS), is_judged)
    words = f"the answer was pruned on {day}"
    connection.execute(delete(schema.observation).where(of_run, ~evidence, ~is_digest))
    connection.execute(
        update(schema.observation)
        .where(of_run, ~evidence)
        .values(hops=[], title=None, text=None, record=null(), facts={}, rendering=null(), remarks=[words])
    )
    documents = select(_document.document_id).where(_document.run_id == run_id)
    is_read = _document.outcome.in_((DocumentOutcome.READ, DocumentOutcome.REDIRECTED))
    connection.execute(update(schema.document).where(_document.run_id == run_id, is_read).values(hops=[]))
    thin = {"doubt": null(), "context": ""}
    connection.execute(update(schema.mention).where(schema.mention.c.document_id.in_(documents)).values(thin))
    for table in (schema.frontier, schema.outlinks):
        connection.execute(delete(table).where(table.c.run_id == run_id))
    finding = {
        "run_id": run_id,
        "subject": f"run {run_id}",
        "kind": PRUNED,
        "detail": f"its answers were pruned on {day}; its verdicts and the evidence of failures are kept",
    }
    connection.execute(insert(schema.finding), finding)
