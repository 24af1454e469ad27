"""Pure: was the object reached? By the chain, the last status, what the page says, and what a control was told.

A page that a name which can't exist is given too proves nothing. Only when it also speaks like a page for what is
not there is it called a soft 404; otherwise nobody knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from urllib.parse import urlsplit

from crawler.answers import is_textual
from crawler.likeness import last_part, same_answer, same_page
from crawler.notices import (
    asks_to_log_in,
    challenge_of,
    explained_refusal,
    fault_of_request,
    is_search,
    passing_fault,
    place_of_absence,
    refresh_of,
    says_nothing_else,
    signs_of_absence,
    withdrawal,
    words_of_absence,
)
from crawler.observations import ChainEnd, ObjectOutcome, Observation, ServiceVerdict
from crawler.quirks import quirks
from crawler.resolving import SUCCESSES
from crawler.subject import declared_other, declares, own_places
from crawler.thump import thump_code
from extractors.ark import Ark
from extractors.normalize import NotAnArk

BLOCKED = frozenset({401, 403, 407, 429, 451, 999})
#: What a chain that got no last answer means for the object; complete over the ends that are no answer.
OUTCOME_OF_END: Mapping[ChainEnd, ObjectOutcome] = {
    ChainEnd.NON_WEB: ObjectOutcome.NON_WEB,
    ChainEnd.LOOP: ObjectOutcome.LOOP,
    ChainEnd.TOO_MANY_REDIRECTS: ObjectOutcome.TOO_MANY_REDIRECTS,
    ChainEnd.BAD_REDIRECT: ObjectOutcome.BAD_REDIRECT,
    ChainEnd.DNS: ObjectOutcome.DNS,
    ChainEnd.REFUSED: ObjectOutcome.REFUSED,
    ChainEnd.TIMEOUT: ObjectOutcome.TIMEOUT,
    ChainEnd.RESET: ObjectOutcome.RESET,
    ChainEnd.TLS: ObjectOutcome.TLS,
    ChainEnd.PROTOCOL_ERROR: ObjectOutcome.PROTOCOL_ERROR,
    ChainEnd.ROBOTS: ObjectOutcome.ROBOTS,
    ChainEnd.REFUSED_ADDRESS: ObjectOutcome.REFUSED_ADDRESS,
    ChainEnd.SKIPPED: ObjectOutcome.SKIPPED,
    ChainEnd.UNDETERMINED: ObjectOutcome.UNDETERMINED,
}
#: Who, what, when: a page that answers so many of them under their labels is no page for what is not there.
TELLING = 2
#: So many other ARKs that land on one URL are a sign, though never a proof: one page may stand for many objects.
MANY_NEIGHBOURS = 2

#: Statuses below 500 that speak of the identifier; others speak of the request, and leave the object undetermined.
_SAYS_BROKEN = frozenset({400, 404, 410, 414})
_EXPLAINABLE = frozenset({401, 403, 404, 410, 451})


class Told(StrEnum):
    """What a name that can't exist was told, beside a successful answer."""

    THE_SAME = "the same"
    ANOTHER = "another page"
    REFUSED_THERE = "refused where the object is"
    """The host that answers for the object tells what it does not know: its success means something."""
    REFUSED_BEFORE = "refused on the way"
    """The resolver knows its names; about the host that it leads to, this says nothing."""
    NOTHING = "nothing"
    """It was not asked, or got no answer."""


class Signs(Enum):
    """How many signs there are that a page is one for things that are not there."""

    NONE = 0
    ONE = 1
    SEVERAL = 2


