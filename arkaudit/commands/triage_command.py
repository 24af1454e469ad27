"""Decide about known problems, list the decisions, read and write them as a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text
from sqlalchemy import Connection

from arkaudit.config import Config
from arkaudit.exits import say
from arkaudit.options import store_option
from arkaudit.output_rows import whole, write
from arkaudit.triage_file import apply_to, load_triage, tell_idle, triage_of, triage_text
from crawler.history import triaging
from crawler.history.ark_status import ArkState
from crawler.history.triage import TriageAction, TriageDecision, TriageTarget, target_of
from crawler.store.store import Store
from extractors.model.errors import UserMistake
from reports.languages.display import counted, escaped

Found = TypeVar("Found")

#: What is said of a decision that has just been made.
_DONE: Mapping[TriageAction, str] = {
    TriageAction.ACKNOWLEDGE: "acknowledged",
    TriageAction.IGNORE: "ignored",
    TriageAction.ASSIGN: "assigned",
    TriageAction.RECHECK: "due now",
}
_TROUBLE = frozenset(
    {ArkState.FAILING, ArkState.CONFIRMED_BROKEN, ArkState.FLAPPING, ArkState.BLOCKED, ArkState.UNDETERMINED}
)

#: What is meant: the targets of each kind, as they were given.
Meant = Mapping[TriageTarget, Sequence[str]]


def decide(
    store_file: Path,
    action: TriageAction,
    meant: Meant,
    *,
    now: datetime,
    reason: str = "",
    until: date | None = None,
    assignee: str | None = None,
) -> None:
    """Keep a decision about each target, and say how many ARKs it is about. Raises `UserMistake` and `StoreError`."""
    if until is not None and until <= now.date():
        raise UserMistake(f"--until {until} has come: give the day on which it counts again, from tomorrow on")
    made = [TriageDecision(action, kind, target, now, reason, until, assignee) for kind, target in _targets(meant)]
    with _opened(store_file) as store:
        touched = store.touched_by(made)
        store.decide(made)
    arks, troubled = {ark for ark, _, _ in touched}, {ark for ark, _, state in touched if state in _TROUBLE}
    say(f"{_DONE[action]}: {counted(len(arks), 'ARK')} of {store_file}, {len(troubled)} of them not well")


def forget(store_file: Path, meant: Meant, action: TriageAction | None) -> None:
    """Take back what was decided about each target. Raises `UserMistake` where nothing was, and `StoreError`."""
    targets = set(_targets(meant))
    with _opened(store_file) as store:
        decisions = [
            decision
            for decision in store.decisions()
            if (decision.kind, decision.target) in targets and action in (None, decision.action)
        ]
        if not decisions:
            raise UserMistake(f"nothing of that was decided in {store_file}: see arkaudit triage list")
        store.forget_decisions(decisions)
    for decision in decisions:
        say(f"forgotten: {decision.action} {decision.kind} {decision.target}")
    if any(decision.from_file for decision in decisions):
        say("some of it is in a file, and comes back when that is applied: take it out there, too")


def apply(store_file: Path, file: Path, *, now: datetime) -> None:
    """Make what was decided by file what *file* says. Raises `ConfigError` and `StoreError`."""
    given = load_triage(file, now=now)
    with _opened(store_file) as store:
        apply_to(store, given)


def tell_idle_in(store_file: Path, config: Config | None, *, is_read_only: bool = False) -> None:
    """The same for a store that is not open; one that perhaps can't be written to *is_read_only*."""
    if is_read_only:
        idle = _read(store_file, triaging.idle)
    else:
        with _opened(store_file) as store:
            idle = store.idle_decisions()
    if idle:
        given = triage_of(config, now=datetime.now(UTC)) if config is not None else None
        tell_idle(idle, given, store_file)


def export(store_file: Path, out: Path | None) -> None:
    """Write all decisions as a file, or to standard output. Raises `UserMistake` and `StoreError`."""
    text = triage_text(_read(store_file, triaging.decisions))
    if out is None:
        write(text, sys.stdout)
        return
    begun = out.with_name(f".{out.name}.part")
    try:
        begun.write_text(text, "utf-8")
        begun.replace(out)
    except OSError as problem:
        with suppress(OSError):
            begun.unlink()
        raise UserMistake(f"{out} can't be written: {problem.strerror}") from None


