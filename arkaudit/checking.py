"""Do what `check` does: each line of input becomes a row with its verdict, and on request the way that led there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arkaudit import audits
from arkaudit import output_rows as rows
from arkaudit.audits import Target
from arkaudit.config import Config
from arkaudit.exits import say
from arkaudit.explaining import Observed, explanation
from arkaudit.resuming import Begun, fingerprint, opened
from crawler.history.news import count_words
from crawler.history.rechecking import KnownArk
from crawler.history.triaging import Treated
from crawler.judging import Background, verdicts_of_run
from crawler.mementos import MementoRecord
from crawler.model.observations import FAMILY_OF, Family, Verdict
from crawler.model.registry import cache_folder
from crawler.model.registry import load as load_registry
from crawler.model.resolving import request_url
from crawler.named_arks import mention_in
from crawler.storage.store import Store
from crawler.verdicts.readings import CandidateReading, other_readings, readings_of_mentions
from crawler.verdicts.verdict import unasked
from extractors.ark import Ark
from extractors.mentions.mention import Mention
from extractors.shared_errors import UserMistake
from reports.ending import MOST_FAULTS, MOST_PLACES, Fault, failing_words, place_words

if TYPE_CHECKING:
    from arkaudit.dataset_documents import DatasetDocuments

#: What is said at the end, the most severe first.
_AMISS = (Family.FAILS, Family.UNREACHABLE)
#: Of how many lines without an ARK it is said one by one, and how much of each is repeated.
_MOST_FAULTS, _MOST_SAID = 10, 100


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The results of the lines of input."""

    rows: Sequence[dict[str, Any]]
    """One a line, in their order; of an interrupted check, those that have a verdict."""
    was_interrupted: bool
    raised: tuple[str, ...] = ()
    """The outcomes that people should know of, with how often they occur: those of known problems are left out."""
    known: str = ""
    """How many problems are known, in words."""
    faults: tuple[Fault, ...] = ()
    """The first ARKs that fail, or are silent, and are no known problems, with where they are cited."""
    fault_count: int = 0
    families: tuple[Family, ...] = ()
    """Of each ARK at one URL, once."""
    first_failing: str | None = None
    """The line of input that asks about the first that fails."""

    @property
    def lines_without_ark(self) -> int:
        """Return how many lines of input hold no ARK."""
        return sum(row["ark"] is None for row in self.rows)


def checked(
    asked: Sequence[str],
    config: Config,
    store_file: Path | None,
    *,
    lines: Mapping[str, Sequence[str]] | None = None,
    explain: bool,
    resume: bool | None = None,
) -> CheckResult:
    """Resolve the ARKs in the lines *asked*; with *explain* each row explains its verdict.

    Of *lines* that are in files, it is known which those are.

    A check of the same lines that did not finish is resumed. Raises `crawler.storage.store_errors.StoreError`, and
    `extractors.shared_errors.UserMistake` for a command that contradicts the check that it is to resume, or that
    names no ARK at all.
    """
    judged = judged_lines(asked, _mentions_of(asked), config, store_file, explain=explain, resume=resume)
    printed: list[dict[str, Any]] = []
    raised: list[str] = []
    for text, verdict in zip(asked, judged.verdicts, strict=True):
        if isinstance(verdict, Verdict):
            printed.append(_row(text, verdict, judged.observed, judged.mementos))
            raised += _raised([verdict], judged.decided)
        elif verdict is not None:
            printed.append(rows.invalid_row(text, verdict))
            raised.append(printed[-1]["object"]["outcome"])
    pairs = [(text, one) for text, one in zip(asked, judged.verdicts, strict=True) if isinstance(one, Verdict)]
    return _result(printed, judged, raised, pairs, lines or {})


