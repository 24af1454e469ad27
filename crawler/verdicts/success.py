"""Pure: what a success is worth, by what the page says and by what a name that can't exist was told.

A page that a name which can't exist is given too proves nothing. Only when it also speaks like a page for what is
not there is it called a soft 404; otherwise nobody knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from urllib.parse import urlsplit

from crawler.answers.answer import is_textual
from crawler.answers.likeness import has_nothing_of_its_own, last_part, same_answer, same_page
from crawler.answers.notices import is_search, says_nothing_else, signs_of_absence, words_of_absence
from crawler.answers.subject import declares, own_places
from crawler.observations import ChainEnd, ObjectOutcome, Observation
from crawler.resolving import SUCCESSES
from crawler.verdicts.statuses import status_outcome
from extractors.ark import Ark
from extractors.normalize import NotAnArk

#: Who, what, when: a page that answers so many of them under their labels is no page for what is not there.
TELLING = 2
#: Of a page that was cut off so soon nobody knows whether it is another one.
_FEW_CAME = 12
#: So many other ARKs that land on one URL are a sign, though never a proof: one page may stand for many objects.
MANY_NEIGHBOURS = 2


class ControlContrast(StrEnum):
    """What a name that can't exist was told, beside a successful answer."""

    THE_SAME = "the same"
    ANOTHER = "another page"
    NO_OTHER = "no more than its own other page"
    """Another page, as the object's own is each time: news or advertisements change, and nothing else tells them."""
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
WORTH: Mapping[tuple[ControlContrast, Signs, bool], ObjectOutcome] = {
    (ControlContrast.THE_SAME, Signs.NONE, False): _OPEN,
    (ControlContrast.THE_SAME, Signs.NONE, True): _YES,
    (ControlContrast.THE_SAME, Signs.ONE, False): _SOFT,
    (ControlContrast.THE_SAME, Signs.ONE, True): _OPEN,
    (ControlContrast.THE_SAME, Signs.SEVERAL, False): _SOFT,
    (ControlContrast.THE_SAME, Signs.SEVERAL, True): _OPEN,
    (ControlContrast.ANOTHER, Signs.NONE, False): _YES,
    (ControlContrast.ANOTHER, Signs.NONE, True): _YES,
    (ControlContrast.ANOTHER, Signs.ONE, False): _YES,
    (ControlContrast.ANOTHER, Signs.ONE, True): _YES,
    (ControlContrast.ANOTHER, Signs.SEVERAL, False): _SOFT,
    (ControlContrast.ANOTHER, Signs.SEVERAL, True): _OPEN,
    (ControlContrast.NO_OTHER, Signs.NONE, False): _OPEN,
    (ControlContrast.NO_OTHER, Signs.NONE, True): _YES,
    (ControlContrast.NO_OTHER, Signs.ONE, False): _OPEN,
    (ControlContrast.NO_OTHER, Signs.ONE, True): _OPEN,
    (ControlContrast.NO_OTHER, Signs.SEVERAL, False): _SOFT,
    (ControlContrast.NO_OTHER, Signs.SEVERAL, True): _OPEN,
    (ControlContrast.REFUSED_THERE, Signs.NONE, False): _YES,
    (ControlContrast.REFUSED_THERE, Signs.NONE, True): _YES,
    (ControlContrast.REFUSED_THERE, Signs.ONE, False): _YES,
    (ControlContrast.REFUSED_THERE, Signs.ONE, True): _YES,
    (ControlContrast.REFUSED_THERE, Signs.SEVERAL, False): _YES,
    (ControlContrast.REFUSED_THERE, Signs.SEVERAL, True): _YES,
    (ControlContrast.REFUSED_BEFORE, Signs.NONE, False): _YES,
    (ControlContrast.REFUSED_BEFORE, Signs.NONE, True): _YES,
    (ControlContrast.REFUSED_BEFORE, Signs.ONE, False): _YES,
    (ControlContrast.REFUSED_BEFORE, Signs.ONE, True): _YES,
    (ControlContrast.REFUSED_BEFORE, Signs.SEVERAL, False): _SOFT,
    (ControlContrast.REFUSED_BEFORE, Signs.SEVERAL, True): _OPEN,
    (ControlContrast.NOTHING, Signs.NONE, False): _YES,
    (ControlContrast.NOTHING, Signs.NONE, True): _YES,
    (ControlContrast.NOTHING, Signs.ONE, False): _YES,
    (ControlContrast.NOTHING, Signs.ONE, True): _YES,
    (ControlContrast.NOTHING, Signs.SEVERAL, False): _SOFT,
    (ControlContrast.NOTHING, Signs.SEVERAL, True): _OPEN,
}


@dataclass(frozen=True, slots=True)
class Success:
    """A successful answer, and all that makes it more or less than it seems."""

    answer: Observation
    control: Observation | None
    told: ControlContrast
    knows_itself: tuple[str, ...]
    """Where it names its own ARK, if the control's page doesn't name the control's in the same way."""
    signs: tuple[str, ...]
    """Why it looks like a page for what is not there."""
    neighbours: int

    @classmethod
    def of(
        cls, answer: Observation, control: Observation | None, neighbours: int, again: Sequence[Observation] = ()
    ) -> Success:
        told, signs = _control_contrast(answer, control), signs_of_absence(answer)
        if told is ControlContrast.ANOTHER and control is not None and has_nothing_of_its_own(answer, control, again):
            told = ControlContrast.NO_OTHER
        if (
            signs and told is ControlContrast.REFUSED_BEFORE and says_nothing_else(answer)
        ):  # of the landing host nothing is known
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


def _control_contrast(answer: Observation, control: Observation | None) -> ControlContrast:
    if control is None or control.end is not ChainEnd.ANSWERED or control.status is None:
        return ControlContrast.NOTHING
    if control.status in SUCCESSES:
        if _is_answered_alike(answer, control):
            return ControlContrast.THE_SAME
        return (
            ControlContrast.NOTHING
            if _could_not_be_read(answer) or _could_not_be_read(control)
            else ControlContrast.ANOTHER
        )
    if status_outcome(control.status) not in (ObjectOutcome.BROKEN, ObjectOutcome.SERVER_ERROR):
        return ControlContrast.NOTHING
    same_host = urlsplit(answer.final_url).netloc == urlsplit(control.final_url).netloc
    return ControlContrast.REFUSED_THERE if same_host else ControlContrast.REFUSED_BEFORE


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


def _could_not_be_read(answer: Observation) -> bool:
    """Whether nothing is known of a page that was sent: nobody can tell whether it is the same as another."""
    is_little = len((answer.text or "").split()) < _FEW_CAME
    return not answer.body_complete and is_little and is_textual(answer.media_type)


def _path(answer: Observation) -> str:
    return answer.final_url.partition("?")[0]


def _known_by_itself(answer: Observation, control: Observation | None) -> tuple[str, ...]:
    """Where the page names its own ARK; what it does for a name that can't exist too is an echo."""
    places = own_places(answer, answer.ark)
    if control is None or not places:
        return places
    try:
        echoed = own_places(control, Ark.parse(control.asked_url))
    except NotAnArk:
        echoed = ()
    return tuple(place for place in places if place not in echoed)
