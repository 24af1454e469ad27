"""The command `known`: the list of known problems."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from arkaudit.commands.options import file_option, store_option
from arkaudit.output.exits import EXIT_FINDING, say
from extractors.model.errors import UserMistake
from reports.languages.display import count_noun, escape_invisible

if TYPE_CHECKING:
    from crawler.model.observations import Problem

_LIST = file_option("--known", "known_file", default=Path("known.csv"), show_default=True, help="The list.")


@click.group()
def known() -> None:
    """Keep the list of known problems, which reports mark and do not raise.

    \b
    arkaudit known add --store audit.db                              all that fails now: a baseline
    arkaudit known add ark:12148/btv1b8449691v --reason "withdrawn in 2024"
    arkaudit known add host:old.example.org --until 2027-01-01 --reason "moves in December"
    arkaudit known check
    """


@known.command("add", short_help="Add what fails now to the list.")
@click.argument("whats", metavar="[WHAT]…", nargs=-1)
@_LIST
@store_option
@click.option("--reason", default="", help="The reason, for readers of the report.")
@click.option("--until", type=click.DateTime(["%Y-%m-%d"]), help="The first day on which the rows no longer count.")
@click.option("--who", default="", help="A name or an address.")
def known_add(
    whats: tuple[str, ...], known_file: Path, store_file: Path, reason: str, until: datetime | None, who: str
) -> None:
    """Add a row for each ARK that fails or gives no answer, and for each unreadable document, in the current state.

    WHAT limits it to an ARK, a beginning of ARKs with *, host:NAME or document:ADDRESS. A beginning, a host and a
    document get one row, which accepts the worst outcome of today. Rows of the file stay as they are.
    """
    from arkaudit.output.output_rows import write_file
    from extractors.model.files import path_exists, read_whole
    from reports.store.known_problems import (
        COLUMNS,
        MOST_BYTES,
        KnownFile,
        addition,
        read_known_file,
        rows_to_add,
        selection_of,
    )

    today = datetime.now(UTC).date()
    if until is not None and until.date() <= today:
        raise UserMistake(f"--until {until.date()} is not in the future: give tomorrow or a later day")
    selection = selection_of(whats)
    known_list, old_bytes = KnownFile(f"{','.join(COLUMNS)}\n", COLUMNS), f"{','.join(COLUMNS)}\n".encode()
    if path_exists(known_file):
        known_list, old_bytes = read_known_file(known_file), read_whole(known_file, MOST_BYTES)
    new_rows = rows_to_add(_problems(store_file), selection, known_list.known, today)
    if not new_rows:
        say(f"{known_file} stays as it is: nothing fails that it does not accept")
        return
    shared_cells = {"reason": reason, "until": str(until.date()) if until is not None else "", "who": who}
    addition_text = addition(
        known_list, ({"what": what, "state": state, **shared_cells} for what, state in new_rows), known_file
    )
    # The rows that are there stay as they are, to the byte.
    write_file(known_file.resolve(), old_bytes + addition_text.encode("utf-8", "backslashreplace"))
    say(f"{known_file}: {count_noun(len(new_rows), 'row')} added")


@known.command("check", short_help="Name rows that are over, match nothing, or got worse.")
@_LIST
@store_option
def known_check(known_file: Path, store_file: Path) -> None:
    """Print the rows of the list that have expired, match no problem in the store, or match a problem that got worse.

    Exits with 1 if there is such a row.
    """
    from arkaudit.output.output_rows import write_all
    from reports.store.known_problems import read_known, stale_rows

    known_list = read_known(known_file)
    stale_problems = list(stale_rows(known_list, _problems(store_file), datetime.now(UTC).date()))
    lines = (f"{known_file}:{row.line}: {row.what}: {problem}" for row, problem in stale_problems)
    write_all((f"{escape_invisible(line)}\n" for line in lines), sys.stdout)
    say(f"{known_file}: {count_noun(len(known_list.rows), 'row')}, {len(stale_problems)} to look at")
    if stale_problems:
        sys.exit(EXIT_FINDING)


def _problems(store_file: Path) -> list[Problem]:
    """Return the problems in the current state of a store. Raises `UserMistake` if there is no such file."""
    from extractors.model.files import is_file
    from reports.store.frames import load_problems

    if not is_file(store_file):
        raise UserMistake(f"there is no store at {store_file}")
    return load_problems(store_file)