def _result(
    printed: Sequence[dict[str, Any]],
    judged: JudgedLines,
    raised: Iterable[str],
    verdicts: Iterable[tuple[str, Verdict]],
    lines: Mapping[str, Sequence[str]],
) -> CheckResult:
    """The result of a check, with each of *verdicts* next to what was asked."""
    texts: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    distinct: dict[tuple[str, str], Verdict] = {}
    for text, verdict in verdicts:
        distinct[_pair(verdict)] = verdict
        if text not in texts[_pair(verdict)]:
            texts[_pair(verdict)].append(text)
    amiss = _amiss(distinct.values(), judged.decided)

    def fault(verdict: Verdict) -> Fault:
        pair, outcome = _pair(verdict), verdict.object.outcome
        words = failing_words(str(verdict.ark), outcome.value, is_silent=FAMILY_OF[outcome] is Family.UNREACHABLE)
        here = (place_of_citation for text in texts[pair] for place_of_citation in lines.get(text, ()))
        return Fault(
            words, (*here, *(place_words(*place_of_citation) for place_of_citation in judged.places.get(pair, ())))
        )

    return CheckResult(
        printed,
        judged.was_interrupted,
        tuple(raised),
        count_words(judged.decided),
        faults=tuple(map(fault, amiss[:MOST_FAULTS])),
        fault_count=len(amiss),
        families=tuple(FAMILY_OF[judged_verdict.object.outcome] for judged_verdict in distinct.values()),
        first_failing=texts[_pair(amiss[0])][0] if amiss else None,
    )


def _pair(verdict: Verdict) -> tuple[str, str]:
    return str(verdict.ark), verdict.request_url


def _amiss(verdicts: Iterable[Verdict], decided: Mapping[tuple[str, str], Treated]) -> list[Verdict]:
    """Those that fail, then those whose hosts are silent, but for known problems."""
    raised = [pair for pair in verdicts if (one := decided.get(_pair(pair))) is None or not one.is_known]
    by_family = {family: [pair for pair in raised if FAMILY_OF[pair.object.outcome] is family] for family in _AMISS}
    return [pair for family in _AMISS for pair in by_family[family]]


@dataclass(frozen=True, slots=True)
class JudgedLines:
    """The verdicts on the ARKs of lines of input."""

    verdicts: Sequence[Verdict | str | None]
    """One a line: its verdict, why it holds no ARK, or None for one that was not asked about before an interrupt."""
    was_interrupted: bool
    decided: Mapping[tuple[str, str], Treated]
    observed: Observed | None = None
    """Where verdicts are to be explained: everything that was observed."""
    mementos: Mapping[str, MementoRecord] = field(default_factory=dict)
    """What an archive has of those that fail, by the URL that was asked for each."""
    places: Mapping[tuple[str, str], Sequence[tuple[str, int | None]]] = field(default_factory=dict)
    """Which documents of the store, and which of their pages, cite the first of those that fail."""


def judged_lines(
    asked: Sequence[str],
    mentions: Sequence[Mention | str],
    config: Config,
    store_file: Path | None,
    *,
    explain: bool = False,
    resume: bool | None = None,
) -> JudgedLines:
    """Resolve the ARKs that were *mentions* in the lines *asked*, and judge them; raises as `checked` does."""
    verdicts = _Verdicts()
    was_interrupted = False
    with opened("check", [fingerprint(asked)], config, store_file, resume=resume) as begun:
        targets = _targets(mentions, begun.config)
        try:
            readings = readings_of_mentions((mention, url) for mention, (_, url) in targets.items())
            run_id = _judged(begun, list(dict.fromkeys(targets.values())), verdicts, readings)
        except audits.AuditInterrupted as stopped:
            run_id, was_interrupted = stopped.run_id, True
        observed = Observed(begun.store.observations(run_id)) if explain else None
        decided = begun.store.treated(run_id)
        mementos = _mementos(begun.store, run_id)
        places = _places(begun.store, verdicts, decided)

    def verdict_on(mention: Mention) -> Verdict | None:
        ark, url = targets[mention]
        verdict = verdicts.get((str(ark), url))
        return verdict if verdict is not None or was_interrupted else unasked(ark, url)

    results = [verdict_on(mention) if isinstance(mention, Mention) else mention for mention in mentions]
    return JudgedLines(results, was_interrupted, decided, observed, mementos, places)


