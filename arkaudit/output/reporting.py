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
from arkaudit.output.exits import OutputClosed, after_run, also_in, forget, print_ending, say
from arkaudit.output.hints import MOST_FAULTS, Fault, failing_words
from arkaudit.output.output_rows import whole, write, write_file
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
from reports.tables import overviews
from reports.tables.ark_statuses import FAMILY_COLUMNS, ark_statuses
from reports.tables.changes import PROBLEMS, events_to_report, of_family
from reports.tables.definitions import rows_of
from reports.tables.failing import former_causes
from reports.tables.filters import Choice, select_part
from reports.tables.known import without_known
from reports.tables.report_tables import Report
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
    """Print the summary of a run and write its report into *out*; if a format fails, the others are still written.

    At the end of a run (*is_ending*), failing ARKs and a hint are printed too. *targets_for* is the layout of the list
    of new targets. If *out* is `-`, only the report is printed. Raises `UserMistake`,
    `crawler.store.StoreUnopenable` and `arkaudit.output.output_rows.OutputUnwritable`.
    """
    to_stdout = out == STANDARD_OUTPUT
    if to_stdout:
        single = [name for name, form in FORMATS.items() if form.text]
        if len(formats) != 1 or formats[0] not in single:
            raise UserMistake(f"standard output takes one report: give one --format of {', '.join(single)}")
    elif out:
        check_out(out, formats)
    listed = None if config.inventory is None else read_inventory(config.inventory)
    registry = load_registry()
    wanted = choice or Choice()
    loaded = load_frames(
        store,
        run_id=run_id,
        since=since,
        registry=registry,
        inventory=listed,
        known_list=config.known_list,
        declared=config.check_characters,
        diagnose=former_causes,
    )
    frames = select_part(loaded, wanted)
    if wanted and frames.arks.empty and not loaded.arks.empty:
        say(f"no ARK of this run matches {wanted.words}")
    report = Report.from_frames(frames, wanted, config.language_choice)
    if to_stdout:
        with _read_as_far_as_wanted():
            write(text_of(report, formats[0]), sys.stdout)
        return WrittenReport(report, _tokens(frames, config.known_list))
    paths = write_report(report, out, formats) if out else None
    if out is not None:
        _write_targets(frames, out, targets_for)
    language = config.language_choice.language
    console = Console()
    verdict, *others = summary_lines(report.summary, language)
    place = paths.index or out if paths else store if is_ending else None
    with also_in(place), _read_as_far_as_wanted(), whole(console):
        for line in (verdict, *others):
            console.print(line, highlight=False, markup=False)
        console.print(main_table(frames, language))
    written_to = place_sentence(paths.index or out, language) if paths and out else None
    if is_ending:
        faults, count = failing_arks(frames, report.tables["failures"], language)
        print_ending(faults, count, verdict, written_to or after_run(store, language), language)
    else:
        say(written_to or after_run(store, language))
    failed = paths.failed if paths else {}
    for name, problem in failed.items():
        # The traceback goes to the log.
        logger.error("the report as %s", name, exc_info=problem, extra={"is_shown": True})
        why = exits.redact(" ".join(f"{type(problem).__name__}: {problem}".split()))[:_LONGEST_REASON]
        words = f"the report could not be made as {name}, which is a bug of arkaudit: {why}"
        say(words, level=logging.ERROR)
    return WrittenReport(report, _tokens(frames, config.known_list), is_whole=not failed)


def _write_targets(frames: Frames, out: Path, layout: str | None) -> None:
    """Write the new targets; an empty list only over an earlier one, or if asked."""
    moves, path = moved_targets(frames), out / "targets.csv"
    if moves or path_exists(path) or layout:
        write_file(path, targets_text(moves, layout or "table").encode("utf-8", "backslashreplace"))
        say(f"{path} has new targets for {count_noun(len(moves), 'ARK')}")


@contextmanager
def _read_as_far_as_wanted() -> Iterator[None]:
    """Ignore a reader of standard output that stops: `--fail-on` needs the whole report."""
    try:
        yield
    except OutputClosed:
        forget(sys.stdout)


