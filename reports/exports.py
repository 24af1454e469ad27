"""Write a report as files in a folder, or return it as one text. The same run gives the same bytes."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name

from crawler.model.durable_files import make_folder, put_in_place
from extractors.documents import unwritable_reason
from extractors.model.errors import ArkauditError, UserMistake
from extractors.model.files import is_file, is_folder, path_exists
from reports.formats.json_document import json_report
from reports.formats.junit import junit, sarif
from reports.formats.markdown_report import SHOWN, markdown
from reports.formats.table_files import TABLE_FORMATS, workbook_bytes
from reports.page.document import NEEDED_TABLES, page_pieces
from reports.store.frames import Frames
from reports.tables.report_tables import TABLES, Report
from reports.tables.summary import SUMMARY_TABLES
from reports.tables.wording import DEFAULT_FORMATS, FORMAT_MODULES, PLUGIN_FORMATS

INDEX = "index.html"
#: The tables that a format needs if it reads every table.
_EVERY_TABLE = [table.name for table in TABLES]


@dataclass(frozen=True, slots=True)
class ReportFormat:
    """One format of a report."""

    paths: tuple[str, ...]
    """The paths of its files, relative to the folder of the report."""
    write: Callable[[Report, Path], Iterator[None]]
    """Writes the files into a folder; yields after each of `TABLES`, so that its memory can be freed."""
    needs: Iterable[str] = ()
    """The tables that must stay in memory, because the format reads them again at its end."""
    text: Callable[[Report], bytes] | None = None
    """Returns the report as one text in UTF-8, for standard output; None for formats of several files."""


def _format_per_table(name: str) -> ReportFormat:
    """Return the format *name* of `TABLE_FORMATS`, which writes one file per table."""
    path_pattern, write = TABLE_FORMATS[name]

    def write_all(report: Report, folder: Path) -> Iterator[None]:
        (folder / path_pattern).parent.mkdir(exist_ok=True)
        for definition in TABLES:
            write(folder / path_pattern.format(definition.name), definition, report.tables[definition.name])
            yield

    return ReportFormat(tuple(path_pattern.format(table.name) for table in TABLES), write_all)


def _format_in_one_file(
    path: str, pieces: Callable[[Report], Iterator[bytes | None]], needs: Iterable[str] = (), *, is_text: bool = True
) -> ReportFormat:
    """Return a format of one file at *path*, whose content is the concatenation of *pieces*.

    A piece of None tells that the next of `TABLES` is no longer read and can be dropped from memory. *needs* are the
    tables to keep. Unless *is_text*, the format can't be written to standard output.
    """

    def write_all(report: Report, folder: Path) -> Iterator[None]:
        with (folder / path).open("wb") as file:
            for piece in pieces(report):
                if piece is None:
                    yield
                else:
                    file.write(piece)

    return ReportFormat(
        (path,), write_all, needs, (lambda report: b"".join(filter(None, pieces(report)))) if is_text else None
    )


def text_format(path: str, text: Callable[[Report], str], needs: Iterable[str] = ()) -> ReportFormat:
    """Return a format that writes the result of *text* to the file *path*; it reads the tables *needs*."""
    return _format_in_one_file(path, lambda report: iter([text(report).encode("utf-8", "backslashreplace")]), needs)


FORMATS = {
    "html": _format_in_one_file(INDEX, page_pieces, NEEDED_TABLES),
    "csv": _format_per_table("csv"),
    "csv-bom": _format_per_table("csv-bom"),
    "md": text_format("report.md", markdown, SHOWN),
    "json": text_format("report.json", json_report, _EVERY_TABLE),
    "xlsx": _format_in_one_file(
        "report.xlsx", lambda report: iter([workbook_bytes(report)]), _EVERY_TABLE, is_text=False
    ),
    "parquet": _format_per_table("parquet"),
    "junit": text_format("junit.xml", junit),
    "sarif": text_format("report.sarif", sarif, ("failures",)),
    **{name: resolve_name(place) for name, place in PLUGIN_FORMATS.items()},
}

#: The prefix of temporary folders in which a report is written. They are locked, to recognize those of a killed process.
_SCRATCH_PREFIX = ".arkaudit-report-"
_RESERVED_BYTES = 2**22


@dataclass(frozen=True, slots=True)
class ReportPaths:
    """The paths of a report's files."""

    index: Path | None
    """The path of the HTML page, or None if it was not written."""
    files: tuple[Path, ...]
    failed: Mapping[str, Exception]
    """The error of each format that failed; the files of these formats are removed."""


