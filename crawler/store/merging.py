"""Brings the runs of one store into another. A run is known by its key, so that bringing it twice does no harm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Column, Connection, Table, text

from crawler.history.latest import DERIVED, rebuild
from crawler.model import schema

#: What is not copied run by run: keys of runs, ARKs, the store's policy, decisions, and what follows from the rest.
_APART = (schema.provenance, schema.ark, schema.policy, schema.triage, *DERIVED)


@dataclass(frozen=True, slots=True)
class Merged:
    """The result of bringing another store in."""

    brought: int
    """Runs that are new here."""
    known: int
    """Runs that were here already."""
    unended: int
    """Runs that are still going on there, or were cut off, and stay there."""
    decisions: int = 0
    """Decisions about known problems that are new here, or later than ours about the same."""


def merge(connection: Connection, *, at: str) -> Merged:
    """Copy the runs of the database ``other``, which is attached to *connection*, and make history again.

    All rows get keys of their own here; ARKs are the same by their normal form. The transaction is the caller's.
    """
    runs = connection.exec_driver_sql(
        "SELECT run.run_id, provenance.uuid, run.ended_at IS NOT NULL,"
        " EXISTS (SELECT 1 FROM main.provenance AS ours WHERE ours.uuid = provenance.uuid)"
        " FROM other.run JOIN other.provenance USING (run_id) ORDER BY run.started_at, run.run_id"
    ).all()
    new = [run_id for run_id, _, has_ended, is_known in runs if has_ended and not is_known]
    if new:
        _copy(connection, new, at)
        rebuild(connection)
    known_count = sum(bool(is_known) for *_, is_known in runs)
    return Merged(len(new), known_count, len(runs) - known_count - len(new), _bring_decisions(connection))


def _bring_decisions(connection: Connection) -> int:
    """Copy what was decided there: of two decisions of one kind about the same, the later holds."""
    columns = [column.name for column in schema.triage.columns if not column.primary_key]
    names = ", ".join(columns)
    done = connection.exec_driver_sql(
        f"INSERT INTO main.triage ({names}) SELECT {names} FROM other.triage WHERE true"
        " ON CONFLICT (action, kind, target) DO UPDATE SET"
        f" {', '.join(f'{name} = excluded.{name}' for name in columns)} WHERE excluded.at > main.triage.at"
    )
    return done.rowcount


def _copy(connection: Connection, runs: Sequence[int], at: str) -> None:
    connection.exec_driver_sql(
        "INSERT INTO main.ark (ark, naan, shoulder, name, qualifier)"
        " SELECT ark, naan, shoulder, name, qualifier FROM other.ark WHERE true ON CONFLICT DO NOTHING"
    )
    offsets: dict[str, int] = {}
    wanted = f"run_id IN ({', '.join(map(str, runs))})"
    for table in _copied():
        key = _key(table)
        offsets[table.name] = connection.execute(
            text(f"SELECT coalesce(max({key}), 0) FROM main.{table.name}")
        ).scalar_one()
        values = ", ".join(_value(table, column, offsets) for column in table.columns)
        names = ", ".join(column.name for column in table.columns)
        which = (
            wanted
            if "run_id" in table.columns
            else f"document_id IN (SELECT document_id FROM other.document WHERE {wanted})"
        )
        connection.exec_driver_sql(
            f"INSERT INTO main.{table.name} ({names}) SELECT {values} FROM other.{table.name} AS theirs WHERE {which}"
        )
    connection.execute(
        text(
            "INSERT INTO main.provenance (run_id, uuid, imported_at)"
            f" SELECT run_id + {offsets['run']}, uuid, :at FROM other.provenance WHERE {wanted}"
        ),
        {"at": at},
    )


def _copied() -> Iterator[Table]:
    """The tables that are copied, each after those that it refers to."""
    yield from (table for table in schema.tables.sorted_tables if table not in _APART)


def _key(table: Table) -> str:
    [column] = table.primary_key
    return column.name


def _value(table: Table, column: Column[object], offsets: dict[str, int]) -> str:
    """Return what a column becomes here: the same, or the key that the row it refers to has here."""
    referred = next((key.column.table.name for key in column.foreign_keys), None)
    if referred == "ark":
        return (
            "(SELECT ours.ark_id FROM main.ark AS ours JOIN other.ark AS one ON one.ark = ours.ark"
            f" WHERE one.ark_id = theirs.{column.name})"
        )
    if column.primary_key and referred is None:
        referred = table.name
    return f"theirs.{column.name} + {offsets[referred]}" if referred else f"theirs.{column.name}"
