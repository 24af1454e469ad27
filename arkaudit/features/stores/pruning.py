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
    """Return the ended, unpruned runs before the last *runs* and before *since*, oldest first; None sets no limit.

    The last ended run is not included. Runs of other commands, such as features, have no verdicts and are kept.
    """
    query = select(_run.run_id, _run.started_at).where(_run.ended_at.is_not(None), _run.command.in_(_COMMANDS))
    ended_runs = connection.execute(query.order_by(_run.started_at.desc(), _run.run_id.desc())).all()
    old_run_ids = [
        row.run_id
        for index, row in enumerate(ended_runs)
        if index and index >= (runs or 0) and (since is None or datetime.fromisoformat(row.started_at) < since)
    ]
    pruned_run_ids = set(connection.scalars(select(_run.run_id).where(is_pruned())))
    return [run_id for run_id in reversed(old_run_ids) if run_id not in pruned_run_ids]


def prune(store: Store, *, now: datetime, runs: int | None = None, days: int | None = None) -> Iterator[int]:
    """Prune the runs before the last *runs* or *days*, one transaction for each run, and yield their numbers.

    Raises `crawler.store.StoreUnwritable`. Call `Store.shrink` afterwards.
    """
    since = None if days is None else now - timedelta(days=days)
    with store.read_connection() as connection:
        run_ids = prunable_runs(connection, runs=runs, since=since)
    for run_id in run_ids:
        with store.transaction() as connection:
            _prune_run(connection, run_id, day=f"{now:%Y-%m-%d}")
        yield run_id


def _prune_run(connection: Connection, run_id: int, *, day: str) -> None:
    """Delete the answers of a run, except the evidence of failures, and note it as a finding of *day*."""
    of_run = _observation.run_id == run_id
    failing_verdicts = (_verdict.run_id == run_id, _verdict.object.in_(_FAILING))
    shared_urls = func.json_each(_verdict.rests_on).table_valued("value", joins_implicitly=True)
    is_evidence = or_(
        _observation.request_url.in_(select(_verdict.request_url).where(*failing_verdicts)),
        _observation.asked_url.in_(
            select(shared_urls.c.value).select_from(schema.verdict, shared_urls).where(*failing_verdicts)
        ),
    )
    is_judged = exists().where(_verdict.run_id == run_id, _verdict.request_url == _observation.request_url)
    is_digest = and_(_observation.question.in_(ACCESS), is_judged)
    remark = f"the answer was pruned on {day}"
    connection.execute(delete(schema.observation).where(of_run, ~is_evidence, ~is_digest))
    connection.execute(
        update(schema.observation)
        .where(of_run, ~is_evidence)
        .values(hops=[], title=None, text=None, record=null(), facts={}, rendering=null(), remarks=[remark])
    )
    document_ids = select(_document.document_id).where(_document.run_id == run_id)
    is_read = _document.outcome.in_((DocumentOutcome.READ, DocumentOutcome.REDIRECTED))
    connection.execute(update(schema.document).where(_document.run_id == run_id, is_read).values(hops=[]))
    emptied_columns = {"doubt": null(), "context": ""}
    connection.execute(
        update(schema.mention).where(schema.mention.c.document_id.in_(document_ids)).values(emptied_columns)
    )
    for table in (schema.frontier, schema.outlinks):
        connection.execute(delete(table).where(table.c.run_id == run_id))
    finding = {
        "run_id": run_id,
        "subject": f"run {run_id}",
        "kind": PRUNED,
        "detail": f"its answers were pruned on {day}; its verdicts and the evidence of failures are kept",
    }
    connection.execute(insert(schema.finding), finding)
