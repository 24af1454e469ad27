"""Every table of a report, in its order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path

import pandas as pd

from crawler.model.registry import load_registry
from extractors.model.errors import UserMistake
from reports.languages import LanguageChoice
from reports.store.frames import Frames, load_frames
from reports.store.inventory import read_inventory
from reports.store.known_problems import read_known
from reports.tables import actions, changes, inventory, listings, overviews, persistence, services, summary
from reports.tables.definitions import table_definition
from reports.tables.filters import Choice
from reports.tables.summary import Summary, summarize


class Tables(Mapping[str, pd.DataFrame]):
    """The tables of one run by name, in the order of `TABLES`; each is computed on first access.

    A table stays in memory until `drop`, and is computed again after that.
    """

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._computed: dict[str, pd.DataFrame] = {}

    def __getitem__(self, name: str) -> pd.DataFrame:
        if name not in self._computed:
            self._computed[name] = DEFINITIONS[name].table(self._frames)
        return self._computed[name]

    def __iter__(self) -> Iterator[str]:
        return iter(DEFINITIONS)

    def __len__(self) -> int:
        return len(DEFINITIONS)

    def drop(self, name: str) -> None:
        """Drop a table from memory."""
        self._computed.pop(name, None)


#: The functions that compute the tables, by name, in the order of a report.
_FUNCTIONS: Mapping[str, Callable[[Frames], pd.DataFrame]] = {
    "summary": summary.summary,
    "changes": changes.changes,
    "causes": actions.causes,
    "inventory": inventory.inventory,
    "services": services.services,
    "naans": overviews.naans,
    "resolvers": overviews.resolvers,
    "documents": overviews.documents,
    "repairs": listings.repairs,
    "hosts": overviews.hosts,
    "failures": actions.failures,
    "arks": listings.arks,
    "citations": listings.citations,
    "survival": persistence.survival,
    "persistence": persistence.persistence,
}
DEFINITIONS = {name: table_definition(name, function) for name, function in _FUNCTIONS.items()}
TABLES = tuple(DEFINITIONS.values())


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """The tables of one run, with its frames."""

    frames: Frames
    tables: Tables
    """The tables by name; each is computed on access unless it is in memory."""
    choice: Choice = field(default_factory=Choice)
    language_choice: LanguageChoice = field(default_factory=LanguageChoice)
    """The language of human-readable output; machine-readable output is always in English."""

    @classmethod
    def from_frames(
        cls, frames: Frames, choice: Choice | None = None, language_choice: LanguageChoice | None = None
    ) -> Report:
        """Return the report on a run; *choice* describes the part of the run that *frames* contains."""
        return cls(frames, Tables(frames), choice or Choice(), language_choice or LanguageChoice())

    @property
    def summary(self) -> Summary:
        """The numbers at the beginning of the report."""
        return summarize(self.frames, self.tables)


# A report for notebooks: the frames of a store, and every table of the report.


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AuditFrames(Frames):
    """The frames of an audit, with the tables of its report."""

    def table(self, name: str) -> pd.DataFrame:
        """Return the table *name* of the report, with the columns that ``docs/data-dictionary.md`` describes.

        Raises `UserMistake` with a suggestion or the list of names.
        """
        tables = Tables(self)
        if name in tables:
            return tables[name]
        similar_names = get_close_matches(name, tables, 1)
        hint = f"did you mean {similar_names[0]!r}?" if similar_names else f"there are: {', '.join(tables)}"
        raise UserMistake(f"the report has no table {name!r}; {hint}")


def load_report(
    store: str | os.PathLike[str],
    *,
    run: int | None = None,
    since: int | None = None,
    inventory: str | os.PathLike[str] | None = None,
    known: str | os.PathLike[str] | None = None,
) -> AuditFrames:
    """Return the frames of the audit in *store*, as `arkaudit report` reads them.

    The frames hold the current state: the newest finished run that has read a document, with later checks of its
    ARKs. Nothing is written.

    Args:
        store: the file that `arkaudit run` or `check --store` has written.
        run: the number of a run, to see it alone.
        since: the number of an earlier run to compare with.
        inventory: a CSV file with an institution's own ARKs, to compare with the audit.
        known: a list of known problems (``known.csv``).

    Returns:
        Frames whose attributes are DataFrames with typed columns: ``arks``, ``mentions``, ``documents``,
        ``observations``, ``hops``, ``verdicts`` … ``.table("naans")`` returns a table of the report by its name.

    Raises:
        crawler.store.StoreUnopenable: if the store or the run does not exist.
        crawler.store.StoreError: if the store is damaged.
        extractors.model.errors.UserMistake: if one of the lists can't be read.
    """
    inventory_rows = None if inventory is None else read_inventory(Path(inventory))
    registry = load_registry()
    frames = load_frames(
        Path(store),
        run_id=run,
        since=since,
        registry=registry,
        inventory=inventory_rows,
        known_list=read_known(None if known is None else Path(known)),
    )
    return AuditFrames(**{field.name: getattr(frames, field.name) for field in fields(Frames)})
