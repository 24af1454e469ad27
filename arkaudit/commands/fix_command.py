"""The command `fix`."""

from __future__ import annotations

import logging
import os
import re
import shlex
import sys
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arkaudit.commands.options import FILE, flag, jobs_option, repeatable, store_file_option
from arkaudit.output import output_rows as rows
from arkaudit.output.exits import EXIT_MISTAKE, EXIT_UNFINISHED, command, end_unread, errors, say
from extractors.corrections.proposals import OPTIONAL, UNCHECKED, Kind
from extractors.corrections.sources import ByteEdit, splice
from extractors.model.budget import cores
from extractors.model.errors import UserMistake
from reports.hints import next_words
from reports.languages.display import count_noun, escape_invisible

if TYPE_CHECKING:
    from arkaudit.audits.fixing import Correction, FixedFile

_CONTEXT = 3
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_KINDS = [kind.value for kind in Kind]


@click.command()
@click.argument("places", metavar="PATH…", nargs=-1, required=True)
@store_file_option(help="A store with checks of these ARKs; without it only spelling, broken-wrap and label are known.")
@repeatable(
    "--only",
    type=click.Choice(_KINDS),
    metavar="KIND",
    help=f"Only corrections of this kind: {', '.join(_KINDS)}. Repeatable.  [default: all but"
    f" {' and '.join(sorted(OPTIONAL))}]",
)
@flag("--likely", help="Also make corrections that are only likely.")
@flag("--apply", "is_applied", help="Correct the files; without it, only show what would change.")
@flag("--no-backup", help="With --apply: keep no backup (NAME.before-fix) next to each file.")
@flag("--force", help="With --apply: also correct files in a git work tree with uncommitted changes.")
@click.option("--patch", type=FILE, help="Write the corrections of text files to this file, for git apply.")
@jobs_option
def fix(
    places: tuple[str, ...],
    store_file: Path | None,
    only: tuple[str, ...],
    likely: bool,
    is_applied: bool,
    no_backup: bool,
    force: bool,
    patch: Path | None,
    jobs: int | None,
) -> None:
    """Correct citations where they stand, in files and folders.

    Nothing is written without --apply or --patch, and only certain corrections are made without --likely. Each corrected
    file is read again: it cites the same ARKs as before, and the corrected ones. PDFs, mail and archives are only listed.

    \b
    arkaudit fix thesis.tex refs.bib
    arkaudit fix site/ --store audit.db --patch fix.patch
    arkaudit fix chapter.docx --only broken-wrap --apply

    Exits with 3 if some files could not be corrected, and with 2 if none could.
    """
    from arkaudit.audits.corrected_files import WorkTrees, reason_to_leave, write_corrected
    from arkaudit.audits.fixing import Selection, fixed_files
    from arkaudit.output import logs
    from crawler.spiders.seeds import Seeds
    from extractors.corrections.sources import Unfixable

    if is_applied and patch is not None:
        raise UserMistake("give either --apply or --patch")
    if (force or no_backup) and not is_applied:
        raise UserMistake("--force and --no-backup are for --apply")
    if patch is not None:
        rows.require_place(patch)
    logs.start(None, errors)
    seeds = Seeds.parse(places)
    if seeds.urls:
        raise UserMistake(f"only files can be corrected, not {seeds.urls[0]}")
    files = {path.absolute(): path for path in seeds.files}.values()
    kinds = {Kind(token) for token in only} or {*Kind} - OPTIONAL
    selection = Selection(kinds, likely)
    checks = None
    if store_file is not None:
        from arkaudit.audits.checked_corrections import checks_of

        checks = checks_of(store_file)
    elif only and kinds - UNCHECKED:
        raise UserMistake(f"--only {min(kinds - UNCHECKED)} needs --store, because it rests on checks")
    trees, total, output = WorkTrees(), _Total(), _Output(is_preview=patch is None and not is_applied)
    for file in fixed_files(files, selection, jobs=jobs or cores(), checks=checks):
        if file.is_unread:
            say(f"{file.path}: {file.problem}")
            total.unread.append(str(file.path))
            continue
        is_only_listed = False
        try:
            if file.corrections and not file.problem:
                data = file.path.read_bytes()
                file.problem = reason_to_leave(file.path)
                if is_applied and not force:
                    file.problem = file.problem or trees.reason_to_leave(file.path)
            if file.corrections and not file.problem:
                backup = write_corrected(file, with_backup=not no_backup) if is_applied else None
                if backup is not None:
                    say(f"{file.path}: the former content is in {backup.name}")
                is_only_listed = not output.add(file, data) and patch is not None
        except (OSError, Unfixable) as problem:
            file.problem = getattr(problem, "strerror", None) or str(problem)
        if file.problem:
            say(f"{file.path}: not corrected: {file.problem}", level=logging.WARNING)
            total.problems += 1
        else:
            if is_only_listed:
                total.not_in_patch += len(file.corrections)
            else:
                total.files += bool(file.corrections)
                total.corrections += len(file.corrections)
            output.list(file, (one for one in file.others if not one.is_likely))
            total.likely += sum(one.is_likely for one in file.others)
    if patch is not None:
        rows.write_file(patch, b"".join(output.diffs))
    if total.unread and len(total.unread) == len(files):
        end_unread("nothing", total.unread)
    say(total.words("corrected" if is_applied else f"corrected by {patch}" if patch is not None else "to correct"))
    if total.files and not is_applied:
        say(next_words(shlex.join(("git", "apply", str(patch))) if patch else command(*sys.argv[1:], "--apply")))
    if total.problems:
        sys.exit(EXIT_UNFINISHED if total.files or total.not_in_patch else EXIT_MISTAKE)