def write_report(report: Report | Frames, out: Path, formats: Sequence[str] = DEFAULT_FORMATS) -> ReportPaths:
    """Write a report into the folder *out*. Other files in this folder stay.

    All files are first written to a temporary folder inside *out*, on the same disk, and then moved into place, the
    page last: no file is ever half written. If one format fails, the others are still written, and files of the failed
    format from an earlier report are removed. Raises `UserMistake`, if possible before any file changes.
    """
    # The page comes last: once it exists, the report is complete.
    format_names = sorted(dict.fromkeys(formats), key=lambda name: name == "html")
    check_out(out, format_names)
    with staging_folder(out) as folder:
        full_report = report if isinstance(report, Report) else Report.from_frames(report)
        failed = write_formats(full_report, {name: FORMATS[name] for name in format_names}, folder, SUMMARY_TABLES)
        for path in (path for name in failed for path in FORMATS[name].paths):
            for parent in (folder, out):
                (parent / path).unlink(missing_ok=True)
    written_files = [out / path for name in format_names if name not in failed for path in FORMATS[name].paths]
    return ReportPaths(
        index=out / INDEX if out / INDEX in written_files else None, files=tuple(written_files), failed=failed
    )


def write_formats(
    report: Report, formats: Mapping[str, ReportFormat], folder: Path, kept_tables: Iterable[str]
) -> dict[str, Exception]:
    """Write a report in several formats at once, table by table; return the errors by format.

    A table is dropped from memory after the last format that needs it, unless *kept_tables* names it.
    """
    failed: dict[str, Exception] = {}
    writers = {name: report_format.write(report, folder) for name, report_format in formats.items()}
    kept_names = {*kept_tables}.union(*(report_format.needs for report_format in formats.values()))
    for table in (*TABLES, None):
        for name, writer in writers.items():
            try:
                next(writer, None)
            # An error of the disk or the store affects every format.
            except (OSError, ArkauditError):
                raise
            except Exception as error:
                failed[name] = error
        if table is not None and table.name not in kept_names:
            report.tables.drop(table.name)
    return failed


def text_of(report: Report, name: str) -> str:
    """Return a report in the format *name* of `FORMATS` as text. Raises ValueError for formats without one text."""
    text = FORMATS[name].text
    if text is None:
        raise ValueError(f"{name} is more than one text")
    return str(text(report), "utf-8")


def check_out(out: Path, formats: Sequence[str] = DEFAULT_FORMATS) -> None:
    """Raise `UserMistake` if a report can't be written to *out*; write nothing.

    An audit calls this before its first request.
    """
    for name in formats:
        module = FORMAT_MODULES.get(name)
        if module is not None and find_spec(module) is None:
            raise UserMistake(f"the format {name} needs {module}: pip install 'arkaudit[{name}]'")
    relative_paths = [relative_path for name in formats for relative_path in FORMATS[name].paths]
    for folder in dict.fromkeys((out, *((out / relative_path).parent for relative_path in relative_paths))):
        if (reason := unwritable_reason(folder)) is not None:
            raise UserMistake(reason)
    for relative_path in relative_paths:
        if is_folder(out / relative_path):
            raise UserMistake(f"{out / relative_path}: is a folder, where a file of the report belongs")


@contextmanager
def staging_folder(out: Path) -> Iterator[Path]:
    """Yield a temporary folder inside *out*; at the end, move its files to *out*, the page last.

    If the block fails, nothing is moved. Raises `UserMistake` for errors of the disk.
    """
    is_new = not path_exists(out)
    try:
        make_folder(out)
        _clear_scratch_folders(out)
        with _scratch_folder(out) as folder:
            yield folder
            files = [path for path in folder.rglob("*") if is_file(path)]
            files.sort(key=lambda path: (path.name == INDEX, path))
            moves = [(file, out / file.relative_to(folder)) for file in files]
            for _, path in moves:
                make_folder(path.parent)
            put_in_place(*moves)
    except OSError as error:
        if is_new:
            shutil.rmtree(out, ignore_errors=True)
        raise UserMistake(f"{out}: the report can't be written: {error.strerror or error}") from error


@contextmanager
def _scratch_folder(out: Path) -> Iterator[Path]:
    """Yield a new, locked temporary folder inside *out*, and remove it at the end. Raises OSError."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_SCRATCH_PREFIX, dir=out.absolute()))
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if path_exists(folder):
            break
        # Another process removed it before it was locked.
        os.close(descriptor)
    # Memory to remove the folder with, where a report took all the rest.
    reserve = bytearray(_RESERVED_BYTES)
    try:
        yield folder
    finally:
        del reserve
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def _clear_scratch_folders(out: Path) -> None:
    """Remove the unlocked temporary folders inside *out*; ignore errors."""
    for folder in out.glob(f"{_SCRATCH_PREFIX}*"):
        with suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(descriptor)
