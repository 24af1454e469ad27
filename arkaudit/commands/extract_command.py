"""Print the ARKs that documents cite."""

from __future__ import annotations

import io
import json
import logging
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, TypeVar

import click
from click.core import ParameterSource

from arkaudit import logs
from arkaudit import output_rows as rows
from arkaudit.exits import EXIT_FINDING, NEVER, after_extract, end_unread, errors, exit_on, say, tell_ending
from arkaudit.options import asked_level, config_of, cores, jobs_option, request_options
from arkaudit.progress import Progress
from crawler.model.outcomes import DocumentOutcome
from crawler.spiders.seeds import Seeds
from extractors.archives.members import ArchiveMember
from extractors.documents import MAIN_COLUMNS, MENTION_COLUMNS, Document, LocalDocuments, document_name, mention_rows
from extractors.model.check_characters import CheckCharacter
from extractors.model.documents import ABOUT_CITATIONS, Finding
from extractors.model.errors import RunInterrupted, UserMistake
from extractors.two_passes import DocumentSummary, Rendered, TwoPasses
from reports.hints import MOST_FAULTS, Fault, place_words
from reports.languages.display import counted

if TYPE_CHECKING:
    from arkaudit.config import Config


_MOST_WORKERS = 256
#: An ARK whose check character is wrong: it was never assigned.
_MISTYPED = "mistyped"


