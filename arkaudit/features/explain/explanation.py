"""Explain a verdict to keepers of collections: each request, its answer, and what it means; and the history of an ARK."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from arkaudit.output.output_rows import Row, written_at_once
from crawler.answers.facts import AnswerFacts
from crawler.answers.mementos import MementoRecord
from crawler.asking.questions import resolver_path
from crawler.model.observations import (
    FAMILY_OF,
    CommitmentOutcome,
    Observation,
    Question,
    Rendering,
    ServiceVerdict,
    Verdict,
)
from crawler.model.resolving import INFLECTED, REDIRECTS, SUCCESSES
from crawler.verdicts.verdict import JUDGING_CPU_S, WAYS
from extractors.model.budget import OverBudget, cpu_limit
from extractors.model.urls import authority_of
from reports.languages import ENGLISH
from reports.languages.display import count_noun, escape_invisible
from reports.languages.templates import macros, template
from reports.tables.wording import (
    COMMITMENT_MEANINGS,
    FAMILY_NAMES,
    METADATA_MEANINGS,
    OBJECT_MEANINGS,
    naan_policy_words,
)

if TYPE_CHECKING:
    from rich.console import Console


CONTROLS = (
    Question.CONTROL,
    Question.CONTROL_ELSEWHERE,
    Question.CONTROL_AGAIN,
    Question.CONTROL_OTHER,
    Question.CONTROL_LANDING,
    Question.CONTROL_EVERY_PART,
    Question.CONTROL_INFO,
    Question.CONTROL_RENDERED,
)

#: Number of requests of a rendered page that are listed.
_MOST_NAMED = 10


@cache
def _macros() -> Any:
    """Return the Jinja macros of ``explanation.txt.j2`` as attributes."""
    return macros(
        "explanation.txt.j2",
        __package__,
        ENGLISH,
        controls=CONTROLS,
        inflected=INFLECTED,
        pages=(Question.WELL_KNOWN, Question.POLICY_LINK),
        redirects=REDIRECTS,
        successes=SUCCESSES,
        requires_permission=lambda observation: AnswerFacts.from_observation(observation).requires_permission,
        count_noun=count_noun,
        host_of=authority_of,
        resolver_path=resolver_path,
    )


@dataclass(frozen=True, slots=True)
class Step:
    """One question of an audit, its answer, and the meaning of the answer, in words."""

    asked: str
    url: str
    at: str | None
    """The time of the first answer or failure, ISO 8601 in UTC; None without any request. Operators look for it in their logs."""
    came: tuple[str, ...]
    means: str

    @classmethod
    def from_observation(cls, observation: Observation, *, is_other_reading: bool = False) -> Step:
        """Return the step for an observation; *is_other_reading* if its URL is an alternative reading of the ARK."""
        sentences = _macros()
        question = sentences.asked(observation, is_other_reading)
        at = observation.hops[0].at if observation.hops else None
        answers = tuple(_answer_sentences(observation))
        return cls(question, observation.asked_url, at, answers, sentences.meaning(observation))


def _answer_sentences(observation: Observation) -> Iterator[str]:
    sentences, last_index = _macros(), len(observation.hops) - 1
    for index, hop in enumerate(observation.hops):
        yield sentences.answer(observation, hop, index == last_index)
    if end_sentence := sentences.end(observation):
        yield end_sentence
    if observation.rendering is not None:
        yield from _rendering_sentences(observation.rendering)


def _rendering_sentences(rendering: Rendering) -> Iterator[str]:
    """Yield sentences about the requests of a browser that rendered a page, and about missing answers."""
    requested_hops = [hop for hop in rendering.requests if hop.location is None]
    count_words = count_noun(len(requested_hops), "more address", "more addresses")
    yield f"{rendering.browser} ran its scripts, which asked for {count_words}."
    for hop in requested_hops[:_MOST_NAMED]:
        reuse_words = "" if hop.sent else ", had before"
        yield f"{hop.url} ({hop.status if hop.status is not None else hop.error}{reuse_words})."
    for missing_answer in rendering.lacking[:_MOST_NAMED]:
        yield f"Missing: {missing_answer}."
    if rendering.fault is not None:
        yield f"It did not finish: {rendering.fault}."


#: Questions asked once for many ARKs; a verdict names those that it rests on.
SHARED = frozenset({*CONTROLS, Question.POLICY_LINK, Question.WELL_KNOWN})


class RunObservations:
    """The observations of a run, indexed for the verdicts that rest on them."""

    def __init__(self, observations: Iterable[Observation]) -> None:
        self._by_target: dict[str, list[tuple[int, Observation]]] = defaultdict(list)
        self._by_asked_url: dict[str, list[tuple[int, Observation]]] = defaultdict(list)
        for number, observation in enumerate(observations):
            is_shared = observation.question in SHARED
            if not is_shared:
                self._by_target[observation.request_url].append((number, observation))
            if is_shared or observation.question is Question.OBJECT:
                self._by_asked_url[observation.asked_url].append((number, observation))

    def reasons_of(self, verdict: Verdict) -> list[Observation]:
        """Return the observations at the URL of *verdict* and at the URLs that it rests on, in order of time."""
        observations_by_number = dict(self._by_target[verdict.request_url])
        for url in verdict.rests_on:
            observations_by_number |= dict(self._by_asked_url[url])
        return [observations_by_number[number] for number in sorted(observations_by_number)]


def explain_run(observations: Iterable[Observation]) -> Callable[[Verdict, MementoRecord | None], list[dict[str, Any]]]:
    """Return the function that explains a verdict of the run with these *observations* (`explanation`)."""
    run_observations = RunObservations(observations)
    return lambda verdict, memento: explanation(verdict, run_observations.reasons_of(verdict), memento)


def explanation(
    verdict: Verdict,
    observations: Iterable[Observation],
    memento: MementoRecord | None = None,
    advice: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Return the explanation of *verdict* from the observations that it rests on, as JSON values.

    *advice* has a report's sentences about the failure. They replace the general sentences about its outcome.

    The first value is ``{"short": …}``, the short verdict. `Step`s follow by time, then ``{"conclusion": …}`` for each
    service and about other facts. If the answers exceed the limit of CPU time, steps and other facts are left out.
    """
    family_name = FAMILY_NAMES[FAMILY_OF[verdict.object.outcome]].capitalize()
    short_verdict = {"short": f"{family_name}: {OBJECT_MEANINGS[verdict.object.outcome]}"}
    service_parts = [{"conclusion": conclusion} for conclusion in _service_conclusions(verdict)]
    try:
        with cpu_limit(JUDGING_CPU_S):
            steps, conclusions = _details(verdict, list(observations), memento, advice)
    except OverBudget:
        steps, conclusions = [], [f"The answers are not shown: they take more than {JUDGING_CPU_S:g} s of CPU time."]
    return [short_verdict, *steps, *service_parts, *({"conclusion": conclusion} for conclusion in conclusions)]


