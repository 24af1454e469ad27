"""Read and write files of triage decisions, and report decisions that match no ARK."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from sqlalchemy import Connection

from arkaudit.configuration.config import Config
from arkaudit.configuration.config_files import ConfigError, first_fault, read_toml
from arkaudit.output.exits import command, say
from crawler.history import triaging
from crawler.history.triage import TriageAction, TriageDecision, TriageKey, TriageTarget, target_of
from crawler.store.store import Store
from extractors.model.errors import UserMistake
from extractors.model.files import is_file
from reports.languages.display import count_noun


def _moment(value: Any) -> Any:
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    return datetime.combine(value, time(), UTC) if isinstance(value, date) else value


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    return text


Targets = Annotated[
    list[str], BeforeValidator(lambda value: [value] if isinstance(value, str) else value), Field(min_length=1)
]
Nonblank = Annotated[str, AfterValidator(_not_blank)]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    ark: Targets | None = None
    pattern: Targets | None = None
    host: Targets | None = None
    document: Targets | None = None
    at: Annotated[datetime | None, BeforeValidator(_moment)] = None
    reason: str = ""


class _IgnoreEntry(_Entry):
    reason: Nonblank
    until: date


class _AssignEntry(_Entry):
    to: Nonblank


class _TriageFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    acknowledge: list[_Entry] = []
    ignore: list[_IgnoreEntry] = []
    assign: list[_AssignEntry] = []
    recheck: list[_Entry] = []


@dataclass(frozen=True, slots=True)
class TriageFile:
    """The decisions that were read from a file."""

    decisions: tuple[TriageDecision, ...]
    at: datetime
    """The time of reading."""
    places: Mapping[TriageKey, str]
    """The file and entry of each decision, for messages."""


def load_triage(path: Path, *, now: datetime) -> TriageFile:
    """Return the decisions in the file at *path*; *now* is the default of their time. Raises `ConfigError`."""
    values = read_toml(path, what="file of decisions")
    try:
        given = _TriageFile.model_validate(values)
    except ValidationError as problem:
        at_entry, words = first_fault(problem, _TriageFile)
        raise ConfigError(f"{path}: {'.'.join(at_entry)}: {words}") from None
    decisions = dict(_decisions(given, path, now))
    places = {decision.key: place for decision, place in decisions.items()}
    return TriageFile(tuple(decisions), now, places)


def _decisions(file: _TriageFile, path: Path, now: datetime) -> Iterator[tuple[TriageDecision, str]]:
    places: dict[Any, str] = {}
    for action in TriageAction:
        entries: list[_Entry] = getattr(file, action.value)
        for number, entry in enumerate(entries):
            location = f"{path}: {action}.{number}"
            given = [(kind, targets) for kind in TriageTarget if (targets := getattr(entry, kind.value)) is not None]
            if len(given) != 1:
                raise ConfigError(f"{location}: must have one of {', '.join(TriageTarget)}")
            if entry.at is not None and entry.at > now + timedelta(days=1):
                raise ConfigError(f"{location}.at: is in the future")
            [(kind, targets)] = given
            # Today's date may still be in the future in UTC.
            at = min(entry.at or now, now)
            until = entry.until if isinstance(entry, _IgnoreEntry) else None
            to = entry.to if isinstance(entry, _AssignEntry) else None
            for target in targets:
                try:
                    meant = target_of(kind, target)
                except ValueError as problem:
                    words = f"{target!r} is not an ARK" if kind is TriageTarget.ARK else problem
                    raise ConfigError(f"{location}.{kind}: {words}") from None
                decision = TriageDecision(action, kind, meant, at, entry.reason, until, to, from_file=True)
                earlier = places.setdefault(decision.key, location)
                if earlier is not location:
                    other = earlier.removeprefix(f"{path}: ")
                    raise ConfigError(f"{location}: {target!r} is already in {other}")
                yield decision, location


#: Keys of an entry in order, and the attributes of a decision.
_FIELDS: Mapping[str, str] = {"until": "until", "to": "assignee", "reason": "reason", "at": "at"}


def triage_text(decisions: Iterable[TriageDecision]) -> str:
    """Return *decisions* as the TOML text that `load_triage` reads."""
    entries = []
    for decision in decisions:
        lines = [f"[[{decision.action}]]", f"{decision.kind} = {_toml(decision.target)}"]
        for name, attribute in _FIELDS.items():
            value = getattr(decision, attribute)
            if value not in (None, ""):
                lines.append(f"{name} = {_toml(value)}")
        entries.append("\n".join(lines) + "\n")
    return "\n".join(entries)


def _toml(value: str | date | datetime) -> str:
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds")
    if isinstance(value, date):
        return value.isoformat()
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


#: Number of decisions without ARKs that are reported one by one.
_MOST_IDLE = 10


def apply_to(store: Store, given: TriageFile) -> None:
    """Apply the decisions of a file to a store, and print the number of changes."""
    new, gone = store.decide_by_file(given.decisions, at=given.at)
    say(f"{count_noun(len(given.decisions), 'decision')} in the file: {new} new or changed, {gone} withdrawn")


def report_idle(idle: Sequence[TriageDecision], given: TriageFile | None, store_file: Path) -> None:
    """Report decisions that match no ARK of the store, with their places in the file."""
    places = given.places if given is not None else {}
    for decision in idle[:_MOST_IDLE]:
        location = f"{places[decision.key]}: " if decision.key in places else ""
        more = ""
        if not (location or decision.from_file):
            option = () if decision.kind is TriageTarget.ARK else (f"--{decision.kind}",)
            words = ("triage", "forget", *option, decision.target)
            more = f"; withdraw it by {command(*words, '--store', store_file)}"
        say(f"{location}{decision.action} {decision.kind} {decision.target} matches no ARK of {store_file}{more}")
    if len(idle) > _MOST_IDLE:
        say(f"{len(idle) - _MOST_IDLE} more decisions match no ARK: see arkaudit triage list")


def triage_of(config: Config, *, now: datetime) -> TriageFile | None:
    """Return the decisions of the configured file, if there is one. Raises `ConfigError`."""
    return load_triage(config.triage, now=now) if config.triage else None


def report_idle_in(store_file: Path, config: Config | None, *, is_read_only: bool = False) -> None:
    """Report decisions that match no ARK of the store at a path, which may be *read-only*."""
    if is_read_only:
        idle = in_store(store_file, triaging.unmatched_decisions)
    else:
        with open_store(store_file) as store:
            idle = store.idle_decisions()
    if idle:
        given = triage_of(config, now=datetime.now(UTC)) if config is not None else None
        report_idle(idle, given, store_file)


Found = TypeVar("Found")


def in_store(store_file: Path, work: Callable[[Connection], Found]) -> Found:
    """Return the result of *work* on a store, which may be read-only. Raises `UserMistake` if there is none."""
    if not is_file(store_file):
        raise UserMistake(f"there is no store at {store_file}")
    # Imports pandas.
    from reports.store.store_reading import read_store

    return read_store(store_file, work)


def open_store(store_file: Path) -> Store:
    """Open the existing store at a path. Raises `UserMistake` and `StoreError`."""
    if not is_file(store_file):
        raise UserMistake(f"there is no store at {store_file}")
    return Store.open(store_file)
