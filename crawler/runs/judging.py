"""Judge the observations of a run: each ARK's answers, with all that bears on them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from crawler.asking.questions import origin_of
from crawler.model.observations import Meant, Question, TlsResult, Verdict
from crawler.store.frontier import ARKS, Frontier
from crawler.store.store import Store
from crawler.verdicts.answer_sets import SHARED, AnswerSet, AnswerSets, control_as_written
from crawler.verdicts.readings import (
    CandidateReading,
    learned,
    meant_by,
    meant_instead,
    readings_of,
)
from crawler.verdicts.remarks import RunFindings
from crawler.verdicts.verdict import ClosedCollection, VerdictContext, closed_for, judge, skipped
from extractors.model.ark import Ark
from extractors.model.naan import SHARED_NAANS, Registry

Target = tuple[Ark, str]

#: So many ARKs are judged at a time: what was observed about a million does not fit into memory.
_AT_A_TIME = 200


@dataclass(frozen=True, slots=True)
class Background:
    """The facts that bear on the verdicts of a run besides its observations."""

    registry: Registry | None = None
    """Whose policies are shown with commitments."""
    readings: Mapping[str, Sequence[CandidateReading]] = field(default_factory=dict)
    """What else a target may mean, by the URL that asks for it."""
    closed: Sequence[ClosedCollection] = ()
    """Collections that are meant to be closed."""


def verdicts_of_run(
    store: Store,
    run_id: int,
    targets: Iterable[Target],
    background: Background | None = None,
) -> Iterator[Verdict]:
    """A verdict for each of *targets*, in their order: what was asked is judged, examples and tests are skipped.

    A target that was never asked, because the run ended early, has no verdict. The observations about a few hundred
    ARKs are in memory at a time.
    """
    asked = list(targets)
    shared = AnswerSets.of(store.observations(run_id, SHARED))
    run_judge = RunJudge(
        shared, store.tls_results(run_id), background, asked, store.landings(run_id)
    )
    remaining = iter(asked)
    while some := list(islice(remaining, _AT_A_TIME)):
        cases = [run_judge.case(ark, url) for ark, url in some]
        urls = list(dict.fromkeys(url for case in cases for url in case.urls))
        answer_sets = shared.with_those_about(store.observations_about(run_id, urls))
        for case in cases:
            verdict = (
                _skipped(case.ark, case.url)
                if case.ark.is_skipped
                else run_judge.verdict(case, answer_sets)
            )
            if verdict is not None:
                yield verdict


def judge_run(
    store: Store,
    run_id: int,
    targets: Iterable[Target],
    background: Background | None = None,
    *,
    is_whole: bool = True,
    on_verdict: Callable[[Verdict], None] = lambda verdict: None,
) -> None:
    """Judge everything that a run observed, and record it, with what only all of it together shows if it is whole.

    *on_verdict* is called with each verdict, in the order of the *targets*.
    """
    findings = RunFindings()

    def judged() -> Iterator[Verdict]:
        for verdict in verdicts_of_run(store, run_id, targets, background):
            findings.on_verdict(verdict)
            on_verdict(verdict)
            yield verdict

    store.record_verdicts(run_id, judged())
    if is_whole:
        for subject, run_findings in findings.findings().items():
            store.record_findings(run_id, subject, run_findings)


def judge_settled(
    store: Store,
    run_id: int,
    targets: Iterable[Target],
    background: Background,
    *,
    on_verdict: Callable[[Verdict], None],
) -> None:
    """Judge those of *targets* about which a run that was interrupted has asked everything, and record it."""
    settled = Frontier(store, run_id, ARKS).settled()
    done = [(ark, url) for ark, url in targets if url in settled or ark.is_skipped]
    if done:
        judge_run(store, run_id, done, background, is_whole=False, on_verdict=on_verdict)


def _skipped(ark: Ark, url: str) -> Verdict:
    purpose = SHARED_NAANS[ark.naan].purpose if ark.naan in SHARED_NAANS else "examples and tests"
    return skipped(ark, url, f"NAAN {ark.naan} is for {purpose}; recorded, not requested")


@dataclass(frozen=True, slots=True)
class JudgedTarget:
    """A target, and what else its mention may mean."""

    ark: Ark
    url: str
    readings: tuple[CandidateReading, ...] = ()
    """Itself first."""
    suggested: tuple[CandidateReading, ...] = ()
    """What may have been meant, where its check character fails."""

    @property
    def urls(self) -> list[str]:
        """The URLs whose answers bear on it."""
        return [reading.url for reading in (*self.readings, *self.suggested)]


class RunJudge:
    """All that the verdicts of one run have in common."""

    def __init__(
        self,
        shared: AnswerSets,
        tls: Iterable[TlsResult],
        background: Background | None,
        asked: Sequence[Target],
        landed: Mapping[str, str],
    ) -> None:
        self._shared = shared
        self._tls = {(result.host, result.port): result for result in tls}
        self._background = background or Background()
        self._evidence = learned(asked)
        self._objects = _objects_at(asked, landed)

    def case(self, ark: Ark, url: str) -> JudgedTarget:
        """A target with its readings; of one that is skipped there are none."""
        if ark.is_skipped:
            return JudgedTarget(ark, url)
        readings = readings_of(ark, url, self._background.readings.get(url, ()))
        return JudgedTarget(ark, url, readings, meant_by(readings[0], self._evidence))

    def verdict(self, case: JudgedTarget, answer_sets: AnswerSets) -> Verdict | None:
        """The verdict on one target; None where its object was never asked for."""
        answer_set = answer_sets.about.get(case.url)
        context = self._context(case.ark, answer_set) if answer_set is not None else None
        if answer_set is None or context is None:
            return None
        verdict = judge(answer_set.last, context=context)
        if len(case.urls) < 2:  # it can mean nothing but itself, as most do
            return verdict
        meant, others = _meant(case, answer_sets)
        return replace(
            verdict, did_you_mean=meant, rests_on=tuple(dict.fromkeys((*verdict.rests_on, *others)))
        )

    def _context(self, ark: Ark, answer_set: AnswerSet) -> VerdictContext | None:
        """The rest of the run as it bears on *ark*, with these answers; None where its object was never asked for."""
        answer = answer_set.answer
        if answer is None:
            return None
        asked_url, registry = answer.seen.asked_url, self._background.registry
        written = answer_set.last[Question.OBJECT]
        return VerdictContext(
            control=self._shared.control(ark, asked_url, Question.CONTROL),
            control_as_written=control_as_written(
                self._shared, ark, written.seen.asked_url, asked_url
            ),
            control_info=self._shared.control(ark, asked_url, Question.CONTROL_INFO),
            control_landing=self._shared.landing(answer.seen.final_url),
            control_rendered=self._shared.control(ark, asked_url, Question.CONTROL_RENDERED),
            tls=self._tls,
            neighbours=len(self._objects.get(written.seen.final_url, frozenset()) - {ark.base}),
            earlier=tuple(answer_set.earlier),
            policies=self._shared.policies,
            own_path=self._shared.paths.get(origin_of(written.seen.asked_url))
            if written.is_unknown
            else None,
            closed=closed_for(ark, self._background.closed),
            registered=registry.entry(ark) if registry else None,
        )


def _meant(case: JudgedTarget, answer_sets: AnswerSets) -> tuple[Meant | None, list[str]]:
    """Return what was probably meant instead of a target, and the URLs that were asked to find that out."""
    candidates = [
        reading
        for reading in (*case.readings, *case.suggested)
        if answer_sets.answer(reading.url) is not None
    ]
    if len(candidates) < 2:
        return None, []
    by_url, controls = answer_sets.about_readings(candidates)
    others = [
        answer.seen.asked_url
        for url, answer in by_url.items()
        if url != case.url and answer is not None
    ]
    return meant_instead(case.readings, case.suggested, by_url, controls), others


def _objects_at(asked: Sequence[Target], landed: Mapping[str, str]) -> Mapping[str, frozenset[Ark]]:
    """The objects whose ARKs end at each URL, where redirects led there; parts of one object count once."""
    objects: dict[str, set[Ark]] = defaultdict(set)
    for ark, url in asked:
        if url in landed:
            objects[landed[url]].add(ark.base)
    return {url: frozenset(arks) for url, arks in objects.items() if len(arks) > 1}