class _Verdicts(dict[tuple[str, str], Verdict]):
    """Verdicts by ARK and URL, in the order in which these were first judged."""

    def hear(self, verdict: Verdict) -> None:
        """One more, or one that was judged again as the run was interrupted."""
        self[str(verdict.ark), verdict.request_url] = verdict


def _judged(
    begun: Begun,
    targets: Sequence[Target],
    verdicts: _Verdicts,
    readings: Mapping[str, Sequence[CandidateReading]] | None = None,
) -> int:
    """The run, whose *verdicts* are heard; of one that is finished, once more from what it observed."""
    store, run_id = begun.store, begun.finished
    if run_id is None:
        return audits.audit(
            begun.config,
            store,
            command="check",
            targets=targets,
            readings=readings,
            decision=begun.decision,
            heard=verdicts.hear,
        )
    background = Background(load_registry(cache_folder()), readings or {}, closed=begun.config.closed_collections)
    for verdict in verdicts_of_run(store, run_id, targets, background):
        verdicts.hear(verdict)
    return run_id


def targets(asked: Sequence[str], config: Config) -> list[tuple[Ark, str]]:
    """The ARKs in the lines *asked*, each once, with the URL that asks for its object. Raises `UserMistake`."""
    return list(dict.fromkeys(_targets(_mentions_of(asked), config).values()))


def _targets(mentions: Iterable[Mention | str], config: Config) -> dict[Mention, tuple[Ark, str]]:
    return {
        mention: (mention.ark, request_url(mention.repaired, mention.resolver, config.resolver))
        for mention in mentions
        if isinstance(mention, Mention)
    }


def checked_again(again: Sequence[KnownArk], config: Config, store_file: Path, *, explain: bool) -> CheckResult:
    """Resolve ARKs of a store once more, where they were asked for before. Raises
    `crawler.storage.store_errors.StoreError`.

    What was begun for the same ARKs, and killed before anything was judged, is resumed.
    """
    targets = [(Ark.parse(due_ark.ark), due_ark.request_url) for due_ark in again]
    seeds = ["due", fingerprint([f"{due_ark.ark} {due_ark.request_url}" for due_ark in again])]
    verdicts = _Verdicts()
    was_interrupted = False
    with opened("check", seeds, config, store_file, resume=None) as begun:
        try:
            run_id = _judged(begun, targets, verdicts)
        except audits.AuditInterrupted as stopped:
            run_id, was_interrupted = stopped.run_id, True
        return _result_of_run(begun.store, run_id, verdicts, was_interrupted=was_interrupted, explain=explain)


def checked_dataset(
    dataset: DatasetDocuments,
    config: Config,
    store_file: Path | None,
    *,
    explain: bool,
    resume: bool | None = None,
) -> CheckResult:
    """Take the documents of a *dataset*, and resolve each ARK that they cite at each URL that asks for it, once.

    A check of the same dataset that did not finish is resumed. Raises `crawler.storage.store_errors.StoreError`,
    and `extractors.shared_errors.UserMistake` for a command that contradicts the check that it is to resume, or
    for a dataset that can't be read.
    """
    verdicts = _Verdicts()
    was_interrupted = False
    with opened("check", [dataset.place, dataset.digest], config, store_file, resume=resume) as begun:
        try:
            run_id = _judged_dataset(begun, dataset, verdicts)
        except audits.AuditInterrupted as stopped:
            run_id, was_interrupted = stopped.run_id, True
        most = None if dataset.is_whole else MOST_PLACES  # then it is not known how many more there are
        return _result_of_run(
            begun.store, run_id, verdicts, was_interrupted=was_interrupted, explain=explain, most_places=most
        )


