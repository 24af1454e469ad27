"""From the observations of a run to its verdicts: each ARK's answers, with all that bears on them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from crawler.closed import ClosedCollection, closed_for
from crawler.dossiers import Dossier, Dossiers
from crawler.findings import run_findings
from crawler.observations import ChainEnd, Meant, Observation, Question, TlsResult, Verdict
from crawler.paths import origin_of
from crawler.questions import NOT_FOUND
from crawler.readings import Reading, learned, meant_by, meant_instead, readings_of
from crawler.resolving import SUCCESSES
from crawler.store import Store
from crawler.verdict import Surroundings, judge, skipped
from extractors.ark import Ark
from extractors.naan import SHARED_NAANS, Registry
from extractors.wraps.evidence import Evidence

Target = tuple[Ark, str]


@dataclass(frozen=True, slots=True)
class Background:
    """What bears on the verdicts of a run besides its observations."""

    registry: Registry | None = None
    """Whose policies are shown beside commitments."""
    readings: Mapping[str, Sequence[Reading]] = field(default_factory=dict)
    """What else a target may stand for, by the URL that asks for it."""
    closed: Sequence[ClosedCollection] = ()
    """Collections that are meant to be closed."""


def verdicts(
    targets: Iterable[Target],
    observations: Iterable[Observation],
    tls: Iterable[TlsResult] = (),
    background: Background | None = None,
) -> Iterator[Verdict]:
    """A verdict for each of *targets*, in their order: what was asked is judged, examples and tests are skipped.

    A target that was never asked, because the run ended early, has no verdict.
    """
    about, asked = background or Background(), list(targets)
    court = _Court(
        dossiers=Dossiers.of(observations),
        tls={(result.host, result.port): result for result in tls},
        background=about,
        evidence=learned(asked),
    )
    landings = court.landings(asked)
    for ark, url in asked:
        verdict = _skipped(ark, url) if ark.is_skipped else court.verdict(ark, url, landings)
        if verdict is not None:
            yield verdict


def judge_run(
    store: Store,
    run_id: int,
    targets: Iterable[Target],
    background: Background | None = None,
    *,
    is_whole: bool = True,
) -> list[Verdict]:
    """Judge everything that a run observed, and record it, with what only all of it together shows if it is whole."""
    judged = list(verdicts(targets, store.observations(run_id), store.tls_results(run_id), background))
    store.record_verdicts(run_id, judged)
    if not is_whole:
        return judged
    for subject, findings in run_findings(judged).items():
        store.record_findings(run_id, subject, findings)
    return judged


def _skipped(ark: Ark, url: str) -> Verdict:
    purpose = SHARED_NAANS[ark.naan].purpose if ark.naan in SHARED_NAANS else "examples and tests"
    return skipped(str(ark), url, f"NAAN {ark.naan} is for {purpose}; recorded, not requested")


@dataclass(frozen=True, slots=True)
class _Court:
    """All that the verdicts of one run have in common."""

    dossiers: Dossiers
    tls: Mapping[tuple[str, int], TlsResult]
    background: Background
    evidence: Evidence

    def verdict(self, ark: Ark, url: str, landings: Mapping[str, frozenset[Ark]]) -> Verdict | None:
        """The verdict on one target; None where its object was never asked for."""
        dossier = self.dossiers.about.get(url)
        if dossier is None or dossier.answer is None:
            return None
        landed = landings.get(dossier.last[Question.OBJECT].final_url, frozenset())
        meant, others = self._meant(ark, url)
        registered = self.background.registry.entry(ark) if self.background.registry else None
        around = Surroundings(
            control=self.dossiers.control(ark, dossier.answer.asked_url, Question.CONTROL),
            control_info=self.dossiers.control(ark, dossier.answer.asked_url, Question.CONTROL_INFO),
            tls=self.tls,
            neighbours=len(landed - {ark.base}),
            earlier=tuple(dossier.earlier),
            policies=self.dossiers.policies,
            own_path=self._own_path(dossier),
            closed=closed_for(ark, self.background.closed),
            registered=registered,
        )
        verdict = judge(dossier.last, surroundings=around)
        return replace(verdict, did_you_mean=meant, rests_on=tuple(dict.fromkeys((*verdict.rests_on, *others))))

    def _meant(self, ark: Ark, url: str) -> tuple[Meant | None, list[str]]:
        """What was probably meant instead of a target, and the URLs that were asked to find that out."""
        readings = readings_of(ark, url, self.background.readings.get(url, ()))
        suggested = meant_by(readings[0], self.evidence)
        candidates = [each for each in (*readings, *suggested) if self.dossiers.answer(each.url) is not None]
        if len(candidates) < 2:
            return None, []
        heard = {each.url: self.dossiers.answer(each.url) for each in candidates}
        controls = {
            each.url: self.dossiers.control(each.ark, answer.asked_url, Question.CONTROL)
            for each in candidates
            if (answer := heard[each.url]) is not None
        }
        others = [answer.asked_url for each in candidates if each.url != url and (answer := heard[each.url])]
        return meant_instead(readings, suggested, heard, controls), others

    def _own_path(self, dossier: Dossier) -> Observation | None:
        """What the host said of its resolver's path, where that was asked because this ARK was not found."""
        asked = dossier.last[Question.OBJECT]
        is_unknown = asked.end is ChainEnd.ANSWERED and asked.status in NOT_FOUND
        return self.dossiers.paths.get(origin_of(asked.asked_url)) if is_unknown else None

    def landings(self, asked: Sequence[Target]) -> Mapping[str, frozenset[Ark]]:
        """The objects whose ARKs end at each URL, where redirects led there; parts of one object count once."""
        found: dict[str, set[Ark]] = defaultdict(set)
        for ark, url in asked:
            dossier = self.dossiers.about.get(url)
            answer = dossier.last.get(Question.OBJECT) if dossier else None
            if answer is not None and len(answer.hops) > 1 and answer.status in SUCCESSES:
                found[answer.final_url].add(ark.base)
        return {url: frozenset(arks) for url, arks in found.items() if len(arks) > 1}
