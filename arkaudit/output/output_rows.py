"""Output of `extract` and `check`: rows of mentions and verdicts as JSON Lines, CSV or a table."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, AnyStr, TextIO

from arkaudit.output.exits import OutputClosed, OutputUnwritable
from crawler.model.durable_files import durable_file
from extractors.documents import Document, mention_rows
from extractors.model.errors import UserMistake
from extractors.model.files import is_folder
from reports.languages.display import escape_invisible, escape_invisible_json, neutralize_formula

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from crawler.answers.mementos import MementoRecord
    from crawler.model.observations import ServiceVerdict, Verdict

Row = Mapping[str, Any]

#: Minimum width, in characters, of the columns next to the ARKs.
_LEAST_BESIDE = 50


def mention_lines(document: Document, *, is_utf8: bool) -> str:
    """Return the mentions of a document as JSON Lines."""
    return "".join(_json_line(row, is_utf8=is_utf8) for row in mention_rows(document))


def distinct_arks(document: Document) -> list[str]:
    """Return the distinct ARKs of a document."""
    return [str(ark) for ark in document.arks]


def mention_csv_lines(document: Document, *, columns: Sequence[str], is_terminal: bool) -> str:
    """Return the mentions of a document as CSV: lists are joined, and cells that look like formulas are defused.

    Control characters are escaped on a terminal only.
    """
    cells = ([neutralize_formula(_cell(row[column])) for column in columns] for row in mention_rows(document))
    return "".join(csv_line([escape_invisible(cell) for cell in line] if is_terminal else line) for line in cells)


def verdict_row(asked: str, verdict: Verdict, memento: MementoRecord | None) -> dict[str, Any]:
    """Return the row of `arkaudit check` for a line of input, with an archived copy (*memento*) if there is one."""
    return {
        "asked": asked,
        "ark": str(verdict.ark),
        "object": _service(verdict.object),
        "metadata": _service(verdict.metadata),
        "commitment": _service(verdict.commitment),
        "final_url": verdict.final_url,
        "hops": [hop.json for hop in verdict.hops],
        "requests": verdict.requests,
        "rests_on": list(verdict.rests_on),
        "did_you_mean": verdict.did_you_mean.json if verdict.did_you_mean else None,
        "archived_copy": memento.json if memento else None,
        "naan_policy": dict(verdict.naan_policy),
        "remarks": list(verdict.remarks),
    }


def invalid_row(asked: str, reason: str) -> dict[str, Any]:
    """Return the row for a line of input without an ARK."""
    from crawler.model.observations import CommitmentOutcome, MetadataOutcome, ObjectOutcome, ServiceVerdict

    return {
        "asked": asked,
        "ark": None,
        "object": _service(ServiceVerdict(ObjectOutcome.INVALID, (reason,))),
        "metadata": _service(ServiceVerdict(MetadataOutcome.NOT_ASKED)),
        "commitment": _service(ServiceVerdict(CommitmentOutcome.NOT_ASKED)),
        "final_url": None,
        "hops": [],
        "requests": 0,
        "rests_on": [],
        "did_you_mean": None,
        "archived_copy": None,
        "naan_policy": {},
        "remarks": [],
    }


def _service(verdict: ServiceVerdict[Any]) -> dict[str, Any]:
    return {"outcome": verdict.outcome.value, "evidence": list(verdict.evidence), "parsed": dict(verdict.parsed)}


def write_jsonl(rows: Iterable[Row], to: TextIO) -> None:
    """Write rows as JSON Lines one by one, in ASCII unless *to* is UTF-8.

    Control and invisible characters are escaped. Raises `OutputClosed` and `OutputUnwritable`.
    """
    for row in rows:
        write(_json_line(row, is_utf8=is_utf8(to)), to)


def is_utf8(to: TextIO) -> bool:
    """Return True if *to* can encode every character."""
    return (to.encoding or "utf-8").lower().replace("-", "") in ("utf8", "utf8sig")


def _json_line(row: Row, *, is_utf8: bool) -> str:
    return escape_invisible_json(json.dumps(row, ensure_ascii=not is_utf8)) + "\n"


def write(text: AnyStr, to: IO[AnyStr]) -> None:
    """Write and flush *text*. Raises `OutputClosed` and `OutputUnwritable`."""
    try:
        to.write(text)
        to.flush()
    except BrokenPipeError:
        raise OutputClosed from None
    except OSError as problem:
        raise OutputUnwritable(f"the results can't be written: {problem.strerror or problem}") from None


def write_all(texts: Iterable[str], to: TextIO) -> None:
    """Write *texts* one by one. Raises `OutputClosed` and `OutputUnwritable`."""
    for text in texts:
        if text:
            write(text, to)


@contextmanager
def whole(console: Console) -> Iterator[None]:
    """Buffer the output of *console*, and write it in one piece at the end.

    Raises `OutputClosed` and `OutputUnwritable`. Without a buffer, Rich would end the program.
    """
    to, page = console.file, io.StringIO()
    console.file = page
    try:
        yield
    finally:
        console.file = to
    write(page.getvalue(), to)


def print_whole(table: Table) -> None:
    """Print a table on standard output. Raises `OutputClosed` and `OutputUnwritable`."""
    from rich.console import Console

    console = Console()
    with whole(console):
        console.print(table)


def require_place(path: Path) -> None:
    """Raise `UserMistake` if a file at *path*, which will be written at the end, has no folder or is one."""
    if is_folder(path) or not is_folder(path.parent):
        why = os.strerror(errno.EISDIR if is_folder(path) else errno.ENOENT)
        raise UserMistake(f"{path} can't be written: {why}")


def write_file(path: Path, data: bytes) -> None:
    """Write a file that the user named, whole or not at all. Raises `UserMistake`."""
    try:
        with durable_file(path) as file:
            file.write(data)
    except OSError as problem:
        raise UserMistake(f"{path} can't be written: {problem.strerror}") from None


def write_json(value: Any) -> None:
    """Write a value to standard output as indented JSON. Raises `OutputClosed` and `OutputUnwritable`."""
    write(json.dumps(value, ensure_ascii=False, indent=2) + "\n", sys.stdout)


def csv_line(cells: Sequence[str]) -> str:
    """Return a line of CSV."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return "; ".join("-".join(map(str, item)) if isinstance(item, list) else str(item) for item in value)
    return str(value)


