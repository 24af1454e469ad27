"""From the observations of a run to its verdicts: each ARK's answers, with all that bears on them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Protocol

from crawler.answers.facts import AnswerFacts
from crawler.asking.paths import origin_of
from crawler.observations import Meant, Observation, Question, TlsResult, Verdict
from crawler.resolving import SUCCESSES
from crawler.storage.store import Store
from crawler.verdicts.answer_sets import SHARED, AnswerSet, AnswerSets, control_as_written
from crawler.verdicts.closed import ClosedCollection, closed_for
from crawler.verdicts.findings import RunFindings
from crawler.verdicts.readings import CandidateReading, learned, meant_by, meant_instead, readings_of
from crawler.verdicts.verdict import VerdictContext, judge, skipped
from extractors.ark import Ark
from extractors.frozen import quickly_made
from extractors.naan import SHARED_NAANS, Registry

Target = tuple[Ark, str]

#: So many ARKs are judged at a time: what was observed about a million has no room in memory.
_AT_A_TIME = 200


@dataclass(frozen=True, slots=True)
class Background:
    """The facts that bear on the verdicts of a run besides its observations."""

    registry: Registry | None = None
    """Whose policies are shown beside commitments."""
    readings: Mapping[str, Sequence[CandidateReading]] = field(default_factory=dict)
    """What else a target may stand for, by the URL that asks for it."""
    closed: Sequence[ClosedCollection] = ()
    """Collections that are meant to be closed."""


class KeptVerdicts(Protocol):
    """Verdicts that were made while the run was asking, as far as they hold at its end."""

    def holding(self, cases: Sequence[JudgedTarget], court: RunJudge) -> Mapping[JudgedTarget, Verdict]:
        """Those on *cases* that *court* would make again."""


def verdicts(
    targets: Iterable[Target],
    observations: Iterable[Observation],
    tls: Iterable[TlsResult] = (),
    background: Background | None = None,
) -> Iterator[Verdict]:
    """A verdict for each of *targets*, in their order: what was asked is judged, examples and tests are skipped.

    A target that was never asked, because the run ended early, has no verdict.
    """
    asked, known = list(targets), AnswerSets.of(observations)
    landed = {url: end for url, answer_set in known.about.items() if (end := _landing(answer_set)) is not None}
    return _judged(asked, RunJudge(known, tls, background, asked, landed), lambda urls: known)


def verdicts_of_run(
    store: Store,
    run_id: int,
    targets: Iterable[Target],
    background: Background | None = None,
    *,
    kept: KeptVerdicts | None = None,
) -> Iterator[Verdict]:
    """The same from what a store has of a run; the observations about a few hundred ARKs are in memory at a time.

    Those that were *kept* from before, and hold, are not made again.
    """
    asked = list(targets)
    shared = AnswerSets.of(store.observations(run_id, SHARED))
    court = RunJudge(shared, store.tls_results(run_id), background, asked, store.landings(run_id))
    return _judged(asked, court, lambda urls: shared.with_those_about(store.observations_about(run_id, urls)), kept)


def judge_run(
    store: Store,
    run_id: int,
    targets: Iterable[Target],
    background: Background | None = None,
    *,
    is_whole: bool = True,
    heard: Callable[[Verdict], None] = lambda verdict: None,
    kept: KeptVerdicts | None = None,
) -> None:
    """Judge everything that a run observed, and record it, with what only all of it together shows if it is whole.

    Whoever wants to has *heard* each verdict when this returns, in the order of the *targets*. Those that were *kept*
    from before, and hold, are not made again.
    """
    findings = RunFindings()

    def judged() -> Iterator[Verdict]:
        for verdict in verdicts_of_run(store, run_id, targets, background, kept=kept):
            findings.hear(verdict)
            heard(verdict)
            yield verdict

    store.record_verdicts(run_id, judged())
    if is_whole:
        for subject, found in findings.findings().items():
            store.record_findings(run_id, subject, found)


def _judged(
    asked: Sequence[Target],
    court: RunJudge,
    dossiers_of: Callable[[Sequence[str]], AnswerSets],
    kept: KeptVerdicts | None = None,
) -> Iterator[Verdict]:
    """The verdicts on *asked*; *dossiers_of* gives those at some URLs, with what many share."""
    remaining = iter(asked)
    while some := list(islice(remaining, _AT_A_TIME)):
        cases = [court.case(ark, url) for ark, url in some]
        holding = kept.holding(cases, court) if kept is not None else {}
        open_cases = (case for case in cases if case not in holding)
        answer_sets = dossiers_of(list(dict.fromkeys(url for case in open_cases for url in case.urls)))
        for case in cases:
            verdict = holding.get(case)
            if verdict is None:
                verdict = _skipped(case.ark, case.url) if case.ark.is_skipped else court.verdict(case, answer_sets)
            if verdict is not None:
                yield verdict


def _landing(answer_set: AnswerSet) -> str | None:
    """Return where redirects have led the question for an object, if that was a success."""
    answer = answer_set.last.get(Question.OBJECT)
    is_led = answer is not None and answer.is_redirected and answer.seen.status in SUCCESSES
    return answer.seen.final_url if answer is not None and is_led else None


def _skipped(ark: Ark, url: str) -> Verdict:
    purpose = SHARED_NAANS[ark.naan].purpose if ark.naan in SHARED_NAANS else "examples and tests"
    return skipped(ark, url, f"NAAN {ark.naan} is for {purpose}; recorded, not requested")


@quickly_made
@dataclass(frozen=True, slots=True)
class JudgedTarget:
    """A target, and what else its mention may stand for."""

    ark: Ark
    url: str
    readings: tuple[CandidateReading, ...] = ()
    """Itself first."""
    suggested: tuple[CandidateReading, ...] = ()
    """What may have been meant, where its check character fails."""

    @property
    def urls(self) -> list[str]:
        """The URLs whose answers bear on it."""
        return [each.url for each in (*self.readings, *self.suggested)]

    @property
    def stands_alone(self) -> bool:
        """True if it may stand for nothing but itself."""
        return len(self.readings) + len(self.suggested) < 2


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
        self.shared = shared
        self.tls = {(result.host, result.port): result for result in tls}
        self.background = background or Background()
        self._evidence = learned(asked)
        self._objects = _objects_at(asked, landed)

    def case(self, ark: Ark, url: str) -> JudgedTarget:
        """A target with its readings; of one that is skipped there are none."""
        if ark.is_skipped:
            return JudgedTarget(ark, url)
        readings = readings_of(ark, url, self.background.readings.get(url, ()))
        return JudgedTarget(ark, url, readings, meant_by(readings[0], self._evidence))

    def neighbours(self, ark: Ark, url: str) -> int:
        """Return how many ARKs of other objects end at *url* as well, where redirects led there."""
        return len(self._objects.get(url, frozenset()) - {ark.base})

    def verdict(self, case: JudgedTarget, answer_sets: AnswerSets) -> Verdict | None:
        """The verdict on one target; None where its object was never asked for."""
        answer_set = answer_sets.about.get(case.url)
        around = self.context(case.ark, answer_set) if answer_set is not None else None
        if answer_set is None or around is None:
            return None
        verdict = judge(answer_set.last, context=around)
        if case.stands_alone:  # as most do
            return verdict
        meant, others = _meant(case, answer_sets)
        return replace(verdict, did_you_mean=meant, rests_on=tuple(dict.fromkeys((*verdict.rests_on, *others))))

    def context(self, ark: Ark, answer_set: AnswerSet) -> VerdictContext | None:
        """The rest of the run as it bears on *ark*, with these answers; None where its object was never asked for."""
        answer = answer_set.answer
        if answer is None:
            return None
        asked_url, registry = answer.seen.asked_url, self.background.registry
        written = answer_set.last[Question.OBJECT].seen.asked_url
        return VerdictContext(
            control=self.shared.control(ark, asked_url, Question.CONTROL),
            control_as_written=control_as_written(self.shared, ark, written, asked_url),
            control_info=self.shared.control(ark, asked_url, Question.CONTROL_INFO),
            control_landing=self.shared.landing(answer.seen.final_url),
            control_rendered=self.shared.control(ark, asked_url, Question.CONTROL_RENDERED),
            tls=self.tls,
            neighbours=self.neighbours(ark, answer_set.last[Question.OBJECT].seen.final_url),
            earlier=tuple(answer_set.earlier),
            policies=self.shared.policies,
            own_path=_own_path(answer_set, self.shared.paths),
            closed=closed_for(ark, self.background.closed),
            registered=registry.entry(ark) if registry else None,
        )


def _meant(case: JudgedTarget, answer_sets: AnswerSets) -> tuple[Meant | None, list[str]]:
    """Return what was probably meant instead of a target, and the URLs that were asked to find that out."""
    candidates = [each for each in (*case.readings, *case.suggested) if answer_sets.answer(each.url) is not None]
    if len(candidates) < 2:
        return None, []
    heard = {each.url: answer_sets.answer(each.url) for each in candidates}
    controls = {
        each.url: answer_sets.control(each.ark, answer.seen.asked_url, Question.CONTROL)
        for each in candidates
        if (answer := heard[each.url]) is not None
    }
    others = [answer.seen.asked_url for each in candidates if each.url != case.url and (answer := heard[each.url])]
    return meant_instead(case.readings, case.suggested, heard, controls), others


def _own_path(answer_set: AnswerSet, paths: Mapping[str, AnswerFacts]) -> AnswerFacts | None:
    """Return what the host said of its resolver's path, where that was asked because this ARK was not found."""
    host = path_of(answer_set)
    return paths.get(host) if host is not None else None


def path_of(answer_set: AnswerSet) -> str | None:
    """Return the host that may have said where its resolver is, because this ARK was not found there."""
    asked = answer_set.last[Question.OBJECT]
    return origin_of(asked.seen.asked_url) if asked.is_unknown else None


def _objects_at(asked: Sequence[Target], landed: Mapping[str, str]) -> Mapping[str, frozenset[Ark]]:
    """The objects whose ARKs end at each URL, where redirects led there; parts of one object count once."""
    found: dict[str, set[Ark]] = defaultdict(set)
    for ark, url in asked:
        if url in landed:
            found[landed[url]].add(ark.base)
    return {url: frozenset(arks) for url, arks in found.items() if len(arks) > 1}
