"""Records as rows of the store, and records out of them: a column has the name of the field whose value it holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar, get_type_hints

from cattrs import Converter
from sqlalchemy import Table

from crawler.model import schema
from crawler.model.observations import Observation
from extractors.mentions.mention import Mention
from extractors.model.ark import Ark
from extractors.wraps.rules import Confidence

T = TypeVar("T")


def row_of(record: Any, table: Table, **others: Any) -> dict[str, Any]:
    """The row of *record* in *table*; *others* are the columns that are not fields of it, or not as they are there."""
    kind: Any = type(record)
    writers = _writers(kind, table)
    return {name: write(getattr(record, name)) for name, write in writers.items() if name not in others} | others


def record_of(kind: type[T], row: Any, **others: Any) -> T:
    """The record of a *kind* that is in a row; *others* are fields that are no columns, or not as they are there."""
    names: tuple[str, ...] = _fields(kind)  # type: ignore[arg-type]
    values = {name: getattr(row, name) for name in names if name in row._fields}
    record: T = _converter().structure(values | others, kind)
    return record


def ark_of(row: Any) -> Ark:
    """The ARK of a row that has its parts."""
    return Ark(row.naan, row.name, row.qualifier)


def observation_of(row: Any) -> Observation:
    """The observation that is in a row, with its ARK."""
    return record_of(Observation, row, ark=ark_of(row), end=row.chain_end)


def mention_of(row: Any) -> Mention:
    """The mention that is in a row, with its ARK."""
    return record_of(Mention, row, ark=ark_of(row), confidence=Confidence[row.confidence.upper()])


def observation_row(observation: Observation, run_id: int, ark_id: int) -> dict[str, Any]:
    """The row of an observation."""
    hop_count = max(len(observation.hops) - 1, 0)
    others = {"run_id": run_id, "ark_id": ark_id, "chain_end": observation.end.value, "hop_count": hop_count}
    return row_of(observation, schema.observation, **others)


@cache
def _writers(kind: Any, table: Table) -> dict[str, Callable[[Any], Any]]:
    """What makes the value of a column of a field, or a property, of the same name."""
    hints = get_type_hints(kind)
    return {
        column.name: _converter().get_unstructure_hook(hints.get(column.name, Any))
        for column in table.columns
        if column.name in hints or hasattr(kind, column.name)
    }


@cache
def _fields(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


@cache
def _converter() -> Converter:
    converter = Converter(detailed_validation=False, forbid_extra_keys=True)
    converter.register_structure_hook(Ark, lambda ark, _: ark)  # it has columns of its own
    return converter
