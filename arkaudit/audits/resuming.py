"""Decide whether a command begins a new run or resumes an unfinished one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from arkaudit.configuration.config import Config
from arkaudit.configuration.config_files import first_fault
from arkaudit.output.exits import say
from crawler.spiders.seeds import Seeds
from crawler.store import StoreError
from crawler.store.store import Run, Store
from extractors.model.errors import UserMistake
from extractors.model.files import is_file

#: Sections of the configuration that determine the requests. Politeness does not.
_SECTIONS = ("crawl", "resolve", "render")
#: The setting of a plan that names the signer of requests.
_SIGNER = "signer"


@dataclass(frozen=True, slots=True)
class RunPlan:
    """The seeds and settings that identify a run: a command with the same plan resumes it."""

    seeds: tuple[str, ...]
    """The seeds as the user named them."""
    settings: Mapping[str, Any]
    """Settings by dotted name."""

    @classmethod
    def from_command(cls, seeds: Sequence[str], config: Config) -> RunPlan:
        """Return the plan of a command."""
        settings: dict[str, Any] = {"resolver": config.resolver, _SIGNER: _signed_by(config)}
        for section in _SECTIONS:
            values = getattr(config, section).model_dump(mode="json")
            settings.update({f"{section}.{name}": value for name, value in values.items()})
        return cls(tuple(seeds), settings)

    @classmethod
    def read(cls, kept: Mapping[str, Any]) -> RunPlan:
        """Return the plan from the value of its `json`."""
        return cls(tuple(kept["seeds"]), kept["settings"])

    @property
    def json(self) -> dict[str, Any]:
        """The plan as JSON values, for the store."""
        return {"seeds": list(self.seeds), "settings": dict(self.settings)}

    def differences(self, other: RunPlan) -> list[str]:
        """Return the names of settings with different values; settings that only one plan has are ignored."""
        theirs = {**self.settings, **other.settings}
        return [name for name, value in self.settings.items() if value != theirs[name]]


@dataclass(frozen=True, slots=True)
class ResumeDecision:
    """The decision between a new run and an old one."""

    plan: RunPlan
    run: Run | None
    """The run to resume or, if it is finished, to report again; None for a new run."""
    remark: str = ""
    """A message for the user."""


def fingerprint(texts: Sequence[str]) -> str:
    """Return a short text that identifies a sequence of seeds.

    >>> fingerprint(["ark:12148/x5", "ark:12148/x6"])
    '2 lines, sha256 98edd76e6a437cd7'
    """
    digest = hashlib.sha256("\n".join(texts).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{len(texts)} lines, sha256 {digest[:16]}"


def decide(runs: Sequence[Run], seeds: Sequence[str], config: Config, *, resume: bool | None) -> ResumeDecision:
    """Decide which of *runs* of the same command (newest first) a command with these *seeds* resumes, if any.

    If *resume* is None, the newest run with the same plan is resumed if it is unfinished or unreported. If it is
    True, the command may omit settings of that run; `UserMistake` is raised if it contradicts one.
    """
    plan = RunPlan.from_command(seeds, config)
    if resume is False:
        return ResumeDecision(plan, None)
    plans = ((run, RunPlan.read(run.plan)) for run in runs if run.plan is not None)
    newest = next(((run, begun) for run, begun in plans if not seeds or begun.seeds == tuple(seeds)), None)
    if newest is None:
        if resume:
            raise UserMistake("nothing to resume: the store has no such run; leave out --resume")
        return ResumeDecision(plan, None)
    run, begun = newest
    differences = begun.differences(plan)
    if resume:
        for name in differences:
            section, _, key = name.rpartition(".")
            given = getattr(config, section) if section else config
            was, wanted = begun.settings[name], plan.settings[name]
            # Set by the file or an option, not a default.
            if key in given.model_fields_set or (name == _SIGNER and wanted is not None):
                raise UserMistake(
                    f"run {run.run_id} began with {name} = {was}, not {wanted}: omit this setting, "
                    "or begin a new run by --no-resume"
                )
        return ResumeDecision(begun, run)
    if run.is_finished and (run.is_reported or differences):
        return ResumeDecision(plan, None)
    if differences:
        words = f"differs in {', '.join(differences)}; this is a new one"
        return ResumeDecision(plan, None, f"run {run.run_id} did not finish, but {words}")
    return ResumeDecision(begun, run)


def _signed_by(config: Config) -> str | None:
    """Return who signs requests, to which hosts may answer differently; None if they are not signed."""
    signer = config.settings().get("ARKAUDIT_SIGNER")
    return str(signer) if signer is not None else None


def with_settings_of(plan: RunPlan, config: Config) -> Config:
    """Return *config* with the settings of *plan*. Raises `UserMistake` if they are no longer valid."""
    signed_by = plan.settings.get(_SIGNER)
    if signed_by and _signed_by(config) is None:
        raise UserMistake(f"the run began with requests signed by {signed_by}: configure the same key")
    changed: dict[str, Any] = {"resolver": plan.settings.get("resolver", config.resolver)}
    for name in _SECTIONS:
        section = getattr(config, name)
        values = {
            option: plan.settings.get(f"{name}.{option}", value) for option, value in section.model_dump().items()
        }
        try:
            changed[name] = type(section).model_validate(values)
        # For example, a browser may have been removed since the run began.
        except ValidationError as mistake:
            _, why = first_fault(mistake, type(section))
            raise UserMistake(f"the settings of [{name}] with which the run began are no longer valid: {why}") from None
    return config.model_copy(update=changed)


@dataclass(frozen=True, slots=True)
class OpenRun:
    """An open store, and the run to begin or resume in it."""

    store: Store
    config: Config
    decision: ResumeDecision

    @property
    def finished_run(self) -> int | None:
        """The id of the run if it is finished, else None."""
        run = self.decision.run
        return run.run_id if run is not None and run.is_finished else None

    def seeds(self, named: Seeds) -> Seeds:
        """Return the *named* seeds or, if there are none, those of the run."""
        return named if named.names else Seeds.parse(self.decision.plan.seeds, takes_logs=True)


@contextmanager
def open_run(
    command: str, seeds: Sequence[str], config: Config, store_file: Path | None, *, resume: bool | None
) -> Iterator[OpenRun]:
    """Open the store at *store_file*, decide about its runs, and print a message if an old run is used.

    Raises `UserMistake` or `crawler.store.StoreUnopenable` before anything is written.
    """
    if resume and (store_file is None or not is_file(store_file)):
        where = f"there is no store at {store_file}" if store_file else "name the store by --store"
        raise UserMistake(f"nothing to resume: {where}")
    with Store.open(store_file) as store:
        decision = decide(store.runs(command), seeds, config, resume=resume)
        run = decision.run
        if decision.remark:
            say(decision.remark)
        elif run is not None and run.is_finished:
            hint = "" if resume else " (--no-resume begins a new one)"
            day = run.started_at[:10]
            say(f"run {run.run_id} of {day} is finished; no requests are left{hint}")
        elif run is not None:
            begun = f"begun {run.started_at[:19]}Z (--no-resume begins a new one)"
            say(f"resuming run {run.run_id}, {begun}")
        yield OpenRun(store, with_settings_of(decision.plan, config), decision)


def note_reported(store_file: Path, run_id: int) -> None:
    """Mark a run as reported, with news sent. If the store fails, a later command reports it again."""
    with suppress(StoreError), Store.open(store_file) as store:
        store.note_reported(run_id)
