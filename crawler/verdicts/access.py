"""Pure: judge whether an object was reached, by the chain, the last status, the page, and the control's reply.

A page that a name which can't exist is given too proves nothing. Only when it also speaks like a page for what is not
there is it called a soft 404; otherwise no one knows. An app shell is the same page for every name: what a browser
makes of it is judged in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from crawler.answers.answer import is_textual
from crawler.answers.facts import OUTCOME_OF_END, SAYS_BROKEN, AnswerFacts, status_outcome
from crawler.answers.object_facts import ControlContrast, ObjectFacts, Signs
from crawler.answers.quirks import quirks
from crawler.model.observations import ObjectOutcome, Observation, ServiceVerdict
from crawler.model.resolving import REFUSING_STATUSES, listed_statuses
from crawler.verdicts.rules import Evidence, RuleGroup, RuleTable, VerdictRule, always, sentences
from extractors.model.urls import authority_of, host_name_of

_EXPLAINABLE = frozenset({401, 403, 404, 410, 451})

_YES, _SOFT, _OPEN = ObjectOutcome.RESOLVED, ObjectOutcome.SOFT_404, ObjectOutcome.UNDETERMINED
_PROVES_NOTHING = ((_OPEN, _YES), (_OPEN, _OPEN), (_SOFT, _OPEN))
#: Replies by which a page says nothing of its name.
_FOR_ANY_NAME = frozenset({ControlContrast.THE_SAME, ControlContrast.AT_RANDOM})
_COUNTS = ((_YES, _YES), (_YES, _YES), (_SOFT, _OPEN))
#: What a success is worth, by the reply to the control: with no sign of absence, one, and several; each where the page
#: doesn't say by itself that it is this ARK's, and where it does.
_BY_REPLY = {
    ControlContrast.THE_SAME: ((_OPEN, _YES), (_SOFT, _OPEN), (_SOFT, _OPEN)),
    ControlContrast.ANOTHER: _COUNTS,
    ControlContrast.AT_RANDOM: _PROVES_NOTHING,
    ControlContrast.NO_OTHER: _PROVES_NOTHING,
    ControlContrast.NOT_COMPARED: _PROVES_NOTHING,
    ControlContrast.REFUSED_THERE: ((_YES, _YES), (_YES, _YES), (_YES, _YES)),
    ControlContrast.REFUSED_BEFORE: _COUNTS,
    ControlContrast.NOTHING: _COUNTS,
}
#: The same by all three; complete, as a test insists.
WORTH: Mapping[tuple[ControlContrast, Signs, bool], ObjectOutcome] = {
    (reply, signs, is_particular): outcomes[is_particular]
    for reply, by_signs in _BY_REPLY.items()
    for signs, outcomes in zip(Signs, by_signs, strict=True)
    for is_particular in (False, True)
}


def worth(facts: ObjectFacts) -> ObjectOutcome:
    """Return what the table says of a success."""
    return WORTH[facts.case]


ObjectRule = VerdictRule[ObjectFacts, ObjectOutcome]
Holds = Callable[[ObjectFacts], bool]
Says = Callable[[ObjectFacts], Evidence]


def _refusal(when: str, holds: Holds, outcome: ObjectOutcome, evidence: Says, basis: str = "") -> ObjectRule:
    """A rule about an answer whose page is not looked at for more than its *evidence*."""
    return VerdictRule(
        when, holds, outcome, lambda facts: (answered(facts.answer.seen), *sentences(evidence(facts))), basis=basis
    )


def _success(when: str, holds: Holds, outcome: ObjectOutcome, evidence: Says, basis: str = "") -> ObjectRule:
    """A rule about a success, with what is noted of its page besides the outcome."""
    return VerdictRule(
        when,
        holds,
        outcome,
        lambda facts: (answered(facts.answer.seen), *sentences(evidence(facts)), *_beside(facts)),
        lambda facts: {"about": facts.answer.other_ark} if facts.answer.other_ark else {},
        basis,
    )


def _resolved(when: str, holds: Holds, evidence: Says) -> Iterator[ObjectRule]:
    """The two rules about a success that counts: after a 303 what answers is not the object."""
    yield _success(
        f"{when}; a 303 is on the way",
        lambda facts: facts.answer.is_related and holds(facts),
        ObjectOutcome.RELATED,
        lambda facts: (
            *sentences(evidence(facts)),
            "a 303 on the way: what answers is related to the object, not the object",
        ),
        "2020, 7.1.3",
    )
    yield _success(when, holds, ObjectOutcome.RESOLVED, evidence, "2020, 7.1.3")


# -- in words


def _grounds(facts: ObjectFacts) -> tuple[str, ...]:
    """Return what makes a success more, or less, than its status."""
    grounds = []
    reply, control = facts.reply, facts.control
    if reply is ControlContrast.THE_SAME and control is not None:
        grounds.append(f"a name that can't exist gets the same page ({control.asked_url})")
        if worth(facts) is _OPEN:
            grounds.append("so that this answer is worth nothing")
    if facts.knows_itself:
        grounds.append(f"the page names this ARK ({', '.join(facts.knows_itself[:3])})")
    if facts.is_told_apart and control is not None:
        grounds.append(f"a name that can't exist is answered {control.status}")
    if reply is ControlContrast.ANOTHER:
        grounds.append("a name that can't exist gets another page")
    if reply is ControlContrast.AT_RANDOM:
        grounds.append("each of two names that can't exist gets another page, so that a page is made up for any name")
    if reply is ControlContrast.NO_OTHER:
        grounds.append(
            "a name that can't exist gets a page that differs from this one no more than this one does from itself,"
            " asked again"
        )
    if reply is ControlContrast.NOT_COMPARED and control is not None:
        grounds.append(
            f"a name that can't exist is answered {control.status} too, and too little came to compare the two"
        )
    return (*grounds, *facts.signs)


def _walled(facts: ObjectFacts) -> str:
    """Return why a success that several objects share tells nothing of any of them."""
    reply = "gets this answer, too" if facts.wall and facts.wall.is_success else "gets no telling answer"
    return f"a name that can't exist, asked for again during the run, {reply}: it tells nothing of the object"


def _beside(facts: ObjectFacts) -> Iterator[str]:
    """Return what is noted of a success besides its outcome."""
    observation, neighbours = facts.answer.seen, facts.neighbours
    if facts.answer.refresh:
        yield f"the page has a refresh to {facts.answer.refresh}, which was not followed"
    if not observation.body_complete and is_textual(observation.media_type):
        yield ("its body was not read to the end" if observation.body_bytes else "its body could not be read")
    if neighbours:
        yield f"{neighbours} other ARK{'s end' if neighbours > 1 else ' ends'} at the same URL"
    if facts.answer.other_ark is not None:
        yield f"the page says that it is about another ARK: {facts.answer.other_ark}"


def who_said_it(answer: Observation) -> str:
    """The hop that a not-found is to be attributed to: the resolver, or where it led (2020, 7.1.2)."""
    landing = authority_of(answer.final_url)
    if len(answer.hops) == 1 or landing == authority_of(answer.hops[0].url):
        return "the resolver itself says so"
    return f"said by the landing host {landing}; the resolver knew where to send us"


def _host_reason(answer: Observation) -> str | None:
    """Return what is known of a status at its host."""
    return quirks().host_reason(host_name_of(answer.final_url), answer.status or 0)


def answered(answer: Observation) -> str:
    """The last answer of a chain, in words."""
    last = answer.hops[-1]
    redirects = len(answer.hops) - 1
    way = "" if not redirects else f" after {redirects} redirect{'s' if redirects > 1 else ''}"
    return f"{last.url} answered {last.status}{way}"


def how_it_ended(answer: Observation) -> str:
    """The end of a chain without a last answer, in words."""
    if not answer.hops:
        return answer.detail or answer.end.value
    last = answer.hops[-1]
    words = answer.detail or last.error or last.location or answer.end.value
    return words if last.url in words else f"{last.url}: {words}"


# -- the rules


def _unanswered(end: str, outcome: ObjectOutcome) -> ObjectRule:
    return VerdictRule(
        f"its end: {end}",
        lambda facts: facts.answer.outcome is outcome,
        outcome,
        lambda facts: how_it_ended(facts.answer.seen),
        basis="2020, 7.1.3",
    )


def _by_thump(outcome: ObjectOutcome, codes: str) -> ObjectRule:
    return _refusal(
        f"THUMP-Status {codes}",
        lambda facts: status_outcome(facts.answer.thump_fault or 0) is outcome,
        outcome,
        lambda facts: f"but its THUMP-Status is {facts.answer.thump_fault}, which outweighs that",
        "2023, 5.2",
    )


def _by_status(outcome: ObjectOutcome, statuses: str) -> ObjectRule:
    return _refusal(
        f"the last status is {statuses}",
        lambda facts: facts.answer.outcome is outcome,
        outcome,
        lambda facts: (
            who_said_it(facts.answer.seen) if outcome is ObjectOutcome.BROKEN else _host_reason(facts.answer.seen)
        ),
        "2020, 7.1.2",
    )


_STATUSES = {
    ObjectOutcome.BROKEN: listed_statuses(SAYS_BROKEN),
    ObjectOutcome.BLOCKED: listed_statuses(REFUSING_STATUSES),
    ObjectOutcome.TIMEOUT: "408",
    ObjectOutcome.SERVER_ERROR: "500 to 599",
    ObjectOutcome.UNDETERMINED: "another one",
}

_CHALLENGE = _refusal(
    "what came is a check for programs",
    lambda facts: facts.challenge is not None,
    ObjectOutcome.BLOCKED,
    lambda facts: f"what came is a check for programs by {facts.challenge}",
)
_SPECIAL_PAGES = (
    _success(
        "the resolver's own entry for a NAAN or shoulder answers",
        lambda facts: facts.answer.is_registry_entry,
        ObjectOutcome.SOFT_404,
        lambda facts: (
            "what answers is the resolver's own entry for a NAAN or shoulder: the ARK may have been cut short"
        ),
    ),
    _success(
        "the answer is empty, and its headers don't declare this ARK",
        lambda facts: facts.answer.is_empty and not facts.declares_itself,
        ObjectOutcome.UNDETERMINED,
        lambda facts: ["what answers is empty: nothing can be seen of the object", *_grounds(facts)],
    ),
    _success(
        "the control, asked again after several objects had got one answer, gets it too, or no telling answer",
        lambda facts: facts.wall is not None and facts.answer.passing_fault is None,
        ObjectOutcome.BLOCKED,
        _walled,
    ),
    *_resolved(
        "a page to log in answers, and the control is refused",
        lambda facts: facts.answer.asks_to_log_in and facts.is_told_apart,
        lambda facts: "what answers asks to log in; a name that can't exist is refused",
    ),
    _success(
        "a page to log in answers",
        lambda facts: facts.answer.asks_to_log_in,
        ObjectOutcome.BLOCKED,
        lambda facts: "what answers asks to log in, and tells nothing of the object",
    ),
    _success(
        "the page says of the object that it was withdrawn, and the control gets another reply",
        lambda facts: facts.reply not in _FOR_ANY_NAME and facts.withdrawal is not None,
        ObjectOutcome.EXPLAINED,
        lambda facts: f"the page explains that the object is not there any more: {facts.withdrawal!r}",
        "2023, 5.1",
    ),
    _success(
        "the page is a tombstone by form, or says that it is not shown where we are; the control gets another reply",
        lambda facts: facts.reply not in _FOR_ANY_NAME and (facts.tombstone is not None or facts.regional is not None),
        ObjectOutcome.EXPLAINED,
        lambda facts: (
            f"the page is a tombstone by its form: {facts.tombstone!r}"
            if facts.tombstone
            else f"the page explains why the object can't be had: {facts.regional!r}"
        ),
        "2023, 5.1",
    ),
    _success(
        "the page speaks of a fault of the moment, and doesn't declare this ARK",
        lambda facts: facts.answer.passing_fault is not None and not facts.declares_itself,
        ObjectOutcome.UNDETERMINED,
        lambda facts: [f"the page speaks of a fault of the moment: {facts.answer.passing_fault!r}", *_grounds(facts)],
    ),
    _success(
        "the title says that nothing is there, and nothing shows that the object is called so",
        lambda facts: worth(facts) is _YES and facts.is_called_absent and not facts.is_particular,
        ObjectOutcome.UNDETERMINED,
        _grounds,
    ),
    _success(
        "words and address of the page say that nothing is there, and it doesn't say that it is this ARK's",
        lambda facts: (
            facts.answer.words.absence is not None
            and facts.answer.absent_address is not None
            and not facts.is_particular
        ),
        ObjectOutcome.SOFT_404,
        _grounds,
    ),
    _success(
        "the page says that nothing is there and hardly anything else, and nothing contradicts",
        lambda facts: worth(facts) is _YES and not facts.is_particular and facts.only_absence is not None,
        ObjectOutcome.UNDETERMINED,
        lambda facts: [*_grounds(facts), f"the page says {facts.only_absence!r}, and hardly anything else"],
    ),
    _success(
        "it is a record of an error, and nothing contradicts",
        lambda facts: worth(facts) is _YES and facts.answer.is_error_record,
        ObjectOutcome.UNDETERMINED,
        _grounds,
    ),
    _success(
        "a host that was asked for more led to its own home page or search form, and nothing contradicts",
        lambda facts: worth(facts) is _YES and not facts.is_particular and facts.answer.is_sent_away,
        ObjectOutcome.UNDETERMINED,
        lambda facts: ["a host on the way leads to its own home page or search form", *_grounds(facts)],
    ),
    _success(
        "nothing is known of the host that answers, and its page may be one for anything",
        lambda facts: (
            worth(facts) is _YES
            and not facts.is_particular
            and facts.answer.is_page_of_host
            and facts.is_page_of_unknown_host
        ),
        ObjectOutcome.UNDETERMINED,
        lambda facts: [*_grounds(facts), "nothing shows what this host answers for what it does not have"],
    ),
    _success(
        "redirects led to a search that finds nothing, and nothing contradicts",
        lambda facts: (
            worth(facts) is _YES
            and not facts.is_particular
            and facts.answer.is_search
            and facts.answer.words.absence is not None
        ),
        ObjectOutcome.UNDETERMINED,
        _grounds,
    ),
    _success(
        "the page has no words, and refreshes to another place",
        lambda facts: worth(facts) is _YES and not facts.declares_itself and facts.answer.only_refreshes,
        ObjectOutcome.UNDETERMINED,
        _grounds,
    ),
)
_WORTH = (
    _success(
        "by signs of absence, the control's reply and its own words it is a page for what is not there",
        lambda facts: worth(facts) is _SOFT,
        ObjectOutcome.SOFT_404,
        _grounds,
    ),
    _success(
        "by signs of absence, the control's reply and its own words the page proves nothing",
        lambda facts: worth(facts) is _OPEN,
        ObjectOutcome.UNDETERMINED,
        _grounds,
    ),
    *_resolved("the last status is one of success", always, _grounds),
)
_REFUSALS = (
    _refusal(
        f"the last status is {listed_statuses(_EXPLAINABLE)}, and the page explains of this object why it can't be had",
        lambda facts: facts.answer.status in _EXPLAINABLE and facts.explanation is not None,
        ObjectOutcome.EXPLAINED,
        lambda facts: f"the answer explains why this object can't be had: {facts.explanation!r}",
        "2023, 5.1",
    ),
    _refusal(
        "the last status is 400, and the page speaks of the request and not of the name",
        lambda facts: facts.answer.status == 400 and facts.answer.words.fault_of_request is not None,
        ObjectOutcome.UNDETERMINED,
        lambda facts: f"which speaks of the request and not of the name: {facts.answer.words.fault_of_request!r}",
    ),
    _refusal(
        "the last status is 404, and the page speaks of a pause of the whole site",
        lambda facts: facts.answer.status == 404 and facts.answer.pause_of_site is not None,
        ObjectOutcome.UNDETERMINED,
        lambda facts: f"which speaks of a pause of the whole site and not of the name: {facts.answer.pause_of_site!r}",
    ),
    _refusal(
        "the last status is 404 or 410, and the page has a record of this very ARK",
        lambda facts: facts.answer.status in (404, 410) and facts.answer.describes_itself,
        ObjectOutcome.UNDETERMINED,
        lambda facts: f"with a page that describes the object, by {facts.answer.subject.names_this}",
    ),
    _refusal(
        "the last status is 404, and the page is left to scripts",
        lambda facts: facts.answer.status == 404 and facts.answer.is_left_to_scripts,
        ObjectOutcome.UNDETERMINED,
        lambda facts: (
            "with a page that its scripts are to fill, as some hosts send it for any name: a browser may show more"
        ),
    ),
    *(_by_status(outcome, statuses) for outcome, statuses in _STATUSES.items()),
)
#: Whether the object was reached.
OBJECT_RULES: RuleTable[ObjectFacts, ObjectOutcome] = RuleTable(
    "The object",
    (
        RuleGroup(
            "chains without a last answer",
            lambda facts: not facts.answer.is_answered,
            tuple(_unanswered(end.value, outcome) for end, outcome in OUTCOME_OF_END.items()),
        ),
        RuleGroup("all other answers", always, (_CHALLENGE,)),
        RuleGroup(
            "successes with a THUMP-Status of 400 or more",
            lambda facts: facts.answer.thump_fault is not None,
            tuple(_by_thump(outcome, codes) for outcome, codes in _STATUSES.items()),
        ),
        RuleGroup("other successes", lambda facts: facts.answer.is_success, (*_SPECIAL_PAGES, *_WORTH)),
        RuleGroup("all other statuses", always, _REFUSALS),
    ),
)


# -- app shells, whose pages only a browser shows, and the verdict by what it has shown


#: Replies to the control that say nothing from another page.
_UNTOLD = frozenset({ControlContrast.THE_SAME, ControlContrast.NO_OTHER, ControlContrast.NOT_COMPARED})
#: Outcomes that rest on what the page says, as far as no one has run its scripts.
_UNSETTLED = frozenset({ObjectOutcome.UNDETERMINED, ObjectOutcome.SOFT_404})
#: So many things that a page lacks are named.
_MOST_NAMED = 3


def is_app_shell(facts: ObjectFacts) -> bool:
    """Return whether an answer may be an app shell: a page with scripts that is no other for a name that can't
    exist.
    """
    seen = facts.answer.seen
    is_html = seen.body_complete and "html" in (seen.media_type or "")
    runs_scripts = facts.answer.is_success and is_html and seen.facts.runs_scripts
    if not runs_scripts or facts.control is None or facts.reply not in _UNTOLD:
        return False
    return OBJECT_RULES.judge(facts).outcome in _UNSETTLED


@dataclass(frozen=True, slots=True)
class RenderedFacts:
    """The facts of an app shell as a browser has shown it."""

    rendered: AnswerFacts
    control: AnswerFacts | None
    """The page of a name that can't exist, as a browser has shown it."""

    @property
    def fault(self) -> str | None:
        """Return why what was shown says nothing; None where it does."""
        own = fault_of(self.rendered)
        if own is not None:
            return own
        if self.control is None:
            return "the page for a name that can't exist was not rendered"
        of_control = fault_of(self.control)
        if of_control is None:
            return None
        return f"of the page for a name that can't exist, {of_control}"


