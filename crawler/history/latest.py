"""Keeps the tables `latest` and `event` up to date, in the transaction of each change.

Both are derived from the other tables: `rebuild` makes the same rows as the updates run after run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from itertools import groupby, takewhile
from operator import itemgetter
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    bindparam,
    delete,
    exists,
    false,
    func,
    select,
    text,
    tuple_,
    union_all,
    update,
)
from sqlalchemy.dialects.sqlite import insert

from crawler.history.ark_status import (
    MISSES_EXPECTED,
    ArkState,
    ArkStatus,
    DatedVerdict,
    EventKind,
    ObjectFeatures,
    StatusPolicy,
    assess,
    commitment_to_compare,
    contacts_of,
    metadata_to_compare,
    step,
)
from crawler.history.citations import note_citations, seen_before
from crawler.history.rechecking import KnownArk
from crawler.history.run_times import moment_of_check
from crawler.model import schema
from crawler.model.observations import ACCESS, Family, ObjectOutcome, moment
from extractors.model.urls import authority_of

#: The kind of the finding that marks a pruned run.
PRUNED = "pruned"
_document, _latest, _observation = schema.document.c, schema.latest.c, schema.observation.c
_run, _verdict = schema.run.c, schema.verdict.c
# -- contacts with hosts, and the assessment of a run


def record_contacts(connection: Connection, run_id: int) -> bool:
    """Record a run's contacts with hosts, and return True if the run is suspect.

    Replaces earlier contacts of the run. Every earlier run must have been recorded.
    """
    contact = schema.contact
    connection.execute(delete(contact).where(contact.c.run_id == run_id))
    chains = union_all(
        select(_document.outcome, _document.hops).where(_document.run_id == run_id),
        select(_observation.chain_end, _observation.hops).where(_observation.run_id == run_id),
    )
    contacts = contacts_of((end, hops) for end, hops in connection.execute(chains))
    if contacts:
        connection.execute(insert(contact), [{"run_id": run_id, **asdict(contacts[host])} for host in sorted(contacts)])
    assessment = assess(contacts.values(), _runs_without_answer(connection, run_id, contacts))
    connection.execute(schema.upsert(schema.assessment, "run_id"), {"run_id": run_id, **asdict(assessment)})
    return assessment.is_suspect


def _runs_without_answer(connection: Connection, run_id: int, hosts: Iterable[str]) -> dict[str, int]:
    """Return, by host, the number of runs in a row before *run_id* without an answer, up to `MISSES_EXPECTED`."""
    contact, host_names = schema.contact.c, set(hosts)
    this_run = select(_run.started_at, _run.run_id).where(_run.run_id == run_id)
    recency = func.row_number().over(partition_by=contact.host, order_by=(_run.started_at.desc(), _run.run_id.desc()))
    earlier_contacts = (
        select(contact.host, contact.answered, recency.label("back"))
        .join(schema.run)
        .where(tuple_(_run.started_at, _run.run_id) < this_run.scalar_subquery())
        .subquery()
    )
    query = select(earlier_contacts.c.host, earlier_contacts.c.answered).where(
        earlier_contacts.c.back <= MISSES_EXPECTED
    )
    misses: dict[str, int] = {}
    rows = connection.execute(query.order_by(earlier_contacts.c.host, earlier_contacts.c.back))
    for host, host_rows in groupby(rows, key=itemgetter(0)):
        if host in host_names:
            misses[host] = sum(1 for _ in takewhile(lambda row: not row.answered, host_rows))
    return misses


#: Columns of `latest` that are written once, when an ARK is first seen.
_WRITTEN_ONCE = ("ark_id", "request_url", "host", "first_seen_at")
#: The derived tables that a pruned run keeps.
_OF_HOSTS = (schema.contact, schema.assessment)
#: The derived tables; referenced tables come first.
DERIVED = (schema.contact, schema.assessment, schema.latest, schema.event)
#: The number of verdicts processed at a time: a run of a million does not fit in memory.
_PAGE = 500
#: The columns of a status that hold moments.
_MOMENTS = ("first_strike_at", "last_strike_at", "worked_at")
_OF_VERDICT = (
    "verdict_id",
    "ark_id",
    "request_url",
    "object",
    "metadata",
    "metadata_parsed",
    "commitment",
    "commitment_parsed",
    "final_url",
)
_OF_ANSWER = ("request_url", "final_url", "at", "body_sha256", "body_complete", "similarity")


def policy_of(connection: Connection) -> StatusPolicy:
    """Return the policy for the status of ARKs in this store."""
    policy = schema.policy
    row = connection.execute(select(policy).where(policy.c.policy_id == 1)).one_or_none()
    if row is None:
        return StatusPolicy()
    return StatusPolicy(row.strikes, row.days, row.turns, row.turn_days, row.likeness)


def set_policy(connection: Connection, policy: StatusPolicy) -> None:
    """Set the policy for the status of ARKs; if it has changed, rebuild the history by it."""
    if policy == policy_of(connection):
        return
    connection.execute(schema.upsert(schema.policy, "policy_id"), {"policy_id": 1, **asdict(policy)})
    rebuild(connection)


def note_batch(connection: Connection, run_id: int, *, after: int) -> None:
    """Update the statuses from those verdicts of a run whose keys are above *after*.

    Does nothing if the run has ended or a later run was noted: then `note_verdicts` rebuilds the history.
    """
    if _is_last_under_way(connection, run_id):
        _note_verdicts(connection, run_id, after=after)


def note_verdicts(connection: Connection, run_id: int, *, is_resumed: bool = False) -> None:
    """Complete the history by the verdicts of a run, after all of them have been recorded.

    The history is rebuilt if the judging *is_resumed*, if the run has ended, or if a later run was noted.
    """
    if is_resumed or not _is_last_under_way(connection, run_id):
        rebuild(connection, noting=run_id)
    elif not _is_noted(connection, run_id):
        _note_verdicts(connection, run_id)


def forget_verdicts(connection: Connection, run_id: int) -> None:
    """Delete the verdicts of a run, and their effect on the history."""
    connection.exec_driver_sql("PRAGMA defer_foreign_keys=ON")  # of `latest`, which is rebuilt
    deletion = connection.execute(delete(schema.verdict).where(_verdict.run_id == run_id))
    for table in _OF_HOSTS:
        connection.execute(delete(table).where(table.c.run_id == run_id))
    if deletion.rowcount:
        rebuild(connection)


def is_pruned() -> ColumnElement[bool]:
    """Return the condition that a run was pruned, so that its contacts can't be derived any more."""
    finding = schema.finding.c
    return exists().where(finding.run_id == _run.run_id, finding.kind == PRUNED)