@click.command()
@click.argument("places", metavar="PATH|URL…", nargs=-1)
@click.option(
    "--from",
    "from_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Read what a file names, one a line; it may be compressed (.gz).",
)
@click.option(
    "--out", metavar="FOLDER|s3://…", help="Make a dataset there, or resume it: Parquet, for very many documents."
)
@click.option(
    "--part-size", type=click.IntRange(min=1), metavar="MB", help="With --out: what is read together.  [default: 128]"
)
@click.option(
    "--workers",
    callback=lambda _, __, given: _workers(given),
    metavar="N|ADDRESS",
    help="With --out: so many Dask workers on this machine, or those of a scheduler (tcp://…, tls://…).",
)
@click.option("--dry-run", is_flag=True, help="With --out: say how much there is to read, and read nothing.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "csv", "table", "none"]),
    help="How to print what is cited.  [default: a table on a terminal, else jsonl]",
)
@click.option("--all-columns", is_flag=True, help="With --format csv: all that is known of each mention.")
@click.option("--unique", is_flag=True, help="Print nothing but the ARKs, each once, one a line.")
@click.option(
    "--findings",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write what went wrong with documents here, as JSON Lines.",
)
@click.option(
    "--fail-on",
    type=click.Choice([NEVER, DocumentOutcome.UNREADABLE.value, _MISTYPED]),
    multiple=True,
    help="Exit with 1 when a document or a part of it could not be read, or cites a mistyped ARK. Repeatable.",
)
@jobs_option
@request_options
def extract(
    places: tuple[str, ...],
    from_file: Path | None,
    out: str | None,
    part_size: int | None,
    workers: str | None,
    dry_run: bool,
    form: str | None,
    all_columns: bool,
    unique: bool,
    findings: Path | None,
    fail_on: tuple[str, ...],
    jobs: int | None,
    config_file: Path | None,
    **options: Any,
) -> None:
    """Print the ARKs that documents cite, repaired, with where and how they are written.

    Files, folders, URLs, or - for standard input. Exits with 3 when nothing of all that could be read.

    \b
    arkaudit extract thesis.pdf
    arkaudit extract --unique papers/ > arks.txt
    arkaudit extract --format csv papers/ > arks.csv
    arkaudit extract papers/ --out dataset/
    """
    if from_file is not None:
        from arkaudit.datasets.command import lines_of

        places = (*places, *lines_of(from_file))
    if not places:
        raise UserMistake("nothing to read: give files, folders or URLs, or --from FILE")
    if out is not None:
        _extract_into(out, places, part_size, workers, dry_run, fail_on, jobs, config_file, options)
        return
    for given, name in ((part_size, "--part-size"), (workers, "--workers"), (dry_run, "--dry-run")):
        if given:
            raise UserMistake(f"{name} is for datasets: it needs --out")
    if unique and form:
        raise UserMistake("--unique is a form of its own: give it without --format")
    if all_columns and form != "csv":
        raise UserMistake("--all-columns is for --format csv")
    form = "unique" if unique else form or ("table" if sys.stdout.isatty() else "jsonl")
    seeds = Seeds.of(path for path in places if path != "-")
    is_plain = config_file is None and asked_level() is None and all(value in (None, ()) for value in options.values())
    config = None
    if is_plain and not seeds.urls:
        logs.start(None, errors)  # what a configuration takes to load costs more than reading a small file
    else:
        config = config_of(config_file, options)
    processes = jobs or (config.jobs if config is not None else None) or cores()
    total = ExtractTotal()
    with ExitStack() as stack:
        to_findings = stack.enter_context(_writable(findings)) if findings else None

        def read(render: Callable[[Document], Any]) -> Iterator[Any]:
            counted = partial(Counted.of, render)
            for rendered in documents(seeds, counted, standard_input="-" in places, jobs=processes, config=config):
                document = rendered.summary
                report_findings(document.name, document.findings, to_findings)
                total.in_part += document.is_read_in_part
                if document.is_unreadable:
                    total.unread.append(document.name)
                elif not document.is_folder:
                    total.read += 1
                    total.empty += any(finding.kind == "empty" for finding in document.findings)
                total.add(rendered.value)
                yield rendered.value.made

        if form == "table":
            from rich.console import Console

            rows.print_mentions(chain.from_iterable(read(mention_rows)), Console())
        elif form == "csv":
            columns = MENTION_COLUMNS if all_columns else MAIN_COLUMNS
            lines = partial(rows.mention_csv_lines, columns=columns, is_terminal=sys.stdout.isatty())
            rows.write(rows.csv_line(columns), sys.stdout)
            rows.write_all(read(lines), sys.stdout)
        elif form in ("unique", "none"):
            arks = dict.fromkeys(chain.from_iterable(read(rows.distinct_arks)))
            rows.write_all((f"{ark}\n" for ark in (arks if unique else ())), sys.stdout)
        else:
            rows.write_all(read(partial(rows.mention_lines, is_utf8=rows.is_utf8(sys.stdout))), sys.stdout)
    if not total.read:
        end_unread("nothing", total.unread)
    is_failing = _MISTYPED in fail_on and bool(total.mistyped)
    for mistyped in total.mistyped if is_failing else ():
        say(mistyped.words, level=logging.WARNING)
    faults = [] if is_failing else total.faults
    tell_ending(
        faults,
        0 if is_failing else len(total.mistyped),
        total.words,
        after_extract(places, config_file) if total.citations else None,
    )
    unread = [DocumentOutcome.UNREADABLE.value] * (len(total.unread) + total.in_part + total.empty)
    exit_on([token for token in fail_on if token != _MISTYPED], unread)
    if is_failing:
        sys.exit(EXIT_FINDING)


def _extract_into(
    out: str,
    places: Sequence[str],
    part_size: int | None,
    workers: str | None,
    dry_run: bool,
    fail_on: Sequence[str],
    jobs: int | None,
    config_file: Path | None,
    options: dict[str, Any],
) -> None:
    """Make a dataset."""
    from arkaudit.datasets.command import make_dataset, tell_of_dataset
    from arkaudit.datasets.plan import PART_BYTES

    if _MISTYPED in fail_on:
        raise UserMistake(f"--fail-on {_MISTYPED} is not for datasets: their mentions have the column 'check'")
    context = click.get_current_context()
    for name, option in (("form", "--format"), ("unique", "--unique"), ("findings", "--findings")):
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise UserMistake(f"{option} is not for datasets: they are Parquet, and have a table of findings")
    if workers and jobs:
        raise UserMistake("--jobs is for this process, and --workers for others: give one of them")
    if "-" in places:
        raise UserMistake("a dataset is made of files, not of standard input")
    config = config_of(config_file, options)
    part_bytes = part_size * 2**20 if part_size else PART_BYTES
    if dry_run:
        tell_of_dataset(places, out, part_bytes=part_bytes)
        return
    made = make_dataset(places, out, jobs=jobs or config.jobs or cores(), workers=workers, part_bytes=part_bytes)
    if not made.manifest.inputs.files or 0 < made.unreadable == made.manifest.tables["documents"].rows:
        end_unread("nothing", made.first_unreadable)
    exit_on(fail_on, [DocumentOutcome.UNREADABLE.value] * bool(made.unreadable))


