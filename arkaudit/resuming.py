"""The choice of the run that a command begins or resumes, and the one line for a command that contradicts it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from arkaudit.config import Config
from arkaudit.config_files import first_fault
from arkaudit.exits import say
from crawler.spiders.seeds import Seeds
from crawler.store import StoreError
from crawler.store.store import Run, Store
from extractors.model.errors import UserMistake

#: The parts of the configuration that decide what is asked. How politely it is asked is no part of it.
_SECTIONS = ("crawl", "resolve", "render")


@dataclass(frozen=True, slots=True)
class RunPlan:
    """The questions of a run: two commands with the same plan mean the same run."""

    seeds: tuple[str, ...]
    """As they were named."""
    settings: Mapping[str, Any]
    """By their names in the configuration."""

    @classmethod
    def of(cls, seeds: Sequence[str], config: Config) -> RunPlan:
        """The plan of a command."""
        # The key that signs is no question, but hosts answer otherwise to who has none.
        signed_by = str(config.identity.signer) if config.identity else None
        settings: dict[str, Any] = {"resolver": config.resolver, "identity": signed_by}
        for section in _SECTIONS:
            values = getattr(config, section).model_dump(mode="json")
            settings.update({f"{section}.{name}": value for name, value in values.items()})
        return cls(tuple(seeds), settings)

    @classmethod
    def read(cls, kept: Mapping[str, Any]) -> RunPlan:
        """The plan that `json` made *kept* of."""
        return cls(tuple(kept["seeds"]), kept["settings"])

    @property
    def json(self) -> dict[str, Any]:
        """The plan as the store keeps it."""
        return {"seeds": list(self.seeds), "settings": dict(self.settings)}

    def differences(self, other: RunPlan) -> list[str]:
        """The settings in which two plans differ; one that only one of them knows has its default in the other."""
        theirs = {**self.settings, **other.settings}
        return [name for name, value in self.settings.items() if value != theirs[name]]


@dataclass(frozen=True, slots=True)
class ResumeDecision:
    """The decision what a command is to do."""

    plan: RunPlan
    run: Run | None
    """The run to resume, or, when that is finished, to look at again; None for a new one."""
    remark: str = ""
    """What the user should know of it."""


def fingerprint(texts: Sequence[str]) -> str:
    """Return a fingerprint of many seeds: the same for the same in the same order.

    >>> fingerprint(["ark:12148/x5", "ark:12148/x6"])
    '2 lines, sha256 98edd76e6a437cd7'
    """
    digest = hashlib.sha256("\n".join(texts).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{len(texts)} lines, sha256 {digest[:16]}"


def decide(runs: Sequence[Run], seeds: Sequence[str], config: Config, *, resume: bool | None) -> ResumeDecision:
    """Return which of *runs* of this command, the newest first, a command with these *seeds* resumes, or none.

    Without an option (*resume* is None), the same command resumes its newest run if that did not finish, or was
    not reported. With `--resume`, it goes on also where it leaves out settings of that run, and raises `UserMistake`
    where it contradicts one.
    """
    plan = RunPlan.of(seeds, config)
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
            if key in given.model_fields_set:  # in the file or as an option, and is not just its default
                was, wanted = begun.settings[name], plan.settings[name]
                raise UserMistake(
                    f"run {run.run_id} was begun with {name} = {was}, not {wanted}: leave that out, "
                    "or begin anew with --no-resume"
                )
        return ResumeDecision(begun, run)
    if run.is_finished and (run.is_reported or differences):
        return ResumeDecision(plan, None)
    if differences:
        words = f"differs in {', '.join(differences)}; this is a new one"
        return ResumeDecision(plan, None, f"run {run.run_id} did not finish, but {words}")
    return ResumeDecision(begun, run)


def with_settings_of(plan: RunPlan, config: Config) -> Config:
    """*config* with the settings of *plan*, those that it knows."""
    signed_by = plan.settings.get("identity")
    if signed_by and config.identity is None:
        raise UserMistake(f"the run was begun with requests signed by {signed_by}: give it its [identity]")
    changed: dict[str, Any] = {"resolver": plan.settings.get("resolver", config.resolver)}
    for name in _SECTIONS:
        section = getattr(config, name)
        values = {
            option: plan.settings.get(f"{name}.{option}", value) for option, value in section.model_dump().items()
        }
        try:
            changed[name] = type(section).model_validate(values)
        except ValidationError as mistake:  # what a run was begun with may be gone
            _, why = first_fault(mistake, type(section))
            raise UserMistake(f"the run was begun with other settings of [{name}]: {why}") from None
    return config.model_copy(update=changed)


@dataclass(frozen=True, slots=True)
class Begun:
    """The run that a command works on."""

    store: Store
    config: Config
    decision: ResumeDecision

    @property
    def finished(self) -> int | None:
        """The run that the command is about when there is nothing left to do in it."""
        run = self.decision.run
        return run.run_id if run is not None and run.is_finished else None

    def seeds(self, named: Seeds) -> Seeds:
        """The seeds that were *named*, or those of the run when none were."""
        return named if named.names else Seeds.of(self.decision.plan.seeds, takes_logs=True)


@contextmanager
def opened(
    command: str, seeds: Sequence[str], config: Config, store_file: Path | None, *, resume: bool | None
) -> Iterator[Begun]:
    """The store at *store_file*, and what is to be done in it; says so where that is no new run.

    Raises `UserMistake` or `crawler.store.StoreUnopenable`; nothing has been written then.
    """
    if resume and (store_file is None or not store_file.is_file()):
        raise UserMistake(f"nothing to resume: there is no store at {store_file or 'all; give its --store'}")
    with Store.open(store_file) as store:
        decision = decide(store.runs(command), seeds, config, resume=resume)
        run = decision.run
        if decision.remark:
            say(decision.remark)
        elif run is not None and run.is_finished:
            other = "" if resume else " (--no-resume begins a new one)"
            day = run.started_at[:10]
            say(f"run {run.run_id} of {day} is finished; nothing is left to ask{other}")
        elif run is not None:
            begun = f"begun {run.started_at[:19]}Z (--no-resume begins a new one)"
            say(f"resuming run {run.run_id}, {begun}")
        yield Begun(store, with_settings_of(decision.plan, config), decision)


def note_reported(store_file: Path, run_id: int) -> None:
    """Note that the report of a run is written and its news are sent. What can't be noted is done again, later."""
    with suppress(StoreError), Store.open(store_file) as store:
        store.note_reported(run_id)
