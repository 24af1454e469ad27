"""Pure: the decision table, from the answers about one ARK and the control's to a verdict on the three services.

Reports only read what is decided here. One observation is never called dead: a verdict is about today.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlsplit

from crawler.answers import NOT_FOUND, same_page
from crawler.inflection import BLOCKED, judge_commitment, judge_metadata
from crawler.observations import (
    DESCRIBED,
    FAMILY_OF,
    ChainEnd,
    CommitmentOutcome,
    Family,
    MetadataOutcome,
    ObjectOutcome,
    Observation,
    Question,
    ServiceVerdict,
    Verdict,
)
from crawler.resolving import INFLECTED, SUCCESSES, requests_sent

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

#: Statuses below 500 that speak of the identifier; others speak of the request, and leave the object undetermined.
_SAYS_BROKEN = frozenset({400, 404, 410, 414})
_NOT_FOUND_PATH = re.compile(r"/(?:404|(?:page[-_]?)?not[-_]?found|errors?)(?:\.\w+)?/?\Z", re.IGNORECASE)


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


def skipped(ark: str, request_url: str, reason: str) -> Verdict:
    """The verdict on an ARK that was recorded and not requested."""
    return Verdict(
        ark=ark,
        request_url=request_url,
        object=ServiceVerdict(ObjectOutcome.SKIPPED.value, (reason,)),
        metadata=ServiceVerdict(MetadataOutcome.NOT_ASKED.value),
        commitment=ServiceVerdict(CommitmentOutcome.NOT_ASKED.value),
        final_url=None,
        hops=(),
        requests=0,
    )


def unasked(ark: str, request_url: str) -> Verdict:
    """The verdict on an ARK about which nothing was observed, though it should have been."""
    why = ServiceVerdict(ObjectOutcome.UNDETERMINED.value, ("nothing was observed: the run ended early",))
    return replace(skipped(ark, request_url, ""), object=why)


def judge(
    answers: Mapping[Question, Observation],
    *,
    control: Observation | None = None,
    control_info: Observation | None = None,
) -> Verdict:
    """The verdict on one ARK at one request URL, from the *answers* about it, of which the object's is one.

    *control* and *control_info* are the answers of the same resolver for a name under the same NAAN that can't
    exist, to the plain request and to ``?info``.
    """
    asked = answers[Question.OBJECT]
    metadata = _judge_metadata(answers, control_info)
    found = judge_object(asked, control)
    bare = answers.get(Question.HYPHENS)
    remarks = asked.remarks
    if found.outcome == ObjectOutcome.BROKEN and bare is not None:
        without = judge_object(bare, control)
        if family(without.outcome) is Family.WORKS:
            found = replace(without, evidence=(*found.evidence, "without its hyphens:", *without.evidence))
            remarks = (*remarks, "the resolver takes hyphens for part of the name")
            asked = bare
    return Verdict(
        ark=asked.ark,
        request_url=asked.request_url,
        object=found,
        metadata=metadata,
        commitment=judge_commitment(answers, metadata),
        final_url=asked.final_url if asked.end is ChainEnd.ANSWERED else None,
        hops=asked.hops,
        requests=requests_sent(answers.values()),
        remarks=remarks,
    )


def judge_object(answer: Observation, control: Observation | None = None) -> ServiceVerdict:
    """Whether the object was reached: by the chain, its last status, and what the *control* was told.

    A page that a name which can't exist is given too proves nothing. Only when it also speaks like a not-found page
    is it called a soft 404; otherwise nobody knows.
    """
    if answer.end is not ChainEnd.ANSWERED or answer.status is None:
        return ServiceVerdict(OUTCOME_OF_END.get(answer.end, ObjectOutcome.UNDETERMINED).value, (_ended(answer),))
    outcome = status_outcome(answer.status)
    evidence = [_answered(answer)]
    if outcome is not ObjectOutcome.RESOLVED:
        if outcome is ObjectOutcome.BROKEN:
            evidence.append(_attributed(answer))
        return ServiceVerdict(outcome.value, tuple(evidence))
    suspicion = _not_found_words(answer)
    if control is not None and _is_same_page(answer, control):
        evidence.append(f"a name that can't exist gets the same page ({control.asked_url})")
        outcome = ObjectOutcome.SOFT_404 if suspicion else ObjectOutcome.UNDETERMINED
    elif any(hop.status == 303 for hop in answer.hops):
        outcome = ObjectOutcome.RELATED
        evidence.append("a 303 on the way: what answers is related to the object, not the object")
    if suspicion:
        evidence.append(suspicion)
    return ServiceVerdict(outcome.value, tuple(evidence))


def _judge_metadata(answers: Mapping[Question, Observation], control_info: Observation | None) -> ServiceVerdict:
    """The best of what the inflections gave, in the order in which they were asked."""
    object_answer = answers[Question.OBJECT]
    verdicts = [
        judge_metadata(answers[question], object_answer=object_answer, control=control_info)
        for question in INFLECTED
        if question in answers
    ]
    if not verdicts:
        return ServiceVerdict(MetadataOutcome.NOT_ASKED.value, ("the object itself gave no answer",))
    best = next((verdict for verdict in verdicts if verdict.outcome in DESCRIBED), None)
    first = best or verdicts[0]
    others = tuple(words for verdict in verdicts if verdict is not first for words in verdict.evidence)
    return replace(first, evidence=first.evidence + others)


def _is_same_page(answer: Observation, control: Observation) -> bool:
    if control.end is not ChainEnd.ANSWERED or control.status not in SUCCESSES:
        return False
    if answer.body_sha256 is not None and answer.body_sha256 == control.body_sha256:
        return True
    if answer.body_bytes == control.body_bytes == 0 and answer.body_complete and control.body_complete:
        return True
    names = (answer.asked_url, control.asked_url, _last_part(answer.asked_url), _last_part(control.asked_url))
    return answer.text is not None and same_page(answer.text, control.text, *names)


def _last_part(url: str) -> str:
    return urlsplit(url).path.rpartition("/")[2]


def _not_found_words(answer: Observation) -> str | None:
    """Why the page looks like one for things that are not there, if it does."""
    for where, text in (("title", answer.title), ("text", (answer.text or "")[:400])):
        found = NOT_FOUND.search(text or "")
        if found:
            return f"the page's {where} says {found.group()!r}"
    path = urlsplit(answer.final_url).path
    if len(answer.hops) > 1 and _NOT_FOUND_PATH.search(path):
        return f"the chain ends at {path!r}"
    return None


def _answered(answer: Observation) -> str:
    last = answer.hops[-1]
    redirects = len(answer.hops) - 1
    way = "" if not redirects else f" after {redirects} redirect{'s' if redirects > 1 else ''}"
    return f"{last.url} answered {last.status}{way}"


def _attributed(answer: Observation) -> str:
    if len(answer.hops) == 1:
        return "the resolver itself says so"
    return f"said by the landing host {urlsplit(answer.final_url).netloc}; the resolver knew where to send us"


def _ended(answer: Observation) -> str:
    if not answer.hops:
        return answer.end.value
    last = answer.hops[-1]
    return f"{last.url}: {last.error or last.location or answer.end.value}"


def family(outcome: str) -> Family:
    """The family of an object outcome's token.

    >>> family("blocked").value
    'not-judged'
    """
    return FAMILY_OF[ObjectOutcome(outcome)]
