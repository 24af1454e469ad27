"""How a verdict came about, in words for people who keep collections: what was asked, what came, what it means."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from rich.console import Console

from arkaudit.rows import Row, whole
from crawler.conformance import FORMS, Reply, judge_form
from crawler.observations import (
    ACCESS,
    CONFORMANCE,
    ChainEnd,
    CommitmentOutcome,
    Hop,
    MetadataOutcome,
    ObjectOutcome,
    Observation,
    Question,
    ServiceVerdict,
    Verdict,
)
from crawler.resolving import INFLECTED, REDIRECTS, SUCCESSES
from reports.display import escaped
from reports.words import COMMITMENT_MEANINGS, METADATA_MEANINGS, OBJECT_MEANINGS, counted

CONTROLS = (Question.CONTROL, Question.CONTROL_INFO)

_ASKED: Final[dict[Question, str]] = {
    Question.OBJECT: "We asked {host} for the object.",
    Question.HYPHENS: "We asked {host} again without the hyphens of the name, which should make no difference.",
    Question.OTHER_LABEL: "We asked {host} again with the label written the other way ({label}), which means the same.",
    Question.WELL_KNOWN: "We asked {host} under which of its addresses its resolver is.",
    Question.AT_PATH: "We asked {host} again, under the address that it names for its resolver.",
    Question.AT_REGISTRY: "We asked {host}, where the registry of ARK organizations says that such names are known.",
    Question.AT_GLOBAL: "We asked {host}, which passes on the ARKs of all organizations.",
    Question.CONFIRMED: "We asked {host} as well, because an organization's names may be known at several places.",
    Question.INFO: "We asked {host} to describe the object (the address of the ARK with ?info).",
    Question.DOUBLE: "We asked in the older way for a description and a promise (??).",
    Question.SINGLE: "We asked in the oldest way for a description (a single ?).",
    Question.POLICY_LINK: "We asked {host} for the page where the promise is said to be written in full.",
    Question.CONTROL: "We asked {host} for an object that can't exist, to learn what its answers are worth.",
    Question.CONTROL_INFO: "We asked {host} to describe what can't exist, to learn what its records are worth.",
}
#: What a last status means, in words; the others are told by their hundreds.
_STATUSES: Final[dict[int, str]] = {
    202: "has taken note of the question and answers later",
    204: "says that all is well, and shows nothing",
    300: "offers several addresses to choose from",
    304: "says that nothing has changed",
    400: "does not understand the address",
    401: "asks for a password",
    403: "does not let us in",
    404: "knows nothing of this name",
    405: "does not take such a question",
    407: "asks for a password",
    410: "says that this is gone for good",
    414: "finds the address too long",
    429: "asks us to come less often",
    451: "may not show it, for legal reasons",
    999: "does not let programs in",
}
_HUNDREDS: Final[dict[int, str]] = {
    2: "answered",
    3: "answered with a redirect that we don't follow",
    4: "does not accept the request",
    5: "reports a fault of its own",
}
_ENDS: Final[dict[ChainEnd, str]] = {
    ChainEnd.NON_WEB: "That is no web address, so nobody can ask further; as far as the web goes, this is a success.",
    ChainEnd.LOOP: "That is an address where we had been already: the redirects go in a circle.",
    ChainEnd.TOO_MANY_REDIRECTS: "There were more redirects than anybody would follow, and we stopped.",
    ChainEnd.BAD_REDIRECT: "That is no address that can be asked, so the way ends here.",
    ChainEnd.SKIPPED: "That is an example or a test, which is never requested.",
}


@dataclass(frozen=True, slots=True)
class Step:
    """One question of an audit: what was asked, what came back, and what that means."""

    asked: str
    url: str
    came: tuple[str, ...]
    means: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """A verdict with the way that led to it."""

    steps: tuple[Step, ...]
    conclusions: tuple[str, ...]
    """One a service: what the verdict is and why; then what else was noticed."""

    @property
    def row(self) -> list[dict[str, Any]]:
        """The explanation as it stands in JSON."""
        steps = [asdict(step) for step in self.steps]
        return [*steps, *({"conclusion": conclusion} for conclusion in self.conclusions)]


def explanation(verdict: Verdict, observations: Iterable[Observation]) -> Explanation:
    """How *verdict* came about, from the observations that it rests on, in the order in which they were made."""
    observations = list(observations)
    plain = next((seen for seen in observations if seen.question is Question.OBJECT), None)
    forms = [seen for seen in observations if plain is not None and is_form(seen, plain)]
    steps = tuple(_step(seen) for seen in observations if seen not in forms)
    conclusions = [
        _conclusion("The object", verdict.object, OBJECT_MEANINGS[ObjectOutcome(verdict.object.outcome)]),
        _conclusion("Its description", verdict.metadata, METADATA_MEANINGS[MetadataOutcome(verdict.metadata.outcome)]),
        _conclusion(
            "The promise to keep it",
            verdict.commitment,
            COMMITMENT_MEANINGS[CommitmentOutcome(verdict.commitment.outcome)],
        ),
    ]
    conclusions += [_form_conclusion(seen, plain) for seen in forms if plain is not None]
    if verdict.remarks:
        conclusions.append(f"Also noticed: {'; '.join(verdict.remarks)}.")
    conclusions.append(
        f"This took {counted(verdict.requests, 'request')}, apart from what was asked about the resolver."
    )
    return Explanation(steps, tuple(conclusions))


def _conclusion(service: str, judged: ServiceVerdict, meaning: str) -> str:
    why = f" Why: {'; '.join(judged.evidence)}." if judged.evidence else ""
    return f"{service} ({judged.outcome}): {meaning}{why}"


def is_form(seen: Observation, plain: Observation) -> bool:
    """Whether an observation is about how its resolver treats another form of an ARK that resolves as it stands."""
    return seen.question in CONFORMANCE and (seen.question not in ACCESS or Reply.of(plain).succeeds)


def _form_conclusion(seen: Observation, plain: Observation) -> str:
    found = judge_form(seen.question, Reply.of(seen), Reply.of(plain))
    return f"Asked for the same with {FORMS[seen.question]} ({found.treatment}): {found.reason}."


def concerning(verdict: Verdict, observations: Iterable[Observation], control_urls: Iterable[str]) -> list[Observation]:
    """Those of *observations* that *verdict* rests on: the questions about it, and the controls at *control_urls*."""
    controls = set(control_urls)
    return [
        seen
        for seen in observations
        if (seen.asked_url in controls if seen.question in CONTROLS else seen.request_url == verdict.request_url)
    ]


def _step(seen: Observation) -> Step:
    label = "ark:/" if "ark:/" in seen.asked_url.lower() else "ark:"
    asked = _ASKED[seen.question].format(host=_host(seen.asked_url), label=label)
    if seen.attempt > 1:
        asked = f"{asked.rstrip('.')}: attempt {seen.attempt}."
    return Step(asked, seen.asked_url, tuple(_came(seen)), _meaning(seen))


def _came(seen: Observation) -> Iterator[str]:
    last = len(seen.hops) - 1
    for number, hop in enumerate(seen.hops):
        host = _host(hop.url)
        if hop.status is None:
            what = "gave no answer" if hop.sent else "was not asked"
            yield f"{host} {what}: {hop.error or seen.end.value}."
        elif hop.status in REDIRECTS:
            kind = ", which names something related to the object" if hop.status == 303 else ""
            yield f"{host} sent us on to {hop.location or 'nowhere'} ({hop.status}{kind})."
        else:
            shown = _shown(seen) if number == last and hop.status in SUCCESSES else ""
            yield f"{host} {_status_words(hop)} ({hop.status}){shown}."
    if seen.end in _ENDS:
        yield _ENDS[seen.end]


def _status_words(hop: Hop) -> str:
    status = hop.status or 0
    return _STATUSES.get(status) or _HUNDREDS.get(status // 100, "gave an answer that has no meaning")


def _shown(seen: Observation) -> str:
    """What the answer is, as far as it was looked at."""
    kind = "a page" if seen.media_type and "html" in seen.media_type else seen.media_type or "something without a type"
    title = f" with the title “{seen.title}”" if seen.title else ""
    size = f", {counted(seen.body_bytes, 'byte')}" if seen.body_bytes is not None else ""
    more = "" if seen.body_complete or seen.body_bytes is None else " of which only a part was read"
    return f" with {kind}{title}{size}{more}"


def _meaning(seen: Observation) -> str:
    if seen.end is ChainEnd.NON_WEB:
        return "The ARK is known, and leads out of the web."
    if seen.end is not ChainEnd.ANSWERED or seen.status is None:
        return "So this question has no answer today."
    found = seen.status in SUCCESSES
    if seen.question in CONTROLS:
        if found:
            return "Even what can't exist gets an answer here, so an answer alone proves nothing at this place."
        return "What can't exist is not found here: so this place can tell names apart."
    if seen.question in INFLECTED:
        if not found:
            return "So there is no description to be had in this way."
        if seen.record is not None:
            return "This is a record that programs can read."
        return "This is no record; whether it describes the object is said below."
    if found:
        return "Something answers for this ARK; whether it is the object is said below."
    return _refusal_meaning(seen)


def _refusal_meaning(seen: Observation) -> str:
    status = seen.status or 0
    if status >= 500 and status != 999:
        return "The fault is the server's, and says nothing about the ARK."
    if status in (400, 404, 410, 414):
        who = "the resolver itself" if len(seen.hops) == 1 else f"{_host(seen.final_url)}, where the resolver sent us,"
        return f"It is {who} that does not have it."
    return "Nothing follows from this for the ARK: a person with a browser may see more."


def _host(url: str) -> str:
    try:
        return urlsplit(url).netloc.rpartition("@")[2] or url
    except ValueError:
        return url


# -- on a terminal


def print_explanations(rows: Sequence[Row], console: Console) -> None:
    """The explanations of `verdict_row`s as text, as wide as the terminal. Raises `arkaudit.rows.OutputClosed`."""
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
