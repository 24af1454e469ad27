"""The command `triage`: decisions about known problems."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arkaudit.commands.options import FILE, file_option, repeatable, store_option, table_option, with_options
from arkaudit.output.exits import say
from crawler.history.ark_status import SEVERITY, ArkState
from crawler.history.triage import TriageAction, TriageDecision, TriageTarget, target_of
from extractors.model.errors import UserMistake
from reports.languages.display import count_noun, escape_invisible

if TYPE_CHECKING:
    from rich.console import JustifyMethod
    from sqlalchemy import Connection

#: Options for the targets of a decision.
_meant = with_options(
    click.argument("arks", metavar="[ARK|URL]…", nargs=-1),
    repeatable("--pattern", metavar="PATTERN", help="ARKs or request URLs that match it, such as ark:12148/btv1*."),
    repeatable("--host", metavar="HOST", help="ARKs requested from this host, or that end there."),
    repeatable("--document", metavar="URL|PATTERN", help="ARKs cited in documents that match or begin with it."),
    store_option,
)
_REASON = click.option("--reason", default="", help="The reason, for the report.")


#: Words for the result of a decision.
_DONE: Mapping[TriageAction, str] = {
    TriageAction.ACKNOWLEDGE: "acknowledged",
    TriageAction.IGNORE: "ignored",
    TriageAction.ASSIGN: "assigned",
    TriageAction.RECHECK: "due now",
}
#: Targets by the names of their options.
Meant = Mapping[str, Sequence[str]]


@click.group()
def triage() -> None:
    """Decide about known problems, so that reports count them and highlight only new ones.

    \b
    arkaudit triage acknowledge ark:12148/btv1b8449691v      known until it gets worse
    arkaudit triage ignore --host old.example.org --until 2027-01-01 --reason "moves in December"
    arkaudit triage assign --pattern 'ark:53355/*' --to anna
    arkaudit triage recheck --document https://www.example.org/theses/
    arkaudit triage list
    arkaudit triage apply triage.toml                        apply the decisions of a file
    """


@triage.command("acknowledge", short_help="Mark problems as known until they get worse.")
@_meant
@_REASON
def triage_acknowledge(store_file: Path, reason: str, **meant: Any) -> None:
    """Mark problems as known: reports count them, and highlight them again if they get worse or come back."""
    _decide(store_file, TriageAction.ACKNOWLEDGE, meant, reason)


@triage.command("ignore", short_help="Ignore all problems until a day.")
@_meant
@click.option("--reason", required=True, help="The reason, for the report.")
@click.option("--until", type=click.DateTime(["%Y-%m-%d"]), required=True, help="The first day that is not ignored.")
def triage_ignore(store_file: Path, reason: str, until: datetime, **meant: Any) -> None:
    """Ignore all problems of these ARKs until a day, from which they count again."""
    if not reason.strip():
        raise UserMistake("--reason is empty: give a reason for the readers of the report")
    if until.date() <= datetime.now(UTC).date():
        raise UserMistake(f"--until {until.date()} is not in the future: give tomorrow or a later day")
    _decide(store_file, TriageAction.IGNORE, meant, reason, until=until.date())


@triage.command("assign", short_help="Assign problems to a person.")
@_meant
@click.option("--to", "assignee", required=True, metavar="WHO", help="A name or an address.")
@_REASON
def triage_assign(store_file: Path, assignee: str, reason: str, **meant: Any) -> None:
    """Assign these ARKs to a person; reports show the name with their problems."""
    if not assignee.strip():
        raise UserMistake("--to is empty: give a name or an address")
    _decide(store_file, TriageAction.ASSIGN, meant, reason, assignee=assignee)


@triage.command("recheck", short_help="Make ARKs due now, once.")
@_meant
@_REASON
def triage_recheck(store_file: Path, reason: str, **meant: Any) -> None:
    """Make these ARKs due now: the next `recheck` checks them first, once."""
    _decide(store_file, TriageAction.RECHECK, meant, reason)


def _decide(
    store_file: Path,
    action: TriageAction,
    meant: Meant,
    reason: str,
    *,
    until: date | None = None,
    assignee: str | None = None,
) -> None:
    """Store a decision about each target, and print the number of ARKs. Raises `UserMistake` and `StoreError`."""
    from arkaudit.upkeep.triage_file import open_store

    now = datetime.now(UTC)
    made = [TriageDecision(action, kind, target, now, reason, until, assignee) for kind, target in _targets(meant)]
    with open_store(store_file) as store:
        touched = store.matched_arks(made)
        store.decide(made)
    arks, troubled = _counts(touched)
    say(f"{_DONE[action]}: {count_noun(arks, 'ARK')} of {store_file}, {troubled} of them with problems")


@triage.command("list", short_help="Show decisions and their effect.")
@store_option
@table_option
def triage_list(store_file: Path, form: str) -> None:
    """Print decisions, the number of ARKs of the store that they match, and whether they have expired."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from arkaudit.output.output_rows import print_whole, write_json
    from arkaudit.upkeep.triage_file import in_store

    rows = in_store(store_file, partial(_rows, datetime.now(UTC)))
    if form == "json":
        write_json(rows)
        return
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("action", "about", "ARKs", "problems", "since", "until", "to", "reason"):
        justify: JustifyMethod = "right" if heading in ("ARKs", "problems") else "left"
        wraps = heading in ("about", "until", "reason")
        # A day has ten characters.
        width = 10 if heading == "until" else None
        table.add_column(heading, justify=justify, overflow="fold", no_wrap=not wraps, min_width=width)
    for row in rows:
        until = f"{row['until']}{' (passed)' if row['is_expired'] else ''}" if row["until"] else ""
        shown = {**row, "about": f"{row['kind']} {row['target']}", "since": row["at"][:10]}
        names = ("action", "about", "arks", "problems", "since", "until", "to", "reason")
        cells = ((shown | {"until": until})[name] for name in names)
        table.add_row(*(Text(escape_invisible("" if cell is None else str(cell))) for cell in cells))
    print_whole(table)


