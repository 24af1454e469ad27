"""The command `fix`."""

from __future__ import annotations

import logging
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import click

from arkaudit.commands.options import FILE, flag, jobs_option, repeatable, store_file_option
from arkaudit.features.fix.corrections import UNCERTAIN, WRITTEN, Correction, Kind
from arkaudit.features.fix.files import FixedFile, fixed_files
from arkaudit.features.fix.patches import diff_of
from arkaudit.features.fix.sources import Unfixable
from arkaudit.features.fix.writing import reason_to_leave, reason_to_leave_tree, remove_parts, replace_file, work_tree
from arkaudit.output import output_rows as rows
from arkaudit.output.exits import command, end_unread, errors, say
from arkaudit.output.hints import next_words
from extractors.model.budget import core_count
from extractors.model.errors import EXIT_MISTAKE, EXIT_UNFINISHED, UserMistake
from reports.languages.display import count_noun, escape_invisible

_KINDS = [kind.value for kind in WRITTEN]


@click.command()
@click.argument("places", metavar="PATH…", nargs=-1, required=True)
@store_file_option(help="A store with checks of these ARKs; without it only spelling is known.")
@repeatable(
    "--only",
    type=click.Choice(_KINDS),
    metavar="KIND",
    help=f"Only corrections of this kind: {', '.join(_KINDS)}. Repeatable.  [default: {Kind.SPELLING}]",
)
@repeatable(
    "--host", "hosts", metavar="HOST", help="A host that https and moved may write, besides the NAAN registry's."
)
@flag("--apply", "is_applied", help="Correct the files; without it, only list what would change.")
@flag("--force", help="With --apply: also correct files in a git work tree with uncommitted changes.")
@click.option("--patch", type=FILE, help="Write the corrections to this file, for git apply.")
@jobs_option
def fix(
    places: tuple[str, ...],
    store_file: Path | None,
    only: tuple[str, ...],
    hosts: tuple[str, ...],
    is_applied: bool,
    force: bool,
    patch: Path | None,
    jobs: int | None,
) -> None:
    """Correct citations in files and folders of text that people write.

    Nothing is written without --apply or --patch. Only the spelling is corrected, if the ARK stays the same beyond doubt.
    Code, quotations, identifiers and signed files are left as they are. Other formats are only listed.

    \b
    arkaudit fix thesis.tex refs.bib
    arkaudit fix site/ --patch fix.patch
    arkaudit fix site/ --store audit.db --only https --host library.example --apply

    Exits with 3 if some files could not be corrected, and with 2 if none could.
    """
    from arkaudit.output import logs

    kinds = {Kind(token) for token in only} or {Kind.SPELLING}
    checked_kinds = kinds - {Kind.SPELLING}
    if is_applied and patch is not None:
        raise UserMistake("give either --apply or --patch")
    if force and not is_applied:
        raise UserMistake("--force is for --apply")
    if checked_kinds and store_file is None:
        raise UserMistake(f"--only {min(checked_kinds)} needs --store, because it rests on checks")
    if hosts and not checked_kinds:
        raise UserMistake("--host is for --only https and --only moved")
    logs.start_log(None, errors)
    files = _files_to_correct(places, patch)
    checks = None
    if store_file is not None:
        from arkaudit.features.fix.checks import checks_of
        from crawler.model.registry import load_registry

        checks = checks_of(store_file, load_registry(), hosts)
    diffs = list[bytes]()
    if is_applied:
        remove_parts(files)
        write = _in_place(force=force)
    else:
        write = (lambda file: diffs.append(diff_of(file))) if patch is not None else (lambda file: None)
    total = FixTotal()
    for file in fixed_files(files, kinds, jobs=jobs or core_count(), checks=checks):
        if file.corrections and not file.problem:
            file.problem = _problem_of_writing(file, write)
        total.add(file)
        _report(file)
    if patch is not None:
        rows.write_file(patch, b"".join(diffs))
    if total.unread_names and len(total.unread_names) == len(files):
        end_unread("nothing", total.unread_names)
    say(total.message("corrected" if is_applied else f"corrected by {patch}" if patch is not None else "to correct"))
    if total.file_count and not is_applied:
        say(next_words(shlex.join(("git", "apply", str(patch))) if patch else command(*sys.argv[1:], "--apply")))
    if total.problem_count:
        sys.exit(EXIT_UNFINISHED if total.file_count else EXIT_MISTAKE)