def _workers(given: str | None) -> str | None:
    """The number of workers, or the address of a scheduler."""
    if (
        given is None
        or re.fullmatch(r"[a-z]+://[^\s/]+", given)
        or (given.isdecimal() and 0 < int(given) <= _MOST_WORKERS)
    ):
        return given
    raise click.BadParameter(
        f"a number from 1 to {_MOST_WORKERS}, or the address of a scheduler (tcp://…), not {given!r}"
    )


def _writable(path: Path) -> TextIO:
    try:
        return path.open("w", encoding="utf-8")
    except OSError as problem:
        raise UserMistake(f"{path} can't be written: {problem.strerror}") from None


# Documents for `arkaudit extract`: files and standard input are read here.

R = TypeVar("R")

#: As much of standard input is kept in memory.
_INPUT_BYTES = 2**24


def documents(
    seeds: Seeds,
    render: Callable[[Document], R],
    *,
    standard_input: bool,
    jobs: int,
    config: Config | None = None,
) -> Iterator[Rendered[R]]:
    """Return every document: standard input first, then files, then URLs; none before all of them have been read.

    *render*, a function of a module, makes of each what is wanted of it, in one of so many processes (*jobs*). What is
    doubtful in one is decided by what is whole in any of them, so that their order changes nothing. An interrupt
    ends the reading: what was read until then is given, and then the interrupt. URLs need a *config*.
    """
    documents = mentions = 0

    def count(read: DocumentSummary) -> None:
        nonlocal documents, mentions
        documents += 1
        mentions += read.mentions
        progress.show(documents, f", {counted(mentions, 'mention of an ARK', 'mentions of ARKs')}")

    with TwoPasses(render, jobs=jobs) as passes, Progress() as progress:
        progress.stage("documents read")
        parts = _parts(seeds, standard_input=standard_input, config=config)
        yield from passes.of(parts, ends_at=(KeyboardInterrupt, RunInterrupted), on_read=count)


def _parts(seeds: Seeds, *, standard_input: bool, config: Config | None) -> Iterator[ArchiveMember | Document]:
    yield from LocalDocuments(seeds.files, seekable_input() if standard_input else None)
    for folder, finding in seeds.folder_findings.items():
        yield Document(document_name(folder), (), (finding,), is_folder=True)
    if seeds.urls:
        from arkaudit.audits import fetched_documents

        assert config is not None
        yield from fetched_documents(Seeds(seeds.urls, (), seeds.orders), config)


def seekable_input() -> BinaryIO:
    """Standard input, to be read more than once; what is long goes into a file first."""
    stream = sys.stdin.buffer
    start = stream.read(_INPUT_BYTES)
    if len(start) < _INPUT_BYTES:
        return io.BytesIO(start)
    kept = tempfile.TemporaryFile()  # noqa: SIM115  gone with the process
    kept.write(start)
    shutil.copyfileobj(stream, kept)
    return kept


# What is counted of documents while their ARKs are printed, and how that ends for people.

#: Of a file, so much is gone through for the number of a line.
_MOST_BYTES = 2**24


