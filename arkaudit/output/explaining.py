"""Explain a verdict to keepers of collections: each request, its answer, and what it means; and the history of an ARK."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from arkaudit.output.output_rows import Row, whole
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
from crawler.verdicts.verdict import JUDGING_CPU_S
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
def _words() -> Any:
    """Return the macros of an explanation."""
    return macros(
        "explanation.txt.j2",
        "arkaudit.output",
        ENGLISH,
        controls=CONTROLS,
        inflected=INFLECTED,
        pages=(Question.WELL_KNOWN, Question.POLICY_LINK),
        redirects=REDIRECTS,
        successes=SUCCESSES,
        asks_for_a_right=lambda observation: AnswerFacts.from_observation(observation).asks_for_a_right,
        count_noun=count_noun,
        host_of=authority_of,
        resolver_path=resolver_path,
    )


@dataclass(frozen=True, slots=True)
class Step:
    """One question of an audit, its answer, and the meaning of the answer, in words."""

    asked: str
    url: str
    came: tuple[str, ...]
    means: str

    @classmethod
    def from_observation(cls, observation: Observation, *, is_for_another: bool = False) -> Step:
        """Return the step for an observation; *is for another* if it is about an alternative reading of the ARK."""
        words = _words()
        asked = words.asked(observation, is_for_another)
        return cls(asked, observation.asked_url, tuple(_answer_sentences(observation)), words.meaning(observation))


def _answer_sentences(observation: Observation) -> Iterator[str]:
    words, last = _words(), len(observation.hops) - 1
    for number, hop in enumerate(observation.hops):
        yield words.answer(observation, hop, number == last)
    if end := words.end(observation):
        yield end
    if observation.rendering is not None:
        yield from _rendering_sentences(observation.rendering)


def _rendering_sentences(rendering: Rendering) -> Iterator[str]:
    """Yield sentences about the requests of a browser that showed a page, and about missing answers."""
    asked = [hop for hop in rendering.requests if hop.location is None]
    addresses = count_noun(len(asked), "more address", "more addresses")
    yield f"{rendering.browser} ran its scripts, which asked for {addresses}."
    for hop in asked[:_MOST_NAMED]:
        kept = "" if hop.sent else ", had before"
        yield f"{hop.url} ({hop.status if hop.status is not None else hop.error}{kept})."
    for words in rendering.lacking[:_MOST_NAMED]:
        yield f"Missing: {words}."
    if rendering.fault is not None:
        yield f"It did not finish: {rendering.fault}."


#: Questions asked once for many ARKs; a verdict names those that it rests on.
SHARED = frozenset({*CONTROLS, Question.POLICY_LINK, Question.WELL_KNOWN})


class RunObservations:
    """The observations of a run, indexed for the verdicts that rest on them."""

    def __init__(self, observations: Iterable[Observation]) -> None:
        self._by_target: dict[str, list[tuple[int, Observation]]] = defaultdict(list)
        self._by_asked: dict[str, list[tuple[int, Observation]]] = defaultdict(list)
        for number, observation in enumerate(observations):
            is_shared = observation.question in SHARED
            if not is_shared:
                self._by_target[observation.request_url].append((number, observation))
            if is_shared or observation.question is Question.OBJECT:
                self._by_asked[observation.asked_url].append((number, observation))

    def reasons_of(self, verdict: Verdict) -> list[Observation]:
        """Return the observations that *verdict* rests on, in order of time."""
        numbered = dict(self._by_target[verdict.request_url])
        for url in verdict.rests_on:
            numbered |= dict(self._by_asked[url])
        return [numbered[number] for number in sorted(numbered)]


def explanation(
    verdict: Verdict, observations: Iterable[Observation], memento: MementoRecord | None = None
) -> list[dict[str, Any]]:
    """Return the explanation of *verdict* from the observations that it rests on, as JSON values.

    The parts are a short verdict, steps in order of time, a conclusion for each service, and other conclusions. If the
    answers exceed the limit of CPU time, only the short verdict and the conclusions for services remain.
    """
    amounts_to = FAMILY_NAMES[FAMILY_OF[verdict.object.outcome]].capitalize()
    short = {"short": f"{amounts_to}: {OBJECT_MEANINGS[verdict.object.outcome]}"}
    services = [{"conclusion": conclusion} for conclusion in _services(verdict)]
    try:
        with cpu_limit(JUDGING_CPU_S):
            steps, others = _details(verdict, list(observations), memento)
    except OverBudget:
        steps, others = [], [f"The answers are not shown: they take more than {JUDGING_CPU_S:g} s of CPU time."]
    return [short, *steps, *services, *({"conclusion": conclusion} for conclusion in others)]


def _details(
    verdict: Verdict, observations: Sequence[Observation], memento: MementoRecord | None
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the steps of an explanation, and the conclusions that are about no service."""
    own = {one.question: one for one in observations if one.request_url == verdict.request_url}
    plain = own.get(Question.OBJECT)
    asked = AnswerFacts.from_observation(plain) if plain is not None else None
    steps = [asdict(step) for step in _steps(observations, verdict.request_url)]
    conclusions = []
    if verdict.did_you_mean is not None:
        why = _sentence(verdict.did_you_mean.evidence)
        conclusions.append(f"Did you mean {verdict.did_you_mean.ark}? {why[:1].upper()}{why[1:]}")
    if memento is not None:
        at = f": {memento.memento_url}" if memento.memento_url else ""
        conclusions.append(f"The archive: {memento.reason}{at}.")
    if verdict.remarks:
        conclusions.append(f"Also noticed: {'; '.join(verdict.remarks)}.")
    host = authority_of(verdict.hops[-1].url) if verdict.hops else "its host"
    conclusions += [_words().cost(verdict), f"What to do: {_words().advice(verdict.object.outcome, host, asked)}"]
    return steps, conclusions


