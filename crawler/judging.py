"""From the observations of a run to its verdicts: brings each ARK's answers and its control together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from crawler.observations import Observation, Question, Verdict
from crawler.resolving import resolver_of
from crawler.store import Store
from crawler.verdict import judge, skipped
from extractors.ark import Ark
from extractors.naan import SHARED_NAANS

_CONTROLS = (Question.CONTROL, Question.CONTROL_INFO)


def verdicts(targets: Iterable[tuple[Ark, str]], observations: Iterable[Observation]) -> Iterator[Verdict]:
    """A verdict for each of *targets*, in their order: what was asked is judged, examples and tests are skipped.

    A target that was never asked, because the run ended early, has no verdict.
    """
    answers: dict[str, dict[Question, Observation]] = defaultdict(dict)
    controls: dict[tuple[str, str, Question], Observation] = {}
    for seen in observations:
        if seen.question in _CONTROLS:
            naan = Ark.parse(seen.ark).naan
            controls[resolver_of(seen.request_url), naan, seen.question] = seen
        else:
            answers[seen.request_url][seen.question] = seen
    for ark, url in targets:
        if ark.is_skipped:
            purpose = SHARED_NAANS[ark.naan].purpose if ark.naan in SHARED_NAANS else "examples and tests"
            yield skipped(str(ark), url, f"NAAN {ark.naan} is for {purpose}; recorded, not requested")
        elif Question.OBJECT in answers[url]:
            control, control_info = (controls.get((resolver_of(url), ark.naan, each)) for each in _CONTROLS)
            yield judge(answers[url], control=control, control_info=control_info)


def judge_run(store: Store, run_id: int, targets: Iterable[tuple[Ark, str]]) -> list[Verdict]:
    """Judge everything that a run observed, and record it."""
    judged = list(verdicts(targets, store.observations(run_id)))
    store.record_verdicts(run_id, judged)
    return judged