def _judged_dataset(begun: Begun, dataset: DatasetDocuments, verdicts: _Verdicts) -> int:
    """The run, whose *verdicts* are heard; of one that is finished, once more from what it observed."""
    store, run_id = begun.store, begun.finished
    if run_id is None:
        return audits.audit(
            begun.config,
            store,
            command="check",
            dataset=dataset,
            decision=begun.decision,
            heard=verdicts.hear,
        )
    registry = load_registry(cache_folder())
    targets = sorted((ark, url) for ark, url in store.cited_arks(run_id) if not registry.names_only(ark))
    readings = other_readings(store.open_mentions(run_id))
    background = Background(registry, readings, closed=begun.config.closed_collections)
    for verdict in verdicts_of_run(store, run_id, targets, background):
        verdicts.hear(verdict)
    return run_id


def _result_of_run(
    store: Store,
    run_id: int,
    verdicts: _Verdicts,
    *,
    was_interrupted: bool,
    explain: bool,
    most_places: int | None = None,
) -> CheckResult:
    """The result of a check without lines of input: each ARK is named by the URL that asks for it."""
    observed = Observed(store.observations(run_id)) if explain else None
    decided = store.treated(run_id)
    mementos = _mementos(store, run_id)
    places = {pair: some[:most_places] for pair, some in _places(store, verdicts, decided).items()}
    results = [*verdicts.values()]
    judged = JudgedLines(results, was_interrupted, decided, observed, mementos, places)
    printed = [_row(verdict.request_url, verdict, observed, mementos) for verdict in results]
    texts = [(verdict.request_url, verdict) for verdict in results]
    return _result(printed, judged, _raised(results, decided), texts, {})


def _raised(verdicts: Iterable[Verdict], decided: Mapping[tuple[str, str], Treated]) -> Iterator[str]:
    """The outcomes for the object but for those of known problems."""
    for verdict in verdicts:
        treated = decided.get((str(verdict.ark), verdict.request_url))
        if treated is None or not treated.is_known:
            yield verdict.object.outcome


def _places(
    store: Store, verdicts: Mapping[tuple[str, str], Verdict], decided: Mapping[tuple[str, str], Treated]
) -> Mapping[tuple[str, str], Sequence[tuple[str, int | None]]]:
    """Where the store knows that the first of those are cited that fail."""
    return store.places_of([_pair(pair) for pair in _amiss(verdicts.values(), decided)[:MOST_FAULTS]])


def _mementos(store: Store, run_id: int) -> dict[str, MementoRecord]:
    return {record.request_url: record for record in store.mementos(run_id)}


def _row(
    text: str, verdict: Verdict, observed: Observed | None, mementos: Mapping[str, MementoRecord]
) -> dict[str, Any]:
    works = FAMILY_OF[verdict.object.outcome] is Family.WORKS
    memento = None if works else mementos.get(verdict.request_url)
    row = rows.verdict_row(text, verdict, memento)
    if observed is not None:
        row["explanation"] = explanation(verdict, observed.reasons_of(verdict), memento).row
    return row


def _mentions_of(asked: Sequence[str]) -> list[Mention | str]:
    """The ARK of each line of input, or why it holds none, which is said. Raises `UserMistake` if all hold none."""
    mentions = [mention_in(text) for text in asked]
    faults = [(text, why) for text, why in zip(asked, mentions, strict=True) if not isinstance(why, Mention)]
    words = [f"{text[:_MOST_SAID]!r} {why}" for text, why in faults[:_MOST_FAULTS]]
    if faults and len(faults) == len(mentions):
        more = f"; {len(faults) - 1} more lines likewise" if len(faults) > 1 else ""
        raise UserMistake(f"nothing to check: {words[0]}{more}")
    for word in words:
        say(word)
    if len(faults) > len(words):
        say(f"{len(faults) - len(words)} more lines hold no ARK; each has a row")
    return mentions
