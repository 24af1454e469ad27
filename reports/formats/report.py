"""A report, from which every format is made, and the interface of a format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TypeAlias

import pandas as pd

from reports.choosing import Choice
from reports.definitions import TableDefinition
from reports.frames import Frames
from reports.languages import Spoken
from reports.tables import TABLES, tables_of


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """The tables of one run, with the run itself."""

    frames: Frames
    tables: Mapping[str, pd.DataFrame]
    choice: Choice = field(default_factory=Choice)
    spoken: Spoken = field(default_factory=Spoken)
    """The language of what people read; what is made for programs is in none."""

    @classmethod
    def of(cls, frames: Frames, choice: Choice | None = None, spoken: Spoken | None = None) -> Report:
        """The report about a run; *choice* says which part of it *frames* are."""
        return cls(frames, tables_of(frames), choice or Choice(), spoken or Spoken())

    @property
    def definitions(self) -> tuple[TableDefinition, ...]:
        """Return what the tables are, in their order."""
        return TABLES


#: The content of a file, piece by piece: that of a long table need not be in memory as a whole.
Pieces: TypeAlias = Iterable[bytes]

#: Files of a report: where each belongs in its folder, and what is in it.
Files: TypeAlias = Iterator[tuple[PurePosixPath, Pieces]]


@dataclass(frozen=True, slots=True)
class ReportFormat:
    """One format of a report."""

    name: str
    """As in `reports.vocabulary.FORMATS`."""
    paths: tuple[PurePosixPath, ...]
    """Where its files go."""
    files: Callable[[Report], Files]
    is_text: bool = True

    @property
    def is_one_file(self) -> bool:
        """True if it is a single text, which can be written to standard output."""
        return self.is_text and len(self.paths) == 1
