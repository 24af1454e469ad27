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
_MIN_OTHER_WIDTH = 50


def mention_lines(document: Document, *, is_utf8: bool) -> str:
    """Return the mentions of a document as JSON Lines, in ASCII unless *is_utf8*."""
    return "".join(_json_line(row, is_utf8=is_utf8) for row in mention_rows(document))


def distinct_arks(document: Document) -> list[str]:
    """Return the distinct ARKs of a document in normal form."""
    return [str(ark) for ark in document.arks]


def mention_csv_lines(document: Document, *, columns: Sequence[str], is_terminal: bool) -> str:
    """Return the mentions of a document as CSV without a header, with the *columns* of `mention_rows`.

    Lists are joined, and cells that look like formulas are escaped, as are control characters on a terminal.
    """
    rows = ([neutralize_formula(_cell(row[column])) for column in columns] for row in mention_rows(document))
    return "".join(csv_line([escape_invisible(cell) for cell in cells] if is_terminal else cells) for cells in rows)


def verdict_row(text: str, verdict: Verdict, memento: MementoRecord | None) -> dict[str, Any]:
    """Return the row of `arkaudit check` for a line of input, *text*, with an archived copy (*memento*), if any."""
    return {
        "asked": text,
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


def invalid_row(text: str, reason: str) -> dict[str, Any]:
    """Return the row of `arkaudit check` for a line of input, *text*, that holds no ARK, with the *reason*."""
    from crawler.model.observations import CommitmentOutcome, MetadataOutcome, ObjectOutcome, ServiceVerdict

    return {
        "asked": text,
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


def write_jsonl(rows: Iterable[Row], stream: TextIO) -> None:
    """Write rows as JSON Lines one by one, in ASCII unless *stream* is UTF-8.

    Control and invisible characters are escaped. Raises `OutputClosed` and `OutputUnwritable`.
    """
    for row in rows:
        write(_json_line(row, is_utf8=is_utf8(stream)), stream)


def is_utf8(stream: TextIO) -> bool:
    """Return True if *stream* can encode every character."""
    return (stream.encoding or "utf-8").lower().replace("-", "") in ("utf8", "utf8sig")


def _json_line(row: Row, *, is_utf8: bool) -> str:
    return escape_invisible_json(json.dumps(row, ensure_ascii=not is_utf8)) + "\n"


def write(text: AnyStr, stream: IO[AnyStr]) -> None:
    """Write *text*, and flush the stream. Raises `OutputClosed` or `OutputUnwritable`."""
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        raise OutputClosed from None
    except OSError as problem:
        raise OutputUnwritable(f"the results can't be written: {problem.strerror or problem}") from None


def write_all(texts: Iterable[str], stream: TextIO) -> None:
    """Write *texts*, and flush the stream after each. Raises `OutputClosed` or `OutputUnwritable`."""
    for text in texts:
        if text:
            write(text, stream)


@contextmanager
def written_at_once(console: Console) -> Iterator[None]:
    """Buffer the output of *console* in the ``with`` block, and write the buffer at its end.

    Raises `OutputClosed` or `OutputUnwritable`. Without a buffer, Rich would end the program.
    """
    original_file, buffer = console.file, io.StringIO()
    console.file = buffer
    try:
        yield
    finally:
        console.file = original_file
    write(buffer.getvalue(), original_file)


def print_table(table: Table) -> None:
    """Print a table on standard output, buffered. Raises `OutputClosed` or `OutputUnwritable`."""
    from rich.console import Console

    console = Console()
    with written_at_once(console):
        console.print(table)


def require_folder(path: Path) -> None:
    """Raise `UserMistake` if *path*, where a file will be written, is a folder, or its folder does not exist."""
    if is_folder(path) or not is_folder(path.parent):
        reason = os.strerror(errno.EISDIR if is_folder(path) else errno.ENOENT)
        raise UserMistake(f"{path} can't be written: {reason}")


def write_file(path: Path, data: bytes) -> None:
    """Write *data* atomically to a file that the user named. Raises `UserMistake`; an old file then stays."""
    try:
        with durable_file(path) as file:
            file.write(data)
    except OSError as problem:
        raise UserMistake(f"{path} can't be written: {problem.strerror}") from None


def write_json(value: Any) -> None:
    """Write *value* to standard output as indented JSON. Raises `OutputClosed` or `OutputUnwritable`."""
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
    """Print rows of mentions as a table that wraps long cells but never an ARK."""
    from rich.text import Text

    table = _table("ARK", "document", "where", "repairs", "confidence")
    ark_width = 0
    for row in rows:
        page, line = row["page"] and f"p. {row['page']}", row["line"] and f"line {row['line']}"
        location = page or line or row["place"] or row["role"]
        cells = (row["ark"], row["document"], location, ", ".join(row["repairs"]), row["confidence"])
        table.add_row(*(Text(escape_invisible(str(cell))) for cell in cells))
        ark_width = max(ark_width, len(row["ark"]))
    table.columns[0].no_wrap = True
    console.width = max(console.width, ark_width + _MIN_OTHER_WIDTH)
    with written_at_once(console):
        console.print(table)


def print_verdicts(rows: Sequence[Row], console: Console) -> None:
    """Print `verdict_row`s as a table with the reasons for the object outcomes; long cells are wrapped."""
    from rich.text import Text

    table = _table("asked", "object", "metadata", "commitment", "why")
    for row in rows:
        outcomes = (row[service]["outcome"] for service in ("object", "metadata", "commitment"))
        suggestions = [f"did you mean {row['did_you_mean']['ark']}?"] if row["did_you_mean"] else []
        archived_copy = row["archived_copy"] or {}
        copy_words = (
            [f"archived copy: {archived_copy['url']} ({archived_copy['reason']})"] if archived_copy.get("url") else []
        )
        reasons = "; ".join([*row["object"]["evidence"], *suggestions, *copy_words])
        table.add_row(*(Text(escape_invisible(cell)) for cell in (row["asked"], *outcomes, reasons)))
    with written_at_once(console):
        console.print(table)


def _table(*headings: str) -> Table:
    from rich.table import Table

    table = Table(highlight=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table