def show(store_file: Path, form: str, *, now: datetime, console: Console) -> None:
    """Print what was decided, what it is about, and whether it is in force."""
    rows = _read(store_file, lambda connection: _rows(connection, now))
    if form == "json":
        write(json.dumps(rows, ensure_ascii=False, indent=2) + "\n", sys.stdout)
        return
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("action", "about", "ARKs", "not well", "since", "until", "to", "reason"):
        justify: JustifyMethod = "right" if heading in ("ARKs", "not well") else "left"
        table.add_column(heading, justify=justify, overflow="fold", no_wrap=heading not in ("about", "until", "reason"))
    for row in rows:
        until = f"{row['until']}{' (passed)' if row['is_expired'] else ''}" if row["until"] else ""
        about = f"{row['kind']} {row['target']}"
        cells = (row["action"], about, row["arks"], row["not_well"], row["at"][:10], until, row["to"], row["reason"])
        table.add_row(*(Text(escaped(str(cell) if cell is not None else "")) for cell in cells))
    with whole(console):
        console.print(table)


def _rows(connection: Connection, now: datetime) -> list[dict[str, Any]]:
    return [_row(decision, _touched(connection, decision), now) for decision in triaging.decisions(connection)]


def _touched(connection: Connection, decision: TriageDecision) -> list[tuple[str, str, ArkState]]:
    return [(row.ark, row.request_url, ArkState(row.state)) for row, _ in triaging.touched(connection, [decision])]


def _row(decision: TriageDecision, touched: Sequence[tuple[str, str, ArkState]], now: datetime) -> dict[str, Any]:
    return {
        "action": decision.action.value,
        "kind": decision.kind.value,
        "target": decision.target,
        "at": decision.at.isoformat(timespec="seconds"),
        "until": decision.until.isoformat() if decision.until else None,
        "is_expired": decision.until is not None and decision.until <= now.date(),
        "to": decision.assignee,
        "reason": decision.reason,
        "from_file": decision.from_file,
        "arks": len({ark for ark, _, _ in touched}),
        "not_well": len({ark for ark, _, state in touched if state in _TROUBLE}),
    }


def _targets(meant: Meant) -> list[tuple[TriageTarget, str]]:
    targets = []
    for kind, texts in meant.items():
        for text in texts:
            try:
                targets.append((kind, target_of(kind, text)))
            except ValueError as problem:
                if kind is not TriageTarget.ARK:
                    raise UserMistake(f"--{kind}: {problem}") from None
                raise UserMistake(f"not an ARK: {text!r}; for several at a time give --pattern") from None
    if not targets:
        raise UserMistake("nothing is named: give ARKs, --pattern, --host or --document")
    return list(dict.fromkeys(targets))


def _read(store_file: Path, work: Callable[[Connection], Found]) -> Found:
    """Return what *work* makes of a store, which perhaps can't be written to."""
    if not store_file.is_file():
        raise UserMistake(f"there is no store at {store_file}")
    from reports.store.store_reading import read  # which brings pandas along

    return read(store_file, work)


def _opened(store_file: Path) -> Store:
    if not store_file.is_file():
        raise UserMistake(f"there is no store at {store_file}")
    return Store.open(store_file)


# Decide about known problems.


