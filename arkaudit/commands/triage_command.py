"""Decide about known problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from arkaudit.options import store_option
from crawler.history.triage import TriageAction, TriageTarget
from extractors.model.errors import UserMistake


def _meant(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for which ARKs a decision is about."""
    for option in reversed(
        (
            click.argument("arks", metavar="[ARK|URL]…", nargs=-1),
            click.option(
                "--pattern",
                multiple=True,
                metavar="PATTERN",
                help="ARKs, or URLs asked, that fit it: ark:12148/btv1*.",
            ),
            click.option(
                "--host",
                multiple=True,
                metavar="HOST",
                help="ARKs that are asked for there, or that end there.",
            ),
            click.option(
                "--document",
                multiple=True,
                metavar="URL|PATTERN",
                help="What is cited in there; also a beginning.",
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
    from arkaudit.triage_commands import decide

    decide(
        store_file, TriageAction.ACKNOWLEDGE, _kinds(meant), now=datetime.now(UTC), reason=reason
    )


@triage.command("ignore", short_help="Raise nothing until a day.")
@_meant
@click.option("--reason", required=True, help="Why; the report has it.")
@click.option(
    "--until",
    type=click.DateTime(["%Y-%m-%d"]),
    required=True,
    help="The day on which it counts again.",
)
def triage_ignore(store_file: Path, reason: str, until: datetime, **meant: Any) -> None:
    """Ignore whatever goes wrong with these ARKs until a day; from that day on it counts again."""
    from arkaudit.triage_commands import decide

    if not reason.strip():
        raise UserMistake("--reason is empty: say why, for the readers of the report")
    now = datetime.now(UTC)
    decide(
        store_file, TriageAction.IGNORE, _kinds(meant), now=now, reason=reason, until=until.date()
    )


@triage.command("assign", short_help="Say who looks after it.")
@_meant
@click.option("--to", "assignee", required=True, metavar="WHO", help="A name or an address.")
@_REASON
def triage_assign(store_file: Path, assignee: str, reason: str, **meant: Any) -> None:
    """Say who looks after these ARKs; their problems are raised as before, with this name."""
    from arkaudit.triage_commands import decide

    if not assignee.strip():
        raise UserMistake("--to is empty: say who looks after it")
    decide(
        store_file,
        TriageAction.ASSIGN,
        _kinds(meant),
        now=datetime.now(UTC),
        reason=reason,
        assignee=assignee,
    )


@triage.command("recheck", short_help="Make it due now, once.")
@_meant
@_REASON
def triage_recheck(store_file: Path, reason: str, **meant: Any) -> None:
    """Make these ARKs due now, whatever their interval: the next `check --due` asks for them first, once."""
    from arkaudit.triage_commands import decide

    decide(store_file, TriageAction.RECHECK, _kinds(meant), now=datetime.now(UTC), reason=reason)


@triage.command("list", short_help="What was decided, and whether it is in force.")
@store_option
@click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True
)
def triage_list(store_file: Path, form: str) -> None:
    """Print what was decided, how many ARKs of the store it is about, and whether it is in force."""

    from arkaudit.triage_commands import show

    show(store_file, form, now=datetime.now(UTC), console=Console())


@triage.command("forget", short_help="Take decisions back.")
@_meant
@click.option("--action", type=click.Choice([*TriageAction]), help="Only decisions of this kind.")
def triage_forget(store_file: Path, action: str | None, **meant: Any) -> None:
    """Take back what was decided about exactly these targets, named as they were then."""
    from arkaudit.triage_commands import forget

    forget(store_file, _kinds(meant), TriageAction(action) if action else None)


@triage.command("apply", short_help="Decide as a file says.")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@store_option
def triage_apply(file: Path, store_file: Path) -> None:
    """Make the decisions of a TOML file those of the store; one that was taken out of the file is taken back.

    A configuration may name the file (triage = "triage.toml"); a run then applies it as it begins. docs/triage.md
    shows what it may hold.
    """
    from arkaudit.triage_commands import apply

    apply(store_file, file, now=datetime.now(UTC))


@triage.command("export", short_help="All decisions as a file.")
@store_option
@click.option("--out", type=click.Path(path_type=Path), help="[default: standard output]")
def triage_export(store_file: Path, out: Path | None) -> None:
    """Write all decisions of a store as a file that `triage apply` reads."""
    from arkaudit.triage_commands import export

    export(store_file, out)


def _kinds(meant: Mapping[str, Sequence[str]]) -> dict[TriageTarget, Sequence[str]]:
    return {TriageTarget("ark" if name == "arks" else name): texts for name, texts in meant.items()}
