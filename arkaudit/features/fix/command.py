"""The command `fix`."""

from __future__ import annotations

import logging
import shlex
import sys
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import click

from arkaudit.commands.options import FILE, flag, jobs_option, repeatable, store_file_option
from arkaudit.features.fix.corrections import UNCERTAIN, WRITTEN, Correction, Kind
from arkaudit.features.fix.files import fixed_files
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
    from crawler.spiders.seeds import Seeds

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
    seeds = Seeds.parse(places)
    if seeds.urls:
        raise UserMistake(f"only files can be corrected, not {seeds.urls[0]}")
    files = list({path.parent.resolve() / path.name: path for path in seeds.files}.values())
    if patch is not None:
        rows.require_folder(patch)
        if patch.exists() and any(path.exists() and path.samefile(patch) for path in files):
            raise UserMistake(f"{patch} is one of the files to correct; choose another name for the patch")
    checks = None
    if store_file is not None:
        from arkaudit.features.fix.checks import checks_of
        from crawler.model.registry import load_registry

        checks = checks_of(store_file, load_registry(), hosts)
    if is_applied:
        remove_parts(files)
    # The state of each work tree before the first file in it is replaced.
    cached_tree_reason = cache(reason_to_leave_tree)
    counts_by_file, refusals = Counter[Path](), Counter[str]()
    diffs, unread_files = list[bytes](), list[str]()
    problem_count = 0
    for file in fixed_files(files, kinds, jobs=jobs or core_count(), checks=checks):
        if file.is_unread:
            say(f"{file.path}: {file.problem}")
            unread_files.append(str(file.path))
            continue
        try:
            if file.corrections and not file.problem:
                file.problem = reason_to_leave(file.path)
                if is_applied and not force:
                    file.problem = file.problem or cached_tree_reason(work_tree(file.path))
            if file.corrections and not file.problem:
                if is_applied:
                    replace_file(file.path, file.old_bytes, file.new_bytes)
                elif patch is not None:
                    diffs.append(diff_of(file))
        except (OSError, Unfixable) as problem:
            file.problem = getattr(problem, "strerror", None) or str(problem)
        if file.problem:
            say(f"{file.path}: not corrected: {file.problem}", level=logging.WARNING)
            problem_count += 1
            continue
        _list(
            file.path, (*file.corrections, *(item for item in file.unwritten_corrections if item.refusal != UNCERTAIN))
        )
        counts_by_file[file.path] += len(file.corrections)
        refusals.update(correction.refusal for correction in file.unwritten_corrections)
    if patch is not None:
        rows.write_file(patch, b"".join(diffs))
    if unread_files and len(unread_files) == len(files):
        end_unread("nothing", unread_files)
    action = "corrected" if is_applied else f"corrected by {patch}" if patch is not None else "to correct"
    file_count = sum(map(bool, counts_by_file.values()))
    total_words = f"{count_noun(counts_by_file.total(), 'citation')} {action} in {count_noun(file_count, 'file')}"
    say(_total(total_words if file_count else "nothing to correct", refusals, problem_count))
    if file_count and not is_applied:
        say(next_words(shlex.join(("git", "apply", str(patch))) if patch else command(*sys.argv[1:], "--apply")))
    if problem_count:
        sys.exit(EXIT_UNFINISHED if file_count else EXIT_MISTAKE)


def _list(path: Path, corrections: Iterable[Correction]) -> None:
    """Print a line for each of the *corrections* of the file at *path* on standard output."""
    for correction in corrections:
        refusal = f"; not written: {correction.refusal}" if correction.refusal else ""
        change = (
            correction.as_written
            if correction.correct == correction.as_written
            else f"{correction.as_written} -> {correction.correct}"
        )
        line = f"{path}: {correction.location}: {change} ({', '.join(correction.kinds)}: {correction.reason}){refusal}"
        rows.write(escape_invisible(line) + "\n", sys.stdout)


def _total(action: str, refusals: Counter[str], problem_count: int) -> str:
    """Return the line of totals; *refusals* counts corrections that are not written by their reason.

    >>> _total("3 citations corrected in 2 files", Counter({"it is in code": 2}), 0)
    '3 citations corrected in 2 files; 2 not written: it is in code (2)'
    """
    parts = [action]
    if refusals:
        reasons = (f"{refusal} ({count})" for refusal, count in refusals.most_common())
        parts.append(f"{refusals.total()} not written: {', '.join(reasons)}")
    if problem_count:
        parts.append(f"{count_noun(problem_count, 'file')} not corrected")
    return "; ".join(parts)