def _meant(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for which ARKs a decision is about."""
    for option in reversed(
        (
            click.argument("arks", metavar="[ARK|URL]…", nargs=-1),
            click.option(
                "--pattern", multiple=True, metavar="PATTERN", help="ARKs, or URLs asked, that fit it: ark:12148/btv1*."
            ),
            click.option(
                "--host", multiple=True, metavar="HOST", help="ARKs that are asked for there, or that end there."
            ),
            click.option(
                "--document", multiple=True, metavar="URL|PATTERN", help="What is cited in there; also a beginning."
            ),
            store_option,
        )
    ):
        command = option(command)
    return command


_REASON = click.option("--reason", default="", help="Why; the report has it.")


@click.group()
def triage() -> None:
    """Decide about known problems, so that reports count them and raise only what is new.

    \b
    arkaudit triage acknowledge ark:12148/btv1b8449691v      known, until it gets worse
    arkaudit triage ignore --host old.example.org --until 2027-01-01 --reason "moves in December"
    arkaudit triage assign --pattern 'ark:53355/*' --to anna
    arkaudit triage recheck --document https://www.example.org/theses/
    arkaudit triage list
    arkaudit triage apply triage.toml                        what was decided in a file that can be reviewed
    """


@triage.command("acknowledge", short_help="Known as it is, until it gets worse.")
@_meant
@_REASON
def triage_acknowledge(store_file: Path, reason: str, **meant: Any) -> None:
    """Acknowledge problems as they are: they are counted, and raised again once they are worse or have come back."""

    decide(store_file, TriageAction.ACKNOWLEDGE, _kinds(meant), now=datetime.now(UTC), reason=reason)


@triage.command("ignore", short_help="Raise nothing until a day.")
@_meant
@click.option("--reason", required=True, help="Why; the report has it.")
@click.option("--until", type=click.DateTime(["%Y-%m-%d"]), required=True, help="The day on which it counts again.")
def triage_ignore(store_file: Path, reason: str, until: datetime, **meant: Any) -> None:
    """Ignore whatever goes wrong with these ARKs until a day; from that day on it counts again."""

    if not reason.strip():
        raise UserMistake("--reason is empty: say why, for the readers of the report")
    now = datetime.now(UTC)
    decide(store_file, TriageAction.IGNORE, _kinds(meant), now=now, reason=reason, until=until.date())


@triage.command("assign", short_help="Say who looks after it.")
@_meant
@click.option("--to", "assignee", required=True, metavar="WHO", help="A name or an address.")
@_REASON
def triage_assign(store_file: Path, assignee: str, reason: str, **meant: Any) -> None:
    """Say who looks after these ARKs; their problems are raised as before, with this name."""

    if not assignee.strip():
        raise UserMistake("--to is empty: say who looks after it")
    decide(store_file, TriageAction.ASSIGN, _kinds(meant), now=datetime.now(UTC), reason=reason, assignee=assignee)


@triage.command("recheck", short_help="Make it due now, once.")
@_meant
@_REASON
def triage_recheck(store_file: Path, reason: str, **meant: Any) -> None:
    """Make these ARKs due now, whatever their interval: the next `check --due` asks for them first, once."""

    decide(store_file, TriageAction.RECHECK, _kinds(meant), now=datetime.now(UTC), reason=reason)


@triage.command("list", short_help="What was decided, and whether it is in force.")
@store_option
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def triage_list(store_file: Path, form: str) -> None:
    """Print what was decided, how many ARKs of the store it is about, and whether it is in force."""
    from rich.console import Console

    show(store_file, form, now=datetime.now(UTC), console=Console())


@triage.command("forget", short_help="Take decisions back.")
@_meant
@click.option("--action", type=click.Choice([*TriageAction]), help="Only decisions of this kind.")
def triage_forget(store_file: Path, action: str | None, **meant: Any) -> None:
    """Take back what was decided about exactly these targets, named as they were then."""

    forget(store_file, _kinds(meant), TriageAction(action) if action else None)


@triage.command("apply", short_help="Decide as a file says.")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@store_option
def triage_apply(file: Path, store_file: Path) -> None:
    """Make the decisions of a TOML file those of the store; one that was taken out of the file is taken back.

    A configuration may name the file (triage = "triage.toml"); a run then applies it as it begins. docs/triage.md
    shows what it may hold.
    """

    apply(store_file, file, now=datetime.now(UTC))


@triage.command("export", short_help="All decisions as a file.")
@store_option
@click.option("--out", type=click.Path(path_type=Path), help="[default: standard output]")
def triage_export(store_file: Path, out: Path | None) -> None:
    """Write all decisions of a store as a file that `triage apply` reads."""

    export(store_file, out)


def _kinds(meant: Mapping[str, Sequence[str]]) -> dict[TriageTarget, Sequence[str]]:
    return {TriageTarget("ark" if name == "arks" else name): texts for name, texts in meant.items()}