def _rows(now: datetime, connection: Connection) -> list[dict[str, Any]]:
    """Return a row for each decision, as JSON values."""
    from crawler.history import triaging

    rows = []
    for decision in triaging.decisions(connection):
        touched = [
            (row.ark, row.request_url, ArkState(row.state)) for row, _ in triaging.matched_arks(connection, [decision])
        ]
        arks, problems = _counts(touched)
        row = {
            "action": decision.action.value,
            "kind": decision.kind.value,
            "target": decision.target,
            "at": decision.at.isoformat(timespec="seconds"),
            "until": decision.until.isoformat() if decision.until else None,
            "is_expired": decision.until is not None and decision.until <= now.date(),
            "to": decision.assignee,
            "reason": decision.reason,
            "from_file": decision.from_file,
            "arks": arks,
            "problems": problems,
        }
        rows.append(row)
    return rows


def _counts(touched: Iterable[tuple[str, str, ArkState]]) -> tuple[int, int]:
    """Return the number of ARKs, and of those with a problem."""
    states = [(ark, state in SEVERITY) for ark, _, state in touched]
    return len({ark for ark, _ in states}), len({ark for ark, is_ill in states if is_ill})


@triage.command("forget", short_help="Withdraw decisions.")
@_meant
@click.option("--action", type=click.Choice([*TriageAction]), help="Only decisions of this kind.")
def triage_forget(store_file: Path, action: str | None, **meant: Any) -> None:
    """Withdraw decisions about exactly these targets, named as in the decision."""
    from arkaudit.upkeep.triage_file import open_store

    targets = set(_targets(meant))
    with open_store(store_file) as store:
        decisions = [
            decision
            for decision in store.decisions()
            if (decision.kind, decision.target) in targets and action in (None, decision.action)
        ]
        if not decisions:
            raise UserMistake(f"{store_file} has no such decision: see arkaudit triage list")
        store.forget_decisions(decisions)
    for decision in decisions:
        say(f"forgotten: {decision.action} {decision.kind} {decision.target}")
    if any(decision.from_file for decision in decisions):
        say("some of these decisions are in a file: remove them there too, or they come back when it is applied")


@triage.command("apply", short_help="Apply the decisions of a file.")
@click.argument("file", metavar="FILE", type=FILE)
@store_option
def triage_apply(file: Path, store_file: Path) -> None:
    """Apply the decisions of a TOML file to the store, and withdraw those that were removed from the file.

    A configuration may name the file (triage = "triage.toml"); then each run applies it first. docs/triage.md has its
    format.
    """
    from arkaudit.upkeep.triage_file import apply_to, load_triage, open_store

    given = load_triage(file, now=datetime.now(UTC))
    with open_store(store_file) as store:
        apply_to(store, given)


@triage.command("export", short_help="Write all decisions as a file.")
@store_option
@file_option("--out", help="[default: standard output]")
def triage_export(store_file: Path, out: Path | None) -> None:
    """Write all decisions of a store as a file that `triage apply` reads."""
    from arkaudit.output.output_rows import write, write_file
    from arkaudit.upkeep.triage_file import in_store, triage_text
    from crawler.history import triaging

    text = triage_text(in_store(store_file, triaging.decisions))
    if out is None:
        write(text, sys.stdout)
        return
    write_file(out, text.encode())


def _targets(meant: Meant) -> list[tuple[TriageTarget, str]]:
    targets = []
    for name, texts in meant.items():
        kind = TriageTarget("ark" if name == "arks" else name)
        for text in texts:
            try:
                targets.append((kind, target_of(kind, text)))
            except ValueError as problem:
                words = f"--{kind}: {problem}"
                if kind is TriageTarget.ARK:
                    words = f"{text!r} is not an ARK; for several ARKs give --pattern"
                raise UserMistake(words) from None
    if not targets:
        raise UserMistake("no target is named: give ARKs, --pattern, --host or --document")
    return list(dict.fromkeys(targets))