def _is_last_under_way(connection: Connection, run_id: int) -> bool:
    ended_at = connection.scalar(select(_run.ended_at).where(_run.run_id == run_id))
    return ended_at is None and not has_followers(connection, run_id)


def note_end(connection: Connection, run_id: int) -> None:
    """Update the history from an ended run, judged or not. A repetition has no effect."""
    if not _is_noted(connection, run_id):
        note_verdicts(connection, run_id)
    if has_followers(connection, run_id):
        rebuild(connection)
    else:
        note_citations(connection, run_id, policy_of(connection))


def _is_noted(connection: Connection, run_id: int) -> bool:
    return bool(connection.scalar(select(exists().where(schema.assessment.c.run_id == run_id))))


def rebuild(
    connection: Connection, *, until: int | None = None, noting: int | None = None, is_temporary: bool = False
) -> None:
    """Delete the rows of the derived tables and derive them again, run after run in the order of their starts.

    *until* is the last run to include; None includes all. The verdicts of a run count if it has ended, was noted
    before, or is *noting*. With *is_temporary*, the tables are temporary, and the store itself is unchanged.
    """
    run = schema.run
    noted_ids = {run_id for (run_id,) in connection.exec_driver_sql("SELECT run_id FROM main.assessment")} | {noting}
    pruned_ids = select(_run.run_id).where(is_pruned())
    for table in reversed(DERIVED):
        is_lasting = table.c.run_id.in_(pruned_ids) if table in _OF_HOSTS else false()
        connection.execute(delete(table).where(~is_lasting))
        if is_temporary and table in _OF_HOSTS:
            columns = ", ".join(column.name for column in table.columns)
            pruned_query = "SELECT run_id FROM main.finding WHERE kind = ?"
            copy_query = f"SELECT {columns} FROM main.{table.name} WHERE run_id IN ({pruned_query})"
            connection.exec_driver_sql(f"INSERT INTO temp.{table.name} ({columns}) {copy_query}", (PRUNED,))
    for row in connection.execute(select(run).order_by(run.c.started_at, run.c.run_id)).all():
        if row.ended_at is not None or row.run_id in noted_ids:
            _note_verdicts(connection, row.run_id, is_temporary=is_temporary)
        if row.ended_at is not None:
            note_citations(connection, row.run_id, policy_of(connection))
        if row.run_id == until:
            break


