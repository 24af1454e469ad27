"""Check a store for damage, and for contradictions between its tables. It is only read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Table, exists, func, select

from crawler.history.latest import DERIVED, rebuild_beside
from crawler.history.triage import TriageAction, TriageTarget
from crawler.model import schema
from crawler.model.observations import (
    ChainEnd,
    CommitmentOutcome,
    MetadataOutcome,
    ObjectOutcome,
    Question,
)
from extractors.model.ark import Ark
from extractors.model.normalize import NotAnArk

_WORDS = (
    (schema.verdict.c.object, ObjectOutcome),
    (schema.verdict.c.metadata, MetadataOutcome),
    (schema.verdict.c.commitment, CommitmentOutcome),
    (schema.observation.c.question, Question),
    (schema.observation.c.chain_end, ChainEnd),
    (schema.triage.c.action, TriageAction),
    (schema.triage.c.kind, TriageTarget),
)
#: So many lines SQLite may say about damage; the first says enough.
_MOST_LINES = 20


def problems(connection: Connection) -> Iterator[str]:
    """Everything that is wrong, in words; nothing for a store that is whole.

    What follows from other tables is made again next to the store, in tables that vanish with *connection*.
    """
    damage = list(_damage(connection))
    yield from damage
    if damage:
        return
    yield from _foreign_keys(connection)
    yield from _runs(connection)
    yield from _arks(connection)
    yield from _verdicts(connection)
    unknown = list(unknown_words(connection))
    yield from unknown
    if not unknown:
        yield from _history(connection)


def _damage(connection: Connection) -> Iterator[str]:
    for (line,) in connection.exec_driver_sql(f"PRAGMA integrity_check({_MOST_LINES})"):
        if line != "ok":
            yield f"SQLite: {line}"


def _foreign_keys(connection: Connection) -> Iterator[str]:
    for table, row, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check"):
        yield f"{table} row {row}: the {parent} that it belongs to is missing"


def _runs(connection: Connection) -> Iterator[str]:
    run, provenance = schema.run.c, schema.provenance.c
    unnamed = select(run.run_id).where(~exists().where(provenance.run_id == run.run_id))
    for run_id in connection.scalars(unnamed):
        yield f"run {run_id} has no key that names it in other stores"
    unended = select(run.run_id).where(run.state == "finished", run.ended_at.is_(None))
    for run_id in connection.scalars(unended):
        yield f"run {run_id} has finished, but no moment at which it did"


def _arks(connection: Connection) -> Iterator[str]:
    ark = schema.ark.c
    for row in connection.execute(select(ark.ark_id, ark.ark, ark.naan, ark.name, ark.qualifier)):
        try:
            is_normal = (
                Ark.parse(row.ark) == Ark(row.naan, row.name, row.qualifier)
                and str(Ark.parse(row.ark)) == row.ark
            )
        except NotAnArk:
            is_normal = False
        if not is_normal:
            yield f"ark row {row.ark_id}: {row.ark!r} is not the normal form of its parts"


def unknown_words(connection: Connection) -> Iterator[str]:
    """The words in a store that are in no vocabulary of ours."""
    for column, words in _WORDS:
        for word in connection.scalars(select(column).distinct()):
            if word not in set(words):
                yield f"{column}: {word!r} is no word of its vocabulary"


def _verdicts(connection: Connection) -> Iterator[str]:
    verdict, observation = schema.verdict.c, schema.observation.c
    observed = exists().where(
        observation.run_id == verdict.run_id, observation.request_url == verdict.request_url
    )
    skipped = ObjectOutcome.SKIPPED.value
    for row in connection.execute(
        select(schema.verdict).where(verdict.object != skipped, ~observed)
    ):
        yield f"verdict {row.verdict_id} ({row.object} at {row.request_url}) has no observation to support it"
    hops = func.json_array_length(observation.hops)
    counted = select(observation.observation_id).where(
        observation.hop_count != func.max(hops - 1, 0)
    )
    for key in connection.scalars(counted):
        yield f"observation {key} counts other redirects than it has"


def _history(connection: Connection) -> Iterator[str]:
    """Make history again in temporary tables, which are before those of the store, and compare."""
    rebuild_beside(connection)
    for table in DERIVED:
        missing, superfluous = (
            _only_in(connection, table, *order) for order in (("temp", "main"), ("main", "temp"))
        )
        if missing or superfluous:
            differences = [
                *(f"lacks {row}" for row in missing),
                *(f"has {row}" for row in superfluous),
            ]
            yield f"{table.name} is not what the runs amount to: {'; '.join(differences)}"


def _only_in(
    connection: Connection, table: Table, one: str, other: str
) -> Sequence[tuple[Any, ...]]:
    """A few rows, without their keys, that only one of the two databases has."""
    keys = {column.name for column in table.primary_key if not column.foreign_keys}
    columns = ", ".join(column.name for column in table.columns if column.name not in keys)
    query = f"SELECT {columns} FROM {one}.{table.name} EXCEPT SELECT {columns} FROM {other}.{table.name} LIMIT 2"
    return [tuple(row) for row in connection.exec_driver_sql(query)]
