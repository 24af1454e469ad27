"""Run a check: turn each line of input into a row with its verdict and, on request, an explanation by a feature."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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
from arkaudit.output.hints import MOST_FAULTS, Fault, failing_words
from crawler.answers.mementos import MementoRecord
from crawler.asking.shared import Target
from crawler.history.ark_status import ArkState
from crawler.history.rechecking import KnownArk
from crawler.model.observations import FAMILY_OF, Family, ObjectOutcome, Observation, Verdict
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
#: Returns the explanation of a verdict, with the archived copy of the object, as JSON values.
Explanation = Callable[[Verdict, MementoRecord | None], list[dict[str, Any]]]
#: Returns the `Explanation` by the observations of a run.
ExplainRun = Callable[[Iterable[Observation]], Explanation]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Results of a check."""

    rows: Sequence[dict[str, Any]]
    """One row for each line of input, in order; after an interruption only lines with a verdict."""
    interruption: AuditInterrupted | None
    tokens: Sequence[str]
    """Object outcomes of the rows, without known problems."""
    known_count: int
    """Number of ARKs with a problem that the list of known problems accepts."""
    faults: tuple[Fault, ...]
    """The first ARKs that fail or are unreachable, without known problems, with the places that cite them."""
    fault_count: int
    outcomes: Mapping[Pair, ObjectOutcome]
    """The outcome of each distinct pair of ARK and URL."""
    first_failing: str | None
    """The line of input with the first ARK that fails or is unreachable, or None."""

    @property
    def lines_without_ark_count(self) -> int:
        """Number of lines of input without an ARK."""
        return sum(row["ark"] is None for row in self.rows)


@dataclass(frozen=True, slots=True)
class CheckRun:
    """The verdicts of a check, and data of the store about their ARKs."""

    verdicts: Mapping[Pair, Verdict]
    """Verdicts in the order in which they were first made."""
    interruption: AuditInterrupted | None
    known_pairs: Collection[Pair]
    """ARKs and URLs with a problem that the list of known problems accepts."""
    explanation: Explanation | None
    """The explanation of a verdict, if verdicts are explained."""
    mementos: Mapping[str, MementoRecord]
    """Archived copies of failing ARKs, by request URL."""
    citing_places: Mapping[Pair, Sequence[tuple[str, int | None]]]
    """Names and page numbers of documents in the store that cite the first failing ARKs."""


def check_lines(
    texts: Sequence[str],
    config: Config,
    store_file: Path | None,
    *,
    places_by_text: Mapping[str, Sequence[str]] | None,
    explain: ExplainRun | None = None,
    resume: bool | None,
) -> CheckResult:
    """Resolve and judge the ARKs in *texts*, the lines of input; with *explain* each row has its explanation.

    *places_by_text* maps a line to its places in files, such as ``arks.txt:3``. Known problems are only counted. An
    unfinished check of the same lines is resumed. Raises `crawler.store.StoreError`, and
    `extractors.model.errors.UserMistake` if no line holds an ARK or the options contradict the check to resume.
    """
    mentions = _mentions_of(texts)
    verdicts, run = judge_lines(texts, mentions, config, store_file, explain=explain, resume=resume)
    text_verdicts = [(text, verdict) for text, verdict in zip(texts, verdicts, strict=True) if verdict is not None]
    return _result(text_verdicts, run, places_by_text or {})


def judge_lines(
    texts: Sequence[str],
    mentions: Sequence[Mention | str],
    config: Config,
    store_file: Path | None,
    *,
    explain: ExplainRun | None = None,
    resume: bool | None = None,
) -> tuple[list[Verdict | str | None], CheckRun]:
    """Resolve and judge *mentions*, the ARKs in the lines *texts* or reasons why a line holds none.

    The first result has one value per line: its verdict, the reason, or None if the check was interrupted before.
    Raises the errors of `check_lines`.
    """
    with open_run("check", [fingerprint(texts)], config, store_file, resume=resume) as opened_run:
        targets = _targets_by_mention(mentions, opened_run.config)
        readings = readings_of_mentions((mention, url) for mention, (_, url) in targets.items())
        run = _run(opened_run, list(dict.fromkeys(targets.values())), readings, explain=explain)

    def verdict_on(mention: Mention) -> Verdict | None:
        ark, url = targets[mention]
        verdict = run.verdicts.get((str(ark), url))
        return verdict if verdict is not None or run.interruption else unobserved_verdict(ark, url)

    return [verdict_on(mention) if isinstance(mention, Mention) else mention for mention in mentions], run