_YES, _SOFT, _OPEN = ObjectOutcome.RESOLVED, ObjectOutcome.SOFT_404, ObjectOutcome.UNDETERMINED
#: What a success is worth: by what the control was told, the signs of absence, and whether the page says by itself
#: that it is this ARK's. Complete, as a test insists.
WORTH: Mapping[tuple[Told, Signs, bool], ObjectOutcome] = {
    (Told.THE_SAME, Signs.NONE, False): _OPEN,
    (Told.THE_SAME, Signs.NONE, True): _YES,
    (Told.THE_SAME, Signs.ONE, False): _SOFT,
    (Told.THE_SAME, Signs.ONE, True): _OPEN,
    (Told.THE_SAME, Signs.SEVERAL, False): _SOFT,
    (Told.THE_SAME, Signs.SEVERAL, True): _OPEN,
    (Told.ANOTHER, Signs.NONE, False): _YES,
    (Told.ANOTHER, Signs.NONE, True): _YES,
    (Told.ANOTHER, Signs.ONE, False): _YES,
    (Told.ANOTHER, Signs.ONE, True): _YES,
    (Told.ANOTHER, Signs.SEVERAL, False): _SOFT,
    (Told.ANOTHER, Signs.SEVERAL, True): _OPEN,
    (Told.REFUSED_THERE, Signs.NONE, False): _YES,
    (Told.REFUSED_THERE, Signs.NONE, True): _YES,
    (Told.REFUSED_THERE, Signs.ONE, False): _YES,
    (Told.REFUSED_THERE, Signs.ONE, True): _YES,
    (Told.REFUSED_THERE, Signs.SEVERAL, False): _YES,
    (Told.REFUSED_THERE, Signs.SEVERAL, True): _YES,
    (Told.REFUSED_BEFORE, Signs.NONE, False): _YES,
    (Told.REFUSED_BEFORE, Signs.NONE, True): _YES,
    (Told.REFUSED_BEFORE, Signs.ONE, False): _YES,
    (Told.REFUSED_BEFORE, Signs.ONE, True): _YES,
    (Told.REFUSED_BEFORE, Signs.SEVERAL, False): _SOFT,
    (Told.REFUSED_BEFORE, Signs.SEVERAL, True): _OPEN,
    (Told.NOTHING, Signs.NONE, False): _YES,
    (Told.NOTHING, Signs.NONE, True): _YES,
    (Told.NOTHING, Signs.ONE, False): _YES,
    (Told.NOTHING, Signs.ONE, True): _YES,
    (Told.NOTHING, Signs.SEVERAL, False): _SOFT,
    (Told.NOTHING, Signs.SEVERAL, True): _OPEN,
}


def status_outcome(status: int) -> ObjectOutcome:
    """What a last HTTP status means for the object, before its page has been looked at (2020, 7.1.2).

    >>> [status_outcome(status).value for status in (200, 404, 403, 503, 408, 405)]
    ['resolved', 'broken', 'blocked', 'server-error', 'timeout', 'undetermined']
    """
    if status in SUCCESSES:
        return ObjectOutcome.RESOLVED
    if status in BLOCKED:
        return ObjectOutcome.BLOCKED
    if status == 408:
        return ObjectOutcome.TIMEOUT
    if status in _SAYS_BROKEN:
        return ObjectOutcome.BROKEN
    if 500 <= status < 600:
        return ObjectOutcome.SERVER_ERROR
    return ObjectOutcome.UNDETERMINED


def judge_object(answer: Observation, control: Observation | None = None, *, neighbours: int = 0) -> ServiceVerdict:
    """Whether the object was reached, with the reasons in words.

    *control* is what the same resolver answers for a name that can't exist; *neighbours* says how many other ARKs
    ended at the same URL in this run.
    """
    if answer.end is not ChainEnd.ANSWERED or answer.status is None:
        outcome = OUTCOME_OF_END.get(answer.end, ObjectOutcome.UNDETERMINED)
        return ServiceVerdict(outcome.value, (how_it_ended(answer),))
    if challenge := challenge_of(answer):
        return _verdict(ObjectOutcome.BLOCKED, answered(answer), f"what came is a check for programs by {challenge}")
    outcome, thump = status_outcome(answer.status), thump_code(answer)
    if outcome is ObjectOutcome.RESOLVED and thump is not None and thump >= 400:
        outcome = status_outcome(thump)
        return _verdict(outcome, answered(answer), f"but its THUMP-Status is {thump}, which outweighs that")
    if outcome is ObjectOutcome.RESOLVED:
        return _judge_success(_Success.of(answer, control, neighbours))
    if answer.status in _EXPLAINABLE and (explanation := explained_refusal(answer, control)):
        return _verdict(ObjectOutcome.EXPLAINED, answered(answer), explanation)
    if answer.status == 400 and (fault := fault_of_request(answer)):
        words = f"which speaks of the request and not of the name: {fault!r}"
        return _verdict(ObjectOutcome.UNDETERMINED, answered(answer), words)
    return _verdict(outcome, answered(answer), *_about_refusal(answer, outcome))


