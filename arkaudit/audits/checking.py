"""Run a check: turn each line of input into a row with its verdict and, on request, an explanation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from arkaudit.audits.audit import Audit, AuditInterrupted
from arkaudit.audits.resuming import OpenRun, fingerprint, open_run
from arkaudit.configuration.config import Config
from arkaudit.hooks import ArkSource
from arkaudit.output import output_rows as rows
from arkaudit.output.exits import say
from arkaudit.output.explaining import RunObservations, explanation
from arkaudit.output.hints import MOST_FAULTS, Fault, failing_words
from crawler.answers.mementos import MementoRecord
from crawler.asking.shared import Target
from crawler.history.ark_status import ArkState
from crawler.history.rechecking import KnownArk
from crawler.model.observations import FAMILY_OF, Family, ObjectOutcome, Verdict
from crawler.model.registry import load_registry
from crawler.model.resolving import request_url
from crawler.spiders.runs import Background, verdicts_of_run
from crawler.spiders.seeds import mention_in
from crawler.verdicts.readings import CandidateReading, other_readings, readings_of_mentions
from crawler.verdicts.verdict import unobserved_verdict
from extractors.mentions.mention import Mention
from extractors.model.ark import Ark
from extractors.model.errors import UserMistake
from reports.languages import ENGLISH

#: Families of outcomes that the summary lists as problems, the most severe first.
_PROBLEM_FAMILIES = (Family.FAILS, Family.UNREACHABLE)
#: Number of lines without an ARK that get a message of their own, and characters of each that it quotes.
_MAX_FAULTS, _MAX_QUOTED = 10, 100


#: An ARK and its request URL.
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Results of a check."""

    rows: Sequence[dict[str, Any]]
    """One row for each line of input, in order; after an interruption only lines with a verdict."""
    interruption: AuditInterrupted | None
    tokens: Sequence[str]
    """Object outcomes of the rows, without known problems."""
    known_count: int
    """Number of ARKs with a known problem."""
    faults: tuple[Fault, ...]
    """The first ARKs that fail or are unreachable, without known problems, with the places that cite them."""
    fault_count: int
    outcomes: Mapping[Pair, ObjectOutcome]
    """The outcome of each distinct pair of ARK and URL."""
    first_failing: str | None
    """The line of input that names the first failing ARK."""

    @property
    def lines_without_ark(self) -> int:
        """Number of lines of input without an ARK."""
        return sum(row["ark"] is None for row in self.rows)


@dataclass(frozen=True, slots=True)
class CheckRun:
    """The verdicts of a check, and what the store knows about their ARKs."""

    verdicts: Mapping[Pair, Verdict]
    """Verdicts in the order in which they were first made."""
    interruption: AuditInterrupted | None
    known_pairs: Collection[Pair]
    """ARKs and URLs with a known problem."""
    observed: RunObservations | None
    """All observations, if verdicts are explained."""
    mementos: Mapping[str, MementoRecord]
    """Archived copies of failing ARKs, by request URL."""
    places: Mapping[Pair, Sequence[tuple[str, int | None]]]
    """Documents and pages of the store that cite the first failing ARKs."""


def check_lines(
    asked: Sequence[str],
    config: Config,
    store_file: Path | None,
    *,
    lines: Mapping[str, Sequence[str]] | None,
    explain: bool = False,
    resume: bool | None,
) -> CheckResult:
    """Resolve and judge the ARKs in the lines *asked*; with *explain* each row explains its verdict.

    *lines* maps a line to the places in files that it was read from. Known problems are only counted. An unfinished
    check of the same lines is resumed. Raises `crawler.store.StoreError`, and `extractors.model.errors.UserMistake` if
    no line holds an ARK or the options contradict the check to resume.
    """
    mentions = _mentions_of(asked)
    verdicts, run = judge_lines(asked, mentions, config, store_file, explain=explain, resume=resume)
    judged = [(text, verdict) for text, verdict in zip(asked, verdicts, strict=True) if verdict is not None]
    return _result(judged, run, lines or {})


