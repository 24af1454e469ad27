"""From the observations of a run to its verdicts: brings each ARK's answers, its control and neighbours together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from crawler.findings import run_findings
from crawler.observations import ACCESS, CONFORMANCE, ChainEnd, Observation, Question, TlsResult, Verdict
from crawler.resolving import SUCCESSES, resolver_of
from crawler.store import Store
from crawler.verdict import Surroundings, judge, skipped
from extractors.ark import Ark
from extractors.naan import SHARED_NAANS
from extractors.normalize import NotAnArk

_CONTROLS = (Question.CONTROL, Question.CONTROL_INFO)
_ABOUT_RESOLVERS = frozenset(CONFORMANCE) - frozenset(ACCESS)


@dataclass(slots=True)
class _Answers:
    """What was answered about one ARK at one URL; the last attempt at each question is the answer."""

    last: dict[Question, Observation] = field(default_factory=dict)
    earlier: list[Observation] = field(default_factory=list)

    def add(self, seen: Observation) -> None:
        known = self.last.get(seen.question)
        if known is None or seen.attempt >= known.attempt:
            self.earlier += [known] if known is not None else []
            self.last[seen.question] = seen
        else:
            self.earlier.append(seen)


def verdicts(
    targets: Iterable[tuple[Ark, str]], observations: Iterable[Observation], tls: Iterable[TlsResult] = ()
) -> Iterator[Verdict]:
    """A verdict for each of *targets*, in their order: what was asked is judged, examples and tests are skipped.

    A target that was never asked, because the run ended early, has no verdict.
    """
    answers: dict[str, _Answers] = defaultdict(_Answers)
    controls = _Controls()
    policies: dict[str, Observation] = {}
    for seen in observations:
        if seen.question in _CONTROLS:
            controls.add(seen)
        elif seen.question is Question.POLICY_LINK:
            policies[seen.asked_url] = seen
        elif seen.question not in _ABOUT_RESOLVERS:
            answers[seen.request_url].add(seen)
    asked = [(ark, url) for ark, url in targets]
    landings = _landings(asked, answers)
    probed = {(result.host, result.port): result for result in tls}
    for ark, url in asked:
        if ark.is_skipped:
            purpose = SHARED_NAANS[ark.naan].purpose if ark.naan in SHARED_NAANS else "examples and tests"
            yield skipped(str(ark), url, f"NAAN {ark.naan} is for {purpose}; recorded, not requested")
        elif url in answers and Question.OBJECT in answers[url].last:
            about = answers[url]
            landed = landings.get(about.last[Question.OBJECT].final_url, frozenset())
            around = Surroundings(
                control=controls.best(ark, _reached_at(about.last), Question.CONTROL),
                control_info=controls.best(ark, _reached_at(about.last), Question.CONTROL_INFO),
                tls=probed,
                neighbours=len(landed - {ark.base}),
                earlier=tuple(about.earlier),
                policies=policies,
            )
            yield judge(about.last, surroundings=around)


def judge_run(store: Store, run_id: int, targets: Iterable[tuple[Ark, str]], *, is_whole: bool = True) -> list[Verdict]:
    """Judge everything that a run observed, and record it, with what only all of it together shows if it is whole."""
    judged = list(verdicts(targets, store.observations(run_id), store.tls_results(run_id)))
    store.record_verdicts(run_id, judged)
    if not is_whole:
        return judged
    for subject, findings in run_findings(judged).items():
        store.record_findings(run_id, subject, findings)
    return judged


class _Controls:
    """The controls of a run, by the resolver and NAAN that they speak for."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str, Question], list[Observation]] = defaultdict(list)

    def add(self, seen: Observation) -> None:
        invented = _invented(seen)
        if invented is not None:
            self._seen[resolver_of(seen.asked_url), invented.naan, seen.question].append(seen)

    def best(self, ark: Ark, url: str, question: Question) -> Observation | None:
        """The control whose name has most of its beginning in common with the ARK's, of its resolver and NAAN.

        That is the one of its own shoulder where one was asked; another shoulder's is better than none. Of several
        attempts the last counts.
        """
        candidates = self._seen.get((resolver_of(url), ark.naan, question), [])
        return max(candidates, key=lambda seen: (_common(seen, ark), seen.attempt), default=None)


def _common(seen: Observation, ark: Ark) -> int:
    invented = _invented(seen)
    pairs = zip(invented.name, ark.name, strict=False) if invented else ()
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _invented(seen: Observation) -> Ark | None:
    """The name that a control asked for; the ARK that it stands beside where its URL holds none."""
    try:
        return Ark.parse(seen.asked_url)
    except NotAnArk:
        return Ark.parse(seen.ark)


def _reached_at(answers: Mapping[Question, Observation]) -> str:
    """The URL that was asked first on the way by which the object was reached: its resolver's control counts."""
    for way in ACCESS:
        answer = answers.get(way)
        if answer is not None and answer.end is ChainEnd.ANSWERED and answer.status in SUCCESSES:
            return answer.asked_url
    return answers[Question.OBJECT].asked_url


def _landings(asked: Sequence[tuple[Ark, str]], answers: Mapping[str, _Answers]) -> Mapping[str, frozenset[Ark]]:
    """The objects whose ARKs end at each URL, where redirects led there; parts of one object count once."""
    found: dict[str, set[Ark]] = defaultdict(set)
    for ark, url in asked:
        answer = answers[url].last.get(Question.OBJECT) if url in answers else None
        if answer is not None and len(answer.hops) > 1 and answer.status in SUCCESSES:
            found[answer.final_url].add(ark.base)
    return {url: frozenset(arks) for url, arks in found.items() if len(arks) > 1}