# -- success


@dataclass(frozen=True, slots=True)
class _Success:
    """A successful answer, and all that makes it more or less than it seems."""

    answer: Observation
    control: Observation | None
    told: Told
    knows_itself: tuple[str, ...]
    """Where it names its own ARK, if the control's page doesn't name the control's in the same way."""
    signs: tuple[str, ...]
    """Why it looks like a page for what is not there."""
    neighbours: int

    @classmethod
    def of(cls, answer: Observation, control: Observation | None, neighbours: int) -> _Success:
        told, signs = _control_told(answer, control), signs_of_absence(answer)
        if signs and told is Told.REFUSED_BEFORE and says_nothing_else(answer):  # of the landing host nothing is known
            signs = (*signs, "the page says so of what was asked for, and hardly anything else")
        return cls(
            answer=answer,
            control=control,
            told=told,
            knows_itself=_known_by_itself(answer, control),
            signs=signs,
            neighbours=neighbours,
        )

    @property
    def is_crowded(self) -> bool:
        """Whether so many other ARKs end here that it supports another sign."""
        return self.neighbours >= MANY_NEIGHBOURS

    @property
    def worth(self) -> ObjectOutcome:
        """What the table says of it."""
        signs = len(self.signs) + (1 if self.signs and self.is_crowded else 0)
        return WORTH[self.told, Signs(min(signs, 2)), self.is_particular]

    @property
    def is_particular(self) -> bool:
        """Whether it says that it is its ARK's, or tells of an object, where the control's page does not."""
        told = self.answer.facts.told
        tells = len({"who", "what", "when"} & told.keys()) >= TELLING
        told_to_control = self.control.facts.told if self.control is not None else {}
        return declares(self.knows_itself) or (tells and told != told_to_control)


def _judge_success(success: _Success) -> ServiceVerdict:
    answer = success.answer
    outcome, evidence = _special_page(success) or (success.worth, _grounds(success))
    if outcome is ObjectOutcome.RESOLVED and any(hop.status == 303 for hop in answer.hops):
        outcome = ObjectOutcome.RELATED
        evidence = (*evidence, "a 303 on the way: what answers is related to the object, not the object")
    told = _verdict(outcome, answered(answer), *evidence, *_beside(success))
    other = declared_other(answer, Ark.parse(answer.ark))
    if other is None:
        return told
    words = f"the page says that it is about another ARK: {other}"
    return ServiceVerdict(told.outcome, (*told.evidence, words), {"about": other})


def _special_page(success: _Success) -> tuple[ObjectOutcome, tuple[str, ...]] | None:
    """The outcome of a page that says by its kind what it is: a registry's entry, a log-in, a withdrawal."""
    answer = success.answer
    if "registry" in (answer.record or {}):
        words = "what answers is the resolver's own entry for a NAAN or shoulder: the ARK may have been cut short"
        return ObjectOutcome.SOFT_404, (words,)
    if asks_to_log_in(answer):
        if success.told in (Told.REFUSED_THERE, Told.REFUSED_BEFORE):
            return ObjectOutcome.RESOLVED, ("what answers asks to log in; a name that can't exist is refused",)
        return ObjectOutcome.BLOCKED, ("what answers asks to log in, and tells nothing of the object",)
    explanation = withdrawal(answer, success.control)
    if explanation and success.told is not Told.THE_SAME:
        return ObjectOutcome.EXPLAINED, (explanation,)
    if (fault := passing_fault(answer)) and not declares(success.knows_itself):
        return _OPEN, (f"the page speaks of a fault of the moment: {fault!r}", *_grounds(success))
    if words_of_absence(answer) and place_of_absence(answer) and not success.is_particular:
        return _SOFT, _grounds(success)
    return None


def _grounds(success: _Success) -> tuple[str, ...]:
    """What makes a success more, or less, than its status."""
    grounds = []
    control = success.control
    if success.told is Told.THE_SAME and control is not None:
        grounds.append(f"a name that can't exist gets the same page ({control.asked_url})")
        if success.worth is ObjectOutcome.UNDETERMINED:
            grounds.append("so that this answer is worth nothing")
    if success.knows_itself:
        grounds.append(f"the page names this ARK ({', '.join(success.knows_itself[:3])})")
    if success.told in (Told.REFUSED_THERE, Told.REFUSED_BEFORE) and control is not None:
        grounds.append(f"a name that can't exist is answered {control.status}")
    if success.told is Told.ANOTHER:
        grounds.append("a name that can't exist gets another page")
    return (*grounds, *success.signs)


