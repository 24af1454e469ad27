"""All runs of a store up to one of them, as typed frames: every check, every status, every host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from sqlalchemy import ColumnElement, Connection, func, select, tuple_

from crawler.history.ark_status import ArkState, StatusPolicy
from crawler.history.latest import has_followers, policy_of, rebuild_beside
from crawler.model import schema
from crawler.model.observations import CommitmentOutcome, MetadataOutcome, ObjectOutcome
from reports.store.run_queries import looked_through
from reports.store.typed_columns import (
    INTEGER,
    MOMENT,
    TEXT,
    TRUTH,
    WORD,
    Dtype,
    frame_from,
    frame_of,
    vocabulary,
)


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """All runs up to the one that is reported. An ARK at one URL is a *pair*, known by a number.

    Two are never equal, so that what several tables are made from can be computed once for each.
    """

    policy: StatusPolicy
    runs: pd.DataFrame
    """In order; those that did not begin to be judged left out."""
    checks: pd.DataFrame
    """One row per verdict, by pair and then in the order of the runs; `run` is the place of its run in `runs`."""
    standings: pd.DataFrame
    """One row per pair: its status, and what its last verdict says of description and commitment."""
    contacts: pd.DataFrame
    """One row per run and host; `run` as in `checks`."""


RUNS: Mapping[str, Dtype] = {
    "run_id": INTEGER,
    "started_at": MOMENT,
    "command": TEXT,
    "state": TEXT,
    "is_suspect": TRUTH,
    "reason": TEXT,
}
CHECKS: Mapping[str, Dtype] = {"pair": INTEGER, "run": INTEGER, "object": vocabulary(ObjectOutcome)}
STANDINGS: Mapping[str, Dtype] = {
    "pair": INTEGER,
    "ark_id": INTEGER,
    "ark": TEXT,
    "naan": WORD,
    "host": WORD,
    "state": vocabulary(ArkState),
    "checked_at": MOMENT,
    "first_seen_at": MOMENT,
    "gone_at": MOMENT,
    "object": vocabulary(ObjectOutcome),
    "metadata": vocabulary(MetadataOutcome),
    "commitment": vocabulary(CommitmentOutcome),
    "level": WORD,
}
CONTACTS: Mapping[str, Dtype] = {
    "run": INTEGER,
    "host": WORD,
    "answered": INTEGER,
    "met": INTEGER,
    "silent": INTEGER,
    "first_at": MOMENT,
    "last_at": MOMENT,
    "failure": TEXT,
}


def no_timeline() -> Timeline:
    """The timeline of a store without runs."""
    empty = (frame_of(dtypes, []) for dtypes in (RUNS, CHECKS, STANDINGS, CONTACTS))
    return Timeline(StatusPolicy(), *empty)


def timeline(connection: Connection, run_id: int | None) -> Timeline:
    """All that happened up to and with a run; later runs are as if they had not been.

    The status after an earlier run is made again in temporary tables of the connection.
    """
    if run_id is None:
        return no_timeline()
    if has_followers(connection, run_id):
        rebuild_beside(connection, until=run_id)
    run, assessment = schema.run, schema.assessment
    this = select(run.c.started_at, run.c.run_id).where(run.c.run_id == run_id).scalar_subquery()
    runs = frame_from(
        connection,
        RUNS,
        select(
            run.c.run_id,
            run.c.started_at,
            run.c.command,
            run.c.state,
            assessment.c.is_suspect,
            assessment.c.reason,
        )
        .join_from(run, assessment)
        .where(tuple_(run.c.started_at, run.c.run_id) <= this)
        .order_by(run.c.started_at, run.c.run_id),
    )
    numbers = {int(key): at for at, key in enumerate(runs["run_id"])}
    return Timeline(
        policy_of(connection),
        runs,
        _checks(connection, numbers),
        _statuses(connection),
        _contacts(connection, numbers),
    )


def _checks(connection: Connection, numbers: Mapping[int, int]) -> pd.DataFrame:
    verdict, latest = schema.verdict, schema.latest
    together = (latest.c.ark_id == verdict.c.ark_id) & (
        latest.c.request_url == verdict.c.request_url
    )
    query = select(latest.c.latest_id, verdict.c.run_id, verdict.c.object).join_from(
        verdict, latest, together
    )
    checks = frame_from(
        connection, CHECKS, query.where(looked_through(verdict.c.run_id).in_(numbers))
    )
    return _placed(checks, numbers).sort_values(["pair", "run"], ignore_index=True)


def _statuses(connection: Connection) -> pd.DataFrame:
    latest, verdict, ark = schema.latest.c, schema.verdict.c, schema.ark.c
    columns: Sequence[ColumnElement[Any]] = (
        latest.latest_id,
        *(latest.ark_id, ark.ark, ark.naan, latest.host, latest.state),
        *(latest.checked_at, latest.first_seen_at, latest.gone_at),
        *(verdict.object, verdict.metadata, verdict.commitment),
        func.json_extract(verdict.commitment_parsed, "$.level"),
    )
    query = select(*columns).join_from(schema.latest, schema.ark)
    query = query.outerjoin(schema.verdict, verdict.verdict_id == latest.verdict_id)
    return frame_from(connection, STANDINGS, query.order_by(latest.latest_id))


def _contacts(connection: Connection, numbers: Mapping[int, int]) -> pd.DataFrame:
    contact = schema.contact.c
    columns = (contact.run_id, *(contact[name] for name in CONTACTS if name != "run"))
    contacts = frame_from(connection, CONTACTS, select(*columns).where(contact.run_id.in_(numbers)))
    return _placed(contacts, numbers).sort_values(["host", "run"], ignore_index=True)


def _placed(rows: pd.DataFrame, numbers: Mapping[int, int]) -> pd.DataFrame:
    """The rows with the place of their run in its stead."""
    return rows.assign(run=rows["run"].map(numbers).astype("int16"))
