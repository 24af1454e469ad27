"""Judge whether an object was reached, by the chain, the last status, the page, and the answer to the control.

A page that is also sent for a name that can't exist proves nothing. It is a soft 404 only if it also reads like an
error page. Otherwise the outcome is undetermined. An app shell is the same page for every name. The page that a browser
renders from it is judged instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from crawler.answers.answer import is_textual
from crawler.answers.facts import BROKEN_STATUSES, OUTCOME_OF_END, AnswerFacts, status_outcome
from crawler.answers.object_facts import ControlContrast, ObjectFacts, Signs
from crawler.answers.quirks import quirks
from crawler.model.observations import ObjectOutcome, Observation, ServiceVerdict
from crawler.model.resolving import REFUSING_STATUSES, statuses_in_words
from crawler.verdicts.rules import Evidence, RuleGroup, RuleTable, VerdictRule, always, sentences
from extractors.model.urls import authority_of, host_name_of

_EXPLAINABLE_STATUSES = frozenset({401, 403, 404, 410, 451})

_RESOLVED, _SOFT_404, _UNDETERMINED = ObjectOutcome.RESOLVED, ObjectOutcome.SOFT_404, ObjectOutcome.UNDETERMINED
_UNPROVEN_OUTCOMES = ((_UNDETERMINED, _RESOLVED), (_UNDETERMINED, _UNDETERMINED), (_SOFT_404, _UNDETERMINED))
#: Replies to the control which show that the page does not depend on the name.
_REPLIES_FOR_ANY_NAME = frozenset({ControlContrast.THE_SAME, ControlContrast.AT_RANDOM})
_USUAL_OUTCOMES = ((_RESOLVED, _RESOLVED), (_RESOLVED, _RESOLVED), (_SOFT_404, _UNDETERMINED))
#: The outcome of a success, by the reply to the control. Each row has the outcomes for no sign of absence, one, and
#: several. Each pair is for a page that does not say that it belongs to this ARK, and for one that does.
_OUTCOMES_BY_REPLY = {
    ControlContrast.THE_SAME: ((_UNDETERMINED, _RESOLVED), (_SOFT_404, _UNDETERMINED), (_SOFT_404, _UNDETERMINED)),
    ControlContrast.ANOTHER: _USUAL_OUTCOMES,
    ControlContrast.AT_RANDOM: _UNPROVEN_OUTCOMES,
    ControlContrast.NO_OTHER: _UNPROVEN_OUTCOMES,
    ControlContrast.NOT_COMPARED: _UNPROVEN_OUTCOMES,
    ControlContrast.REFUSED_THERE: ((_RESOLVED, _RESOLVED), (_RESOLVED, _RESOLVED), (_RESOLVED, _RESOLVED)),
    ControlContrast.REFUSED_BEFORE: _USUAL_OUTCOMES,
    ControlContrast.NOTHING: _USUAL_OUTCOMES,
}
#: The same table by all three keys. A test checks that it is complete.
WORTH: Mapping[tuple[ControlContrast, Signs, bool], ObjectOutcome] = {
    (reply, signs, is_particular): outcomes[is_particular]
    for reply, by_signs in _OUTCOMES_BY_REPLY.items()
    for signs, outcomes in zip(Signs, by_signs, strict=True)
    for is_particular in (False, True)
}


def worth(facts: ObjectFacts) -> ObjectOutcome:
    """Return the outcome that `WORTH` gives to a successful answer."""
    return WORTH[facts.worth_key]


ObjectRule = VerdictRule[ObjectFacts, ObjectOutcome]
Condition = Callable[[ObjectFacts], bool]
EvidenceOf = Callable[[ObjectFacts], Evidence]


def _refusal(when: str, holds: Condition, outcome: ObjectOutcome, evidence: EvidenceOf, basis: str = "") -> ObjectRule:
    """Return a rule whose evidence is the answer in words, then the sentences of *evidence*."""
    return VerdictRule(
        when, holds, outcome, lambda facts: (describe_answer(facts.answer), *sentences(evidence(facts))), basis=basis
    )


def _success(when: str, holds: Condition, outcome: ObjectOutcome, evidence: EvidenceOf, basis: str = "") -> ObjectRule:
    """Return a rule about a success: like `_refusal`, with remarks about the page at the end of the evidence."""
    return VerdictRule(
        when,
        holds,
        outcome,
        lambda facts: (describe_answer(facts.answer), *sentences(evidence(facts)), *_page_remarks(facts)),
        lambda facts: {"about": facts.answer.other_ark} if facts.answer.other_ark else {},
        basis,
    )


def _resolution_rules(
    when: str, holds: Condition, evidence: EvidenceOf, basis: str = "2020, 7.1.3"
) -> Iterator[ObjectRule]:
    """Return two rules for a success that counts: `related` if the chain has a 303, or else `resolved`."""
    yield _success(
        f"{when}; the chain has a 303",
        lambda facts: facts.answer.has_see_other and holds(facts),
        ObjectOutcome.RELATED,
        lambda facts: (
            *sentences(evidence(facts)),
            "the chain has a 303: the answer is related to the object, not the object itself",
        ),
        basis,
    )
    yield _success(when, holds, ObjectOutcome.RESOLVED, evidence, basis)


# -- in words


def _grounds(facts: ObjectFacts) -> tuple[str, ...]:
    """Return the sentences that support the verdict on a success.

    They compare the control's page, say where the page names this ARK, and list its signs of absence.
    """
    grounds = []
    reply, control = facts.control_contrast, facts.control
    if reply is ControlContrast.THE_SAME and control is not None:
        grounds.append(f"a name that can't exist gets the same page ({control.asked_url})")
        if worth(facts) is _UNDETERMINED:
            grounds.append("so this answer proves nothing")
    if facts.unechoed_own_locations:
        grounds.append(f"the page names this ARK ({', '.join(facts.unechoed_own_locations[:3])})")
    if facts.is_refused_for_control and control is not None:
        grounds.append(f"a name that can't exist is answered {control.status}")
    if reply is ControlContrast.ANOTHER:
        grounds.append("a name that can't exist gets another page")
    if reply is ControlContrast.AT_RANDOM:
        grounds.append("each of two names that can't exist gets another page, so the host makes up a page for any name")
    if reply is ControlContrast.NO_OTHER:
        grounds.append(
            "a name that can't exist gets a page that differs from this one no more than two copies of this page do"
        )
    if reply is ControlContrast.NOT_COMPARED and control is not None:
        grounds.append(
            f"a name that can't exist is answered {control.status} too, but too little of the pages arrived to compare them"
        )
    return (*grounds, *facts.signs)


def _general_answer_evidence(facts: ObjectFacts) -> str:
    """Return a sentence: the control, requested again, gets the answer that several objects share, or no usable one."""
    reply = (
        "gets this answer too" if facts.general_answer and facts.general_answer.is_success else "gets no usable answer"
    )
    return f"a name that can't exist, requested again during the run, {reply}, so the answer proves nothing about the object"


def _page_remarks(facts: ObjectFacts) -> Iterator[str]:
    """Yield remarks about a page with a status of success; they do not change its outcome."""
    answer, neighbour_count = facts.answer, facts.neighbour_count
    if answer.refresh:
        yield f"the page refreshes to {answer.refresh}, which was not followed"
    if not answer.body_complete and is_textual(answer.media_type):
        yield ("its body was not read to the end" if answer.body_bytes else "its body could not be read")
    if neighbour_count:
        yield f"{neighbour_count} other ARK{'s end' if neighbour_count > 1 else ' ends'} at the same URL"
    if answer.other_ark is not None:
        yield f"the page identifies itself as that of another ARK: {answer.other_ark}"


def source_of_not_found(answer: Observation) -> str:
    """Return a sentence that says if resolver or landing host reports that a name is unknown (draft 2020, 7.1.2)."""
    landing = authority_of(answer.final_url)
    if len(answer.hops) == 1 or landing == authority_of(answer.hops[0].url):
        return "the resolver itself reports this"
    return f"the landing host {landing} reports this; the resolver knew the ARK"


def _emptiness_in_words(facts: ObjectFacts) -> str:
    """Return a clause that says if the answer is empty, or if its page has only labels and parts of its site."""
    if facts.answer.facts.is_unfilled:
        return "the page has only parts of its site, or labels without values"
    return "the answer is empty"


def _host_reason(answer: Observation) -> str | None:
    """Return the special meaning of the last status at its host by ``quirks.toml``, or None."""
    return quirks().host_reason(host_name_of(answer.final_url), answer.status or 0)


def describe_answer(answer: Observation) -> str:
    """Return a sentence: the last URL of a chain, its status, and the number of redirects."""
    last_hop = answer.hops[-1]
    redirect_count = len(answer.hops) - 1
    redirects_note = (
        "" if not redirect_count else f" after {redirect_count} redirect{'s' if redirect_count > 1 else ''}"
    )
    return f"{last_hop.url} answered {last_hop.status}{redirects_note}"


def describe_end(answer: Observation) -> str:
    """Return the reason, with the last URL, why a chain ended without a status."""
    if not answer.hops:
        return answer.detail or answer.end.value
    last_hop = answer.hops[-1]
    reason = answer.detail or last_hop.error or last_hop.location or answer.end.value
    return reason if last_hop.url in reason else f"{last_hop.url}: {reason}"


# -- the rules


def _rule_of_end(end: str, outcome: ObjectOutcome) -> ObjectRule:
    return VerdictRule(
        f"its end: {end}",
        lambda facts: facts.answer.outcome is outcome,
        outcome,
        lambda facts: describe_end(facts.answer),
        basis="2020, 7.1.3",
    )


def _thump_rule(outcome: ObjectOutcome, codes: str) -> ObjectRule:
    return _refusal(
        f"THUMP-Status {codes}",
        lambda facts: status_outcome(facts.answer.thump_fault or 0) is outcome,
        outcome,
        lambda facts: f"but its THUMP-Status is {facts.answer.thump_fault}, which decides",
        "2023, 5.2",
    )


def _status_rule(outcome: ObjectOutcome, statuses: str) -> ObjectRule:
    """Return the rule that gives *outcome* to a chain by its last status. *statuses* are in words, such as "500 to 599"."""
    return _refusal(
        f"the last status is {statuses}",
        lambda facts: facts.answer.outcome is outcome,
        outcome,
        lambda facts: (
            source_of_not_found(facts.answer) if outcome is ObjectOutcome.BROKEN else _host_reason(facts.answer)
        ),
        "2020, 7.1.2",
    )


_STATUSES_BY_OUTCOME = {
    ObjectOutcome.BROKEN: statuses_in_words(BROKEN_STATUSES),
    ObjectOutcome.BLOCKED: statuses_in_words(REFUSING_STATUSES),
    ObjectOutcome.TIMEOUT: "408",
    ObjectOutcome.SERVER_ERROR: "500 to 599",
    ObjectOutcome.UNDETERMINED: "any other",
}

_CHALLENGE_RULE = _refusal(
    "the answer is a robot check",
    lambda facts: facts.challenge is not None,
    ObjectOutcome.BLOCKED,
    lambda facts: f"the answer is a robot check: {facts.challenge}",
)
_SPECIAL_PAGE_RULES = (
    _success(
        "the answer is the resolver's own entry for a NAAN or shoulder",
        lambda facts: facts.answer.is_registry_entry,
        ObjectOutcome.SOFT_404,
        lambda facts: "the answer is the resolver's own entry for a NAAN or shoulder: the ARK may have been cut short",
    ),
    _success(
        "the answer is empty, or has only parts of its site or labels without values, and its headers do not name this ARK",
        lambda facts: facts.answer.is_empty and not facts.declares_itself,
        ObjectOutcome.UNDETERMINED,
        lambda facts: [f"{_emptiness_in_words(facts)}, so the object can't be seen", *_grounds(facts)],
    ),
    _success(
        "other objects of the run got this answer, and the control, requested again, gets it too or no usable answer",
        lambda facts: facts.general_answer is not None and facts.answer.temporary_fault is None,
        ObjectOutcome.BLOCKED,
        _general_answer_evidence,
    ),
    *_resolution_rules(
        "the answer is a log-in page, and the control gets no success",
        lambda facts: facts.answer.asks_to_log_in and facts.is_refused_for_control,
        lambda facts: [
            "the answer is a log-in page, and a challenge before a protected object is access",
            *_grounds(facts),
        ],
        "2023, 5.1",
    ),
    _success(
        "the answer is a log-in page",
        lambda facts: facts.asks_any_visitor_to_log_in,
        ObjectOutcome.BLOCKED,
        lambda facts: "the answer is a log-in page, which proves nothing about the object",
    ),
    _success(
        "any name gets a page that is not shown in our region",
        lambda facts: facts.control_contrast is ControlContrast.THE_SAME and facts.answer.words.is_closed_in_region,
        ObjectOutcome.BLOCKED,
        lambda facts: "the page says that it is not shown in our region, and a name that can't exist gets it too",
    ),
    _success(
        "the page reports that the object, not a part of it, was withdrawn; the control gets another reply",
        lambda facts: facts.control_contrast not in _REPLIES_FOR_ANY_NAME and facts.withdrawal is not None,
        ObjectOutcome.EXPLAINED,
        lambda facts: f"the page explains that the object was withdrawn: {facts.withdrawal!r}",
        "2023, 5.1",
    ),
    _success(
        "the page is a tombstone by its address or title, is not shown in our region, or has only a message why this object "
        "is not available; the control gets another reply",
        lambda facts: (
            facts.control_contrast not in _REPLIES_FOR_ANY_NAME
            and (facts.tombstone or facts.regional or facts.reason_in_message) is not None
        ),
        ObjectOutcome.EXPLAINED,
        lambda facts: (
            f"the page has the form of a tombstone: {facts.tombstone!r}"
            if facts.tombstone
            else f"the page explains why the object is not available: {facts.regional or facts.reason_in_message!r}"
        ),
        "2023, 5.1",
    ),
    _success(
        "the page reports a temporary fault, and does not declare this ARK",
        lambda facts: facts.answer.temporary_fault is not None and not facts.declares_itself,
        ObjectOutcome.UNDETERMINED,
        lambda facts: [f"the page reports a temporary fault: {facts.answer.temporary_fault!r}", *_grounds(facts)],
    ),
)
#: Pages that nothing identifies as the object's, although the reply to the control lets them count.
_DOUBTFUL_PAGE_RULES = (
    _success(
        "the page is text alone, without a description, and a name that can't exist is refused with the same text under "
        "another title",
        lambda facts: facts.has_body_for_missing_names,
        ObjectOutcome.UNDETERMINED,
        lambda facts: [*_grounds(facts), "except for the title, that name gets the same text"],
    ),
    _success(
        "title or heading report a withdrawal, and the page describes no object",
        lambda facts: facts.withdrawal_in_heading is not None,
        ObjectOutcome.UNDETERMINED,
        lambda facts: [*_grounds(facts), f"the page is headed {facts.withdrawal_in_heading!r}"],
    ),
    _success(
        "title or first statement of the page report that nothing was found",
        lambda facts: facts.only_absence is not None,
        ObjectOutcome.UNDETERMINED,
        lambda facts: [*_grounds(facts), f"the page begins with {facts.only_absence!r}"],
    ),
    _success(
        "a short page without a number, such as a year, says that the requested thing is or may be withdrawn",
        lambda facts: facts.guessed_withdrawal is not None,
        ObjectOutcome.UNDETERMINED,
        lambda facts: [*_grounds(facts), f"the page says {facts.guessed_withdrawal!r}"],
    ),
    _success(
        "a host on the way redirects to its own home page, search form or error page",
        lambda facts: facts.answer.is_sent_away,
        ObjectOutcome.UNDETERMINED,
        lambda facts: ["a host on the way redirects to its own home page, search form or error page", *_grounds(facts)],
    ),
    _success(
        "the answer of this host for missing names is unknown, and its page may be the same for any request",
        lambda facts: facts.answer.is_generic_page and facts.is_page_of_unknown_host,
        ObjectOutcome.UNDETERMINED,
        lambda facts: [*_grounds(facts), "this host's answer for missing objects is unknown"],
    ),
    _success(
        "another object of the run has the same page, at another address of the host",
        lambda facts: facts.is_repeated,
        ObjectOutcome.UNDETERMINED,
        lambda facts: [
            *_grounds(facts),
            f"the host sends a page with the same words, links and media for other objects ({facts.copy_count})",
        ],
    ),
    _success(
        "the page has words of absence and describes nothing, unlike the pages of other objects at the host",
        lambda facts: facts.notice_among_described is not None,
        ObjectOutcome.UNDETERMINED,
        lambda facts: [
            *_grounds(facts),
            f"the page says {facts.notice_among_described!r}, and does not describe an object",
            f"the host describes other objects ({', '.join(facts.described_arks)})",
        ],
    ),
    _success(
        "the page has only a message and its title: no labelled value, media, or link to an object",
        lambda facts: facts.only_message is not None,
        ObjectOutcome.UNDETERMINED,
        lambda facts: [*_grounds(facts), f"the page shows only the words {facts.only_message!r}"],
    ),
)
_WORTH_RULES = (
    _success(
        "the answer is an error record, and its worth is `resolved`",
        lambda facts: worth(facts) is _RESOLVED and facts.answer.is_error_record,
        ObjectOutcome.UNDETERMINED,
        _grounds,
    ),
    _success(
        "the page has hardly any text, and refreshes to another address",
        lambda facts: worth(facts) is _RESOLVED and not facts.declares_itself and facts.answer.only_refreshes,
        ObjectOutcome.UNDETERMINED,
        _grounds,
    ),
    _success("its worth is `soft-404`", lambda facts: worth(facts) is _SOFT_404, ObjectOutcome.SOFT_404, _grounds),
    _success(
        "its worth is `undetermined`", lambda facts: worth(facts) is _UNDETERMINED, ObjectOutcome.UNDETERMINED, _grounds
    ),
    *_resolution_rules("the last status is a success", always, _grounds),
)
_REFUSAL_RULES = (
    _refusal(
        f"the last status is {statuses_in_words(_EXPLAINABLE_STATUSES)}, and the page explains why this object is not available",
        lambda facts: facts.answer.status in _EXPLAINABLE_STATUSES and facts.explanation is not None,
        ObjectOutcome.EXPLAINED,
        lambda facts: f"the answer explains why this object is not available: {facts.explanation!r}",
        "2023, 5.1",
    ),
    _refusal(
        "the last status is 400, and the page is about the request, not the name",
        lambda facts: facts.answer.status == 400 and facts.answer.words.fault_of_request is not None,
        ObjectOutcome.UNDETERMINED,
        lambda facts: f"the page is about the request, not the name: {facts.answer.words.fault_of_request!r}",
    ),
    _refusal(
        "the last status is 410 for this name alone, and the page has sentences, but no known phrase in any of them",
        lambda facts: facts.answer.status == 410 and facts.is_in_unknown_language,
        ObjectOutcome.UNDETERMINED,
        lambda facts: "but its page may explain this in a language whose words arkaudit does not know",
    ),
    _refusal(
        "the last status is 404, and the page asks to log in and reports no absence",
        lambda facts: facts.answer.status == 404 and facts.answer.asks_to_log_in and facts.answer.words.absence is None,
        ObjectOutcome.BLOCKED,
        lambda facts: "but its page asks to log in, so that the object may be behind it",
    ),
    _refusal(
        "the last status is 404, and the page reports a pause of the site or the object",
        lambda facts: facts.answer.status == 404 and facts.answer.pause is not None,
        ObjectOutcome.UNDETERMINED,
        lambda facts: f"the page reports a pause of the site or the object: {facts.answer.pause!r}",
    ),
    _refusal(
        "the last status is 404 or 410, and the page has a record of this ARK",
        lambda facts: facts.answer.status in (404, 410) and facts.answer.describes_itself,
        ObjectOutcome.UNDETERMINED,
        lambda facts: f"but the page describes the object, by {facts.answer.subject.named_in}",
    ),
    _refusal(
        "the last status is 404, and only scripts can fill the page",
        lambda facts: facts.answer.status == 404 and facts.answer.is_left_to_scripts,
        ObjectOutcome.UNDETERMINED,
        lambda facts: (
            "but only scripts can fill its page; some hosts send such a page for any name, so a browser may show more"
        ),
    ),
    *(_status_rule(outcome, statuses) for outcome, statuses in _STATUSES_BY_OUTCOME.items()),
)
#: Whether the object was reached.
OBJECT_RULES: RuleTable[ObjectFacts, ObjectOutcome] = RuleTable(
    "The object",
    (
        RuleGroup(
            "chains without a last answer",
            lambda facts: not facts.answer.is_answered,
            tuple(_rule_of_end(end.value, outcome) for end, outcome in OUTCOME_OF_END.items()),
        ),
        RuleGroup("all other answers", always, (_CHALLENGE_RULE,)),
        RuleGroup(
            "successes with a THUMP-Status of 400 or more",
            lambda facts: facts.answer.thump_fault is not None,
            tuple(_thump_rule(outcome, codes) for outcome, codes in _STATUSES_BY_OUTCOME.items()),
        ),
        RuleGroup("other successes", lambda facts: facts.answer.is_success, _SPECIAL_PAGE_RULES),
        RuleGroup(
            "other successes whose worth is `resolved`, of pages that neither name this ARK nor describe an object",
            lambda facts: facts.answer.is_success and worth(facts) is _RESOLVED and not facts.is_particular,
            _DOUBTFUL_PAGE_RULES,
        ),
        RuleGroup("all other successes", lambda facts: facts.answer.is_success, _WORTH_RULES),
        RuleGroup("all other statuses", always, _REFUSAL_RULES),
    ),
)


# -- app shells, which only a browser renders, and the verdict on the rendered page


#: Replies to the control that another page could not have changed.
_REPLIES_WITHOUT_CONTRAST = frozenset(
    {ControlContrast.THE_SAME, ControlContrast.NO_OTHER, ControlContrast.NOT_COMPARED}
)
#: Outcomes that depend on the text of the page, as long as its scripts have not run.
_PROVISIONAL_OUTCOMES = frozenset({ObjectOutcome.UNDETERMINED, ObjectOutcome.SOFT_404})
#: The number of missing parts of a page that are named.
_MOST_NAMED = 3


def is_app_shell(facts: ObjectFacts) -> bool:
    """Return True if a success may be an app shell: HTML with scripts, which the control gets too, and no certain outcome."""
    answer = facts.answer
    is_html = answer.body_complete and "html" in (answer.media_type or "")
    runs_scripts = answer.is_success and is_html and answer.facts.runs_scripts
    if not runs_scripts or facts.control is None or facts.control_contrast not in _REPLIES_WITHOUT_CONTRAST:
        return False
    return OBJECT_RULES.judge(facts).outcome in _PROVISIONAL_OUTCOMES


def rendering_fault(answer: AnswerFacts) -> str | None:
    """Return the reason why a rendered page can't be judged, or None."""
    rendering = answer.rendering
    if rendering is None:
        reason = answer.detail or answer.end.value
        if answer.is_answered:
            reason = f"it was answered {answer.status}"
        return f"nothing was rendered: {reason}"
    if rendering.fault is not None:
        return rendering.fault
    if rendering.lacking:
        unnamed_count = len(rendering.lacking) - _MOST_NAMED
        unnamed_note = f" and {unnamed_count} more" if unnamed_count > 0 else ""
        return f"parts of it are missing: {'; '.join(rendering.lacking[:_MOST_NAMED])}{unnamed_note}"
    return None


