"""A file of decisions about known problems: TOML, validated as a whole, and applied to a store."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from arkaudit.config import Config
from arkaudit.config_files import ConfigError, TomlUnreadable, read_toml
from arkaudit.exits import command, say
from crawler.history.triage import TriageAction, TriageDecision, TriageKey, TriageTarget, target_of
from crawler.store.store import Store
from reports.languages.display import counted


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
    return TriageFile(tuple(decisions), now, {decision.key: at_entry for decision, at_entry in decisions.items()})


def _decisions(file: _TriageFile, path: Path, now: datetime) -> Iterator[tuple[TriageDecision, str]]:
    places: dict[Any, str] = {}
    for action in TriageAction:
        entries: list[_Entry] = getattr(file, action.value)
        for number, entry in enumerate(entries):
            location = f"{path}: {action}.{number}"
            given = [(kind, targets) for kind in TriageTarget if (targets := getattr(entry, kind.value)) is not None]
            if len(given) != 1:
                raise ConfigError(f"{location}: names one of {', '.join(TriageTarget)}")
            if entry.at is not None and entry.at > now + timedelta(days=1):
                raise ConfigError(f"{location}.at: lies in the future")
            [(kind, targets)] = given
            for target in targets:
                decision = _decision(action, kind, target, entry, location, now)
                earlier = places.setdefault(decision.key, location)
                if earlier is not location:
                    raise ConfigError(f"{location}: {target!r} is in {earlier.removeprefix(f'{path}: ')} already")
                yield decision, location


def _decision(
    action: TriageAction, kind: TriageTarget, target: str, entry: _Entry, location: str, now: datetime
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
    say(f"{counted(len(given.decisions), 'decision')} in the file: {new} new or changed, {gone} taken back")


def tell_idle(idle: Sequence[TriageDecision], given: TriageFile | None, store_file: Path | None) -> None:
    """Say of each decision that is about no ARK of the store where it was written."""
    places = given.places if given is not None else {}
    for decision in idle[:_MOST_IDLE]:
        location = f"{places[decision.key]}: " if decision.key in places else ""
        more = "" if location or decision.from_file else f"; {_forgetting(decision, store_file)} takes it back"
        say(
            f"{location}{decision.action} {decision.kind} {decision.target} fits no ARK of "
            f"{store_file or 'this check'}{more}"
        )
    if len(idle) > _MOST_IDLE:
        say(f"and {len(idle) - _MOST_IDLE} more decisions that fit none: arkaudit triage list")


def _forgetting(decision: TriageDecision, store_file: Path | None) -> str:
    target = (decision.target,) if decision.kind is TriageTarget.ARK else (f"--{decision.kind}", decision.target)
    return command("triage", "forget", *target, "--store", store_file or "audit.db")


def triage_of(config: Config, *, now: datetime) -> TriageFile | None:
    """The decisions of the file that a configuration names, if it names one. Raises `ConfigError`."""
    return load_triage(config.triage, now=now) if config.triage else None