def _tokens(frames: Frames, known_list: KnownProblems) -> list[str]:
    """Return every outcome, state and event of a run, and `unreadable` for documents, without those of known problems."""
    day = frames.run["started_at"].max()
    unread = unread_documents(frames.documents, frames.findings)
    if known_list and len(unread):
        unread = [name for name in unread if not known_list.accepts(Problem(UNREADABLE, documents=(name,)), day.date())]
    of_arks = (
        without_known(frames, frames.verdicts)["object"],
        without_known(frames, frames.latest)["state"],
        events_to_report(frames)["event"],
    )
    return [*(str(token) for tokens in of_arks for token in tokens.dropna()), *(UNREADABLE for _ in unread)]


def failing_arks(frames: Frames, failures: pd.DataFrame, language: Language) -> tuple[list[Fault], int]:
    """Return the first ARKs that fail at every URL, then those whose hosts did not answer, and the total number.

    Each comes with the places that cite it, and with the right citation in the table *failures*. Known problems are
    excluded.
    """
    statuses, problems = ark_statuses(frames), without_known(frames, of_family(frames, *PROBLEMS))
    failing = statuses[statuses["ark_id"].isin(problems["ark_id"])].sort_values(["family", "ark"])
    first = failing.head(MOST_FAULTS)
    cited = frames.mentions[frames.mentions["ark_id"].isin(first["ark_id"])]
    cited = cited.sort_values(["document", "ordinal"]).drop_duplicates(["ark_id", "document", "page", "line"])
    words = [language.place(*place) for place in rows_of(cited[["document", "page", "line"]])]
    places = cited.assign(words=words).groupby("ark_id")["words"].agg(list)
    should_be = failures.dropna(subset="should_be").drop_duplicates("ark").set_index("ark")["should_be"]
    faults = [
        Fault(
            failing_words(ark, str(outcome), is_unreachable=family == Family.UNREACHABLE, language=language),
            places.get(ark_id, ()),
            should_be.get(ark),
        )
        for ark_id, ark, outcome, family in rows_of(first[["ark_id", "ark", "object", "family"]])
    ]
    return faults, len(failing)


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
    """Return the table of the largest NAANs with their ARKs by family and the share of working ones among judged."""
    counted = dict(zip(FAMILY_COLUMNS.values(), map(language.gettext, HEADINGS.values()), strict=True))
    headings = {"arks": "ARKs", **counted, "share_works": language.gettext("share")}
    return naan_table(overviews.NAANS.table(frames), headings, MOST_NAANS, language)


def naan_table(naans: pd.DataFrame, headings: Mapping[str, str], most: int, language: Language) -> Table:
    """Return the first *most* NAANs of a table, with the columns that *headings* names."""
    title = language.gettext("ARKs by organization")
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("NAAN", no_wrap=True)
    table.add_column(language.gettext("organization"))
    for heading in headings.values():
        table.add_column(heading, justify="right", no_wrap=True)
    kinds = {column.name: column.type for column in overviews.NAANS.columns}
    for naan, organization, *numbers in rows_of(naans.head(most)[["naan", "organization", *headings]]):
        words = (Text(escape_invisible(text or ""), no_wrap=True, overflow="ellipsis") for text in (naan, organization))
        shown = (language.format_cell(number, kinds[name]) for name, number in zip(headings, numbers, strict=True))
        table.add_row(*words, *shown)
    rest = len(naans) - most
    if rest > 0:
        table.add_row("", language.ngettext("and {number} more", "and {number} more", rest))
    return table


def summary_lines(summary: Summary, language: Language = ENGLISH) -> list[str]:
    """Return the headline, the extent of the audit, and the results, as lines."""
    return [summary.headline(language), *summary.scope_sentences(language), *summary.result_sentences(language)]


def place_sentence(path: Path, language: Language) -> str:
    """Return the sentence about the place of a report."""
    return language.gettext("the report is at {path}", path=path)