def recheck_arks(known_arks: Sequence[KnownArk], config: Config, store_file: Path) -> CheckResult:
    """Request ARKs of a store again at the URLs of their last check.

    A check of the same ARKs that was killed before judging is resumed. Raises `crawler.store.StoreError`.
    """
    targets = [(Ark.parse(known_ark.ark), known_ark.request_url) for known_ark in known_arks]
    seeds = ["due", fingerprint([f"{ark} {url}" for ark, url in targets])]
    with open_run("check", seeds, config, store_file, resume=None) as opened_run:
        return _result_by_url(_run(opened_run, targets))


def recovered_arks(known_arks: Iterable[KnownArk], outcomes: Mapping[Pair, ObjectOutcome]) -> list[KnownArk]:
    """Return those of *known_arks* that failed or gave no answer at their last check, and work in *outcomes*.

    *outcomes* are the results of a new check.
    """
    problem_states = (ArkState.FAILING, ArkState.CONFIRMED_BROKEN, ArkState.FLAPPING)
    outcome_pairs = (
        (known_ark, outcomes.get((known_ark.ark, known_ark.request_url)))
        for known_ark in known_arks
        if known_ark.state in problem_states
    )
    return [known_ark for known_ark, outcome in outcome_pairs if outcome is not None and outcome.family is Family.WORKS]


def check_source(source: ArkSource, config: Config, store_file: Path | None, *, resume: bool | None) -> CheckResult:
    """Store the documents of a *source*, then resolve each ARK that they cite once at each request URL.

    An unfinished check of the same source is resumed. Raises `crawler.store.StoreError`, and
    `extractors.model.errors.UserMistake` if the source is unreadable or the options contradict the check to resume.
    """
    seeds = [source.place, source.digest]
    with open_run("check", seeds, config, store_file, resume=resume) as opened_run:
        return _result_by_url(_run(opened_run, source=source))


def _run(
    opened_run: OpenRun,
    targets: Sequence[Target] | None = None,
    readings: Mapping[str, Sequence[CandidateReading]] | None = None,
    *,
    source: ArkSource | None = None,
    explain: ExplainRun | None = None,
) -> CheckRun:
    """Run the check in an opened store, of *targets* or of a *source*; judge a finished check again, without requests.

    *readings* maps the request URL of a doubtful mention to its alternative readings.
    """
    verdicts: dict[Pair, Verdict] = {}

    def collect(verdict: Verdict) -> None:
        verdicts[_pair(verdict)] = verdict

    store, config = opened_run.store, opened_run.config
    interruption = None
    if opened_run.finished_run_id is not None:
        run_id = opened_run.finished_run_id
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
            run_id = audit.run("check", opened_run.decision)
        except AuditInterrupted as interrupt:
            run_id, interruption = interrupt.run_id, interrupt
    day = datetime.now(UTC).date()
    problems = store.problems(run_id) if config.known_list else {}
    known_pairs = {pair for pair, problem in problems.items() if config.known_list.accepts(problem, day)}
    first_problems = _problem_verdicts(verdicts.values(), known_pairs)[:MOST_FAULTS]
    places = store.locations_of([_pair(verdict) for verdict in first_problems])
    return CheckRun(
        verdicts,
        interruption,
        known_pairs,
        explain(store.observations(run_id)) if explain else None,
        {record.request_url: record for record in store.mementos(run_id)},
        places,
    )


def _result_by_url(run: CheckRun) -> CheckResult:
    """Return the result of a check without lines of input; each row has the request URL as its line."""
    return _result([(verdict.request_url, verdict) for verdict in run.verdicts.values()], run, {})