def rebuild_in_temporary_tables(connection: Connection, *, until: int | None = None) -> None:
    """Rebuild the history in temporary tables, which hide those of the store until *connection* is closed.

    The store itself is not changed.
    """
    sql_query = text("SELECT sql FROM main.sqlite_master WHERE name = :name")
    for table in DERIVED:
        sql = connection.execute(sql_query, {"name": table.name}).scalar_one()
        connection.exec_driver_sql(sql.replace("CREATE TABLE", "CREATE TEMP TABLE", 1))
    rebuild(connection, until=until, is_temporary=True)


def has_followers(connection: Connection, run_id: int) -> bool:
    """Return True if a run that began later has been noted."""
    this_run = schema.run.alias("this")
    later_run = (
        select(_run.run_id)
        .join_from(schema.run, schema.assessment)
        .join(this_run, this_run.c.run_id == run_id)
        .where(tuple_(_run.started_at, _run.run_id) > tuple_(this_run.c.started_at, this_run.c.run_id))
    )
    return bool(connection.scalar(select(later_run.exists())))


_SET_STATE = (
    update(schema.verdict).where(_verdict.verdict_id == bindparam("of_verdict")).values(state=bindparam("reached"))
)


def _note_verdicts(connection: Connection, run_id: int, *, after: int = 0, is_temporary: bool = False) -> None:
    """Update `latest`, `event` and the states of the verdicts of a run; leave the verdicts alone if *is_temporary*."""
    suspect_query = select(schema.assessment.c.is_suspect).where(schema.assessment.c.run_id == run_id)
    is_suspect = connection.scalar(suspect_query)
    if is_suspect is None:
        is_suspect = record_contacts(connection, run_id)
    policy = policy_of(connection)
    for verdicts in _verdict_pages(connection, run_id, after):
        statuses = _stored_statuses(connection, run_id, verdicts)
        answers = _answers(connection, run_id, [row.request_url for row in verdicts])
        new_ark_ids = {row.ark_id for row in verdicts if (row.ark_id, row.request_url) not in statuses}
        is_seen = _latest.ark_id.in_(new_ark_ids) & seen_before(_latest.ark_id, verdicts[0].started_at)
        seen_ids = set(connection.scalars(select(_latest.ark_id).where(is_seen)))
        rows: list[dict[str, Any]] = []
        events: list[dict[str, Any]] = []
        for row in verdicts:
            url = row.request_url
            last_row = statuses.get((row.ark_id, url))
            status_before = status_in(last_row) if last_row is not None and last_row.checked_at is not None else None
            answer = answers.get((url, row.final_url or ""), answers.get(url))
            check = check_in(row, answer, is_suspect=is_suspect)
            ark_status, shown_events = step(status_before, check, policy)
            checked_at = moment(ark_status.checked_at)
            pair = {"ark_id": row.ark_id, "request_url": url}
            status = {
                "host": authority_of(url),
                "first_seen_at": checked_at if last_row is None else last_row.first_seen_at,
                "verdict_id": row.verdict_id,
                "checked_at": checked_at,
            }
            rows.append(pair | status | _columns(ark_status))
            events += [
                {**pair, "run_id": run_id, "at": checked_at, "event": event.kind, "detail": event.detail}
                for event in shown_events
                if event.kind is not EventKind.NEW or (last_row is None and row.ark_id not in seen_ids)
            ]
        statement = insert(schema.latest)
        new_values = {name: statement.excluded[name] for name in rows[0] if name not in _WRITTEN_ONCE}
        connection.execute(
            statement.on_conflict_do_update(index_elements=["ark_id", "request_url"], set_=new_values), rows
        )
        if not is_temporary:
            states = [{"of_verdict": row["verdict_id"], "reached": row["state"]} for row in rows]
            connection.execute(_SET_STATE, states)
        if events:
            connection.execute(insert(schema.event), events)


def _verdict_pages(connection: Connection, run_id: int, last_key: int) -> Iterator[Sequence[Any]]:
    """Yield lists of the verdicts of a run with a key above *last_key*, with the times of the run."""
    query = (
        select(*(_verdict[name] for name in _OF_VERDICT), _run.started_at, _run.ended_at)
        .join_from(schema.verdict, schema.run)
        .where(_verdict.run_id == run_id, _verdict.verdict_id > bindparam("last"))
        .order_by(_verdict.verdict_id)
        .limit(_PAGE)
    )
    while rows := connection.execute(query, {"last": last_key}).all():
        yield rows
        last_key = rows[-1].verdict_id