def _files_to_correct(places: Iterable[str], patch: Path | None) -> list[Path]:
    """Return the distinct files at *places*; raise `UserMistake` for a URL, or for a *patch* that is one of the files."""
    from crawler.spiders.seeds import Seeds

    seeds = Seeds.parse(places)
    if seeds.urls:
        raise UserMistake(f"only files can be corrected, not {seeds.urls[0]}")
    files = list({path.parent.resolve() / path.name: path for path in seeds.files}.values())
    if patch is not None:
        rows.require_folder(patch)
        if patch.exists() and any(path.exists() and path.samefile(patch) for path in files):
            raise UserMistake(f"{patch} is one of the files to correct; choose another name for the patch")
    return files


def _in_place(*, force: bool) -> Callable[[FixedFile], None]:
    """Return a function that replaces a file by its corrected form.

    It raises `Unfixable` for a file in a git work tree with uncommitted changes, except with *force*.
    """
    # The state of each work tree before the first file in it is replaced.
    reason_of_tree = cache(reason_to_leave_tree)

    def replace(file: FixedFile) -> None:
        if not force and (reason := reason_of_tree(work_tree(file.path))):
            raise Unfixable(reason)
        replace_file(file.path, file.old_bytes, file.new_bytes)

    return replace


def _problem_of_writing(file: FixedFile, write: Callable[[FixedFile], None]) -> str:
    """Write the corrections of *file* with *write*; return the reason if that is impossible, or an empty text."""
    try:
        if reason := reason_to_leave(file.path):
            return reason
        write(file)
    except (OSError, Unfixable) as problem:
        return getattr(problem, "strerror", None) or str(problem)
    return ""


# -- messages


@dataclass(slots=True)
class FixTotal:
    """Counts of the files and corrections of a run."""

    correction_count: int = 0
    file_count: int = 0
    """Number of files with corrections to write."""
    problem_count: int = 0
    """Number of files that could be read, but not corrected."""
    refusals: Counter[str] = field(default_factory=Counter)
    """Corrections that are not written, by their reason."""
    unread_names: list[str] = field(default_factory=list)

    def add(self, file: FixedFile) -> None:
        """Count a file after its corrections were written."""
        if file.is_unread:
            self.unread_names.append(str(file.path))
        elif file.problem:
            self.problem_count += 1
        else:
            self.correction_count += len(file.corrections)
            self.file_count += bool(file.corrections)
            self.refusals.update(correction.refusal for correction in file.unwritten_corrections)

    def message(self, action: str) -> str:
        """Return the totals in one line; *action* is what happened to the citations.

        >>> FixTotal(3, 2, refusals=Counter({"it is in code": 2})).message("corrected")
        '3 citations corrected in 2 files; 2 not written: it is in code (2)'
        """
        parts = ["nothing to correct"]
        if self.file_count:
            citations, files = count_noun(self.correction_count, "citation"), count_noun(self.file_count, "file")
            parts = [f"{citations} {action} in {files}"]
        if self.refusals:
            reasons = (f"{refusal} ({count})" for refusal, count in self.refusals.most_common())
            parts.append(f"{self.refusals.total()} not written: {', '.join(reasons)}")
        if self.problem_count:
            parts.append(f"{count_noun(self.problem_count, 'file')} not corrected")
        return "; ".join(parts)


def _report(file: FixedFile) -> None:
    """Print the problem of *file* on standard error or, without one, a line for each correction on standard output."""
    if file.is_unread:
        say(f"{file.path}: {file.problem}")
        return
    if file.problem:
        say(f"{file.path}: not corrected: {file.problem}", level=logging.WARNING)
        return
    listed_corrections = (item for item in file.unwritten_corrections if item.refusal != UNCERTAIN)
    for correction in (*file.corrections, *listed_corrections):
        rows.write(escape_invisible(f"{file.path}: {_line(correction)}") + "\n", sys.stdout)


def _line(correction: Correction) -> str:
    """Return the place of a correction, the change, its kinds and its reason, and the refusal if it is not written."""
    change, refusal = correction.as_written, ""
    if correction.correct != correction.as_written:
        change = f"{correction.as_written} -> {correction.correct}"
    if correction.refusal:
        refusal = f"; not written: {correction.refusal}"
    return f"{correction.location}: {change} ({', '.join(correction.kinds)}: {correction.reason}){refusal}"