def _details(
    verdict: Verdict, observations: Sequence[Observation], memento: MementoRecord | None, advice: Sequence[str]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the steps of an explanation as JSON values, and the conclusions that are not about a service."""
    own_observations = {
        observation.question: observation
        for observation in observations
        if observation.request_url == verdict.request_url
    }
    object_observation = own_observations.get(Question.OBJECT)
    object_facts = AnswerFacts.from_observation(object_observation) if object_observation is not None else None
    steps = [asdict(step) for step in _steps(observations, verdict.request_url)]
    conclusions = []
    if verdict.did_you_mean is not None:
        reason = _sentence(verdict.did_you_mean.evidence)
        conclusions.append(f"Did you mean {verdict.did_you_mean.ark}? {reason[:1].upper()}{reason[1:]}")
    if memento is not None:
        copy_url = f": {memento.memento_url}" if memento.memento_url else ""
        conclusions.append(f"The archive: {memento.reason}{copy_url}.")
    if verdict.remarks:
        conclusions.append(f"Also noticed: {'; '.join(verdict.remarks)}.")
    host = authority_of(verdict.hops[-1].url) if verdict.hops else "its host"
    # A pruned store has the remark of a verdict, but not its observations.
    further_ways = (way for way, (_, remark) in WAYS.items() if remark in verdict.remarks and way in own_observations)
    working_url = next((own_observations[way].asked_url for way in further_ways), None)
    own_advice = f"What to do: {_macros().advice(verdict.object.outcome, host, object_facts, working_url)}"
    conclusions += [_macros().cost(verdict), *(advice or [own_advice])]
    return steps, conclusions


def _steps(observations: Iterable[Observation], request_url: str) -> Iterator[Step]:
    """Yield a step for each observation; successive observations with the same page and meaning share a step."""
    previous: tuple[Observation, Step] | None = None
    for observation in observations:
        is_object = observation.question is Question.OBJECT
        is_other_reading = is_object and observation.request_url != request_url
        step = Step.from_observation(observation, is_other_reading=is_other_reading)
        if previous is not None:
            previous_observation, previous_step = previous
            if previous_step.means == step.means and _is_same_page(previous_observation, observation):
                answers = (*previous_step.came, f"{step.url} was answered with the same page.")
                step = replace(previous_step, asked=f"{previous_step.asked} {step.asked}", came=answers)
            else:
                yield previous_step
        previous = observation, step
    if previous is not None:
        yield previous[1]


def _is_same_page(first: Observation, second: Observation) -> bool:
    """Return True if two answers had the same body, and neither is about a name that cannot exist."""
    is_shared = first.question in CONTROLS or second.question in CONTROLS
    return not is_shared and first.body_sha256 is not None and first.body_sha256 == second.body_sha256


def _service_conclusions(verdict: Verdict) -> Iterator[str]:
    """Yield the outcome of each service in words, with its reasons."""
    yield _conclusion("The object", verdict.object, OBJECT_MEANINGS[verdict.object.outcome])
    metadata_meaning = METADATA_MEANINGS[verdict.metadata.outcome]
    yield _conclusion("Its description", verdict.metadata, metadata_meaning)
    commitment_meaning = COMMITMENT_MEANINGS[verdict.commitment.outcome]
    if verdict.commitment.outcome == CommitmentOutcome.NOT_ASKED:
        commitment_meaning = "It would be part of the description, which was not requested."
    yield _conclusion("The promise to keep it", verdict.commitment, commitment_meaning)
    if verdict.naan_policy:
        yield (
            f"The registry of ARK organizations has a policy, from {naan_policy_words(verdict.naan_policy)}. It is "
            "about names in general, not a promise for this object."
        )


def _conclusion(service: str, verdict: ServiceVerdict[Any], meaning: str) -> str:
    reason_words = f" Why: {_sentence(verdict.evidence)}" if verdict.evidence else ""
    return f"{service} ({verdict.outcome}): {meaning}{reason_words}"


def _sentence(evidence: Sequence[str]) -> str:
    return f"{'; '.join(evidence)}."


# -- on a terminal


def print_history(history: Mapping[str, Any], console: Console) -> None:
    """Print the history of an ARK, and an empty line. Raises `OutputClosed` and `OutputUnwritable`."""
    # Imported here, because a check without a history needs no pandas.
    from arkaudit.features.explain.history import SPARKS

    is_unicode = (console.encoding or "").lower().startswith("utf")
    sparks = {
        family: block_signs if is_unicode else ascii_signs for family, (block_signs, ascii_signs) in SPARKS.items()
    }
    values = {"history": history, "sparks": sparks, "family_of": FAMILY_OF}
    text = template("history.txt.j2", __package__).render(values)
    with written_at_once(console):
        _say(console, text)


def print_explanations(rows: Sequence[Row], console: Console) -> None:
    """Print the explanations of `verdict_row`s, as wide as the terminal. Raises `OutputClosed`."""
    with written_at_once(console):
        for number, row in enumerate(rows):
            if number:
                _say(console, "")
            for line in lines(row, max(40, min(console.width, 110))):
                _say(console, line)


def _say(console: Console, line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def lines(row: Row, width: int) -> Iterator[str]:
    """Yield the explanation in a `verdict_row` as lines of at most *width* characters; URLs are never broken."""
    yield escape_invisible(row["ark"] or row["asked"])
    if row["ark"] is None:
        reason = row["object"]["evidence"][0]
        yield from _wrap(f"This line holds no ARK: {reason}.", width, "")
        return
    short_verdict, *parts = row["explanation"]
    yield from _wrap(short_verdict["short"], width, "")
    for number, part in enumerate(parts, 1):
        yield ""
        if "conclusion" in part:
            yield from _wrap(part["conclusion"], width, "")
            continue
        yield from _wrap(f"{number}. {part['asked']}", width, "   ")
        yield f"   {_time_words(part['at'])}{escape_invisible(part['url'])}"
        for detail in part["came"]:
            yield from _wrap(f"   - {detail}", width, "     ")
        yield from _wrap(f"   {part['means']}", width, "   ")


def _time_words(at: str | None) -> str:
    """Return *at* (ISO 8601), to the second, as the text before the URL of a step; empty for None or a malformed time.

    >>> _time_words("2026-11-30T20:27:14.482Z")
    '2026-11-30 20:27:14 UTC: '
    """
    try:
        return f"{datetime.fromisoformat(at).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC: " if at else ""
    except (ValueError, OverflowError):
        return ""


def _wrap(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(
        escape_invisible(text), width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