def _result(
    text_verdicts: Iterable[tuple[str, Verdict | str]], run: CheckRun, places_by_text: Mapping[str, Sequence[str]]
) -> CheckResult:
    """Return the result of a check from each line with its verdict, or with the reason why it holds no ARK."""
    result_rows: list[dict[str, Any]] = []
    tokens: list[str] = []
    texts_by_pair: defaultdict[Pair, dict[str, None]] = defaultdict(dict)
    distinct: dict[Pair, Verdict] = {}
    for text, verdict in text_verdicts:
        if isinstance(verdict, Verdict):
            pair = _pair(verdict)
            result_rows.append(_row(text, verdict, run))
            distinct[pair] = verdict
            texts_by_pair[pair][text] = None
        else:
            result_rows.append(rows.invalid_row(text, verdict))
        if not isinstance(verdict, Verdict) or _pair(verdict) not in run.known_pairs:
            tokens.append(result_rows[-1]["object"]["outcome"])
    problem_verdicts = _problem_verdicts(distinct.values(), run.known_pairs)

    def fault(verdict: Verdict) -> Fault:
        pair, outcome = _pair(verdict), verdict.object.outcome
        is_unreachable = FAMILY_OF[outcome] is Family.UNREACHABLE
        message = failing_words(str(verdict.ark), outcome.value, is_unreachable=is_unreachable)
        line_places = (line for text in texts_by_pair[pair] for line in places_by_text.get(text, ()))
        document_places = (ENGLISH.place(*citing_page) for citing_page in run.citing_places.get(pair, ()))
        return Fault(message, (*line_places, *document_places))

    return CheckResult(
        result_rows,
        run.interruption,
        tokens,
        known_count=len({ark for ark, _ in run.known_pairs}),
        faults=tuple(map(fault, problem_verdicts[:MOST_FAULTS])),
        fault_count=len(problem_verdicts),
        outcomes={pair: verdict.object.outcome for pair, verdict in distinct.items()},
        first_failing=next(iter(texts_by_pair[_pair(problem_verdicts[0])])) if problem_verdicts else None,
    )


def _pair(verdict: Verdict) -> Pair:
    return str(verdict.ark), verdict.request_url


def _problem_verdicts(verdicts: Iterable[Verdict], known_pairs: Collection[Pair]) -> list[Verdict]:
    """Return the verdicts with a failing object, then those with an unreachable object, without *known_pairs*."""
    unlisted_verdicts = [verdict for verdict in verdicts if _pair(verdict) not in known_pairs]
    return [
        verdict
        for family in _PROBLEM_FAMILIES
        for verdict in unlisted_verdicts
        if FAMILY_OF[verdict.object.outcome] is family
    ]


def targets(texts: Sequence[str], config: Config) -> list[tuple[Ark, str]]:
    """Return the distinct ARKs in the lines *texts* with their request URLs. Raises `UserMistake` if none holds an ARK."""
    return list(dict.fromkeys(_targets_by_mention(_mentions_of(texts), config).values()))


def _targets_by_mention(mentions: Iterable[Mention | str], config: Config) -> dict[Mention, tuple[Ark, str]]:
    return {
        mention: (mention.ark, request_url(mention.repaired, mention.resolver, config.resolver))
        for mention in mentions
        if isinstance(mention, Mention)
    }


def _row(text: str, verdict: Verdict, run: CheckRun) -> dict[str, Any]:
    is_working = FAMILY_OF[verdict.object.outcome] is Family.WORKS
    memento = None if is_working else run.mementos.get(verdict.request_url)
    row = rows.verdict_row(text, verdict, memento)
    if run.explanation is not None:
        row["explanation"] = run.explanation(verdict, memento)
    return row


def _mentions_of(texts: Sequence[str]) -> list[Mention | str]:
    """Return the ARK of each line, or the reason why the line holds none; print the first of these reasons.

    Raises `UserMistake` if no line holds an ARK.
    """
    mentions = [mention_in(text) for text in texts]
    text_mentions = zip(texts, mentions, strict=True)
    rejected_texts = [(text, reason) for text, reason in text_mentions if not isinstance(reason, Mention)]
    messages = [f"{text[:_MAX_QUOTED]!r} {reason}" for text, reason in rejected_texts[:_MAX_FAULTS]]
    if rejected_texts and len(rejected_texts) == len(mentions):
        more_words = f"; {len(rejected_texts) - 1} more lines hold no ARK" if len(rejected_texts) > 1 else ""
        raise UserMistake(f"nothing to check: {messages[0]}{more_words}")
    for message in messages:
        say(message)
    if len(rejected_texts) > len(messages):
        say(f"{len(rejected_texts) - len(messages)} more lines hold no ARK; each has a row")
    return mentions
