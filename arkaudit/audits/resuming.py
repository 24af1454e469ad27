"""Decide whether a command begins a new run or resumes an unfinished one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from arkaudit.configuration.config import Config, Section
from arkaudit.configuration.config_files import first_fault
from arkaudit.output.exits import say
from crawler.spiders.seeds import Seeds
from crawler.store import StoreError
from crawler.store.store import Run, Store
from extractors.model.errors import UserMistake
from extractors.model.files import is_file

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
        settings: dict[str, Any] = {"resolver": config.resolver, _SIGNER: _signer_of(config)}
        for name, section in _sections_about_requests(config):
            values = section.model_dump(mode="json")
            settings.update({f"{name}.{option}": value for option, value in values.items()})
        return cls(tuple(seeds), settings)

    @classmethod
    def read(cls, plan_json: Mapping[str, Any]) -> RunPlan:
        """Return the plan with this `json`."""
        return cls(tuple(plan_json["seeds"]), plan_json["settings"])

    @property
    def json(self) -> dict[str, Any]:
        """The plan as JSON values, for the store."""
        return {"seeds": list(self.seeds), "settings": dict(self.settings)}

    def differences(self, later_plan: RunPlan) -> list[str]:
        """Return the names of settings whose values in *later_plan* differ; settings of only one plan are ignored."""
        later_settings = {**self.settings, **later_plan.settings}
        return [name for name, value in self.settings.items() if value != later_settings[name]]


@dataclass(frozen=True, slots=True)
class ResumeDecision:
    """The decision to begin a new run or to resume an old run."""

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
    """Decide which of *runs* (of one command, newest first) a command with these *seeds* resumes, if any.

    The candidate is the newest run with these *seeds*, or the newest of all if they are empty. If *resume* is None, it
    is resumed if it is unfinished or unreported and its settings are the same. If True, it is resumed, with its own
    settings where the command sets none. If False, a new run begins. With *resume*, raises `UserMistake` if the
    command contradicts a setting, or if there is no candidate.
    """
    plan = RunPlan.from_command(seeds, config)
    if resume is False:
        return ResumeDecision(plan, None)
    run_plans = ((run, RunPlan.read(run.plan)) for run in runs if run.plan is not None)
    newest_run = next(((run, plan) for run, plan in run_plans if not seeds or plan.seeds == tuple(seeds)), None)
    if newest_run is None:
        if resume:
            raise UserMistake("nothing to resume: the store has no such run; leave out --resume")
        return ResumeDecision(plan, None)
    run, old_plan = newest_run
    differences = old_plan.differences(plan)
    if resume:
        for name in differences:
            section, _, key = name.rpartition(".")
            model = getattr(config, section) if section else config
            old_value, new_value = old_plan.settings[name], plan.settings[name]
            # Set by the file or an option, not a default.
            if key in model.model_fields_set or (name == _SIGNER and new_value is not None):
                raise UserMistake(
                    f"run {run.run_id} began with {name} = {old_value}, not {new_value}: omit this setting, "
                    "or begin a new run by --no-resume"
                )
        return ResumeDecision(old_plan, run)
    if run.is_finished and (run.is_reported or differences):
        return ResumeDecision(plan, None)
    if differences:
        reason = f"differs in {', '.join(differences)}; this is a new one"
        return ResumeDecision(plan, None, f"run {run.run_id} did not finish, but {reason}")
    return ResumeDecision(old_plan, run)


def _sections_about_requests(config: Config) -> list[tuple[str, Section]]:
    """Return the names and values of the sections that determine the requests; those about politeness do not."""
    return [(name, value) for name, value in config if isinstance(value, Section) and value.determines_requests]


def _signer_of(config: Config) -> str | None:
    """Return the signer of requests, because hosts may answer signed requests differently; None for unsigned ones."""
    signer = config.settings().get("ARKAUDIT_SIGNER")
    return str(signer) if signer is not None else None


def with_settings_of(plan: RunPlan, config: Config) -> Config:
    """Return *config* with the settings of *plan*. Raises `UserMistake` if they are no longer valid."""
    plan_signer = plan.settings.get(_SIGNER)
    if plan_signer and _signer_of(config) is None:
        raise UserMistake(f"the run began with requests signed by {plan_signer}: configure the same key")
    changes: dict[str, Any] = {"resolver": plan.settings.get("resolver", config.resolver)}
    for name, section in _sections_about_requests(config):
        values = {
            option: plan.settings.get(f"{name}.{option}", value) for option, value in section.model_dump().items()
        }
        try:
            changes[name] = type(section).model_validate(values)
        # For example, a browser may have been removed since the run began.
        except ValidationError as mistake:
            _, reason = first_fault(mistake, type(section))
            raise UserMistake(
                f"the settings of [{name}] with which the run began are no longer valid: {reason}"
            ) from None
    return config.model_copy(update=changes)


@dataclass(frozen=True, slots=True)
class OpenRun:
    """An open store, and the run to begin or resume in it."""

    store: Store
    config: Config
    decision: ResumeDecision

    @property
    def finished_run_id(self) -> int | None:
        """The id of the run if it is finished, else None."""
        run = self.decision.run
        return run.run_id if run is not None and run.is_finished else None

    def seeds(self, named_seeds: Seeds) -> Seeds:
        """Return *named_seeds*, those of the command, or if it has none, the seeds of the run to resume."""
        return named_seeds if named_seeds.names else Seeds.parse(self.decision.plan.seeds, takes_logs=True)


@contextmanager
def open_run(
    command: str, seeds: Sequence[str], config: Config, store_file: Path | None, *, resume: bool | None
) -> Iterator[OpenRun]:
    """Open the store at *store_file* (None: a temporary store), and decide as `decide` which run to resume.

    Prints a message if an old run is used. Raises `UserMistake` or `crawler.store.StoreUnopenable` before anything is
    written.
    """
    if resume and (store_file is None or not is_file(store_file)):
        problem = f"there is no store at {store_file}" if store_file else "name the store by --store"
        raise UserMistake(f"nothing to resume: {problem}")
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
            begun_words = f"begun {run.started_at[:19]}Z (--no-resume begins a new one)"
            say(f"resuming run {run.run_id}, {begun_words}")
        yield OpenRun(store, with_settings_of(decision.plan, config), decision)


def note_reported(store_file: Path, run_id: int) -> None:
    """Mark a run as reported, with news sent. If the store can't be written, a later command reports the run again."""
    with suppress(StoreError), Store.open(store_file) as store:
        store.note_reported(run_id)
