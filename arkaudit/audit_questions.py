"""The questions of an audit in words for people who keep collections: what was asked, what came, what it means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from crawler.answers.facts import AnswerFacts
from crawler.asking.paths import resolver_path
from crawler.observations import ChainEnd, Hop, Observation, Question, Rendering
from crawler.resolving import INFLECTED, REDIRECTS, SUCCESSES
from reports.display import counted

CONTROLS: Final = (
    Question.CONTROL,
    Question.CONTROL_ELSEWHERE,
    Question.CONTROL_LANDING,
    Question.CONTROL_INFO,
    Question.CONTROL_RENDERED,
)

_ASKED: Final[dict[Question, str]] = {
    Question.OBJECT: "We asked {host} for the object.",
    Question.NO_SLASH: "We asked {host} again without the slash at the end, which should make no difference.",
    Question.HYPHENS: "We asked {host} again without the hyphens of the name, which should make no difference.",
    Question.OTHER_LABEL: "We asked {host} again with the label written the other way ({label}), which means the same.",
    Question.PLAIN: "We asked {host} again with all of that changed ({label}, no hyphens, no slash): the same ARK.",
    Question.WELL_KNOWN: "We asked {host} under which of its addresses its resolver is.",
    Question.AT_PATH: "We asked {host} again, under the address that it names for its resolver.",
    Question.AT_REGISTRY: "We asked {host}, where the registry of ARK organizations says that such names are known.",
    Question.AT_GLOBAL: "We asked {host}, which passes on the ARKs of all organizations.",
    Question.CONFIRMED: "We asked {host} as well, because an organization's names may be known at several places.",
    Question.INFO: "We asked {host} to describe the object (the address of the ARK with ?info).",
    Question.DOUBLE: "We asked {host} in the older way for a description and a promise (??).",
    Question.SINGLE: "We asked {host} in the oldest way for a description (a single ?).",
    Question.POLICY_LINK: "We asked {host} for the page where the promise is said to be written in full.",
    Question.CONTROL: "We asked {host} for an object that can't exist, to learn what its answers are worth.",
    Question.CONTROL_ELSEWHERE: "We asked {host} for an object that can't exist, to learn what its answers are worth.",
    Question.CONTROL_LANDING: "We asked {host}, where we had been sent on to, for what can't exist there.",
    Question.CONTROL_INFO: "We asked {host} to describe what can't exist, to learn what its records are worth.",
    Question.RENDERED: "We had a browser show the page of {host}: without scripts it says the same of any name.",
    Question.CONTROL_RENDERED: "We had a browser show the page of {host} for an object that can't exist, to compare.",
}
_ASKED_FOR_ANOTHER: Final = "We asked {host} for {ark}, which may have been meant."
#: What a last status means, in words; the others are described by their class (4xx, 5xx).
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
_UNANSWERED: Final[dict[ChainEnd, str]] = {
    ChainEnd.NON_WEB: "The ARK is known, and leads out of the web.",
    ChainEnd.LOOP: "The fault is in the redirects: nobody gets any further, a browser neither.",
    ChainEnd.TOO_MANY_REDIRECTS: "The fault is in the redirects: nobody gets any further, a browser neither.",
    ChainEnd.BAD_REDIRECT: "The fault is in the redirect: nobody gets any further, a browser neither.",
    ChainEnd.ROBOTS: "The host asks programs to stay away, and we do. A person with a browser may see more.",
    ChainEnd.REFUSED_ADDRESS: "It was our own rules that held this request back.",
    ChainEnd.SKIPPED: "Nothing follows from this for the ARK.",
}
_RENDERED: Final[dict[Question, str]] = {
    Question.RENDERED: "This is what a person with a browser sees; whether it is the object is said below.",
    Question.CONTROL_RENDERED: "This is what a person sees of what can't exist: another page must differ from it.",
}
#: So many addresses that a rendered page has asked for are named.
_MOST_NAMED: Final = 10
#: So many characters of a refusing page are quoted.
_MOST_QUOTED: Final = 160
_SAYS_UNKNOWN: Final = frozenset({400, 404, 410, 414})


@dataclass(frozen=True, slots=True)
class Step:
    """One question of an audit: what was asked, what came back, and what that means."""

    asked: str
    url: str
    came: tuple[str, ...]
    means: str

    @classmethod
    def of(cls, seen: Observation, *, is_for_another: bool = False) -> Step:
        """The step that was observed; one about another reading of the ARK *is for another*."""
        label = "ark:/" if "ark:/" in seen.asked_url.lower() else "ark:"
        words = _ASKED_FOR_ANOTHER if is_for_another else _ASKED[seen.question]
        asked = words.format(host=host_of(seen.asked_url), label=label, ark=seen.ark)
        if seen.attempt > 1:
            asked = f"{asked.rstrip('.')}, once more: what went wrong may pass (attempt {seen.attempt})."
        return cls(asked, seen.asked_url, tuple(_came(seen)), _meaning(seen))


def host_of(url: str) -> str:
    """The host in a URL as it stands there, with its port."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2] or url
    except ValueError:
        return url


# -- what came