def fault_of(answer: AnswerFacts) -> str | None:
    """Return why an answer says nothing of what a browser shows; None where it does."""
    rendering = answer.seen.rendering
    if rendering is None:
        came = answer.seen.detail or answer.end.value
        if answer.is_answered:
            came = f"it was answered {answer.status}"
        return f"nothing was rendered, for this time {came}"
    if rendering.fault is not None:
        return rendering.fault
    if rendering.lacking:
        more = len(rendering.lacking) - _MOST_NAMED
        others = f" and {more} more" if more > 0 else ""
        return f"it lacks what it asked for: {'; '.join(rendering.lacking[:_MOST_NAMED])}{others}"
    return None


def by_what_is_shown(verdict: ServiceVerdict[ObjectOutcome], facts: RenderedFacts) -> ServiceVerdict[ObjectOutcome]:
    """The verdict by what a browser has shown, or else *verdict*, with the reason why that says nothing."""
    rendering = facts.rendered.seen.rendering
    if facts.fault is not None or rendering is None:
        browser = rendering.browser if rendering is not None else "a browser"
        said = f"rendered with {browser}, which tells nothing: {facts.fault}"
        return replace(verdict, evidence=(*verdict.evidence, said))
    requests = sum(1 for hop in rendering.requests if hop.location is None)
    how = (
        f"without its scripts it shows the same for any name; rendered with {rendering.browser}, for which it made"
        f" {requests} request{'' if requests == 1 else 's'}"
    )
    shown = OBJECT_RULES.judge(ObjectFacts(facts.rendered, facts.control))
    first, *others = shown.evidence
    return replace(shown, evidence=(first, how, *others))