def judge_rendered(
    verdict: ServiceVerdict[ObjectOutcome], rendered: AnswerFacts, control: AnswerFacts | None
) -> ServiceVerdict[ObjectOutcome]:
    """Return the verdict on an app shell after a browser *rendered* it, or *verdict* with a reason why it can't be judged.

    *control* is the rendered page of a name that can't exist.
    """
    rendering, fault = rendered.rendering, rendering_fault(rendered)
    if fault is None and control is None:
        fault = "the page of a name that can't exist was not rendered"
    if fault is None and control is not None and (control_fault := rendering_fault(control)):
        fault = f"the page of a name that can't exist: {control_fault}"
    if fault is not None or rendering is None:
        browser = rendering.browser if rendering is not None else "a browser"
        reason = f"rendered with {browser}, but the result can't be judged: {fault}"
        return replace(verdict, evidence=(*verdict.evidence, reason))
    request_count = sum(hop.location is None for hop in rendering.requests)
    rendering_note = (
        f"without scripts the page is the same for any name; rendered with {rendering.browser}, which sent"
        f" {request_count} request{'' if request_count == 1 else 's'}"
    )
    rendered_verdict = OBJECT_RULES.judge(ObjectFacts(rendered, control))
    first_sentence, *further_sentences = rendered_verdict.evidence
    return replace(rendered_verdict, evidence=(first_sentence, rendering_note, *further_sentences))