def _came(seen: Observation) -> Iterator[str]:
    last = len(seen.hops) - 1
    for number, hop in enumerate(seen.hops):
        host = host_of(hop.url)
        if hop.status is None:
            held_back = not hop.sent or seen.end in (ChainEnd.ROBOTS, ChainEnd.REFUSED_ADDRESS)
            what = "was not asked" if held_back else "gave no answer"
            yield f"{host} {what}: {hop.error or seen.end.value}."
        elif hop.status in REDIRECTS:
            kind = ", which names something related to the object" if hop.status == 303 else ""
            yield f"{host} sent us on to {hop.location or 'nowhere'} ({hop.status}{kind})."
        else:
            shown = (
                _shown(seen) if number == last and hop.status in SUCCESSES else _quoted(seen) if number == last else ""
            )
            yield f"{host} {_status_words(hop, seen.question)} ({hop.status}){shown}."
    if seen.end in _ENDS:
        yield _ENDS[seen.end]
    if seen.rendering is not None:
        yield from _rendered(seen.rendering)


def _rendered(rendering: Rendering) -> Iterator[str]:
    """Return what a browser has asked for to show a page, and what it didn't get."""
    asked = [hop for hop in rendering.requests if hop.location is None]
    addresses = counted(len(asked), "more address", "more addresses")
    yield f"{rendering.browser} ran its scripts, which asked for {addresses}."
    for hop in asked[:_MOST_NAMED]:
        kept = "" if hop.sent else ", had before"
        yield f"{hop.url} ({hop.status if hop.status is not None else hop.error}{kept})."
    for words in rendering.lacking[:_MOST_NAMED]:
        yield f"Not had: {words}."
    if rendering.fault is not None:
        yield f"It came to no end that holds: {rendering.fault}."


def _status_words(hop: Hop, question: Question) -> str:
    status = hop.status or 0
    if status == 404 and question in (Question.WELL_KNOWN, Question.POLICY_LINK):
        return "has no such page"
    return _STATUSES.get(status) or _HUNDREDS.get(status // 100, "gave an answer that has no meaning")


def _quoted(seen: Observation) -> str:
    """Return what a refusing page says first, and when its host wants to be asked again."""
    words = (seen.text or "")[:_MOST_QUOTED]
    cut = "..." if len(seen.text or "") > _MOST_QUOTED else ""
    wish = next((value for name, value in seen.hops[-1].headers.items() if name.lower() == "retry-after"), None)
    return (f" and says “{words}{cut}”" if words else "") + (
        f"; it asks to wait (Retry-After: {wish[:60]})" if wish else ""
    )


def _shown(seen: Observation) -> str:
    """Return what the answer is, as far as it was looked at."""
    kind = "a page" if seen.media_type and "html" in seen.media_type else seen.media_type or "something without a type"
    title = f" with the title “{seen.title}”" if seen.title else ""
    size = f", {counted(seen.body_bytes, 'byte')}" if seen.body_bytes is not None else ""
    more = "" if seen.body_complete or seen.body_bytes is None else " of which only a part was read"
    return f" with {kind}{title}{size}{more}"


# -- what it means


def _meaning(seen: Observation) -> str:
    if seen.end is not ChainEnd.ANSWERED or seen.status is None:
        return _UNANSWERED.get(seen.end, "So this question has no answer today, and nothing follows for the ARK.")
    if seen.question in (Question.RENDERED, Question.CONTROL_RENDERED):
        is_whole = seen.rendering is not None and seen.rendering.is_whole
        return _RENDERED[seen.question] if is_whole else "So this tells nothing of what a person with a browser sees."
    if seen.question in CONTROLS:
        return _control_meaning(seen, seen.status)
    if seen.question in INFLECTED:
        return _description_meaning(seen)
    if seen.question is Question.WELL_KNOWN:
        path = resolver_path(seen)
        return f"Its resolver is under {path}." if path else "So the host does not say where its resolver is."
    found = seen.status in SUCCESSES
    if seen.question is Question.POLICY_LINK:
        return "So there is a page where it is said to be." if found else "So the full promise can't be read today."
    if found:
        return "Something answers for this ARK; whether it is the object is said below."
    return _refusal_meaning(seen, seen.status)


def _control_meaning(seen: Observation, status: int) -> str:
    if status in SUCCESSES:
        if seen.question is Question.CONTROL_INFO:
            return "Even what can't exist gets an answer here, so a description is looked at twice."
        return "Even what can't exist gets an answer here, so an answer alone proves nothing at this place."
    if status in _SAYS_UNKNOWN:
        if seen.question is Question.CONTROL_INFO:
            return "What can't exist is not described here: so a description from this place means something."
        return "What can't exist is not found here: so this place can tell names apart."
    return "This says nothing about names, so what this place answers can't be held against it."


def _description_meaning(seen: Observation) -> str:
    if seen.status not in SUCCESSES:
        return "So there is no description to be had in this way."
    if seen.record is not None:
        return "This is a record that programs can read."
    return "This is no record; whether it describes the object is said below."


def _refusal_meaning(seen: Observation, status: int) -> str:
    if status in _SAYS_UNKNOWN:
        landing = host_of(seen.final_url)
        is_resolvers = len(seen.hops) == 1 or landing == host_of(seen.asked_url)
        who = f"the resolver itself, {landing}," if is_resolvers else f"{landing}, where the resolver sent us,"
        more = " Whether it tells why is said below." if status == 410 else ""
        return f"It is {who} that does not have it.{more}"
    if 500 <= status < 600:
        return "The fault is the server's, and says nothing about the ARK."
    if status == 429:
        return "Nothing follows from this for the ARK: we are too many, or too fast."
    if AnswerFacts(seen).asks_for_a_right:
        return "Nothing follows from this for the ARK: somebody with the right to see it may see it."
    return "Nothing follows from this for the ARK: a person with a browser may see more."
