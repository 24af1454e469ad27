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
    checked = kinds - {Kind.SPELLING}
    if is_applied and patch is not None:
        raise UserMistake("give either --apply or --patch")
    if force and not is_applied:
        raise UserMistake("--force is for --apply")
    if checked and store_file is None:
        raise UserMistake(f"--only {min(checked)} needs --store, because it rests on checks")
    if hosts and not checked:
        raise UserMistake("--host is for --only https and --only moved")
    logs.start(None, errors)
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
    of_tree = cache(reason_to_leave_tree)
    corrected, refusals = Counter[Path](), Counter[str]()
    diffs, unread = list[bytes](), list[str]()
    problems = 0
    for file in fixed_files(files, kinds, jobs=jobs or core_count(), checks=checks):
        if file.is_unread:
            say(f"{file.path}: {file.problem}")
            unread.append(str(file.path))
            continue
        try:
            if file.corrections and not file.problem:
                file.problem = reason_to_leave(file.path)
                if is_applied and not force:
                    file.problem = file.problem or of_tree(work_tree(file.path))
            if file.corrections and not file.problem:
                if is_applied:
                    replace_file(file.path, file.old, file.new)
                elif patch is not None:
                    diffs.append(diff_of(file))
        except (OSError, Unfixable) as problem:
            file.problem = getattr(problem, "strerror", None) or str(problem)
        if file.problem:
            say(f"{file.path}: not corrected: {file.problem}", level=logging.WARNING)
            problems += 1
            continue
        _list(file.path, (*file.corrections, *(listed for listed in file.unwritten if listed.refusal != UNCERTAIN)))
        corrected[file.path] += len(file.corrections)
        refusals.update(unwritten.refusal for unwritten in file.unwritten)
    if patch is not None:
        rows.write_file(patch, b"".join(diffs))
    if unread and len(unread) == len(files):
        end_unread("nothing", unread)
    done = "corrected" if is_applied else f"corrected by {patch}" if patch is not None else "to correct"
    number = sum(map(bool, corrected.values()))
    total = f"{count_noun(corrected.total(), 'citation')} {done} in {count_noun(number, 'file')}"
    say(_total(total if number else "nothing to correct", refusals, problems))
    if number and not is_applied:
        say(next_words(shlex.join(("git", "apply", str(patch))) if patch else command(*sys.argv[1:], "--apply")))
    if problems:
        sys.exit(EXIT_UNFINISHED if number else EXIT_MISTAKE)


def _list(path: Path, corrections: Iterable[Correction]) -> None:
    """Print a line for each of *corrections*."""
    for correction in corrections:
        refusal = f"; not written: {correction.refusal}" if correction.refusal else ""
        change = (
            correction.written
            if correction.correct == correction.written
            else f"{correction.written} -> {correction.correct}"
        )
        line = f"{path}: {correction.location}: {change} ({', '.join(correction.kinds)}: {correction.because}){refusal}"
        rows.write(escape_invisible(line) + "\n", sys.stdout)


def _total(done: str, refusals: Counter[str], problems: int) -> str:
    """Return the line of totals.

    >>> _total("3 citations corrected in 2 files", Counter({"it is in code": 2}), 0)
    '3 citations corrected in 2 files; 2 not written: it is in code (2)'
    """
    parts = [done]
    if refusals:
        reasons = (f"{refusal} ({count})" for refusal, count in refusals.most_common())
        parts.append(f"{refusals.total()} not written: {', '.join(reasons)}")
    if problems:
        parts.append(f"{count_noun(problems, 'file')} not corrected")
    return "; ".join(parts)
