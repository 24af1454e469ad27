"""Pure: was the object reached? By the chain, the last status, what the page says, and what a control was told."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from crawler.answers.answer import is_textual
from crawler.answers.notices import (
    asks_to_log_in,
    challenge_of,
    explained_refusal,
    fault_of_request,
    is_notice,
    only_says_absence,
    passing_fault,
    pause_of_site,
    place_of_absence,
    refresh_of,
    withdrawal,
    words_of_absence,
)
from crawler.answers.quirks import quirks
from crawler.answers.subject import declared_other, declares
from crawler.answers.thump import thump_code
from crawler.observations import ChainEnd, ObjectOutcome, Observation, ServiceVerdict
from crawler.verdicts.statuses import BLOCKED, OUTCOME_OF_END, status_outcome
from crawler.verdicts.success import ControlContrast, Success

__all__ = ["BLOCKED", "OUTCOME_OF_END", "judge_object", "status_outcome"]

_EXPLAINABLE = frozenset({401, 403, 404, 410, 451})


def judge_object(
    answer: Observation,
    control: Observation | None = None,
    *,
    neighbours: int = 0,
    again: Sequence[Observation] = (),
) -> ServiceVerdict[ObjectOutcome]:
    """Whether the object was reached, with the reasons in words.

    *control* is what the same resolver answers for a name that can't exist; *neighbours* says how many other ARKs
    ended at the same URL in this run; *again* are further answers at the object's place: how it differs from itself.
    """
    if answer.end is not ChainEnd.ANSWERED or answer.status is None:
        outcome = OUTCOME_OF_END.get(answer.end, ObjectOutcome.UNDETERMINED)
        return ServiceVerdict(outcome, (how_it_ended(answer),))
    if challenge := challenge_of(answer):
        return _verdict(ObjectOutcome.BLOCKED, answered(answer), f"what came is a check for programs by {challenge}")
    outcome, thump = status_outcome(answer.status), thump_code(answer)
    if outcome is ObjectOutcome.RESOLVED and thump is not None and thump >= 400:
        outcome = status_outcome(thump)
        return _verdict(outcome, answered(answer), f"but its THUMP-Status is {thump}, which outweighs that")
    if outcome is ObjectOutcome.RESOLVED:
        return _judge_success(Success.of(answer, control, neighbours, again))
    if answer.status in _EXPLAINABLE and (explanation := explained_refusal(answer, control)):
        return _verdict(ObjectOutcome.EXPLAINED, answered(answer), explanation)
    if answer.status == 400 and (fault := fault_of_request(answer)):
        words = f"which speaks of the request and not of the name: {fault!r}"
        return _verdict(ObjectOutcome.UNDETERMINED, answered(answer), words)
    if answer.status == 404 and (pause := pause_of_site(answer)):
        words = f"which speaks of a pause of the whole site and not of the name: {pause!r}"
        return _verdict(ObjectOutcome.UNDETERMINED, answered(answer), words)
    return _verdict(outcome, answered(answer), *_about_refusal(answer, outcome))


# -- success


def _judge_success(success: Success) -> ServiceVerdict[ObjectOutcome]:
    answer = success.answer
    outcome, evidence = _special_page(success) or (success.worth, _grounds(success))
    if outcome is ObjectOutcome.RESOLVED and any(hop.status == 303 for hop in answer.hops):
        outcome = ObjectOutcome.RELATED
        evidence = (*evidence, "a 303 on the way: what answers is related to the object, not the object")
    told = _verdict(outcome, answered(answer), *evidence, *_beside(success))
    other = declared_other(answer, answer.ark)
    if other is None:
        return told
    words = f"the page says that it is about another ARK: {other}"
    return ServiceVerdict(told.outcome, (*told.evidence, words), {"about": other})


def _special_page(success: Success) -> tuple[ObjectOutcome, tuple[str, ...]] | None:
    """The outcome of a page that says by its kind what it is: a registry's entry, a log-in, a withdrawal."""
    answer = success.answer
    if "registry" in (answer.record or {}):
        words = "what answers is the resolver's own entry for a NAAN or shoulder: the ARK may have been cut short"
        return ObjectOutcome.SOFT_404, (words,)
    if asks_to_log_in(answer):
        if success.told in (ControlContrast.REFUSED_THERE, ControlContrast.REFUSED_BEFORE):
            return ObjectOutcome.RESOLVED, ("what answers asks to log in; a name that can't exist is refused",)
        return ObjectOutcome.BLOCKED, ("what answers asks to log in, and tells nothing of the object",)
    is_told_apart = success.told is ControlContrast.REFUSED_THERE
    explanation = withdrawal(answer, success.control, is_told_apart=is_told_apart)
    if explanation and success.told is not ControlContrast.THE_SAME:
        return ObjectOutcome.EXPLAINED, (explanation,)
    if (fault := passing_fault(answer)) and not declares(success.knows_itself):
        return ObjectOutcome.UNDETERMINED, (f"the page speaks of a fault of the moment: {fault!r}", *_grounds(success))
    if success.told is ControlContrast.REFUSED_THERE and is_notice(answer.title or "") and not success.is_particular:
        return ObjectOutcome.UNDETERMINED, _grounds(success)  # a notice at a host that elsewhere answers by its status
    if words_of_absence(answer) and place_of_absence(answer) and not success.is_particular:
        return ObjectOutcome.SOFT_404, _grounds(success)
    is_open = success.worth is ObjectOutcome.RESOLVED and not success.is_particular
    if is_open and (absence := only_says_absence(answer, success.control)):
        told = f"the page says {absence!r}, and hardly anything else"
        return ObjectOutcome.UNDETERMINED, (*_grounds(success), told)
    return None


def _grounds(success: Success) -> tuple[str, ...]:
    """What makes a success more, or less, than its status."""
    grounds = []
    control = success.control
    if success.told is ControlContrast.THE_SAME and control is not None:
        grounds.append(f"a name that can't exist gets the same page ({control.asked_url})")
        if success.worth is ObjectOutcome.UNDETERMINED:
            grounds.append("so that this answer is worth nothing")
    if success.knows_itself:
        grounds.append(f"the page names this ARK ({', '.join(success.knows_itself[:3])})")
    if success.told in (ControlContrast.REFUSED_THERE, ControlContrast.REFUSED_BEFORE) and control is not None:
        grounds.append(f"a name that can't exist is answered {control.status}")
    if success.told is ControlContrast.ANOTHER:
        grounds.append("a name that can't exist gets another page")
    if success.told is ControlContrast.NO_OTHER:
        grounds.append(
            "a name that can't exist gets a page that differs from this one no more than this one does from itself,"
            " asked again"
        )
    return (*grounds, *success.signs)


def _beside(success: Success) -> tuple[str, ...]:
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


def _verdict(outcome: ObjectOutcome, *evidence: str) -> ServiceVerdict[ObjectOutcome]:
    return ServiceVerdict(outcome, tuple(dict.fromkeys(words for words in evidence if words)))