def judge_lines(
    asked: Sequence[str],
    mentions: Sequence[Mention | str],
    config: Config,
    store_file: Path | None,
    *,
    explain: bool = False,
    resume: bool | None = None,
) -> tuple[list[Verdict | str | None], CheckRun]:
    """Resolve and judge *mentions*, those of the lines *asked*; raise the errors of `check_lines`.

    The result of a line is its verdict, the reason why it holds no ARK, or None if an interruption came first.
    """
    with open_run("check", [fingerprint(asked)], config, store_file, resume=resume) as begun:
        targets = _targets_by_mention(mentions, begun.config)
        readings = readings_of_mentions((mention, url) for mention, (_, url) in targets.items())
        run = _run(begun, list(dict.fromkeys(targets.values())), readings, explain=explain)

    def verdict_on(mention: Mention) -> Verdict | None:
        ark, url = targets[mention]
        verdict = run.verdicts.get((str(ark), url))
        return verdict if verdict is not None or run.interruption else unobserved_verdict(ark, url)

    return [verdict_on(mention) if isinstance(mention, Mention) else mention for mention in mentions], run


def recheck_arks(again: Sequence[KnownArk], config: Config, store_file: Path) -> CheckResult:
    """Request ARKs of a store again at the URLs of their last check.

    A check of the same ARKs that was killed before it judged anything is resumed. Raises `crawler.store.StoreError`.
    """
    targets = [(Ark.parse(due_ark.ark), due_ark.request_url) for due_ark in again]
    seeds = ["due", fingerprint([f"{ark} {url}" for ark, url in targets])]
    with open_run("check", seeds, config, store_file, resume=None) as begun:
        return _result_by_url(_run(begun, targets))


def recovered_arks(again: Iterable[KnownArk], outcomes: Mapping[Pair, ObjectOutcome]) -> list[KnownArk]:
    """Return the ARKs that failed or gave no answer before a check with these *outcomes*, and work now."""
    ill = (ArkState.FAILING, ArkState.CONFIRMED_BROKEN, ArkState.FLAPPING)
    now = ((checked, outcomes.get((checked.ark, checked.request_url))) for checked in again if checked.state in ill)
    return [checked for checked, outcome in now if outcome is not None and outcome.family is Family.WORKS]


def check_source(source: ArkSource, config: Config, store_file: Path | None, *, resume: bool | None) -> CheckResult:
    """Store the documents of a *source*, then resolve each ARK that they cite once at each request URL.

    An unfinished check of the same source is resumed. Raises `crawler.store.StoreError`, and
    `extractors.model.errors.UserMistake` if the source is unreadable or the options contradict the check to resume.
    """
    seeds = [source.place, source.digest]
    with open_run("check", seeds, config, store_file, resume=resume) as begun:
        return _result_by_url(_run(begun, source=source))


def _run(
    begun: OpenRun,
    targets: Sequence[Target] | None = None,
    readings: Mapping[str, Sequence[CandidateReading]] | None = None,
    *,
    source: ArkSource | None = None,
    explain: bool = False,
) -> CheckRun:
    """Run a check of *targets* or of a *source*; judge a finished one again by its observations."""
    verdicts: dict[Pair, Verdict] = {}

    def collect(verdict: Verdict) -> None:
        verdicts[_pair(verdict)] = verdict

    store, config = begun.store, begun.config
    interruption = None
    if begun.finished_run is not None:
        run_id = begun.finished_run
        registry = load_registry()
        if targets is None:
            targets = sorted((ark, url) for ark, url in store.cited_targets(run_id) if not registry.is_shoulder(ark))
            readings = other_readings(store.open_mentions(run_id))
        background = Background(registry, readings or {}, config.check_characters)
        for verdict in verdicts_of_run(store, run_id, targets, background):
            collect(verdict)
    else:
        try:
            audit = Audit(config, store, source=source, targets=targets, readings=readings or {}, on_verdict=collect)
            run_id = audit.run("check", begun.decision)
        except AuditInterrupted as stopped:
            run_id, interruption = stopped.run_id, stopped
    day = datetime.now(UTC).date()
    problems = store.problems(run_id) if config.known_list else {}
    accepted = {pair for pair, problem in problems.items() if config.known_list.accepts(problem, day)}
    first_problems = _problems(verdicts.values(), accepted)[:MOST_FAULTS]
    places = store.places_of([_pair(verdict) for verdict in first_problems])
    return CheckRun(
        verdicts,
        interruption,
        accepted,
        RunObservations(store.observations(run_id)) if explain else None,
        {record.request_url: record for record in store.mementos(run_id)},
        places,
    )


def _result_by_url(run: CheckRun) -> CheckResult:
    """Return the result of a check without lines of input: request URLs take their place."""
    return _result([(verdict.request_url, verdict) for verdict in run.verdicts.values()], run, {})