def _steps(observations: Iterable[Observation], request_url: str) -> Iterator[Step]:
    """Yield a step for each observation, but one for several in a row with the same page and meaning."""
    before: tuple[Observation, Step] | None = None
    for observation in observations:
        is_object = observation.question is Question.OBJECT
        is_for_another = is_object and observation.request_url != request_url
        step = Step.from_observation(observation, is_for_another=is_for_another)
        if before is not None:
            last, first = before
            if first.means == step.means and _is_same_page(last, observation):
                came = (*first.came, f"{step.url} was answered with the same page.")
                step = replace(first, asked=f"{first.asked} {step.asked}", came=came)
            else:
                yield first
        before = observation, step
    if before is not None:
        yield before[1]


def _is_same_page(one: Observation, other: Observation) -> bool:
    """Return True if two answers about one name had the same body."""
    is_shared = one.question in CONTROLS or other.question in CONTROLS
    return not is_shared and one.body_sha256 is not None and one.body_sha256 == other.body_sha256


def _services(verdict: Verdict) -> Iterator[str]:
    yield _conclusion("The object", verdict.object, OBJECT_MEANINGS[verdict.object.outcome])
    described = METADATA_MEANINGS[verdict.metadata.outcome]
    yield _conclusion("Its description", verdict.metadata, described)
    promised = COMMITMENT_MEANINGS[verdict.commitment.outcome]
    if verdict.commitment.outcome == CommitmentOutcome.NOT_ASKED:
        promised = "It would be part of the description, which was not requested."
    yield _conclusion("The promise to keep it", verdict.commitment, promised)
    if verdict.naan_policy:
        yield (
            f"The registry of ARK organizations has a policy, from {naan_policy_words(verdict.naan_policy)}. It is "
            "about names in general, not a promise for this object."
        )


def _conclusion(service: str, judged: ServiceVerdict[Any], meaning: str) -> str:
    why = f" Why: {_sentence(judged.evidence)}" if judged.evidence else ""
    return f"{service} ({judged.outcome}): {meaning}{why}"


def _sentence(evidence: Sequence[str]) -> str:
    return f"{'; '.join(evidence)}."


# -- on a terminal


def print_history(history: Mapping[str, Any], console: Console) -> None:
    """Print the history of an ARK, and an empty line. Raises `OutputClosed` and `OutputUnwritable`."""
    # Imported here, because a check without a history needs no pandas.
    from reports.ark_history import SPARKS

    is_unicode = (console.encoding or "").lower().startswith("utf")
    sparks = {family: blocks if is_unicode else plain for family, (blocks, plain) in SPARKS.items()}
    values = {"history": history, "sparks": sparks, "family_of": FAMILY_OF}
    text = template("history.txt.j2", "arkaudit.output").render(values)
    with whole(console):
        _say(console, text)


def print_explanations(rows: Sequence[Row], console: Console) -> None:
    """Print the explanations of `verdict_row`s, as wide as the terminal. Raises `OutputClosed`."""
    with whole(console):
        for number, row in enumerate(rows):
            if number:
                _say(console, "")
            for line in lines(row, max(40, min(console.width, 110))):
                _say(console, line)


def _say(console: Console, line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def lines(row: Row, width: int) -> Iterator[str]:
    """Yield an explained row as lines of at most *width* characters; addresses are never broken."""
    yield escape_invisible(row["ark"] or row["asked"])
    if row["ark"] is None:
        why = row["object"]["evidence"][0]
        yield from _wrap(f"This line holds no ARK: {why}.", width, "")
        return
    short, *parts = row["explanation"]
    yield from _wrap(short["short"], width, "")
    for number, part in enumerate(parts, 1):
        yield ""
        if "conclusion" in part:
            yield from _wrap(part["conclusion"], width, "")
            continue
        yield from _wrap(f"{number}. {part['asked']}", width, "   ")
        yield f"   {escape_invisible(part['url'])}"
        for detail in part["came"]:
            yield from _wrap(f"   - {detail}", width, "     ")
        yield from _wrap(f"   {part['means']}", width, "   ")


def _wrap(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(
        escape_invisible(text), width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
