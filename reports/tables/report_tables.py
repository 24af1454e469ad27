"""Every table of a report, in its order. Each is defined once, next to the function that makes it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path

import pandas as pd

from crawler.model.registry import cache_folder
from crawler.model.registry import load as load_registry
from extractors.model.errors import ArkauditError
from reports.languages import LanguageChoice
from reports.store.frames import Frames, load_frames
from reports.store.inventory import read_inventory
from reports.tables import (
    actions,
    inventory,
    known,
    listings,
    overviews,
    pairs,
    persistence,
    politeness,
    services,
    summary,
)
from reports.tables.filters import Choice


class Tables(Mapping[str, pd.DataFrame]):
    """The tables of one run, by name, in the order of `TABLES`: each is made when it is first asked for.

    It stays until `let_go` is called, and is made again when it is asked for again.
    """

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._made: dict[str, pd.DataFrame] = {}

    def __getitem__(self, name: str) -> pd.DataFrame:
        if name not in self._made:
            self._made[name] = _BY_NAME[name].of(self._frames)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_BY_NAME)

    def __len__(self) -> int:
        return len(_BY_NAME)

    def let_go(self, name: str) -> None:
        """Forget a table, so that its memory is free."""
        self._made.pop(name, None)


TABLES = (
    summary.SUMMARY,
    known.CHANGES,
    actions.CAUSES,
    known.KNOWN_PROBLEMS,
    inventory.INVENTORY,
    services.SERVICES,
    overviews.NAANS,
    overviews.SHOULDERS,
    overviews.RESOLVERS,
    services.SPELLING_TABLE,
    overviews.DOCUMENTS,
    overviews.COLLECTIONS,
    listings.REPAIRS,
    pairs.GROUPS,
    politeness.HOSTS,
    politeness.LEFT_OUT,
    listings.FINDINGS,
    actions.FAILURES,
    actions.CORRECTIONS,
    listings.ARKS,
    listings.CITATIONS,
    listings.REQUESTS,
    *persistence.OVER_TIME,
)
_BY_NAME = {table.name: table for table in TABLES}


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """The tables of one run, with the run itself."""

    frames: Frames
    tables: Tables
    """Each is made when it is first asked for; a long one may be made again."""
    choice: Choice = field(default_factory=Choice)
    language_choice: LanguageChoice = field(default_factory=LanguageChoice)
    """The language of what people read; what is made for programs is in none."""

    @classmethod
    def of(cls, frames: Frames, choice: Choice | None = None, language_choice: LanguageChoice | None = None) -> Report:
        """The report about a run; *choice* says which part of it *frames* are."""
        return cls(frames, Tables(frames), choice or Choice(), language_choice or LanguageChoice())


# A report for a notebook: the frames of a store, and every table that the report has.


class UnknownTable(ArkauditError, KeyError):
    """Raised by `AuditFrames.table` for a name that no table of the report has."""

    __str__ = Exception.__str__  # a KeyError shows its text in quotes


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AuditFrames(Frames):
    """The frames of an audit, and the tables that a report makes of them."""

    def table(self, name: str) -> pd.DataFrame:
        """Return the table *name* of the report, with the columns that ``docs/data-dictionary.md`` describes.

        Raises `UnknownTable` with the names that there are.
        """
        tables = Tables(self)
        if name in tables:
            return tables[name]
        meant = get_close_matches(name, tables, 1)
        hint = f"did you mean {meant[0]!r}?" if meant else f"there are: {', '.join(tables)}"
        raise UnknownTable(f"the report has no table {name!r}; {hint}")


def load_report(
    store: str | os.PathLike[str],
    *,
    run: int | None = None,
    since: int | None = None,
    inventory: str | os.PathLike[str] | None = None,
) -> AuditFrames:
    """Return the frames of the audit in *store*, as `arkaudit report` reads them.

    That is its current state: the newest finished run that has read a document, with what later checks have found of
    its ARKs. Nothing is written.

    Args:
        store: the file that `arkaudit run` or `check --store` has written.
        run: the number of a run, to see it alone.
        since: the number of an earlier run to compare with.
        inventory: a file with an institution's own ARKs (CSV), to hold the audit against.

    Returns:
        Frames whose attributes are DataFrames with typed columns: ``arks``, ``mentions``, ``documents``,
        ``observations``, ``hops``, ``verdicts`` … Each table of the report is had by its name: ``.table("naans")``.

    Raises:
        reports.store.frames.StoreUnreadable: when there is no such store, or no such run in it.
        crawler.store.StoreError: when the store is damaged.
        reports.store.inventory.InventoryUnreadable: when the inventory can't be read.
    """
    listed = None if inventory is None else read_inventory(Path(inventory))
    registry = load_registry(cache_folder())
    frames = load_frames(Path(store), run_id=run, since=since, registry=registry, inventory=listed)
    return AuditFrames(**{field.name: getattr(frames, field.name) for field in fields(Frames)})