def _result(
    judged: Iterable[tuple[str, Verdict | str]], run: CheckRun, lines: Mapping[str, Sequence[str]]
) -> CheckResult:
    """Return the result of a check from each line with its verdict, or with the reason why it holds no ARK."""
    printed: list[dict[str, Any]] = []
    tokens: list[str] = []
    texts: defaultdict[Pair, dict[str, None]] = defaultdict(dict)
    distinct: dict[Pair, Verdict] = {}
    for text, verdict in judged:
        if isinstance(verdict, Verdict):
            pair = _pair(verdict)
            printed.append(_row(text, verdict, run))
            distinct[pair] = verdict
            texts[pair][text] = None
        else:
            printed.append(rows.invalid_row(text, verdict))
        if not isinstance(verdict, Verdict) or _pair(verdict) not in run.known_pairs:
            tokens.append(printed[-1]["object"]["outcome"])
    problems = _problems(distinct.values(), run.known_pairs)

    def fault(verdict: Verdict) -> Fault:
        pair, outcome = _pair(verdict), verdict.object.outcome
        is_unreachable = FAMILY_OF[outcome] is Family.UNREACHABLE
        words = failing_words(str(verdict.ark), outcome.value, is_unreachable=is_unreachable)
        in_lines = (line for text in texts[pair] for line in lines.get(text, ()))
        in_documents = (ENGLISH.place(*where) for where in run.places.get(pair, ()))
        return Fault(words, (*in_lines, *in_documents))

    return CheckResult(
        printed,
        run.interruption,
        tokens,
        known_count=len({ark for ark, _ in run.known_pairs}),
        faults=tuple(map(fault, problems[:MOST_FAULTS])),
        fault_count=len(problems),
        outcomes={pair: verdict.object.outcome for pair, verdict in distinct.items()},
        first_failing=next(iter(texts[_pair(problems[0])])) if problems else None,
    )


def _pair(verdict: Verdict) -> Pair:
    return str(verdict.ark), verdict.request_url


def _problems(verdicts: Iterable[Verdict], known_pairs: Collection[Pair]) -> list[Verdict]:
    """Return the verdicts with an outcome that fails, then those that are unreachable, without *known_pairs*."""
    unknown = [verdict for verdict in verdicts if _pair(verdict) not in known_pairs]
    return [
        verdict for family in _PROBLEM_FAMILIES for verdict in unknown if FAMILY_OF[verdict.object.outcome] is family
    ]


def targets(asked: Sequence[str], config: Config) -> list[tuple[Ark, str]]:
    """Return the distinct ARKs in the lines *asked* with their request URLs. Raises `UserMistake`."""
    return list(dict.fromkeys(_targets_by_mention(_mentions_of(asked), config).values()))


def _targets_by_mention(mentions: Iterable[Mention | str], config: Config) -> dict[Mention, tuple[Ark, str]]:
    return {
        mention: (mention.ark, request_url(mention.repaired, mention.resolver, config.resolver))
        for mention in mentions
        if isinstance(mention, Mention)
    }


def _row(text: str, verdict: Verdict, run: CheckRun) -> dict[str, Any]:
    works = FAMILY_OF[verdict.object.outcome] is Family.WORKS
    memento = None if works else run.mementos.get(verdict.request_url)
    row = rows.verdict_row(text, verdict, memento)
    if run.observed is not None:
        row["explanation"] = explanation(verdict, run.observed.reasons_of(verdict), memento)
    return row


def _mentions_of(asked: Sequence[str]) -> list[Mention | str]:
    """Return the ARK of each line, or the reason why it holds none, which is printed too.

    Raises `UserMistake` if no line holds an ARK.
    """
    mentions = [mention_in(text) for text in asked]
    pairs = zip(asked, mentions, strict=True)
    faults = [(text, why) for text, why in pairs if not isinstance(why, Mention)]
    words = [f"{text[:_MAX_QUOTED]!r} {why}" for text, why in faults[:_MAX_FAULTS]]
    if faults and len(faults) == len(mentions):
        more = f"; {len(faults) - 1} more lines hold no ARK" if len(faults) > 1 else ""
        raise UserMistake(f"nothing to check: {words[0]}{more}")
    for word in words:
        say(word)
    if len(faults) > len(words):
        say(f"{len(faults) - len(words)} more lines hold no ARK; each has a row")
    return mentions