def _stored_statuses(connection: Connection, run_id: int, verdicts: Sequence[Any]) -> dict[tuple[int, str], Row[Any]]:
    """Return the rows of `latest` for consecutive *verdicts* of a run, by key of the ARK and request URL."""
    is_same_pair = schema.at_one_url(_latest, _verdict)
    query = select(schema.latest, _verdict.object).join_from(schema.verdict, schema.latest, is_same_pair)
    is_in_page = _verdict.verdict_id.between(verdicts[0].verdict_id, verdicts[-1].verdict_id)
    rows = connection.execute(query.where(_verdict.run_id == run_id, is_in_page))
    return {(row.ark_id, row.request_url): row for row in rows}


def _answers(connection: Connection, run_id: int, request_urls: Sequence[str]) -> dict[str | tuple[str, str], Row[Any]]:
    """Return the last answers to object requests at *request_urls*.

    Each is in the result twice: by request URL, and by the pair of request URL and final URL.
    """
    columns: list[Any] = [_observation[name] for name in _OF_ANSWER]
    query = (
        select(*columns)
        .where(
            _observation.run_id == run_id, _observation.request_url.in_(request_urls), _observation.question.in_(ACCESS)
        )
        .order_by(_observation.observation_id)
    )
    last_rows: dict[str | tuple[str, str], Row[Any]] = {}
    for row in connection.execute(query):
        last_rows[row.request_url] = last_rows[row.request_url, row.final_url] = row
    return last_rows


def known_arks(connection: Connection) -> Iterator[KnownArk]:
    """Yield every ARK at every URL with its status, in the order of the store."""
    ark = schema.ark.c
    columns = (_latest.request_url, _latest.host, _latest.state, _latest.checked_at, _latest.gone_at)
    query = select(ark.ark, ark.naan, *columns).join_from(schema.latest, schema.ark)
    rows = connection.execute(query.order_by(_latest.latest_id))
    for name, naan, url, host, state, checked_at, gone_at in rows:
        yield KnownArk(name, naan, url, host, ArkState(state), _when(checked_at), gone_at is None)


# -- rows and values


def check_in(verdict: Row[Any], answer: Row[Any] | None, *, is_suspect: bool) -> DatedVerdict:
    """Return the check in a row of `verdict`; *answer* is the observation that supports the verdict, if any."""
    at = datetime.fromisoformat(moment_of_check(answer, verdict))
    outcome, features = ObjectOutcome(verdict.object), ObjectFeatures(landing=verdict.final_url)
    if outcome.family is Family.WORKS and answer is not None:
        features = replace(
            features,
            sketch=answer.similarity,
            digest=answer.body_sha256 if answer.body_complete else None,
            description=metadata_to_compare(verdict.metadata, verdict.metadata_parsed),
            promise=commitment_to_compare(verdict.commitment, verdict.commitment_parsed),
        )
    return DatedVerdict(at, outcome, is_suspect, features)


def status_in(row: Row[Any]) -> ArkStatus:
    """Return the status in a row of `latest` that is joined with the object's outcome."""
    return ArkStatus(
        state=ArkState(row.state),
        since=datetime.fromisoformat(row.since),
        reason=row.reason,
        checked_at=datetime.fromisoformat(row.checked_at),
        object=ObjectOutcome(row.object),
        strikes=row.strikes,
        **{name: _when(row._mapping[name]) for name in _MOMENTS},
        turns=tuple(map(datetime.fromisoformat, row.memory.get("turns", ()))),
        reference=ObjectFeatures(**row.memory.get("known", {})),
        last=ObjectFeatures(**(row.memory.get("last") or row.memory.get("known", {}))),
    )


def _columns(ark_status: ArkStatus) -> dict[str, Any]:
    reference, last = (
        {name: value for name, value in asdict(features).items() if value is not None}
        for features in (ark_status.reference, ark_status.last)
    )
    # Most checks show the same as the reference.
    last_features = {} if last == reference else {"last": last}
    moments = {name: getattr(ark_status, name) for name in _MOMENTS}
    return {
        "state": ark_status.state,
        "since": moment(ark_status.since),
        "reason": ark_status.reason,
        "strikes": ark_status.strikes,
        **{name: moment(at) if at else None for name, at in moments.items()},
        "memory": {"turns": [moment(turn) for turn in ark_status.turns], "known": reference} | last_features,
    }


def _when(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text is not None else None