@dataclass(slots=True)
class _Total:
    files: int = 0
    corrections: int = 0
    not_in_patch: int = 0
    likely: int = 0
    problems: int = 0
    unread: list[str] = field(default_factory=list)

    def words(self, done: str) -> str:
        """Return the line of totals.

        >>> _Total(files=2, corrections=3, likely=1).words("corrected")
        '3 citations corrected in 2 files; 1 more is only likely (--likely)'
        >>> _Total(not_in_patch=1).words("corrected by fix.patch")
        '1 citation is not in the patch, which is for text files only: use --apply'
        """
        parts = []
        if self.files:
            parts.append(f"{count_noun(self.corrections, 'citation')} {done} in {count_noun(self.files, 'file')}")
        elif not self.not_in_patch:
            parts.append("nothing to correct")
        if self.not_in_patch:
            number = count_noun(self.not_in_patch, "citation is", "citations are")
            parts.append(f"{number} not in the patch, which is for text files only: use --apply")
        if self.likely:
            parts.append(f"{count_noun(self.likely, 'more is', 'more are')} only likely (--likely)")
        if self.problems:
            parts.append(f"{count_noun(self.problems, 'file')} not corrected")
        return "; ".join(parts)


class _Output:
    """Prints corrections: of text files as a diff in a preview, all others as a list of places."""

    def __init__(self, *, is_preview: bool) -> None:
        self._is_preview = is_preview
        self.diffs: list[bytes] = []

    def add(self, file: FixedFile, data: bytes) -> bool:
        """Print the corrections of a file, or keep them for the patch; return False if a diff can't show them."""
        if file.is_package or 0 in data:
            self.list(file, file.corrections)
            return False
        # As `git apply` takes it in the current folder.
        name = os.path.relpath(file.path).replace(os.sep, "/")
        diff = unified_diff(name, data, (edit for one in file.corrections for edit in one.edits))
        if not self._is_preview:
            self.diffs.append(diff)
            self.list(file, file.corrections)
        elif sys.stdout.isatty():
            lines = diff.decode("utf-8", "replace").split("\n")
            rows.write("\n".join(map(escape_invisible, lines)), sys.stdout)
        else:
            rows.write(diff, sys.stdout.buffer)
        return True

    def list(self, file: FixedFile, corrections: Iterable[Correction]) -> None:
        """Print a line for each of *corrections*."""
        for one in corrections:
            refusal = f"; not made: {one.refusal}" if one.refusal else ""
            line = f"{file.path}: {one.place}: {one.written} -> {one.correct} ({one.kinds}: {one.because}){refusal}"
            rows.write(escape_invisible(line) + "\n", sys.stdout)


def unified_diff(name: str, old: bytes, edits: Iterable[ByteEdit]) -> bytes:
    r"""Return the diff that makes *edits* in a file, for `git apply`; lines end with LF, and CR is a part of a line.

    >>> print(unified_diff("a.txt", b"one\ntwo\nthree", [ByteEdit("", 3, 4, b" ")]).decode(), end="")
    --- a/a.txt
    +++ b/a.txt
    @@ -1,3 +1,2 @@
    -one
    -two
    +one two
     three
    \ No newline at end of file
    """
    ends = [0, *(line.end() for line in _LINE.finditer(old))]
    # Names with blanks end with a tab.
    blank = "\t" if " " in name else ""
    pieces = [os.fsencode(f"--- a/{name}{blank}\n+++ b/{name}{blank}\n")]
    shift, groups = 0, list[list[Any]]()
    for edit in sorted(set(edits), key=lambda edit: edit.start):
        first = min(bisect_right(ends, edit.start), len(ends) - 1)
        # If the end of a line goes, the next line belongs to the change.
        last = min(bisect_right(ends, edit.end), len(ends) - 1)
        if not groups or first > groups[-1][1] + 2 * _CONTEXT:
            groups.append([first, last, []])
        groups[-1][1] = max(groups[-1][1], last)
        groups[-1][2].append(edit)
    for first, last, group in groups:
        start, end = ends[max(0, first - 1 - _CONTEXT)], ends[min(len(ends) - 1, last + _CONTEXT)]
        changed = splice(old[: ends[last]], group, start=ends[first - 1])
        parts = ((b" ", old[start : ends[first - 1]]), (b"-", old[ends[first - 1] : ends[last]]), (b"+", changed))
        lines = [sign + line for sign, part in (*parts, (b" ", old[ends[last] : end])) for line in _LINE.findall(part)]
        removed, added = (sum(line[:1] in (b" ", sign) for line in lines) for sign in (b"-", b"+"))
        before = max(1, first - _CONTEXT)
        pieces.append(b"@@ -%d,%d +%d,%d @@\n" % (before, removed, before + shift, added))
        pieces += [line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n" for line in lines]
        shift += added - removed
    return b"".join(pieces)
