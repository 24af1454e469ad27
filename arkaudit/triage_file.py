"""A file of decisions about known problems, for review: TOML, validated as a whole, with lines in the messages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from arkaudit.config_files import ConfigError
from arkaudit.config_lines import line_of
from arkaudit.toml_files import TomlUnreadable, read_toml
from crawler.history.triage import TriageAction, TriageDecision, TriageKey, TriageTarget, target_of


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _moment(value: Any) -> Any:
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    return datetime.combine(value, time(), UTC) if isinstance(value, date) else value


Targets = Annotated[list[str], BeforeValidator(_listed), Field(min_length=1)]
Text = Annotated[str, Field(pattern=r"\S")]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    ark: Targets | None = None
    pattern: Targets | None = None
    host: Targets | None = None
    document: Targets | None = None
    at: Annotated[datetime | None, BeforeValidator(_moment)] = None
    reason: str = ""


class _Ignored(_Entry):
    reason: Text
    until: date


class _Assigned(_Entry):
    to: Text


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
    """The file and line of each decision."""


def load_triage(path: Path, *, now: datetime) -> TriageFile:
    """The decisions in the file at *path*; those without a moment of their own are of *now*. Raises `ConfigError`."""
    try:
        text, values = read_toml(path, what="file of decisions")
    except TomlUnreadable as problem:
        raise ConfigError(str(problem)) from None
    try:
        given = _TriageFile.model_validate(values)
    except ValidationError as problem:
        first, *others = problem.errors()
        place = tuple(str(part) for part in first["loc"])
        more = f" (and {len(others)} more)" if others else ""
        is_blank = first["type"] == "string_pattern_mismatch"
        words = "is empty" if is_blank else first["msg"].removeprefix("Value error, ")
        raise ConfigError(f"{_at(text, path, place)}{'.'.join(place)}: {words}{more}") from None
    decisions = dict(_decisions(given, text, path, now))
    return TriageFile(tuple(decisions), now, {each.key: place for each, place in decisions.items()})


def _decisions(file: _TriageFile, text: str, path: Path, now: datetime) -> Iterator[tuple[TriageDecision, str]]:
    seen: dict[Any, tuple[str, ...]] = {}
    for action in TriageAction:
        entries: list[_Entry] = getattr(file, action.value)
        for number, entry in enumerate(entries):
            place = (action.value, str(number))
            given = [(kind, targets) for kind in TriageTarget if (targets := getattr(entry, kind.value)) is not None]
            if len(given) != 1:
                raise ConfigError(f"{_at(text, path, place)}{action}: names one of {', '.join(TriageTarget)}")
            if entry.at is not None and entry.at > now + timedelta(days=1):
                raise ConfigError(f"{_at(text, path, (*place, 'at'))}{action}.at: lies in the future")
            [(kind, targets)] = given
            for target in targets:
                decision = _decision(action, kind, target, entry, text, path, (*place, kind.value), now)
                if decision.key in seen:
                    earlier = line_of(text, seen[decision.key])
                    at = _at(text, path, place)
                    raise ConfigError(f"{at}{action}: {target!r} stands on line {earlier} already")
                seen[decision.key] = place
                yield decision, _at(text, path, (*place, kind.value)).removesuffix(": ")


def _decision(
    action: TriageAction,
    kind: TriageTarget,
    target: str,
    entry: _Entry,
    text: str,
    path: Path,
    place: tuple[str, ...],
    now: datetime,
) -> TriageDecision:
    try:
        meant = target_of(kind, target)
    except ValueError as problem:
        words = f"not an ARK: {target!r}" if kind is TriageTarget.ARK else str(problem)
        raise ConfigError(f"{_at(text, path, place)}{action}.{kind}: {words}") from None
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


def _at(text: str, path: Path, keys: tuple[str, ...]) -> str:
    line = line_of(text, keys)
    return f"{path}:{line}: " if line else f"{path}: "


#: What the entries of a file are called, in their order, and where a decision has them.
_FIELDS: Final[Mapping[str, str]] = {"until": "until", "to": "assignee", "reason": "reason", "at": "at"}


def triage_text(decisions: Iterable[TriageDecision]) -> str:
    """*decisions* as a file that `load_triage` reads."""
    return "\n".join(_entry(each) for each in decisions)


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