@dataclass(frozen=True, slots=True, order=True)
class Mistyped:
    """An ARK whose check character is wrong."""

    document: str
    page: int
    """0 where there are no pages."""
    as_written: str
    suggestions: tuple[str, ...]

    @property
    def words(self) -> str:
        """Return a line that says where it is and what may be meant."""
        line = 0 if self.page else _line_of(self.document, self.as_written)
        where = f"{self.document}:{line}" if line else place_words(self.document, self.page or None)
        meant = f"; did you mean {self.suggestions[0]}?" if len(self.suggestions) == 1 else ""
        return f"{where}: {self.as_written}: its check character is wrong{meant}"


def _line_of(document: str, as_written: str) -> int:
    """The line of a file that holds something as it was *written*; 0 where none does."""
    data = _beginning(document)
    at = data.find(as_written.split("\n")[0].strip().encode("utf-8", "replace"))
    return data.count(b"\n", 0, at) + 1 if at >= 0 else 0


@lru_cache(maxsize=1)
def _beginning(document: str) -> bytes:
    try:
        with Path(document).open("rb") as file:
            return file.read(_MOST_BYTES)
    except OSError:
        return b""


@dataclass(frozen=True, slots=True)
class Counted:
    """What was made of a document, and what there is in it."""

    made: Any
    """As plain data: it may come from another process."""
    citations: int
    repaired: int
    """Of the citations."""
    mistyped: tuple[Mistyped, ...]

    @classmethod
    def of(cls, render: Callable[[Document], Any], document: Document) -> Counted:
        """Return what *render* makes of a document, counted; a function that another process can run."""
        mentions = document.mentions
        mistyped = {
            Mistyped(document.name, mention.page or 0, mention.as_written, mention.suggestions)
            for mention in mentions
            if mention.check is CheckCharacter.FAILS
        }
        repaired = {mention.citation for mention in mentions if mention.repairs}
        return cls(
            render(document), len({mention.citation for mention in mentions}), len(repaired), tuple(sorted(mistyped))
        )


@dataclass(slots=True)
class ExtractTotal:
    """All documents that were read, and what they cite."""

    read: int = 0
    citations: int = 0
    repaired: int = 0
    in_part: int = 0
    """Documents that could not be read to their end."""
    empty: int = 0
    """Documents without a byte."""
    unread: list[str] = field(default_factory=list)
    mistyped: list[Mistyped] = field(default_factory=list)

    def add(self, counts: Counted) -> None:
        """Count what one document cites."""
        self.citations += counts.citations
        self.repaired += counts.repaired
        self.mistyped += counts.mistyped

    @property
    def faults(self) -> list[Fault]:
        """Return the first of what is amiss; documents that could not be read were reported as they came."""
        return [Fault(mistyped.words) for mistyped in self.mistyped[:MOST_FAULTS]]

    @property
    def words(self) -> str:
        """Return the total.

        >>> ExtractTotal(read=2, citations=5, repaired=1, in_part=1, unread=["a.pdf"]).words
        '2 documents read, 1 of them in part, 1 not readable; 5 citations, 1 repaired'
        """
        documents = f"{counted(self.read, 'document')} read"
        in_part = f", {self.in_part:,} of them in part" if self.in_part else ""
        empty = f", {self.empty:,} of them empty" if self.empty else ""
        not_readable = f", {len(self.unread):,} not readable" if self.unread else ""
        repaired = f", {self.repaired:,} repaired" if self.repaired else ""
        mistyped = f", {len(self.mistyped):,} mistyped" if self.mistyped else ""
        return f"{documents}{in_part}{empty}{not_readable}; {counted(self.citations, 'citation')}{repaired}{mistyped}"


# Findings about documents, said as they come.


def report_findings(document: str, findings: Sequence[Finding], to: TextIO | None) -> None:
    """Write the *findings* about a document to *to*, and say those that are not about citations or links."""
    if not findings:
        return
    from crawler.sources.gate import ABOUT_LINKS

    for finding in findings:
        if to is not None:
            row = {"document": document, "kind": finding.kind, "detail": finding.detail}
            to.write(json.dumps(row, ensure_ascii=False) + "\n")
            to.flush()
        if finding.kind not in ABOUT_CITATIONS | ABOUT_LINKS:
            say(f"{document}: {finding.kind}: {finding.detail}")
