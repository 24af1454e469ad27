"""A conformance test: a resolver is asked for each requirement, and what it answers is held against it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from arkaudit import audits
from arkaudit.config import Config
from arkaudit.exits import say
from arkaudit.progress import RunProgress
from arkaudit.resuming import opened
from crawler.conformance.conformance import (
    Comparison,
    RequirementResult,
    compare,
    requirements,
    results,
)
from crawler.conformance.plan import NamedArk, Probe, comparison_probes, probes
from crawler.model.observations import Observation, now
from crawler.process import SpiderStage, run_stages
from crawler.spiders.conformance_spider import ConformanceSpider
from crawler.spiders.seeds import mention_in
from crawler.store import StoreUnwritable
from crawler.store.store import FINISHED, Store
from extractors.mentions.mention import Mention
from extractors.model.errors import RunInterrupted, UserMistake


@dataclass(frozen=True, slots=True)
class ConformanceTest:
    """What is tested, and by which ARKs."""

    resolver: str
    """The URL before the label."""
    arks: tuple[NamedArk, ...]
    """ARKs of which it is known that they are there."""
    gone: tuple[NamedArk, ...] = ()
    """ARKs of which it is known that their objects are gone."""

    @classmethod
    def of(cls, resolver: str, named: Sequence[str], gone: Sequence[str]) -> ConformanceTest:
        """The test that a user asks for. Raises `UserMistake`."""
        if not resolver.lower().startswith(("http://", "https://")):
            raise UserMistake(
                f"a resolver is a URL, as https://ark.example.org/, and not {resolver!r}"
            )
        if not named and not gone:
            raise UserMistake(
                "name an ARK that is there, by --ark or --from: what it answers is compared"
            )
        return cls(resolver, tuple(map(_ark, named)), tuple(map(_ark, gone)))

    def probes(self) -> list[Probe]:
        """All requests of the test."""
        of_arks = (probes(self.resolver, ark) for ark in self.arks)
        of_gone = (probes(self.resolver, ark, is_gone=True) for ark in self.gone)
        return [probe for some in (*of_arks, *of_gone) for probe in some]


def _ark(text: str) -> NamedArk:
    """The ARK that a user has named, as written; a resolver before it does not count. Raises `UserMistake`."""
    mention = mention_in(text)
    if not isinstance(mention, Mention):
        raise UserMistake(f"{text!r} {mention}")
    if mention.ark.is_skipped:
        raise UserMistake(
            f"{mention.ark} is an example or a test, which is never requested: name one of your own"
        )
    return NamedArk(mention.ark, mention.repaired.removeprefix(mention.resolver or ""))


def conform(
    test: ConformanceTest,
    config: Config,
    store_file: Path | None,
    *,
    only: Sequence[str] = (),
    resume: bool | None = None,
) -> list[RequirementResult]:
    """Ask for all that is not on record yet, and return the outcome of each requirement.

    Raises `UserMistake`, `arkaudit.audits.AuditInterrupted`, and what `crawler.store.store.Store` raises.
    """
    for section in only:
        if not any(requirement.is_in(section) for requirement in requirements()):
            numbers = dict.fromkeys(
                requirement.number.partition("/")[0] for requirement in requirements()
            )
            raise UserMistake(f"there is no section {section}: they are {', '.join(numbers)}")
    seeds = [
        test.resolver,
        *(named.written for named in test.arks),
        *(f"gone {named.written}" for named in test.gone),
    ]
    with _asked(test, test.probes(), seeds, config, store_file, resume=resume) as observations:
        return list(results(observations, only))


def conform_against(
    test: ConformanceTest,
    old: str,
    config: Config,
    store_file: Path | None,
    *,
    resume: bool | None = None,
) -> list[Comparison]:
    """Ask another resolver the same for each ARK, and return what differs. Raises as `conform` does."""
    probes = list(comparison_probes((old, test.resolver), test.arks))
    seeds = [test.resolver, f"against {old}", *(named.written for named in test.arks)]
    with _asked(test, probes, seeds, config, store_file, resume=resume) as observations:
        return compare(observations, test.arks, old=old, new=test.resolver)


@contextmanager
def _asked(
    test: ConformanceTest,
    probes: Sequence[Probe],
    seeds: Sequence[str],
    config: Config,
    store_file: Path | None,
    *,
    resume: bool | None,
) -> Iterator[Iterator[Observation]]:
    """Give the answers to *probes*, when those are asked for that are not on record yet."""
    with opened("conform", seeds, config, store_file, resume=resume) as begun:
        run_id = begun.finished
        if run_id is None:
            run_id = audits.begin(begun.config, begun.store, "conform", seeds, begun.decision)
            _ask(test, probes, begun.config, begun.store, run_id)
        yield begun.store.observations(run_id)


def _ask(
    test: ConformanceTest, probes: Sequence[Probe], config: Config, store: Store, run_id: int
) -> None:
    def arguments() -> dict[str, Any]:
        return {"store": store, "run_id": run_id, "probes": probes, "patience": config.patience}

    if config.is_anonymous and not config.owns(test.resolver):
        say("hosts don't learn who asks: give --contact, so that an operator can write to you")
    end = partial(store.end_run, run_id)
    try:
        with RunProgress() as progress:
            progress.stage("ARKs", len({probe.request_url for probe in probes}))
            run_stages(
                [SpiderStage(ConformanceSpider, arguments)],
                config.settings(),
                on_start=progress.watch,
            )
        end(at=now(), state=FINISHED)
    except (KeyboardInterrupt, RunInterrupted):
        with suppress(StoreUnwritable):
            end(at=now(), state="interrupted")
        raise audits.AuditInterrupted(run_id) from None
    except Exception:
        with suppress(StoreUnwritable):
            end(at=now(), state="failed")
        raise
