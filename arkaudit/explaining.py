"""The explanation of a verdict, for people who keep collections: what was asked, what came, what it means."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from rich.console import Console

from arkaudit.audit_questions import CONTROLS, Step, host_of
from arkaudit.output_rows import Row, whole
from crawler.answers.facts import AnswerFacts
from crawler.mementos import MementoRecord
from crawler.observations import (
    FAMILY_OF,
    CommitmentOutcome,
    ObjectOutcome,
    Observation,
    Question,
    ServiceVerdict,
    Verdict,
)
from crawler.verdicts.answer_sets import is_about_resolver
from crawler.verdicts.spellings import FORMS, SpellingAnswer, judge_form
from reports.display import counted, escaped
from reports.wording import (
    COMMITMENT_MEANINGS,
    FAMILY_NAMES,
    METADATA_MEANINGS,
    OBJECT_MEANINGS,
    naan_policy_words,
)

#: Questions that are put for many ARKs at once; a verdict names those that it rests on.
SHARED = frozenset({*CONTROLS, Question.POLICY_LINK, Question.WELL_KNOWN})


@dataclass(frozen=True, slots=True)
class Explanation:
    """A verdict with the way that led to it."""

    short: str
    steps: tuple[Step, ...]
    conclusions: tuple[str, ...]
    """One a service: what the verdict is and why; then what else was noticed."""

    @property
    def row(self) -> list[dict[str, Any]]:
        """The explanation as it stands in JSON."""
        steps = [asdict(step) for step in self.steps]
        return [{"short": self.short}, *steps, *({"conclusion": conclusion} for conclusion in self.conclusions)]


class Observed:
    """The observations of a run, to be found by the verdicts that rest on them."""

    def __init__(self, observations: Iterable[Observation]) -> None:
        self._by_target: dict[str, list[tuple[int, Observation]]] = defaultdict(list)
        self._by_asked: dict[str, list[tuple[int, Observation]]] = defaultdict(list)
        for number, seen in enumerate(observations):
            is_shared = seen.question in SHARED
            if not is_shared:
                self._by_target[seen.request_url].append((number, seen))
            if is_shared or seen.question is Question.OBJECT:
                self._by_asked[seen.asked_url].append((number, seen))

    def behind(self, verdict: Verdict) -> list[Observation]:
        """Return what *verdict* rests on, in the order in which it was observed."""
        found = dict(self._by_target[verdict.request_url])
        for url in verdict.rests_on:
            found |= dict(self._by_asked[url])
        return [seen for _, seen in sorted(found.items(), key=lambda numbered: numbered[0])]


def explanation(
    verdict: Verdict, observations: Iterable[Observation], memento: MementoRecord | None = None
) -> Explanation:
    """Return how *verdict* came about, from the observations that it rests on, in the order in which they were made."""
    observations = list(observations)
    own = {seen.question: seen for seen in observations if seen.request_url == verdict.request_url}
    plain = own.get(Question.OBJECT)
    asked = AnswerFacts(plain) if plain is not None else None
    forms = [seen for question, seen in own.items() if is_about_resolver(question, asked)]
    about_object = (
        seen
        for seen in observations
        if not (seen.request_url == verdict.request_url and is_about_resolver(seen.question, asked))
    )
    steps = tuple(_steps(about_object, verdict.request_url))
    conclusions = list(_services(verdict))
    if verdict.did_you_mean is not None:
        why = _sentence(verdict.did_you_mean.evidence)
        conclusions.append(f"Did you mean {verdict.did_you_mean.ark}? {why[:1].upper()}{why[1:]}")
    if memento is not None:
        place = f": {memento.memento_url}" if memento.memento_url else ""
        conclusions.append(f"The archive: {memento.reason}{place}. {_sentence(memento.evidence)}")
    conclusions += [_form_conclusion(seen, plain) for seen in forms if plain is not None]
    if verdict.remarks:
        conclusions.append(f"Also noticed: {'; '.join(verdict.remarks)}.")
    conclusions += [
        _cost(verdict),
        f"What to do: {_advice(verdict, AnswerFacts(plain) if plain is not None else None)}",
    ]
    return Explanation(_short(verdict), steps, tuple(conclusions))


def _steps(observations: Iterable[Observation], request_url: str) -> Iterator[Step]:
    """Yield a step for each observation, one for several in a row that came to the same page and mean the same."""
    before: tuple[Observation, Step] | None = None
    for seen in observations:
        step = Step.of(seen, is_for_another=seen.question is Question.OBJECT and seen.request_url != request_url)
        if before is not None and _is_same_page(before[0], seen) and before[1].means == step.means:
            first = before[1]
            came = (*first.came, f"{step.url} was answered with the same page.")
            step = replace(first, asked=f"{first.asked} {step.asked}", came=came)
        elif before is not None:
            yield before[1]
        before = seen, step
    if before is not None:
        yield before[1]


def _is_same_page(one: Observation, other: Observation) -> bool:
    """Return whether two answers about one name were the same page, octet by octet."""
    is_shared = one.question in CONTROLS or other.question in CONTROLS
    return not is_shared and one.body_sha256 is not None and one.body_sha256 == other.body_sha256


def _short(verdict: Verdict) -> str:
    """The verdict on the object in a line: what it amounts to, and what happened."""
    amounts_to = FAMILY_NAMES[FAMILY_OF[verdict.object.outcome]].capitalize()
    return f"{amounts_to}: {OBJECT_MEANINGS[verdict.object.outcome]}"


def _services(verdict: Verdict) -> Iterator[str]:
    yield _conclusion("The object", verdict.object, OBJECT_MEANINGS[verdict.object.outcome])
    described = METADATA_MEANINGS[verdict.metadata.outcome]
    yield _conclusion("Its description", verdict.metadata, described)
    promised = COMMITMENT_MEANINGS[verdict.commitment.outcome]
    if verdict.commitment.outcome == CommitmentOutcome.NOT_ASKED:
        promised = "It would stand with the description, which was not asked for."
    yield _conclusion("The promise to keep it", verdict.commitment, promised)
    if verdict.naan_policy:
        yield (
            f"Beside it, the registry of ARK organizations has, from {naan_policy_words(verdict.naan_policy)}. That is "
            "about names in general, and no promise for this object."
        )


def _conclusion(service: str, judged: ServiceVerdict[Any], meaning: str) -> str:
    why = f" Why: {_sentence(judged.evidence)}" if judged.evidence else ""
    return f"{service} ({judged.outcome}): {meaning}{why}"


def _sentence(evidence: Sequence[str]) -> str:
    return f"{'; '.join(evidence)}."


def _form_conclusion(seen: Observation, plain: Observation) -> str:
    found = judge_form(seen.question, SpellingAnswer.of(seen), SpellingAnswer.of(plain))
    return f"Asked for the same with {FORMS[seen.question]} ({found.treatment}): {found.reason}."


#: What can be done about an outcome, by whom.
_ADVICE: Mapping[ObjectOutcome, str] = {
    ObjectOutcome.RELATED: "nothing; what answers is about the object, so say so where it is cited.",
    ObjectOutcome.NON_WEB: "nothing; a reader needs a program for such addresses.",
    ObjectOutcome.EXPLAINED: "nothing is to be repaired; cite it as what can't be had, for the reason that is given.",
    ObjectOutcome.WORKS_ELSEWHERE: "cite the address at which it works; who runs the resolver as written can mend it.",
    ObjectOutcome.SOFT_404: "ask {host} whether it still has the object; if not, it should answer 404 or 410.",
    ObjectOutcome.BROKEN: "compare the ARK with its source, letter by letter; if it is right, {host} can mend it.",
    ObjectOutcome.SERVER_ERROR: "try again later; if it lasts, tell {host}.",
    ObjectOutcome.DNS: "try again later; if it lasts, whoever holds the NAAN has to name another resolver.",
    ObjectOutcome.TLS: "tell {host}, whose certificate or encryption is at fault.",
    ObjectOutcome.LOOP: "tell {host}, whose redirects lead nowhere.",
    ObjectOutcome.TOO_MANY_REDIRECTS: "tell {host}, whose redirects come to no end.",
    ObjectOutcome.BAD_REDIRECT: "tell {host}, whose redirect leads to no address.",
    ObjectOutcome.BLOCKED: "look at it with a browser; nothing shows that the ARK is at fault.",
    ObjectOutcome.ROBOTS: "look at it with a browser; its host asks programs to stay away.",
    ObjectOutcome.SKIPPED: "nothing; it is an example or a test.",
    ObjectOutcome.REFUSED_ADDRESS: "allow its address, if it is yours to ask.",
}
_LATER = "try again later, and look at it with a browser; nothing shows that the ARK is at fault."


def _advice(verdict: Verdict, asked: AnswerFacts | None) -> str:
    """Return who can mend what is wrong, or what whoever cites the ARK can do."""
    outcome = verdict.object.outcome
    if outcome is ObjectOutcome.RESOLVED:
        return "nothing; cite it as it is."
    if asked is not None and outcome is ObjectOutcome.UNDETERMINED:
        if asked.is_success and asked.seen.facts.runs_scripts:
            return "look at it with a browser, or let one show it: [render] in the configuration."
        if asked.is_success:
            return "look whether the page is the object's; nothing that came shows it."
    host = host_of(verdict.hops[-1].url) if verdict.hops else "its host"
    return _ADVICE.get(outcome, _LATER).format(host=host)


def _cost(verdict: Verdict) -> str:
    more = "; what was asked about other names, or for other ARKs as well, comes on top" if verdict.rests_on else ""
    if verdict.requests == 0:
        return "No request went out."
    return f"{counted(verdict.requests, 'request')} went out about this ARK, redirects and attempts included{more}."


# -- on a terminal


def print_explanations(rows: Sequence[Row], console: Console) -> None:
    """The explanations of `verdict_row`s as text, as wide as the terminal. Raises `OutputClosed`."""
    with whole(console):
        for number, row in enumerate(rows):
            if number:
                _say(console, "")
            for line in lines(row, max(40, min(console.width, 110))):
                _say(console, line)


def _say(console: Console, line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def lines(row: Row, width: int) -> Iterator[str]:
    """One explained row as lines of at most *width* characters, but for addresses, which are never broken."""
    yield escaped(row["ark"] or row["asked"])
    if row["ark"] is None:
        yield from _wrapped(
            f"This line holds no ARK that could be asked for: {row['object']['evidence'][0]}.", width, ""
        )
        return
    number = 0
    for part in row["explanation"]:
        if "short" in part:
            yield from _wrapped(part["short"], width, "")
            continue
        yield ""
        if "conclusion" in part:
            yield from _wrapped(part["conclusion"], width, "")
            continue
        number += 1
        yield from _wrapped(f"{number}. {part['asked']}", width, "   ")
        yield f"   {escaped(part['url'])}"
        for each in part["came"]:
            yield from _wrapped(f"   - {each}", width, "     ")
        yield from _wrapped(f"   {part['means']}", width, "   ")


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(escaped(text), width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