def print_mentions(rows: Iterable[Row], console: Console) -> None:
    """Print mentions as a table that wraps long cells but never an ARK."""
    from rich.text import Text

    table = _table("ARK", "document", "where", "repairs", "confidence")
    longest = 0
    for row in rows:
        page, line = row["page"] and f"p. {row['page']}", row["line"] and f"line {row['line']}"
        where = page or line or row["place"] or row["role"]
        cells = (row["ark"], row["document"], where, ", ".join(row["repairs"]), row["confidence"])
        table.add_row(*(Text(escape_invisible(str(cell))) for cell in cells))
        longest = max(longest, len(row["ark"]))
    table.columns[0].no_wrap = True
    console.width = max(console.width, longest + _LEAST_BESIDE)
    with whole(console):
        console.print(table)


def print_verdicts(rows: Sequence[Row], console: Console) -> None:
    """Print verdicts as a table with the reasons for the object outcomes; long cells are wrapped."""
    from rich.text import Text

    table = _table("asked", "object", "metadata", "commitment", "why")
    for row in rows:
        outcomes = (row[service]["outcome"] for service in ("object", "metadata", "commitment"))
        meant = [f"did you mean {row['did_you_mean']['ark']}?"] if row["did_you_mean"] else []
        copy = row["archived_copy"] or {}
        kept = [f"archived copy: {copy['url']} ({copy['reason']})"] if copy.get("url") else []
        why = "; ".join([*row["object"]["evidence"], *meant, *kept])
        table.add_row(*(Text(escape_invisible(cell)) for cell in (row["asked"], *outcomes, why)))
    with whole(console):
        console.print(table)


def _table(*headings: str) -> Table:
    from rich.table import Table

    table = Table(highlight=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table