def _beside(success: _Success) -> tuple[str, ...]:
    """What is told beside an outcome, without changing it."""
    answer = success.answer
    told = []
    if refresh := refresh_of(answer):
        told.append(f"the page has a refresh to {refresh}, which was not followed")
    if not answer.body_complete and is_textual(answer.media_type):
        told.append("its body was not read to the end" if answer.body_bytes else "its body could not be read")
    if success.neighbours:
        told.append(f"{success.neighbours} other ARK{'s end' if success.neighbours > 1 else ' ends'} at the same URL")
    return tuple(told)


def _control_told(answer: Observation, control: Observation | None) -> Told:
    if control is None or control.end is not ChainEnd.ANSWERED or control.status is None:
        return Told.NOTHING
    if control.status in SUCCESSES:
        return Told.THE_SAME if _is_answered_alike(answer, control) else Told.ANOTHER
    if status_outcome(control.status) not in (ObjectOutcome.BROKEN, ObjectOutcome.SERVER_ERROR):
        return Told.NOTHING
    same_host = urlsplit(answer.final_url).netloc == urlsplit(control.final_url).netloc
    return Told.REFUSED_THERE if same_host else Told.REFUSED_BEFORE


def _is_answered_alike(answer: Observation, control: Observation) -> bool:
    """Whether the control got the same answer, or both a page that says in one sentence that it isn't there.

    Two searches of one site, which both found something, are alike too: what is unknown there is searched for.
    """
    if same_answer(answer, control):
        return True
    said, said_to_control = words_of_absence(answer), words_of_absence(control)
    if said is None and said_to_control is None:
        return is_search(answer) and is_search(control) and _path(answer) == _path(control)
    if said is None or said_to_control is None:
        return False
    return same_page(said, said_to_control, last_part(answer.asked_url), last_part(control.asked_url))


def _path(answer: Observation) -> str:
    return answer.final_url.partition("?")[0]


def _known_by_itself(answer: Observation, control: Observation | None) -> tuple[str, ...]:
    """Where the page names its own ARK; what it does for a name that can't exist too is an echo."""
    places = own_places(answer, Ark.parse(answer.ark))
    if control is None or not places:
        return places
    try:
        echoed = own_places(control, Ark.parse(control.asked_url))
    except NotAnArk:
        echoed = ()
    return tuple(place for place in places if place not in echoed)


# -- in words


def _about_refusal(answer: Observation, outcome: ObjectOutcome) -> tuple[str, ...]:
    host = urlsplit(answer.final_url).netloc
    if outcome is ObjectOutcome.BROKEN:
        return (who_said_it(answer),)
    reason = quirks().host_reason(host, answer.status or 0) if outcome is ObjectOutcome.BLOCKED else None
    return (reason,) if reason else ()


def who_said_it(answer: Observation) -> str:
    """Which hop a not-found is to be attributed to: the resolver, or where it led (2020, 7.1.2)."""
    landing = urlsplit(answer.final_url).netloc
    if len(answer.hops) == 1 or landing == urlsplit(answer.hops[0].url).netloc:
        return "the resolver itself says so"
    return f"said by the landing host {landing}; the resolver knew where to send us"


def answered(answer: Observation) -> str:
    """What came back in the end, in words."""
    last = answer.hops[-1]
    redirects = len(answer.hops) - 1
    way = "" if not redirects else f" after {redirects} redirect{'s' if redirects > 1 else ''}"
    return f"{last.url} answered {last.status}{way}"


def how_it_ended(answer: Observation) -> str:
    """How a chain without a last answer ended, in words."""
    if not answer.hops:
        return answer.detail or answer.end.value
    last = answer.hops[-1]
    words = answer.detail or last.error or last.location or answer.end.value
    return words if last.url in words else f"{last.url}: {words}"


def _verdict(outcome: ObjectOutcome, *evidence: str) -> ServiceVerdict:
    return ServiceVerdict(outcome.value, tuple(dict.fromkeys(words for words in evidence if words)))
