"""Decide about known problems, list the decisions, read and write them as a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from rich.box import SIMPLE_HEAD
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text
from sqlalchemy import Connection

from arkaudit.config import Config
from arkaudit.config_files import ConfigError, TomlUnreadable, read_toml
from arkaudit.exits import command, say
from arkaudit.output_rows import whole, write
from crawler.history import triaging
from crawler.history.ark_status import ArkState
from crawler.history.triage import TriageAction, TriageDecision, TriageKey, TriageTarget, target_of
from crawler.store.store import Store
from extractors.model.errors import UserMistake
from reports.languages.display import counted, escaped


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _moment(value: Any) -> Any:
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    return datetime.combine(value, time(), UTC) if isinstance(value, date) else value


Targets = Annotated[list[str], BeforeValidator(_listed), Field(min_length=1)]
Nonblank = Annotated[str, Field(pattern=r"\S")]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    ark: Targets | None = None
    pattern: Targets | None = None
    host: Targets | None = None
    document: Targets | None = None
    at: Annotated[datetime | None, BeforeValidator(_moment)] = None
    reason: str = ""


class _Ignored(_Entry):
    reason: Nonblank
    until: date


class _Assigned(_Entry):
    to: Nonblank


class _TriageFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    acknowledge: list[_Entry] = []
    ignore: list[_Ignored] = []
    assign: list[_Assigned] = []
    recheck: list[_Entry] = []


@dataclass(frozen=True, slots=True)
class TriageFile:
    """The decisions of a file, and when it was read."""

    decisions: tuple[TriageDecision, ...]
    at: datetime
    places: Mapping[TriageKey, str] = field(default_factory=dict)
    """The file and entry of each decision."""


def load_triage(path: Path, *, now: datetime) -> TriageFile:
    """The decisions in the file at *path*; those without a moment of their own are of *now*. Raises `ConfigError`."""
    try:
        values = read_toml(path, what="file of decisions")
    except TomlUnreadable as problem:
        raise ConfigError(str(problem)) from None
    try:
        given = _TriageFile.model_validate(values)
    except ValidationError as problem:
        first, *others = problem.errors()
        at_entry = tuple(str(part) for part in first["loc"])
        more = f" (and {len(others)} more)" if others else ""
        is_blank = first["type"] == "string_pattern_mismatch"
        words = "is empty" if is_blank else first["msg"].removeprefix("Value error, ")
        raise ConfigError(f"{path}: {'.'.join(at_entry)}: {words}{more}") from None
    decisions = dict(_decisions(given, path, now))
    return TriageFile(
        tuple(decisions), now, {decision.key: at_entry for decision, at_entry in decisions.items()}
    )


def _decisions(
    file: _TriageFile, path: Path, now: datetime
) -> Iterator[tuple[TriageDecision, str]]:
    places: dict[Any, str] = {}
    for action in TriageAction:
        entries: list[_Entry] = getattr(file, action.value)
        for number, entry in enumerate(entries):
            location = f"{path}: {action}.{number}"
            given = [
                (kind, targets)
                for kind in TriageTarget
                if (targets := getattr(entry, kind.value)) is not None
            ]
            if len(given) != 1:
                raise ConfigError(f"{location}: names one of {', '.join(TriageTarget)}")
            if entry.at is not None and entry.at > now + timedelta(days=1):
                raise ConfigError(f"{location}.at: lies in the future")
            [(kind, targets)] = given
            for target in targets:
                decision = _decision(action, kind, target, entry, location, now)
                earlier = places.setdefault(decision.key, location)
                if earlier is not location:
                    raise ConfigError(
                        f"{location}: {target!r} is in {earlier.removeprefix(f'{path}: ')} already"
                    )
                yield decision, location


def _decision(
    action: TriageAction,
    kind: TriageTarget,
    target: str,
    entry: _Entry,
    location: str,
    now: datetime,
) -> TriageDecision:
    try:
        meant = target_of(kind, target)
    except ValueError as problem:
        words = f"not an ARK: {target!r}" if kind is TriageTarget.ARK else str(problem)
        raise ConfigError(f"{location}.{kind}: {words}") from None
    return TriageDecision(
        action,
        kind,
        meant,
        min(entry.at or now, now),  # a day or hour of another time zone may not have come yet
        entry.reason,
        entry.until if isinstance(entry, _Ignored) else None,
        entry.to if isinstance(entry, _Assigned) else None,
        from_file=True,
    )


#: What the entries of a file are called, in their order, and where a decision has them.
_FIELDS: Mapping[str, str] = {"until": "until", "to": "assignee", "reason": "reason", "at": "at"}


def triage_text(decisions: Iterable[TriageDecision]) -> str:
    """*decisions* as a file that `load_triage` reads."""
    return "\n".join(_entry(decision) for decision in decisions)


def _entry(decision: TriageDecision) -> str:
    lines = [f"[[{decision.action}]]", f"{decision.kind} = {_toml(decision.target)}"]
    for name, attribute in _FIELDS.items():
        value = getattr(decision, attribute)
        if value not in (None, ""):
            lines.append(f"{name} = {_toml(value)}")
    return "\n".join(lines) + "\n"


def _toml(value: str | date | datetime) -> str:
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds")
    if isinstance(value, date):
        return value.isoformat()
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


#: Of so many decisions that are about nothing it is said one by one.
_MOST_IDLE = 10


def apply_to(store: Store, given: TriageFile) -> None:
    """The same for a store that is open; says how much has changed, if anything."""
    new, gone = store.decide_by_file(given.decisions, at=given.at)
    say(
        f"{counted(len(given.decisions), 'decision')} in the file: {new} new or changed, {gone} taken back"
    )


def tell_idle(
    idle: Sequence[TriageDecision], given: TriageFile | None, store_file: Path | None
) -> None:
    """Say of each decision that is about no ARK of the store where it was written."""
    places = given.places if given is not None else {}
    for decision in idle[:_MOST_IDLE]:
        location = f"{places[decision.key]}: " if decision.key in places else ""
        more = (
            ""
            if location or decision.from_file
            else f"; {_forgetting(decision, store_file)} takes it back"
        )
        say(
            f"{location}{decision.action} {decision.kind} {decision.target} fits no ARK of "
            f"{store_file or 'this check'}{more}"
        )
    if len(idle) > _MOST_IDLE:
        say(f"and {len(idle) - _MOST_IDLE} more decisions that fit none: arkaudit triage list")


def _forgetting(decision: TriageDecision, store_file: Path | None) -> str:
    target = (
        (decision.target,)
        if decision.kind is TriageTarget.ARK
        else (f"--{decision.kind}", decision.target)
    )
    return command("triage", "forget", *target, "--store", store_file or "audit.db")


def triage_of(config: Config, *, now: datetime) -> TriageFile | None:
    """The decisions of the file that a configuration names, if it names one. Raises `ConfigError`."""
    return load_triage(config.triage, now=now) if config.triage else None


Found = TypeVar("Found")

#: What is said of a decision that has just been made.
_DONE: Mapping[TriageAction, str] = {
    TriageAction.ACKNOWLEDGE: "acknowledged",
    TriageAction.IGNORE: "ignored",
    TriageAction.ASSIGN: "assigned",
    TriageAction.RECHECK: "due now",
}
_TROUBLE = frozenset(
    {
        ArkState.FAILING,
        ArkState.CONFIRMED_BROKEN,
        ArkState.FLAPPING,
        ArkState.BLOCKED,
        ArkState.UNDETERMINED,
    }
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
        raise UserMistake(
            f"--until {until} has come: give the day on which it counts again, from tomorrow on"
        )
    made = [
        TriageDecision(action, kind, target, now, reason, until, assignee)
        for kind, target in _targets(meant)
    ]
    with _opened(store_file) as store:
        touched = store.touched_by(made)
        store.decide(made)
    arks, troubled = (
        {ark for ark, _, _ in touched},
        {ark for ark, _, state in touched if state in _TROUBLE},
    )
    say(
        f"{_DONE[action]}: {counted(len(arks), 'ARK')} of {store_file}, {len(troubled)} of them not well"
    )


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
            raise UserMistake(
                f"nothing of that was decided in {store_file}: see arkaudit triage list"
            )
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
        table.add_column(
            heading,
            justify=justify,
            overflow="fold",
            no_wrap=heading not in ("about", "until", "reason"),
        )
    for row in rows:
        until = f"{row['until']}{' (passed)' if row['is_expired'] else ''}" if row["until"] else ""
        about = f"{row['kind']} {row['target']}"
        cells = (
            row["action"],
            about,
            row["arks"],
            row["not_well"],
            row["at"][:10],
            until,
            row["to"],
            row["reason"],
        )
        table.add_row(*(Text(escaped(str(cell) if cell is not None else "")) for cell in cells))
    with whole(console):
        console.print(table)


def _rows(connection: Connection, now: datetime) -> list[dict[str, Any]]:
    return [
        _row(decision, _touched(connection, decision), now)
        for decision in triaging.decisions(connection)
    ]


def _touched(connection: Connection, decision: TriageDecision) -> list[tuple[str, str, ArkState]]:
    return [
        (row.ark, row.request_url, ArkState(row.state))
        for row, _ in triaging.touched(connection, [decision])
    ]


def _row(
    decision: TriageDecision, touched: Sequence[tuple[str, str, ArkState]], now: datetime
) -> dict[str, Any]:
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
                raise UserMistake(
                    f"not an ARK: {text!r}; for several at a time give --pattern"
                ) from None
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
