"""A report, from which every format is made, and the interface of a format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import PurePosixPath
from typing import Protocol, TypeAlias

import pandas as pd

from extractors.model.errors import ArkauditError
from reports.languages import Spoken
from reports.store.frames import Frames
from reports.tables.definitions import TableDefinition
from reports.tables.filters import Choice
from reports.tables.report_tables import TABLES, Tables


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """The tables of one run, with the run itself."""

    frames: Frames
    tables: Mapping[str, pd.DataFrame]
    """Each is made when it is first asked for; a long one may be made again."""
    choice: Choice = field(default_factory=Choice)
    spoken: Spoken = field(default_factory=Spoken)
    """The language of what people read; what is made for programs is in none."""

    @classmethod
    def of(
        cls, frames: Frames, choice: Choice | None = None, spoken: Spoken | None = None
    ) -> Report:
        """The report about a run; *choice* says which part of it *frames* are."""
        return cls(frames, Tables(frames), choice or Choice(), spoken or Spoken())

    @property
    def definitions(self) -> tuple[TableDefinition, ...]:
        """Return what the tables are, in their order."""
        return TABLES

    def let_go(self, name: str) -> None:
        """Forget a table that can be made again, so that its memory is free."""
        if isinstance(self.tables, Tables):
            self.tables.let_go(name)


#: The content of a file, piece by piece: that of a long table need not be in memory as a whole.
Pieces: TypeAlias = Iterable[bytes]

#: Files of a report: where each belongs in its folder, and what is in it.
Files: TypeAlias = Iterator[tuple[PurePosixPath, Pieces]]


class Writer(Protocol):
    """A report on its way into one format: it is given each table in turn, and need not keep it."""

    def add(self, definition: TableDefinition, table: pd.DataFrame) -> Files:
        """Return the files that are made of one table; they are written before the next table is made."""

    def end(self) -> Files:
        """Return the files that are made of all of them."""


@dataclass(frozen=True, slots=True)
class OfEachTable:
    """The writer of a format that is one file a table."""

    made: Callable[[TableDefinition, pd.DataFrame], tuple[PurePosixPath, Pieces]]

    def add(self, definition: TableDefinition, table: pd.DataFrame) -> Files:
        """Return the file of a table."""
        yield self.made(definition, table)

    def end(self) -> Files:
        """Return nothing: all files are there."""
        yield from ()


@dataclass(frozen=True, slots=True)
class OfWholeReport:
    """The writer of a format that looks at several tables at once."""

    report: Report
    made: Callable[[Report], Files]

    def add(self, definition: TableDefinition, table: pd.DataFrame) -> Files:
        """Return nothing: the report has its tables when they are looked for."""
        yield from ()

    def end(self) -> Files:
        """Return all files."""
        yield from self.made(self.report)


@dataclass(frozen=True, slots=True)
class ReportFormat:
    """One format of a report."""

    name: str
    """As in `reports.vocabulary.FORMATS`."""
    paths: tuple[PurePosixPath, ...]
    """Where its files go."""
    writer: Callable[[Report], Writer]
    needs: frozenset[str] = frozenset()
    """The tables that are asked for once more when all of them have been made."""
    is_text: bool = True

    @property
    def is_one_file(self) -> bool:
        """True if it is a single text, which can be written to standard output."""
        return self.is_text and len(self.paths) == 1

    def files(self, report: Report) -> Files:
        """Return the files of a report in this format alone."""
        return written(report, [self])


def one_file(
    name: str,
    path: str,
    made: Callable[[Report], str | bytes],
    needs: Iterable[str] = (),
    *,
    is_text: bool = True,
) -> ReportFormat:
    """Return a format that is one file, which is *made* of a whole report."""
    place = PurePosixPath(path)

    def files(report: Report) -> Files:
        content = made(report)
        yield (
            place,
            [
                content
                if isinstance(content, bytes)
                else content.encode("utf-8", "backslashreplace")
            ],
        )

    return ReportFormat(
        name, (place,), lambda report: OfWholeReport(report, files), frozenset(needs), is_text
    )


#: What went wrong with formats that could not be made, by their names.
Failed: TypeAlias = dict[str, Exception]


def written(
    report: Report,
    formats: Iterable[ReportFormat],
    keeping: Iterable[str] = (),
    failed: Failed | None = None,
) -> Files:
    """Return the files of a report in several formats: what is made of one table after the other, then the others.

    A table that no format needs any more is let go, unless it is one of those to keep. With *failed*, a format that
    can't be made is noted there and costs no other one; what there is of it is to be thrown away.
    """
    wanted = list(formats)
    writers = [(form.name, form.writer(report)) for form in wanted]
    kept = frozenset(keeping).union(*(form.needs for form in wanted))
    for definition in report.definitions:
        for name, writer in writers:
            yield from _attempted(
                name, partial(writer.add, definition, report.tables[definition.name]), failed
            )
        if definition.name not in kept:
            report.let_go(definition.name)
    for name, writer in writers:
        yield from _attempted(name, writer.end, failed)


def _attempted(name: str, made: Callable[[], Files], failed: Failed | None) -> Files:
    """Yield the files of a format; what goes wrong with one of them is noted in *failed*, if given."""
    if failed is None:
        yield from made()
    elif name not in failed:
        with _noted(name, failed):
            for path, pieces in made():
                yield path, _attempted_pieces(name, pieces, failed)


def _attempted_pieces(name: str, pieces: Pieces, failed: Failed) -> Iterator[bytes]:
    with _noted(name, failed):
        yield from pieces


@contextmanager
def _noted(name: str, failed: Failed) -> Iterator[None]:
    try:
        yield
    except (OSError, ArkauditError):  # of a disk or a store: no format can be made
        raise
    except Exception as problem:
        failed[name] = problem


#: What a format needs that looks into every table.
EVERY_TABLE = frozenset(table.name for table in TABLES)
