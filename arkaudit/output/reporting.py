"""Summarize a run on the terminal and write its report, for `arkaudit report` and the end of `arkaudit run`."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from arkaudit.configuration.config import Config
from arkaudit.output import exits
from arkaudit.output.exits import OutputClosed, after_run, also_in, discard_output, print_ending, say
from arkaudit.output.hints import MOST_FAULTS, Fault, failing_words
from arkaudit.output.output_rows import write, write_file, written_at_once
from crawler.model.observations import Family, Problem
from crawler.model.registry import load_registry
from extractors.model.errors import UserMistake
from extractors.model.files import path_exists
from reports.exports import FORMATS, check_out, text_of, write_report
from reports.languages import ENGLISH, N_, Language
from reports.languages.display import count_noun, escape_invisible
from reports.remediation.targets import targets_text
from reports.store.frames import Frames, load_frames, unread_documents
from reports.store.inventory import read_inventory
from reports.store.known_problems import UNREADABLE, KnownProblems
from reports.tables.ark_statuses import FAMILY_COLUMNS, ark_statuses
from reports.tables.changes import PROBLEMS, events_to_report, of_family
from reports.tables.definitions import rows_of
from reports.tables.filters import Choice, select_part
from reports.tables.known import without_known
from reports.tables.report_tables import DEFINITIONS, Report
from reports.tables.summary import Summary
from reports.tables.targets import moved_targets

logger = logging.getLogger(__name__)
logger.addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class WrittenReport:
    """The result of writing a report."""

    report: Report
    tokens: Sequence[str]
    """Outcomes, states and events for `--fail-on`, without known problems."""
    is_whole: bool = True
    """False if a requested format failed."""


#: Characters of a failure that a message quotes.
_LONGEST_REASON = 200
#: The value of `--out` for standard output.
STANDARD_OUTPUT = Path("-")


def report_on(
    config: Config,
    store: Path,
    out: Path | None,
    *,
    formats: Sequence[str],
    run_id: int | None = None,
    since: int | None = None,
    choice: Choice | None = None,
    is_ending: bool = False,
    targets_for: str | None = None,
) -> WrittenReport:
    """Print the summary of a run and write its report into the folder *out*; a format that fails stops no other.

    *run_id* is None for the current state, *since* the run to compare with, *choice* the part to report. At the end of
    a run (*is_ending*), failing ARKs and a hint are printed too. *targets_for* is the layout of the list of new targets.
    If *out* is `-`, only the report is printed; if None, only the summary. Raises `UserMistake`,
    `crawler.store.StoreUnopenable` and `arkaudit.output.output_rows.OutputUnwritable`.
    """
    is_to_stdout = out == STANDARD_OUTPUT
    if is_to_stdout:
        text_formats = [name for name, form in FORMATS.items() if form.text]
        if len(formats) != 1 or formats[0] not in text_formats:
            raise UserMistake(f"standard output takes one report: give one --format of {', '.join(text_formats)}")
    elif out:
        check_out(out, formats)
    inventory = None if config.inventory is None else read_inventory(config.inventory)
    registry = load_registry()
    part = choice or Choice()
    all_frames = load_frames(
        store,
        run_id=run_id,
        since=since,
        registry=registry,
        inventory=inventory,
        known_list=config.known_list,
        declared=config.check_characters,
    )
    frames = select_part(all_frames, part)
    if part and frames.arks.empty and not all_frames.arks.empty:
        say(f"no ARK of this run matches {part.words}")
    report = Report.from_frames(frames, part, config.language_choice)
    if is_to_stdout:
        with _closed_output_ignored():
            write(text_of(report, formats[0]), sys.stdout)
        return WrittenReport(report, _tokens(frames, config.known_list))
    paths = write_report(report, out, formats) if out else None
    if out is not None:
        _write_targets(frames, out, targets_for)
    language = config.language_choice.language
    console = Console()
    headline, *other_lines = summary_lines(report.summary, language)
    result_place = paths.index or out if paths else store if is_ending else None
    with also_in(result_place), _closed_output_ignored(), written_at_once(console):
        for line in (headline, *other_lines):
            console.print(line, highlight=False, markup=False)
        console.print(main_table(frames, language))
    report_sentence = place_sentence(paths.index or out, language) if paths and out else None
    if is_ending:
        faults, fault_count = failing_arks(frames, report.tables["failures"], language)
        print_ending(faults, fault_count, headline, report_sentence or after_run(store, language), language)
    else:
        say(report_sentence or after_run(store, language))
    failed_formats = paths.failed if paths else {}
    for name, problem in failed_formats.items():
        # The traceback goes to the log.
        logger.error("the report as %s", name, exc_info=problem, extra={"is_shown": True})
        reason = exits.redact(" ".join(f"{type(problem).__name__}: {problem}".split()))[:_LONGEST_REASON]
        message = f"the report could not be made as {name}, which is a bug of arkaudit: {reason}"
        say(message, level=logging.ERROR)
    return WrittenReport(report, _tokens(frames, config.known_list), is_whole=not failed_formats)


def _write_targets(frames: Frames, out: Path, layout: str | None) -> None:
    """Write the new targets for resolvers to ``targets.csv`` in *out*.

    An empty list is written only if the file exists or a *layout* is given.
    """
    new_targets, path = moved_targets(frames), out / "targets.csv"
    if new_targets or path_exists(path) or layout:
        write_file(path, targets_text(new_targets, layout or "table").encode("utf-8", "backslashreplace"))
        say(f"{path} has new targets for {count_noun(len(new_targets), 'ARK')}")


@contextmanager
def _closed_output_ignored() -> Iterator[None]:
    """Ignore in the ``with`` block that the reader of standard output has gone, so that `--fail-on` still has an effect."""
    try:
        yield
    except OutputClosed:
        discard_output(sys.stdout)


def _tokens(frames: Frames, known_list: KnownProblems) -> list[str]:
    """Return every outcome, state and event of a run, and ``unreadable`` per document, without known problems."""
    day = frames.run["started_at"].max()
    unread_names = unread_documents(frames.documents, frames.findings)
    if known_list and len(unread_names):
        unread_names = [
            name for name in unread_names if not known_list.accepts(Problem(UNREADABLE, documents=(name,)), day.date())
        ]
    ark_columns = (
        without_known(frames, frames.verdicts)["object"],
        without_known(frames, frames.latest)["state"],
        events_to_report(frames)["event"],
    )
    return [*(str(token) for tokens in ark_columns for token in tokens.dropna()), *(UNREADABLE for _ in unread_names)]


def failing_arks(frames: Frames, failures: pd.DataFrame, language: Language) -> tuple[list[Fault], int]:
    """Return the first ARKs that fail at every URL, then those whose hosts did not answer, and their total number.

    Each fault has the places that cite the ARK, and the right citation from the table *failures*. Known problems are
    excluded.
    """
    statuses, problems = ark_statuses(frames), without_known(frames, of_family(frames, *PROBLEMS))
    failing_statuses = statuses[statuses["ark_id"].isin(problems["ark_id"])].sort_values(["family", "ark"])
    first_failing = failing_statuses.head(MOST_FAULTS)
    citations = frames.mentions[frames.mentions["ark_id"].isin(first_failing["ark_id"])]
    citations = citations.sort_values(["document", "ordinal"]).drop_duplicates(["ark_id", "document", "page", "line"])
    place_texts = [language.place(*location) for location in rows_of(citations[["document", "page", "line"]])]
    places_by_ark = citations.assign(words=place_texts).groupby("ark_id")["words"].agg(list)
    corrections = failures.dropna(subset="should_be").drop_duplicates("ark").set_index("ark")["should_be"]
    faults = [
        Fault(
            failing_words(ark, str(outcome), is_unreachable=family == Family.UNREACHABLE, language=language),
            places_by_ark.get(ark_id, ()),
            corrections.get(ark),
        )
        for ark_id, ark, outcome, family in rows_of(first_failing[["ark_id", "ark", "object", "family"]])
    ]
    return faults, len(failing_statuses)


# -- the summary of a run

#: Number of NAANs in the summary.
MOST_NAANS = 5
#: Short names of the families, for a narrow terminal.
HEADINGS = {
    Family.WORKS: N_("work"),
    Family.FAILS: N_("fail"),
    Family.UNREACHABLE: N_("no answer"),
    Family.NOT_JUDGED: N_("not judged"),
}


def main_table(frames: Frames, language: Language = ENGLISH) -> Table:
    """Return the table of the largest NAANs: numbers of ARKs by family, and the share of judged ARKs that work."""
    family_headings = dict(zip(FAMILY_COLUMNS.values(), map(language.gettext, HEADINGS.values()), strict=True))
    headings = {"arks": "ARKs", **family_headings, "share_works": language.gettext("share")}
    return naan_table(DEFINITIONS["naans"].table(frames), headings, MOST_NAANS, language)


def naan_table(naans: pd.DataFrame, headings: Mapping[str, str], row_limit: int, language: Language) -> Table:
    """Return the first *row_limit* rows of *naans* as a table; *headings* maps a column to its heading.

    A last row has the number of NAANs that are left out.
    """
    title = language.gettext("ARKs by organization")
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("NAAN", no_wrap=True)
    table.add_column(language.gettext("organization"))
    for heading in headings.values():
        table.add_column(heading, justify="right", no_wrap=True)
    column_types = {column.name: column.type for column in DEFINITIONS["naans"].columns}
    for naan, organization, *numbers in rows_of(naans.head(row_limit)[["naan", "organization", *headings]]):
        name_cells = (
            Text(escape_invisible(text or ""), no_wrap=True, overflow="ellipsis") for text in (naan, organization)
        )
        number_cells = (
            language.format_cell(number, column_types[name]) for name, number in zip(headings, numbers, strict=True)
        )
        table.add_row(*name_cells, *number_cells)
    hidden_count = len(naans) - row_limit
    if hidden_count > 0:
        table.add_row("", language.ngettext("and {number} more", "and {number} more", hidden_count))
    return table


def summary_lines(summary: Summary, language: Language = ENGLISH) -> list[str]:
    """Return the headline, the extent of the audit, and the results, as lines."""
    return [summary.headline(language), *summary.scope_sentences(language), *summary.result_sentences(language)]


def place_sentence(path: Path, language: Language) -> str:
    """Return a sentence with the *path* of a report."""
    return language.gettext("the report is at {path}", path=path)
