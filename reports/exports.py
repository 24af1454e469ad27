"""A report as files in a folder, all of them or none; or as one text. The same run gives the same bytes."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

import pandas as pd
from filelock import lock_descriptor

from extractors.documents import unwritable
from extractors.model.errors import ArkauditError
from reports.formats.badge import BADGE
from reports.formats.json_document import JSON
from reports.formats.junit import JUNIT, SARIF
from reports.formats.markdown_report import MARKDOWN
from reports.formats.report import Failed, Files, Report, ReportFormat, written
from reports.formats.table_files import CSV, PARQUET, csv_text
from reports.formats.workbook import XLSX
from reports.languages.display import defused
from reports.page.document import PagePart, page_pieces, part_of
from reports.store.frames import Frames
from reports.tables.definitions import TableDefinition
from reports.tables.headline import VERDICT_TABLES
from reports.vocabulary import DEFAULT_FORMATS, FORMAT_MODULES

# Every format, by name.


INDEX = PurePosixPath("index.html")


class _PageWriter:
    """The page on its way: of each table it keeps what the page holds of it."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._parts: dict[str, PagePart] = {}

    def add(self, definition: TableDefinition, table: pd.DataFrame) -> Files:
        self._parts[definition.name] = part_of(definition, table, self._report.frames)
        yield from ()

    def end(self) -> Files:
        report = self._report
        yield (
            INDEX,
            page_pieces(
                report.frames, self._parts, choice=report.choice.words, spoken=report.spoken
            ),
        )


HTML = ReportFormat("html", (INDEX,), _PageWriter)

FORMATS = {
    form.name: form for form in (HTML, CSV, MARKDOWN, JSON, XLSX, PARQUET, JUNIT, BADGE, SARIF)
}


__all__ = ["ReportPaths", "ReportUnwritable", "check_out", "csv_text", "defused", "write_report"]


#: How the folders begin in which a report is made.
_PREFIX = ".arkaudit-report-"


class ReportUnwritable(ArkauditError):
    """Raised by `write_report` when the files of a report can't be put where they belong."""


@dataclass(frozen=True, slots=True)
class ReportPaths:
    """The paths of a report's files."""

    index: Path | None
    """The page, where one was asked for."""
    tables: Mapping[str, Path]
    """The CSV files, likewise."""
    files: tuple[Path, ...]
    failed: Mapping[str, Exception] = field(default_factory=dict)
    """What went wrong with formats that could not be made, by their names; none of their files is there."""


def write_report(
    report: Report | Frames, out: Path, formats: Sequence[str] = DEFAULT_FORMATS
) -> ReportPaths:
    """Put a report into the folder *out*, which is made if need be; foreign files in it stay.

    Everything is first written into a folder of its own inside *out*, which is surely on the same disk, and
    then moved into place, the page last: no file is ever half written. A format that can't be made costs no other one;
    its files of an earlier report go, for they would be taken for those of this one. Raises `ReportUnwritable`, before
    anything in *out* has changed wherever that can be known.
    """
    named = [FORMATS[name] for name in dict.fromkeys(formats)]
    wanted = sorted(
        named, key=lambda form: INDEX in form.paths
    )  # the page last, as the sign that the report is there
    check_out(out, formats)
    whole = report if isinstance(report, Report) else Report.of(report)
    failed: Failed = {}
    lacking = (relative for form in wanted if form.name in failed for relative in form.paths)
    write_files(out, written(whole, wanted, keeping=VERDICT_TABLES, failed=failed), lacking)
    places = {
        relative: out / relative
        for form in wanted
        if form.name not in failed
        for relative in form.paths
    }
    return ReportPaths(
        index=places.get(INDEX),
        tables={
            relative.stem: path for relative, path in places.items() if relative.suffix == ".csv"
        },
        files=tuple(places.values()),
        failed=failed,
    )


def write_files(out: Path, contents: Files, lacking: Iterable[PurePosixPath] = ()) -> list[Path]:
    """Put files into the folder *out*, all of them or none, and return where they are. Raises `ReportUnwritable`.

    *lacking* is looked at when all are made: those that could not be, which are not to be there.
    """
    try:
        return [out / relative for relative in _write_all(out, contents, lacking)]
    except OSError as error:
        raise ReportUnwritable(
            f"{out}: the report can't be written: {error.strerror or error}"
        ) from error


def text_of(report: Report, name: str) -> str:
    """A report as one text, for a format that is a single one. Raises ValueError for the others."""
    form = FORMATS[name]
    if not form.is_one_file:
        raise ValueError(f"{name} is more than one text")
    [(_, pieces)] = form.files(report)
    return b"".join(pieces).decode("utf-8")


def check_out(out: Path, formats: Sequence[str] = DEFAULT_FORMATS) -> None:
    """Raise `ReportUnwritable` if it can be known that no report can be put into *out*; write nothing.

    An audit asks before it sends its first request.
    """
    for name in formats:
        module = FORMAT_MODULES.get(name)
        if module is not None and find_spec(module) is None:
            raise ReportUnwritable(
                f"the format {name} needs {module}: pip install 'arkaudit[{name}]'"
            )
    places = [relative for name in formats for relative in FORMATS[name].paths]
    for folder in dict.fromkeys((out, *(out / relative.parent for relative in places))):
        if (why := unwritable(folder)) is not None:
            raise ReportUnwritable(why)
    for relative in places:
        if (out / relative).is_dir():
            raise ReportUnwritable(
                f"{out / relative}: is a folder, where a file of the report belongs"
            )


def _write_all(out: Path, contents: Files, lacking: Iterable[PurePosixPath]) -> list[PurePosixPath]:
    is_new = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    try:
        _clear_away_what_was_left(out)
        with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=out) as folder, _held(folder):
            staged = list(_staged(Path(folder), contents))
            without = set(lacking)
            places = [relative for relative in staged if relative not in without]
            for relative in without:
                (out / relative).unlink(missing_ok=True)
            for relative in places:
                (out / relative).parent.mkdir(exist_ok=True)
                Path(folder, relative).replace(out / relative)
    except OSError:
        if is_new:
            shutil.rmtree(out, ignore_errors=True)
        raise
    return places


def _clear_away_what_was_left(out: Path) -> None:
    """Remove what those have left in *out* who were killed while they wrote; who still writes holds their folder."""
    for folder in out.glob(f"{_PREFIX}*/"):
        with suppress(OSError), _held(folder) as is_ours:
            if is_ours:
                shutil.rmtree(folder)


@contextmanager
def _held(folder: Path | str) -> Iterator[bool]:
    """Hold the lock of *folder*, which ends with this process, if no other process does."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        yield lock_descriptor(descriptor, blocking=False)
    finally:
        os.close(descriptor)


def _staged(folder: Path, contents: Files) -> Iterator[PurePosixPath]:
    for relative, pieces in contents:
        (folder / relative).parent.mkdir(exist_ok=True)
        with (folder / relative).open("wb") as file:
            file.writelines(pieces)
        yield relative
