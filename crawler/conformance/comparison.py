"""Pure: a resolver held against another one, name by name: does the new one answer as the old one did?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from crawler.conformance.plan import Probe, url_of
from crawler.model.observations import ChainEnd, Observation, Question
from crawler.model.resolving import asked_url
from extractors.model.ark import Ark

_ASKED = (Question.OBJECT, Question.INFO)


def comparison_probes(resolvers: Iterable[str], arks: Iterable[Ark]) -> Iterator[Probe]:
    """The requests that compare *resolvers*: for the object and its description, of each ARK, at each of them."""
    places = tuple(resolvers)
    for ark in arks:
        for resolver in places:
            url = url_of(resolver, ark)
            for question in _ASKED:
                yield Probe(ark, url, question, asked_url(url, question))


@dataclass(frozen=True, slots=True)
class Comparison:
    """What one resolver answers for a name, and the other."""

    ark: Ark
    subject: str
    """What differs: ``target``, ``status`` or ``metadata``; ``same`` where nothing does; ``not compared``."""
    old: str
    new: str

    @property
    def is_difference(self) -> bool:
        """True if something differs."""
        return self.subject not in (SAME, NOT_COMPARED)


SAME, NOT_COMPARED = "same", "not compared"


def compare(
    observations: Iterable[Observation], arks: Iterable[Ark], *, old: str, new: str
) -> list[Comparison]:
    """The comparison of each ARK, those that differ first; else in the order of *arks*."""
    answers: dict[tuple[str, Question], Observation] = {}
    for observation in observations:  # the last attempt counts
        answers[observation.request_url, observation.question] = observation
    found = [_compared(ark, answers, url_of(old, ark), url_of(new, ark)) for ark in arks]
    return sorted(found, key=lambda comparison: not comparison.is_difference)


def _compared(
    ark: Ark, answers: Mapping[tuple[str, Question], Observation], old: str, new: str
) -> Comparison:
    pairs = {
        question: (answers.get((old, question)), answers.get((new, question)))
        for question in _ASKED
    }
    was, now = pairs[Question.OBJECT]
    if was is None or now is None:
        return Comparison(ark, NOT_COMPARED, _words(was), _words(now))
    unanswered = [seen for seen in (was, now) if seen.end is not ChainEnd.ANSWERED]
    if len({seen.end for seen in (was, now)}) == 1 and unanswered:
        return Comparison(ark, NOT_COMPARED, _words(was), _words(now))
    if (was.end, was.status) != (now.end, now.status):
        return Comparison(ark, "status", _words(was), _words(now))
    places = [_place(seen, url) for seen, url in ((was, old), (now, new))]
    if places[0] != places[1]:
        return Comparison(ark, "target", *places)
    was, now = pairs[Question.INFO]
    if was is not None and now is not None and was.record != now.record:
        return Comparison(ark, "metadata", _record(was), _record(now))
    return Comparison(ark, SAME, places[0], places[1])


def _words(seen: Observation | None) -> str:
    if seen is None:
        return "not asked"
    return str(seen.status) if seen.end is ChainEnd.ANSWERED else seen.end.value


def _place(seen: Observation, url: str) -> str:
    """Return where a resolver has led; of one that answers itself only that, for its own address differs."""
    is_own = urlsplit(seen.final_url).netloc == urlsplit(url).netloc
    return "its own page" if is_own else seen.final_url


def _record(seen: Observation) -> str:
    stories = (seen.record or {}).values()
    return (
        "; ".join(f"{key}: {value}" for story in stories for key, value in story.items()) or "none"
    )
