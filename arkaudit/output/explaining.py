"""Explain a verdict to keepers of collections: each request, its answer, and what the answer means."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from arkaudit.output.output_rows import Row, whole
from crawler.answers.facts import AnswerFacts
from crawler.answers.mementos import MementoRecord
from crawler.asking.questions import resolver_path
from crawler.model.observations import (
    FAMILY_OF,
    ChainEnd,
    CommitmentOutcome,
    ObjectOutcome,
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
from reports.languages.display import count_noun, escape_invisible
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

_ASKED: dict[Question, str] = {
    Question.OBJECT: "We asked {host} for the object.",
    Question.NO_SLASH: "We asked {host} again without the slash at the end, which should make no difference.",
    Question.HYPHENS: "We asked {host} again without the hyphens of the name, which should make no difference.",
    Question.OTHER_LABEL: "We asked {host} again with the label written the other way ({label}), which means the same.",
    Question.PLAIN: "We asked {host} again with all of that changed ({label}, no hyphens, no slash): the same ARK.",
    Question.WELL_KNOWN: "We asked {host} for the address of its resolver.",
    Question.AT_PATH: "We asked {host} again, under the address that it names for its resolver.",
    Question.AT_REGISTRY: "We asked {host}, which the registry of ARK organizations names for such ARKs.",
    Question.AT_GLOBAL: "We asked {host}, which passes on the ARKs of all organizations.",
    Question.CONFIRMED: "We asked {host} as well, because an organization's names may be known at several places.",
    Question.INFO: "We asked {host} to describe the object (the address of the ARK with ?info).",
    Question.DOUBLE: "We asked {host} in the older way for a description and a promise (??).",
    Question.SINGLE: "We asked {host} in the oldest way for a description (a single ?).",
    Question.POLICY_LINK: "We asked {host} for the page that should hold the full promise.",
    Question.CONTROL: "We asked {host} for an object that can't exist, to test its answers.",
    Question.CONTROL_ELSEWHERE: "We asked {host} for an object that can't exist, to test its answers.",
    Question.CONTROL_AGAIN: "We asked {host} again for an object that can't exist: several objects had one answer.",
    Question.CONTROL_OTHER: "We asked {host} for another object that can't exist, to see whether both get one answer.",
    Question.CONTROL_LANDING: "We asked {host}, the end of the redirects, for an object that can't exist.",
    Question.CONTROL_EVERY_PART: "We asked {host} again for such an object, with every part of the address changed.",
    Question.CONTROL_INFO: "We asked {host} to describe an object that can't exist, to test its records.",
    Question.OTHER_CASE_NAAN: "We asked {host} again with the NAAN in the other case, which is the same one.",
    Question.LONG_NAAN: "We asked {host} for an ARK under a NAAN of 16 characters, which is not assigned.",
    Question.OTHER_NAAN: "We asked {host} for an ARK under a NAAN that is not assigned.",
    Question.LOOK_ALIKE: "We asked {host} again with a typographic hyphen in the name, which should not matter.",
    Question.OTHER_CASE: "We asked {host} for the name in the other case, which is another name.",
    Question.NEEDLESS_ESCAPE: "We asked {host} again with a letter percent-encoded, which is the same letter.",
    Question.ODD_OCTETS: "We asked {host} for a name with octets that are not allowed in names.",
    Question.OVER_LONG: "We asked {host} for an extremely long name.",
    Question.QUERY: "We asked {host} again with a query, which should be passed on to the object.",
    Question.HEAD: "We asked {host} again by HEAD, which should get the same answer as GET.",
    Question.ACCEPT: "We asked {host} again for a media type that does not exist.",
    Question.FROM_SCRIPT: "We asked {host} to describe the object as a script of another site does.",
    Question.PLAIN_HTTP: "We asked {host} again over http.",
    Question.FRONT_PAGE: "We asked {host} for its front page.",
    Question.RATE: "We asked {host} for a hundred names, one after another.",
    Question.TOMBSTONE: "We asked {host} for an object that is known to be gone.",
    Question.RENDERED: "We had a browser show the page of {host}: without scripts it is the same for any name.",
    Question.CONTROL_RENDERED: "We had a browser show the page of {host} for an object that can't exist, to compare.",
}
_ASKED_FOR_ANOTHER = "We asked {host} for {ark}, which may have been meant."
#: Meanings of the last status; the others are described by their class (4xx, 5xx).
_STATUSES: dict[int, str] = {
    202: "has accepted the request for later",
    204: "reports success without content",
    300: "offers several addresses to choose from",
    304: "answers that nothing has changed",
    400: "does not understand the address",
    401: "asks for a password",
    403: "does not let us in",
    404: "does not know this name",
    405: "does not accept this kind of request",
    407: "asks for a password",
    410: "answers that this is gone for good",
    414: "finds the address too long",
    429: "asks us to come less often",
    451: "may not show it, for legal reasons",
    999: "does not let programs in",
}
_HUNDREDS: dict[int, str] = {
    2: "answered",
    3: "answered with a redirect that we don't follow",
    4: "does not accept the request",
    5: "reports a fault of its own",
}
_ENDS: dict[ChainEnd, str] = {
    ChainEnd.NON_WEB: "That is not a web address, so it can't be checked further; this counts as a success.",
    ChainEnd.LOOP: "That is an address where we had been already: the redirects go in a circle.",
    ChainEnd.TOO_MANY_REDIRECTS: "There were too many redirects, and we stopped.",
    ChainEnd.BAD_REDIRECT: "That is not a valid address, so the redirects end here.",
    ChainEnd.SKIPPED: "That is an example or a test, which is never requested.",
}
_UNANSWERED: dict[ChainEnd, str] = {
    ChainEnd.NON_WEB: "The ARK is known, and leads out of the web.",
    ChainEnd.LOOP: "The fault is in the redirects; a browser gets no further either.",
    ChainEnd.TOO_MANY_REDIRECTS: "The fault is in the redirects; a browser gets no further either.",
    ChainEnd.BAD_REDIRECT: "The fault is in the redirect; a browser gets no further either.",
    ChainEnd.ROBOTS: "The host asks programs to stay away, and we do. A person with a browser may see more.",
    ChainEnd.REFUSED_ADDRESS: "It was our own rules that held this request back.",
    ChainEnd.SKIPPED: "Nothing follows from this for the ARK.",
    ChainEnd.INVALID: "The address is no URL, so nothing could be requested; the ARK itself may be sound.",
}
_RENDERED: dict[Question, str] = {
    Question.RENDERED: "A person with a browser sees this page; the conclusions below judge whether it is the object.",
    Question.CONTROL_RENDERED: "A person sees this page for an object that can't exist; real ones must differ from it.",
}
#: Number of requests of a rendered page that are listed.
_MOST_NAMED = 10
#: Number of characters of a refusing page that are quoted.
_MOST_QUOTED = 160
_SAYS_UNKNOWN = frozenset({400, 404, 410, 414})
#: Questions for a page of the host instead of an ARK.
_PAGES = (Question.WELL_KNOWN, Question.POLICY_LINK)


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
        label = "ark:/" if "ark:/" in observation.asked_url.lower() else "ark:"
        words = _ASKED_FOR_ANOTHER if is_for_another else _ASKED[observation.question]
        asked = words.format(host=authority_of(observation.asked_url), label=label, ark=observation.ark)
        if observation.attempt > 1:
            asked = f"{asked.rstrip('.')}, once more: the failure may be temporary (attempt {observation.attempt})."
        return cls(asked, observation.asked_url, tuple(_answer_sentences(observation)), _answer_meaning(observation))


# -- answers


def _answer_sentences(observation: Observation) -> Iterator[str]:
    last = len(observation.hops) - 1
    for number, hop in enumerate(observation.hops):
        host = authority_of(hop.url)
        if hop.status is None:
            held_back = not hop.sent or observation.end in (ChainEnd.ROBOTS, ChainEnd.REFUSED_ADDRESS)
            what = "was not asked" if held_back else "gave no answer"
            yield f"{host} {what}: {hop.error or observation.end.value}."
        elif hop.status in REDIRECTS or number < last:
            kinds = {200: ", by a page that refreshes at once", 303: ", which names something related to the object"}
            kind = kinds.get(hop.status, "")
            yield f"{host} sent us on to {hop.location or 'nowhere'} ({hop.status}{kind})."
        else:
            shown = ""
            if number == last:
                is_success = hop.status in SUCCESSES
                shown = _describe_answer(observation) if is_success else _quote(observation)
            says = _STATUSES.get(hop.status) or _HUNDREDS.get(hop.status // 100, "gave an answer without a meaning")
            if hop.status == 404 and observation.question in _PAGES:
                says = "has no such page"
            yield f"{host} {says} ({hop.status}){shown}."
    if observation.end in _ENDS:
        yield _ENDS[observation.end]
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


def _quote(observation: Observation) -> str:
    """Return the beginning of a refusing page, and the wait that its host asks for."""
    text = observation.text or ""
    cut = "..." if len(text) > _MOST_QUOTED else ""
    quoted = f" and says “{text[:_MOST_QUOTED]}{cut}”" if text else ""
    headers = observation.hops[-1].headers
    wish = next((headers[name] for name in headers if name.lower() == "retry-after"), "")
    return quoted + (f"; it asks to wait (Retry-After: {wish[:60]})" if wish else "")


def _describe_answer(observation: Observation) -> str:
    """Return a phrase with the type, title and size of an answer."""
    kind = observation.media_type or "something without a type"
    if "html" in kind:
        kind = "a page"
    title = f" with the title “{observation.title}”" if observation.title else ""
    size = ""
    if observation.body_bytes is not None:
        more = "" if observation.body_complete else " of which only a part was read"
        size = f", {count_noun(observation.body_bytes, 'byte')}{more}"
    return f" with {kind}{title}{size}"


# -- meanings


def _answer_meaning(observation: Observation) -> str:
    if observation.end is not ChainEnd.ANSWERED or observation.status is None:
        return _UNANSWERED.get(
            observation.end, "So this request has no answer today, which proves nothing about the ARK."
        )
    if observation.question in (Question.RENDERED, Question.CONTROL_RENDERED):
        if observation.rendering is not None and observation.rendering.is_whole:
            return _RENDERED[observation.question]
        return "So this does not show the page that a person with a browser sees."
    if observation.question in CONTROLS:
        return _control_meaning(observation, observation.status)
    is_success = observation.status in SUCCESSES
    if observation.question in INFLECTED:
        if not is_success:
            return "So there is no description at this address."
        if observation.record is not None:
            return "This is a record that programs can read."
        return "This is not a record; the conclusions below judge whether it describes the object."
    if observation.question is Question.WELL_KNOWN:
        if path := resolver_path(observation):
            return f"Its resolver is under {path}."
        return "So the host does not name its resolver."
    if observation.question is Question.POLICY_LINK:
        if is_success:
            return "So that page exists."
        return "So the full promise can't be read today."
    if is_success:
        return "Something answers for this ARK; the conclusions below judge whether it is the object."
    return _refusal_meaning(observation, observation.status)


def _control_meaning(observation: Observation, status: int) -> str:
    is_described = observation.question is Question.CONTROL_INFO
    if status in SUCCESSES:
        if is_described:
            return "Even an object that can't exist gets a description here, so a description needs other evidence."
        return "Even an object that can't exist gets an answer here, so an answer alone proves nothing at this host."
    if status in _SAYS_UNKNOWN:
        if is_described:
            return "An object that can't exist has no description here, so a description from this host is evidence."
        return "An object that can't exist is not found here, so this host distinguishes names."
    return "This does not show whether the host distinguishes names."


def _refusal_meaning(observation: Observation, status: int) -> str:
    if status in _SAYS_UNKNOWN:
        landing = authority_of(observation.final_url)
        is_resolvers = len(observation.hops) == 1 or landing == authority_of(observation.asked_url)
        who = f"the resolver itself, {landing}," if is_resolvers else f"{landing}, where the resolver sent us,"
        more = " The conclusions below judge whether it gives a reason." if status == 410 else ""
        return f"It is {who} that does not have it.{more}"
    if 500 <= status < 600:
        return "The fault is the server's, which proves nothing about the ARK."
    if status == 429:
        return "This proves nothing about the ARK: the host gets too many requests."
    if AnswerFacts(observation).asks_for_a_right:
        return "This proves nothing about the ARK: a person with the right to see it may see it."
    return "This proves nothing about the ARK: a person with a browser may see more."


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
    asked = AnswerFacts(plain) if plain is not None else None
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
    conclusions += [_cost(verdict), f"What to do: {_advice(verdict, asked)}"]
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


#: Advice for each outcome.
_ADVICE: Mapping[ObjectOutcome, str] = {
    ObjectOutcome.RELATED: "nothing; the page is about the object, so mention that where it is cited.",
    ObjectOutcome.NON_WEB: "nothing; a reader needs a program for such addresses.",
    ObjectOutcome.EXPLAINED: "nothing to repair; cite it as unavailable, with the reason on its page.",
    ObjectOutcome.WORKS_ELSEWHERE: "cite the working address; the operator of the cited resolver can fix it.",
    ObjectOutcome.SOFT_404: "ask {host} whether it still has the object; if not, it should answer 404 or 410.",
    ObjectOutcome.BROKEN: "compare the ARK with its source, letter by letter; if it is right, {host} can fix it.",
    ObjectOutcome.SERVER_ERROR: "try again later; if it lasts, inform {host}.",
    ObjectOutcome.DNS: "try again later; if it lasts, the holder of the NAAN has to name another resolver.",
    ObjectOutcome.TLS: "inform {host}, whose certificate or encryption is at fault.",
    ObjectOutcome.LOOP: "inform {host}, whose redirects lead nowhere.",
    ObjectOutcome.TOO_MANY_REDIRECTS: "inform {host}, whose redirects do not end.",
    ObjectOutcome.BAD_REDIRECT: "inform {host}, whose redirect has no valid address.",
    ObjectOutcome.BLOCKED: "look at it with a browser; nothing shows that the ARK is at fault.",
    ObjectOutcome.ROBOTS: "look at it with a browser; its host asks programs to stay away.",
    ObjectOutcome.SKIPPED: "nothing; it is an example or a test.",
    ObjectOutcome.INVALID: "correct the address where it is cited; it is no URL.",
    ObjectOutcome.REFUSED_ADDRESS: "allow its address ([network] allow_addresses) if you may send requests there.",
}
_LATER = "try again later, and look at it with a browser; nothing shows that the ARK is at fault."


def _advice(verdict: Verdict, asked: AnswerFacts | None) -> str:
    """Return advice for the party that can fix the ARK, or for the citing author."""
    outcome = verdict.object.outcome
    if outcome is ObjectOutcome.RESOLVED:
        return "nothing; cite it as it is."
    if asked is not None and outcome is ObjectOutcome.UNDETERMINED:
        if asked.is_success and asked.seen.facts.runs_scripts:
            return "look at it with a browser, or let one show it: [render] in the configuration."
        if asked.is_success:
            return "look whether the page shows the object; the answers don't prove it."
    host = authority_of(verdict.hops[-1].url) if verdict.hops else "its host"
    return _ADVICE.get(outcome, _LATER).format(host=host)


def _cost(verdict: Verdict) -> str:
    if verdict.requests == 0:
        return "No request was sent."
    sent = f"{count_noun(verdict.requests, 'request')} sent about this ARK, with redirects and further attempts"
    if not verdict.rests_on:
        return f"{sent}."
    return f"{sent}; requests about other names, or shared with other ARKs, are not counted."


# -- on a terminal


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
